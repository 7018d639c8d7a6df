// Package mapping reads the mappings of ports: names and shapes that differ from what the adapter for Terraform derives.
package mapping

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/engine/program/source"
)

// Mapping is a mapping as the adapter for Terraform reads it. The adapter's type of that name describes the fields; a test
// compares the keys.
type Mapping struct {
	Optional    bool                `yaml:"optional" json:"optional,omitempty"`
	Prefix      *string             `yaml:"prefix" json:"prefix,omitempty"`
	Modules     map[string]string   `yaml:"modules" json:"modules,omitempty"`
	Autoname    *Autoname           `yaml:"autoname" json:"autoname,omitempty"`
	Config      map[string]Field    `yaml:"config" json:"config,omitempty"`
	Resources   map[string]Resource `yaml:"resources" json:"resources,omitempty"`
	DataSources map[string]Function `yaml:"dataSources" json:"dataSources,omitempty"`
	Functions   map[string]Function `yaml:"functions" json:"functions,omitempty"`
	Ephemerals  map[string]Function `yaml:"ephemerals" json:"ephemerals,omitempty"`
	Actions     map[string]Function `yaml:"actions" json:"actions,omitempty"`
}

// Resource has the changes of a type of resource.
type Resource struct {
	Name                string              `yaml:"name" json:"name,omitempty"`
	Token               string              `yaml:"token" json:"token,omitempty"`
	Aliases             []string            `yaml:"aliases" json:"aliases,omitempty"`
	Fields              map[string]Field    `yaml:"fields" json:"fields,omitempty"`
	ID                  []string            `yaml:"id" json:"id,omitempty"`
	Identity            []string            `yaml:"identity" json:"identity,omitempty"`
	DeleteBeforeReplace *bool               `yaml:"deleteBeforeReplace" json:"deleteBeforeReplace,omitempty"`
	Autoname            map[string]Autoname `yaml:"autoname" json:"autoname,omitempty"`
}

// Autoname says how a name is made up.
type Autoname struct {
	Off       bool    `yaml:"off" json:"off,omitempty"`
	Optional  bool    `yaml:"optional" json:"optional,omitempty"`
	MaxLength int     `yaml:"maxLength" json:"maxLength,omitempty"`
	Separator *string `yaml:"separator" json:"separator,omitempty"`
	Lower     bool    `yaml:"lower" json:"lower,omitempty"`
}

// Function has the changes of a data source, a function, an ephemeral resource, or an action.
type Function struct {
	Name   string           `yaml:"name" json:"name,omitempty"`
	Token  string           `yaml:"token" json:"token,omitempty"`
	Fields map[string]Field `yaml:"fields" json:"fields,omitempty"`
}

// Field has the changes of an attribute or block.
type Field struct {
	Name        string           `yaml:"name" json:"name,omitempty"`
	MaxItemsOne *bool            `yaml:"maxItemsOne" json:"maxItemsOne,omitempty"`
	Secret      *bool            `yaml:"secret" json:"secret,omitempty"`
	Fields      map[string]Field `yaml:"fields" json:"fields,omitempty"`
}

// Decode returns the mapping in the YAML of a file.
func Decode(file string, text []byte) (*Mapping, error) {
	var m Mapping
	if err := DecodeYAML(file, text, &m); err != nil {
		return nil, err
	}
	return &m, nil
}

// DecodeYAML decodes a file into a structure. It refuses keys that the structure does not have.
func DecodeYAML(file string, text []byte, to any) error {
	var document yaml.Node
	err := yaml.Unmarshal(text, &document)
	if err == nil && len(document.Content) > 0 {
		if err := checkKeys(document.Content[0], reflect.TypeOf(to)); err != nil {
			return fmt.Errorf("%s:%w", file, err)
		}
		err = document.Decode(to)
	}
	var types *yaml.TypeError
	switch {
	case errors.As(err, &types):
		return fmt.Errorf("%s: %s", file, strings.Join(types.Errors, "\n"))
	case err != nil:
		return fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return nil
}

// checkKeys refuses keys of mappings that a type does not have.
func checkKeys(n *yaml.Node, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if n.Kind != yaml.MappingNode || t.Kind() != reflect.Struct && t.Kind() != reflect.Map {
		return nil // decoding refuses what does not fit
	}
	fields := map[string]reflect.Type{}
	if t.Kind() == reflect.Struct {
		for i := range t.NumField() {
			if key := t.Field(i).Tag.Get("yaml"); key != "" && key != "-" {
				fields[key] = t.Field(i).Type
			}
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		of := fields[key.Value]
		if t.Kind() == reflect.Map {
			of = t.Elem()
		}
		if of == nil {
			keys := slices.Sorted(maps.Keys(fields))
			return fmt.Errorf("%d: unknown key %q%s\nHere it can be %s", key.Line, key.Value, source.DidYouMean(key.Value, keys), strings.Join(keys, ", "))
		}
		if err := checkKeys(value, of); err != nil {
			return err
		}
	}
	return nil
}
