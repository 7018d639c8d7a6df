// Package told renders requests of the contract for tests that compare what a module was
// told with what it was to be told. Test providers are linked with it.
package told

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Text renders a record with its fields by name, without those that are zero.
func Text(record any) string {
	var b strings.Builder
	write(&b, reflect.ValueOf(record))
	return b.String()
}

func write(b *strings.Builder, v reflect.Value) {
	if s, ok := v.Interface().(fmt.Stringer); ok {
		b.WriteString(s.String())
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		write(b, v.Elem())
	case reflect.Struct:
		var parts []string
		for i := range v.NumField() {
			if given(v.Field(i)) {
				parts = append(parts, v.Type().Field(i).Name+": "+Text(v.Field(i).Interface()))
			}
		}
		b.WriteString("{" + strings.Join(parts, ", ") + "}")
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			b.WriteString(hex.EncodeToString(v.Bytes()))
			return
		}
		var parts []string
		for i := range v.Len() {
			parts = append(parts, Text(v.Index(i).Interface()))
		}
		b.WriteString("[" + strings.Join(parts, ", ") + "]")
	default:
		fmt.Fprint(b, v.Interface())
	}
}

// given reports whether a field holds something.
func given(v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		return v.Len() > 0
	}
	if m, ok := v.Interface().(interface{ Len() int }); ok && v.Kind() != reflect.Pointer {
		return m.Len() > 0
	}
	return !v.IsZero()
}

// Fields are the fields of a record, and of the records in it, that hold something, as
// Record.Field.
func Fields(record any) []string {
	var fields []string
	collect(&fields, reflect.ValueOf(record))
	slices.Sort(fields)
	return slices.Compact(fields)
}

func collect(fields *[]string, v reflect.Value) {
	if _, ok := v.Interface().(fmt.Stringer); ok {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			collect(fields, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			collect(fields, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if given(v.Field(i)) {
				*fields = append(*fields, v.Type().Name()+"."+v.Type().Field(i).Name)
				collect(fields, v.Field(i))
			}
		}
	}
}

// AllFields are the fields that [Fields] can name for records of a type.
func AllFields(t reflect.Type) []string {
	if t.Implements(reflect.TypeFor[fmt.Stringer]()) {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return AllFields(t.Elem())
	case reflect.Struct:
		var fields []string
		for i := range t.NumField() {
			fields = append(fields, t.Name()+"."+t.Field(i).Name)
			fields = append(fields, AllFields(t.Field(i).Type)...)
		}
		slices.Sort(fields)
		return slices.Compact(fields)
	}
	return nil
}
