// Package urn builds and reads resource names: urn:pulumi:<stack>::<project>::<type>::<name>,
// where <type> is the chain of the ancestors' types and the resource's own,
// joined by "$". The grammar is Pulumi's, so that stacks move over unchanged.
package urn

import "strings"

// URN is the unique name of a resource in a stack.
type URN string

const prefix = "urn:pulumi:"

// RootType is the type of the resource that is the root of a stack. It is left
// out of the type chain of its children.
const RootType = "pulumi:pulumi:Stack"

// New returns the URN of a resource. parent is the URN of its parent, empty
// where it has none.
func New(stack, project string, parent URN, typ, name string) URN {
	if parent != "" {
		if pt := parent.QualifiedType(); pt != RootType {
			typ = pt + "$" + typ
		}
	}
	return URN(prefix + stack + "::" + project + "::" + typ + "::" + name)
}

// SyntaxError reports a string that is not a URN, with what is wrong in it.
type SyntaxError struct {
	Input  string
	Reason string
}

func (e *SyntaxError) Error() string {
	return "invalid URN " + quote(e.Input) + ": " + e.Reason
}

// Parse checks that s is a URN.
func Parse(s string) (URN, error) {
	if !strings.HasPrefix(s, prefix) {
		return "", &SyntaxError{s, `it must start with "urn:pulumi:"`}
	}
	parts := strings.SplitN(s[len(prefix):], "::", 4)
	if len(parts) != 4 {
		return "", &SyntaxError{s, "it must have the form urn:pulumi:<stack>::<project>::<type>::<name>"}
	}
	for i, what := range [...]string{"stack", "project", "type"} {
		if parts[i] == "" {
			return "", &SyntaxError{s, "its " + what + " is empty"}
		}
	}
	for _, t := range strings.Split(parts[2], "$") {
		if t == "" {
			return "", &SyntaxError{s, "its type chain has an empty type"}
		}
	}
	return URN(s), nil
}

// part returns the i-th "::"-separated part; the last one (3) is the rest,
// since a name may contain "::".
func (u URN) part(i int) string {
	s, ok := strings.CutPrefix(string(u), prefix)
	if !ok {
		return ""
	}
	parts := strings.SplitN(s, "::", 4)
	if i >= len(parts) {
		return ""
	}
	return parts[i]
}

// Stack returns the name of the stack.
func (u URN) Stack() string { return u.part(0) }

// Project returns the name of the project.
func (u URN) Project() string { return u.part(1) }

// QualifiedType returns the chain of types, root first: A$B$C.
func (u URN) QualifiedType() string { return u.part(2) }

// Type returns the resource's own type, the last of the chain.
func (u URN) Type() string {
	q := u.QualifiedType()
	return q[strings.LastIndexByte(q, '$')+1:]
}

// Name returns the resource's name; it may contain "::".
func (u URN) Name() string { return u.part(3) }

// quote is strconv.Quote for messages, without linking strconv's tables into guests.
func quote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }
