// Package importfile reads and writes Pulumi's import files: lists of existing objects to take into a stack.
package importfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/base/jsonerror"
)

// Placeholder stands in a file for an ID that its user has to fill in.
const Placeholder = "<PLACEHOLDER>"

// File is an import file.
type File struct {
	// NameTable names resources that the stack has already, as parents and providers.
	NameTable map[string]urn.URN `json:"nameTable,omitempty"`
	Resources []Resource         `json:"resources,omitempty"`
}

// Resource is one object to import, or a component, which is only a parent.
type Resource struct {
	Type string `json:"type"`
	// Name is unique in the file. Generated code calls this resource by it.
	Name string `json:"name"`
	ID   string `json:"id,omitempty"`
	// Parent and Provider are names of the table or, for a parent, of the file.
	Parent   string `json:"parent,omitempty"`
	Provider string `json:"provider,omitempty"`
	Version  string `json:"version,omitempty"`
	// PluginDownloadURL has no meaning here: providers are listed in the project.
	PluginDownloadURL string `json:"pluginDownloadUrl,omitempty"`
	// LogicalName is the resource's own name, empty if it is Name.
	LogicalName string   `json:"logicalName,omitempty"`
	Properties  []string `json:"properties,omitempty"`
	Component   bool     `json:"component,omitempty"`
	// Remote marks a component that a provider makes.
	Remote bool `json:"remote,omitempty"`
}

// own returns the resource's own name.
func (r Resource) own() string { return cmp.Or(r.LogicalName, r.Name) }

// Parse reads a file. A key that it does not know is an error.
func Parse(data []byte) (*File, error) {
	var f File
	if err := intake.CheckJSON(data, &f, intake.Allowance); err != nil {
		return nil, fmt.Errorf("not an import file: %w", err)
	}
	if err := jsonerror.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("not an import file: %w", err)
	}
	return &f, nil
}

// Encode writes the file.
func (f *File) Encode() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // the placeholder is to be read by people
	encoder.SetIndent("", "    ")
	if err := encoder.Encode(f); err != nil {
		return nil, fmt.Errorf("writing the import file: %w", err)
	}
	return out.Bytes(), nil
}

// Targets returns the objects that an import of the file takes over, in the file's order. root is the stack's own URN, the parent
// of resources without one.
func (f *File) Targets(root urn.URN, protect bool) ([]engine.ImportTarget, error) {
	r := resolver{file: f, root: root, at: make(map[string]int), urns: make(map[string]urn.URN), busy: make(map[string]bool)}
	for i, res := range f.Resources {
		if err := r.claim(i, res); err != nil {
			r.errs = append(r.errs, err)
		}
	}
	if len(r.errs) > 0 {
		return nil, errors.Join(r.errs...)
	}
	out := make([]engine.ImportTarget, len(f.Resources))
	for i, res := range f.Resources {
		if _, err := r.urn(res.Name, ""); err != nil {
			r.errs = append(r.errs, err)
		}
		out[i] = engine.ImportTarget{
			Type: res.Type, Name: res.own(), ID: res.ID, Component: res.Component, Version: res.Version,
			Protect: protect, Properties: res.Properties, Parent: r.parent(res), Provider: r.provider(res),
		}
	}
	return out, errors.Join(r.errs...)
}

// resolver turns the names of a file into URNs.
type resolver struct {
	file *File
	root urn.URN
	at   map[string]int
	urns map[string]urn.URN
	// busy holds the names whose parents are being resolved.
	busy map[string]bool
	errs []error
}

func (r *resolver) claim(i int, res Resource) error {
	_, twice := r.at[res.Name]
	_, recorded := r.file.NameTable[res.Name]
	if res.Name != "" {
		r.at[res.Name] = i
	}
	switch {
	case res.Type == "" || res.Name == "":
		return fmt.Errorf("resource %d of the file has no type or no name", i+1)
	case twice || recorded:
		return fmt.Errorf("%q names two resources: give one of them another name, and its own as logicalName", res.Name)
	case res.ID == Placeholder:
		return fmt.Errorf("the ID of %q is still %s: write the ID of the object to import", res.Name, Placeholder)
	case res.Component && res.ID != "":
		return fmt.Errorf("%q is a component, which has no ID", res.Name)
	case !res.Component && res.ID == "":
		return fmt.Errorf("%q has no ID: write the ID of the object to import", res.Name)
	}
	return nil
}

// urn returns the URN of the resource name, the parent of child.
func (r *resolver) urn(name, child string) (urn.URN, error) {
	if u, ok := r.file.NameTable[name]; ok {
		return u, nil
	}
	if u, ok := r.urns[name]; ok {
		return u, nil
	}
	i, ok := r.at[name]
	switch {
	case !ok:
		return "", fmt.Errorf("%q, the parent of %q, is neither in the file nor in its nameTable", name, child)
	case r.busy[name]:
		return "", fmt.Errorf("%q is its own ancestor", name)
	}
	res, parent := r.file.Resources[i], r.root
	if res.Parent != "" {
		r.busy[name] = true
		defer delete(r.busy, name)
		var err error
		if parent, err = r.urn(res.Parent, name); err != nil {
			return "", err
		}
	}
	r.urns[name] = urn.New(r.root.Stack(), r.root.Project(), parent, res.Type, res.own())
	return r.urns[name], nil
}

func (r *resolver) parent(res Resource) urn.URN {
	if u, ok := r.file.NameTable[res.Parent]; ok {
		return u
	}
	return r.urns[res.Parent]
}

func (r *resolver) provider(res Resource) urn.URN {
	u, ok := r.file.NameTable[res.Provider]
	if res.Provider != "" && !ok {
		r.errs = append(r.errs, fmt.Errorf("%q, the provider of %q, is not in the nameTable of the file", res.Provider, res.Name))
	}
	return u
}

// Names returns the file's names of the resources in its table, by URN.
func (f *File) Names() map[urn.URN]string {
	out := make(map[urn.URN]string, len(f.NameTable))
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(f.NameTable))) {
		out[f.NameTable[name]] = name // of two names the first
	}
	return out
}
