// Package outboxgen_test holds the rules of the repository that no compiler
// checks: what may import what, and what must not stand in a file.
package outboxgen_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/outboxgen/outboxgen"

type goPackage struct {
	ImportPath string
	Doc        string
	Standard   bool
	DepOnly    bool
	GoFiles    []string
	Deps       []string
}

// listPackages is go list of the root module's packages and all that they
// depend on, tests left out.
func listPackages(t *testing.T) map[string]goPackage {
	t.Helper()
	packages, err := goList()
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

var goList = sync.OnceValues(func() (map[string]goPackage, error) {
	out, err := exec.Command("go", "list", "-deps", "-json=ImportPath,Doc,Standard,DepOnly,GoFiles,Deps", "./...").Output()
	if err != nil {
		return nil, err
	}
	packages := make(map[string]goPackage)
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages, nil
		}
		if err != nil {
			return nil, err
		}
		packages[p.ImportPath] = p
	}
})

func run(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, &stderr)
	}
	return out
}

func TestPackages_AreDocumented(t *testing.T) {
	for path, p := range listPackages(t) {
		if !p.DepOnly && len(p.GoFiles) > 0 && p.Doc == "" {
			t.Errorf("%s has no package comment", path)
		}
	}
}

// TestImports_StayWithinTheirLayer: a user pays only for what is imported,
// and the runtime stands without the generator.
func TestImports_StayWithinTheirLayer(t *testing.T) {
	const runtime = module + "/runtime/"
	within := func(tree string) func(string) bool {
		return func(path string) bool { return path+"/" == tree || strings.HasPrefix(path, tree) }
	}
	external := func(dep string) bool { return !within(module + "/")(dep) }
	rules := []struct {
		name      string
		applies   func(path string) bool
		forbidden func(dep string) bool
	}{
		{
			"the runtime does not import the generator",
			within(runtime),
			within(module + "/cmd/"),
		},
		{
			"runtime/outbox needs std and google/uuid only",
			func(path string) bool { return path == runtime+"outbox" },
			func(dep string) bool { return external(dep) && dep != "github.com/google/uuid" },
		},
		{
			"breaker, canonical and the signature need std only",
			func(path string) bool {
				return slices.Contains([]string{runtime + "breaker", runtime + "canonical", runtime + "webhook/signature"}, path)
			},
			external,
		},
		{
			"only the SQLite store brings a driver",
			func(path string) bool { return within(runtime)(path) && path != runtime+"sqlite" },
			within("modernc.org/"),
		},
		{
			"only decimaltext brings a decimal library",
			func(path string) bool { return within(runtime)(path) && path != runtime+"payload/decimaltext" },
			within("github.com/shopspring/"),
		},
		{
			"schema and templates are text: they need std only",
			func(path string) bool { return path == module+"/schema" || path == module+"/templates" },
			func(string) bool { return true },
		},
	}
	packages := listPackages(t)
	for _, rule := range rules {
		matched := false
		for path, p := range packages {
			if p.DepOnly || !rule.applies(path) {
				continue
			}
			matched = true
			for _, dep := range p.Deps {
				if !packages[dep].Standard && rule.forbidden(dep) {
					t.Errorf("%s: %s depends on %s", rule.name, path, dep)
				}
			}
		}
		if !matched {
			t.Errorf("%s: no package matches", rule.name)
		}
	}
}

type goMod struct {
	Go      string
	Replace []struct {
		Old struct{ Path string }
		New struct{ Path, Version string }
	}
}

func TestModules_AgreeAndReplaceOnlyThisOne(t *testing.T) {
	var goVersion string
	for _, path := range files(t) {
		var mod goMod
		switch filepath.Base(path) {
		case "go.mod":
			unmarshal(t, run(t, "go", "mod", "edit", "-json", path), &mod)
		case "go.work":
			unmarshal(t, run(t, "go", "work", "edit", "-json", path), &mod)
		default:
			continue
		}
		if goVersion == "" {
			goVersion = mod.Go
		}
		if mod.Go != goVersion {
			t.Errorf("%s says go %s, another module go %s", path, mod.Go, goVersion)
		}
		for _, r := range mod.Replace {
			ours := within(module, r.Old.Path) && strings.HasPrefix(r.New.Path, "../")
			if filepath.Dir(path) == "." || !ours {
				t.Errorf("%s replaces %s by %s: whoever depends on it would get something else", path, r.Old.Path, r.New.Path)
			}
		}
	}
}

func within(tree, path string) bool { return path == tree || strings.HasPrefix(path, tree+"/") }

func unmarshal(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// TestText_HasNothingThatDoesNotBelong. The patterns are put together from
// parts so that this file does not match itself.
func TestText_HasNothingThatDoesNotBelong(t *testing.T) {
	rules := []struct {
		name    string
		in      *regexp.Regexp // paths
		pattern *regexp.Regexp // lines
		unless  string         // the file has this text
	}{
		{"something left open", regexp.MustCompile(`\.(go|sql|yaml|tmpl|sh)$|Makefile$`), regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b|not imple` + `mented`), ""},
		{"a path of one machine", regexp.MustCompile(``), regexp.MustCompile(`(^|[^.\w])/(wo` + `rk|far` + `m|ro` + `ot|ho` + `me)/\w`), ""},
		{"a test that sleeps in real time and does not say why", regexp.MustCompile(`_test\.go$`), regexp.MustCompile(`\btime\.Sl` + `eep\([^/]*$`), `"testing/synctest"`},
		{"the host of a module registry", regexp.MustCompile(``), regexp.MustCompile(`proxy\.gol` + `ang\.org|registry\.np` + `mjs`), ""},
	}
	for _, path := range files(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range rules {
			if !rule.in.MatchString(path) || rule.unless != "" && bytes.Contains(data, []byte(rule.unless)) {
				continue
			}
			for i, line := range strings.Split(string(data), "\n") {
				if rule.pattern.MatchString(line) {
					t.Errorf("%s:%d: %s: %s", path, i+1, rule.name, strings.TrimSpace(line))
				}
			}
		}
	}
}

// files are the paths of the repository's own files: what git ignores is
// left out by name, so that the rules also run where git is not.
func files(t *testing.T) []string {
	t.Helper()
	ignored := regexp.MustCompile(`\.(test|out|db|db-wal|db-shm)$`)
	var paths []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case d.Type().IsRegular() && !ignored.MatchString(path):
			paths = append(paths, filepath.ToSlash(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
