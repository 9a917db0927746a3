package webhook

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"syscall"
)

// forbidden are the ranges that nothing is ever sent to. Cloud metadata
// addresses that lie in a link-local range need no line of their own.
var forbidden = []struct {
	prefix netip.Prefix
	why    string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "means this host (RFC 1122)"},
	{netip.MustParsePrefix("169.254.0.0/16"), "is link-local (RFC 3927)"},
	{netip.MustParsePrefix("224.0.0.0/4"), "is multicast (RFC 1112)"},
	{netip.MustParsePrefix("240.0.0.0/4"), "is reserved (RFC 1112)"},
	{netip.MustParsePrefix("100.100.100.200/32"), "serves metadata (Alibaba Cloud)"},
	{netip.MustParsePrefix("168.63.129.16/32"), "serves metadata (Azure)"},
	{netip.MustParsePrefix("192.0.0.192/32"), "serves metadata (Oracle Cloud)"},
	{netip.MustParsePrefix("192.80.8.124/32"), "serves metadata (Equinix Metal)"},
	{netip.MustParsePrefix("::/128"), "is unspecified (RFC 4291)"},
	{netip.MustParsePrefix("fe80::/10"), "is link-local (RFC 4291)"},
	{netip.MustParsePrefix("ff00::/8"), "is multicast (RFC 4291)"},
	{netip.MustParsePrefix("fd00:ec2::/32"), "serves metadata (AWS)"},
	{netip.MustParsePrefix("fd20:ce::/32"), "serves metadata (Google Cloud)"},
	{netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), "serves metadata (Oracle Cloud)"},
	{netip.MustParsePrefix("fd00:42::42/128"), "serves metadata (Scaleway)"},
}

// addressError: a connection to the address is not allowed.
type addressError struct {
	addr netip.Addr
	why  string
}

func (e *addressError) Error() string {
	return fmt.Sprintf("address %s %s: not connecting", e.addr, e.why)
}

// addressPolicy says which addresses may be connected to.
type addressPolicy struct {
	allow []netip.Prefix // none: all that are not forbidden
}

// newAddressPolicy reads ranges and returns all their faults.
func newAddressPolicy(ranges []string) (addressPolicy, []error) {
	var p addressPolicy
	var faults []error
	for i, text := range ranges {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			if addr, bad := netip.ParseAddr(text); bad == nil && addr.Zone() == "" {
				prefix, err = addr.Prefix(addr.BitLen())
			}
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("allow[%d]: %q is not a range of addresses, like 10.1.0.0/16", i, text))
			continue
		}
		if prefix.Addr().Is4In6() && prefix.Bits() >= 96 {
			prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
		}
		prefix = prefix.Masked()
		if why := whyForbidden(prefix.Addr()); why != "" && allForbidden(prefix) {
			faults = append(faults, fmt.Errorf("allow[%d]: %s %s: nothing is ever sent there", i, text, why))
			continue
		}
		p.allow = append(p.allow, prefix)
	}
	return p, faults
}

func allForbidden(prefix netip.Prefix) bool {
	for _, f := range forbidden {
		if f.prefix.Contains(prefix.Addr()) && prefix.Bits() >= f.prefix.Bits() {
			return true
		}
	}
	return false
}

// check returns an *addressError unless addr may be connected to.
func (p addressPolicy) check(addr netip.Addr) error {
	addr = addr.Unmap().WithZone("")
	if why := whyForbidden(addr); why != "" {
		return &addressError{addr, why}
	}
	if len(p.allow) == 0 {
		return nil
	}
	for _, prefix := range p.allow {
		if prefix.Contains(addr) {
			return nil
		}
	}
	return &addressError{addr, "is in no allowed range"}
}

// control is a net.Dialer's ControlContext: it sees the address that name
// resolution came to, before a packet is sent to it.
func (p addressPolicy) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !strings.HasPrefix(network, "tcp") {
		return &addressError{why: fmt.Sprintf("(%s %q) is not TCP over IP", network, address)}
	}
	return p.check(to.Addr())
}

// whyForbidden says why nothing is ever sent to addr, or "". An IPv6 address
// that carries an IPv4 address is where that one leads.
func whyForbidden(addr netip.Addr) string {
	for _, f := range forbidden {
		if f.prefix.Contains(addr) {
			return f.why
		}
	}
	if addr.Is4() {
		return ""
	}
	for _, inner := range embedded(addr) {
		if why := whyForbidden(inner); why != "" {
			return "leads to " + inner.String() + ", which " + why
		}
	}
	return ""
}

var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")    // RFC 6052, section 2.1
	localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48")  // RFC 8215
	sixToFour  = netip.MustParsePrefix("2002::/16")       // RFC 3056
	teredo     = netip.MustParsePrefix("2001::/32")       // RFC 4380
	compatible = netip.MustParsePrefix("::/96")           // RFC 4291, section 2.5.5.1
	translated = netip.MustParsePrefix("::ffff:0:0:0/96") // RFC 2765
	loopback6  = netip.MustParseAddr("::1")
)

// embedded returns the IPv4 addresses that the IPv6 address addr may lead to
// through a translator or a tunnel.
func embedded(addr netip.Addr) []netip.Addr {
	b := addr.As16()
	v4 := func(i, j, k, l int) netip.Addr { return netip.AddrFrom4([4]byte{b[i], b[j], b[k], b[l]}) }
	var found []netip.Addr
	switch {
	case addr == loopback6:
		return nil
	case nat64.Contains(addr), compatible.Contains(addr), translated.Contains(addr):
		found = append(found, v4(12, 13, 14, 15))
	case localNAT64.Contains(addr):
		// The prefix may be of any length; byte 8 is always left out (RFC 6052,
		// section 2.2).
		found = append(found, v4(6, 7, 9, 10), v4(7, 9, 10, 11), v4(9, 10, 11, 12), v4(12, 13, 14, 15))
	case sixToFour.Contains(addr):
		found = append(found, v4(2, 3, 4, 5))
	case teredo.Contains(addr):
		client := netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})
		found = append(found, v4(4, 5, 6, 7), client)
	}
	// ISATAP (RFC 5214, section 6.1), in any prefix.
	if (b[8] == 0 || b[8] == 2) && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
		found = append(found, v4(12, 13, 14, 15))
	}
	return found
}
