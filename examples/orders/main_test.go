package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const testSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func TestRun_ServeNamesEveryUnsetVariable(t *testing.T) {
	for _, name := range []string{"BILLING_URL", "BILLING_SECRET"} {
		t.Setenv(name, "") // restores it afterwards
		os.Unsetenv(name)
	}
	var stderr bytes.Buffer
	status := run(t.Context(), []string{"serve", "-db", filepath.Join(t.TempDir(), "shop.db"), "-addr", "127.0.0.1:0"}, io.Discard, &stderr)
	if status != 1 || !strings.Contains(stderr.String(), "BILLING_URL") || !strings.Contains(stderr.String(), "BILLING_SECRET") {
		t.Errorf("exit status %d and\n%s\nwant 1 and both names", status, &stderr)
	}
}

func TestRun_ServeRefusesAFileThatIsNoDatabase(t *testing.T) {
	t.Setenv("BILLING_URL", "http://127.0.0.1:1")
	t.Setenv("BILLING_SECRET", testSecret)
	path := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(path, bytes.Repeat([]byte("notes, no database\n"), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	status := run(t.Context(), []string{"serve", "-db", path, "-addr", "127.0.0.1:0"}, io.Discard, &stderr)
	if status != 1 || !strings.Contains(stderr.String(), path) || strings.Count(stderr.String(), "\n") != 1 {
		t.Errorf("exit status %d and\n%s\nwant 1 and one line that names the file", status, &stderr)
	}
}

func TestRun_UnknownCommandIsAWrongCall(t *testing.T) {
	for _, args := range [][]string{nil, {"dispatch"}, {"serve", "-port", "1"}} {
		var stderr bytes.Buffer
		if status := run(t.Context(), args, io.Discard, &stderr); status == 0 || stderr.Len() == 0 {
			t.Errorf("run %q: exit status %d and %q", args, status, &stderr)
		}
	}
}

// TestRun_ServeAndBilling runs both services as two terminals would.
func TestRun_ServeAndBilling(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir := t.TempDir()
	t.Setenv("BILLING_SECRET", testSecret)
	billing := startService(t, ctx, "billing", "-addr", "127.0.0.1:0", "-db", filepath.Join(dir, "billing.db"))
	t.Setenv("BILLING_URL", billing.await("listening")["url"].(string))
	shop := startService(t, ctx, "serve", "-addr", "127.0.0.1:0", "-db", filepath.Join(dir, "shop.db"))
	url := shop.await("listening")["url"].(string)

	post := func(path, body string, want int) (answer map[string]string) {
		t.Helper()
		resp, err := http.Post(url+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != want {
			t.Fatalf("POST %s answers %d, want %d: %s", path, resp.StatusCode, want, text)
		}
		json.Unmarshal(text, &answer)
		return answer
	}
	post("/orders", `{"customer_email":"ada@example.org","channel":"fax","items":[]}`, http.StatusUnprocessableEntity)
	post("/orders", `{`, http.StatusBadRequest)
	order := post("/orders", `{"customer_email":"ada@example.org","channel":"web","items":[{"sku":"tea","quantity":2,"unit_price":"9.90"}]}`, http.StatusCreated)
	created := billing.await("delivery answered")
	if created["event_id"] != order["event_id"] || created["status_code"] != float64(http.StatusOK) {
		t.Errorf("billing logs %v, want event %s answered with 200", created, order["event_id"])
	}
	post("/orders/"+order["order_id"]+"/cancel", `{"reason":"changed my mind"}`, http.StatusAccepted)
	post("/orders/"+order["order_id"]+"/cancel", `{"reason":"again"}`, http.StatusConflict)
	if cancelled := billing.await("delivery answered"); cancelled["status_code"] != float64(http.StatusOK) {
		t.Errorf("billing logs %v, want 200", cancelled)
	}

	cancel()
	for _, s := range []*service{shop, billing} {
		if status := <-s.status; status != 0 {
			t.Errorf("%s ends with exit status %d", s.name, status)
		}
	}
}

type service struct {
	t      *testing.T
	name   string
	lines  chan map[string]any
	status chan int
}

// startService runs a command until ctx ends and reads its log.
func startService(t *testing.T, ctx context.Context, args ...string) *service {
	t.Helper()
	s := &service{t, args[0], make(chan map[string]any, 1000), make(chan int, 1)}
	log, stderr := io.Pipe()
	go func() {
		s.status <- run(ctx, args, io.Discard, stderr)
		stderr.Close()
	}()
	go func() {
		defer close(s.lines)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			line := map[string]any{"message": lines.Text()}
			json.Unmarshal(lines.Bytes(), &line)
			s.lines <- line
		}
	}()
	return s
}

// await returns the next log line with the message.
func (s *service) await(message string) map[string]any {
	s.t.Helper()
	for line := range s.lines {
		if line["message"] == message {
			return line
		}
	}
	s.t.Fatalf("%s ended without the log line %q", s.name, message)
	return nil
}
