package webhook

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/webhook/internal/env"
	"github.com/outboxgen/outboxgen/runtime/webhook/signature"
)

// userAgent of every request.
const userAgent = "outboxgen-webhook/1"

// New makes the destination that c describes. The variables in c are read from
// the environment now. Everything that is wrong with c is in the error, one
// line a fault, every variable that is not set by its name; no secret and no
// URL is.
func New(c Config) (outbox.Destination, error) {
	s, faults := newSender(c, net.Dialer{}, time.Now)
	dest, err := outbox.NewDestination(c.Name, s, outbox.HandlerConfig{
		Timeout:       c.Timeout,
		MaxInFlight:   c.MaxInFlight,
		Retry:         c.Retry,
		MaxAge:        c.MaxAge,
		Breaker:       c.Breaker,
		NoBreaker:     c.NoBreaker,
		SharedBreaker: c.SharedBreaker,
	})
	if err != nil {
		faults = append(faults, err)
	}
	if len(faults) > 0 {
		return outbox.Destination{}, fmt.Errorf("webhook: destination %q: %w", c.Name, errors.Join(faults...))
	}
	s.timeout = dest.Timeout
	s.transport.MaxIdleConns = dest.MaxInFlight
	s.transport.MaxIdleConnsPerHost = dest.MaxInFlight
	return dest, nil
}

// newSender makes the sender of c and returns all faults. dialer and now are
// the parts that tests replace.
func newSender(c Config, dialer net.Dialer, now func() time.Time) (*sender, []error) {
	b := builder{config: c}
	target := b.url("url", c.URL, "http", "https")
	policy := b.addresses(target)
	s := &sender{
		secrets:  b.secrets(),
		quoted:   c.QuotedIdempotencyKey,
		timeout:  c.Timeout,
		classify: c.Classify,
		static:   b.headers(target),
		now:      now,
	}
	dialer.ControlContext = policy.control
	s.transport = b.transport(dialer)
	if target != nil {
		shown := *target
		shown.User = nil
		s.request = &http.Request{Method: http.MethodPost, URL: &shown, Host: shown.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	}
	s.secretText = b.replacer()
	return s, b.faults
}

// builder collects what is wrong, and what must not be shown.
type builder struct {
	config Config
	faults []error
	secret []string
}

func (b *builder) fault(format string, args ...any) {
	b.faults = append(b.faults, fmt.Errorf(format, args...))
}

// expand puts variables into text and returns their values too.
func (b *builder) expand(what, text string) (expanded string, values []string, ok bool) {
	expanded, unset, err := env.Expand(text, func(name string) (string, bool) {
		value, ok := os.LookupEnv(name)
		values = append(values, value)
		return value, ok
	})
	if err != nil {
		b.fault("%s: %w", what, err)
	}
	if len(unset) > 0 {
		b.fault("%s: environment variable not set: %s", what, strings.Join(unset, ", "))
	}
	return expanded, values, err == nil && len(unset) == 0
}

// hide keeps text out of failure messages. Hiding what is shorter than a
// credential can be would only garble them.
func (b *builder) hide(text string) {
	const shortest = 6
	if len(text) >= shortest {
		b.secret = append(b.secret, text)
	}
}

// replacer replaces all that is secret, the longest first.
func (b *builder) replacer() *strings.Replacer {
	slices.SortFunc(b.secret, func(x, y string) int { return len(y) - len(x) })
	pairs := make([]string, 0, 2*len(b.secret))
	for _, text := range b.secret {
		pairs = append(pairs, text, "[hidden]")
	}
	return strings.NewReplacer(pairs...)
}

// url reads a URL of one of the schemes. No part of it is in a fault: it may
// be a secret.
func (b *builder) url(what, text string, schemes ...string) *url.URL {
	if text == "" {
		b.fault("%s is empty", what)
		return nil
	}
	text, values, ok := b.expand(what, text)
	if !ok {
		return nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || !isHeaderText(text):
		b.fault("%s is not a URL", what)
		return nil
	case !slices.Contains(schemes, u.Scheme):
		b.fault("%s: the scheme must be %s", what, strings.Join(schemes, " or "))
		return nil
	case u.Hostname() == "":
		b.fault("%s has no host", what)
		return nil
	case u.Fragment != "":
		b.fault("%s has a fragment (#), which is never sent", what)
		return nil
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			b.fault("%s: the port must be from 1 to 65535", what)
			return nil
		}
	}
	b.hideParts(u, values)
	return u
}

