package intake

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"unicode/utf8"
)

// JSON decodes one value of JSON, which is all of the text, into memory that a request has. An unknown field is an error, and so
// is a text that would take more than [Ratio] bytes for each of its own.
func JSON(held *Held, text []byte, into any) error { return decodeJSON(held, text, into, true) }

// CheckJSON returns a [TooLargeError] if a text of JSON, or several texts one behind the other, would take more than [Ratio]
// bytes for each of its own, and so many besides, when encoding/json decodes it into a type. It leaves other mistakes to the
// decoder.
func CheckJSON(text []byte, into any, besides int64) error {
	s := newScanner(text, besides)
	s.lenient, s.deepest = true, decoderDepth
	if !utf8.Valid(text) {
		s.copies = 3 // each byte that is none becomes one of three
	}
	for s.space(); s.at < len(text); s.space() {
		err := s.value(reflect.TypeOf(into), 0)
		if _, tooLarge := errors.AsType[*TooLargeError](err); tooLarge {
			return err
		} else if err != nil {
			return nil // the decoder does not begin
		}
	}
	return nil
}

// Values counts the values and names of texts of JSON. It takes some texts for JSON that are none.
func Values(texts ...[]byte) (n int64) {
	for _, text := range texts {
		n++
		inString := false
		for i := 0; i < len(text); i++ {
			switch c := text[i]; {
			case c == '"':
				inString = !inString
			case inString && c == '\\':
				i++
			case !inString && (c == ',' || c == ':' || c == '[' || c == '{'):
				n++
			}
		}
	}
	return n
}

// AnswerJSON is [JSON] for a client: what a later version of the server has written besides is left out.
func AnswerJSON(text []byte, into any) error { return decodeJSON(nil, text, into, false) }

func decodeJSON(held *Held, text []byte, into any, strict bool) error {
	if !utf8.Valid(text) {
		return errors.New("it is not UTF-8")
	}
	s := newScanner(text, slack)
	s.strict = strict
	if err := s.value(reflect.TypeOf(into), 0); err != nil {
		return err
	}
	if s.space(); s.at < len(text) {
		return errors.New("something follows it")
	}
	if err := held.add(s.used); err != nil {
		return err
	}
	s.makeRoom(into)
	return json.Unmarshal(text, into)
}

// makeRoom allocates the lists of the value, or of its fields, once: the decoder appends to them.
func (s *jsonScanner) makeRoom(into any) {
	v := reflect.ValueOf(into).Elem()
	room := func(v reflect.Value, n int) {
		if v.Kind() == reflect.Slice && n > v.Cap() {
			v.Set(reflect.MakeSlice(v.Type(), 0, n))
		}
	}
	room(v, s.length)
	for at, n := range s.lengths {
		room(v.Field(at), n)
	}
}

// jsonScanner counts. It takes some texts for JSON that are none, which the decoder refuses.
type jsonScanner struct {
	*meter
	input  []byte
	at     int
	strict bool
	// lenient has the decoder say what does not fit, for which it goes on and makes an error.
	lenient bool
	// copies is how often a text without escapes is there.
	copies int64
	// deepest bounds how deep values nest.
	deepest int
	// length is the value's length, if it is a list, and lengths are the lengths of its fields, by their index.
	length  int
	lengths map[int]int
	// field is the index of the one that is read of the value, or noField.
	field int
}

const noField = -1

func newScanner(text []byte, besides int64) *jsonScanner {
	return &jsonScanner{meter: newMeter(text, besides), input: text, lengths: make(map[int]int), field: noField, copies: 1, deepest: maxDepth}
}

// decoderDepth is how deep values of encoding/json may nest.
const decoderDepth = 10_000

// mismatch is the memory that the decoder allocates for a value that does not fit.
const mismatch = 256

