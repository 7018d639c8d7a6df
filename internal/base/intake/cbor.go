package intake

import (
	"encoding/binary"
	"errors"
	"reflect"
)

// Mode is the mode of a CBOR decoder, such as one of github.com/fxamacker/cbor.
type Mode interface {
	Wellformed(message []byte) error
	Unmarshal(message []byte, into any) error
}

// CBOR decodes one value with a mode, which takes no tags and no texts of indefinite length, into memory that a request has, or
// without such a bound if that is nil. A message that would take more than [Ratio] bytes for each of its own is an error.
func CBOR(mode Mode, held *Held, message []byte, into any) error {
	if err := mode.Wellformed(message); err != nil {
		return err
	}
	s := &cborScanner{meter: newMeter(message, slack), rest: message}
	if err := s.value(reflect.TypeOf(into), 0); err != nil {
		return err
	}
	if err := held.add(s.used); err != nil {
		return err
	}
	return mode.Unmarshal(message, into)
}

// cborScanner counts what a message of definite lengths takes. See section 3 of RFC 8949.
type cborScanner struct {
	*meter
	rest []byte
}

// The major types of CBOR that have content.
const (
	cborBytes = 2
	cborText  = 3
	cborList  = 4
	cborTable = 5
	cborTag   = 6
)

var errIndefinite = errors.New("it has values of indefinite length, or tags")

// head passes the head of a value.
func (s *cborScanner) head() (kind byte, n uint64, err error) {
	if len(s.rest) == 0 {
		return 0, 0, errCut
	}
	first := s.rest[0]
	s.rest = s.rest[1:]
	const direct, indefinite = 24, 31
	kind, n = first>>5, uint64(first&31)
	switch size := 1 << (n - direct); {
	case n < direct:
		return kind, n, nil
	case n == indefinite, kind == cborTag:
		return 0, 0, errIndefinite
	case size > 8 || len(s.rest) < size:
		return 0, 0, errCut
	default:
		var wide [8]byte
		copy(wide[8-size:], s.rest)
		s.rest = s.rest[size:]
		return kind, binary.BigEndian.Uint64(wide[:]), nil
	}
}

func (s *cborScanner) value(t reflect.Type, depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	kind, n, err := s.head()
	if err != nil {
		return err
	}
	if t != nil {
		if t, err = s.allocated(t); err != nil {
			return err
		}
	}
	switch kind {
	case cborBytes, cborText:
		text, err := s.take(n)
		if err != nil || t == nil {
			return err
		}
		return s.text(len(text), 1)
	case cborList:
		return s.list(t, n, depth)
	case cborTable:
		return s.members(t, n, depth)
	}
	return nil
}

// take passes a text.
func (s *cborScanner) take(n uint64) ([]byte, error) {
	if n > uint64(len(s.rest)) {
		return nil, errCut
	}
	text := s.rest[:n]
	s.rest = s.rest[n:]
	return text, nil
}

func (s *cborScanner) list(t reflect.Type, n uint64, depth int) error {
	var element reflect.Type
	switch {
	case t == nil:
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Array:
		element = t.Elem()
	case t == anything:
		element = anyList.Elem()
	}
	for range n {
		if element != nil {
			if err := s.element(element, 1); err != nil {
				return err
			}
		}
		if err := s.value(element, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (s *cborScanner) members(t reflect.Type, n uint64, depth int) error {
	var of fields
	var table reflect.Type
	switch {
	case t == nil:
	case t.Kind() == reflect.Struct:
		of = fieldsOf(t, "cbor", "json")
	case t.Kind() == reflect.Map:
		table = t
	case t == anything:
		table = reflect.TypeFor[map[any]any]()
	}
	if table != nil {
		if err := s.table(); err != nil {
			return err
		}
	}
	for i := range n {
		kind, size, err := s.head()
		if err != nil {
			return err
		}
		if kind != cborText && kind != cborBytes {
			return errors.New("the name of a member is not text")
		}
		name, err := s.take(size)
		if err != nil {
			return err
		}
		var is reflect.Type
		if of != nil {
			field, _ := of.find(name) // the decoder refuses unknown fields
			is = field.Type
		} else if table != nil {
			is = table.Elem()
			if err := errors.Join(s.entry(table, int(i)), s.text(len(name), 1)); err != nil {
				return err
			}
		}
		if err := s.value(is, depth+1); err != nil {
			return err
		}
	}
	return nil
}