// hideParts keeps a URL's credentials, query values and the values of its
// variables out of messages, but not its host, without which a message is of
// no use.
func (b *builder) hideParts(u *url.URL, variables []string) {
	for _, value := range variables {
		if !strings.Contains(u.Host, value) {
			b.hide(value)
		}
	}
	if u.User != nil {
		password, _ := u.User.Password()
		b.hide(password)
		b.hide(u.User.String())
		b.hide(basicAuth(u.User.Username(), password))
	}
	b.hide(u.RawQuery)
	for _, values := range u.Query() {
		for _, value := range values {
			b.hide(value)
			b.hide(url.QueryEscape(value))
		}
	}
}

// addresses makes the policy of where connections may go.
func (b *builder) addresses(target *url.URL) addressPolicy {
	policy, faults := newAddressPolicy(b.config.Allow)
	b.faults = append(b.faults, faults...)
	if b.config.Proxy != "" && len(b.config.Allow) > 0 {
		b.fault("allow cannot be checked through a proxy: leave out one of them")
	}
	if target == nil {
		return policy
	}
	// What is written as an address can be refused at once, and must be where
	// a proxy would be asked to connect to it.
	if addr, err := netip.ParseAddr(target.Hostname()); err == nil {
		if err := policy.check(addr); err != nil {
			b.fault("url: %w", err)
		}
	}
	return policy
}

func (b *builder) secrets() []signature.Secret {
	secrets, err := signature.Load(b.config.Secrets)
	if err != nil {
		b.faults = append(b.faults, err)
		return nil
	}
	for i, secret := range secrets {
		if !secret.CanSign() {
			b.fault("secrets[%d] is a public key, which cannot sign: the sender needs the whsk_ key", i)
		}
	}
	return secrets
}

// headers makes the headers that every attempt carries as they are.
func (b *builder) headers(target *url.URL) http.Header {
	h := http.Header{
		headerContentType:   {"application/json"},
		headerUserAgent:     {userAgent},
		headerCESpecVersion: {"1.0"},
		headerCESource:      {encodeCloudEvent(b.config.Source)},
	}
	if b.config.Source == "" {
		b.fault("source is empty: CloudEvents needs one, like /services/orders")
	}
	names := make([]string, 0, len(b.config.Headers))
	for name := range b.config.Headers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		value, variables, ok := b.expand(fmt.Sprintf("header %q", name), b.config.Headers[name])
		if !ok {
			continue
		}
		for _, secret := range append(variables, value) {
			b.hide(secret)
		}
		if err := CheckHeader(name, value); err != nil {
			b.faults = append(b.faults, err)
			continue
		}
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		if _, twice := h[canonical]; twice {
			b.fault("header %q is there twice, in different case", name)
		}
		h[canonical] = []string{value}
	}
	if target != nil && target.User != nil {
		if _, twice := h["Authorization"]; twice {
			b.fault("header Authorization stands beside a user name in the url: leave out one of them")
		}
		password, _ := target.User.Password()
		h["Authorization"] = []string{basicAuth(target.User.Username(), password)}
	}
	return h
}

func (b *builder) transport(dialer net.Dialer) *http.Transport {
	if b.config.HeaderTimeout < 0 {
		b.fault("header timeout is %v: use a positive duration, or 0 for none", b.config.HeaderTimeout)
	}
	t := &http.Transport{
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // what is compressed is not unpacked: it could be anything
		ResponseHeaderTimeout:  b.config.HeaderTimeout,
		MaxResponseHeaderBytes: maxAnswerHeader,
		IdleConnTimeout:        90 * time.Second,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream:     2 * maxAnswerBody,
			MaxReceiveBufferPerConnection: 1 << 20,
			// A connection that died in silence is found and left.
			SendPingTimeout: 15 * time.Second,
			PingTimeout:     10 * time.Second,
		},
	}
	if b.config.TLS != nil {
		t.TLSClientConfig = b.config.TLS.Clone()
	} else {
		t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if b.config.Proxy != "" {
		if proxy := b.url("proxy", b.config.Proxy, "http", "https", "socks5"); proxy != nil {
			t.Proxy = http.ProxyURL(proxy)
		}
	}
	return t
}
