// Package intake decodes messages of others within a bounded memory: servers use it for the bodies of requests, and clients for
// answers. The decoded size of a text is computed from the types that it is decoded into, before anything is decoded.
package intake

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
)

const (
	// Ratio bounds the bytes that are allocated for each byte that was sent. Lines of a log take three.
	Ratio = 8
	// slack is allowed besides: a short text may become a map, whose first entries take some hundred bytes.
	slack = 64 << 10
	// Allowance is the additional memory for a document of a provider or a user: it may be short, and have 100,000 small parts.
	Allowance = 16 << 20
	// maxDepth bounds how deep values nest.
	maxDepth = 64
)

// grows is how many times the size of its elements a list takes that is appended to: all that it has grown from is garbage, and
// each is four fifths of the next. One whose length is known before takes once.
const grows = 5

// TooLargeError is a text that would take too much memory.
type TooLargeError struct{ Bytes int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("it has %d bytes, and so many values that they would take more than %d times as much memory", e.Bytes, Ratio)
}

var errDepth = fmt.Errorf("its values nest deeper than %d times", maxDepth)

// meter counts the bytes that a text would take.
type meter struct {
	used, most int64
	size       int
}

// newMeter returns one that is used up by more than [Ratio] bytes for each of a text, and some besides.
func newMeter(text []byte, besides int64) *meter {
	return &meter{most: int64(len(text))*Ratio + besides, size: len(text)}
}

func (m *meter) add(n int64) error {
	if m.used += n; m.used > m.most {
		return &TooLargeError{m.size}
	}
	return nil
}

// element counts one of a list, which takes so many times its size.
func (m *meter) element(t reflect.Type, times int64) error { return m.add(int64(t.Size()) * times) }

// table counts a map without its entries, and entry the one after n others: the first eight are allocated at once, with the
// first, and others as the table grows to twice its size.
func (m *meter) table() error {
	const head = 48
	return m.add(head)
}

func (m *meter) entry(t reflect.Type, n int) error {
	const times = 6
	slot, apart := slotOf(t)
	switch {
	case n == 0:
		return m.add(group*slot + apart)
	case n < group:
		return m.add(apart)
	}
	return m.add(times*slot + apart)
}

// slotOf returns the bytes of an entry in a map itself, and of an element that is too large to be in it.
func slotOf(t reflect.Type) (slot, apart int64) {
	const largest, pointer, control = 128, 8, 1
	key, element := int64(t.Key().Size()), int64(t.Elem().Size())
	if element > largest {
		return key + pointer + control, element
	}
	return key + element + control, 0
}

// group is how many entries a map allocates at once.
const group = 8

// text counts one that is kept, so many times.
func (m *meter) text(size int, times int64) error {
	const rounding = 16
	if size == 0 {
		return nil
	}
	return m.add(int64(size)*times + rounding)
}

// anyTable is the type that objects of an unknown type are decoded into.
var (
	anyTable = reflect.TypeFor[map[string]any]()
	anyList  = reflect.TypeFor[[]any]()
	timeType = reflect.TypeFor[time.Time]()
)

// allocated returns the type that a pointer leads to, and counts it.
func (m *meter) allocated(t reflect.Type) (reflect.Type, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
		if err := m.add(int64(t.Size())); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// fields are the fields of a struct, by the tag of an encoding.
type fields map[string]reflect.StructField

// find returns the type of a field, as decoders do: also if it is written in other cases.
func (f fields) find(name []byte) (reflect.StructField, bool) {
	if field, ok := f[string(name)]; ok {
		return field, true
	}
	text := string(name)
	for is, field := range f {
		if strings.EqualFold(is, text) {
			return field, true
		}
	}
	return reflect.StructField{}, false
}

type fieldsKey struct {
	t   reflect.Type
	tag string
}

var known sync.Map // of fields, by fieldsKey

// fieldsOf returns the fields of a struct. The first tag that one has names it.
func fieldsOf(t reflect.Type, tags ...string) fields {
	key := fieldsKey{t, tags[0]}
	if f, ok := known.Load(key); ok {
		return f.(fields)
	}
	f := make(fields)
	for _, one := range reflect.VisibleFields(t) {
		if one.Anonymous || !one.IsExported() {
			continue
		}
		name := one.Name
		for _, tag := range tags {
			if text, ok := one.Tag.Lookup(tag); ok {
				if text, _, _ = strings.Cut(text, ","); text != "" {
					name = text
				}
				break
			}
		}
		if name != "-" {
			f[name] = one
		}
	}
	known.Store(key, f)
	return f
}

var errCut = errors.New("it ends too early")
