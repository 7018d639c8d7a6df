package schema

import (
	"strconv"
	"unicode/utf8"

	"github.com/husk-dev/husk/abi/property"
)

// writer appends JSON to a buffer. encoding/json with its reflection would make the smallest guest
// half as large again. Frequently called methods are not inlined for the same reason.
type writer struct {
	buf []byte
	// comma is set if the next member or element follows another.
	comma bool
}

func (w *writer) separate() {
	if w.comma {
		w.buf = append(w.buf, ',')
	}
	w.comma = false
}

//go:noinline
func (w *writer) open(bracket byte) {
	w.separate()
	w.buf = append(w.buf, bracket)
}

//go:noinline
func (w *writer) close(bracket byte) {
	w.buf = append(w.buf, bracket)
	w.comma = true
}

// key begins a member of an object.
//
//go:noinline
func (w *writer) key(name string) {
	w.separate()
	w.quote(name)
	w.buf = append(w.buf, ':')
}

// openMember begins a member that is an object or array.
//
//go:noinline
func (w *writer) openMember(name string, bracket byte) {
	w.key(name)
	w.open(bracket)
}

//go:noinline
func (w *writer) string(s string) {
	w.separate()
	w.quote(s)
	w.comma = true
}

func (w *writer) bool(b bool) {
	w.separate()
	w.buf = strconv.AppendBool(w.buf, b)
	w.comma = true
}

func (w *writer) number(f float64) {
	w.separate()
	w.buf = strconv.AppendFloat(w.buf, f, 'g', -1, 64)
	w.comma = true
}

// stringMember writes a member, unless its value is empty.
//
//go:noinline
func (w *writer) stringMember(name, value string) {
	if value != "" {
		w.key(name)
		w.string(value)
	}
}

// boolMember writes a member, unless its value is false.
//
//go:noinline
func (w *writer) boolMember(name string, value bool) {
	if value {
		w.key(name)
		w.bool(true)
	}
}

// stringsMember writes a member, unless its value is empty.
func (w *writer) stringsMember(name string, elements []string) {
	if len(elements) == 0 {
		return
	}
	w.openMember(name, '[')
	for _, s := range elements {
		w.string(s)
	}
	w.close(']')
}

// value writes a constant of a schema. Values that JSON lacks become null.
func (w *writer) value(v property.Value) {
	switch v.Kind() {
	case property.KindBool:
		b, _ := v.AsBool()
		w.bool(b)
	case property.KindNumber:
		f, _ := v.AsNumber()
		w.number(f)
	case property.KindString:
		s, _ := v.AsString()
		w.string(s)
	case property.KindArray:
		elements, _ := v.AsArray()
		w.open('[')
		for _, e := range elements {
			w.value(e)
		}
		w.close(']')
	case property.KindObject:
		m, _ := v.AsObject()
		w.open('{')
		for k, e := range m.All() {
			w.key(k)
			w.value(e)
		}
		w.close('}')
	default:
		w.separate()
		w.buf = append(w.buf, "null"...)
		w.comma = true
	}
}

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// base64 writes bytes as a string of RFC 4648's base64, with padding.
func (w *writer) base64(data []byte) {
	w.separate()
	b := append(w.buf, '"')
	for len(data) > 0 {
		n := min(len(data), 3)
		var group [3]byte
		copy(group[:], data)
		data = data[n:]
		bits := uint(group[0])<<16 | uint(group[1])<<8 | uint(group[2])
		for i := range 4 {
			if i > n {
				b = append(b, '=')
			} else {
				b = append(b, base64Digits[bits>>(18-6*i)&63])
			}
		}
	}
	w.buf = append(b, '"')
	w.comma = true
}

const hexDigits = "0123456789abcdef"

// quote appends s as a JSON string, with U+FFFD for invalid UTF-8.
func (w *writer) quote(s string) {
	b := append(w.buf, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, '\\', 'n')
		case r < 0x20:
			b = append(b, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&0xf])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	w.buf = append(b, '"')
}
