package webhook

import (
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

func TestAddressPolicy(t *testing.T) {
	anywhere := addressPolicy{}
	never := []string{
		"0.0.0.0", "0.1.2.3", "169.254.169.254", "169.254.0.1", "169.254.170.2", "100.100.100.200", "168.63.129.16",
		"192.0.0.192", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "fe80::1", "fe80::a9fe:a9fe", "febf::1", "ff02::1", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42", "fd00:c1::a9fe:a9fe",
		"::ffff:169.254.169.254",         // IPv4-mapped
		"::169.254.169.254",              // IPv4-compatible
		"::ffff:0:169.254.169.254",       // IPv4-translated
		"64:ff9b::169.254.169.254",       // NAT64
		"64:ff9b:1::169.254.169.254",     // local NAT64, /96
		"64:ff9b:1:a9fe:a9:fe00::",       // local NAT64, /48
		"64:ff9b:1:0:a9:fea9:fe00:0",     // local NAT64, /64
		"2002:a9fe:a9fe::1",              // 6to4
		"2001:0:a9fe:a9fe::1",            // Teredo server
		"2001:0:1234::5601:5601",         // Teredo client 169.254.169.254
		"2001:db8::5efe:169.254.169.254", // ISATAP
		"2001:db8::200:5efe:169.254.169.254",
		"64:ff9b::0.0.0.0", "2002:e000:1::", // embedded multicast and this host
	}
	for _, text := range never {
		if err := anywhere.check(netip.MustParseAddr(text)); err == nil {
			t.Errorf("%s may be connected to", text)
		}
	}
	for _, text := range []string{
		"127.0.0.1", "10.0.0.1", "192.168.1.1", "172.16.0.1", "100.64.0.1", "203.0.113.7", "8.8.8.8", "169.253.255.255", "169.255.0.0",
		"::1", "fd12:3456::1", "2001:db8::1", "2606:4700::1111", "::ffff:10.0.0.1", "64:ff9b::8.8.8.8", "2002:808:808::1",
	} {
		if err := anywhere.check(netip.MustParseAddr(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := anywhere.check(netip.MustParseAddr("fe80::1%eth0")); err == nil {
		t.Error("a zone hides a link-local address")
	}

	narrow, faults := newAddressPolicy([]string{"10.1.0.0/16", "2001:db8::/32", "::ffff:192.0.2.0/120", "127.0.0.1"})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for text, allowed := range map[string]bool{
		"10.1.2.3": true, "::ffff:10.1.2.3": true, "2001:db8::1": true, "192.0.2.9": true, "127.0.0.1": true,
		"10.2.0.1": false, "192.0.3.1": false, "127.0.0.2": false, "::1": false, "8.8.8.8": false, "169.254.169.254": false,
		"2001:db8::5efe:169.254.169.254": false, // allowed by range, but never
	} {
		if err := narrow.check(netip.MustParseAddr(text)); (err == nil) != allowed {
			t.Errorf("%s: %v, want allowed %t", text, err, allowed)
		}
	}
	for _, bad := range []string{"", "example.org", "10.0.0.0/33", "169.254.0.0/16", "169.254.169.254", "fe80::/64", "fe80::1%eth0", "fd00:ec2::254/128"} {
		if _, faults := newAddressPolicy([]string{bad}); len(faults) != 1 {
			t.Errorf("range %q: %v", bad, faults)
		}
	}
	if _, faults := newAddressPolicy([]string{"0.0.0.0/0", "::/0"}); len(faults) != 0 {
		t.Errorf("all of the world: %v", faults)
	}
}

func TestControl_TakesOnlyTCPAddresses(t *testing.T) {
	p := addressPolicy{}
	for _, c := range []struct{ network, address string }{{"udp4", "8.8.8.8:53"}, {"unix", "/run/x"}, {"tcp4", "8.8.8.8"}, {"tcp", ""}} {
		if p.control(t.Context(), c.network, c.address, nil) == nil {
			t.Errorf("%s %s is taken", c.network, c.address)
		}
	}
	if err := p.control(t.Context(), "tcp6", "[::ffff:8.8.8.8]:443", nil); err != nil {
		t.Error(err)
	}
}

// nameServer answers A queries from a function, on loopback.
func nameServer(t *testing.T, answer func(name string) []netip.Addr) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { conn.Close(); <-done })
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := dnsReply(buf[:n], answer); reply != nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// dnsReply answers one question (RFC 1035, section 4) with the addresses of
// its type; a name without addresses does not exist.
func dnsReply(query []byte, answer func(name string) []netip.Addr) []byte {
	const head, typeA, typeAAAA = 12, 1, 28
	end := head
	var labels []string
	for end < len(query) && query[end] != 0 {
		n := int(query[end])
		if end+1+n >= len(query) {
			return nil
		}
		labels = append(labels, string(query[end+1:end+1+n]))
		end += 1 + n
	}
	end += 5 // the root, type and class
	if end > len(query) {
		return nil
	}
	kind := binary.BigEndian.Uint16(query[end-4:])
	addrs := answer(strings.Join(labels, "."))
	reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[head:end]...)
	if addrs == nil {
		reply[3] |= 3 // NXDOMAIN
	}
	for _, addr := range addrs {
		if addr.Is4() != (kind == typeA) || addr.Is6() != (kind == typeAAAA) {
			continue
		}
		reply[7]++                        // answers
		reply = append(reply, 0xc0, head) // the question's name
		reply = binary.BigEndian.AppendUint16(reply, kind)
		reply = append(reply, 0, 1, 0, 0, 0, 0) // class IN, no caching
		reply = binary.BigEndian.AppendUint16(reply, uint16(addr.BitLen()/8))
		reply = append(reply, addr.AsSlice()...)
	}
	return reply
}

// openWith is open with another resolver.
func openWith(t *testing.T, c Config, r *net.Resolver) *sender {
	t.Helper()
	s, faults := newSender(c, net.Dialer{Resolver: r}, time.Now)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestSend_NamesThatLeadToForbiddenAddresses(t *testing.T) {
	for _, text := range []string{"169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "fd00:ec2::254", "fe80::1"} {
		r := nameServer(t, func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr(text)} })
		got := openWith(t, config("http://hooks.example/"), r).Send(t.Context(), delivery())
		if got.Result != outbox.LocalFault || got.Breaker != breaker.Neutral || got.Failure.Cause != CauseAddress || !strings.Contains(got.Failure.Message, "not connecting") {
			t.Errorf("%s: got %+v (%+v)", text, got, got.Failure)
		}
	}
}

// A name that was good when it was looked at first gains nothing by changing.
func TestSend_DNSRebinding(t *testing.T) {
	hits := 0
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { hits++; w.Header().Set("Connection", "close") })
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var now atomic.Value
	now.Store(netip.MustParseAddr("127.0.0.1"))
	r := nameServer(t, func(string) []netip.Addr { return []netip.Addr{now.Load().(netip.Addr)} })
	s := openWith(t, config("http://hooks.example:"+port+"/"), r)
	if got := s.Send(t.Context(), delivery()); got.Result != outbox.Delivered {
		t.Fatalf("got %+v (%+v)", got, got.Failure)
	}
	now.Store(netip.MustParseAddr("169.254.169.254"))
	if got := s.Send(t.Context(), delivery()); got.Result != outbox.LocalFault || hits != 1 {
		t.Errorf("got %+v (%+v) after %d requests", got, got.Failure, hits)
	}
}

