package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// builder appends compact JSON. The first error sticks.
type builder struct {
	buf   []byte
	comma bool // a comma is due before the next name or element
	err   error
}

func (b *builder) separate() {
	if b.comma {
		b.buf = append(b.buf, ',')
	}
	b.comma = true
}

func (b *builder) open(bracket byte) {
	b.separate()
	b.buf = append(b.buf, bracket)
	b.comma = false
}

func (b *builder) close(bracket byte) {
	b.buf = append(b.buf, bracket)
	b.comma = true
}

func (b *builder) name(name string) {
	b.string(name)
	b.buf = append(b.buf, ':')
	b.comma = false
}

func (b *builder) string(s string) {
	b.separate()
	var err error
	if b.buf, err = jsontext.AppendQuote(b.buf, s); err != nil && b.err == nil {
		b.err = err // invalid UTF-8
	}
}

func (b *builder) bool(v bool) {
	b.separate()
	b.buf = strconv.AppendBool(b.buf, v)
}

func (b *builder) null() {
	b.separate()
	b.buf = append(b.buf, "null"...)
}

// number appends a finite number as Pulumi writes it.
func (b *builder) number(f float64) {
	b.separate()
	if f == 0 && math.Signbit(f) {
		b.buf = append(b.buf, "-0"...)
		return
	}
	b.buf = jsontext.AppendFloat(b.buf, f, 64)
}

func (b *builder) uint(n uint64) {
	b.separate()
	b.buf = strconv.AppendUint(b.buf, n, 10)
}

func (b *builder) raw(json []byte) {
	b.separate()
	b.buf = append(b.buf, json...)
}

func (b *builder) text(json string) {
	b.separate()
	b.buf = append(b.buf, json...)
}

// line begins the next element on a line of its own: people compare documents by line.
func (b *builder) line() {
	b.separate()
	b.comma = false
	b.buf = append(b.buf, '\n')
}

func (b *builder) optionalString(name, s string) {
	if s != "" {
		b.name(name)
		b.string(s)
	}
}

// stringArray appends an array, null for a nil list.
func stringArray[S ~string](b *builder, list []S) {
	if list == nil {
		b.null()
		return
	}
	b.open('[')
	for _, s := range list {
		b.string(string(s))
	}
	b.close(']')
}

// A DecodeError reports a place in a state's JSON that cannot be read.
type DecodeError struct {
	// Pointer leads to the place, such as /deployment/resources/3/inputs/password.
	Pointer string
	// Offset is the place in the JSON, in bytes. In a secret it is the place of the secret.
	Offset int64
	Reason string
	// Cause is the error beneath, if any: a secret that cannot be decrypted.
	Cause error
}

func (e *DecodeError) Error() string {
	where := e.Pointer
	if where == "" {
		where = "/"
	}
	msg := fmt.Sprintf("reading the state at %s (byte %d): %s", where, e.Offset, e.Reason)
	if e.Cause != nil {
		msg += ": " + e.Cause.Error()
	}
	return msg
}

func (e *DecodeError) Unwrap() error { return e.Cause }

// reader reads JSON without duplicate names (RFC 7493). Its errors are *DecodeErrors.
type reader struct {
	data []byte
	// text is data if strings are to be parts of it, else empty.
	text string
	dec  *jsontext.Decoder
	// last is the decoder of the last resource, nil before the first.
	last *decoder
	// pointer and offset are where data begins in the document.
	pointer string
	offset  int64
}

func newReader(data []byte, pointer string, offset int64) *reader {
	return &reader{data: data, dec: jsontext.NewDecoder(bytes.NewBuffer(data)), pointer: pointer, offset: offset}
}

// fail returns the error that the value read last is wrong.
func (r *reader) fail(reason string) error {
	return r.wrap(reason, nil)
}

// wrap returns the error that the value read last is wrong because of cause.
func (r *reader) wrap(reason string, cause error) error {
	return &DecodeError{Pointer: r.pointer + string(r.dec.StackPointer()), Offset: r.offset + r.dec.InputOffset(), Reason: reason, Cause: cause}
}

func (r *reader) failf(format string, args ...any) error { return r.fail(fmt.Sprintf(format, args...)) }

// syntax returns the error of the JSON decoder.
func (r *reader) syntax(err error) error {
	out := &DecodeError{Pointer: r.pointer + string(r.dec.StackPointer()), Offset: r.offset + r.dec.InputOffset(), Reason: err.Error()}
	var s *jsontext.SyntacticError
	if errors.As(err, &s) {
		out.Pointer = r.pointer + string(s.JSONPointer)
		out.Offset = r.offset + s.ByteOffset
		out.Reason = s.Err.Error()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		out.Reason = "the JSON ends in the middle"
	}
	return out
}

// kind returns the kind of the next value without reading it.
func (r *reader) kind() jsontext.Kind { return r.dec.PeekKind() }

// token reads the next token, which must be of the kind. what names the kind.
func (r *reader) token(kind jsontext.Kind, what string) (jsontext.Token, error) {
	if got := r.kind(); got != kind {
		if got == jsontext.KindInvalid {
			_, err := r.dec.ReadToken()
			return jsontext.Token{}, r.syntax(err)
		}
		if err := r.dec.SkipValue(); err != nil {
			return jsontext.Token{}, r.syntax(err)
		}
		return jsontext.Token{}, r.failf("expected %s, not %s", what, kindName(got))
	}
	t, err := r.dec.ReadToken()
	if err != nil {
		return t, r.syntax(err)
	}
	return t, nil
}

