package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/outboxgen/outboxgen/runtime/canonical"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// Receiver is the http.Handler of one consumer. It holds no goroutine and is
// safe for concurrent use.
type Receiver struct {
	cfg      Config
	log      *slog.Logger
	verifier *verifier // nil: unsigned requests are allowed
	events   map[typeVersion]receivable
	keys     keyTable
	purge    func(ctx context.Context, consumer string, retention time.Duration, limit int) (int, error)
}

// receivable is an EventType on its store.
type receivable struct {
	policy canonical.Policy
	apply  func(ctx context.Context, e Entry, body []byte, m Message) (Result, *handlerError, error)
}

// NewReceiver makes the receiver of a consumer. It reads the environment for
// ${VAR} in Secrets now, and reports every fault of cfg and events in one error.
func NewReceiver[Tx any](store Store[Tx], events []EventType[Tx], cfg Config) (*Receiver, error) {
	cfg = cfg.Or(Config{
		Tolerance:      DefaultTolerance,
		MaxBody:        DefaultMaxBody,
		ReadTimeout:    DefaultReadTimeout,
		HandlerTimeout: DefaultHandlerTimeout,
		Retention:      max(DefaultRetention, cfg.SenderHorizon),
		PurgeInterval:  DefaultPurgeInterval,
		Logger:         slog.New(slog.DiscardHandler),
		Now:            time.Now,
	})
	v, secretsErr := newVerifier(cfg)
	var storeErr error
	if store == nil {
		storeErr = errors.New("store is nil")
	}
	if err := errors.Join(storeErr, cfg.validate(), secretsErr, validateEvents(events)); err != nil {
		return nil, fmt.Errorf("inbox: new receiver %q: %w", cfg.Consumer, err)
	}
	cfg.Secrets = nil // a receiver that is printed shows none
	r := &Receiver{cfg: cfg, log: cfg.Logger, verifier: v, purge: store.Purge,
		events: make(map[typeVersion]receivable, len(events))}
	for _, e := range events {
		r.events[typeVersion{e.Type, e.Version}] = receivable{policy: e.Idempotency, apply: applier(store, e)}
	}
	return r, nil
}

// ServeHTTP answers one delivery; docs/wire.md has the table.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	started := time.Now()
	e, a := r.receive(w, req)
	r.report(req.Context(), e, a, time.Since(started))
	a.write(w)
}

// receive checks from the outside in: nothing of a request is looked at
// before what guards it holds.
func (r *Receiver) receive(w http.ResponseWriter, req *http.Request) (envelope, answer) {
	if req.Method != http.MethodPost {
		return envelope{}, badMethod.permitting(http.MethodPost)
	}
	if fault := checkMedia(req.Header); fault != "" {
		return envelope{}, badMedia.because(fault)
	}
	body, a := r.readBody(w, req)
	if a.outcome != nil {
		return envelope{}, a
	}
	if a := r.verifier.verify(req.Header, body, r.cfg.Now()); a.outcome != nil {
		return envelope{}, a
	}
	e, err := readEnvelope(req.Header)
	if err != nil {
		return e, badHeaders.because(err.Error())
	}
	if !slices.Contains(r.cfg.Sources, e.source) {
		return e, badSource.because("")
	}
	known, ok := r.events[e.event]
	if !ok {
		return e, r.unknown()
	}
	// Key need not read the body under every policy: duplicate names and what
	// is no JSON are refused here, whatever the policy.
	if err := canonical.Object(body, func(string, []byte) error { return nil }); err != nil {
		return e, malformed.because(err.Error())
	}
	key, err := canonical.Key(e.source, e.event.name, known.policy, e.eventID.String(), body)
	if err != nil {
		return e, malformed.because(err.Error())
	}
	if key != e.key {
		return e, badIdentity.because("")
	}
	return e, r.apply(req.Context(), known, e, body)
}

func (r *Receiver) unknown() answer {
	switch r.cfg.Unknown {
	case UnknownReject:
		return unknownReject.because("")
	case UnknownAcknowledge:
		return acknowledged.because("")
	default:
		return unknownRetry.because("")
	}
}

