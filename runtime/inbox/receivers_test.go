package inbox_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/outboxgen/outboxgen/runtime/inbox"
)

const (
	receiversFile = "../../docs/receivers.md"
	docURL        = "http://localhost:8080/hooks/billing"
	docSecret     = "b25seS1mb3ItdGhlLWRvY3VtZW50YXRpb24tMDEyMzQ=" // behind whsec_, as in the document
)

// fenced returns the fenced blocks of a language in docs/receivers.md.
func fenced(t *testing.T, language string) []string {
	t.Helper()
	text, err := os.ReadFile(receiversFile)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no block in %s", receiversFile, language)
	}
	return blocks
}

// exchange is one curl command of the document and what it printed.
type exchange struct {
	args   []string
	answer string
}

func exchanges(t *testing.T) []exchange {
	t.Helper()
	var list []exchange
	for _, block := range fenced(t, "console") {
		command, answer, ok := strings.Cut(strings.ReplaceAll(strings.TrimPrefix(block, "$ "), "\\\n", " "), "\n")
		args := words(t, command)
		if !ok || args[0] != "curl" || !slices.Contains(args, docURL) {
			t.Fatalf("not a curl command to %s and its answer:\n%s", docURL, block)
		}
		list = append(list, exchange{args[1:], answer})
	}
	return list
}

// words splits a shell command whose only quotes are single ones.
func words(t *testing.T, command string) []string {
	t.Helper()
	var list []string
	for _, m := range regexp.MustCompile(`'([^']*)'|(\S+)`).FindAllStringSubmatch(command, -1) {
		list = append(list, m[1]+m[2])
	}
	return list
}

// request reads the arguments as curl does.
func (e exchange) request(t *testing.T) *http.Request {
	t.Helper()
	req := httptest.NewRequest(http.MethodPost, docURL, nil)
	req.Header = http.Header{}
	for i := 0; i < len(e.args); i++ {
		switch arg := e.args[i]; arg {
		case "-i", docURL:
		case "-H":
			i++
			name, value, _ := strings.Cut(e.args[i], ": ")
			req.Header.Add(name, value)
		case "--data-binary":
			i++
			body(e.args[i])(req)
		default:
			t.Fatalf("the test does not know curl's %q", arg)
		}
	}
	return req
}

// printed is an answer as curl -i prints it, headers sorted and without Date.
func printed(text string) string {
	head, body, _ := strings.Cut(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n")
	lines := slices.DeleteFunc(strings.Split(head, "\n"), func(s string) bool { return strings.HasPrefix(s, "Date: ") })
	slices.Sort(lines[1:])
	return strings.Join(lines, "\n") + "\n\n" + body
}

// documented is a receiver as the document describes it.
func documented(t *testing.T) *consumer {
	t.Helper()
	return newConsumer(t, func(cfg *inbox.Config) { cfg.Secrets = []string{"whsec_" + docSecret} })
}

func TestReceivers_TranscriptIsTrue(t *testing.T) {
	c := documented(t)
	for i, e := range exchanges(t) {
		w := httptest.NewRecorder()
		c.ServeHTTP(w, e.request(t))
		var got bytes.Buffer
		if err := w.Result().Write(&got); err != nil {
			t.Fatal(err)
		}
		if got := printed(got.String()); got != e.answer {
			t.Errorf("exchange %d answers\n%s\nthe document says\n%s", i+1, got, e.answer)
		}
	}
	c.wantEffects(t, 1)
}

func TestReceivers_TranscriptIsTrueOfCurlItself(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed: the commands were run without it only")
	}
	url := documented(t).listen(t)
	for i, e := range exchanges(t) {
		args := slices.Clone(e.args)
		args[slices.Index(args, docURL)] = url
		cmd := exec.CommandContext(bounded(t), curl, append([]string{"-q", "-sS", "--noproxy", "*"}, args...)...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("exchange %d: %v", i+1, err)
		}
		if got := printed(string(out)); got != e.answer {
			t.Errorf("exchange %d prints\n%s\nthe document says\n%s", i+1, got, e.answer)
		}
	}
}

