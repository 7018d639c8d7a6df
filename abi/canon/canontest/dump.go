package canontest

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/property/guestcbor"
)

// Dump returns the value as text. Two values have the same text exactly if they are the same value
// of the contract. Names are the WIT's without hyphens. An absent list is an empty list.
func Dump(v any) string {
	var b strings.Builder
	dump(&b, reflect.ValueOf(v))
	return b.String()
}

func dump(b *strings.Builder, v reflect.Value) {
	if !v.IsValid() {
		b.WriteString("nothing")
		return
	}
	switch x := v.Interface().(type) {
	case property.Map:
		data, err := guestcbor.Marshal(x)
		dumpBytes(b, data, err)
		return
	case property.Value:
		data, err := guestcbor.MarshalValue(x)
		dumpBytes(b, data, err)
		return
	case []byte:
		dumpBytes(b, x, nil)
		return
	case *abi.Error:
		// Only its data crosses; where the contract has an error, it is never absent.
		dumpStruct(b, reflect.ValueOf(abi.Error{
			Kind: x.Kind, Origin: x.Origin, Message: x.Message, Path: x.Path,
			InitFailure: x.InitFailure, MissingKeys: x.MissingKeys,
		}), 6)
		return
	case error:
		b.WriteString("error(" + x.Error() + ")")
		return
	case fmt.Stringer:
		if v.Kind() != reflect.Pointer { // an enumeration
			b.WriteString(x.String())
			return
		}
	}
	switch v.Kind() {
	case reflect.Struct:
		if c, field := chosen(v); c != "" {
			b.WriteString(c)
			if field.IsValid() {
				b.WriteString("(")
				dump(b, field)
				b.WriteString(")")
			}
			return
		}
		dumpStruct(b, v, v.NumField())
	case reflect.Pointer:
		if v.IsNil() {
			b.WriteString("none")
			return
		}
		b.WriteString("some(")
		dump(b, v.Elem())
		b.WriteString(")")
	case reflect.Slice:
		b.WriteString("[")
		for i := range v.Len() {
			if i > 0 {
				b.WriteString(", ")
			}
			dump(b, v.Index(i))
		}
		b.WriteString("]")
	case reflect.String:
		b.WriteString(strconv.Quote(v.String()))
	default:
		fmt.Fprint(b, v.Interface())
	}
}

func dumpStruct(b *strings.Builder, v reflect.Value, fields int) {
	b.WriteString("{")
	for i := range fields {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strings.ToLower(v.Type().Field(i).Name) + ": ")
		dump(b, v.Field(i))
	}
	b.WriteString("}")
}

func dumpBytes(b *strings.Builder, data []byte, err error) {
	if err != nil {
		b.WriteString("unencodable: " + err.Error())
		return
	}
	b.WriteString("0x" + hex.EncodeToString(data))
}

// chosen returns the WIT name of the case of a variant and its field, if v is one.
func chosen(v reflect.Value) (name string, field reflect.Value) {
	c := v.FieldByName("Case")
	if !c.IsValid() {
		return "", field
	}
	name = strings.ReplaceAll(c.Interface().(fmt.Stringer).String(), "-", "")
	return name, v.FieldByNameFunc(func(f string) bool { return strings.EqualFold(f, name) })
}