func (s *jsonScanner) space() {
	for s.at < len(s.input) {
		switch s.input[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// next returns the next byte after spaces, 0 at the end.
func (s *jsonScanner) next() byte {
	s.space()
	if s.at == len(s.input) {
		return 0
	}
	return s.input[s.at]
}

// string passes a string, and returns it as it is written, with its quotes.
func (s *jsonScanner) string() ([]byte, error) {
	begin := s.at
	for s.at++; s.at < len(s.input); s.at++ {
		switch s.input[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return s.input[begin:s.at], nil
		}
	}
	return nil, errCut
}

var (
	jsonOwn  = reflect.TypeFor[json.Unmarshaler]()
	textOwn  = reflect.TypeFor[encoding.TextUnmarshaler]()
	rawJSON  = reflect.TypeFor[json.RawMessage]()
	anything = reflect.TypeFor[any]()
)

// value counts a value that is decoded into a type, nil for none.
func (s *jsonScanner) value(t reflect.Type, depth int) error {
	if depth > s.deepest {
		return errDepth
	}
	begin, c := s.at, s.next()
	if t != nil && c != 'n' {
		var err error
		if t, err = s.allocated(t); err != nil {
			return err
		}
	}
	own := t != nil && (t == rawJSON || t != timeType && (reflect.PointerTo(t).Implements(jsonOwn) || reflect.PointerTo(t).Implements(textOwn)))
	if own {
		// Its own decoder gets a copy, and may make one.
		if err := s.value(nil, depth); err != nil {
			return err
		}
		const copies = 2
		return s.add(copies * int64(s.at-begin))
	}
	if t == anything {
		const header = 24 // of a list, which is the largest
		if err := s.add(header); err != nil {
			return err
		}
	}
	if s.lenient && t != nil && t != timeType && !own && !fits(t, c) {
		if err := s.add(mismatch); err != nil {
			return err
		}
		t = nil
	}
	if t != nil && t != timeType && !own && !fits(t, c) {
		// The decoder would go on, and make an error for each.
		return fmt.Errorf("the value at byte %d does not fit: it is to be a %s", s.at, t.Kind())
	}
	switch c {
	case '{':
		return s.object(t, depth)
	case '[':
		return s.list(t, depth)
	case '"':
		text, err := s.string()
		if err != nil || t == nil {
			return err
		}
		copies := s.copies
		if bytes.IndexByte(text, '\\') >= 0 {
			copies = 3 // one without its escapes, for which there is some room
		}
		return s.text(len(text)-len(`""`), copies)
	case 0:
		return errCut
	case ',', ':', ']', '}':
		return fmt.Errorf("%q at byte %d is not a value", c, s.at)
	}
	literal := s.literal()
	if t == nil || c == 'n' {
		return nil
	}
	var err error
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		_, err = strconv.ParseInt(string(literal), 10, t.Bits())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		_, err = strconv.ParseUint(string(literal), 10, t.Bits())
	case reflect.Interface:
		if s.lenient { // the decoder may keep the text
			return s.text(len(literal), 1)
		}
	}
	if err != nil && s.lenient {
		return s.add(mismatch)
	}
	return err
}

// literal passes a number, or a word.
func (s *jsonScanner) literal() []byte {
	begin := s.at
	for s.at < len(s.input) {
		switch s.input[s.at] {
		case ' ', '\t', '\n', '\r', ',', ']', '}', ':', '"', '{', '[':
			return s.input[begin:s.at]
		}
		s.at++
	}
	return s.input[begin:]
}

// fits reports whether a value that begins with a byte can be decoded into a type.
func fits(t reflect.Type, first byte) bool {
	if t == anything || first == 'n' || first == 0 {
		return true
	}
	kind := t.Kind()
	switch first {
	case '{':
		return kind == reflect.Struct || kind == reflect.Map
	case '[':
		return kind == reflect.Slice || kind == reflect.Array
	case '"':
		return kind == reflect.String || kind == reflect.Slice && t.Elem().Kind() == reflect.Uint8
	case 't', 'f':
		return kind == reflect.Bool
	}
	return kind >= reflect.Int && kind <= reflect.Float64
}

func (s *jsonScanner) object(t reflect.Type, depth int) error {
	var of fields
	var table reflect.Type
	switch {
	case t == nil:
	case t.Kind() == reflect.Struct:
		of = fieldsOf(t, "json")
	case t.Kind() == reflect.Map:
		table = t
	case t == anything:
		table = anyTable
	}
	if table != nil {
		if err := s.table(); err != nil {
			return err
		}
	}
	s.at++
	for n := 0; ; n++ {
		c := s.next()
		if c == '}' {
			s.at++
			return nil
		}
		if n > 0 {
			if c != ',' {
				return fmt.Errorf("byte %d ends no member of an object", s.at)
			}
			s.at++
			c = s.next()
		}
		if c != '"' {
			return fmt.Errorf("byte %d begins no name of a member", s.at)
		}
		written, err := s.string()
		if err != nil {
			return err
		}
		if s.next() != ':' {
			return fmt.Errorf("byte %d is not a colon", s.at)
		}
		s.at++
		var is reflect.Type
		switch {
		case of != nil:
			name := written[1 : len(written)-1]
			const escaped, search = 512, 128 // what reading one takes, and the decoder's search for a field that is written in another way
			if bytes.IndexByte(name, '\\') >= 0 {
				var text string
				if err := errors.Join(s.add(escaped), json.Unmarshal(written, &text)); err != nil {
					return err
				}
				name = []byte(text)
			}
			field, ok := of.find(name)
			if !ok && s.strict {
				return fmt.Errorf("unknown field %.60q", name)
			}
			if of[string(name)].Type == nil {
				if err := s.add(search); err != nil {
					return err
				}
			}
			if is = field.Type; depth == 0 && len(field.Index) == 1 {
				s.field = field.Index[0]
			}
		case table != nil:
			is = table.Elem()
			if err := errors.Join(s.entry(table, n), s.text(len(written), 1)); err != nil {
				return err
			}
		}
		if err := s.value(is, depth+1); err != nil {
			return err
		}
		if depth == 0 {
			s.field = noField
		}
	}
}

func (s *jsonScanner) list(t reflect.Type, depth int) error {
	var element reflect.Type
	switch {
	case t == nil:
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Array:
		element = t.Elem()
	case t == anything:
		element = anyList.Elem()
	}
	times, isKnown := int64(grows), !s.lenient && t != nil && t.Kind() == reflect.Slice && (depth == 0 || depth == 1 && s.field != noField)
	if isKnown {
		times = 1
	}
	s.at++
	for n := 0; ; n++ {
		c := s.next()
		if c == ']' {
			s.at++
			if isKnown && depth == 0 {
				s.length = n
			} else if isKnown {
				s.lengths[s.field] = max(n, s.lengths[s.field])
			}
			return nil
		}
		if n > 0 {
			if c != ',' {
				return fmt.Errorf("byte %d ends no element of a list", s.at)
			}
			s.at++
		}
		if element != nil {
			if err := s.element(element, times); err != nil {
				return err
			}
		}
		if err := s.value(element, depth+1); err != nil {
			return err
		}
	}
}
