package inbox

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/outboxgen/outboxgen/runtime/canonical"
	"github.com/outboxgen/outboxgen/runtime/webhook/signature"
)

// Defaults of the zero fields of a [Config].
const (
	DefaultTolerance      = signature.DefaultTolerance
	DefaultMaxBody        = 1 << 20 // bytes
	DefaultReadTimeout    = 30 * time.Second
	DefaultHandlerTimeout = 30 * time.Second
	// DefaultRetention is 30 days. It is the window in which a repeated event is
	// known as one.
	DefaultRetention     = 30 * 24 * time.Hour
	DefaultPurgeInterval = time.Hour
)

// Config of a [Receiver]. Generated code fills Consumer, Sources, Secrets
// and SenderHorizon from the spec where they are zero.
type Config struct {
	// Consumer names the side that applies the events; two consumers on one
	// store apply each event once each. Required; generated code defaults it to the
	// destination's name. Changing it forgets what was applied.
	Consumer string
	// Sources are the CloudEvents sources that this receiver expects
	// (ce-source). At least one is required; the source is part of the key.
	Sources []string
	// Secrets to verify signatures with, several while one rotates: whsec_…
	// (v1, HMAC-SHA256) or whpk_… (v1a, an Ed25519 public key). Each may be
	// ${VAR} or file:PATH, read by NewReceiver: see [signature.Load].
	Secrets []string
	// AllowUnsigned takes requests without looking at their signature. It
	// must be said when there are no Secrets, and cannot be said beside them.
	AllowUnsigned bool
	// Tolerance is how far webhook-timestamp may be from Now, either way.
	// 0: DefaultTolerance.
	Tolerance time.Duration
	// MaxBody is the most bytes of a body. 0: DefaultMaxBody.
	MaxBody int64
	// ReadTimeout is how long a request's body may take, where the connection
	// has read deadlines; it replaces http.Server.ReadTimeout for the body.
	// 0: DefaultReadTimeout.
	ReadTimeout time.Duration
	// HandlerTimeout ends the context of the transaction and the handler. It
	// runs on when the sender hangs up, so that a handler slower than the
	// sender's patience still gets done, once. 0: DefaultHandlerTimeout.
	HandlerTimeout time.Duration
	// Unknown says what becomes of types and versions that the receiver does
	// not have. The zero value is UnknownRetry.
	Unknown UnknownPolicy
	// Retention is how long an inbox row is kept: a repetition that comes
	// later is applied again. It must cover SenderHorizon and twice Tolerance.
	// 0: DefaultRetention, or SenderHorizon where that is longer.
	Retention time.Duration
	// SenderHorizon is the longest time after its first attempt that the
	// sender may still repeat a delivery, as far as its policy says: retries,
	// max_age and the window for replays. 0: not known, not checked.
	SenderHorizon time.Duration
	// PurgeInterval is how often Run purges. 0: DefaultPurgeInterval.
	PurgeInterval time.Duration
	// Logger gets refusals (warn), failures (error) and the rest (debug).
	// nil: nothing is logged.
	Logger *slog.Logger
	// Now is the clock that Tolerance is measured by. nil: time.Now.
	Now func() time.Time
}

// UnknownPolicy is what a receiver does with a type or version it does not
// have. No policy writes an inbox row.
type UnknownPolicy int

const (
	// UnknownRetry answers 404: the sender tries again after its backoff, as is
	// right while a newer receiver is being rolled out.
	UnknownRetry UnknownPolicy = iota
	// UnknownReject answers 422: the sender makes it a dead letter at once.
	UnknownReject
	// UnknownAcknowledge answers 200 and does nothing: the consumer does not
	// care for other types, and later versions of the receiver will not see them.
	UnknownAcknowledge
)

