package redact

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Copy returns a value, such as an event, with [Mask] in the place of secrets in its texts. It is
// the value itself if there are none.
func Copy[T any](s *Secrets, v T) T {
	if !s.hides() {
		return v
	}
	at := reflect.ValueOf(&v).Elem()
	if hidden, found := s.hidden(at); found {
		at.Set(hidden)
	}
	return v
}

// hidden returns a value without secrets, and reports whether there was one. Only what holds a
// secret is copied. Fields that are not exported stay as they are.
func (s *Secrets) hidden(v reflect.Value) (out reflect.Value, found bool) {
	out = v
	switch v.Kind() {
	case reflect.String:
		if text := s.In(v.String()); text != v.String() {
			return reflect.ValueOf(text).Convert(v.Type()), true
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			if part, ok := s.hidden(v.Field(i)); ok {
				if !found {
					out, found = reflect.New(v.Type()).Elem(), true
					out.Set(v)
				}
				out.Field(i).Set(part)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if part, ok := s.hidden(v.Index(i)); ok {
				if !found {
					out, found = reflect.MakeSlice(v.Type(), v.Len(), v.Len()), true
					reflect.Copy(out, v)
				}
				out.Index(i).Set(part)
			}
		}
	case reflect.Map:
		copied := reflect.MakeMapWithSize(v.Type(), v.Len())
		for entries := v.MapRange(); entries.Next(); {
			key, inKey := s.hidden(entries.Key())
			value, inValue := s.hidden(entries.Value())
			copied.SetMapIndex(key, value)
			found = found || inKey || inValue
		}
		if found {
			return copied, true
		}
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v, false
		}
		target, found := s.hidden(v.Elem())
		if found && v.Kind() == reflect.Pointer {
			p := reflect.New(target.Type())
			p.Elem().Set(target)
			target = p
		}
		if found {
			return target, true
		}
	}
	return out, found
}

// InJSON returns JSON with [Mask] in the place of secrets in its strings. A name of a member that is a
// short secret stays: programs look for it.
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
