package inbox

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/webhook/signature"
)

// The headers that a receiver reads; docs/wire.md lists them.
const (
	headerID        = signature.HeaderID
	headerTimestamp = signature.HeaderTimestamp
	headerSignature = signature.HeaderSignature

	headerIdempotencyKey = "Idempotency-Key"
	headerEventID        = "X-Event-Id"
	headerEventType      = "X-Event-Type"
	headerEventVersion   = "X-Event-Version"

	headerCESpecVersion = "ce-specversion"
	headerCEID          = "ce-id"
	headerCESource      = "ce-source"
	headerCEType        = "ce-type"

	headerTraceParent = "traceparent"
	headerTraceState  = "tracestate"
)

// envelope is what the headers say of an event. Until the idempotency key is
// computed again from it, nothing of it is proved but key and timestamp.
type envelope struct {
	key       string
	timestamp time.Time // zero when the request does not say
	eventID   uuid.UUID
	source    string
	event     typeVersion
	trace     outbox.Trace
}

type typeVersion struct {
	name    string
	version int
}

func (t typeVersion) String() string { return t.name + "@" + strconv.Itoa(t.version) }

// readEnvelope reads and cross-checks the headers. Its errors name the header
// and are fit to be sent.
func readEnvelope(h http.Header) (envelope, error) {
	var e envelope
	r := headerReader{h: h}
	e.key = r.required(headerID)
	e.timestamp = r.unixTime(headerTimestamp)
	id := r.required(headerEventID)
	e.event.name = r.required(headerEventType)
	e.event.version = r.version(headerEventVersion)
	e.source = r.decoded(headerCESource, r.required(headerCESource))
	if r.err != nil {
		return envelope{}, r.err
	}
	if !isKey(e.key) {
		return envelope{}, fmt.Errorf("%s is not 64 lower-case hex digits", headerID)
	}
	var err error
	if e.eventID, err = uuid.Parse(id); err != nil || e.eventID.String() != id {
		return envelope{}, fmt.Errorf("%s is not a UUID in its canonical spelling", headerEventID)
	}
	r.agrees(headerIdempotencyKey, headerID, e.key, unquote)
	r.agrees(headerCEID, headerEventID, id, nil)
	r.agrees(headerCEType, headerEventType, e.event.name, func(s string) string { return r.decoded(headerCEType, s) })
	r.agrees(headerCESpecVersion, "CloudEvents", "1.0", nil)
	if r.err != nil {
		return envelope{}, r.err
	}
	e.trace = readTrace(h)
	return e, nil
}

// headerReader keeps the first fault it meets.
type headerReader struct {
	h   http.Header
	err error
}

func (r *headerReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// optional returns a header that may be absent but must not stand twice: two
// readers on the way could take different ones.
func (r *headerReader) optional(name string) string {
	values := r.h.Values(name)
	if len(values) > 1 {
		r.fail("%s stands %d times", name, len(values))
	}
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

func (r *headerReader) required(name string) string {
	value := r.optional(name)
	if value == "" {
		r.fail("%s is missing", name)
	}
	return value
}

// agrees checks that a header, when it is there, says what another does.
func (r *headerReader) agrees(name, other, want string, normal func(string) string) {
	if len(r.h.Values(name)) == 0 {
		return
	}
	got := r.optional(name)
	if normal != nil {
		got = normal(got)
	}
	if got != want {
		r.fail("%s contradicts %s", name, other)
	}
}

// decoded undoes the percent-encoding of a CloudEvents attribute (HTTP
// binding, section 3.1.3.2).
func (r *headerReader) decoded(name, value string) string {
	text, err := url.PathUnescape(value)
	if err != nil || !utf8.ValidString(text) {
		r.fail("%s is not percent-encoded UTF-8", name)
	}
	return text
}

func (r *headerReader) unixTime(name string) time.Time {
	value := r.optional(name)
	if value == "" {
		return time.Time{}
	}
	seconds, ok := digits(value, 12)
	if !ok {
		r.fail("%s is not whole seconds since 1970", name)
	}
	return time.Unix(seconds, 0)
}

func (r *headerReader) version(name string) int {
	value := r.required(name)
	n, ok := digits(value, 9)
	if value != "" && (!ok || n < 1 || value[0] == '0') {
		r.fail("%s is not a whole number from 1", name)
	}
	return int(n)
}

// digits parses a decimal number of at most limit digits, without a sign.
func digits(s string, limit int) (int64, bool) {
	if s == "" || len(s) > limit {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

func isKey(s string) bool {
	return len(s) == 64 && isLowerHex(s)
}

func isLowerHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// unquote takes the structured-field form of the Idempotency-Key draft.
func unquote(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

// maxTraceState is the length that W3C Trace Context, section 3.3.1.5, asks
// everybody to pass on.
const maxTraceState = 512

// readTrace takes a trace context that W3C Trace Context (version 00) allows;
// another one is dropped, as section 4.2 says: a trace never fails an event.
func readTrace(h http.Header) outbox.Trace {
	parents := h.Values(headerTraceParent)
	if len(parents) != 1 || !isTraceParent(parents[0]) {
		return outbox.Trace{}
	}
	state := strings.Join(h.Values(headerTraceState), ",")
	if len(state) > maxTraceState {
		state = ""
	}
	return outbox.Trace{Parent: parents[0], State: state}
}

func isTraceParent(s string) bool {
	const none = "00000000000000000000000000000000"
	parts := strings.Split(s, "-")
	return len(s) == 55 && len(parts) == 4 &&
		parts[0] == "00" &&
		len(parts[1]) == 32 && isLowerHex(parts[1]) && parts[1] != none &&
		len(parts[2]) == 16 && isLowerHex(parts[2]) && parts[2] != none[:16] &&
		len(parts[3]) == 2 && isLowerHex(parts[3])
}

// brief makes a header's value fit for a log line.
func brief(s string) string {
	const limit = 128
	if len(s) > limit {
		s = s[:limit] + "…"
	}
	return strings.ToValidUTF8(s, "�")
}