func TestSend_AllowNarrowsLoopback(t *testing.T) {
	hits := 0
	server := serve(t, func(http.ResponseWriter, *http.Request) { hits++ })
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	r := nameServer(t, func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.0.0.1")} })
	c := config("http://hooks.example:" + port + "/")
	c.Allow = []string{"10.0.0.0/8"}
	if got := openWith(t, c, r).Send(t.Context(), delivery()); got.Result != outbox.LocalFault || got.Failure.Cause != CauseAddress || hits != 0 {
		t.Errorf("got %+v (%+v) after %d requests", got, got.Failure, hits)
	}
	c.Allow = []string{"10.0.0.0/8", "127.0.0.0/8"}
	if got := openWith(t, c, r).Send(t.Context(), delivery()); got.Result != outbox.Delivered || hits != 1 {
		t.Errorf("got %+v (%+v) after %d requests", got, got.Failure, hits)
	}
}

func TestSend_NoSuchName(t *testing.T) {
	r := nameServer(t, func(string) []netip.Addr { return nil })
	got := openWith(t, config("http://hooks.example/"), r).Send(t.Context(), delivery())
	if got.Result != outbox.Failed || got.Breaker != breaker.Failure || got.Failure.Cause != CauseDNS {
		t.Errorf("got %+v (%+v)", got, got.Failure)
	}
}

func TestSend_NobodyListens(t *testing.T) {
	server := serve(t, nil)
	url := server.URL
	server.Close()
	got := open(t, config(url)).Send(t.Context(), delivery())
	if got.Result != outbox.Failed || got.Breaker != breaker.Failure || got.Failure.Cause != CauseRefused {
		t.Errorf("got %+v (%+v)", got, got.Failure)
	}
}
