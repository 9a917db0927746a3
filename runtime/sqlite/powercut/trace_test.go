package powercut

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// op is one system call on a file of the traced folder.
type op struct {
	kind  string // create, write, truncate, sync, syncfolder, unlink, sent
	file  string // base name
	off   int64  // write, truncate
	data  []byte // write, sent
	begun int    // for syncs: how many ops had ended when it began
}

// Calls end in the order of the trace, but may begin earlier: a sync covers
// what had ended before it began. What is sent counts from when it begins.
var (
	lineRE    = regexp.MustCompile(`^(\d+) +(.*)$`)
	resumedRE = regexp.MustCompile(`^<\.\.\. \w+ resumed>(.*)$`)
	callRE    = regexp.MustCompile(`^(\w+)\((.*)\) += (-?\d+)(?:<([^>]*)>)?.*$`)
	fdRE      = regexp.MustCompile(`^\d+<([^>]*)>`)
)

// readTrace parses what strace -f -y -xx wrote.
func readTrace(path, dir string) ([]op, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var ops []op
	type begun struct {
		text string
		at   int
	}
	unfinished := map[string]begun{}
	lines := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if line == "" {
			return ops, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the trace ends in the middle of a line: %.80s", line)
		}
		m := lineRE.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			return nil, fmt.Errorf("not a line of strace: %.80s", line)
		}
		pid, text, at := m[1], m[2], len(ops)
		if before, ok := strings.CutSuffix(text, " <unfinished ...>"); ok {
			unfinished[pid] = begun{before, at}
			if o, ok := parseSent(before, dir); ok {
				ops = append(ops, o) // from when it begins
			}
			continue
		}
		if r := resumedRE.FindStringSubmatch(text); r != nil {
			b := unfinished[pid]
			delete(unfinished, pid)
			text, at = b.text+r[1], b.at
			if _, ok := parseSent(b.text, dir); ok {
				continue
			}
		}
		o, ok, err := parseCall(text, dir)
		if err != nil {
			return nil, err
		}
		if ok {
			o.begun = at
			ops = append(ops, o)
		}
	}
}

func parseSent(text, dir string) (op, bool) {
	rest, ok := strings.CutPrefix(text, "write(")
	if !ok {
		return op{}, false
	}
	file, ok := fileOf(rest, dir)
	if !ok || file != sentFile {
		return op{}, false
	}
	data, err := literal(rest)
	return op{kind: "sent", file: file, data: data}, err == nil
}

func parseCall(text, dir string) (op, bool, error) {
	m := callRE.FindStringSubmatch(text)
	if m == nil || strings.HasPrefix(m[3], "-") {
		return op{}, false, nil // a signal, an exit, or a call that failed
	}
	call, args, result := m[1], m[2], m[4]
	switch call {
	case "openat":
		// With -y the opened file's path follows the descriptor.
		if strings.Contains(args, "O_CREAT") && filepath.Dir(unhex(result)) == dir {
			return op{kind: "create", file: filepath.Base(unhex(result))}, true, nil
		}
	case "unlink", "unlinkat":
		name, err := literal(args)
		if err == nil && filepath.Dir(string(name)) == dir {
			return op{kind: "unlink", file: filepath.Base(string(name))}, true, nil
		}
	case "write":
		if o, ok := parseSent(text, dir); ok {
			return o, true, nil
		}
		if file, ok := fileOf(args, dir); ok {
			return op{}, false, fmt.Errorf("a write without an offset to %s: %.80s", file, text)
		}
	case "pwrite64":
		file, ok := fileOf(args, dir)
		if !ok {
			break
		}
		data, err := literal(args)
		if err != nil {
			return op{}, false, err
		}
		off, err := lastNumber(args)
		written, _ := strconv.Atoi(m[3])
		if err == nil && written != len(data) {
			err = fmt.Errorf("%d of %d bytes written", written, len(data))
		}
		return op{kind: "write", file: file, off: off, data: data}, true, err
	case "ftruncate":
		file, ok := fileOf(args, dir)
		if !ok {
			break
		}
		off, err := lastNumber(args)
		return op{kind: "truncate", file: file, off: off}, true, err
	case "fsync", "fdatasync":
		if path := pathOf(args); path == dir {
			return op{kind: "syncfolder"}, true, nil
		}
		if file, ok := fileOf(args, dir); ok {
			return op{kind: "sync", file: file}, true, nil
		}
	case "rename", "renameat", "renameat2":
		if strings.Contains(unhex(args), dir) {
			return op{}, false, fmt.Errorf("a rename, which this test does not know: %.80s", text)
		}
	}
	return op{}, false, nil
}

func pathOf(args string) string {
	m := fdRE.FindStringSubmatch(args)
	if m == nil {
		return ""
	}
	return unhex(m[1])
}

func fileOf(args, dir string) (string, bool) {
	path := pathOf(args)
	return filepath.Base(path), filepath.Dir(path) == dir && !strings.HasSuffix(path, "-shm")
}

// literal is the first string among the arguments, written as \x.. each byte.
func literal(args string) ([]byte, error) {
	_, rest, found := strings.Cut(args, `"`)
	text, _, closed := strings.Cut(rest, `"`)
	if !found || !closed {
		return nil, fmt.Errorf("no string in %.80s", args)
	}
	return hex.DecodeString(strings.ReplaceAll(text, `\x`, ""))
}

var hexRE = regexp.MustCompile(`\\x[0-9a-f]{2}`)

// unhex reads names, which strace writes as plain text or as \x.. each byte.
func unhex(name string) string {
	return hexRE.ReplaceAllStringFunc(name, func(x string) string {
		b, err := hex.DecodeString(x[2:])
		if err != nil {
			return x
		}
		return string(b)
	})
}

func lastNumber(args string) (int64, error) {
	return strconv.ParseInt(strings.TrimSpace(args[strings.LastIndexByte(args, ',')+1:]), 10, 64)
}
