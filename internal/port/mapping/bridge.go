package mapping

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Bridged is a file bridge-metadata.json: the names that Pulumi's bridge has given to a provider for Terraform, and keeps.
type Bridged struct {
	Aliasing struct {
		Resources   map[string]bridgedType `json:"resources"`
		DataSources map[string]bridgedType `json:"datasources"`
	} `json:"auto-aliasing"`
	Settings struct {
		Resources map[string]bridgedSettings `json:"resources"`
	} `json:"auto-settings"`
	Renames struct {
		Resources  map[string]string            `json:"resources"`
		Functions  map[string]string            `json:"functions"`
		Properties map[string]map[string]string `json:"renamedProperties"`
		Config     map[string]string            `json:"renamedConfigProperties"`
	} `json:"renames"`
	// Package is the name of the package.
	Package string `json:"-"`
	// Ignored are the sections that have no effect on a port.
	Ignored []string `json:"-"`

	// tokens are the tokens of objects with renamed properties, sorted.
	tokens []string
}

type bridgedType struct {
	Current string `json:"current"`
	Past    []struct {
		Name string `json:"name"`
	} `json:"past"`
	Fields map[string]*bridgedField `json:"fields"`
}

type bridgedField struct {
	MaxItemsOne *bool                    `json:"maxItemsOne"`
	Element     *bridgedField            `json:"elem"`
	Fields      map[string]*bridgedField `json:"fields"`
}

type bridgedSettings struct {
	Aliases []string `json:"aliases"`
	Renames []string `json:"renames"`
}

// understood are the sections that a mapping follows from, or whose content does: mux says which of several servers has a type,
// and the fixups what follows from the provider's schema. random has three sections twice.
var understood = []string{"auto-aliasing", "auto-settings", "renames", "mux", "default-resource-schema-fixups", "resources", "functions", "renamedProperties", "renamedConfigProperties"}

// IsBridged reports whether a file is one of Pulumi's bridge, which is JSON.
func IsBridged(text []byte) bool {
	var sections map[string]json.RawMessage
	if json.Unmarshal(text, &sections) != nil {
		return false
	}
	for _, name := range []string{"auto-aliasing", "renames"} {
		if _, ok := sections[name]; ok {
			return true
		}
	}
	return false
}

// ReadBridged reads a file of Pulumi's bridge.
func ReadBridged(file string, text []byte) (*Bridged, error) {
	b, sections := &Bridged{}, map[string]json.RawMessage{}
	if err := errors.Join(json.Unmarshal(text, b), json.Unmarshal(text, &sections)); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	b.tokens = slices.Sorted(maps.Keys(b.Renames.Properties))
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		if !slices.Contains(understood, name) {
			b.Ignored = append(b.Ignored, name)
		}
	}
	for _, tokens := range []map[string]string{b.Tokens(false), b.Tokens(true)} {
		for _, name := range slices.Sorted(maps.Keys(tokens)) {
			token := tokens[name]
			of, _, ok := strings.Cut(token, ":")
			if b.Package == "" {
				b.Package = of
			}
			if !ok || of != b.Package || strings.Count(token, ":") != 2 || strings.HasSuffix(token, ":") {
				return nil, fmt.Errorf("%s: %s has the token %q, and %s:MODULE:NAME is needed", file, name, token, b.Package)
			}
		}
	}
	if b.Package == "" {
		return nil, fmt.Errorf("%s names no type of a provider", file)
	}
	return b, nil
}

// legacy ends the names that the bridge makes up for the earlier tokens of a type.
const legacy = "_legacy"

// Tokens are the tokens of the types by their names in Terraform: of resources, or of data sources.
func (b *Bridged) Tokens(dataSources bool) map[string]string {
	current, renamed := b.Aliasing.Resources, b.Renames.Resources
	if dataSources {
		current, renamed = b.Aliasing.DataSources, b.Renames.Functions
	}
	all := map[string]string{}
	for _, token := range slices.Sorted(maps.Keys(renamed)) { // types of former versions, too
		if name := renamed[token]; !strings.HasSuffix(name, legacy) && all[name] == "" {
			all[name] = token
		}
	}
	for name, t := range current {
		all[name] = t.Current
	}
	return all
}

// Mapping returns the mapping that gives a port the names and shapes of the package. Without lists, what is a list in the provider's
// schema stays one, unless the package has an element in its place.
func (b *Bridged) Mapping(lists bool) *Mapping {
	m := &Mapping{Optional: true, Config: map[string]Field{}, Resources: map[string]Resource{}, DataSources: map[string]Function{}}
	for _, property := range slices.Sorted(maps.Keys(b.Renames.Config)) {
		name := b.Renames.Config[property]
		if differs(name, property, unknown) {
			m.Config[name] = Field{Name: property}
		}
	}
	resources, sources := b.Tokens(false), b.Tokens(true)
	m.nameTypes(b.Package, resources, sources)
	for name, token := range resources {
		r := m.Resources[name]
		r.Aliases, r.Fields = b.aliases(name, token), b.fields([]string{token}, b.Aliasing.Resources[name].Fields, lists)
		if r.Name != "" || r.Token != "" || r.Aliases != nil || r.Fields != nil {
			m.Resources[name] = r
		}
	}
	for name, token := range sources {
		f := m.DataSources[name]
		f.Fields = b.fields([]string{token}, b.Aliasing.DataSources[name].Fields, lists)
		if f.Name != "" || f.Token != "" || f.Fields != nil {
			m.DataSources[name] = f
		}
	}
	return m
}

