package webhook

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/webhook/signature"
)

// Bounds of what is read of an answer.
const (
	maxAnswerHeader = 64 << 10 // bytes
	maxAnswerBody   = 64 << 10 // bytes
	// maxBodyWait is how long an answer's body may take after its headers,
	// which have the answer: it is read for the failure's message and so that
	// the connection can be used again.
	maxBodyWait = 2 * time.Second
)

// sender is an outbox.Sender and an io.Closer. It is safe for concurrent use.
type sender struct {
	request    *http.Request // what all attempts share; never changed
	static     http.Header   // its values are shared by all attempts
	secrets    []signature.Secret
	quoted     bool
	timeout    time.Duration
	classify   func(status int, header http.Header, usual outbox.Outcome) outbox.Outcome
	secretText *strings.Replacer // takes out what must not be shown
	transport  *http.Transport
	now        func() time.Time
}

// Send makes one attempt.
func (s *sender) Send(ctx context.Context, d *outbox.Delivery) outbox.Outcome {
	started := s.now()
	outcome := s.attempt(ctx, d, started)
	if outcome.Failure != nil {
		outcome.Failure.StartedAt = started
		outcome.Failure.Duration = s.now().Sub(started)
	}
	return outcome
}

func (s *sender) attempt(parent context.Context, d *outbox.Delivery, at time.Time) outbox.Outcome {
	header, err := s.header(d, at)
	switch {
	case err == errBadEvent:
		return onBadEvent.outcome(CauseEvent, err.Error())
	case err != nil:
		return onLocalFault.outcome(CauseSigning, s.clean(err.Error()))
	}
	ctx, cancel := context.WithTimeout(parent, s.timeout)
	defer cancel()
	resp, err := s.transport.RoundTrip(s.newRequest(ctx, header, d.Payload))
	if err != nil {
		return s.transportFailure(parent, ctx, err)
	}
	excerpt := readAnswer(resp.Body, cancel)
	return s.answered(resp, excerpt)
}

// newRequest makes the request of an attempt. The payload is not copied.
func (s *sender) newRequest(ctx context.Context, header http.Header, payload []byte) *http.Request {
	req := s.request.WithContext(ctx)
	req.Header = header
	req.ContentLength = int64(len(payload))
	// With GetBody and an Idempotency-Key, net/http repeats the request when a
	// reused connection turns out to have been closed by the other side.
	req.GetBody = func() (io.ReadCloser, error) {
		if len(payload) == 0 {
			return http.NoBody, nil
		}
		return io.NopCloser(bytes.NewReader(payload)), nil
	}
	req.Body, _ = req.GetBody()
	return req
}

// readAnswer reads the body within the bounds, closes it, and returns the part
// that a failure may show. When it ends within the bounds, the connection can
// be used again. cancel ends the reading when it takes too long.
func readAnswer(body io.ReadCloser, cancel context.CancelFunc) []byte {
	defer body.Close()
	if body == http.NoBody {
		return nil
	}
	timer := time.AfterFunc(maxBodyWait, cancel)
	defer timer.Stop()
	excerpt, err := io.ReadAll(io.LimitReader(body, maxMessage))
	if err == nil && len(excerpt) == maxMessage {
		_, _ = io.CopyN(io.Discard, body, maxAnswerBody-maxMessage+1) // one more, to see the end
	}
	return excerpt
}

// answered is what an attempt comes to that got an answer.
func (s *sender) answered(resp *http.Response, excerpt []byte) outbox.Outcome {
	outcome := classify(resp.StatusCode, resp.Header, s.now())
	if s.classify != nil {
		if own := s.classify(resp.StatusCode, resp.Header, outcome); own.Result != 0 {
			outcome = own
		}
	}
	if outcome.Result != outbox.Delivered && outcome.Failure == nil {
		outcome.Failure = &outbox.Failure{
			StatusCode: resp.StatusCode,
			Cause:      CauseStatus,
			Message:    s.statusMessage(resp.StatusCode, resp.Header, excerpt),
		}
	}
	return outcome
}

// Close lets go of the connections that are idle. The sender still works
// afterwards.
func (s *sender) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// String names the sender by what is no secret of its URL.
func (s *sender) String() string {
	return "webhook " + s.request.URL.Scheme + "://" + s.request.URL.Host
}

// GoString is String, for %#v.
func (s *sender) GoString() string { return s.String() }
