// Package docs has the doc comments of an author's types and functions, so that they
// describe the properties, resources, and functions of the schema. A module has no source
// to read them from when it runs; `husk provider build` writes them into text.go of the
// build, and nowhere else.
package docs

import (
	"reflect"
	"runtime"
	"strings"
)

// Describe returns a text that the author gave, or the comment of that name.
func Describe(given string, name ...string) string {
	if Text == "" {
		return given // and the compiler leaves out the rest
	}
	if given != "" {
		return given
	}
	return Find(Text, strings.Join(name, "."))
}

// Type returns the description of a type: given, or its comment.
func Type(given string, t reflect.Type) string {
	if Text == "" {
		return given // and the compiler leaves out the rest
	}
	if given != "" {
		return given
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return Find(Text, t.PkgPath()+"."+t.Name())
}

// Function returns the description of a function: given, or its comment.
func Function(given string, function reflect.Value) string {
	if Text == "" {
		return given // and the compiler leaves out the rest
	}
	if given != "" {
		return given
	}
	f := runtime.FuncForPC(function.Pointer())
	if f == nil {
		return ""
	}
	// The name of a method value ends in -fm, and the dots of a path are escaped.
	return Find(Text, strings.ReplaceAll(strings.TrimSuffix(f.Name(), "-fm"), "%2e", "."))
}

// Find returns the comment of a name in a text like [Text], "" if there is none.
func Find(text, name string) string {
	for len(text) > 0 {
		start := strings.LastIndexByte(text[:len(text)/2], '\n') + 1
		line, rest, _ := strings.Cut(text[start:], "\n")
		found, comment, _ := strings.Cut(line, "\t")
		switch {
		case found == name:
			return strings.ReplaceAll(comment, "\v", "\n")
		case found < name:
			text = rest
		default:
			text = text[:start]
		}
	}
	return ""
}