// aliases are the earlier tokens of a resource.
func (b *Bridged) aliases(name, token string) []string {
	all := slices.Concat(b.Settings.Resources[name].Aliases, b.Settings.Resources[name].Renames)
	for _, past := range b.Aliasing.Resources[name].Past {
		all = append(all, past.Name)
	}
	for other, of := range b.Renames.Resources {
		if of == name+legacy || of == name {
			all = append(all, other)
		}
	}
	slices.Sort(all)
	if all = slices.DeleteFunc(slices.Compact(all), func(other string) bool { return other == token }); len(all) == 0 {
		return nil
	}
	return all
}

// shape is what is known of the shape of an attribute.
type shape uint8

const (
	unknown shape = iota
	single
	many
)

// fields returns what differs in the fields of an object, whose type has one of the tokens. The bridge has the shapes of all lists, and
// most names that are not the provider's.
func (b *Bridged) fields(tokens []string, told map[string]*bridgedField, lists bool) map[string]Field {
	all, properties := map[string]Field{}, map[string]string{}
	for _, token := range tokens {
		for _, property := range slices.Sorted(maps.Keys(b.Renames.Properties[token])) {
			name := b.Renames.Properties[token][property]
			if replaced(name, property, told) {
				continue
			}
			properties[name] = property
			is := unknown
			if t := told[name]; t != nil && t.MaxItemsOne != nil && !*t.MaxItemsOne {
				is = many
			} else if len(b.Aliasing.Resources) > 0 {
				is = single
			}
			if differs(name, property, is) {
				all[name] = Field{Name: property}
			}
		}
	}
	for name, t := range told {
		if t == nil {
			continue
		}
		f := all[name]
		if t.MaxItemsOne != nil && (*t.MaxItemsOne || lists) {
			f.MaxItemsOne = t.MaxItemsOne
		}
		element := t
		for element.Element != nil {
			element = element.Element
		}
		if element.Fields != nil {
			f.Fields = b.fields(b.nested(tokens, name, properties[name]), element.Fields, lists)
		}
		if f.Name != "" || f.MaxItemsOne != nil || f.Fields != nil {
			all[name] = f
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// replaced reports whether an attribute of a former version has the property that is another attribute's now.
func replaced[T any](name, property string, told map[string]T) bool {
	_, own := told[name]
	if own {
		return false
	}
	for other := range told {
		if camel(other) == property {
			return true
		}
	}
	return false
}

// nested returns the tokens that the objects in a field may have: the name of the type around them and the field's, which is in the
// singular in a list. Tokens with which no token of a renamed property begins are left out: each level would have several times as many.
func (b *Bridged) nested(tokens []string, name, property string) []string {
	var all []string
	for _, token := range tokens {
		parts := strings.Split(token, ":")
		module, _, _ := strings.Cut(parts[1], "/")
		for _, field := range []string{camel(name), property} {
			for _, end := range []string{"", "s", "es", "ies"} {
				one, ok := strings.CutSuffix(field, end)
				if !ok || one == "" {
					continue
				}
				if end == "ies" {
					one += "y"
				}
				of := parts[2] + pascal(one)
				first := parts[0] + ":" + module + "/" + of
				if at, _ := slices.BinarySearch(b.tokens, first); at < len(b.tokens) && strings.HasPrefix(b.tokens[at], first) {
					all = append(all, first+":"+of)
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// differs reports whether the adapter may derive another name of a property.
func differs(name, property string, is shape) bool {
	own := camel(name)
	alike := strings.HasSuffix(own, "s") && !strings.HasSuffix(own, "ss") && !strings.HasSuffix(own, "us") && !strings.HasSuffix(own, "is")
	switch is {
	case single:
		return property != own
	case many:
		return property != plural(own) && !(property == own && alike)
	default:
		return property != own && property != plural(own)
	}
}

// plural returns a regular plural.
func plural(name string) string {
	for _, end := range []string{"x", "ch", "ss", "sh"} {
		if strings.HasSuffix(name, end) {
			return name + "es"
		}
	}
	if stem, ok := strings.CutSuffix(name, "y"); ok && strings.TrimRight(stem, "aeiou") == stem {
		return stem + "ies"
	}
	return name + "s"
}

// camel returns a name with underscores in camel case, as the adapter does.
func camel(name string) string {
	var b strings.Builder
	upper := false
	for i, c := range name {
		switch {
		case c == '_' && b.Len() > 0 && strings.Trim(name[:i], "_") != "":
			upper = true
		case upper:
			b.WriteString(strings.ToUpper(string(c)))
			upper = false
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

func pascal(name string) string {
	name = camel(name)
	return strings.ToUpper(name[:min(1, len(name))]) + name[min(1, len(name)):]
}

// Properties are the properties of a type whose names are not those of their attributes, by these.
func (b *Bridged) Properties(token string, lists map[string]bool) map[string]string {
	all := map[string]string{}
	for _, property := range slices.Sorted(maps.Keys(b.Renames.Properties[token])) {
		name := b.Renames.Properties[token][property]
		if !replaced(name, property, lists) {
			all[name] = property
		}
	}
	return all
}

// Lists are the attributes that are lists or sets, true if the property is the only element.
func (t bridgedType) Lists() map[string]bool {
	all := map[string]bool{}
	for name, f := range t.Fields {
		if f != nil && f.MaxItemsOne != nil {
			all[name] = *f.MaxItemsOne
		}
	}
	return all
}
