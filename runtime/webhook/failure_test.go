package webhook

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/outboxgen/outboxgen/runtime/breaker"
	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// failingAt is a sender whose connections fail with err.
func failingAt(t *testing.T, err error) *sender {
	t.Helper()
	s := open(t, config("https://billing.example/"))
	s.transport.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, err }
	return s
}

func TestSend_ClassesOfNetworkErrors(t *testing.T) {
	syscallError := func(call string, errno syscall.Errno) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError(call, errno)}
	}
	failed := func(cause string) outbox.Outcome {
		return outbox.Outcome{Result: outbox.Failed, Breaker: breaker.Failure, Failure: &outbox.Failure{Cause: cause}}
	}
	local := func(cause string) outbox.Outcome {
		return outbox.Outcome{Result: outbox.LocalFault, Breaker: breaker.Neutral, Failure: &outbox.Failure{Cause: cause}}
	}
	for _, c := range []struct {
		err  error
		want outbox.Outcome
	}{
		{syscallError("connect", syscall.ECONNREFUSED), failed(CauseRefused)},
		{syscallError("connect", syscall.ENETUNREACH), failed(CauseUnreachable)},
		{syscallError("connect", syscall.EHOSTUNREACH), failed(CauseUnreachable)},
		{syscallError("read", syscall.ECONNRESET), failed(CauseReset)},
		{syscallError("write", syscall.EPIPE), failed(CauseReset)},
		{syscallError("connect", syscall.ETIMEDOUT), failed(outbox.CauseTimeout)},
		{&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, failed(outbox.CauseTimeout)},
		{&net.DNSError{Err: "no such host", Name: "billing.example", IsNotFound: true}, failed(CauseDNS)},
		{&net.DNSError{Err: "i/o timeout", Name: "billing.example", IsTimeout: true}, failed(CauseDNS)},
		{x509.UnknownAuthorityError{}, failed(CauseTLS)},
		{errors.New("remote error: tls: handshake failure"), failed(CauseTLS)},
		{io.ErrUnexpectedEOF, failed(CauseReset)},
		{errors.New("socks connect tcp: general failure"), failed(CauseNetwork)},
		// This machine's own fault: nobody else can mend it.
		{syscallError("socket", syscall.EMFILE), local(CauseLocal)},
		{syscallError("socket", syscall.ENFILE), local(CauseLocal)},
		{syscallError("socket", syscall.ENOBUFS), local(CauseLocal)},
		{syscallError("connect", syscall.EADDRNOTAVAIL), local(CauseLocal)},
		{syscallError("connect", syscall.EPERM), local(CauseLocal)},
		{&net.OpError{Op: "dial", Err: &addressError{netip.MustParseAddr("169.254.169.254"), "is link-local"}}, local(CauseAddress)},
	} {
		got := failingAt(t, c.err).Send(t.Context(), delivery())
		if got.Result != c.want.Result || got.Breaker != c.want.Breaker || got.Failure.Cause != c.want.Failure.Cause || got.Failure.Message == "" {
			t.Errorf("%v: got %+v (%+v), want %+v (%+v)", c.err, got, got.Failure, c.want, c.want.Failure)
		}
	}
}

func TestSend_ErrorsDoNotShowTheURL(t *testing.T) {
	c := config("https://jane:open-sesame@billing.example/?token=query-secret")
	s := open(t, c)
	s.transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("dial https://jane:open-sesame@billing.example/?token=query-secret: bad luck")
	}
	got := s.Send(t.Context(), delivery())
	if m := got.Failure.Message; strings.Contains(m, "sesame") || strings.Contains(m, "query-secret") || !strings.Contains(m, "bad luck") {
		t.Errorf("message: %s", m)
	}
}

// Case W-05: the bytes made at insert are what every attempt sends and signs.
func TestSend_EveryAttemptSendsTheSameBytes(t *testing.T) {
	var bodies, ids []string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		ids = append(ids, r.Header.Get("webhook-id"))
		w.WriteHeader(500)
	})
	s := open(t, config(server.URL))
	d := delivery()
	d.Payload = []byte("{\"html\":\"<b>&\u2028\\u001b\U0001F602/\",\"n\":1e+21}")
	for range 3 {
		s.Send(t.Context(), d)
		d.RetryCount++
		d.ReplayCount++
	}
	for i := range 3 {
		if bodies[i] != "{\"html\":\"<b>&\u2028\\u001b\U0001F602/\",\"n\":1e+21}" || ids[i] != d.IdempotencyKey {
			t.Errorf("attempt %d: %q under %s", i+1, bodies[i], ids[i])
		}
	}
}

func TestClean_CutsBetweenCharacters(t *testing.T) {
	s := open(t, config("https://billing.example/"))
	for n := range 8 {
		got := s.clean(strings.Repeat("x", n) + strings.Repeat("😀", 1000))
		if len(got) > maxMessage || strings.ToValidUTF8(got, "") != got || !strings.HasSuffix(got, "😀…") {
			t.Errorf("%d: %d bytes, end %q", n, len(got), got[len(got)-8:])
		}
	}
	if got := s.clean("tab\tline\nbell\a"); got != "tab\tline\nbell\uFFFD" {
		t.Errorf("got %q", got)
	}
}

func TestSender_IsNamedWithoutItsSecrets(t *testing.T) {
	s := open(t, config("https://jane:open-sesame@billing.example/hooks?token=query-secret"))
	if got := fmt.Sprintf("%v %+v %#v", s, s, s); strings.Contains(got, "secret") || strings.Contains(got, "sesame") || !strings.Contains(got, "billing.example") {
		t.Errorf("got %s", got)
	}
}
