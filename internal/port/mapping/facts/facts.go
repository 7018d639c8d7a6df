// Package facts has the names in published packages, for tests that compare ports with them. No program links it.
package facts

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"strings"

	"github.com/husk-dev/husk/internal/port/mapping"
)

// Package is a published package.
type Package struct {
	Name        string          `json:"name"`
	Resources   map[string]Type `json:"resources"`
	DataSources map[string]Type `json:"dataSources"`
}

// Type is a resource or data source of a package, by its name in Terraform.
type Type struct {
	Token string `json:"token"`
	// Lists are the attributes that are lists or sets, true if the property is the only element.
	Lists map[string]bool `json:"lists,omitempty"`
	// Properties are properties whose names are not those of their attributes, by these.
	Properties map[string]string `json:"properties,omitempty"`
	// Required are the inputs that programs must give; nil if nobody knows.
	Required []string `json:"required"`
	// Named are the attributes for which the package makes up a name where programs give none.
	Named []string `json:"named,omitempty"`
}

// Of returns the facts in a file of Pulumi's bridge, for the types that it says all of.
func Of(b *mapping.Bridged) *Package {
	p := &Package{Name: b.Package, Resources: map[string]Type{}, DataSources: map[string]Type{}}
	for _, kind := range []struct {
		tokens map[string]string
		lists  func(name string) map[string]bool
		to     map[string]Type
	}{
		{b.Tokens(false), func(name string) map[string]bool { return b.Aliasing.Resources[name].Lists() }, p.Resources},
		{b.Tokens(true), func(name string) map[string]bool { return b.Aliasing.DataSources[name].Lists() }, p.DataSources},
	} {
		for name, token := range kind.tokens {
			lists := kind.lists(name)
			kind.to[name] = Type{Token: token, Lists: lists, Properties: b.Properties(token, lists)}
		}
	}
	return p
}

//go:embed testdata
var files embed.FS

// Names returns the names of the packages.
func Names() ([]string, error) {
	entries, err := files.ReadDir("testdata")
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".json.gz"))
	}
	return names, err
}

// Read returns the facts of a package.
func Read(name string) (*Package, error) {
	data, err := files.ReadFile("testdata/" + name + ".json.gz")
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var p Package
	return &p, json.NewDecoder(r).Decode(&p)
}
