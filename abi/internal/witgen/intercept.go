package main

import (
	"slices"
	"strings"

	"go.bytecodealliance.org/wit"
)

// writeCalls writes what a call of a provider is: the table of the methods, the roles of
// property maps, and the provider each of whose methods is an abi.Call.
func writeCalls(c *contract, s *source) {
	if c.writeMethods(s); s.err != nil {
		return
	}
	writeRoles(s)
	written := make(map[*wit.TypeDef]bool)
	provider := c.interfaces("provider")[0]
	for _, f := range c.functions(provider) {
		if len(f.Params) > 1 {
			s.fail("%s: a method of a provider takes one request", f.Name)
			return
		}
		for _, p := range f.Params {
			c.writeRequest(s, f, p.Type, written)
		}
		if f.result != nil {
			c.writeResponse(s, f.result, written)
		}
	}
	for _, t := range c.interfaces("types")[0].TypeDefs.All() {
		if t.TypeName() == "init-failure" {
			c.writeResponse(s, t, written)
		}
	}
	for _, f := range c.functions(provider) {
		c.writeMethodCall(s, f)
	}
}

// writeMethods writes the methods of all worlds, which are the same if they have one name.
func (c *contract) writeMethods(s *source) {
	var names []string
	facts := make(map[string][]string)
	for _, i := range c.exported() {
		for _, f := range c.functions(i) {
			found := annotation(s, *i.Name+"#"+f.Name, f.Docs.Contents, "@kind", "@about")
			if s.err != nil {
				return
			}
			if earlier := facts[f.Name]; earlier == nil {
				names, facts[f.Name] = append(names, f.Name), found
			} else if !slices.Equal(earlier, found) {
				s.fail("%s#%s has other annotations than the method of that name in another world", *i.Name, f.Name)
			}
		}
	}
	s.f("// The methods of providers, policy packs, and programs.")
	s.f("const (")
	for _, name := range names {
		s.f("Method%s Method = %q", goName(name), name)
	}
	s.f(")\n")
	s.f("// Methods has all methods of providers, policy packs, and programs.")
	s.f("var Methods = [...]Method{")
	for _, name := range names {
		s.f("Method%s,", goName(name))
	}
	s.f("}\n")
	s.f("// facts returns what the contract says of a method.")
	s.f("func (m Method) facts() methodFacts {\nswitch m {")
	for _, name := range names {
		s.f("case Method%s:\nreturn methodFacts{Kind%s, About%s}", goName(name), goName(facts[name][0]), goName(facts[name][1]))
	}
	s.f("}\nreturn methodFacts{}\n}\n")
}

func writeRoles(s *source) {
	s.f("// The roles of the property maps of requests, and then those of responses.")
	s.f("const (")
	for n, role := range annotations["@role"] {
		suffix := ""
		if n == 0 {
			suffix = " Role = iota + 1"
		}
		s.f("Role%s%s", goName(role), suffix)
	}
	s.f(")\n")
}

// recordOnce returns the record that a type is, nil if it was written.
func recordOnce(t wit.Type, written map[*wit.TypeDef]bool) *wit.Record {
	td, ok := t.(*wit.TypeDef)
	if !ok || written[td.Root()] {
		return nil
	}
	written[td.Root()] = true
	r, _ := kind(t).(*wit.Record)
	return r
}

// writeRequest writes what a request is about, and the access to its property maps.
func (c *contract) writeRequest(s *source, f function, t wit.Type, written map[*wit.TypeDef]bool) {
	r := recordOnce(t, written)
	if r == nil {
		return
	}
	name := c.goType(t, "")
	var subject []string
	for _, field := range r.Fields {
		at := "r." + goName(field.Name)
		switch field.Name {
		case "urn", "id", "preview":
			subject = append(subject, goName(field.Name)+": "+at)
		case "type", "token":
			subject = append(subject, "Token: "+at)
		case "context":
			subject = append(subject, "Preview: "+at+".DryRun")
		}
		if c.goType(field.Type, "") == "[]PropertyDependency" {
			s.f("func (r *%s) dependencies() *[]PropertyDependency { return &%s }\n", name, at)
		}
	}
	about := annotation(s, f.Name, f.Docs.Contents, "@kind", "@about")[1]
	token := slices.ContainsFunc(r.Fields, func(f wit.Field) bool { return f.Name == "type" || f.Name == "token" })
	if !token && (about == "resource" || about == "function" || about == "component") {
		s.fail("%s: a request about a %s needs a field type or token, which says of what kind that is", name, about)
	}
	if len(subject) > 0 {
		s.f("func (r *%s) subject() Subject { return Subject{%s} }\n", name, strings.Join(subject, ", "))
	}
	writeProperties(s, name, r, requestRoles)
}

func (c *contract) writeResponse(s *source, t wit.Type, written map[*wit.TypeDef]bool) {
	r := recordOnce(t, written)
	if r == nil {
		return
	}
	name := c.goType(t, "")
	writeProperties(s, name, r, responseRoles)
	for _, field := range r.Fields {
		if c.goType(field.Type, "") == "[]CheckFailure" {
			s.f("func (r *%s) checkFailures() *[]CheckFailure { return &r.%s }\n", name, goName(field.Name))
		}
	}
}

func writeProperties(s *source, name string, r *wit.Record, roles []string) {
	body := &source{}
	for _, field := range r.Fields {
		where := name + "." + goName(field.Name)
		is, optional := propertyMap(field.Type)
		switch {
		case is:
			role := annotation(s, where, field.Docs.Contents, "@role")[0]
			if !slices.Contains(roles, role) {
				s.fail("%s cannot have the role %s: it is one of %s", where, role, strings.Join(roles, ", "))
				return
			}
			at := "r." + goName(field.Name)
			if optional {
				body.f("list = appendOptional(list, Role%s, &%s)", goName(role), at)
			} else {
				body.f("list = append(list, Properties{Role: Role%s, required: &%s})", goName(role), at)
			}
		case holdsProperties(field.Type):
			s.fail("%s has property maps inside of it, which nothing would see: put them into the record itself", where)
		}
	}
	if body.Len() > 0 {
		s.f("func (r *%s) properties(list []Properties) []Properties {", name)
		s.Write(body.Bytes())
		s.f("return list\n}\n")
	}
}

// writeMethodCall writes a method of the provider whose methods are calls.
func (c *contract) writeMethodCall(s *source, f function) {
	request, method := "struct{}{}", "Provider."+f.goName
	if len(f.Params) > 0 {
		request = f.params[0]
	}
	switch {
	case len(f.Params) == 0:
		method = "empty(" + method + ")"
	case f.result == nil:
		method = "answerless(" + method + ")"
	}
	signature := c.signature(f, "", true)
	s.f("func (p *callProvider) %s%s {", f.goName, signature)
	if f.result == nil {
		s.f("_, err := serveCall(ctx, p, Method%s, %s, %s)\nreturn err", f.goName, request, method)
	} else {
		s.f("return serveCall(ctx, p, Method%s, %s, %s)", f.goName, request, method)
	}
	s.f("}\n")
}