// apply has the event to itself in this process; other processes meet at the
// store.
func (r *Receiver) apply(ctx context.Context, known receivable, e envelope, body []byte) answer {
	if !r.keys.begin(e.key) {
		return inProgress.because("")
	}
	defer r.keys.end(e.key)
	ctx = outbox.ContextWithTrace(context.WithoutCancel(ctx), e.trace)
	ctx, cancel := context.WithTimeout(ctx, r.cfg.HandlerTimeout)
	defer cancel()
	digest := sha256.Sum256(body)
	entry := Entry{
		Consumer:       r.cfg.Consumer,
		IdempotencyKey: e.key,
		EventID:        e.eventID.String(),
		Fingerprint:    hex.EncodeToString(digest[:]),
	}
	result, failure, err := known.apply(ctx, entry, body, Message{
		EventID:        e.eventID,
		Type:           e.event.name,
		Version:        e.event.version,
		IdempotencyKey: e.key,
		Source:         e.source,
		Timestamp:      e.timestamp,
		Trace:          e.trace,
	})
	switch {
	case err != nil && ctx.Err() != nil: // whatever handler and store say of it
		return timedOut.caused(err)
	case failure != nil:
		return failure.answer()
	case err != nil:
		return storeFailed.caused(err)
	case result == Applied:
		return applied.because("")
	case result == Duplicate:
		return duplicate.because("")
	case result == Mismatch:
		return keyReused.because("")
	default:
		return storeFailed.caused(fmt.Errorf("the store answered result %d, which does not exist", result))
	}
}

// applier binds an event type to its store. The handler's error comes back
// apart from the store's: only the handler may blame the event.
func applier[Tx any](store Store[Tx], event EventType[Tx]) func(context.Context, Entry, []byte, Message) (Result, *handlerError, error) {
	return func(ctx context.Context, e Entry, body []byte, m Message) (Result, *handlerError, error) {
		var failure *handlerError
		result, err := store.Apply(ctx, e, func(ctx context.Context, tx Tx) error {
			failure = call(func() error { return event.Apply(ctx, tx, body, m) })
			if failure != nil {
				return failure
			}
			return nil
		})
		return result, failure, err
	}
}

// handlerError is why a handler did not apply an event.
type handlerError struct {
	err   error
	stack []byte // of a panic
}

func (e *handlerError) Error() string { return e.err.Error() }
func (e *handlerError) Unwrap() error { return e.err }

// call turns a panic into an error, so that the store rolls back as it does
// for any other and the process lives on.
func call(handler func() error) (failure *handlerError) {
	defer func() {
		if p := recover(); p != nil {
			failure = &handlerError{err: fmt.Errorf("handler panicked: %v", p), stack: debug.Stack()}
		}
	}()
	if err := handler(); err != nil {
		return &handlerError{err: err}
	}
	return nil
}

func (e *handlerError) answer() answer {
	var reject *rejectedError
	switch {
	case errors.As(e.err, &reject):
		return rejected.caused(e)
	case errors.Is(e.err, ErrUndecodable):
		return undecodable.caused(e)
	default:
		return handlerFailed.caused(e)
	}
}

// report logs a request that is over. Before the signature holds, the
// envelope is empty: nobody can fill the log with values of his choice.
func (r *Receiver) report(ctx context.Context, e envelope, a answer, took time.Duration) {
	level := slog.LevelDebug
	switch {
	case a.status >= 500:
		level = slog.LevelError
	case a.status >= 400:
		level = slog.LevelWarn
	}
	if !r.log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("consumer", r.cfg.Consumer),
		slog.Int("status_code", a.status),
		slog.String("result", a.code),
		slog.Duration("took", took),
	}
	if e.key != "" {
		attrs = append(attrs, slog.String("idempotency_key", e.key), slog.String("event_id", e.eventID.String()),
			slog.String("event_type", brief(e.event.name)), slog.Int("event_version", e.event.version))
	}
	if a.detail != "" {
		attrs = append(attrs, slog.String("detail", brief(a.detail)))
	}
	if a.err != nil {
		attrs = append(attrs, slog.String("error", a.err.Error()))
	}
	var failure *handlerError
	if errors.As(a.err, &failure) && failure.stack != nil {
		attrs = append(attrs, slog.String("stack", string(failure.stack)))
	}
	r.log.LogAttrs(ctx, level, "webhook received", attrs...)
}