func TestReceivers_TextOfTheKeyIsTrue(t *testing.T) {
	text := strings.TrimSuffix(fenced(t, "json")[0], "\n")
	digest := sha256.Sum256([]byte(text))
	first := exchanges(t)[0].request(t).Header
	if got, want := hex.EncodeToString(digest[:]), first.Get("webhook-id"); got != want {
		t.Errorf("the SHA-256 of %s is %s, the transcript's webhook-id is %s", text, got, want)
	}
}

// pythonHarness runs the document's receiver on requests from standard input,
// one JSON a line, and prints the status and the number of effects for each.
const pythonHarness = `
import sqlite3, sys

db = sqlite3.connect(":memory:")
db.execute("CREATE TABLE inbox (consumer TEXT, idempotency_key TEXT, fingerprint TEXT, received_at TIMESTAMP, PRIMARY KEY (consumer, idempotency_key))")
db.execute("CREATE TABLE effects (type TEXT)")
policies = {("order.created", "1"): ["order_id"], ("order.created", "2"): "payload", ("order.noted", "1"): "event"}

def apply(db, kind, event):
    db.execute("INSERT INTO effects VALUES (?)", (kind,))
    if event.get("fail"):
        raise RuntimeError("handler failed")

for line in sys.stdin:
    r = json.loads(line)
    try:
        status = receive(r["headers"], r["body"].encode(), r["secret"], r["sources"], policies, db, apply, r["now"])
    except RuntimeError:
        status = 500
    print(status, db.execute("SELECT count(*) FROM effects").fetchone()[0], flush=True)
`

// TestReceivers_PythonReceiverAgreesWithOurs gives both the same requests.
func TestReceivers_PythonReceiverAgreesWithOurs(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed: the document's receiver was not run")
	}
	script := filepath.Join(t.TempDir(), "receiver.py")
	if err := os.WriteFile(script, []byte(fenced(t, "python")[0]+pythonHarness), 0o600); err != nil {
		t.Fatal(err)
	}
	c := documented(t)
	c.secret = mustSecret(t, "whsec_"+docSecret)
	var requests []*http.Request
	for _, e := range exchanges(t) {
		requests = append(requests, e.request(t))
	}
	add := func(d delivery, spoil func(*http.Request)) {
		req := c.signed(t, d)
		if spoil != nil {
			spoil(req)
		}
		requests = append(requests, req)
	}
	odd := "{\"a\":[1,{\"b\":2.5e-7}],\"note\":\"\u2028<>&\U0001f600\\\\ \\\"}\",\"order_id\":\"o-9\",\"z\":null}"
	for _, d := range []delivery{
		{"order.created", 1, firstID, odd, byOrder},
		{"order.created", 2, firstID, strings.Replace(odd, "o-9", "o-10", 1), byPayload},
		{"order.noted", 1, secondID, odd, byEvent},
	} {
		add(d, set("webhook-timestamp", "1772366401"))
		add(d, both("X-Event-Type", "ce-type", "order.shipped"))
		add(d, set("ce-source", "/services/evil"))
		add(d, nil)
		add(d, nil)
	}
	add(delivery{"order.noted", 1, firstID, odd, byEvent}, both("X-Event-Id", "ce-id", secondID))
	add(delivery{"order.created", 1, firstID, `{"order_id":"\u001f\b"}`, byOrder}, nil)

	var input bytes.Buffer
	for _, req := range requests {
		text, err := io.ReadAll(req.Body)
		if err != nil {
			t.Fatal(err)
		}
		req.Body = io.NopCloser(bytes.NewReader(text))
		headers := map[string]string{}
		for name, values := range req.Header {
			headers[strings.ToLower(name)] = values[0]
		}
		if err := json.NewEncoder(&input).Encode(map[string]any{
			"headers": headers, "body": string(text), "secret": "whsec_" + docSecret, "sources": []string{source}, "now": c.clock.Now().Unix(),
		}); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(bounded(t), python, script)
	cmd.Stdin, cmd.Stderr = &input, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	theirs := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(theirs) != len(requests) {
		t.Fatalf("%d answers to %d requests", len(theirs), len(requests))
	}
	for i, req := range requests {
		a := c.serve(t, req)
		if ours := fmt.Sprint(a.status, " ", c.count()); ours != theirs[i] {
			t.Errorf("request %d: we answer %s (%s) and have it applied so often, the document's receiver %s", i+1, ours, a.code, theirs[i])
		}
	}
}
