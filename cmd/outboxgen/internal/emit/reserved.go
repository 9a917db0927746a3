package emit

import (
	"go/token"
	"go/types"
)

// locals are the names of variables and parameters in generated code.
var locals = []string{
	"add", "body", "c", "cfg", "ctx", "d", "data", "destinations", "draft", "drafts", "dst", "e", "err", "errs", "es",
	"eventType", "events", "h", "i", "init", "k", "key", "m", "main", "o", "ok", "opt", "opts", "p", "r", "read",
	"store", "tx", "v", "version", "w",
}

var localNames = func() map[string]bool {
	set := make(map[string]bool, len(locals))
	for _, name := range locals {
		set[name] = true
	}
	return set
}()

// isReserved reports names that a package alias or a parameter of generated
// code cannot have: keywords, predeclared identifiers, and what the code around
// it calls its own.
func isReserved(name string) bool {
	return token.IsKeyword(name) || types.Universe.Lookup(name) != nil || localNames[name]
}
