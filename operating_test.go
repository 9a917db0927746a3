package outboxgen_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/outboxgen/outboxgen/runtime/outbox"
	"github.com/outboxgen/outboxgen/runtime/sqlite"
)

const operating = "docs/operating.md"

// TestOperating_QueriesRun: each query of docs/operating.md is run as a reader
// would, beside the store, and answers about the one event that waits; the
// backup has that event too.
func TestOperating_QueriesRun(t *testing.T) {
	page := readPage(t)
	t.Chdir(t.TempDir())
	store := openStore(t, "shop.db")
	err := store.InTx(t.Context(), func(tx *sql.Tx) error {
		for _, destination := range []string{"billing", ""} {
			r := outbox.Record{
				ID: uuid.Must(uuid.NewV7()), Type: "order.created", Version: 2,
				Payload: []byte(`{}`), IdempotencyKey: "key of " + destination,
			}
			if destination != "" {
				r.Routes = []outbox.Route{{Destination: destination}}
			}
			if _, err := store.Insert(t.Context(), tx, r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "shop.db")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()

	var all strings.Builder
	blocks := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(page, -1)
	for _, block := range blocks {
		for _, row := range query(t, db, block[1]) {
			all.WriteString(row + "\n")
		}
	}
	for _, want := range []string{"billing|1\n", "billing|20", "order.created@2|2\n", "|order.created|PENDING|0|"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no query answered %q:\n%s", want, &all)
		}
	}
	states, err := openStore(t, "backup.db").Destinations(t.Context())
	if err != nil || len(states) != 1 || states[0].Pending != 1 {
		t.Errorf("the backup has %+v, %v", states, err)
	}
}

// TestOperating_MessagesAreTheCodes: each message that docs/operating.md
// explains is in the code.
func TestOperating_MessagesAreTheCodes(t *testing.T) {
	_, table, _ := strings.Cut(readPage(t), "<!-- messages -->\n")
	table, _, closed := strings.Cut(table, "<!-- /messages -->")
	rows := regexp.MustCompile("(?m)^\\| \\w+ \\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1)
	if !closed || len(rows) == 0 {
		t.Fatalf("%s has no table of messages", operating)
	}
	var code strings.Builder
	for _, pattern := range []string{"runtime/outbox/*.go", "runtime/sqlite/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(text)
		}
	}
	for _, row := range rows {
		if !strings.Contains(code.String(), `"`+row[1]+`"`) {
			t.Errorf("%s explains %q, which nothing logs", operating, row[1])
		}
	}
	logged := regexp.MustCompile(`(?:\.(?:Error|Warn|Info)\(|message(?:, message)? = |LevelError, |LevelWarn, )"([^"]+)"`)
	for _, m := range logged.FindAllStringSubmatch(code.String(), -1) {
		if !strings.Contains(table, "`"+m[1]+"`") {
			t.Errorf("%s does not explain %q", operating, m[1])
		}
	}
}

func readPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(operating)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

func openStore(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// query is the rows of an answer, their columns with bars between.
func query(t *testing.T, db *sql.DB, text string) (answer []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for rows.Next() {
		texts, places := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range texts {
			places[i] = &texts[i]
		}
		if err := rows.Scan(places...); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		columns := make([]string, len(names))
		for i, s := range texts {
			columns[i] = s.String
		}
		answer = append(answer, strings.Join(columns, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return answer
}
