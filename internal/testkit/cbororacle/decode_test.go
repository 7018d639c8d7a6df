package cbororacle

import (
	"bytes"
	"encoding/binary"

	"github.com/fxamacker/cbor/v2"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
)

// Unmarshal decodes an object. Errors are *property.DecodeError.
func (c *Codec) Unmarshal(data []byte) (property.Map, error) {
	v, err := c.UnmarshalValue(data)
	if err != nil {
		return property.Map{}, err
	}
	m, ok := v.AsObject()
	if !ok {
		return property.Map{}, &property.DecodeError{Fault: property.FaultType}
	}
	return m, nil
}

// UnmarshalValue decodes a value of any kind.
//
// It accepts an input that fxamacker/cbor decodes, that is what fxamacker/cbor
// makes of the result (which no input is that has a longer form, another order of
// keys, another NaN), and whose data items are those of property values. Each step
// takes time and memory in proportion to the input.
func (c *Codec) UnmarshalValue(data []byte) (property.Value, error) {
	if len(data) > c.limits.Size || countItems(data, c.limits.Items) > c.limits.Items {
		return property.Value{}, c.diagnose(data)
	}
	var item any
	if err := c.decode.Unmarshal(data, &item); err != nil {
		return property.Value{}, c.diagnose(data)
	}
	var own bytes.Buffer
	own.Grow(len(data))
	if err := c.encode.MarshalToBuffer(item, &own); err != nil || !bytes.Equal(own.Bytes(), data) {
		return property.Value{}, c.diagnose(data)
	}
	v, ok := valueOf(item, c.limits.Depth)
	if !ok {
		return property.Value{}, c.diagnose(data)
	}
	return v, nil
}

// diagnose says what is wrong with data, which was refused: fxamacker/cbor does
// not tell where, the other codec does.
func (c *Codec) diagnose(data []byte) error {
	if _, err := guestcbor.New(c.limits).UnmarshalValue(data); err != nil {
		return err
	}
	return &property.DecodeError{Fault: property.FaultMalformed}
}

// countItems returns the number of data items in data, or a number over limit as
// soon as it is known to be that. It stops where data is not CBOR, which decoding
// then finds.
func countItems(data []byte, limit int) int {
	count := 0
	for len(data) > 0 && count <= limit {
		major, info := data[0]>>5, data[0]&0x1f
		size := 1
		n := uint64(info)
		if info >= 24 && info <= 27 {
			size += 1 << (info - 24)
			if len(data) < size {
				break
			}
			var argument [8]byte
			copy(argument[9-size:], data[1:size])
			n = binary.BigEndian.Uint64(argument[:])
		}
		count++
		data = data[size:]
		if major == 2 || major == 3 { // strings: the argument is a length in bytes
			if n > uint64(len(data)) {
				break
			}
			data = data[n:]
		}
	}
	return count
}

// valueOf returns the value whose data item is item, which may have depth levels.
func valueOf(item any, depth int) (v property.Value, ok bool) {
	switch item := item.(type) {
	case nil:
		return property.Null, true
	case bool:
		return property.Bool(item), true
	case float64:
		return property.Number(item), true
	case string:
		return property.String(item), true
	case []any:
		elements := make([]property.Value, len(item))
		for i := range item {
			if elements[i], ok = valueOf(item[i], depth-1); !ok {
				return property.Value{}, false
			}
		}
		return property.Array(elements...), depth > 0
	case map[string]any:
		m, ok := mapOf(item, depth)
		return property.Object(m), ok
	case cbor.Tag:
		return taggedOf(item, depth)
	default: // integers, byte strings, other simple values, built-in tags
		return property.Value{}, false
	}
}

func mapOf(items map[string]any, depth int) (m property.Map, ok bool) {
	if depth <= 0 {
		return property.Map{}, false
	}
	entries := make([]property.Entry, 0, len(items))
	for k, item := range items {
		v, ok := valueOf(item, depth-1)
		if !ok {
			return property.Map{}, false
		}
		entries = append(entries, property.Entry{Key: k, Value: v})
	}
	return property.NewMap(entries...), true
}

func taggedOf(tag cbor.Tag, depth int) (v property.Value, ok bool) {
	switch tag.Number {
	case tagUnknown:
		return property.Unknown, tag.Content == nil
	case tagSecret:
		inner, ok := plainOf(tag.Content, depth)
		return property.Secret(inner), ok
	}
	parts, ok := tag.Content.([]any)
	if !ok || len(parts) != 3 {
		return property.Value{}, false
	}
	switch tag.Number {
	case tagOutput:
		return outputOf(parts, depth)
	case tagAsset:
		return assetOf(parts)
	case tagArchive:
		return archiveOf(parts, depth)
	case tagReference:
		return referenceOf(parts)
	default:
		return property.Value{}, false
	}
}

// plainOf returns the value inside a secret or output: any value but those two.
func plainOf(item any, depth int) (v property.Value, ok bool) {
	v, ok = valueOf(item, depth-1)
	wrapper := v.Kind() == property.KindSecret || v.Kind() == property.KindOutput
	return v, ok && !wrapper && depth > 0
}

func outputOf(parts []any, depth int) (v property.Value, ok bool) {
	inner, ok := plainOf(parts[0], depth)
	secret, isBool := parts[1].(bool)
	items, isArray := parts[2].([]any)
	if !ok || !isBool || !isArray {
		return property.Value{}, false
	}
	dependencies := make([]string, len(items))
	for i := range items {
		if dependencies[i], ok = items[i].(string); !ok || i > 0 && dependencies[i-1] >= dependencies[i] {
			return property.Value{}, false
		}
	}
	return property.OutputOf(property.Output{Value: inner, Secret: secret, Dependencies: dependencies}), true
}

func assetOf(parts []any) (v property.Value, ok bool) {
	hash, isText := parts[0].(string)
	contents, hasText := parts[2].(string)
	a := property.Asset{Hash: hash}
	switch parts[1] {
	case sourceNone:
		hasText = hasText && contents == ""
	case sourceText:
		a.Source, a.Text = property.SourceText, contents
	case sourcePath:
		a.Source, a.Path = property.SourcePath, contents
	case sourceURI:
		a.Source, a.URI = property.SourceURI, contents
	default:
		return property.Value{}, false
	}
	return property.AssetOf(a), isText && hasText
}

func archiveOf(parts []any, depth int) (v property.Value, ok bool) {
	hash, isText := parts[0].(string)
	contents, hasText := parts[2].(string)
	a := property.Archive{Hash: hash}
	switch parts[1] {
	case sourceNone:
		hasText = hasText && contents == ""
	case sourcePath:
		a.Source, a.Path = property.SourcePath, contents
	case sourceURI:
		a.Source, a.URI = property.SourceURI, contents
	case sourceAssets:
		items, isMap := parts[2].(map[string]any)
		if a.Assets, ok = mapOf(items, depth); !isMap || !ok {
			return property.Value{}, false
		}
		for _, member := range a.Assets.All() {
			if !isBlob(member) {
				return property.Value{}, false
			}
		}
		a.Source, hasText = property.SourceAssets, true
	default:
		return property.Value{}, false
	}
	return property.ArchiveOf(a), isText && hasText
}

func referenceOf(parts []any) (v property.Value, ok bool) {
	var r property.ResourceReference
	urn, isText := parts[0].(string)
	version, hasVersion := parts[2].(string)
	r.URN, r.PackageVersion = urn, version
	if parts[1] != nil {
		if r.ID, r.HasID = parts[1].(string); !r.HasID {
			return property.Value{}, false
		}
	}
	return property.Reference(r), isText && hasVersion
}
