package sqlite

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// queries are the texts that sqlc has made, by name.
func queries(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../internal/sqlitedb/*.sql.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	texts := make(map[string]string)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				texts[spec.Names[0].Name] = text
			}
			return true
		})
	}
	return texts
}

// plan is what SQLite would do for a query, a line a step.
func plan(t *testing.T, s *Store, query string) []string {
	t.Helper()
	params := 1
	for strings.Contains(query, fmt.Sprint("?", params+1)) {
		params++
	}
	if !strings.Contains(query, "?1") {
		params = strings.Count(query, "?")
	}
	args := make([]any, params)
	for i := range args {
		args[i] = "1"
	}
	rows, err := s.reads.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, query)
	}
	defer rows.Close()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return steps
}

// scanned are the queries that may read a whole index or small table: they run
// beside the writer, when a dispatcher starts or somebody asks.
var scanned = map[string]bool{
	"countDeadLetters": true, "countLeased": true, "countReady": true, "countWaiting": true, "keysWithoutTurn": true, "destinationMarks": true,
}

// searched are the indexes that claims and settles must use.
var searched = map[string][]string{
	"due":                 {"d USING INDEX outbox_delivery_due (destination=? AND available_at<?)"},
	"dueUntried":          {"x USING COVERING INDEX outbox_delivery_due (destination=? AND available_at<?)"},
	"dueByRetries":        {"x USING COVERING INDEX outbox_delivery_due (destination=? AND available_at<?)"},
	"suspects":            {"d USING INDEX outbox_delivery_leased (destination=? AND available_at<?)"},
	"followers":           {"d USING INDEX outbox_delivery_line (destination=? AND ordering_key=? AND seq>?)"},
	"runLeaseEnd":         {"r USING INDEX outbox_delivery_run (destination=? AND ordering_key=?)"},
	"releaseRun":          {"r USING COVERING INDEX outbox_delivery_run (destination=? AND ordering_key=?)"},
	"giveBackRun":         {"r USING INDEX outbox_delivery_run (destination=? AND ordering_key=? AND seq>?)"},
	"insertKeyedDelivery": {"e USING COVERING INDEX outbox_delivery_line (destination=? AND ordering_key=?)"},
	"firstInLine":         {"x USING INDEX outbox_delivery_line (destination=? AND ordering_key=?)"},
	"turnHolder":          {"t USING INDEX outbox_delivery_turn (destination=? AND ordering_key=?)"},
	"passTurn": {
		"r USING INDEX outbox_delivery_run (destination=? AND ordering_key=?)",
		"x USING COVERING INDEX outbox_delivery_line (destination=? AND ordering_key=?)",
	},
	"claimState": {
		"d USING COVERING INDEX outbox_delivery_due (destination=?)",
		"l USING COVERING INDEX outbox_delivery_leased (destination=? AND available_at>?)",
		"s USING COVERING INDEX outbox_delivery_leased (destination=? AND available_at<?)",
	},
	"leaseMany":   {"outbox_delivery USING PRIMARY KEY (seq=? AND destination=?)"},
	"publishMany": {"outbox_delivery USING PRIMARY KEY (seq=? AND destination=?)"},
	"leased":      {"d USING PRIMARY KEY (seq=? AND destination=?)"},
	"purgeWindow": {"o USING INTEGER PRIMARY KEY (rowid>?)", "d USING PRIMARY KEY (seq=?)"},
}

// Every query reads only the rows it is after, however the table is filled, and
// also when its owner has let SQLite gather statistics.
func TestPlans_ReadOnlyWhatTheyAreAfter(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "shop.db"), Options{})
	fillForCost(t, s, 300, 300, 300, 300)
	for _, statistics := range []string{"none", "ANALYZE"} {
		if statistics != "none" {
			execute(t, s, statistics)
		}
		all := queries(t)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			steps := plan(t, s, all[name])
			text := strings.Join(steps, "\n  ")
			for _, step := range steps {
				if strings.HasPrefix(step, "SCAN") && !scanned[name] && !strings.HasPrefix(step, "SCAN j VIRTUAL TABLE") && step != "SCAN CONSTANT ROW" && step != "SCAN w" {
					t.Errorf("%s, with statistics %s, scans:\n  %s", name, statistics, text)
				}
			}
			for _, want := range searched[name] {
				if !slices.Contains(steps, "SEARCH "+want) {
					t.Errorf("%s, with statistics %s, does not search %s:\n  %s", name, statistics, want, text)
				}
			}
			if name == "due" && strings.Contains(text, "TEMP B-TREE") {
				t.Errorf("%s sorts:\n  %s", name, text)
			}
		}
	}
}
