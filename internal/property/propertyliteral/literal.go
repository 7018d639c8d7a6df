// Package propertyliteral converts property values to and from trees of JSON and YAML. An object with one
// member stands for a value that JSON lacks:
//
//	{"fn::secret": VALUE}
//	{"fn::unknown": true}
//	{"fn::number": "NaN"}                 Infinity, -Infinity, -0
//	{"fn::asset": {"text": TEXT}}         or path, or uri; with or without hash
//	{"fn::archive": {"assets": {...}}}    or path, or uri; with or without hash
//	{"fn::resource": {"urn": URN, "id": ID, "version": VERSION}}
//	{"fn::output": {"value": VALUE, "secret": true, "dependencies": [URN]}}
//	{"fn::object": {...}}                 an object whose only member looks like these
package propertyliteral

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/internal/property/fakevalue"
)

// functionPrefix begins the key of an object that stands for a value that JSON lacks.
const functionPrefix = "fn::"

// Encode returns a value as a tree.
func Encode(v property.Value) any {
	switch v.Kind() {
	case property.KindBool:
		b, _ := v.AsBool()
		return b
	case property.KindNumber:
		return numberLiteral(v)
	case property.KindString:
		s, _ := v.AsString()
		return s
	case property.KindArray:
		elements, _ := v.AsArray()
		out := make([]any, len(elements))
		for i, e := range elements {
			out[i] = Encode(e)
		}
		return out
	case property.KindObject:
		m, _ := v.AsObject()
		out := EncodeMap(m)
		if keys := m.Keys(); len(keys) == 1 && strings.HasPrefix(keys[0], functionPrefix) {
			return map[string]any{"fn::object": out}
		}
		return out
	case property.KindAsset:
		a, _ := v.AsAsset()
		return map[string]any{"fn::asset": sourceLiteral(a.Source, a.Hash, a.Text, a.Path, a.URI, property.Map{})}
	case property.KindArchive:
		a, _ := v.AsArchive()
		return map[string]any{"fn::archive": sourceLiteral(a.Source, a.Hash, "", a.Path, a.URI, a.Assets)}
	case property.KindResourceReference:
		r, _ := v.AsReference()
		out := map[string]any{"urn": r.URN}
		if r.HasID {
			out["id"] = r.ID
		}
		if r.PackageVersion != "" {
			out["version"] = r.PackageVersion
		}
		return map[string]any{"fn::resource": out}
	case property.KindUnknown:
		return map[string]any{"fn::unknown": true}
	case property.KindSecret:
		inner, _ := v.AsSecret()
		return map[string]any{"fn::secret": Encode(inner)}
	case property.KindOutput:
		o, _ := v.AsOutput()
		dependencies := make([]any, len(o.Dependencies))
		for i, d := range o.Dependencies {
			dependencies[i] = d
		}
		return map[string]any{"fn::output": map[string]any{"value": Encode(o.Value), "secret": o.Secret, "dependencies": dependencies}}
	}
	return nil
}

// EncodeMap returns a map as a tree.
func EncodeMap(m property.Map) map[string]any {
	out := make(map[string]any, m.Len())
	for key, v := range m.All() {
		out[key] = Encode(v)
	}
	return out
}

func numberLiteral(v property.Value) any {
	f, _ := v.AsNumber()
	switch {
	case math.IsNaN(f):
		return map[string]any{"fn::number": "NaN"}
	case math.IsInf(f, 1):
		return map[string]any{"fn::number": "Infinity"}
	case math.IsInf(f, -1):
		return map[string]any{"fn::number": "-Infinity"}
	case f == 0 && math.Signbit(f):
		return map[string]any{"fn::number": "-0"}
	}
	return f
}

func sourceLiteral(source property.AssetSource, hash, text, path, uri string, assets property.Map) map[string]any {
	out := map[string]any{}
	if hash != "" {
		out["hash"] = hash
	}
	switch source {
	case property.SourceText:
		out["text"] = text
	case property.SourcePath:
		out["path"] = path
	case property.SourceURI:
		out["uri"] = uri
	case property.SourceAssets:
		out["assets"] = EncodeMap(assets)
	}
	return out
}

