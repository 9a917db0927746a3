package inbox

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// outcome is one kind of answer: a row of the table in docs/wire.md.
type outcome struct {
	status int
	code   string // names it in the answer, the log and docs/wire.md
	// title is the same for every occurrence (RFC 9457, section 3.1.3).
	title string
	// todo tells whoever reads the answer what to do; "" on success.
	todo string
	// retryAfter, in seconds, is sent when above 0.
	retryAfter int
}

// The answers. A status that docs/wire.md calls permanent (400, 413, 415,
// 422) makes the sender set the event aside at once, so only what the event
// itself is to blame for has one; everything that a change of set-up can cure is
// one that the sender tries again.
var (
	applied      = &outcome{status: http.StatusOK, code: "applied"}
	duplicate    = &outcome{status: http.StatusOK, code: "duplicate"}
	acknowledged = &outcome{status: http.StatusOK, code: "ignored"}

	badMethod = &outcome{status: http.StatusMethodNotAllowed, code: "method-not-allowed",
		title: "Only POST delivers an event", todo: "send the event with POST"}
	badMedia = &outcome{status: http.StatusUnsupportedMediaType, code: "unsupported-media-type",
		title: "The body must be plain application/json in UTF-8",
		todo:  "send Content-Type: application/json and no Content-Encoding"}
	tooLarge = &outcome{status: http.StatusRequestEntityTooLarge, code: "body-too-large",
		title: "The body is larger than this receiver takes",
		todo:  "make the event smaller, or raise MaxBody of the receiver and replay"}
	incomplete = &outcome{status: http.StatusRequestTimeout, code: "body-incomplete",
		title: "The body did not arrive whole and in time", todo: "send the same request again"}
	badHeaders = &outcome{status: http.StatusUnauthorized, code: "bad-headers",
		title: "A header is missing, doubled, malformed or contradicts another",
		todo:  "send each header of docs/wire.md once; look for a proxy that changes them"}
	badSignature = &outcome{status: http.StatusUnauthorized, code: "bad-signature",
		title: "No signature verifies", todo: "compare the secrets of sender and receiver; look for a proxy that changes the body"}
	badTimestamp = &outcome{status: http.StatusUnauthorized, code: "bad-timestamp",
		title: "The signature's timestamp is too far from this receiver's clock",
		todo:  "set both clocks; do not send a captured request again"}
	badSource = &outcome{status: http.StatusUnauthorized, code: "unexpected-source",
		title: "The event's source is not one that this receiver expects",
		todo:  "add the source to Sources of the receiver if it belongs there"}
	badIdentity = &outcome{status: http.StatusUnauthorized, code: "wrong-identity",
		title: "The idempotency key does not belong to this source, type, id and body",
		todo:  "send the headers that belong to the event; sender and receiver must have the same idempotency policy for the type"}
	malformed = &outcome{status: http.StatusBadRequest, code: "malformed-body",
		title: "The body is not one JSON object without duplicate names", todo: "correct the event's producer"}
	unknownRetry = &outcome{status: http.StatusNotFound, code: "unknown-type",
		title: "This receiver does not have the event's type and version yet",
		todo:  "deploy a receiver that has it; the sender tries again meanwhile"}
	unknownReject = &outcome{status: http.StatusUnprocessableEntity, code: "unknown-type-rejected",
		title: "This receiver does not take the event's type and version",
		todo:  "do not send it here, or deploy a receiver that has it and replay"}
	inProgress = &outcome{status: http.StatusConflict, code: "in-progress",
		title: "Another request with this idempotency key is being applied",
		todo:  "send the same request again later", retryAfter: 1}
	keyReused = &outcome{status: http.StatusUnprocessableEntity, code: "key-reused",
		title: "This idempotency key was applied with another body",
		todo:  "correct the producer: one idempotency key must always have the same body"}
	undecodable = &outcome{status: http.StatusUnprocessableEntity, code: "undecodable",
		title: "The body is JSON, but not an event of its type and version",
		todo:  "compare the specs of sender and receiver"}
	rejected = &outcome{status: http.StatusUnprocessableEntity, code: "rejected",
		title: "The consumer rejected the event", todo: "see the receiver's log for the reason"}
	handlerFailed = &outcome{status: http.StatusInternalServerError, code: "handler-failed",
		title: "The consumer failed to apply the event; nothing was changed",
		todo:  "send the same request again later; see the receiver's log for the reason"}
	timedOut = &outcome{status: http.StatusServiceUnavailable, code: "timed-out",
		title: "The event was not applied in time; nothing was changed",
		todo:  "send the same request again later; make the handler faster or raise HandlerTimeout"}
	storeFailed = &outcome{status: http.StatusInternalServerError, code: "store-failed",
		title: "The inbox could not be written; nothing was changed",
		todo:  "send the same request again later; see the receiver's log for the reason"}
)

// answer is what one request came to.
type answer struct {
	*outcome
	// detail is sent: it names the header or the limit, never a secret or
	// an error of the user's.
	detail string
	// err is logged and not sent.
	err error
	// allow is the Allow header of a 405.
	allow string
}

func (o *outcome) because(detail string) answer     { return answer{outcome: o, detail: detail} }
func (o *outcome) caused(err error) answer          { return answer{outcome: o, err: err} }
func (o *outcome) permitting(methods string) answer { return answer{outcome: o, allow: methods} }

// problemBase is where an answer's code is explained.
const problemBase = "https://github.com/outboxgen/outboxgen/blob/main/docs/wire.md#"

// problem is an RFC 9457 problem document; success a short note.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

type success struct {
	Result string `json:"result"`
}

func (a answer) write(w http.ResponseWriter) {
	var body any = success{a.code}
	contentType := "application/json"
	if a.status >= 300 {
		detail := a.todo
		if a.detail != "" {
			detail = a.detail + ": " + a.todo
		}
		body = problem{Type: problemBase + a.code, Title: a.title, Status: a.status, Detail: detail}
		contentType = "application/problem+json"
	}
	text, err := json.Marshal(body)
	if err != nil { // strings and an int always marshal
		text = []byte("{}")
	}
	text = append(text, '\n')
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	h.Set("X-Content-Type-Options", "nosniff")
	switch a.status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Standard-Webhooks") // RFC 9110, section 11.6.1 asks for one
	case http.StatusMethodNotAllowed:
		h.Set("Allow", a.allow)
	case http.StatusRequestTimeout:
		h.Set("Connection", "close") // RFC 9110, section 15.5.9
	}
	if a.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(a.retryAfter))
	}
	w.WriteHeader(a.status)
	// The sender may be gone: what was applied stays applied, and it will ask again.
	_, _ = w.Write(text)
}
