// Package jsonerror explains errors of encoding/json in words of JSON, for people who do not know the Go types.
package jsonerror

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"
)

// explained is an error of encoding/json with another message.
type explained struct {
	message string
	cause   error
}

func (e *explained) Error() string { return e.message }
func (e *explained) Unwrap() error { return e.cause }

// Explain returns the explanation of an error about the text, with its line and column if known. Other
// errors, and nil, stay as they are.
func Explain(text []byte, err error) error {
	if err == nil {
		return nil
	}
	message := ""
	switch syntax, _ := errors.AsType[*json.SyntaxError](err); {
	case errors.Is(err, io.EOF):
		message = "it is empty"
	case errors.Is(err, io.ErrUnexpectedEOF), syntax != nil && syntax.Error() == "unexpected end of JSON input":
		message = "it ends too early: a bracket, a brace, or a quote is not closed"
		if len(strings.TrimSpace(string(text))) == 0 {
			message = "it is empty"
		}
	case syntax != nil:
		message = place(text, syntax.Offset) + syntax.Error()
	default:
		message = mismatch(text, err)
	}
	if message == "" {
		return err
	}
	return &explained{message, err}
}

// Unmarshal reads a whole text. It refuses members of objects that v does not have.
func Unmarshal(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return Explain(text, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after the end of the JSON")
	}
	return nil
}

// mismatch returns the message for JSON of another form than expected, empty for other errors.
func mismatch(text []byte, err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		name := "it"
		if at := strings.LastIndexByte(wrong.Field, '.'); wrong.Field != "" {
			name = fmt.Sprintf("%q", wrong.Field[at+1:])
		}
		is, number, _ := strings.Cut(wrong.Value, " ")
		if number != "" && kindOf(wrong.Type) == kind(is) { // a fraction, or out of range
			return fmt.Sprintf("%s%s cannot be %s", place(text, wrong.Offset), name, number)
		}
		return fmt.Sprintf("%s%s is %s, and is to be %s", place(text, wrong.Offset), name, kind(is), kindOf(wrong.Type))
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return "there is no member " + name + " here"
	}
	return ""
}

// kind returns a kind of JSON by its name in encoding/json.
func kind(name string) string {
	switch name {
	case "bool":
		return "a boolean"
	case "array", "object":
		return "an " + name
	}
	return "a " + name
}

// kindOf returns the kind of JSON that is read into a Go type.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.Bool:
		return "a boolean"
	case reflect.String:
		return "a string"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "an array"
	}
	return "a number"
}

// place returns the line and column of the character that ends at an offset, empty outside of the text.
func place(text []byte, offset int64) string {
	if offset < 1 || offset > int64(len(text)) {
		return ""
	}
	before := string(text[:offset])
	line := before[strings.LastIndexByte(before[:len(before)-1], '\n')+1:]
	return fmt.Sprintf("line %d, column %d: ", 1+strings.Count(before[:len(before)-1], "\n"), utf8.RuneCountInString(line))
}
