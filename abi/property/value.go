// Package property holds the values that programs, the engine, and providers
// exchange: a superset of JSON with assets, archives, resource references,
// unknowns, secrets, and outputs. Values are immutable and safe to share
// between goroutines.
//
// The package is linked into guests. It uses neither reflection nor fmt, and
// knows no encoding: [github.com/husk-dev/husk/abi/property/guestcbor] has the codec
// of the wire format, which wit/property.cddl defines.
package property

import (
	"math"
	"slices"
)

// Kind tells the kinds of values apart.
type Kind uint8

// The kinds of values. The zero Value is null.
const (
	KindNull Kind = iota
	KindBool
	KindNumber
	KindString
	KindArray
	KindObject
	KindAsset
	KindArchive
	KindResourceReference
	KindUnknown
	KindSecret
	KindOutput
)

var kindNames = [...]string{
	"null", "bool", "number", "string", "array", "object", "asset", "archive",
	"resource reference", "unknown", "secret", "output",
}

// String returns the name of the kind as error messages show it.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "invalid"
}

// Value is one property value. The zero Value is null.
type Value struct {
	kind Kind
	num  float64 // bool (0 or 1) and number
	str  string  // string
	ref  any     // *array, *object, *Asset, *Archive, *ResourceReference, *Value (secret), *Output
}

// Unknown is a value that is not known before the deployment runs.
var Unknown = Value{kind: KindUnknown}

// Null is the null value, the same as Value{}.
var Null = Value{}

// Bool returns b as a value.
func Bool(b bool) Value {
	if b {
		return Value{kind: KindBool, num: 1}
	}
	return Value{kind: KindBool}
}

// Number returns f, an IEEE-754 double, as a value.
func Number(f float64) Value { return Value{kind: KindNumber, num: f} }

// String returns s as a value. Only valid UTF-8 can be encoded.
func String(s string) Value { return Value{kind: KindString, str: s} }

// Array returns the elements as a value. It takes ownership of the slice.
func Array(elements ...Value) Value { return Value{kind: KindArray, ref: newArray(elements)} }

// Object returns m as a value.
func Object(m Map) Value { return Value{kind: KindObject, ref: m.o} }

// Secret returns v marked as sensitive. Wrappers never nest: a secret of a secret is that secret,
// and a secret of an output is the output with its Secret set.
func Secret(v Value) Value {
	switch v.kind {
	case KindSecret:
		return v
	case KindOutput:
		o := *v.ref.(*Output)
		o.Secret = true
		return Value{kind: KindOutput, ref: &o}
	}
	inner := v // v itself would be moved to the heap for secrets and outputs too
	return Value{kind: KindSecret, ref: &inner}
}

// OutputOf returns o as a value. Its dependencies become sorted and distinct. A secret or output as
// its value is folded into it, so wrappers never nest.
func OutputOf(o Output) Value {
	switch o.Value.kind {
	case KindSecret:
		o.Value, o.Secret = *o.Value.ref.(*Value), true
	case KindOutput:
		inner := o.Value.ref.(*Output)
		o.Value, o.Secret = inner.Value, o.Secret || inner.Secret
		o.Dependencies = slices.Concat(o.Dependencies, inner.Dependencies)
	}
	for i := 1; i < len(o.Dependencies); i++ {
		if o.Dependencies[i-1] >= o.Dependencies[i] {
			sorted := slices.Clone(o.Dependencies)
			slices.Sort(sorted)
			o.Dependencies = slices.Compact(sorted)
			break
		}
	}
	return Value{kind: KindOutput, ref: &o}
}

// Reference returns r as a value.
func Reference(r ResourceReference) Value { return Value{kind: KindResourceReference, ref: &r} }

// AssetOf returns a as a value.
func AssetOf(a Asset) Value { return Value{kind: KindAsset, ref: &a} }

// ArchiveOf returns a as a value.
func ArchiveOf(a Archive) Value { return Value{kind: KindArchive, ref: &a} }

// Output is a value with the resources that it was computed from. A program's inputs are outputs of
// other resources. The engine stores the value alone.
type Output struct {
	// Value is the value, or Unknown while it is not known. OutputOf sees to it
	// that it is neither a secret nor an output.
	Value Value
	// Secret marks the value as sensitive.
	Secret bool
	// Dependencies holds the URNs of the resources the value comes from, sorted.
	Dependencies []string
}

// ResourceReference names a resource inside a value.
type ResourceReference struct {
	// URN identifies the resource.
	URN string
	// HasID distinguishes custom resources, which have an ID, from components.
	HasID bool
	// ID is the provider-assigned ID. With HasID, an empty ID is unknown; without, it says nothing.
	ID string
	// PackageVersion is the version of the provider that manages the resource, if known.
	PackageVersion string
}

// Text returns the reference for receivers that do not understand references: the ID of the
// resource, which may be unknown, or the URN of a component.
func (r ResourceReference) Text() Value {
	switch {
	case r.HasID && r.ID == "":
		return Unknown
	case r.HasID:
		return String(r.ID)
	default:
		return String(r.URN)
	}
}

