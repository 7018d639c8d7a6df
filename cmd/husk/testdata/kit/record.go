package main

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// format returns a record as text: its fields by name, without zero fields.
func format(record any) string {
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
			if nonZero(v.Field(i)) {
				parts = append(parts, v.Type().Field(i).Name+": "+format(v.Field(i).Interface()))
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
			parts = append(parts, format(v.Index(i).Interface()))
		}
		b.WriteString("[" + strings.Join(parts, ", ") + "]")
	default:
		fmt.Fprint(b, v.Interface())
	}
}

// nonZero reports whether a field is not its zero value. Empty lists and maps count as zero.
func nonZero(v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		return v.Len() > 0
	}
	if m, ok := v.Interface().(interface{ Len() int }); ok && v.Kind() != reflect.Pointer {
		return m.Len() > 0
	}
	return !v.IsZero()
}

// fieldsOf returns the names of nonzero fields of a record and of its nested records, as Record.Field.
func fieldsOf(record any) []string {
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
			if nonZero(v.Field(i)) {
				*fields = append(*fields, v.Type().Name()+"."+v.Type().Field(i).Name)
				collect(fields, v.Field(i))
			}
		}
	}
}