func kindName(k jsontext.Kind) string {
	switch k {
	case jsontext.KindNull:
		return "null"
	case jsontext.KindTrue, jsontext.KindFalse:
		return "a bool"
	case jsontext.KindString:
		return "a string"
	case jsontext.KindNumber:
		return "a number"
	case jsontext.KindBeginObject:
		return "an object"
	case jsontext.KindBeginArray:
		return "an array"
	}
	return "the end"
}

// null reads a null if it is next, and reports whether it was.
func (r *reader) null() bool {
	if r.kind() != jsontext.KindNull {
		return false
	}
	_, err := r.dec.ReadToken()
	return err == nil
}

func (r *reader) string() (string, error) {
	if r.kind() != jsontext.KindString {
		_, err := r.token(jsontext.KindString, "a string")
		return "", err
	}
	quoted, err := r.dec.ReadValue()
	if err != nil {
		return "", r.syntax(err)
	}
	if bytes.IndexByte(quoted, '\\') >= 0 {
		unquoted, err := jsontext.AppendUnquote(nil, quoted)
		return string(unquoted), err
	}
	if r.text == "" {
		return string(quoted[1 : len(quoted)-1]), nil
	}
	end := r.dec.InputOffset()
	return r.text[end-int64(len(quoted))+1 : end-1], nil
}

// optionalString reads a string or null, which is "".
func (r *reader) optionalString() (string, error) {
	if r.null() {
		return "", nil
	}
	return r.string()
}

// optionalBool reads a bool or null, which is false.
func (r *reader) optionalBool() (bool, error) {
	switch r.kind() {
	case jsontext.KindTrue, jsontext.KindFalse:
		t, err := r.dec.ReadToken()
		if err != nil {
			return false, r.syntax(err)
		}
		return t.Bool(), nil
	case jsontext.KindNull:
		return false, r.skip()
	}
	_, err := r.token(jsontext.KindTrue, "a bool")
	return false, err
}

func (r *reader) number() (float64, error) {
	t, err := r.token(jsontext.KindNumber, "a number")
	if err != nil {
		return 0, err
	}
	f, err := strconv.ParseFloat(t.String(), 64)
	if err != nil {
		return 0, r.fail("the number is too large for a double")
	}
	return f, nil
}

// uint reads an integer below 2^53.
func (r *reader) uint() (uint64, error) {
	t, err := r.token(jsontext.KindNumber, "a number")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(t.String(), 10, 64)
	if err != nil || n >= maxNumber {
		return 0, r.fail("expected an integer from 0 to 2^53-1")
	}
	return n, nil
}

// object reads an object, or null. It calls member with each name; member reads the value.
func (r *reader) object(member func(name string) error) error {
	if r.null() {
		return nil
	}
	if _, err := r.token(jsontext.KindBeginObject, "an object"); err != nil {
		return err
	}
	for r.kind() == jsontext.KindString {
		name, err := r.string()
		if err != nil {
			return err
		}
		if err := member(name); err != nil {
			return err
		}
	}
	_, err := r.token(jsontext.KindEndObject, "the end of an object")
	return err
}

// array reads an array, or null. It calls element for each element; element reads it.
func (r *reader) array(element func(i int) error) error {
	if r.null() {
		return nil
	}
	if _, err := r.token(jsontext.KindBeginArray, "an array"); err != nil {
		return err
	}
	for i := 0; r.kind() != jsontext.KindEndArray; i++ {
		if r.kind() == jsontext.KindInvalid {
			break
		}
		if err := element(i); err != nil {
			return err
		}
	}
	_, err := r.token(jsontext.KindEndArray, "the end of an array")
	return err
}

// stringList reads an array of strings; null is nil, and an empty array is not.
func stringList[S ~string](r *reader) ([]S, error) {
	if r.null() {
		return nil, nil
	}
	out := []S{}
	err := r.array(func(int) error {
		s, err := r.string()
		out = append(out, S(s))
		return err
	})
	return out, err
}

// raw reads a value and returns its JSON.
func (r *reader) raw() (json.RawMessage, error) {
	v, err := r.dec.ReadValue()
	if err != nil {
		return nil, r.syntax(err)
	}
	return bytes.Clone(v), nil
}

// section is a value that was passed over, to be read later.
type section struct {
	value   []byte // nil if there is none
	pointer string
	offset  int64
}

// section passes over a value.
func (r *reader) section() (section, error) {
	v, err := r.dec.ReadValue()
	if err != nil {
		return section{}, r.syntax(err)
	}
	end := r.dec.InputOffset()
	start := end - int64(len(v))
	return section{
		value:   r.data[start:end:end],
		pointer: r.pointer + string(r.dec.StackPointer()),
		offset:  r.offset + start,
	}, nil
}

func (s section) reader() *reader { return newReader(s.value, s.pointer, s.offset) }

func (r *reader) skip() error {
	if err := r.dec.SkipValue(); err != nil {
		return r.syntax(err)
	}
	return nil
}

// end checks that nothing follows.
func (r *reader) end() error {
	if _, err := r.dec.ReadToken(); err == nil {
		return r.fail("there is more after the end of the JSON")
	} else if err != io.EOF {
		return r.syntax(err)
	}
	return nil
}
