package program

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/engine/program/source"
)

// Component is a component that is written in YAML: resources that are made together, of inputs.
type Component struct {
	// Package and Name make the component's type; see [Component.Token].
	Package, Name string
	Description   string
	// Version is its package's version, empty if there is none.
	Version string
	// Inputs are the component's inputs, in the order of the file. One without a default must be given.
	Inputs []ConfigDeclaration
	// Template has the component's resources and outputs.
	Template Template
	// Dir is where relative paths of files begin.
	Dir      string
	Position source.Position
}

// Token returns the component's type.
func (c *Component) Token() string { return c.Package + ":index:" + c.Name }

// Component returns the component of a type, with or without its module, nil if there is none.
func (p *Project) Component(typ string) *Component {
	pkg, name, _ := strings.Cut(typ, ":")
	name = strings.TrimPrefix(name, "index:")
	if p.byName != nil {
		if i, ok := p.byName.components[pkg+":"+name]; ok {
			return &p.Components[i]
		}
		return nil
	}
	for i := range p.Components {
		if c := &p.Components[i]; c.Package == pkg && c.Name == name {
			return c
		}
	}
	return nil
}

// HasComponents reports whether a package has components.
func (p *Project) HasComponents(pkg string) bool {
	if p.byName != nil {
		return p.byName.componentPackages[pkg]
	}
	return slices.ContainsFunc(p.Components, func(c Component) bool { return c.Package == pkg })
}

// ComponentsOf returns the types of a package's components.
func (p *Project) ComponentsOf(pkg string) []string {
	var types []string
	for i := range p.Components {
		if c := &p.Components[i]; c.Package == pkg {
			types = append(types, c.Package+":"+c.Name)
		}
	}
	return types
}

// components reads the components of a program, or of a package. The decoder's file is where they are written.
func (d *decoder) components(n *yaml.Node, pkg, version, dir string) {
	for _, f := range d.Fields(n, "components") {
		if f.Name == "" || strings.ContainsAny(f.Name, ":/$ \t") {
			d.Errorf(f.Key, "%q is not a name that a component can have", f.Name)
			continue
		}
		if earlier := d.project.Component(pkg + ":" + f.Name); earlier != nil {
			d.Add(d.File.Errorf(source.Of(f.Key), "the component %q is declared in %s, too", f.Name, earlier.Template.File.Name).
				With("give one of the two another name"))
			continue
		}
		d.component(f, Component{Package: pkg, Name: f.Name, Version: version, Dir: dir, Template: Template{File: d.File}, Position: source.Of(f.Key)})
	}
}

func (d *decoder) component(f source.Field, c Component) {
	var inputs *yaml.Node
	t := &c.Template
	d.Read(f.Value, "a component",
		source.On("name", func(source.Field) bool { return true }).Hidden(), // Pulumi reads it, and then uses the key
		d.TextKey("description", &c.Description, "the description"),
		source.NodeKey("pulumi", &t.Pulumi), source.NodeKey("inputs", &inputs), source.NodeKey("variables", &t.Variables),
		source.NodeKey("resources", &t.Resources), source.NodeKey("outputs", &t.Outputs))
	if inputs != nil {
		for _, in := range d.Fields(inputs, "inputs") {
			if declared, ok := d.declaration(in, "the declaration of an input"); ok {
				c.Inputs = append(c.Inputs, declared)
			}
		}
	}
	d.project.addComponent(c)
}

// PluginFile is the file that makes a directory a package of Pulumi.
const PluginFile = "PulumiPlugin.yaml"

// isLocalSource reports whether the source of a package is a path, as Pulumi takes one for it.
func isLocalSource(name string) bool {
	return name == "." || name == ".." || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") || filepath.IsAbs(name)
}

// runtimesOfPlugins are the runtimes whose plugins are programs that the SDK of the runtime runs.
var runtimesOfPlugins = []string{"nodejs", "python"}

// localPackage reads a package whose source is a path: of components in YAML, or of a provider, which is then listed as
// if it were among plugins.providers, without grants. One in Node.js or Python runs as a native plugin does.
func (d *decoder) localPackage(at *yaml.Node, p *Package) bool {
	if !d.mayName(at, p.Source, "the package's source") {
		return false
	}
	dir := d.project.Path(p.Source)
	text, err := d.project.readFile(filepath.Join(dir, PluginFile))
	if errors.Is(err, errTooMuch) {
		d.Errorf(at, "the package %q cannot be read: %v", p.Name, err)
		return false
	}
	declared := ProviderPlugin{Name: p.Name, Path: p.Source, Position: source.Of(at)}
	if err == nil {
		plugin, ok := d.pluginProject(at, p, dir, text)
		switch {
		case !ok:
			return false
		case plugin.Runtime == RuntimeYAML:
			p.Source = p.Name
			return true
		case slices.Contains(runtimesOfPlugins, plugin.Runtime):
			declared.Native, declared.Program = true, plugin
		case plugin.Runtime != "go":
			d.Add(d.File.Errorf(source.Of(at), "the package %q is written for the runtime %s, and only those in YAML, Go, Node.js, and Python can be used as they are", p.Name, plugin.Runtime).
				With("write its components in one of these, or list a module of it in plugins.providers"))
			return false
		}
	}
	if d.listed[p.Name] {
		d.Add(d.File.Errorf(source.Of(at), "the package %q is listed in plugins.providers, too", p.Name).
			With("leave one of the two out: plugins.providers can also give it grants and limits"))
		return false
	}
	d.list(p.Name)
	d.project.addProvider(declared)
	p.Source = p.Name
	return true
}

