// Package scaffold is the start of a project: the starter spec, the package it
// is generated into and, when asked for, a program that uses it.
//
// Files and Next are pure. Find asks the go command about the module, and
// Write writes: all files or none, and never over another one.
package scaffold

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"

	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/generate"
	"github.com/outboxgen/outboxgen/cmd/outboxgen/internal/spec"
	"github.com/outboxgen/outboxgen/templates"
)

// Folder is where the spec and its package go, relative to where init runs.
const Folder = "events"

const specName = "events.yaml"

// Kind says how much is started.
type Kind int

const (
	Events  Kind = iota // the spec and its package
	Example             // and a program that uses it
)

// File is a file to be written; Name is a slash path relative to where init
// runs.
type File struct {
	Name    string
	Content []byte
}

// Files makes the files of a new project in a folder whose import path is
// importPath: the starter's and what is generated from its spec.
func Files(importPath string, kind Kind) ([]File, error) {
	project := templates.Project{
		Name:         projectName(importPath),
		EventsImport: path.Join(importPath, Folder),
	}
	var files []File
	add := func(template, name string) error {
		content, err := templates.Execute(template, project)
		files = append(files, File{name, content})
		return err
	}
	if err := add(templates.Spec, Folder+"/"+specName); err != nil {
		return nil, err
	}
	specText := files[0].Content
	files = append(files, File{Folder + "/events.schema.json", spec.JSONSchema()})
	if err := add(templates.Generate, Folder+"/generate.go"); err != nil {
		return nil, err
	}
	generated, err := generateStarter(specText)
	if err != nil {
		return nil, err
	}
	for _, f := range generated {
		files = append(files, File{Folder + "/" + f.Name, f.Content})
	}
	if kind == Example {
		if err := add(templates.Main, "main.go"); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func generateStarter(specText []byte) ([]File, error) {
	read := func(name string) ([]byte, error) {
		if name != specName {
			return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
		}
		return specText, nil
	}
	made, diagnostics, err := generate.Files(specName, read)
	if err != nil {
		return nil, err
	}
	if len(diagnostics) > 0 {
		return nil, fmt.Errorf("the starter spec is at fault: %s", diagnostics)
	}
	files := make([]File, len(made))
	for i, f := range made {
		files[i] = File{f.Name, f.Content}
	}
	return files, nil
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// projectName is the last telling element of an import path: shop for
// example.org/shop/v2.
func projectName(importPath string) string {
	dir, base := path.Split(importPath)
	if majorVersion.MatchString(base) && dir != "" {
		return path.Base(dir)
	}
	return base
}
