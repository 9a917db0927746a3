package signature

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// Prefixes of the texts of secrets.
const (
	PrefixSymmetric = "whsec_" // HMAC-SHA256: signs and verifies, v1
	PrefixPrivate   = "whsk_"  // Ed25519: signs and verifies, v1a
	PrefixPublic    = "whpk_"  // Ed25519: verifies, v1a
)

// Sizes of a symmetric key in bytes, as Standard Webhooks recommends them.
const (
	MinSymmetric = 24
	MaxSymmetric = 64
)

// Secret is a key to sign or to verify with. The zero value does neither.
type Secret struct {
	// A function, so that fmt shows an address and not the key even where it
	// cannot call String: in an unexported field of a struct that is printed
	// whole, with whatever verb.
	reveal func() *key
}

func keep(k *key) Secret { return Secret{func() *key { return k }} }

// key is nil for the zero Secret.
func (s Secret) key() *key {
	if s.reveal == nil {
		return nil
	}
	return s.reveal()
}

type key struct {
	symmetric []byte
	macs      sync.Pool // of hash.Hash, keyed with symmetric
	private   ed25519.PrivateKey
	public    ed25519.PublicKey
}

// ParseSecret reads the text of a secret: whsec_, whsk_ or whpk_ and standard
// base64 with padding; without a prefix it is taken for whsec_. An Ed25519
// private key is its 32-byte seed, with or without the 32-byte public key
// behind it. The error never contains any of the text.
func ParseSecret(text string) (Secret, error) {
	switch {
	case text == "":
		return Secret{}, errors.New("secret is empty")
	case strings.HasPrefix(text, PrefixPrivate):
		return parsePrivate(strings.TrimPrefix(text, PrefixPrivate))
	case strings.HasPrefix(text, PrefixPublic):
		b, err := decode(strings.TrimPrefix(text, PrefixPublic))
		if err != nil {
			return Secret{}, err
		}
		if len(b) != ed25519.PublicKeySize {
			return Secret{}, fmt.Errorf("public key has %d bytes, not %d", len(b), ed25519.PublicKeySize)
		}
		return keep(&key{public: b}), nil
	}
	b, err := decode(strings.TrimPrefix(text, PrefixSymmetric))
	if err != nil {
		return Secret{}, err
	}
	if len(b) < MinSymmetric || len(b) > MaxSymmetric {
		return Secret{}, fmt.Errorf("secret has %d bytes, not %d to %d", len(b), MinSymmetric, MaxSymmetric)
	}
	return keep(&key{symmetric: b}), nil
}

func parsePrivate(text string) (Secret, error) {
	b, err := decode(text)
	if err != nil {
		return Secret{}, err
	}
	if len(b) != ed25519.SeedSize && len(b) != ed25519.PrivateKeySize {
		return Secret{}, fmt.Errorf("private key has %d bytes, not %d or %d", len(b), ed25519.SeedSize, ed25519.PrivateKeySize)
	}
	private := ed25519.NewKeyFromSeed(b[:ed25519.SeedSize])
	if len(b) == ed25519.PrivateKeySize && !bytes.Equal(private, b) {
		return Secret{}, errors.New("private key's two halves do not belong together")
	}
	return keep(&key{private: private, public: private.Public().(ed25519.PublicKey)}), nil
}

func decode(text string) ([]byte, error) {
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") {
		return nil, errors.New("secret is not whsec_, whsk_ or whpk_ and standard base64 with padding")
	}
	return b, nil
}

// CanSign reports whether the secret signs; a public key does not.
func (s Secret) CanSign() bool {
	k := s.key()
	return k != nil && (k.symmetric != nil || k.private != nil)
}

// Scheme is the version that the secret's signatures have: "v1" or "v1a"; ""
// for the zero value.
func (s Secret) Scheme() string {
	switch k := s.key(); {
	case k == nil:
		return ""
	case k.symmetric != nil:
		return v1
	}
	return v1a
}

// String returns the kind of secret, never its key.
func (s Secret) String() string {
	switch k := s.key(); {
	case k == nil:
		return "no secret"
	case k.symmetric != nil:
		return PrefixSymmetric + "…"
	case k.private != nil:
		return PrefixPrivate + "…"
	}
	return PrefixPublic + "…"
}

// GoString is String, for %#v.
func (s Secret) GoString() string { return s.String() }

// LogValue is String, for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText is String, for encoders: a secret cannot be written out.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