// pluginProject reads a package from the files in its directory, with its components if its runtime is yaml. text is its
// PulumiPlugin.yaml. ok is false if it has mistakes.
func (d *decoder) pluginProject(at *yaml.Node, p *Package, dir string, text []byte) (plugin *Project, ok bool) {
	file := d.project.newFile(filepath.Join(dir, PluginFile), text)
	root, err := source.Parse(file, text)
	if err != nil {
		if ds, ok := errors.AsType[source.Diagnostics](err); ok {
			d.Add(ds...)
		} else {
			d.Errorf(at, "the package %q cannot be read: %s: %v", p.Name, file.Name, err)
		}
		return nil, false
	}
	m := decoder{Report: &source.Report{File: file}, project: d.project}
	plugin = &Project{Root: d.project.Root, Dir: dir, ProgramDir: dir, File: file}
	named := decoder{Report: m.Report, project: plugin}
	version := ""
	fields := m.Fields(root, "a package")
	var components *yaml.Node
	for _, f := range fields {
		switch f.Name {
		case "name":
			named.name(f.Value)
		case "runtime":
			named.runtime(f.Value)
		case "version":
			if text, ok := m.Text(f.Value, "a package's version"); ok {
				version, _ = m.version(f.Value, text, semver.ParseTolerant)
			}
		case "components":
			components = f.Value
		}
	}
	if plugin.Runtime != RuntimeYAML {
		named.readRuntimeOptions()
	}
	if m.Diagnostics().HasErrors() {
		d.Add(m.Diagnostics()...)
		return nil, false
	}
	if plugin.Runtime != RuntimeYAML {
		return plugin, true
	}
	for _, f := range fields {
		if slices.Contains([]string{"config", "configuration", "variables", "resources", "outputs"}, f.Name) {
			m.Add(m.File.Errorf(source.Of(f.Key), "a package declares components only, and this one declares %s", f.Name).
				With("put them into a component"))
		}
	}
	switch {
	case plugin.Name == "":
		m.Errorf(root, "the package has no name")
	case plugin.Name != p.Name:
		d.Errorf(at, "the package in %s is %q, not %q: declare it by that name", p.Source, plugin.Name, p.Name)
	case p.Version != "" && version != "" && !Compatible(p.Version, version):
		d.Errorf(at, "version %s is wanted, and %s holds version %s, which is not compatible with it", p.Version, p.Source, version)
	}
	if components != nil {
		m.components(components, p.Name, version, dir)
	}
	d.Add(m.Diagnostics()...)
	d.furtherComponents(p.Name, version, dir)
	if !d.project.HasComponents(p.Name) {
		d.Errorf(at, "the package %q has no components", p.Name)
	}
	return plugin, true
}

// furtherComponents reads the components in the other files of a package's directory.
func (d *decoder) furtherComponents(pkg, version, dir string) {
	entries, err := d.project.readDir(dir)
	if errors.Is(err, errTooMuch) {
		d.Errorf(&yaml.Node{}, "the package %q cannot be read: %v", pkg, err)
		return
	}
	// With another error, the text comes from somewhere else, and there is no such directory.
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() || filepath.Ext(name) != ".yaml" || name == PluginFile {
			continue
		}
		text, err := d.project.readFile(filepath.Join(dir, name))
		if err != nil {
			d.Errorf(&yaml.Node{}, "cannot read a file of the package %q: %v", pkg, err)
			continue
		}
		file := d.project.newFile(filepath.Join(dir, name), text)
		root, err := source.Parse(file, text)
		if ds, ok := errors.AsType[source.Diagnostics](err); ok {
			d.Add(ds...)
		}
		if err != nil || root.Kind != yaml.MappingNode {
			continue
		}
		m := decoder{Report: &source.Report{File: file}, project: d.project}
		if i := field(root, func(key string) bool { return key == "components" }); i >= 0 {
			m.components(root.Content[i+1], pkg, version, dir)
		}
		d.Add(m.Diagnostics()...)
	}
}
