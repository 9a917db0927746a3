package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompiler_RefusesWhatWouldLoseEvents runs the compiler on small programs:
// what must not happen at run time does not build.
func TestCompiler_RefusesWhatWouldLoseEvents(t *testing.T) {
	const header = `package main

import (
	"context"
	"database/sql"

	"github.com/outboxgen/outboxgen/examples/orders/events"
	"github.com/outboxgen/outboxgen/examples/orders/shop"
	"github.com/outboxgen/outboxgen/runtime/inbox"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/sqlite"
)

type complete struct{ partial }

func (complete) OrderCancelled(context.Context, *sql.Tx, events.OrderCancelled, inbox.Message) error { return nil }

type partial struct{}

func (partial) OrderCreated(context.Context, *sql.Tx, events.OrderCreated, inbox.Message) error { return nil }

func use(ctx context.Context, store *sqlite.Store, tx *sql.Tx, db *sql.DB) (d *outbox.Dispatcher, err error) {
	out := events.New(store)
	_ = out
`
	const footer = "\n\treturn d, err\n}\n\nvar _ = shop.Audit{}\n\nfunc main() { use(nil, nil, nil, nil) }\n"
	for _, c := range []struct {
		name, body string
		want       string // of the compiler's message; "" when it builds
	}{
		{"an insert in a transaction", `_, err = out.InsertOrderCreated(ctx, tx, events.OrderCreated{})`, ""},
		{"an insert outside a transaction", `_, err = out.InsertOrderCreated(ctx, db, events.OrderCreated{})`, "cannot use db (variable of type *sql.DB) as *sql.Tx value"},
		{"a dispatcher with its handler", `d, err = events.NewDispatcher(store, shop.Audit{})`, ""},
		{"a dispatcher without its handler", `d, err = events.NewDispatcher(store)`, "not enough arguments in call to events.NewDispatcher"},
		{"a handler of something else", `d, err = events.NewDispatcher(store, partial{})`, "does not implement events.AuditHandler"},
		{"a receiver of every event", `_, err = events.NewBillingReceiver(store.Inbox(), complete{}, inbox.Config{})`, ""},
		{"a receiver that forgets one", `_, err = events.NewBillingReceiver(store.Inbox(), partial{}, inbox.Config{})`, "type partial of partial{} does not match inferred type events.BillingReceiver[*sql.Tx]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := build(t, header+"\t"+c.body+footer)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("it does not build: %v\n%s", err, out)
			case c.want != "" && err == nil:
				t.Error("it builds")
			case !strings.Contains(out, c.want):
				t.Errorf("the compiler says\n%s\nwant %q", out, c.want)
			}
		})
	}
}

// build compiles a program as if it were a package of this module.
func build(t *testing.T, source string) (output string, err error) {
	t.Helper()
	dir := t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	program, overlay := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json")
	mapping, err := json.Marshal(map[string]any{
		"Replace": map[string]string{filepath.Join(here, "notcompiled", "main.go"): program},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{program: source, overlay: string(mapping)} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", os.DevNull, "./notcompiled").CombinedOutput()
	return string(out), err
}
