package webhook

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// The table of the design, status by status, told another way than the code
// tells it.
func TestClassify_EveryStatus(t *testing.T) {
	type want struct {
		result  outbox.Result
		breaker breaker.Outcome
	}
	expected := func(status int, retryAfter, disable bool) want {
		switch {
		case disable, status == 410:
			return want{outbox.Disabled, breaker.Neutral}
		case status >= 200 && status <= 299:
			return want{outbox.Delivered, breaker.Success}
		}
		switch status {
		case 400, 413, 415, 422:
			return want{outbox.Rejected, breaker.Neutral}
		case 408, 425:
			if retryAfter {
				return want{outbox.Paused, breaker.Neutral}
			}
			return want{outbox.Failed, breaker.Neutral}
		case 429, 503:
			if retryAfter {
				return want{outbox.Paused, breaker.Failure}
			}
			return want{outbox.Failed, breaker.Failure}
		}
		if status >= 300 && status <= 499 {
			return want{outbox.Failed, breaker.Neutral}
		}
		return want{outbox.Failed, breaker.Failure}
	}
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for status := 100; status <= 999; status++ {
		for _, retryAfter := range []string{"", "120", "0", "bad"} {
			for _, delivery := range []string{"", "disable", " Disable", "enable"} {
				h := http.Header{}
				if retryAfter != "" {
					h.Set("Retry-After", retryAfter)
				}
				if delivery != "" {
					h.Set("webhook-delivery", delivery)
				}
				got := classify(status, h, now)
				valid := retryAfter == "120"
				w := expected(status, valid, strings.Contains(strings.ToLower(delivery), "disable"))
				pause := time.Duration(0)
				if w.result == outbox.Paused {
					pause = 2 * time.Minute
				}
				if got.Result != w.result || got.Breaker != w.breaker || got.PauseFor != pause || got.Failure != nil {
					t.Errorf("%d, Retry-After %q, webhook-delivery %q: got %+v, want %+v and a pause of %v", status, retryAfter, delivery, got, w, pause)
				}
			}
		}
	}
}

func TestAnswers_IsTheWholeTable(t *testing.T) {
	var when []string
	for _, a := range Answers() {
		if a.When == "" || a.Result == 0 || a.Breaker == 0 {
			t.Errorf("a line is not filled in: %+v", a)
		}
		if slices.Contains(when, a.When) {
			t.Errorf("%q stands twice", a.When)
		}
		when = append(when, a.When)
	}
	if len(when) != len(rules)+4 {
		t.Errorf("%d lines", len(when))
	}
}

func TestSend_AnswersOverTheWire(t *testing.T) {
	var answer func(w http.ResponseWriter)
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { answer(w) })
	s := open(t, config(server.URL))
	for _, c := range []struct {
		name    string
		answer  func(w http.ResponseWriter)
		want    outbox.Outcome
		cause   string
		message string
	}{
		{"200", func(w http.ResponseWriter) { w.WriteHeader(200) },
			outbox.Outcome{Result: outbox.Delivered, Breaker: breaker.Success}, "", ""},
		{"204", func(w http.ResponseWriter) { w.WriteHeader(204) },
			outbox.Outcome{Result: outbox.Delivered, Breaker: breaker.Success}, "", ""},
		{"500 with a body", func(w http.ResponseWriter) { http.Error(w, "no\x00 database\x1b[31m\xff", 500) },
			outbox.Outcome{Result: outbox.Failed, Breaker: breaker.Failure}, CauseStatus, "500 Internal Server Error: no\uFFFD database\uFFFD[31m\uFFFD"},
		{"422 with a problem document", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/problem+json; charset=utf-8")
			w.WriteHeader(422)
			io.WriteString(w, `{"type":"https://example.org/p#rejected","title":"Not for us","status":422,"detail":"no such customer"}`)
		},
			outbox.Outcome{Result: outbox.Rejected, Breaker: breaker.Neutral}, CauseStatus, "422 Unprocessable Entity: Not for us: no such customer"},
		{"422 with a problem document that says nothing", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(422)
			io.WriteString(w, `{"code":7}`)
		},
			outbox.Outcome{Result: outbox.Rejected, Breaker: breaker.Neutral}, CauseStatus, `422 Unprocessable Entity: {"code":7}`},
		{"422", func(w http.ResponseWriter) { w.WriteHeader(422) },
			outbox.Outcome{Result: outbox.Rejected, Breaker: breaker.Neutral}, CauseStatus, "422 Unprocessable Entity"},
		{"410", func(w http.ResponseWriter) { w.WriteHeader(410) },
			outbox.Outcome{Result: outbox.Disabled, Breaker: breaker.Neutral}, CauseStatus, "410 Gone"},
		{"disable", func(w http.ResponseWriter) { w.Header().Set("webhook-delivery", "disable"); w.WriteHeader(404) },
			outbox.Outcome{Result: outbox.Disabled, Breaker: breaker.Neutral}, CauseStatus, "404 Not Found"},
		{"503 and Retry-After", func(w http.ResponseWriter) { w.Header().Set("Retry-After", "7"); w.WriteHeader(503) },
			outbox.Outcome{Result: outbox.Paused, Breaker: breaker.Failure, PauseFor: 7 * time.Second}, CauseStatus, "503 Service Unavailable"},
		{"599", func(w http.ResponseWriter) { w.WriteHeader(599) },
			outbox.Outcome{Result: outbox.Failed, Breaker: breaker.Failure}, CauseStatus, "599"},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer = c.answer
			got := s.Send(t.Context(), delivery())
			if got.Result != c.want.Result || got.Breaker != c.want.Breaker || got.PauseFor != c.want.PauseFor {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			switch {
			case c.cause == "":
				if got.Failure != nil {
					t.Errorf("a success has the failure %+v", got.Failure)
				}
			case got.Failure == nil || got.Failure.Cause != c.cause || got.Failure.Message != c.message:
				t.Errorf("got the failure %+v, want %q", got.Failure, c.message)
			case got.Failure.StatusCode == 0 || got.Failure.StartedAt.IsZero() || got.Failure.Duration <= 0:
				t.Errorf("the failure is not filled in: %+v", got.Failure)
			}
		})
	}
}

