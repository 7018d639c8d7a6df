package program

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/engine/program/source"
)

// Template holds the parts of a YAML program as they are written, nil if they are missing.
type Template struct {
	File *source.File
	// Pulumi says which versions of Pulumi the program is for.
	Pulumi     *yaml.Node
	Variables  *yaml.Node
	Actions    *yaml.Node
	Components *yaml.Node
	Resources  *yaml.Node
	Outputs    *yaml.Node
}

func (t *Template) set(f source.Field) {
	parts := map[string]**yaml.Node{
		"pulumi": &t.Pulumi, "variables": &t.Variables, "actions": &t.Actions, "components": &t.Components, "resources": &t.Resources, "outputs": &t.Outputs,
	}
	*parts[f.Name] = f.Value
}

// mainFiles are the names of a program's file. The first that exists is read.
var mainFiles = []string{"Main.json", "Main.yaml", "Main.yml"}

// mainFile reads the program that main names: a file, or a directory with one of the mainFiles or a
// project file. Without main, one of the mainFiles beside the project file is read, as in Pulumi. A
// program in two places is an error.
func (d *decoder) mainFile() {
	p := d.project
	candidates := []string{p.ProgramDir}
	if info, err := p.Root.Stat(p.ProgramDir); err == nil && info.IsDir() {
		candidates = nil
		names := mainFiles
		if p.ProgramDir != p.Dir {
			names = slices.Concat(mainFiles, projectFiles)
		}
		for _, name := range names {
			candidates = append(candidates, filepath.Join(p.ProgramDir, name))
		}
	} else if d.main == nil {
		return // there is no directory: the text comes from somewhere else
	}
	at := d.main
	if at == nil {
		at = &yaml.Node{}
	}
	for _, path := range candidates {
		text, err := p.readFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			d.Errorf(at, "cannot read the program: %v", err)
			return
		}
		for _, key := range d.program {
			d.Add(d.File.Errorf(source.Of(key), "the program is in %s, and this file declares %s as well", d.shown(path), key.Value).
				With("only one of the two files would be read: keep the program in one of them"))
		}
		p.ProgramDir = filepath.Dir(path)
		d.template(path, text)
		return
	}
	if d.main != nil {
		d.Errorf(d.main, "main names no program: there is no %s", strings.Join(candidates, " or "))
	}
}

func (d *decoder) shown(path string) string {
	if name, err := filepath.Rel(d.project.Dir, path); err == nil {
		return name
	}
	return path
}

func (d *decoder) template(path string, text []byte) {
	file := d.project.newFile(path, text)
	t := Template{File: file}
	d.project.Template = t
	root, err := source.Parse(file, text)
	if ds, ok := errors.AsType[source.Diagnostics](err); ok {
		d.Add(ds...)
	}
	if err != nil {
		return
	}
	m := decoder{Report: &source.Report{File: file}, project: d.project}
	known := slices.Concat(programKeys, []string{"config", "configuration"})
	for _, f := range m.KnownFields(root, "a program", known) {
		switch {
		case slices.Contains(programKeys, f.Name):
			t.set(f)
		case f.Name == "config":
			m.config = m.Fields(f.Value, f.Name)
		case f.Name == "configuration":
			m.configuration = m.Fields(f.Value, f.Name)
		case slices.Contains(pulumiKeys, f.Name):
			m.other(f)
		case f.Name == "name", f.Name == "description", f.Name == "runtime", strings.HasPrefix(f.Name, "x-"):
		default:
			m.Unknown(f, "the program", known)
		}
	}
	m.declarations()
	if t.Components != nil {
		m.components(t.Components, d.project.Name, "", d.project.ProgramDir)
	}
	d.project.Template = t
	d.Add(m.Diagnostics()...)
}
