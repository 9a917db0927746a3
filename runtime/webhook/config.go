package webhook

import (
	"crypto/tls"
	"maps"
	"net/http"
	"net/textproto"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// Config describes a webhook destination. URL, Secrets, Headers' values and
// Proxy may hold variables, ${VAR}, which New reads from the environment.
type Config struct {
	// Name is the destination's name in the store and in errors.
	Name string
	// URL is where to POST: http or https. A user name and password in it are
	// sent as Basic authentication (RFC 7617).
	URL string
	// Source is the CloudEvents source of the events: a URI reference.
	Source string
	// Secrets sign every attempt, each with a signature of its own, so that a
	// receiver that has either the old or the new one is satisfied while a
	// secret rotates. Each is whsec_ or whsk_ and base64, or a reference to one:
	// ${VAR}, or file: and a path, which New reads. None: nothing is signed.
	Secrets []string
	// Headers are sent with every attempt. The names that the sender or HTTP
	// itself sets are refused (see CheckHeader).
	Headers map[string]string
	// QuotedIdempotencyKey sends Idempotency-Key as the string of a structured
	// field, in quotes, which the IETF draft wants (draft-ietf-httpapi-
	// idempotency-key-header, section 2.1; RFC 8941, section 3.3.3), instead of
	// bare.
	QuotedIdempotencyKey bool

	// Timeout ends an attempt, from the dial to the last byte read of the
	// answer. 0: outbox.DefaultTimeout.
	Timeout time.Duration
	// HeaderTimeout bounds the wait for the answer's headers once the request
	// is written. 0: only Timeout does.
	HeaderTimeout time.Duration
	// MaxInFlight is how many attempts run at a time, and how many connections
	// are kept for reuse. 0: outbox.DefaultMaxInFlight.
	MaxInFlight int
	// Retry spaces the attempts. 0, field by field: outbox.DefaultRetry.
	Retry outbox.RetryPolicy
	// MaxAge quarantines a delivery that is older, counted since the insert or
	// the last replay. 0: never, or the spec's. Negative: never.
	MaxAge time.Duration
	// Breaker configures the destination's circuit breaker, field by field.
	Breaker breaker.Config
	// NoBreaker dispatches without one.
	NoBreaker bool
	// SharedBreaker takes the place of the one that Breaker describes.
	SharedBreaker outbox.Breaker

	// Allow narrows where connections may go to these ranges of addresses
	// (10.1.0.0/16, 2001:db8::/32). None: everywhere but link-local, metadata,
	// multicast and unspecified addresses, which no range can allow. It cannot
	// be used with a Proxy, through which it could not be checked.
	Allow []string
	// TLS is used for https: own authorities (RootCAs), client certificates
	// (Certificates). New copies it. nil: the system's authorities.
	TLS *tls.Config
	// Proxy is the URL of a proxy: http, https or socks5. "": none; the
	// HTTP_PROXY variables of the environment are not looked at.
	Proxy string

	// Classify, unless nil, may change what an answer comes to. usual is what
	// the table (Answers) says; its Failure is not yet filled in, and what
	// Classify sets there is kept. It must be safe for concurrent use.
	Classify func(status int, header http.Header, usual outbox.Outcome) outbox.Outcome
}

// Or returns c with its zero fields taken from defaults. Headers are merged:
// those of c win, name by name, whatever the case. A switch that is set in
// defaults stays set.
func (c Config) Or(defaults Config) Config {
	or(&c.Name, defaults.Name)
	or(&c.URL, defaults.URL)
	or(&c.Source, defaults.Source)
	if c.Secrets == nil {
		c.Secrets = defaults.Secrets
	}
	c.Headers = mergeHeaders(c.Headers, defaults.Headers)
	c.QuotedIdempotencyKey = c.QuotedIdempotencyKey || defaults.QuotedIdempotencyKey
	or(&c.Timeout, defaults.Timeout)
	or(&c.HeaderTimeout, defaults.HeaderTimeout)
	or(&c.MaxInFlight, defaults.MaxInFlight)
	c.Retry = c.Retry.Or(defaults.Retry)
	or(&c.MaxAge, defaults.MaxAge)
	c.Breaker = c.Breaker.Or(defaults.Breaker)
	c.NoBreaker = c.NoBreaker || defaults.NoBreaker
	or(&c.SharedBreaker, defaults.SharedBreaker)
	if c.Allow == nil {
		c.Allow = defaults.Allow
	}
	or(&c.TLS, defaults.TLS)
	or(&c.Proxy, defaults.Proxy)
	if c.Classify == nil {
		c.Classify = defaults.Classify
	}
	return c
}

func or[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// mergeHeaders does not change its arguments.
func mergeHeaders(headers, defaults map[string]string) map[string]string {
	if len(defaults) == 0 {
		return headers
	}
	merged := maps.Clone(headers)
	if merged == nil {
		merged = make(map[string]string, len(defaults))
	}
	have := make(map[string]bool, len(headers))
	for name := range headers {
		have[textproto.CanonicalMIMEHeaderKey(name)] = true
	}
	for name, value := range defaults {
		if !have[textproto.CanonicalMIMEHeaderKey(name)] {
			merged[name] = value
		}
	}
	return merged
}