func TestSend_ClassifyOverridesTheTable(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(409) })
	c := config(server.URL)
	c.Classify = func(status int, _ http.Header, usual outbox.Outcome) outbox.Outcome {
		if status == 409 && usual.Result == outbox.Failed {
			return outbox.Outcome{Result: outbox.Delivered, Breaker: breaker.Success}
		}
		return outbox.Outcome{}
	}
	s := open(t, c)
	if got := s.Send(t.Context(), delivery()); got.Result != outbox.Delivered || got.Failure != nil {
		t.Errorf("got %+v", got)
	}
	// An empty outcome leaves it at the table's.
	s.classify = func(int, http.Header, outbox.Outcome) outbox.Outcome { return outbox.Outcome{} }
	if got := s.Send(t.Context(), delivery()); got.Result != outbox.Failed || got.Failure.StatusCode != 409 {
		t.Errorf("got %+v", got)
	}
}

// Case W-09, and the vectors of Standard Webhooks' implementations.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 500, time.UTC)
	at := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for value, want := range map[string]time.Duration{
		"120":                             2 * time.Minute,
		"1":                               time.Second,
		"0120":                            2 * time.Minute,
		"86400":                           24 * time.Hour,
		"86401":                           24 * time.Hour,
		"99999999999999999999999999":      24 * time.Hour,
		"0":                               0,
		"000":                             0,
		"":                                0,
		"-1":                              0,
		"+1":                              0,
		"1.5":                             0,
		"120.0":                           0, // RFC 9110 has whole seconds only
		"120.1":                           0,
		"1e3":                             0,
		"abc":                             0,
		"invalid":                         0,
		"120 s":                           0,
		"120, 240":                        0,
		"٣":                               0,
		"Wed, 21 Oct 2015 07:28:00 GMT":   0, // past
		"Fri, 31 Dec 9999 23:59:59 GMT":   24 * time.Hour,
		at(90 * time.Second):              90*time.Second - 500,
		at(-time.Second):                  0,
		at(0):                             0,
		"Tuesday, 01-Dec-26 12:01:00 GMT": time.Minute - 500,
		"Tue Dec  1 12:01:00 2026":        time.Minute - 500,
		"Tue, 01 Dec 2026 12:01:00 +0100": 0, // no HTTP date
		"2026-12-01T12:01:00Z":            0,
	} {
		h := http.Header{"Retry-After": {value}}
		if got := retryAfter(h, now); got != want {
			t.Errorf("Retry-After %q: got %v, want %v", value, got, want)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"120", "0", "-1", "Wed, 21 Oct 2015 07:28:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "99999999999999999999"} {
		f.Add(seed)
	}
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, value string) {
		got := retryAfter(http.Header{"Retry-After": {value}}, now)
		if got < 0 || got > MaxPause {
			t.Errorf("Retry-After %q: %v", value, got)
		}
		seconds, err := time.ParseDuration(value + "s")
		if err == nil && !strings.ContainsAny(value, "+-.hmnuµμs") && got != min(seconds, MaxPause) {
			t.Errorf("Retry-After %q: %v", value, got)
		}
	})
}

// Case W-07: a redirect is a failure one can see; the other host gets nothing.
func TestSend_FollowsNoRedirect(t *testing.T) {
	other := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the other host got a request") })
	for _, status := range []int{300, 301, 302, 303, 304, 305, 307, 308} {
		for _, location := range []string{other.URL + "/elsewhere", "http://169.254.169.254/latest/meta-data", "/relative", ""} {
			t.Run(fmt.Sprint(status, " ", location), func(t *testing.T) {
				hits := 0
				server := serve(t, func(w http.ResponseWriter, r *http.Request) {
					hits++
					if r.Method != http.MethodPost {
						t.Errorf("got a %s", r.Method)
					}
					if location != "" {
						w.Header().Set("Location", location)
					}
					w.WriteHeader(status)
				})
				got := open(t, config(server.URL)).Send(t.Context(), delivery())
				if got.Result != outbox.Failed || got.Breaker != breaker.Neutral || got.Failure.StatusCode != status || hits != 1 {
					t.Errorf("got %+v after %d requests", got, hits)
				}
				if !strings.Contains(got.Failure.Message, "redirects are not followed") || !strings.Contains(got.Failure.Message, location) {
					t.Errorf("message: %s", got.Failure.Message)
				}
			})
		}
	}
}
