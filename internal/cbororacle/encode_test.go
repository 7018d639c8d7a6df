package cbororacle

import (
	"slices"
	"unicode/utf8"

	"github.com/fxamacker/cbor/v2"

	"github.com/husk-dev/husk/abi/property"
)

// Tags of property values, see wit/property.cddl.
const (
	tagUnknown   = 48500
	tagSecret    = 48501
	tagOutput    = 48502
	tagAsset     = 48503
	tagArchive   = 48504
	tagReference = 48505
)

// Sources of assets and archives on the wire.
const (
	sourceNone   = uint64(0)
	sourceText   = uint64(1)
	sourcePath   = uint64(2)
	sourceURI    = uint64(3)
	sourceAssets = uint64(4)
)

// builder makes the CBOR data items of values: nil, bool, float64, string,
// []any, map[string]any, and cbor.Tag, which fxamacker/cbor encodes.
type builder struct {
	items int // data items left
	depth int // levels left
	fault property.Fault
	path  property.Path // to the fault, innermost segment first
}

func (b *builder) err(limits property.Limits) error {
	err := &property.EncodeError{Fault: b.fault}
	switch b.fault {
	case property.FaultTooManyItems:
		err.Limit = limits.Items
		return err
	case property.FaultTooDeep:
		err.Limit = limits.Depth
	}
	slices.Reverse(b.path)
	err.Path = b.path
	return err
}

func (b *builder) fail(fault property.Fault) any {
	if b.fault == 0 {
		b.fault = fault
	}
	return nil
}

// at adds a segment to the path of a fault that was found inside it.
func (b *builder) at(s property.Segment) {
	if b.fault != 0 {
		b.path = append(b.path, s)
	}
}

// take counts data items.
func (b *builder) take(items int) {
	if b.items -= items; b.items < 0 {
		b.fail(property.FaultTooManyItems)
	}
}

// enter goes one level down; leaving is b.depth++.
func (b *builder) enter() {
	if b.depth--; b.depth < 0 {
		b.fail(property.FaultTooDeep)
	}
}

// item returns the data item of v, or sets the fault.
func (b *builder) item(v property.Value) any {
	switch v.Kind() {
	case property.KindBool:
		flag, _ := v.AsBool()
		return flag
	case property.KindNumber:
		f, _ := v.AsNumber()
		return f
	case property.KindString:
		s, _ := v.AsString()
		return b.text(s)
	case property.KindArray:
		elements, _ := v.AsArray()
		return b.array(elements)
	case property.KindObject:
		m, _ := v.AsObject()
		return b.object(m)
	case property.KindUnknown:
		b.take(1)
		return cbor.Tag{Number: tagUnknown}
	case property.KindSecret:
		inner, _ := v.AsSecret()
		return cbor.Tag{Number: tagSecret, Content: b.wrapped(inner, 1)}
	case property.KindOutput:
		o, _ := v.AsOutput()
		return b.output(o)
	case property.KindAsset:
		a, _ := v.AsAsset()
		return b.asset(a)
	case property.KindArchive:
		a, _ := v.AsArchive()
		return b.archive(a)
	case property.KindResourceReference:
		r, _ := v.AsReference()
		return b.reference(r)
	default: // null
		return nil
	}
}

func (b *builder) text(s string) any {
	if !utf8.ValidString(s) {
		return b.fail(property.FaultInvalidUTF8)
	}
	return s
}

func (b *builder) array(elements []property.Value) any {
	b.enter()
	b.take(len(elements))
	items := make([]any, len(elements))
	for i, e := range elements {
		if b.fault != 0 {
			return nil
		}
		items[i] = b.item(e)
		b.at(property.Index(i))
	}
	b.depth++
	return items
}

func (b *builder) object(m property.Map) any {
	b.enter()
	b.take(2 * m.Len())
	items := make(map[string]any, m.Len())
	for k, v := range m.All() {
		if b.fault != 0 {
			return nil
		}
		if b.text(k); b.fault == 0 {
			items[k] = b.item(v)
		}
		b.at(property.Key(k))
	}
	b.depth++
	return items
}

// wrapped returns the data item of the value inside a secret or output, whose tag
// holds so many items in all beside the parts of the value.
func (b *builder) wrapped(v property.Value, items int) any {
	b.enter()
	b.take(items)
	if b.fault != 0 {
		return nil
	}
	item := b.item(v)
	b.depth++
	return item
}

func (b *builder) output(o property.Output) any {
	value := b.wrapped(o.Value, 4+len(o.Dependencies))
	dependencies := make([]any, len(o.Dependencies))
	for i, d := range o.Dependencies {
		dependencies[i] = b.text(d)
	}
	return cbor.Tag{Number: tagOutput, Content: []any{value, o.Secret, dependencies}}
}

func (b *builder) asset(a property.Asset) any {
	switch a.Source {
	case property.SourceNone:
		return b.blob(tagAsset, a.Hash, sourceNone, "")
	case property.SourceText:
		return b.blob(tagAsset, a.Hash, sourceText, a.Text)
	case property.SourcePath:
		return b.blob(tagAsset, a.Hash, sourcePath, a.Path)
	case property.SourceURI:
		return b.blob(tagAsset, a.Hash, sourceURI, a.URI)
	default:
		return b.fail(property.FaultTagContents)
	}
}

func (b *builder) archive(a property.Archive) any {
	switch a.Source {
	case property.SourceNone:
		return b.blob(tagArchive, a.Hash, sourceNone, "")
	case property.SourcePath:
		return b.blob(tagArchive, a.Hash, sourcePath, a.Path)
	case property.SourceURI:
		return b.blob(tagArchive, a.Hash, sourceURI, a.URI)
	case property.SourceAssets:
		return b.literalArchive(a)
	default:
		return b.fail(property.FaultTagContents)
	}
}

// blob returns an asset or archive whose contents are a text.
func (b *builder) blob(tag uint64, hash string, source uint64, contents string) any {
	b.take(4)
	return cbor.Tag{Number: tag, Content: []any{b.text(hash), source, b.text(contents)}}
}

func (b *builder) literalArchive(a property.Archive) any {
	for k, member := range a.Assets.All() {
		if !isBlob(member) {
			b.fail(property.FaultTagContents)
			b.at(property.Key(k))
			return nil
		}
	}
	b.take(4)
	return cbor.Tag{Number: tagArchive, Content: []any{b.text(a.Hash), sourceAssets, b.object(a.Assets)}}
}

// isBlob reports whether v may be a member of an archive.
func isBlob(v property.Value) bool {
	return v.Kind() == property.KindAsset || v.Kind() == property.KindArchive
}

func (b *builder) reference(r property.ResourceReference) any {
	b.take(4)
	urn := b.text(r.URN)
	var id any
	if r.HasID {
		id = b.text(r.ID)
	}
	return cbor.Tag{Number: tagReference, Content: []any{urn, id, b.text(r.PackageVersion)}}
}
