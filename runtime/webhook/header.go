package webhook

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/webhook/signature"
)

// Names of the headers that the sender sets, as net/http writes them.
const (
	headerContentType    = "Content-Type"
	headerUserAgent      = "User-Agent"
	headerIdempotencyKey = "Idempotency-Key"
	headerEventID        = "X-Event-Id"
	headerEventType      = "X-Event-Type"
	headerEventVersion   = "X-Event-Version"
	headerWebhookID      = "Webhook-Id"
	headerWebhookTime    = "Webhook-Timestamp"
	headerWebhookSign    = "Webhook-Signature"
	headerCESpecVersion  = "Ce-Specversion"
	headerCEID           = "Ce-Id"
	headerCESource       = "Ce-Source"
	headerCEType         = "Ce-Type"
	headerCETime         = "Ce-Time"
	headerTraceParent    = "Traceparent"
	headerTraceState     = "Tracestate"
)

// Headers returns the names of the headers that the sender sets: all of them
// on every attempt, but webhook-signature only with a secret, and traceparent
// and tracestate only when the event has a valid one.
func Headers() []string {
	return []string{
		headerContentType, headerUserAgent,
		headerIdempotencyKey, headerEventID, headerEventType, headerEventVersion,
		headerWebhookID, headerWebhookTime, headerWebhookSign,
		headerCESpecVersion, headerCEID, headerCESource, headerCEType, headerCETime,
		headerTraceParent, headerTraceState,
	}
}

// reservedHeaders, beside those of Headers, belong to HTTP itself.
var reservedHeaders = []string{
	"Connection", "Content-Encoding", "Content-Length", "Expect", "Host", "Keep-Alive",
	"Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// reservedPrefixes keep room for headers to come.
var reservedPrefixes = []string{"Ce-", "Webhook-", "X-Event-"}

// CheckHeader says why a static header cannot be: its name is no token (RFC
// 9110, section 5.6.2), is one that the sender or HTTP itself sets, or its
// value has more than visible ASCII, blanks and tabs within. The value is not
// in the error.
func CheckHeader(name, value string) error {
	if name == "" || strings.IndexFunc(name, func(r rune) bool { return !isToken(r) }) >= 0 {
		return fmt.Errorf("header %q: the name may have letters, digits and !#$%%&'*+-.^_`|~ only", name)
	}
	canonical := textproto.CanonicalMIMEHeaderKey(name)
	reserved := slices.Contains(reservedHeaders, canonical) || slices.Contains(Headers(), canonical)
	for _, prefix := range reservedPrefixes {
		reserved = reserved || strings.HasPrefix(canonical, prefix)
	}
	if reserved {
		return fmt.Errorf("header %q is set by the sender or by HTTP itself", name)
	}
	if !isHeaderText(value) || strings.TrimSpace(value) != value {
		return fmt.Errorf("header %q: the value may have visible ASCII, and blanks and tabs within, only", name)
	}
	return nil
}

func isToken(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// isHeaderText reports whether s is visible ASCII, blanks and tabs.
func isHeaderText(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' && c != '\t') || c > '~' {
			return false
		}
	}
	return true
}

// errBadEvent: the event can never be sent, so retrying it is of no use.
var errBadEvent = errors.New("the event's type or key cannot stand in a header")

// header makes the headers of an attempt.
func (s *sender) header(d *outbox.Delivery, at time.Time) (http.Header, error) {
	if d.Type == "" || d.IdempotencyKey == "" || !isHeaderText(d.Type) || !isHeaderText(d.IdempotencyKey) {
		return nil, errBadEvent
	}
	const set = 12                              // at most, below
	h := make(http.Header, len(s.static)+set-2) // the trace is rare
	for name, values := range s.static {
		h[name] = values
	}
	room := make([]string, 0, set)
	add := func(name, value string) {
		room = append(room, value)
		h[name] = room[len(room)-1 : len(room) : len(room)]
	}
	id := d.ID.String()
	key := d.IdempotencyKey
	add(headerWebhookID, key)
	if s.quoted {
		key = quote(key)
	}
	add(headerIdempotencyKey, key)
	add(headerEventID, id)
	add(headerEventType, d.Type)
	add(headerEventVersion, strconv.Itoa(d.Version))
	add(headerCEID, id)
	add(headerCEType, encodeCloudEvent(d.Type))
	add(headerCETime, d.CreatedAt.UTC().Format(time.RFC3339Nano))
	add(headerWebhookTime, strconv.FormatInt(at.Unix(), 10))
	if isTraceParent(d.Trace.Parent) {
		add(headerTraceParent, d.Trace.Parent)
		if state := d.Trace.State; state != "" && len(state) <= maxTraceState && isHeaderText(state) {
			add(headerTraceState, state)
		}
	}
	if len(s.secrets) == 0 {
		return h, nil
	}
	signed, err := signature.Sign(s.secrets, d.IdempotencyKey, at, d.Payload)
	if err != nil {
		return nil, err
	}
	add(headerWebhookSign, signed)
	return h, nil
}

// quote makes the string of a structured field (RFC 8941, section 3.3.3).
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// encodeCloudEvent writes an attribute as the CloudEvents HTTP binding wants it
// (version 1.0.2, section 3.1.3.2): blanks, quotes, percent signs and all that
// is not visible ASCII are percent-encoded.
func encodeCloudEvent(s string) string {
	plain := func(c byte) bool { return c > ' ' && c <= '~' && c != '"' && c != '%' }
	clean := true
	for i := range len(s) {
		clean = clean && plain(s[i])
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if plain(s[i]) {
			b.WriteByte(s[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", s[i])
		}
	}
	return b.String()
}

// maxTraceState is what W3C Trace Context, section 3.3.1.5, asks everybody to
// pass on.
const maxTraceState = 512

// isTraceParent reports whether s is a traceparent of W3C Trace Context,
// section 3.2.2, version 00. Another one may be anything that a caller of ours
// received, and is not passed on.
func isTraceParent(s string) bool {
	if len(s) != 55 || s[:3] != "00-" || s[35] != '-' || s[52] != '-' {
		return false
	}
	trace, parent, flags := s[3:35], s[36:52], s[53:]
	return isHex(trace) && isHex(parent) && isHex(flags) && strings.Trim(trace, "0") != "" && strings.Trim(parent, "0") != ""
}

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// basicAuth is the value of an Authorization header (RFC 7617).
func basicAuth(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}
