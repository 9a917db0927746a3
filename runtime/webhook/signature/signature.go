package signature

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"hash"
	"strconv"
	"strings"
	"time"
)

// Names of the headers of a message, as Standard Webhooks spells them.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

// DefaultTolerance is how far a message's timestamp may be from the
// receiver's clock, in either direction.
const DefaultTolerance = 5 * time.Minute

// Versions of a signature.
const (
	v1  = "v1"
	v1a = "v1a"
)

// maxSignatures bounds how many signatures of a header are looked at: an
// Ed25519 verification costs some 50 µs.
const maxSignatures = 16

// Why a message is refused.
var (
	// ErrMissing: a header is missing or empty.
	ErrMissing = errors.New("signature: webhook-id, webhook-timestamp or webhook-signature is missing")
	// ErrID: the id has a full stop in it, with which it could be shifted
	// against timestamp and body under the same signature.
	ErrID = errors.New("signature: webhook-id has a full stop in it")
	// ErrTimestamp: the timestamp is not a decimal number of seconds.
	ErrTimestamp = errors.New("signature: webhook-timestamp is not in Unix seconds")
	// ErrTooOld: the timestamp is further in the past than the tolerance.
	ErrTooOld = errors.New("signature: webhook-timestamp is too old")
	// ErrTooNew: the timestamp is further in the future than the tolerance.
	ErrTooNew = errors.New("signature: webhook-timestamp is in the future")
	// ErrNoMatch: no signature of the message is by one of the secrets.
	ErrNoMatch = errors.New("signature: no signature matches")
	// ErrCannotSign: a secret to sign with is a public key or the zero value.
	ErrCannotSign = errors.New("signature: the secret cannot sign")
)

// Sign returns the value of the webhook-signature header: one signature a
// secret, in their order. id must not be empty nor have a full stop in it;
// only the seconds of at count.
func Sign(secrets []Secret, id string, at time.Time, body []byte) (string, error) {
	if id == "" || len(secrets) == 0 {
		return "", ErrMissing
	}
	if strings.Contains(id, ".") {
		return "", ErrID
	}
	prefix := appendPrefix(make([]byte, 0, 96), id, strconv.FormatInt(at.Unix(), 10))
	header := make([]byte, 0, len(secrets)*96)
	for i, secret := range secrets {
		if !secret.CanSign() {
			return "", ErrCannotSign
		}
		if i > 0 {
			header = append(header, ' ')
		}
		header = append(header, secret.Scheme()...)
		header = append(header, ',')
		header = base64.StdEncoding.AppendEncode(header, secret.key().sign(prefix, body))
	}
	return string(header), nil
}

// appendPrefix appends what is signed before the body.
func appendPrefix(dst []byte, id, seconds string) []byte {
	dst = append(dst, id...)
	dst = append(dst, '.')
	dst = append(dst, seconds...)
	return append(dst, '.')
}

func (k *key) sign(prefix, body []byte) []byte {
	if k.symmetric == nil {
		return ed25519.Sign(k.private, join(prefix, body))
	}
	mac, ok := k.macs.Get().(hash.Hash)
	if !ok {
		mac = hmac.New(sha256.New, k.symmetric)
	}
	defer k.macs.Put(mac)
	mac.Reset()
	mac.Write(prefix)
	mac.Write(body)
	return mac.Sum(nil)
}

func join(prefix, body []byte) []byte {
	return append(append(make([]byte, 0, len(prefix)+len(body)), prefix...), body...)
}

// Message is what arrived: the values of the three headers, and the body as
// its bytes are.
type Message struct {
	ID        string
	Timestamp string
	Signature string
	Body      []byte
}

// Verify returns nil when at least one signature of m is by one of the
// secrets and its timestamp is within tolerance of now, which is
// DefaultTolerance when it is not above 0. Signatures of unknown versions,
// and of what is no signature, are passed over.
func Verify(secrets []Secret, m Message, now time.Time, tolerance time.Duration) error {
	if m.ID == "" || m.Timestamp == "" || m.Signature == "" {
		return ErrMissing
	}
	if strings.Contains(m.ID, ".") {
		return ErrID
	}
	if err := checkTimestamp(m.Timestamp, now, tolerance); err != nil {
		return err
	}
	prefix := appendPrefix(make([]byte, 0, 96), m.ID, m.Timestamp)
	for _, secret := range secrets {
		if secret.Scheme() != "" && secret.key().verify(m.Signature, prefix, m.Body) {
			return nil
		}
	}
	return ErrNoMatch
}

func checkTimestamp(text string, now time.Time, tolerance time.Duration) error {
	if tolerance <= 0 {
		tolerance = DefaultTolerance
	}
	const longest = 12 // digits: the year 33658, and no overflow below
	at, err := strconv.ParseUint(text, 10, 63)
	if err != nil || len(text) > longest || strconv.FormatUint(at, 10) != text {
		return ErrTimestamp
	}
	sent := time.Unix(int64(at), 0)
	switch {
	case now.Sub(sent) > tolerance:
		return ErrTooOld
	case sent.Sub(now) > tolerance:
		return ErrTooNew
	}
	return nil
}

// verify reports whether one of the header's signatures is by k.
func (k *key) verify(header string, prefix, body []byte) bool {
	version, check := v1a, k.verifyEd25519
	if k.symmetric != nil {
		version, check = v1, k.verifyHMAC
	}
	matches := check(prefix, body)
	n := 0
	for part := range strings.SplitSeq(header, " ") {
		if n++; n > maxSignatures {
			return false
		}
		have, text, _ := strings.Cut(part, ",")
		if have == version && matches(text) {
			return true
		}
	}
	return false
}

func (k *key) verifyHMAC(prefix, body []byte) func(text string) bool {
	want := base64.StdEncoding.AppendEncode(nil, k.sign(prefix, body))
	return func(text string) bool { return hmac.Equal([]byte(text), want) }
}

func (k *key) verifyEd25519(prefix, body []byte) func(text string) bool {
	message := join(prefix, body)
	return func(text string) bool {
		signature, err := base64.StdEncoding.Strict().DecodeString(text)
		return err == nil && ed25519.Verify(k.public, message, signature)
	}
}
