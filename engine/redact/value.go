package redact

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Copy returns a value, such as an event, with [Mask] in the place of secrets in its texts. It is
// the value itself where there are none.
func Copy[T any](s *Secrets, v T) T {
	if !s.hides() {
		return v
	}
	from := reflect.ValueOf(&v).Elem()
	if !s.within(from) {
		return v
	}
	var to T
	s.copy(reflect.ValueOf(&to).Elem(), from)
	return to
}

// within reports whether there is a secret in a text of a value.
func (s *Secrets) within(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		text := v.String()
		return s.In(text) != text
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && s.within(v.Field(i)) {
				return true
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if s.within(v.Index(i)) {
				return true
			}
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			if s.within(entries.Key()) || s.within(entries.Value()) {
				return true
			}
		}
	case reflect.Pointer, reflect.Interface:
		return !v.IsNil() && s.within(v.Elem())
	}
	return false
}

// copy copies a value to another one, without secrets.
func (s *Secrets) copy(to, from reflect.Value) {
	switch from.Kind() {
	case reflect.String:
		to.SetString(s.In(from.String()))
	case reflect.Struct:
		to.Set(from) // fields that are not exported stay as they are
		for i := range from.NumField() {
			if from.Type().Field(i).IsExported() {
				s.copy(to.Field(i), from.Field(i))
			}
		}
	case reflect.Slice:
		if !from.IsNil() {
			to.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
		}
		for i := range from.Len() {
			s.copy(to.Index(i), from.Index(i))
		}
	case reflect.Map:
		if from.IsNil() {
			return
		}
		to.Set(reflect.MakeMapWithSize(from.Type(), from.Len()))
		for entries := from.MapRange(); entries.Next(); {
			key, value := reflect.New(from.Type().Key()).Elem(), reflect.New(from.Type().Elem()).Elem()
			s.copy(key, entries.Key())
			s.copy(value, entries.Value())
			to.SetMapIndex(key, value)
		}
	case reflect.Pointer, reflect.Interface:
		if from.IsNil() {
			return
		}
		target := reflect.New(from.Elem().Type()).Elem()
		s.copy(target, from.Elem())
		if from.Kind() == reflect.Pointer {
			target = target.Addr()
		}
		to.Set(target)
	default:
		to.Set(from)
	}
}

// InJSON returns JSON with [Mask] in the place of secrets in its strings. The names of members that
// are nothing but a short secret stay: they are what a program looks for.
func (s *Secrets) InJSON(data []byte) []byte {
	if !s.hides() {
		return data
	}
	var out bytes.Buffer
	written := 0
	for at := 0; at < len(data); {
		if data[at] != '"' {
			at++
			continue
		}
		end := endOfString(data, at)
		var text string
		if json.Unmarshal(data[at:end], &text) == nil {
			hidden := s.In(text)
			if hidden != text && !(isName(data[end:]) && hidden == Mask && len(text) < minEncoded) {
				out.Write(data[written:at])
				out.WriteByte('"')
				out.WriteString(inJSON(hidden, false))
				out.WriteByte('"')
				written = end
			}
		}
		at = end
	}
	if written == 0 {
		return data
	}
	out.Write(data[written:])
	return out.Bytes()
}

// endOfString returns where the string ends that begins at a place of JSON.
func endOfString(data []byte, at int) int {
	for at++; at < len(data); at++ {
		switch data[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(data)
}

// isName reports whether what comes before this in JSON is the name of a member.
func isName(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}
