package inbox

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
)

// verifier checks Standard Webhooks signatures.
type verifier struct {
	secrets   []verifyKey
	tolerance time.Duration
}

type verifyKey struct {
	symmetric []byte
	public    ed25519.PublicKey
}

func newVerifier(cfg Config) (*verifier, error) {
	if len(cfg.Secrets) == 0 {
		return nil, nil
	}
	v := &verifier{tolerance: cfg.Tolerance}
	var faults []error
	for i, text := range cfg.Secrets {
		text, err := expand(text)
		if err == nil {
			var key verifyKey
			key, err = parseKey(text)
			v.secrets = append(v.secrets, key)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("Secrets[%d]: %w", i, err))
		}
	}
	return v, errors.Join(faults...)
}

var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

// expand replaces each ${VAR} in s by the environment's value.
func expand(s string) (string, error) {
	var faults []error
	out := variable.ReplaceAllStringFunc(s, func(ref string) string {
		name := ref[2 : len(ref)-1]
		value, ok := os.LookupEnv(name)
		if !ok {
			faults = append(faults, fmt.Errorf("environment variable %s is not set", name))
		}
		return value
	})
	return out, errors.Join(faults...)
}

// parseKey never shows the secret in an error.
func parseKey(text string) (verifyKey, error) {
	prefix, rest, ok := strings.Cut(text, "_")
	raw, err := base64.StdEncoding.DecodeString(rest)
	switch {
	case !ok || err != nil:
		return verifyKey{}, errors.New("secret is not whsec_ or whpk_ followed by base64")
	case prefix == "whsec" && len(raw) > 0:
		return verifyKey{symmetric: raw}, nil
	case prefix == "whpk" && len(raw) == ed25519.PublicKeySize:
		return verifyKey{public: raw}, nil
	}
	return verifyKey{}, errors.New("secret is not a whsec_ secret or a whpk_ public key")
}

// verify answers nothing when a signature over id, timestamp and body holds.
func (v *verifier) verify(h http.Header, body []byte, now time.Time) answer {
	if v == nil {
		return answer{}
	}
	r := headerReader{h: h}
	id := r.required(headerID)
	seconds := r.required(headerTimestamp)
	at := r.unixTime(headerTimestamp)
	signatures := r.required(headerSignature)
	if r.err != nil {
		return badHeaders.because(r.err.Error())
	}
	if off := now.Sub(at); off > v.tolerance || off < -v.tolerance {
		return badTimestamp.because("")
	}
	content := append([]byte(id+"."+seconds+"."), body...)
	for _, s := range strings.Fields(signatures) {
		version, text, _ := strings.Cut(s, ",")
		signature, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			continue
		}
		for _, key := range v.secrets {
			if key.holds(version, content, signature) {
				return answer{}
			}
		}
	}
	return badSignature.because("")
}

func (k verifyKey) holds(version string, content, signature []byte) bool {
	switch {
	case version == "v1" && k.symmetric != nil:
		mac := hmac.New(sha256.New, k.symmetric)
		mac.Write(content)
		return hmac.Equal(signature, mac.Sum(nil))
	case version == "v1a" && k.public != nil:
		return ed25519.Verify(k.public, content, signature)
	}
	return false
}
