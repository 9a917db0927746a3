package main

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
)

func TestVisible_EscapesWhatATerminalWouldObey(t *testing.T) {
	for in, want := range map[string]string{
		"plain, Ünïcode 漢字":  "plain, Ünïcode 漢字",
		"\x1b[2J":            `\x1b[2J`,
		"a\nb\rc\x00\x7f":    `a\x0ab\x0dc\x00\x7f`,
		"a\tb":               "a b",
		"\u009b31m":          `\u009b31m`,
		"\u202ertl\u2066":    `\u202ertl\u2066`,
		"\U000e0001":         `\U000e0001`,
		"bad\xffutf8\xc3":    `bad\xffutf8\xc3`,
		"replacement \ufffd": "replacement \ufffd",
	} {
		if got := visible(in); got != want {
			t.Errorf("visible(%q) = %q, want %q", in, got, want)
		}
	}
}

// A damaged database, a file's name and an argument come back in errors.
func TestRun_ErrorsDoNotReachTheTerminalAsTheyAre(t *testing.T) {
	var stderr bytes.Buffer
	if status := run(t.Context(), []string{"dlq", "list", "--db", "no\x1b[2Jsuch\xff.db"}, nil, &stderr, &stderr); status != statusFailed {
		t.Fatalf("status %d", status)
	}
	if want := `outboxgen: stat no\x1b[2Jsuch\xff.db: ` + "no such file or directory\n"; runtime.GOOS == "linux" && stderr.String() != want {
		t.Errorf("got %q, want %q", stderr.String(), want)
	}
	if strings.Contains(stderr.String(), "\x1b") {
		t.Errorf("an escape character in %q", stderr.String())
	}
}

func TestJSONLine_StaysOneLineOfPrintableJSON(t *testing.T) {
	var out bytes.Buffer
	if err := jsonLine(&out, map[string]string{"a": "\x1b\u009b\u202e\U000e0001 \u007f ok"}); err != nil {
		t.Fatal(err)
	}
	const want = `{"a":"\u001b\u009b\u202e\udb40\udc01 \u007f ok"}` + "\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