// Asset is a blob. Source names the field with its contents; the other fields have no meaning.
type Asset struct {
	// Hash is the SHA-256 of the contents in lower-case hex, empty while not computed.
	Hash string
	// Source says which of the fields below holds the contents.
	Source AssetSource
	// Text holds literal contents.
	Text string
	// Path is a file, relative to the program's directory.
	Path string
	// URI is an http, https, or file URL.
	URI string
}

// AssetSource names the field with the contents of an asset or archive.
type AssetSource uint8

// The sources of assets and archives. SourceNone is one whose contents were
// elided: only its hash is known.
const (
	SourceNone AssetSource = iota
	SourceText             // assets only
	SourcePath
	SourceURI
	SourceAssets // archives only
)

// Contents returns the field that Source names, empty for SourceNone. ok is false for a source that
// assets do not have.
func (a *Asset) Contents() (contents string, ok bool) {
	switch a.Source {
	case SourceNone:
		return "", true
	case SourceText:
		return a.Text, true
	case SourcePath:
		return a.Path, true
	case SourceURI:
		return a.URI, true
	}
	return "", false
}

// Archive is a tree of assets and archives: literal, or a tar, tar.gz, or zip file at a path or URI.
// The fields that Source does not name have no meaning.
type Archive struct {
	// Hash is the SHA-256 of the contents in lower-case hex, empty while not computed.
	Hash string
	// Source says which of the fields below holds the contents.
	Source AssetSource
	// Assets holds the members of a literal archive: values of kind asset or archive.
	Assets Map
	// Path is a file or directory, relative to the program's directory.
	Path string
	// URI is an http, https, or file URL.
	URI string
}

// Contents returns the field that Source names, empty for SourceNone. ok is false for SourceAssets, and
// for a source that archives do not have.
func (a *Archive) Contents() (contents string, ok bool) {
	switch a.Source {
	case SourceNone:
		return "", true
	case SourcePath:
		return a.Path, true
	case SourceURI:
		return a.URI, true
	}
	return "", false
}

// Kind returns the kind of the value.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether v is null.
func (v Value) IsNull() bool { return v.kind == KindNull }

// IsUnknown reports whether v itself is unknown; see ContainsUnknowns for its parts.
func (v Value) IsUnknown() bool { return v.kind == KindUnknown }

// IsSecret reports whether v itself is a secret. Outputs can be secret too, see Output.Secret.
// ContainsSecrets finds both.
func (v Value) IsSecret() bool { return v.kind == KindSecret }

// AsBool returns the bool that v holds.
func (v Value) AsBool() (b, ok bool) { return v.num != 0, v.kind == KindBool }

// AsNumber returns the number that v holds.
func (v Value) AsNumber() (f float64, ok bool) { return v.num, v.kind == KindNumber }

// AsString returns the string that v holds.
func (v Value) AsString() (s string, ok bool) { return v.str, v.kind == KindString }

// AsArray returns the elements that v holds. Nobody may change the slice.
func (v Value) AsArray() (elements []Value, ok bool) {
	a, ok := v.ref.(*array)
	return a.all(), ok
}

// AsObject returns the map that v holds.
func (v Value) AsObject() (m Map, ok bool) {
	o, ok := v.ref.(*object)
	return Map{o: o}, ok
}

func (v Value) elements() []Value { return v.ref.(*array).all() }

func (v Value) object() Map { return Map{o: v.ref.(*object)} }

// AsAsset returns the asset that v holds.
func (v Value) AsAsset() (a Asset, ok bool) { return refAs[Asset](v) }

// AsArchive returns the archive that v holds.
func (v Value) AsArchive() (a Archive, ok bool) { return refAs[Archive](v) }

// AsReference returns the resource reference that v holds.
func (v Value) AsReference() (r ResourceReference, ok bool) { return refAs[ResourceReference](v) }

// AsOutput returns the output that v holds.
func (v Value) AsOutput() (o Output, ok bool) { return refAs[Output](v) }

func refAs[T any](v Value) (t T, ok bool) {
	if p, ok := v.ref.(*T); ok {
		return *p, true
	}
	return t, false
}

// AsSecret returns the value that the secret v holds.
func (v Value) AsSecret() (inner Value, ok bool) {
	if v.kind != KindSecret {
		return Value{}, false
	}
	return *v.ref.(*Value), true
}

// Plain returns v without secrets and outputs around it. Those of its parts stay, see Unwrap.
func (v Value) Plain() Value {
	for {
		switch v.kind {
		case KindSecret:
			v = *v.ref.(*Value)
		case KindOutput:
			v = v.ref.(*Output).Value
		default:
			return v
		}
	}
}

// IsInteger reports whether v is a number without a fraction of a magnitude of at most 2^53, and so
// an exact integer.
func (v Value) IsInteger() bool {
	return v.kind == KindNumber && v.num == math.Trunc(v.num) && math.Abs(v.num) <= 1<<53
}
