package signature

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// vectorFile is ../shared/vectors/standard-webhooks/vectors.json beside the
// repository.
type vectorFile struct {
	Sign []struct {
		ID, Scheme string
		Prefix     string `json:"secret_prefix"`
		Base64     string `json:"secret_base64"`
		MsgID      string `json:"msg_id"`
		Timestamp  int64
		Body       string
		Repeat     *repeat `json:"body_repeat"`
		Signature  string
	}
	Verify []struct {
		ID, Base, Why string
		Now           int64
		Timestamp     *string `json:"header_timestamp"`
		Signature     string  `json:"header_signature"`
		OK            bool
	}
	Secrets []struct {
		Secret string
		Prefix string  `json:"secret_prefix"`
		Base64 *string `json:"secret_base64"`
		OK     bool
		Why    string
	}
}

type repeat struct {
	Char  string
	Count int
}

func readVectors(t *testing.T) vectorFile {
	t.Helper()
	path := filepath.Join("..", "..", "..", "..", "shared", "vectors", "standard-webhooks", "vectors.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("the public vectors are not beside the repository: %v", err)
	}
	var v vectorFile
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Sign) < 6 || len(v.Verify) < 12 || len(v.Secrets) < 8 {
		t.Fatalf("%s has %d, %d and %d cases", path, len(v.Sign), len(v.Verify), len(v.Secrets))
	}
	return v
}

func TestVectors(t *testing.T) {
	v := readVectors(t)
	type signed struct {
		secret Secret
		m      Message
	}
	bases := map[string]signed{}
	for _, c := range v.Sign {
		body := []byte(c.Body)
		if c.Repeat != nil {
			body = []byte(strings.Repeat(c.Repeat.Char, c.Repeat.Count))
		}
		secret, err := ParseSecret(c.Prefix + "_" + c.Base64)
		if err != nil {
			t.Errorf("%s: %v", c.ID, err)
			continue
		}
		at := time.Unix(c.Timestamp, 0)
		got, err := Sign([]Secret{secret}, c.MsgID, at, body)
		if err != nil || got != c.Signature || secret.Scheme() != c.Scheme {
			t.Errorf("%s: Sign = %s, %v; want %s", c.ID, got, err, c.Signature)
		}
		m := Message{ID: c.MsgID, Timestamp: strconv.FormatInt(c.Timestamp, 10), Signature: c.Signature, Body: body}
		if err := Verify([]Secret{secret}, m, at, 0); err != nil {
			t.Errorf("%s: Verify: %v", c.ID, err)
		}
		bases[c.ID] = signed{secret, m}
	}
	for _, c := range v.Verify {
		base, ok := bases[c.Base]
		if !ok {
			t.Fatalf("%s: no base %s", c.ID, c.Base)
		}
		m := base.m
		m.Signature = c.Signature
		if c.Timestamp != nil {
			m.Timestamp = *c.Timestamp
		}
		if err := Verify([]Secret{base.secret}, m, time.Unix(c.Now, 0), 0); (err == nil) != c.OK {
			t.Errorf("%s (%s): Verify = %v, want ok %t", c.ID, c.Why, err, c.OK)
		}
	}
	for _, c := range v.Secrets {
		text := c.Secret
		if c.Base64 != nil {
			text = c.Prefix + "_" + *c.Base64
		}
		if _, err := ParseSecret(text); (err == nil) != c.OK {
			t.Errorf("secret %q (%s): %v, want ok %t", text, c.Why, err, c.OK)
		} else if err != nil && len(text) > 8 && strings.Contains(err.Error(), text[6:]) {
			t.Errorf("the error shows the secret: %v", err)
		}
	}
}
