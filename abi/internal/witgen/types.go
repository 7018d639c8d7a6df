package main

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"go.bytecodealliance.org/wit"
)

func writeTypes(interfaces ...string) func(*contract, *source) {
	return func(c *contract, s *source) {
		for _, i := range c.interfaces(interfaces...) {
			for _, t := range i.TypeDefs.All() {
				if c.names[t] != "" && foreign[t.TypeName()] == "" {
					c.writeType(s, t)
				}
			}
			if i.Functions.Len() > 0 {
				c.writeInterface(s, i)
			}
		}
	}
}

func (c *contract) writeType(s *source, t *wit.TypeDef) {
	name := c.names[t]
	if name == "Error" {
		return // error.go declares it, with the host's additions
	}
	doc := t.Docs.Contents
	if doc == "" {
		doc = c.roleOf(t)
	} else {
		doc = sentence(s, name, doc)
	}
	if doc == "" {
		s.fail("%s: the type needs a doc comment in the WIT", t.TypeName())
	}
	comment(s, doc)
	switch k := kind(t).(type) {
	case wit.U64:
		s.f("type %s uint64\n", name)
	case *wit.Record:
		s.f("type %s struct {", name)
		for _, f := range k.Fields {
			comment(s, f.Docs.Contents)
			s.f("%s %s", goName(f.Name), c.goType(f.Type, ""))
		}
		s.f("}\n")
	case *wit.Enum:
		var cases []enumCase
		for _, e := range k.Cases {
			cases = append(cases, enumCase{e.Name, e.Docs.Contents})
		}
		writeEnum(s, name, cases)
	case *wit.Variant:
		s.f("type %s struct {", name)
		s.f("// Case says which of the fields below counts.")
		s.f("Case %sCase", name)
		var cases []enumCase
		for _, v := range k.Cases {
			cases = append(cases, enumCase{v.Name, v.Docs.Contents})
			if v.Type != nil {
				comment(s, v.Docs.Contents)
				s.f("%s %s", goName(v.Name), c.goType(v.Type, ""))
			}
		}
		s.f("}\n")
		s.f("// %sCase is the case of a [%s].", name, name)
		writeEnum(s, name+"Case", cases)
	case *wit.Flags:
		s.f("type %s uint32\n\nconst (", name)
		for n, flag := range k.Flags {
			comment(s, flag.Docs.Contents)
			suffix := ""
			if n == 0 {
				suffix = " " + name + " = 1 << iota"
			}
			s.f("%s%s%s", name, goName(flag.Name), suffix)
		}
		s.f(")\n")
	default:
		s.fail("%s: no Go mapping for %T", t.TypeName(), k)
	}
}

type enumCase struct{ name, doc string }

// writeEnum writes an enumeration whose doc comment is written already.
func writeEnum(s *source, name string, cases []enumCase) {
	s.f("type %s uint8\n\nconst (", name)
	for n, e := range cases {
		comment(s, e.doc)
		suffix := ""
		if n == 0 {
			suffix = " " + name + " = iota"
		}
		s.f("%s%s%s", name, goName(e.name), suffix)
	}
	s.f(")\n")
	list := strings.ToLower(name[:1]) + name[1:] + "Names"
	s.f("var %s = [...]string{", list)
	for _, e := range cases {
		s.f("%q,", e.name)
	}
	s.f("}\n")
	s.f("// String returns the name that the contract gives the case.")
	s.f("func (v %s) String() string { return caseName(%s[:], uint8(v)) }\n", name, list)
}

func (c *contract) writeInterface(s *source, i *wit.Interface) {
	name := interfaceNames[*i.Name]
	comment(s, sentence(s, name, i.Docs.Contents))
	s.f("type %s interface {", name)
	for n, f := range c.functions(i) {
		if n > 0 {
			s.f("")
		}
		comment(s, f.Docs.Contents)
		s.f("%s%s", f.goName, c.signature(f, "", true))
	}
	s.f("}\n")
}

// roleOf describes a type without a doc comment by the functions that use it.
func (c *contract) roleOf(t *wit.TypeDef) string {
	var takes, returns []string
	for _, i := range c.resolve.Interfaces {
		for _, f := range c.functions(i) {
			method := "[" + interfaceNames[*i.Name] + "." + f.goName + "]"
			for _, p := range f.Params {
				if td, ok := p.Type.(*wit.TypeDef); ok && td.Root() == t {
					takes = append(takes, method)
				}
			}
			if td, ok := f.result.(*wit.TypeDef); ok && td.Root() == t {
				returns = append(returns, method)
			}
		}
	}
	switch {
	case len(takes) > 0:
		return c.names[t] + " is the request of " + strings.Join(takes, " and ") + "."
	case len(returns) > 0:
		return c.names[t] + " is the response of " + strings.Join(returns, " and ") + "."
	}
	return ""
}

// sentence begins a WIT comment with the Go name, as Go's comments begin.
func sentence(s *source, name, doc string) string {
	word, _, _ := strings.Cut(doc, " ")
	verb := ""
	switch word {
	case "A", "An", "The":
		verb = "is"
	case "How", "What", "When", "Where", "Whether", "Why":
		verb = "says"
	default:
		s.fail("the WIT comment of %s should begin with an article or a question word: %q", name, doc)
		return doc
	}
	r, n := utf8.DecodeRuneInString(doc)
	return name + " " + verb + " " + string(unicode.ToLower(r)) + doc[n:]
}

func comment(s *source, doc string) {
	doc, _, err := annotated(doc)
	if err != nil {
		s.fail("%w", err)
	}
	if doc == "" {
		return
	}
	for _, line := range strings.Split(strings.TrimSpace(doc), "\n") {
		s.f("%s", strings.TrimRight("// "+line, " "))
	}
}

func writeUnimplemented(c *contract, s *source) {
	s.f("// Unimplemented returns an error of kind unimplemented from every method of [Provider].")
	s.f("// Providers embed it and override what they do.")
	s.f("type Unimplemented struct{}\n")
	s.f("var _ Provider = Unimplemented{}\n")
	for _, f := range c.functions(c.interfaces("provider")[0]) {
		zero := ""
		if f.result != nil {
			zero = c.goType(f.result, "") + "{}, "
			if _, ok := kind(f.result).(wit.U64); ok {
				zero = "0, "
			}
		}
		s.f("func (Unimplemented) %s%s {", f.goName, c.signature(f, "", false))
		s.f("return %sunimplemented(%q)", zero, f.Name)
		s.f("}\n")
	}
}
