package program

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/engine/program/source"
)

// AddProvider lists a provider with a source and a range of versions, empty for any, in the project file.
func (p *Project) AddProvider(ctx context.Context, name, from, version string) error {
	var entry yaml.Node
	err := entry.Encode(struct {
		Name    string
		Source  string
		Version string `yaml:",omitempty"`
	}{name, from, version})
	entry.Style = yaml.FlowStyle
	var line []byte
	if err == nil {
		line, err = yaml.Marshal([]*yaml.Node{&entry})
	}
	if err != nil {
		return fmt.Errorf("cannot write the provider %q: %w", name, err)
	}
	written := strings.Join(strings.Fields(string(line)), " ")
	return p.add(ctx, fmt.Sprintf("provider %q", name), "plugins.providers", written,
		func(text []byte) ([]byte, error) { return withProvider(text, written) },
		func(after *Project) bool {
			return slices.ContainsFunc(after.Providers, func(o ProviderPlugin) bool { return o.Name == name && o.Source == from })
		})
}

// add changes the project file with edit, and returns an error if that fails or if has reports that the changed project lacks the
// declaration. The error says where to write it by hand.
func (p *Project) add(ctx context.Context, what, below, declaration string, edit func(text []byte) ([]byte, error), has func(*Project) bool) error {
	path := filepath.Join(p.Dir, p.File.Name)
	return p.Root.Alone(path, func() error {
		text, err := p.readFile(path)
		if err != nil {
			return fmt.Errorf("cannot read the project: %w", err)
		}
		changed, err := edit(text)
		if err == nil {
			var after *Project
			if after, err = ParseProject(ctx, p.Root, p.File.Name, changed); err == nil && !has(after) {
				err = errors.New("it would not be understood")
			}
		}
		if err != nil {
			return fmt.Errorf("cannot add the %s to %s: %w\nwrite it under %s yourself:\n  %s", what, p.File.Name, err, below, declaration)
		}
		if err := p.writeFile(path, changed); err != nil {
			return fmt.Errorf("cannot write the project: %w", err)
		}
		return nil
	})
}

func withProvider(text []byte, entry string) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("the file is not a mapping")
	}
	root := document.Content[0]
	lines := strings.SplitAfter(string(text), "\n")
	insert := func(at int, added string) []byte {
		before := strings.Join(lines[:at], "")
		if before != "" && !strings.HasSuffix(before, "\n") {
			before += "\n"
		}
		return []byte(before + added + "\n" + strings.Join(lines[at:], ""))
	}
	i := field(root, func(key string) bool { return key == "plugins" })
	if i < 0 {
		return insert(len(lines), "plugins:\n  providers:\n    "+entry), nil
	}
	key, plugins := root.Content[i], root.Content[i+1]
	switch {
	case source.IsNull(plugins):
		return insert(key.Line, "  providers:\n    "+entry), nil
	case plugins.Kind != yaml.MappingNode || plugins.Style&yaml.FlowStyle != 0 || len(plugins.Content) == 0:
		return nil, errors.New("its plugins are not written one below the other")
	}
	indent := strings.Repeat(" ", plugins.Content[0].Column-1)
	j := field(plugins, func(key string) bool { return key == "providers" })
	if j < 0 {
		return insert(key.Line, indent+"providers:\n"+indent+"  "+entry), nil
	}
	providers := plugins.Content[j+1]
	switch {
	case source.IsNull(providers):
		return insert(plugins.Content[j].Line, indent+"  "+entry), nil
	case providers.Kind != yaml.SequenceNode || providers.Style&yaml.FlowStyle != 0 || len(providers.Content) == 0:
		return nil, errors.New("its providers are not written one below the other")
	}
	// The column of an element is behind its dash.
	return insert(lastLine(providers), strings.Repeat(" ", providers.Column-1)+entry), nil
}

// newFileMode is the mode of a new configuration file, which holds no plain secrets.
const newFileMode = 0o644

// writeFile replaces a file's contents as one step, and keeps its mode.
func (p *Project) writeFile(path string, data []byte) error {
	return p.Root.WriteFile(path, data, newFileMode)
}

// AddPackage declares a package in the project file, in place of an earlier one of that name.
func (p *Project) AddPackage(ctx context.Context, pkg Package) error {
	entry, err := pkg.declaration()
	if err != nil {
		return err
	}
	return p.addDeclared(ctx, pkg, entry)
}

