package program

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/engine/program/source"
)

// AddProvider lists a provider with a source and a range of versions, empty for any, in the project file.
func (p *Project) AddProvider(name, from, version string) error {
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
	path := filepath.Join(p.Dir, p.File.Name)
	text, err := p.readFile(path)
	if err != nil {
		return fmt.Errorf("cannot read the project: %w", err)
	}
	changed, err := withProvider(text, written)
	if err == nil {
		var after *Project
		if after, err = ParseProject(p.Root, p.File.Name, changed); err == nil && !slices.ContainsFunc(after.Providers, func(o ProviderPlugin) bool {
			return o.Name == name && o.Source == from
		}) {
			err = errors.New("it would not be understood")
		}
	}
	if err != nil {
		return fmt.Errorf("cannot add the provider %q to %s: %w\nwrite it under plugins.providers yourself:\n  %s", name, p.File.Name, err, written)
	}
	if err := p.writeFile(path, changed); err != nil {
		return fmt.Errorf("cannot write the project: %w", err)
	}
	return nil
}

func withProvider(text []byte, entry string) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("the file is no mapping")
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
