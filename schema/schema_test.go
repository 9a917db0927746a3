package schema_test

import (
	"strings"
	"testing"

	"github.com/outboxgen/outboxgen/schema"
)

func TestMigrations_AreNumberedWithoutGaps(t *testing.T) {
	for i, m := range schema.Migrations() {
		if m.Version != i+1 || m.Name == "" {
			t.Errorf("migration %d has version %d and name %q", i+1, m.Version, m.Name)
		}
	}
	if got, want := schema.Version(), len(schema.Migrations()); got != want {
		t.Errorf("Version() = %d, want %d", got, want)
	}
}

func TestDDL_HoldsEveryMigrationAndRecordsIt(t *testing.T) {
	ddl := schema.DDL()
	for _, m := range schema.Migrations() {
		if !strings.Contains(ddl, m.SQL) {
			t.Errorf("migration %d is not in the DDL", m.Version)
		}
		if !strings.Contains(m.SQL, "INSERT INTO outbox_schema") {
			t.Errorf("migration %d does not record itself", m.Version)
		}
	}
	for _, table := range []string{"outbox", "outbox_delivery", "outbox_attempt", "dead_letter_queue", "outbox_destination", "inbox"} {
		if !strings.Contains(ddl, "CREATE TABLE "+table+" (") {
			t.Errorf("the DDL has no table %s", table)
		}
	}
}
