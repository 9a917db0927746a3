package payload

import (
	"net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Format is a well-known form of text.
type Format int

// The formats that a spec can ask for.
const (
	Email    Format = iota + 1 // an address alone, without a display name or quotes (RFC 5322)
	URI                        // absolute (RFC 3986)
	Hostname                   // RFC 1123, ASCII
	IPv4                       // dotted decimal
	IPv6                       // RFC 4291, without a zone
)

func (f Format) description() string {
	switch f {
	case Email:
		return "an email address"
	case URI:
		return "an absolute URI"
	case Hostname:
		return "a host name"
	case IPv4:
		return "an IPv4 address"
	case IPv6:
		return "an IPv6 address"
	}
	return "of format " + strconv.Itoa(int(f)) + ", which this runtime does not know"
}

// Matches reports whether the text has the format.
func (f Format) Matches(s string) bool {
	switch f {
	case Email:
		a, err := mail.ParseAddress(s)
		return err == nil && a.Address == s
	case URI:
		u, err := url.Parse(s)
		return err == nil && u.IsAbs() && !strings.ContainsFunc(s, notInURI)
	case Hostname:
		return isHostname(s)
	case IPv4:
		a, err := netip.ParseAddr(s)
		return err == nil && a.Is4()
	case IPv6:
		a, err := netip.ParseAddr(s)
		return err == nil && a.Is6() && a.Zone() == ""
	}
	return false
}

// notInURI reports characters that RFC 3986 has only percent-encoded.
func notInURI(r rune) bool { return r <= ' ' || r >= 0x7F || strings.ContainsRune("<>\"{}|\\^`", r) }

func isHostname(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			c := label[i]
			if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
				return false
			}
		}
	}
	return true
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
