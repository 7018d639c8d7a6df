package pulumiwire

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/husk-dev/husk/abi/property"
)

// Properties travel as JSON-like structures. A kind of value that JSON lacks is an object whose member signatureKey names the
// kind, or for unknowns one of some strings. They are the same as in package resource/plugin of Pulumi's SDK, which would bring
// most of that SDK into a module.
const (
	signatureKey       = "4dabf18193072939515e22adb298388d"
	secretSignature    = "1b47061264138c4ac30d75fd1eb44270"
	assetSignature     = "c44067f5952c0a294b673a41bacd8c17"
	archiveSignature   = "0def7320c3a5731c473e5ecbe6d01bc7"
	referenceSignature = "5cf8f73096256a8f31e491e813e4eb8e"
	outputSignature    = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
	bytesSignature     = "803fd3297a5875dc03ca845dda5d2a98"
)

// UnknownString stands for an unknown of any type. Those for the other types are understood, but not
// sent: an unknown has no type here.
const UnknownString = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"

func isUnknown(s string) bool {
	if len(s) != len(UnknownString) {
		return false
	}
	switch s {
	case UnknownString,
		"1c4a061d-8072-4f0a-a4cb-0ff528b18fe7", // bool
		"3eeb2bf0-c639-47a8-9e75-3b44932eb421", // number
		"6a19a0b0-7e62-4c92-b797-7f8e31da9cc2", // array
		"030794c1-ac77-496b-92df-f27374a8bd58", // asset
		"e48ece36-62e2-4504-bad9-02848725956a", // archive
		"dd056dcd-154b-4c76-9bd3-c8f88648b5ff": // object
		return true
	}
	return false
}

// ToStruct returns properties as the protocol has them.
func ToStruct(m property.Map) *structpb.Struct {
	fields := make(map[string]*structpb.Value, m.Len())
	for key, v := range m.All() {
		fields[key] = ToValue(v)
	}
	return &structpb.Struct{Fields: fields}
}

func ToValue(v property.Value) *structpb.Value {
	switch v.Kind() {
	case property.KindBool:
		b, _ := v.AsBool()
		return structpb.NewBoolValue(b)
	case property.KindNumber:
		n, _ := v.AsNumber()
		return structpb.NewNumberValue(n)
	case property.KindString:
		s, _ := v.AsString()
		return structpb.NewStringValue(s)
	case property.KindUnknown:
		return structpb.NewStringValue(UnknownString)
	case property.KindArray:
		elements, _ := v.AsArray()
		list := make([]*structpb.Value, len(elements))
		for i, e := range elements {
			list[i] = ToValue(e)
		}
		return structpb.NewListValue(&structpb.ListValue{Values: list})
	case property.KindObject:
		m, _ := v.AsObject()
		return structpb.NewStructValue(ToStruct(m))
	case property.KindSecret:
		inner, _ := v.AsSecret()
		return signed(secretSignature, map[string]*structpb.Value{"value": ToValue(inner)})
	case property.KindOutput:
		o, _ := v.AsOutput()
		return outputValue(o)
	case property.KindResourceReference:
		r, _ := v.AsReference()
		return referenceValue(r)
	case property.KindAsset:
		a, _ := v.AsAsset()
		return contentsValue(assetSignature, a.Hash, a.Source, a.Text, a.Path, a.URI, property.Map{})
	case property.KindArchive:
		a, _ := v.AsArchive()
		return contentsValue(archiveSignature, a.Hash, a.Source, "", a.Path, a.URI, a.Assets)
	}
	return structpb.NewNullValue()
}

// signed returns an object with a signature.
func signed(signature string, fields map[string]*structpb.Value) *structpb.Value {
	fields[signatureKey] = structpb.NewStringValue(signature)
	return structpb.NewStructValue(&structpb.Struct{Fields: fields})
}

func outputValue(o property.Output) *structpb.Value {
	fields := map[string]*structpb.Value{}
	if !o.Value.IsUnknown() {
		fields["value"] = ToValue(o.Value)
	}
	if o.Secret {
		fields["secret"] = structpb.NewBoolValue(true)
	}
	if len(o.Dependencies) > 0 {
		list := make([]*structpb.Value, len(o.Dependencies))
		for i, urn := range o.Dependencies {
			list[i] = structpb.NewStringValue(urn)
		}
		fields["dependencies"] = structpb.NewListValue(&structpb.ListValue{Values: list})
	}
	return signed(outputSignature, fields)
}

func referenceValue(r property.ResourceReference) *structpb.Value {
	fields := map[string]*structpb.Value{"urn": structpb.NewStringValue(r.URN)}
	if r.HasID {
		fields["id"] = structpb.NewStringValue(r.ID)
	}
	if r.PackageVersion != "" {
		fields["packageVersion"] = structpb.NewStringValue(r.PackageVersion)
	}
	return signed(referenceSignature, fields)
}

