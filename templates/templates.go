// Package templates holds the text/template sources of what outboxgen writes
// and is not Go made by the generator: the starter spec, its generate.go and
// the example program of `outboxgen init`, and the page of a spec's events.
//
// Each file is named after what it becomes, with .tmpl behind it, so that no
// tool mistakes it for the real thing. Users cannot replace them: what a
// project wants otherwise it edits after init.
package templates

import (
	"bytes"
	"embed"
	"fmt"
	"text/template"
)

//go:embed *.tmpl
var sources embed.FS

// Project is what the templates of init know of the user's module.
type Project struct {
	// Name is the last element of the module's path: shop for example.org/shop.
	Name string
	// EventsImport is the import path of the package to be generated.
	EventsImport string
}

// Names of the templates of init.
const (
	Spec     = "events.yaml"
	Generate = "generate.go"
	Main     = "main.go"
)

// Events is the template of the page that describes a spec's events, for
// receivers.
const Events = "events.md"

// Execute renders the named template. A name that is none of this package's,
// or data that lacks what the template asks for, is an error.
func Execute(name string, data any) ([]byte, error) {
	tmpl, err := template.New(name+".tmpl").Option("missingkey=error").ParseFS(sources, name+".tmpl")
	if err != nil {
		return nil, fmt.Errorf("template %s: %w", name, err)
	}
	var out bytes.Buffer
	if err := tmpl.Execute(&out, data); err != nil {
		return nil, fmt.Errorf("template %s: %w", name, err)
	}
	return out.Bytes(), nil
}
