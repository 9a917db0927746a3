package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/outboxgen/outboxgen/runtime/outbox"
)

// Causes of failed attempts (outbox.Failure.Cause) that this package finds,
// beside outbox.CauseTimeout and outbox.CauseCancelled.
const (
	CauseStatus      = "status"      // the answer's status
	CauseDNS         = "dns"         // the name was not resolved
	CauseTLS         = "tls"         // handshake or certificate
	CauseRefused     = "refused"     // nobody listens
	CauseUnreachable = "unreachable" // no route
	CauseReset       = "reset"       // the connection broke
	CauseAnswer      = "answer"      // what came is no HTTP answer, or has too many headers
	CauseNetwork     = "network"     // anything else on the way
	CauseAddress     = "address"     // local fault: the address is not allowed
	CauseSigning     = "signing"     // local fault: no signature could be made
	CauseLocal       = "local"       // local fault: this machine has run out of something
	CauseEvent       = "event"       // the event cannot stand in headers
)

// maxMessage bounds a failure's message in bytes.
const maxMessage = 2 << 10

// outcome makes an outcome of a line of the table and its failure.
func (a Answer) outcome(cause, message string) outbox.Outcome {
	return outbox.Outcome{Result: a.Result, Breaker: a.Breaker, Failure: &outbox.Failure{Cause: cause, Message: message}}
}

// transportFailure is what an attempt comes to that got no answer. parent is
// the context that Send was given; attempt adds the sender's own deadline.
func (s *sender) transportFailure(parent, attempt context.Context, err error) outbox.Outcome {
	if errors.Is(parent.Err(), context.Canceled) {
		return onCancelled.outcome(outbox.CauseCancelled, "cancelled before an answer came")
	}
	message := s.clean(err.Error())
	if attempt.Err() != nil {
		return onNoAnswer.outcome(outbox.CauseTimeout, "no answer before the attempt's deadline: "+message)
	}
	switch cause := causeOf(err); cause {
	case CauseAddress, CauseLocal:
		return onLocalFault.outcome(cause, message)
	default:
		return onNoAnswer.outcome(cause, message)
	}
}

// causeOf classes a transport's error.
func causeOf(err error) string {
	if _, ok := errors.AsType[*addressError](err); ok {
		return CauseAddress
	}
	if cause := causeOfErrno(err); cause != "" {
		return cause
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return CauseDNS
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return outbox.CauseTimeout
	}
	switch text := err.Error(); {
	case isTLS(err, text):
		return CauseTLS
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(text, "server closed idle connection"),
		strings.Contains(text, "client conn could not be established"):
		return CauseReset
	// net/http has no types for what follows.
	case strings.Contains(text, "malformed"), strings.Contains(text, "response headers exceeded"), strings.Contains(text, "http2: "),
		strings.Contains(text, "too many 1xx"), strings.Contains(text, "bad Content-Length"), strings.Contains(text, "transfer encoding"):
		return CauseAnswer
	}
	return CauseNetwork
}

func causeOfErrno(err error) string {
	errno, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		return ""
	}
	switch errno {
	case syscall.ECONNREFUSED:
		return CauseRefused
	case syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED:
		return CauseReset
	case syscall.ENETUNREACH, syscall.EHOSTUNREACH:
		return CauseUnreachable
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL, syscall.EACCES, syscall.EPERM:
		return CauseLocal
	}
	return ""
}

func isTLS(err error, text string) bool {
	_, verification := errors.AsType[*tls.CertificateVerificationError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	_, host := errors.AsType[x509.HostnameError](err)
	return verification || record || alert || host ||
		strings.Contains(text, "tls: ") || strings.Contains(text, "x509: ") || strings.Contains(text, "HTTP response to HTTPS client")
}

// statusMessage says what an answer was. Its text is the endpoint's, made
// harmless.
func (s *sender) statusMessage(status int, h http.Header, body []byte) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", status)
	if text := http.StatusText(status); text != "" {
		b.WriteString(" " + text)
	}
	if status/100 == 3 {
		b.WriteString("; redirects are not followed")
		if location := h.Get("Location"); location != "" {
			b.WriteString("; Location: " + location)
		}
	}
	if text := bodyText(h, body); text != "" {
		b.WriteString(": ")
		b.WriteString(text)
	}
	return s.clean(b.String())
}

// bodyText is what an answer's body says to people: a problem document (RFC
// 9457), which our own receiver answers with, says it in title and detail.
func bodyText(h http.Header, body []byte) string {
	text := strings.TrimSpace(string(body))
	if mediaType, _, err := mime.ParseMediaType(h.Get("Content-Type")); err != nil || mediaType != "application/problem+json" {
		return text
	}
	var problem struct{ Title, Detail string }
	if err := json.Unmarshal(body, &problem); err != nil || problem.Title == "" {
		return text
	}
	if problem.Detail == "" {
		return problem.Title
	}
	return problem.Title + ": " + problem.Detail
}

// clean makes text fit for logs, tables and terminals: valid UTF-8 without
// control characters but newline and tab, without anything secret, at most
// maxMessage bytes.
func (s *sender) clean(text string) string {
	text = s.secretText.Replace(strings.ToValidUTF8(text, "�"))
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return utf8.RuneError
		}
		return r
	}, text)
	if len(text) <= maxMessage {
		return text
	}
	const mark = "…"
	cut := maxMessage - len(mark)
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + mark
}
