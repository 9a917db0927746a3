package emit

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
)

// What generated code imports of this module and of others.
const (
	module          = "github.com/outboxgen/outboxgen/runtime/"
	outboxPath      = module + "outbox"
	payloadPath     = module + "payload"
	decimaltextPath = module + "payload/decimaltext"
	canonicalPath   = module + "canonical"
	breakerPath     = module + "breaker"
	webhookPath     = module + "webhook"
	inboxPath       = module + "inbox"
	uuidPath        = "github.com/google/uuid"
	decimalPath     = "github.com/shopspring/decimal"
)

var importPaths = []string{
	"context", "encoding/base64", "encoding/json", "errors", "fmt", "net/http", "regexp", "strconv", "sync", "time",
	outboxPath, payloadPath, decimaltextPath, canonicalPath, breakerPath, webhookPath, inboxPath, uuidPath, decimalPath,
}

// generator is one run over one spec.
type generator struct {
	spec    *spec.Spec
	aliases map[string]string // by import path, of users' own types
	cycles  cycles
	users   map[*spec.Type][]string // Go names of what has fields of the type
	keys    map[*spec.Type]string   // names of the types in documents
	taken   map[string]bool         // unexported names of the package that are given out
	err     error                   // the first thing that a checked spec does not have
}

func newGenerator(s *spec.Spec) *generator {
	g := &generator{spec: s, aliases: map[string]string{}, taken: map[string]bool{}}
	g.cycles = findCycles(s.Types)
	g.users = users(s)
	g.nameOwnImports()
	return g
}

// check keeps the first error. There is none with a spec that spec.Load has
// checked: it is the last line of defence against writing what is wrong.
func (g *generator) check(err error) {
	if g.err == nil {
		g.err = err
	}
}

// file starts a file of the generated package.
func (g *generator) file() *jen.File {
	f := jen.NewFile(g.spec.Package)
	f.HeaderComment(Header)
	for _, p := range importPaths {
		f.ImportName(p, path.Base(p))
	}
	for p, alias := range g.aliases {
		if alias == path.Base(p) && isStandard(p) {
			f.ImportName(p, alias)
			continue
		}
		// What the package calls itself is not known here.
		f.ImportAlias(p, alias)
	}
	return f
}

// nameOwnImports gives every package of a user's own types a name that no
// import, predeclared identifier or local variable of generated code has.
func (g *generator) nameOwnImports() {
	used := map[string]bool{}
	for _, p := range importPaths {
		used[path.Base(p)] = true
	}
	known := map[string]bool{}
	for _, p := range importPaths {
		known[p] = true
	}
	g.eachGoType(func(t *spec.GoType) {
		if t.ImportPath == "C" {
			g.check(fmt.Errorf("go_type C.%s: cgo's C is no package", t.Name))
			return
		}
		if t.ImportPath == "" || known[t.ImportPath] || g.aliases[t.ImportPath] != "" {
			return
		}
		base := importBase(t.ImportPath)
		alias := base
		for n := 2; used[alias] || isReserved(alias); n++ {
			alias = base + strconv.Itoa(n)
		}
		used[alias] = true
		g.aliases[t.ImportPath] = alias
	})
}

// isStandard reports paths of the standard library: jennifer has a list, and
// writes these without an alias.
func isStandard(importPath string) bool {
	f := jen.NewFile("p")
	f.Var().Id("_").Qual(importPath, "T")
	var out strings.Builder
	return f.Render(&out) == nil && strings.Contains(out.String(), "import "+strconv.Quote(importPath))
}

// importBase guesses a package's name from its path, as a lower-case word.
func importBase(importPath string) string {
	base := path.Base(importPath)
	if dir := path.Dir(importPath); isMajorVersion(base) && dir != "." {
		base = path.Base(dir)
	}
	word := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, base)
	word = strings.TrimLeft(word, "0123456789")
	if word == "" {
		return "pkg"
	}
	return word
}

func isMajorVersion(s string) bool {
	digits, ok := strings.CutPrefix(s, "v")
	_, err := strconv.Atoi(digits)
	return ok && err == nil
}

// eachGoType visits the users' own types in the order of the spec.
func (g *generator) eachGoType(visit func(*spec.GoType)) {
	var ref func(*spec.TypeRef)
	element := func(e *spec.Element) {
		if e == nil {
			return
		}
		if e.GoType != nil {
			visit(e.GoType)
		}
		ref(e.Type)
	}
	ref = func(t *spec.TypeRef) {
		element(t.List)
		element(t.Map)
	}
	fields := func(fs []*spec.Field) {
		for _, f := range fs {
			if f.GoType != nil {
				visit(f.GoType)
			}
			ref(f.Type)
		}
	}
	for _, t := range g.spec.Types {
		fields(t.Fields)
	}
	for _, e := range g.spec.Events {
		fields(e.Fields)
	}
}

// unexported gives out a package-level name. Exported names are the spec's to
// keep apart; these are built of them, and two may meet.
func (g *generator) unexported(name string) string {
	unique := name
	for n := 2; g.taken[unique]; n++ {
		unique = name + "_" + strconv.Itoa(n)
	}
	g.taken[unique] = true
	return unique
}

// users lists, for each named type, what has fields of it, in the order of
// the spec.
func users(s *spec.Spec) map[*spec.Type][]string {
	users := map[*spec.Type][]string{}
	visit := func(user string, fields []*spec.Field) {
		for _, f := range fields {
			t := innermost(f.Type).Named
			if t == nil || t.GoName == user {
				continue
			}
			if n := len(users[t]); n == 0 || users[t][n-1] != user {
				users[t] = append(users[t], user)
			}
		}
	}
	for _, e := range s.Events {
		visit(e.GoName, e.Fields)
	}
	for _, t := range s.Types {
		visit(t.GoName, t.Fields)
	}
	return users
}

// innermost is what lists and maps hold in the end.
func innermost(t *spec.TypeRef) *spec.TypeRef {
	for {
		switch {
		case t.List != nil:
			t = t.List.Type
		case t.Map != nil:
			t = t.Map.Type
		default:
			return t
		}
	}
}
