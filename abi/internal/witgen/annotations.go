package main

import (
	"fmt"
	"slices"
	"strings"

	"go.bytecodealliance.org/wit"
)

// The values that annotations may have. An annotation is a line of a doc comment in the
// WIT: its name with an @, and its value.
var annotations = map[string][]string{
	"@kind":  {"asks", "reads", "changes", "sets-up"},
	"@about": {"package", "configuration", "resource", "function", "component"},
	"@role":  append(slices.Clone(requestRoles), responseRoles...),
}

// The roles of property maps.
var (
	requestRoles  = []string{"new", "old-inputs", "old-state"}
	responseRoles = []string{"checked", "inputs", "state", "result"}
)

// annotated returns the text of a doc comment without its annotations, and their values.
func annotated(doc string) (text string, values map[string]string, err error) {
	var lines []string
	for _, line := range strings.Split(doc, "\n") {
		if !strings.HasPrefix(line, "@") {
			lines = append(lines, line)
			continue
		}
		name, value, _ := strings.Cut(line, " ")
		switch {
		case !slices.Contains(annotations[name], value):
			return "", nil, fmt.Errorf("there is no annotation %q; of %s there are %s", line, name, strings.Join(annotations[name], ", "))
		case values[name] != "":
			return "", nil, fmt.Errorf("there are two annotations %s", name)
		case values == nil:
			values = make(map[string]string)
		}
		values[name] = value
	}
	return strings.TrimSpace(strings.Join(lines, "\n")), values, nil
}

// annotation returns the value of one annotation of a doc comment that must have it and no
// other, as [source.fail] reports otherwise.
func annotation(s *source, what, doc string, names ...string) []string {
	_, values, err := annotated(doc)
	if err != nil {
		s.fail("%s: %w", what, err)
	}
	found := make([]string, len(names))
	for n, name := range names {
		if found[n] = values[name]; found[n] == "" {
			s.fail("%s needs the annotation %s in its WIT comment: one of %s", what, name, strings.Join(annotations[name], ", "))
		}
	}
	if len(values) > len(names) {
		s.fail("%s has annotations that are not for it: %v", what, values)
	}
	return found
}

// propertyMap reports whether a type is a property map, and whether that may be absent.
func propertyMap(t wit.Type) (is, optional bool) {
	if option, ok := kind(t).(*wit.Option); ok {
		is, _ = propertyMap(option.Type)
		return is, true
	}
	td, ok := t.(*wit.TypeDef)
	return ok && td.Root().TypeName() == "properties", false
}

// holdsProperties reports whether a type has property maps in it.
func holdsProperties(t wit.Type) bool {
	if is, _ := propertyMap(t); is {
		return true
	}
	switch k := wit.Despecialize(kind(t)).(type) {
	case *wit.Record:
		return slices.ContainsFunc(k.Fields, func(f wit.Field) bool { return holdsProperties(f.Type) })
	case *wit.Variant:
		return slices.ContainsFunc(k.Cases, func(c wit.Case) bool { return c.Type != nil && holdsProperties(c.Type) })
	case *wit.List:
		return holdsProperties(k.Type)
	}
	return false
}
