package signature

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// The published test keys of Standard Webhooks and Svix, in two parts.
const (
	symmetricText = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	otherText     = "whsec_" + "C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	privateText   = "whsk_" + "6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
	publicText    = "whpk_" + "1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="

	testID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
)

var (
	testTime = time.Unix(1614265330, 0)
	testBody = []byte(`{"test": 2432232314}`)
)

func secret(t testing.TB, text string) Secret {
	t.Helper()
	s, err := ParseSecret(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func message(header string) Message {
	return Message{ID: testID, Timestamp: "1614265330", Signature: header, Body: testBody}
}

// A few of the public vectors, typed in.
func TestSign_PublicVectors(t *testing.T) {
	for text, want := range map[string]string{
		symmetricText: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		privateText:   "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==",
	} {
		got, err := Sign([]Secret{secret(t, text)}, testID, testTime, testBody)
		if err != nil || got != want {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
	both, err := Sign([]Secret{secret(t, symmetricText), secret(t, privateText)}, testID, testTime, testBody)
	if parts := strings.Split(both, " "); err != nil || len(parts) != 2 || !strings.HasPrefix(parts[0], "v1,") || !strings.HasPrefix(parts[1], "v1a,") {
		t.Errorf("got %s, %v", both, err)
	}
}

func TestSign_Refuses(t *testing.T) {
	good := []Secret{secret(t, symmetricText)}
	for _, c := range []struct {
		secrets []Secret
		id      string
		want    error
	}{
		{nil, testID, ErrMissing},
		{good, "", ErrMissing},
		{good, "a.b", ErrID},
		{[]Secret{secret(t, publicText)}, testID, ErrCannotSign},
		{[]Secret{{}}, testID, ErrCannotSign},
	} {
		if got, err := Sign(c.secrets, c.id, testTime, testBody); !errors.Is(err, c.want) || got != "" {
			t.Errorf("got %q, %v; want %v", got, err, c.want)
		}
	}
}

func TestVerify(t *testing.T) {
	const right = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	const wrong = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="
	const right1a = "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="
	symmetric, other := secret(t, symmetricText), secret(t, otherText)
	public, private := secret(t, publicText), secret(t, privateText)
	change := func(f func(m *Message)) Message { m := message(right); f(&m); return m }
	for _, c := range []struct {
		name    string
		secrets []Secret
		m       Message
		now     time.Time
		want    error
	}{
		{"right", []Secret{symmetric}, message(right), testTime, nil},
		{"one of several signatures", []Secret{symmetric}, message(wrong + " v2,x " + right + " " + wrong), testTime, nil},
		{"one of several secrets", []Secret{other, symmetric}, message(right), testTime, nil},
		{"v1a by the public key", []Secret{public}, message(right1a), testTime, nil},
		{"v1a by the private key", []Secret{private}, message(right1a), testTime, nil},
		{"v1a beside v1", []Secret{public}, message(right + " " + right1a), testTime, nil},
		{"another secret", []Secret{other}, message(right), testTime, ErrNoMatch},
		{"no secret", nil, message(right), testTime, ErrNoMatch},
		{"the zero secret", []Secret{{}}, message(right), testTime, ErrNoMatch},
		{"v1 as v1a", []Secret{public}, message(strings.Replace(right, "v1,", "v1a,", 1)), testTime, ErrNoMatch},
		{"v1a as v1", []Secret{symmetric}, message(strings.Replace(right1a, "v1a,", "v1,", 1)), testTime, ErrNoMatch},
		{"another body", []Secret{symmetric}, change(func(m *Message) { m.Body = append([]byte(" "), m.Body...) }), testTime, ErrNoMatch},
		{"another id", []Secret{symmetric}, change(func(m *Message) { m.ID += "x" }), testTime, ErrNoMatch},
		{"another timestamp", []Secret{symmetric}, change(func(m *Message) { m.Timestamp = "1614265331" }), testTime, ErrNoMatch},
		{"a full stop shifted into the id", []Secret{symmetric}, change(func(m *Message) { m.ID += "." }), testTime, ErrID},
		{"no id", []Secret{symmetric}, change(func(m *Message) { m.ID = "" }), testTime, ErrMissing},
		{"no timestamp", []Secret{symmetric}, change(func(m *Message) { m.Timestamp = "" }), testTime, ErrMissing},
		{"no signature", []Secret{symmetric}, message(""), testTime, ErrMissing},
		{"empty signature", []Secret{symmetric}, message("v1,"), testTime, ErrNoMatch},
		{"no comma", []Secret{symmetric}, message("invalid_signature"), testTime, ErrNoMatch},
		{"a part of it", []Secret{symmetric}, message("v1,g0hM9"), testTime, ErrNoMatch},
		{"bad base64", []Secret{symmetric, public}, message("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLawdd v1a,?"), testTime, ErrNoMatch},
		{"just old enough", []Secret{symmetric}, message(right), testTime.Add(5 * time.Minute), nil},
		{"too old", []Secret{symmetric}, message(right), testTime.Add(5*time.Minute + 1), ErrTooOld},
		{"just new enough", []Secret{symmetric}, message(right), testTime.Add(-5 * time.Minute), nil},
		{"too new", []Secret{symmetric}, message(right), testTime.Add(-5*time.Minute - 1), ErrTooNew},
		{"beyond the bound of signatures", []Secret{symmetric}, message(strings.Repeat(wrong+" ", maxSignatures) + right), testTime, ErrNoMatch},
		{"at the bound of signatures", []Secret{symmetric}, message(strings.Repeat(wrong+" ", maxSignatures-1) + right), testTime, nil},
	} {
		if err := Verify(c.secrets, c.m, c.now, 0); !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
	for _, text := range []string{"1614265330.0", "+1614265330", "-1", " 1614265330", "01614265330", "0x60", "1e9", "99999999999999999999", "9223372036854775807", "١", "now"} {
		m := message(right)
		m.Timestamp = text
		if err := Verify([]Secret{symmetric}, m, testTime, 0); !errors.Is(err, ErrTimestamp) {
			t.Errorf("timestamp %q: got %v", text, err)
		}
	}
	if err := Verify([]Secret{symmetric}, message(right), testTime.Add(2*time.Minute), time.Minute); !errors.Is(err, ErrTooOld) {
		t.Errorf("a tolerance of its own: got %v", err)
	}
}

// Our verifier takes the public library's signatures.
func TestVerify_ThePublicLibrarysSignatures(t *testing.T) {
	theirs, err := standardwebhooks.NewWebhook(symmetricText)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		id, at, body := fmt.Sprint("msg_", i), time.Unix(1_700_000_000+int64(i), 0), bytes.Repeat([]byte("é"), i)
		header, err := theirs.Sign(id, at, body)
		if err != nil {
			t.Fatal(err)
		}
		ours, err := Sign([]Secret{secret(t, symmetricText)}, id, at, body)
		if err != nil || ours != header {
			t.Errorf("%d: got %s, %v; theirs is %s", i, ours, err, header)
		}
		m := Message{ID: id, Timestamp: strconv.FormatInt(at.Unix(), 10), Signature: header, Body: body}
		if err := Verify([]Secret{secret(t, symmetricText)}, m, at, 0); err != nil {
			t.Errorf("%d: %v", i, err)
		}
		h := http.Header{}
		h.Set(HeaderID, id)
		h.Set(HeaderTimestamp, m.Timestamp)
		h.Set(HeaderSignature, ours)
		if err := theirs.VerifyIgnoringTimestamp(body, h); err != nil {
			t.Errorf("%d: the public library refuses: %v", i, err)
		}
	}
}

func TestParseSecret(t *testing.T) {
	seed := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	sized := func(n int) string { return base64.StdEncoding.EncodeToString(make([]byte, n)) }
	for text, kind := range map[string]string{
		symmetricText: "whsec_…", symmetricText[6:]: "whsec_…", privateText: "whsk_…", "whsk_" + seed: "whsk_…", publicText: "whpk_…",
		"whsec_" + sized(24): "whsec_…", "whsec_" + sized(64): "whsec_…",
	} {
		s, err := ParseSecret(text)
		if err != nil || s.String() != kind || s.CanSign() != (kind != "whpk_…") {
			t.Errorf("%s: got %v, %v", kind, s, err)
		}
	}
	for _, text := range []string{
		"", "whsec_", "whsec_" + sized(23), "whsec_" + sized(65), "whsec_%", "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS", "hwsec_" + symmetricText[6:],
		symmetricText + "\n", " " + symmetricText, "whsec_" + "MfKQ9r8GKYqrTwjUPD8I\nLPZIo2LaLaSw",
		"whsk_", "whsk_" + sized(31), "whsk_" + sized(64), "whsk_?", "whpk_" + sized(31), "whpk_" + sized(33), "whpk_?", privateText[5:],
		// The second half is another key's.
		"whsk_" + base64.StdEncoding.EncodeToString(append(bytes.Repeat([]byte{7}, 32), bytes.Repeat([]byte{9}, 32)...)),
	} {
		s, err := ParseSecret(text)
		if text == privateText[5:] { // 64 bytes without a prefix are a symmetric key
			if err != nil || s.Scheme() != v1 {
				t.Errorf("64 bytes without a prefix: %v, %v", s, err)
			}
			continue
		}
		if err == nil || s.CanSign() {
			t.Errorf("%q: taken", text)
		} else if len(text) > 6 && strings.Contains(err.Error(), text[6:]) {
			t.Errorf("the error shows the secret: %v", err)
		}
	}
}

func TestSecret_IsNeverShown(t *testing.T) {
	type config struct {
		Secrets []Secret
		inner   struct{ secret Secret }
	}
	for _, text := range []string{symmetricText, privateText, publicText} {
		s := secret(t, text)
		c := config{Secrets: []Secret{s}}
		c.inner.secret = s
		var log bytes.Buffer
		logger := slog.New(slog.NewJSONHandler(&log, nil))
		logger.Info("x", "secret", s, "config", c)
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", s, "config", c)
		asJSON, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		shown := log.String() + string(asJSON)
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			shown += fmt.Sprintf(format, s) + fmt.Sprintf(format, c) + fmt.Sprintf(format, &c)
		}
		_, tail, _ := strings.Cut(text, "_")
		raw, _ := base64.StdEncoding.DecodeString(tail)
		for _, leak := range []string{tail[:8], fmt.Sprintf("%x", raw[:4]), strings.Trim(fmt.Sprint(raw[:4]), "[]"), string(raw[:4])} {
			if strings.Contains(shown, leak) {
				t.Errorf("%s: %q is in %s", s, leak, shown)
			}
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "secret")
	if err := os.WriteFile(path, []byte(" "+otherText+"\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("A_SECRET", symmetricText)
	t.Setenv("A_FILE", "file:"+path)
	t.Setenv("A_DIR", dir)
	secrets, err := Load([]string{"${A_SECRET}", privateText, "file:" + path, "${A_FILE}", "file:${A_DIR}/secret", "whsec_" + "${A_SECRET}"[:0] + symmetricText[6:]})
	if err != nil || len(secrets) != 6 {
		t.Fatalf("got %v, %v", secrets, err)
	}
	header, err := Sign(secrets, testID, testTime, testBody)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{symmetricText, publicText, otherText} {
		if err := Verify([]Secret{secret(t, text)}, message(header), testTime, 0); err != nil {
			t.Errorf("%v", err)
		}
	}
	if secrets, err := Load(nil); err != nil || len(secrets) != 0 {
		t.Errorf("none: %v, %v", secrets, err)
	}
	_, err = Load([]string{"${NOT_SET}", "whsec_hunter2", "file:" + dir + "/missing", "${A_SECRET}", ""})
	if err == nil || len(strings.Split(err.Error(), "\n")) != 4 || strings.Contains(err.Error(), "hunter2") ||
		!strings.Contains(err.Error(), "NOT_SET") || !strings.Contains(err.Error(), dir+"/missing") {
		t.Errorf("got %v", err)
	}
}

func FuzzVerify(f *testing.F) {
	symmetric, public := secret(f, symmetricText), secret(f, publicText)
	right, err := Sign([]Secret{symmetric, secret(f, privateText)}, testID, testTime, testBody)
	if err != nil {
		f.Fatal(err)
	}
	for _, header := range []string{right, "", "v1,", ",", "v1a,", "v1 ,x", strings.Repeat("v1,x ", 20), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLawdd"} {
		f.Add(testID, "1614265330", header, testBody)
		f.Add("a.b", "01", header, []byte(nil))
	}
	f.Fuzz(func(t *testing.T, id, timestamp, header string, body []byte) {
		err := Verify([]Secret{symmetric, public}, Message{id, timestamp, header, body}, testTime, 0)
		if err == nil && (id != testID || timestamp != "1614265330" || !bytes.Equal(body, testBody)) {
			t.Errorf("took what nobody signed: %q, %q, %q, %q", id, timestamp, header, body)
		}
	})
}

func FuzzParseSecret(f *testing.F) {
	for _, text := range []string{symmetricText, privateText, publicText, "", "whsec_", "whsk_?", "whpk_AAAA"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSecret(text)
		if err != nil {
			return
		}
		if s.CanSign() {
			header, err := Sign([]Secret{s}, testID, testTime, testBody)
			if err != nil {
				t.Fatal(err)
			}
			if err := Verify([]Secret{s}, message(header), testTime, 0); err != nil {
				t.Errorf("%v does not verify what it signs: %v", s, err)
			}
		}
	})
}

func BenchmarkSign(b *testing.B) {
	body := bytes.Repeat([]byte("x"), 600)
	for name, text := range map[string]string{"v1": symmetricText, "v1a": privateText} {
		secrets := []Secret{secret(b, text)}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Sign(secrets, testID, testTime, body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
