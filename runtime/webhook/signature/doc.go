// Package signature signs and verifies messages as Standard Webhooks
// (https://www.standardwebhooks.com) describes: the sender and the receiver of
// this module share it, and it stands alone.
//
// # Model
//
// A message has an id, a timestamp in Unix seconds and a body; what is signed
// is "id.timestamp.body". A signature is "v1," and the base64 of an
// HMAC-SHA256, or "v1a," and the base64 of an Ed25519 signature. A header
// carries one or more of them with spaces between. While a secret rotates,
// the sender signs with the old and the new one, and a receiver that has
// either is satisfied.
//
// Secrets are texts: whsec_ and base64 of 24 to 64 bytes (the prefix may be
// missing), whsk_ and base64 of an Ed25519 private key, whpk_ and base64 of
// its public key, with which one can only verify.
//
// # Promises
//
// Verification takes the same time wherever a wrong signature differs, does a
// bounded amount of work, and never panics. A [Secret] never shows its key:
// not through fmt, slog, JSON or an error of this package.
//
// # What it does not do
//
// A signature covers id, timestamp and body, no other header. Remembering ids
// that were seen is the receiver's duty.
package signature
