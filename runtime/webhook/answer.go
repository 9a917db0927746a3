package webhook

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// Answer is a line of the table that says what an attempt comes to.
type Answer struct {
	// When describes what happened: "400, 413, 415, 422".
	When string
	// Result is what becomes of the delivery. Failed and Rejected spend an
	// attempt.
	Result outbox.Result
	// Breaker is what the breaker is told.
	Breaker breaker.Outcome
}

// rule is a line for an HTTP answer. The first line that matches holds.
type rule struct {
	Answer
	match func(a answer) bool
}

// answer is what a rule looks at.
type answer struct {
	status  int
	wait    time.Duration // of a valid Retry-After, else 0
	disable bool          // webhook-delivery: disable
}

var rules = []rule{
	{Answer{"410, or webhook-delivery: disable", outbox.Disabled, breaker.Neutral},
		func(a answer) bool { return a.disable || a.status == http.StatusGone }},
	{Answer{"2xx", outbox.Delivered, breaker.Success},
		func(a answer) bool { return a.status/100 == 2 }},
	{Answer{"400, 413, 415, 422", outbox.Rejected, breaker.Neutral},
		func(a answer) bool { return oneOf(a.status, 400, 413, 415, 422) }},
	{Answer{"408, 425 with a valid Retry-After", outbox.Paused, breaker.Neutral},
		func(a answer) bool { return a.wait > 0 && oneOf(a.status, 408, 425) }},
	{Answer{"429, 503 with a valid Retry-After", outbox.Paused, breaker.Failure},
		func(a answer) bool { return a.wait > 0 && oneOf(a.status, 429, 503) }},
	{Answer{"429 without Retry-After", outbox.Failed, breaker.Failure},
		func(a answer) bool { return a.status == http.StatusTooManyRequests }},
	{Answer{"409, 3xx, other 4xx", outbox.Failed, breaker.Neutral},
		func(a answer) bool { return a.status/100 == 3 || a.status/100 == 4 }},
	{Answer{"other 5xx", outbox.Failed, breaker.Failure},
		func(answer) bool { return true }}, // and what is no status at all: 1xx, 600 and above
}

func oneOf(status int, statuses ...int) bool { return slices.Contains(statuses, status) }

// Lines of the table for attempts without an HTTP answer.
var (
	onNoAnswer   = Answer{"timeout, DNS, TLS, refused, broken connection or answer", outbox.Failed, breaker.Failure}
	onLocalFault = Answer{"address not allowed, signing error, local fault", outbox.LocalFault, breaker.Neutral}
	onCancelled  = Answer{"our shutdown, a lost lease", outbox.Cancelled, breaker.Neutral}
	onBadEvent   = Answer{"the event's type or key cannot stand in a header", outbox.Rejected, breaker.Neutral}
)

// Answers returns the whole table in the order in which it is looked through.
func Answers() []Answer {
	table := make([]Answer, 0, len(rules)+4)
	for _, r := range rules {
		table = append(table, r.Answer)
	}
	return append(table, onNoAnswer, onLocalFault, onCancelled, onBadEvent)
}

// classify is what an HTTP answer comes to; Failure is not filled in.
func classify(status int, h http.Header, now time.Time) outbox.Outcome {
	a := answer{
		status:  status,
		wait:    retryAfter(h, now),
		disable: strings.EqualFold(strings.TrimSpace(h.Get("Webhook-Delivery")), "disable"),
	}
	r := rules[len(rules)-1]
	for _, candidate := range rules {
		if candidate.match(a) {
			r = candidate
			break
		}
	}
	o := outbox.Outcome{Result: r.Result, Breaker: r.Breaker}
	if r.Result == outbox.Paused {
		o.PauseFor = a.wait
	}
	return o
}
