package inbox

import (
	"errors"
	"net/http"
	"time"

	"github.com/outboxgen/outboxgen/runtime/webhook/signature"
)

// verifier checks that a request comes from somebody who has a secret.
type verifier struct {
	secrets   []signature.Secret
	tolerance time.Duration
}

// newVerifier reads the secrets; nil when there are none.
func newVerifier(cfg Config) (*verifier, error) {
	if len(cfg.Secrets) == 0 {
		return nil, nil
	}
	secrets, err := signature.Load(cfg.Secrets)
	return &verifier{secrets: secrets, tolerance: cfg.Tolerance}, err
}

// verify returns an answer without an outcome when the signature over id,
// timestamp and body holds, or when there is nothing to verify with.
func (v *verifier) verify(h http.Header, body []byte, now time.Time) answer {
	if v == nil {
		return answer{}
	}
	r := headerReader{h: h}
	m := signature.Message{
		ID:        r.required(headerID),
		Timestamp: r.required(headerTimestamp),
		Signature: r.required(headerSignature),
		Body:      body,
	}
	if r.err != nil {
		return badHeaders.because(r.err.Error())
	}
	switch err := signature.Verify(v.secrets, m, now, v.tolerance); {
	case err == nil:
		return answer{}
	case errors.Is(err, signature.ErrTooOld):
		return badTimestamp.because(headerTimestamp + " is too old")
	case errors.Is(err, signature.ErrTooNew):
		return badTimestamp.because(headerTimestamp + " is in the future")
	case errors.Is(err, signature.ErrNoMatch):
		return badSignature.because("")
	case errors.Is(err, signature.ErrTimestamp):
		return badHeaders.because(headerTimestamp + " is not in Unix seconds")
	default:
		return badHeaders.because(headerID + " is malformed")
	}
}
