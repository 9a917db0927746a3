package sqlite

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets tests run parts of themselves in processes of their own: see
// child_test.go.
func TestMain(m *testing.M) {
	if part := os.Getenv(childEnv); part != "" {
		os.Exit(runChild(part))
	}
	goleak.VerifyTestMain(m)
}
