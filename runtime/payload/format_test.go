package payload_test

import (
	"strings"
	"testing"

	"github.com/outboxgen/outboxgen/runtime/payload"
)

func TestFormat(t *testing.T) {
	label := strings.Repeat("a", 63)
	for _, c := range []struct {
		format    payload.Format
		good, bad []string
	}{
		{payload.Email, []string{"a@b", "first.last+tag@example.org"}, []string{`"a b"@example.org`, "", "a", "a@", "@b", "A <a@b>", "<a@b>", "a@b, c@d", " a@b", "a@b\r\nX: 1"}},
		{payload.URI, []string{"http://a/b?c#d", "urn:x:y", "mailto:a@b", "http://a/%20"}, []string{"", "/a", "a/b", "http://a/ b", "http://a/é", "http://a/<", "://a", "http://a/%zz"}},
		{payload.Hostname, []string{"a", "example.org", "1.2.3.4", "a-b.c", label + "." + label, strings.Repeat("a.", 126) + "a"}, []string{"", ".", "a.", "-a", "a-", "a_b", "a..b", label + "a", "é.org", strings.Repeat("a.", 127)}},
		{payload.IPv4, []string{"0.0.0.0", "255.255.255.255"}, []string{"", "1.2.3", "256.1.1.1", "01.2.3.4", "::1", "::ffff:1.2.3.4", "1.2.3.4/8"}},
		{payload.IPv6, []string{"::", "::1", "2001:db8::1", "::ffff:1.2.3.4"}, []string{"", "1.2.3.4", "fe80::1%eth0", "::1/64", ":::"}},
		{payload.Format(99), nil, []string{"a"}},
	} {
		check := func(s string) bool {
			w := payload.NewWriter(nil)
			w.String(s).Format(c.format)
			_, err := w.Close()
			return err == nil
		}
		for _, s := range c.good {
			if !check(s) {
				t.Errorf("format %d refuses %q", c.format, s)
			}
		}
		for _, s := range c.bad {
			if check(s) {
				t.Errorf("format %d takes %q", c.format, s)
			}
		}
	}
}