// contentsValue returns an asset or archive.
func contentsValue(signature, hash string, source property.AssetSource, text, path, uri string, assets property.Map) *structpb.Value {
	fields := map[string]*structpb.Value{}
	if hash != "" {
		fields["hash"] = structpb.NewStringValue(hash)
	}
	switch source {
	case property.SourceText:
		fields["text"] = structpb.NewStringValue(text)
	case property.SourcePath:
		fields["path"] = structpb.NewStringValue(path)
	case property.SourceURI:
		fields["uri"] = structpb.NewStringValue(uri)
	case property.SourceAssets:
		fields["assets"] = structpb.NewStructValue(ToStruct(assets))
	}
	return signed(signature, fields)
}

// sourceOf returns the field with the contents of an asset or archive.
func sourceOf(fields map[string]*structpb.Value) property.AssetSource {
	switch {
	case fields["text"] != nil:
		return property.SourceText
	case fields["path"] != nil:
		return property.SourcePath
	case fields["uri"] != nil:
		return property.SourceURI
	case fields["assets"] != nil:
		return property.SourceAssets
	}
	return property.SourceNone
}

// FromStruct returns properties of the protocol. The error names the property.
func FromStruct(s *structpb.Struct) (property.Map, error) {
	m, faults := readable(s)
	if len(faults) > 0 {
		return property.Map{}, faults[0]
	}
	return m, nil
}

// Fault is a property that cannot be read.
type Fault struct {
	Key string
	Err error
}

func (f Fault) Error() string { return f.Key + ": " + f.Err.Error() }
func (f Fault) Unwrap() error { return f.Err }

// readable returns the properties that can be read, and the faults of the others by their keys.
func readable(s *structpb.Struct) (_ property.Map, faults []Fault) {
	entries := make([]property.Entry, 0, len(s.GetFields()))
	for key, field := range s.GetFields() {
		v, err := FromValue(field)
		if err != nil {
			faults = append(faults, Fault{key, err})
			continue
		}
		entries = append(entries, property.Entry{Key: key, Value: v})
	}
	slices.SortFunc(faults, func(a, b Fault) int { return strings.Compare(a.Key, b.Key) })
	return property.NewMap(entries...), faults
}

func FromValue(v *structpb.Value) (property.Value, error) {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_NullValue:
		return property.Null, nil
	case *structpb.Value_BoolValue:
		return property.Bool(kind.BoolValue), nil
	case *structpb.Value_NumberValue:
		return property.Number(kind.NumberValue), nil
	case *structpb.Value_StringValue:
		if isUnknown(kind.StringValue) {
			return property.Unknown, nil
		}
		return property.String(kind.StringValue), nil
	case *structpb.Value_ListValue:
		elements := make([]property.Value, len(kind.ListValue.GetValues()))
		for i, e := range kind.ListValue.GetValues() {
			var err error
			if elements[i], err = FromValue(e); err != nil {
				return property.Null, fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return property.Array(elements...), nil
	case *structpb.Value_StructValue:
		if signature, ok := kind.StructValue.GetFields()[signatureKey]; ok {
			return fromSpecial(signature.GetStringValue(), kind.StructValue.GetFields())
		}
		m, err := FromStruct(kind.StructValue)
		return property.Object(m), err
	}
	return property.Null, errors.New("there is no value")
}

// fromSpecial returns the value of an object with a signature.
func fromSpecial(signature string, fields map[string]*structpb.Value) (property.Value, error) {
	text := func(name string) string { return fields[name].GetStringValue() }
	switch signature {
	case secretSignature:
		inner, err := FromValue(fields["value"])
		return property.Secret(inner), err
	case outputSignature:
		o := property.Output{Value: property.Unknown, Secret: fields["secret"].GetBoolValue()}
		for _, urn := range fields["dependencies"].GetListValue().GetValues() {
			o.Dependencies = append(o.Dependencies, urn.GetStringValue())
		}
		var err error
		if v, ok := fields["value"]; ok {
			o.Value, err = FromValue(v)
		}
		return property.OutputOf(o), err
	case referenceSignature:
		r := property.ResourceReference{URN: text("urn"), PackageVersion: text("packageVersion")}
		if _, r.HasID = fields["id"]; r.HasID && !isUnknown(text("id")) {
			r.ID = text("id")
		}
		return property.Reference(r), nil
	case assetSignature:
		return property.AssetOf(property.Asset{Hash: text("hash"), Source: sourceOf(fields), Text: text("text"), Path: text("path"), URI: text("uri")}), nil
	case archiveSignature:
		members, err := FromStruct(fields["assets"].GetStructValue())
		return property.ArchiveOf(property.Archive{Hash: text("hash"), Source: sourceOf(fields), Assets: members, Path: text("path"), URI: text("uri")}), err
	}
	if signature == bytesSignature {
		return property.Null, errors.New("it is a text of bytes that are not UTF-8, which Husk does not have: let the provider encode it in base64")
	}
	return property.Null, fmt.Errorf("it has the signature %q, which this version of Husk's adapter does not know", signature)
}
