package canonical_test

import (
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/outboxgen/outboxgen/runtime/canonical"
)

// vectors returns the folder of the public vectors, which lies beside the
// repository where they are at hand; a few of each are typed into the tables
// of this package's tests.
func vectors(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "vectors", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the public vectors are not beside the repository: %v", err)
	}
	return path
}

func TestTransform_RFC8785Vectors(t *testing.T) {
	dir := vectors(t, "rfc8785")
	inputs, err := filepath.Glob(filepath.Join(dir, "input", "*.json"))
	if err != nil || len(inputs) != 6 {
		t.Fatalf("want six inputs in %s, have %d (%v)", dir, len(inputs), err)
	}
	for _, path := range inputs {
		base := filepath.Base(path)
		t.Run(base, func(t *testing.T) {
			in, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(filepath.Join(dir, "output", base))
			if err != nil {
				t.Fatal(err)
			}
			asHex, err := os.ReadFile(filepath.Join(dir, "outhex", strings.TrimSuffix(base, ".json")+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			fromHex, err := hex.DecodeString(strings.Join(strings.Fields(string(asHex)), ""))
			if err != nil {
				t.Fatal(err)
			}
			got, err := canonical.Transform(in)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) || string(got) != string(fromHex) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestAppendFloat_ES6Vectors(t *testing.T) {
	path := filepath.Join(vectors(t, "es6-numbers"), "es6-first-10000.txt")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(text))
	if len(lines) != 10000 {
		t.Fatalf("want 10,000 lines in %s, have %d", path, len(lines))
	}
	for _, line := range lines {
		bits, want, _ := strings.Cut(line, ",")
		u, err := strconv.ParseUint(bits, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		f := math.Float64frombits(u)
		got, err := canonical.AppendFloat(nil, f)
		if err != nil || string(got) != want {
			t.Fatalf("%s: got %s, %v; want %s", bits, got, err, want)
		}
		again, err := canonical.Transform(got)
		if err != nil || string(again) != want {
			t.Fatalf("%s: its text %s comes back as %s, %v", bits, want, again, err)
		}
	}
}