// Decode returns the value of a tree, which [Encode] or a person wrote.
func Decode(tree any) (property.Value, error) {
	switch x := tree.(type) {
	case nil:
		return property.Null, nil
	case bool:
		return property.Bool(x), nil
	case int, int64, uint64, float64:
		return property.Number(reflect.ValueOf(x).Convert(reflect.TypeFor[float64]()).Float()), nil
	case string:
		return property.String(x), nil
	case []any:
		elements := make([]property.Value, len(x))
		for i, e := range x {
			var err error
			if elements[i], err = Decode(e); err != nil {
				return property.Null, fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return property.Array(elements...), nil
	case map[string]any:
		if len(x) == 1 {
			for name, argument := range x {
				if strings.HasPrefix(name, functionPrefix) {
					v, err := call(name, argument)
					if err != nil {
						return v, fmt.Errorf("%s: %w", name, err)
					}
					return v, nil
				}
			}
		}
		return objectOf(x)
	}
	return property.Null, fmt.Errorf("%T is not a property value", tree)
}

// DecodeMap returns the map of a tree.
func DecodeMap(tree map[string]any) (property.Map, error) {
	entries := make([]property.Entry, 0, len(tree))
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		v, err := Decode(tree[key])
		if err != nil {
			return property.Map{}, fmt.Errorf("%s: %w", key, err)
		}
		entries = append(entries, property.Entry{Key: key, Value: v})
	}
	return property.NewMap(entries...), nil
}

// call reads a value that JSON lacks.
func call(name string, argument any) (property.Value, error) {
	switch name {
	case "fn::secret":
		v, err := Decode(argument)
		return property.Secret(v), err
	case "fn::unknown":
		return property.Unknown, nil
	case "fn::number":
		text, _ := argument.(string)
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return property.Null, fmt.Errorf("%q is not a number", text)
		}
		return property.Number(f), nil
	}
	read := map[string]func(members map[string]any) (property.Value, error){
		"fn::asset": assetOf, "fn::archive": archiveOf, "fn::resource": referenceOf, "fn::output": outputOf, "fn::object": objectOf,
	}[name]
	members, ok := argument.(map[string]any)
	switch {
	case read == nil:
		return property.Null, fmt.Errorf("there is no such function; there are fn::secret, fn::unknown, fn::number, fn::asset, fn::archive, fn::resource, fn::output, and fn::object")
	case !ok:
		return property.Null, fmt.Errorf("it takes an object")
	}
	return read(members)
}

func objectOf(members map[string]any) (property.Value, error) {
	m, err := DecodeMap(members)
	return property.Object(m), err
}

func referenceOf(members map[string]any) (property.Value, error) {
	r := property.ResourceReference{URN: text(members, "urn"), ID: text(members, "id"), PackageVersion: text(members, "version")}
	_, r.HasID = members["id"]
	return property.Reference(r), nil
}

func outputOf(members map[string]any) (property.Value, error) {
	v, err := Decode(members["value"])
	o := property.Output{Value: v}
	o.Secret, _ = members["secret"].(bool)
	list, _ := members["dependencies"].([]any)
	for _, e := range list {
		if s, ok := e.(string); ok {
			o.Dependencies = append(o.Dependencies, s)
		}
	}
	return property.OutputOf(o), err
}

// text returns a member that is text, or else an empty text.
func text(members map[string]any, name string) string {
	s, _ := members[name].(string)
	return s
}

func assetOf(members map[string]any) (property.Value, error) {
	source, err := sourceOf(members, "an asset has one of text, path, and uri", property.SourceText, property.SourcePath, property.SourceURI)
	a := property.Asset{Hash: text(members, "hash"), Source: source, Text: text(members, "text"), Path: text(members, "path"), URI: text(members, "uri")}
	if a.Source == property.SourceText && a.Hash == "" {
		a = fakevalue.TextAsset(a.Text)
	}
	return property.AssetOf(a), err
}

func archiveOf(members map[string]any) (property.Value, error) {
	source, err := sourceOf(members, "an archive has one of assets, path, and uri", property.SourceAssets, property.SourcePath, property.SourceURI)
	if err != nil {
		return property.Null, err
	}
	a := property.Archive{Hash: text(members, "hash"), Source: source, Path: text(members, "path"), URI: text(members, "uri")}
	assets, _ := members["assets"].(map[string]any)
	a.Assets, err = DecodeMap(assets)
	return property.ArchiveOf(a), err
}

// sourceNames are the members that hold the content of an asset or archive.
var sourceNames = map[property.AssetSource]string{
	property.SourceText: "text", property.SourcePath: "path", property.SourceURI: "uri", property.SourceAssets: "assets",
}

// sourceOf returns the only one of the sources that the members have.
func sourceOf(members map[string]any, rule string, sources ...property.AssetSource) (source property.AssetSource, err error) {
	for _, s := range sources {
		if _, present := members[sourceNames[s]]; !present {
			continue
		}
		if source != property.SourceNone {
			return property.SourceNone, errors.New(rule)
		}
		source = s
	}
	return source, nil
}