// AddLocalPackage declares the package of components in a directory, by the name in its file PulumiPlugin.yaml. dir is relative to
// the project's directory, or absolute.
func (p *Project) AddLocalPackage(ctx context.Context, dir string) (Package, error) {
	if !isLocalSource(dir) {
		dir = "./" + dir
	}
	path := filepath.Join(p.Path(dir), PluginFile)
	text, err := p.readFile(path)
	if err != nil {
		return Package{}, fmt.Errorf("cannot read the package: %w", err)
	}
	plugin := decoder{Report: &source.Report{File: p.newFile(path, text)}, project: &Project{}}
	root, err := source.Parse(plugin.File, text)
	if err != nil {
		return Package{}, err
	}
	for _, f := range plugin.Fields(root, "a package") {
		if f.Name == "name" {
			plugin.name(f.Value)
		}
	}
	if err := plugin.Diagnostics().Err(); err != nil {
		return Package{}, err
	}
	pkg := Package{Name: plugin.project.Name}
	if pkg.Name == "" {
		return pkg, fmt.Errorf("%s has no name: write the package under packages in %s yourself, by the name that its SDK gives it:\n  NAME: %s",
			plugin.File.Name, p.File.Name, dir)
	}
	pkg.Source = pkg.Name
	entry, err := yaml.Marshal(map[string]string{pkg.Name: dir})
	if err != nil {
		return pkg, fmt.Errorf("cannot write the package %q: %w", pkg.Name, err)
	}
	return pkg, p.addDeclared(ctx, pkg, strings.TrimSpace(string(entry)))
}

// addDeclared writes the declaration of a package into the project file.
func (p *Project) addDeclared(ctx context.Context, pkg Package, entry string) error {
	return p.add(ctx, fmt.Sprintf("package %q", pkg.Name), "packages", entry,
		func(text []byte) ([]byte, error) { return withPackage(text, pkg.Name, entry) },
		func(after *Project) bool { return declares(after, pkg) })
}

func declares(p *Project, pkg Package) bool {
	got := p.Package(pkg.Name)
	got.Position = pkg.Position
	return reflect.DeepEqual(got, pkg)
}

// declaration is the package as one line of YAML.
func (p Package) declaration() (string, error) {
	by := func(q *Parameterization) any {
		switch {
		case q == nil:
			return nil
		case q.Version == "":
			return q.Args
		}
		value := scalar(base64.StdEncoding.EncodeToString(q.Value))
		value.Style = yaml.DoubleQuotedStyle
		name := q.Name
		if name == p.Name {
			name = ""
		}
		return struct {
			Name    string `yaml:",omitempty"`
			Version string
			Value   *yaml.Node
		}{name, q.Version, value}
	}
	var declared yaml.Node
	err := declared.Encode(struct {
		Source     string
		Version    string `yaml:",omitempty"`
		Parameters any    `yaml:",omitempty"`
		Extension  any    `yaml:",omitempty"`
	}{p.Source, p.Version, by(p.Parameters), by(p.Extension)})
	declared.Style = yaml.FlowStyle
	var text []byte
	if err == nil {
		text, err = yaml.Marshal(map[string]*yaml.Node{p.Name: &declared})
	}
	if err != nil {
		return "", fmt.Errorf("cannot write the package %q: %w", p.Name, err)
	}
	// A long flow mapping is broken into lines, which mean the same as one.
	return strings.Join(strings.Fields(string(text)), " "), nil
}

func withPackage(text []byte, name, entry string) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("the file is not a mapping")
	}
	root := document.Content[0]
	lines := strings.SplitAfter(string(text), "\n")
	insert := func(from, to int, added string) []byte {
		before := strings.Join(lines[:from], "")
		if before != "" && !strings.HasSuffix(before, "\n") {
			before += "\n"
		}
		return []byte(before + added + "\n" + strings.Join(lines[to:], ""))
	}
	i := field(root, func(key string) bool { return key == "packages" })
	if i < 0 {
		return insert(len(lines), len(lines), "packages:\n  "+entry), nil
	}
	packages := root.Content[i+1]
	switch {
	case source.IsNull(packages):
		return insert(root.Content[i].Line, root.Content[i].Line, "  "+entry), nil
	case packages.Kind != yaml.MappingNode || packages.Style&yaml.FlowStyle != 0 || len(packages.Content) == 0:
		return nil, errors.New("its packages are not written one below the other")
	}
	indent := strings.Repeat(" ", packages.Content[0].Column-1)
	if at := field(packages, func(key string) bool { return key == name }); at >= 0 {
		return insert(packages.Content[at].Line-1, lastLine(packages.Content[at+1]), indent+entry), nil
	}
	end := lastLine(packages.Content[len(packages.Content)-1])
	return insert(end, end, indent+entry), nil
}

func lastLine(n *yaml.Node) int {
	last := n.Line
	for _, part := range n.Content {
		last = max(last, lastLine(part))
	}
	return last
}
