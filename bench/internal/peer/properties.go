package peer

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/husk-dev/husk/abi/property"
)

// Properties travel as JSON-like structures (sdk/go/common/resource/plugin in Pulumi). The benchmarks have
// plain values only: no secrets, unknowns, assets, or references, which Pulumi marks in these structures.

func toStruct(m property.Map) *structpb.Struct {
	fields := make(map[string]*structpb.Value, m.Len())
	for key, v := range m.All() {
		fields[key] = toValue(v)
	}
	return &structpb.Struct{Fields: fields}
}

func toValue(v property.Value) *structpb.Value {
	switch v.Kind() {
	case property.KindNull:
		return structpb.NewNullValue()
	case property.KindBool:
		b, _ := v.AsBool()
		return structpb.NewBoolValue(b)
	case property.KindNumber:
		n, _ := v.AsNumber()
		return structpb.NewNumberValue(n)
	case property.KindString:
		s, _ := v.AsString()
		return structpb.NewStringValue(s)
	case property.KindArray:
		elements, _ := v.AsArray()
		list := make([]*structpb.Value, len(elements))
		for i, e := range elements {
			list[i] = toValue(e)
		}
		return structpb.NewListValue(&structpb.ListValue{Values: list})
	case property.KindObject:
		m, _ := v.AsObject()
		return structpb.NewStructValue(toStruct(m))
	}
	panic(fmt.Sprintf("no benchmark has a value of the kind %s", v.Kind()))
}

func fromStruct(s *structpb.Struct) (property.Map, error) {
	entries := make([]property.Entry, 0, len(s.GetFields()))
	for key, field := range s.GetFields() {
		v, err := fromValue(field)
		if err != nil {
			return property.Map{}, fmt.Errorf("%s: %w", key, err)
		}
		entries = append(entries, property.Entry{Key: key, Value: v})
	}
	return property.NewMap(entries...), nil
}

func fromValue(v *structpb.Value) (property.Value, error) {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_NullValue:
		return property.Null, nil
	case *structpb.Value_BoolValue:
		return property.Bool(kind.BoolValue), nil
	case *structpb.Value_NumberValue:
		return property.Number(kind.NumberValue), nil
	case *structpb.Value_StringValue:
		return property.String(kind.StringValue), nil
	case *structpb.Value_ListValue:
		elements := make([]property.Value, len(kind.ListValue.GetValues()))
		for i, e := range kind.ListValue.GetValues() {
			var err error
			if elements[i], err = fromValue(e); err != nil {
				return property.Null, fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return property.Array(elements...), nil
	case *structpb.Value_StructValue:
		m, err := fromStruct(kind.StructValue)
		return property.Object(m), err
	}
	return property.Null, errors.New("there is no value")
}
