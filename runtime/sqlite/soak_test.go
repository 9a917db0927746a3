package sqlite

import "os"

// soak reports whether tests that repeat are to repeat often.
func soak() bool { return os.Getenv("OUTBOXGEN_SOAK") == "1" }
