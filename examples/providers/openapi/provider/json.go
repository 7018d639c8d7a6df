package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
)

// decodeJSON reads a JSON text. Integers that a double cannot hold become text.
func decodeJSON(text []byte) (property.Value, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var raw any
	if err := d.Decode(&raw); err != nil {
		return property.Null, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return property.Null, errors.New("something follows the JSON value")
	}
	return valueOf(raw), nil
}

func valueOf(raw any) property.Value {
	switch raw := raw.(type) {
	case bool:
		return property.Bool(raw)
	case string:
		return property.String(raw)
	case json.Number:
		f, err := raw.Float64()
		if _, parseErr := strconv.ParseInt(raw.String(), 10, 64); parseErr == nil || errors.Is(parseErr, strconv.ErrRange) {
			if strconv.FormatFloat(f, 'f', -1, 64) != raw.String() {
				return property.String(raw.String())
			}
		}
		if err != nil {
			return property.String(raw.String())
		}
		return property.Number(f)
	case []any:
		elements := make([]property.Value, len(raw))
		for i, e := range raw {
			elements[i] = valueOf(e)
		}
		return property.Array(elements...)
	case map[string]any:
		entries := make([]property.Entry, 0, len(raw))
		for key, e := range raw {
			entries = append(entries, property.Entry{Key: key, Value: valueOf(e)})
		}
		return property.Object(property.NewMap(entries...))
	}
	return property.Null
}

// fit removes properties that the type does not have, and nulls in objects. Passwords become secret.
func fit(t *schema.Type, v property.Value) property.Value {
	switch t.Kind {
	case schema.KindObject:
		m, ok := v.Plain().AsObject()
		if !ok {
			return v
		}
		var entries []property.Entry
		for i := range t.Object.Properties {
			p := &t.Object.Properties[i]
			if part := m.Get(p.Name); !part.Plain().IsNull() {
				entries = append(entries, property.Entry{Key: p.Name, Value: fitProperty(p, part)})
			}
		}
		return property.Object(property.NewMap(entries...))
	case schema.KindMap:
		m, ok := v.Plain().AsObject()
		if !ok {
			return v
		}
		entries := make([]property.Entry, 0, m.Len())
		for key, part := range m.All() {
			entries = append(entries, property.Entry{Key: key, Value: fit(t.Element, part)})
		}
		return property.Object(property.NewMap(entries...))
	case schema.KindArray:
		elements, ok := v.Plain().AsArray()
		if !ok {
			return v
		}
		fitting := make([]property.Value, len(elements))
		for i, e := range elements {
			fitting[i] = fit(t.Element, e)
		}
		return property.Array(fitting...)
	case schema.KindUnion:
		for _, alternative := range t.OneOf {
			if fitting := fit(alternative, v); fits(alternative, fitting) {
				return fitting
			}
		}
	}
	return v
}

// fitProperty is fit for the value of a property.
func fitProperty(p *schema.Property, v property.Value) property.Value {
	if v = fit(p.Type, v); p.Secret && !v.IsSecret() {
		return property.Secret(v)
	}
	return v
}

var errNotJSON = errors.New("only null, bools, numbers, strings, arrays, and objects can be sent")

// jsonOf returns a value as package json writes it.
func jsonOf(v property.Value) (any, error) {
	switch v = v.Plain(); v.Kind() {
	case property.KindNull:
		return nil, nil
	case property.KindBool:
		b, _ := v.AsBool()
		return b, nil
	case property.KindNumber:
		f, _ := v.AsNumber()
		return json.Number(strconv.FormatFloat(f, 'f', -1, 64)), nil
	case property.KindString:
		s, _ := v.AsString()
		return s, nil
	case property.KindArray:
		elements, _ := v.AsArray()
		list := make([]any, len(elements))
		for i, e := range elements {
			var err error
			if list[i], err = jsonOf(e); err != nil {
				return nil, err
			}
		}
		return list, nil
	case property.KindObject:
		m, _ := v.AsObject()
		object := make(map[string]any, m.Len())
		for key, e := range m.All() {
			var err error
			if object[key], err = jsonOf(e); err != nil {
				return nil, err
			}
		}
		return object, nil
	}
	return nil, errNotJSON
}

// textOf returns a scalar as it stands in a URL or a header; ok is false for other values.
func textOf(v property.Value) (text string, ok bool) {
	switch v = v.Plain(); v.Kind() {
	case property.KindBool:
		b, _ := v.AsBool()
		return strconv.FormatBool(b), true
	case property.KindNumber:
		f, _ := v.AsNumber()
		return strconv.FormatFloat(f, 'f', -1, 64), true
	case property.KindString:
		return v.AsString()
	}
	return "", false
}
