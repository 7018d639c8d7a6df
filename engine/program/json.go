package program

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/program/source"
)

// ConfigText is the inverse of [ConfigType.Parse], for values without wrappers.
func ConfigText(v property.Value) (string, error) {
	switch v.Kind() {
	case property.KindNull:
		return "", nil
	case property.KindString:
		s, _ := v.AsString()
		return s, nil
	case property.KindNumber:
		f, _ := v.AsNumber()
		return source.FormatNumber(f), nil
	}
	return JSON(v)
}

// JSON returns a value without wrappers as Pulumi writes it: keys sorted, and <, >, and & escaped.
func JSON(v property.Value) (string, error) {
	tree, err := toJSON(v)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(tree)
	return string(data), err
}

func toJSON(v property.Value) (any, error) {
	switch v.Kind() {
	case property.KindNull:
		return nil, nil
	case property.KindBool:
		b, _ := v.AsBool()
		return b, nil
	case property.KindNumber:
		f, _ := v.AsNumber()
		return f, nil
	case property.KindString:
		s, _ := v.AsString()
		return s, nil
	case property.KindArray:
		elements, _ := v.AsArray()
		out := make([]any, len(elements))
		for i, e := range elements {
			var err error
			if out[i], err = toJSON(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	case property.KindObject:
		m, _ := v.AsObject()
		out := make(map[string]any, m.Len())
		for k, e := range m.All() {
			var err error
			if out[k], err = toJSON(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	kind := v.Kind().String()
	article := "a"
	if strings.ContainsRune("aou", rune(kind[0])) {
		article = "an"
	}
	return nil, fmt.Errorf("%s %s has no JSON form", article, kind)
}
