package port

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/engine/program/source"
)

// mapping is the file of --map, as the adapter for Terraform reads it. The adapter's type of that name
// describes the fields; a test compares the keys.
type mapping struct {
	Optional    bool                      `yaml:"optional" json:"optional,omitempty"`
	Prefix      *string                   `yaml:"prefix" json:"prefix,omitempty"`
	Modules     map[string]string         `yaml:"modules" json:"modules,omitempty"`
	Config      map[string]mappedField    `yaml:"config" json:"config,omitempty"`
	Resources   map[string]mappedResource `yaml:"resources" json:"resources,omitempty"`
	DataSources map[string]mappedFunction `yaml:"dataSources" json:"dataSources,omitempty"`
	Functions   map[string]mappedFunction `yaml:"functions" json:"functions,omitempty"`
	Ephemerals  map[string]mappedFunction `yaml:"ephemerals" json:"ephemerals,omitempty"`
	Actions     map[string]mappedFunction `yaml:"actions" json:"actions,omitempty"`
}

type mappedResource struct {
	Name                string                 `yaml:"name" json:"name,omitempty"`
	Token               string                 `yaml:"token" json:"token,omitempty"`
	Fields              map[string]mappedField `yaml:"fields" json:"fields,omitempty"`
	ID                  []string               `yaml:"id" json:"id,omitempty"`
	Identity            []string               `yaml:"identity" json:"identity,omitempty"`
	DeleteBeforeReplace *bool                  `yaml:"deleteBeforeReplace" json:"deleteBeforeReplace,omitempty"`
	Autoname            map[string]mappedName  `yaml:"autoname" json:"autoname,omitempty"`
}

type mappedName struct {
	Off       bool    `yaml:"off" json:"off,omitempty"`
	Optional  bool    `yaml:"optional" json:"optional,omitempty"`
	MaxLength int     `yaml:"maxLength" json:"maxLength,omitempty"`
	Separator *string `yaml:"separator" json:"separator,omitempty"`
}

type mappedFunction struct {
	Name   string                 `yaml:"name" json:"name,omitempty"`
	Token  string                 `yaml:"token" json:"token,omitempty"`
	Fields map[string]mappedField `yaml:"fields" json:"fields,omitempty"`
}

type mappedField struct {
	Name        string                 `yaml:"name" json:"name,omitempty"`
	MaxItemsOne *bool                  `yaml:"maxItemsOne" json:"maxItemsOne,omitempty"`
	Secret      *bool                  `yaml:"secret" json:"secret,omitempty"`
	Fields      map[string]mappedField `yaml:"fields" json:"fields,omitempty"`
}

// published has mappings by the paths of providers' modules. Pulumi publishes packages of these providers with names that do not
// follow from the rules.
//
//go:embed mappings
var published embed.FS

// publishedMapping returns the mapping for a module, nil if there is none.
func publishedMapping(module string) (*mapping, error) {
	// Before it was HashiCorp's, the organization of these providers had another name.
	module = strings.Replace(module, "github.com/terraform-providers/", "github.com/hashicorp/", 1)
	file := "mappings/" + module + ".yaml"
	text, err := published.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return decodeMapping(file, text)
}

// readMapping returns the mapping in a file, nil for no file.
func readMapping(file string) (*mapping, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--map: %w", err)
	}
	m, err := decodeMapping(file, text)
	if err != nil {
		return nil, fmt.Errorf("--map %w", err)
	}
	return m, nil
}

func decodeMapping(file string, text []byte) (*mapping, error) {
	var m mapping
	if err := decodeYAML(file, text, &m); err != nil {
		return nil, err
	}
	return &m, nil
}

// decodeYAML decodes a file into a structure. It refuses keys that the structure does not have.
func decodeYAML(file string, text []byte, to any) error {
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
