// Package urn builds and reads resource names: urn:pulumi:<stack>::<project>::<type>::<name>. <type>
// is the chain of the ancestors' types and the resource's own, joined by "$". The grammar is
// Pulumi's, so stacks can move over unchanged.
package urn

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// URN is the unique name of a resource in a stack.
type URN string

const (
	prefix    = "urn:pulumi:"
	separator = "::"
	chain     = "$" // between the types of ancestors
)

// RootType is the type of the root resource of a stack. Type chains leave it out.
const RootType = "pulumi:pulumi:Stack"

// New returns the URN of a resource, whose parent may be empty. Only name may contain "::"; the
// caller checks the rest.
func New(stack, project string, parent URN, typ, name string) URN {
	if parent != "" {
		if pt := parent.QualifiedType(); pt != RootType {
			typ = pt + chain + typ
		}
	}
	return URN(prefix + stack + separator + project + separator + typ + separator + name)
}

// SyntaxError reports a string that is not a URN.
type SyntaxError struct {
	Input  string
	Reason string
}

func (e *SyntaxError) Error() string {
	return "invalid URN " + quote(e.Input) + ": " + e.Reason
}

// Parse checks that s is a URN. A name may be anything, even empty.
func Parse(s string) (URN, error) {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return "", &SyntaxError{s, `it must start with "urn:pulumi:"`}
	}
	if !utf8.ValidString(s) {
		return "", &SyntaxError{s, "it is not valid UTF-8"}
	}
	for _, what := range [...]string{"stack", "project", "type"} {
		part, after, ok := strings.Cut(rest, separator)
		if !ok {
			return "", &SyntaxError{s, "it must have the form urn:pulumi:<stack>::<project>::<type>::<name>"}
		}
		if part == "" {
			return "", &SyntaxError{s, "its " + what + " is empty"}
		}
		if what == "type" && slices.Contains(strings.Split(part, chain), "") {
			return "", &SyntaxError{s, "its type chain has an empty type"}
		}
		rest = after
	}
	return URN(s), nil
}

// parts returns the parts of the URN, empty for other texts. The name may contain separators.
func (u URN) parts() (stack, project, qualifiedType, name string) {
	rest, _ := strings.CutPrefix(string(u), prefix)
	stack, rest, _ = strings.Cut(rest, separator)
	project, rest, _ = strings.Cut(rest, separator)
	qualifiedType, name, ok := strings.Cut(rest, separator)
	if !ok || !strings.HasPrefix(string(u), prefix) {
		return "", "", "", ""
	}
	return stack, project, qualifiedType, name
}

// Stack returns the name of the stack.
func (u URN) Stack() string {
	stack, _, _, _ := u.parts()
	return stack
}

// Project returns the name of the project.
func (u URN) Project() string {
	_, project, _, _ := u.parts()
	return project
}

// QualifiedType returns the chain of types, the outermost ancestor's first: A$B$C.
func (u URN) QualifiedType() string {
	_, _, qualifiedType, _ := u.parts()
	return qualifiedType
}

// Type returns the resource's own type, the last of the chain.
func (u URN) Type() string {
	q := u.QualifiedType()
	return q[strings.LastIndex(q, chain)+1:]
}

// Name returns the resource's name; it may contain "::".
func (u URN) Name() string {
	_, _, _, name := u.parts()
	return name
}

// quote quotes s for a message, without control characters.
func quote(s string) string {
	printable := strings.Map(func(r rune) rune {
		if r < 0x20 || 0x7f <= r && r < 0xa0 {
			return utf8.RuneError
		}
		return r
	}, s)
	return `"` + strings.ReplaceAll(printable, `"`, `\"`) + `"`
}