// Or fills the zero fields of c from defaults. AllowUnsigned keeps Secrets
// empty.
func (c Config) Or(defaults Config) Config {
	if c.Consumer == "" {
		c.Consumer = defaults.Consumer
	}
	if len(c.Sources) == 0 {
		c.Sources = defaults.Sources
	}
	if len(c.Secrets) == 0 && !c.AllowUnsigned {
		c.Secrets = defaults.Secrets
		c.AllowUnsigned = defaults.AllowUnsigned
	}
	if c.Tolerance == 0 {
		c.Tolerance = defaults.Tolerance
	}
	if c.MaxBody == 0 {
		c.MaxBody = defaults.MaxBody
	}
	if c.ReadTimeout == 0 {
		c.ReadTimeout = defaults.ReadTimeout
	}
	if c.HandlerTimeout == 0 {
		c.HandlerTimeout = defaults.HandlerTimeout
	}
	if c.Unknown == UnknownRetry {
		c.Unknown = defaults.Unknown
	}
	if c.Retention == 0 {
		c.Retention = defaults.Retention
	}
	if c.SenderHorizon == 0 {
		c.SenderHorizon = defaults.SenderHorizon
	}
	if c.PurgeInterval == 0 {
		c.PurgeInterval = defaults.PurgeInterval
	}
	if c.Logger == nil {
		c.Logger = defaults.Logger
	}
	if c.Now == nil {
		c.Now = defaults.Now
	}
	return c
}

// validate lists every fault of a configuration whose defaults are filled in.
func (c Config) validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.Consumer == "" {
		fault("Consumer is empty: name the consumer, for example after its destination in the spec")
	}
	if len(c.Sources) == 0 {
		fault("Sources is empty: name the CloudEvents source that the sender's spec declares")
	}
	for i, s := range c.Sources {
		if s == "" {
			fault("Sources[%d] is empty", i)
		}
	}
	switch {
	case len(c.Secrets) == 0 && !c.AllowUnsigned:
		fault("there is no secret: set Secrets, or say AllowUnsigned when something else authenticates the sender")
	case len(c.Secrets) > 0 && c.AllowUnsigned:
		fault("AllowUnsigned is set beside Secrets: remove one of them")
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"Tolerance", c.Tolerance}, {"ReadTimeout", c.ReadTimeout}, {"HandlerTimeout", c.HandlerTimeout},
		{"Retention", c.Retention}, {"SenderHorizon", c.SenderHorizon}, {"PurgeInterval", c.PurgeInterval},
	} {
		if d.value < 0 {
			fault("%s is %v: it cannot be negative", d.name, d.value)
		}
	}
	if c.MaxBody < 0 {
		fault("MaxBody is %d: it cannot be negative", c.MaxBody)
	}
	if c.Unknown < UnknownRetry || c.Unknown > UnknownAcknowledge {
		fault("Unknown is %d: use UnknownRetry, UnknownReject or UnknownAcknowledge", c.Unknown)
	}
	// A captured request verifies from Tolerance before its timestamp to
	// Tolerance after it; its row must live through that.
	if c.Retention < 2*c.Tolerance {
		fault("Retention %v is shorter than twice Tolerance %v: a captured request could be applied again", c.Retention, c.Tolerance)
	}
	if c.Retention < c.SenderHorizon {
		fault("Retention %v is shorter than the %v for which the sender may repeat a delivery: a late repetition would be applied again; raise Retention, or lower the destination's retry or max_age in the spec",
			c.Retention, c.SenderHorizon)
	}
	return errors.Join(faults...)
}

func validateEvents[Tx any](events []EventType[Tx]) error {
	if len(events) == 0 {
		return errors.New("there are no event types: a receiver without any would refuse everything")
	}
	var faults []error
	seen := make(map[typeVersion]bool, len(events))
	for i, e := range events {
		fault := func(format string, args ...any) {
			faults = append(faults, fmt.Errorf("events[%d] (%s@%d): "+format, append([]any{i, e.Type, e.Version}, args...)...))
		}
		if e.Type == "" {
			fault("Type is empty")
		}
		if e.Version < 1 {
			fault("Version must be at least 1")
		}
		switch e.Idempotency.Mode {
		case canonical.ByEvent, canonical.ByPayload:
		case canonical.ByFields:
			if len(e.Idempotency.Fields) == 0 {
				fault("Idempotency names no fields")
			}
		default:
			fault("Idempotency.Mode is %d: use canonical.ByEvent, ByPayload or ByFields", e.Idempotency.Mode)
		}
		if e.Apply == nil {
			fault("Apply is nil")
		}
		key := typeVersion{e.Type, e.Version}
		if seen[key] {
			fault("is listed twice")
		}
		seen[key] = true
	}
	return errors.Join(faults...)
}
