package main

import (
	"slices"
	"strings"

	"go.bytecodealliance.org/wit"
)

func writeClients(c *contract, s *source) {
	for _, i := range c.callable() {
		name := interfaceNames[*i.Name]
		client := lowerFirst(name) + "Client"
		s.f("type %s struct{ caller Caller }\n", client)
		s.f("// New%s returns the %s on the other side.", name, *i.Name)
		s.f("func New%s(caller Caller) abi.%s { return %s{caller} }\n", name, name, client)
		for _, f := range c.functions(i) {
			s.f("func (c %s) %s {", client, f.goName+c.clientSignature(f))
			lower, lift := "nil", "nil"
			if len(f.Params) > 0 {
				lower = closure(s, "w *lowerer, b []byte", func(s *source) { c.lowerParams(s, f) })
			}
			if f.result != nil {
				lift = closure(s, "l *lifter, b []byte", func(s *source) {
					c.liftField(s, f.result, 0, "", "v")
				})
			}
			call := "call(ctx, c.caller, &" + c.variable(i, f) + ",\n" + lower + ",\n" + lift + ")"
			f.writeReturn(s, call, "_ = ")
			s.f("}\n")
		}
	}
}

// writeReturn writes a call that sets the result v, and the return of a method. A call of a function
// that cannot fail gets the prefix.
func (f function) writeReturn(s *source, call, prefix string) {
	switch {
	case f.result != nil && f.fails:
		s.f("err = %s\nreturn v, err", call)
	case f.fails:
		s.f("return %s", call)
	case f.result != nil:
		s.f("%s%s\nreturn v", prefix, call)
	default:
		s.f("%s%s", prefix, call)
	}
}

func closure(s *source, params string, body func(*source)) string {
	inner := &source{}
	inner.f("func(%s) {", params)
	body(inner)
	inner.WriteString("}")
	if inner.err != nil {
		s.err = inner.err
	}
	return inner.String()
}

// clientSignature names the results, so that lifting can assign them.
func (c *contract) clientSignature(f function) string {
	text := c.signature(f, "abi.", true)
	if f.result == nil {
		return text
	}
	params, _, _ := strings.Cut(text, ")")
	result := "v " + c.goType(f.result, "abi.")
	if f.fails {
		result += ", err error"
	}
	return params + ") (" + result + ")"
}

func (c *contract) eachParam(f function, do func(p wit.Param, name string, offset uintptr)) {
	offset := uintptr(0)
	for n, p := range f.Params {
		offset = wit.Align(offset, p.Type.Align())
		do(p, f.params[n], offset)
		offset += p.Type.Size()
	}
}

func (c *contract) lowerParams(s *source, f function) {
	c.eachParam(f, func(p wit.Param, name string, offset uintptr) {
		c.lowerField(s, p.Type, offset, p.Name, name)
	})
}

// writeServers writes a function for each function of the contract, which serves it.
func writeServers(c *contract, s *source) {
	for _, i := range c.callable() {
		name := interfaceNames[*i.Name]
		exported := slices.Contains(c.exported(), i)
		for _, f := range c.functions(i) {
			if exported {
				s.f("func serve%s%s(ctx context.Context, p abi.%s, s *server) {", name, f.goName, name)
			} else {
				s.f("func serve%s%s(ctx context.Context, imports *Imports, s *server) {", name, f.goName)
			}
			args := "ctx"
			params := &source{}
			c.eachParam(f, func(p wit.Param, name string, offset uintptr) {
				params.f("var %s %s", name, c.goType(p.Type, "abi."))
				c.liftField(params, p.Type, offset, p.Name, name)
				args += ", " + name
			})
			lifted := params.String()
			switch {
			case strings.Contains(lifted, "l.") || strings.Contains(lifted, "(l,"):
				s.f("l, b := &s.lifter, s.params")
			case lifted != "":
				s.f("b := s.params")
			}
			s.WriteString(lifted)
			if params.err != nil {
				s.err = params.err
			}
			if exported {
				c.serveExport(s, f, args)
			} else {
				c.serveImport(s, f, *i.Name, args)
			}
			s.f("}\n")
		}
	}
	for _, i := range c.exported() {
		name := interfaceNames[*i.Name]
		s.f("// %sServers serves the functions of %[1]sFunctions.", *i.Name)
		s.f("var %sServers = [...]func(context.Context, abi.%s, *server){", *i.Name, name)
		for _, f := range c.functions(i) {
			s.f("serve%s%s,", name, f.goName)
		}
		s.f("}\n")
	}
	s.f("// importServers serves what modules import.")
	s.f("var importServers = [...]importServer{")
	for _, i := range c.imported() {
		for _, f := range c.functions(i) {
			s.f("{&%s, serve%s%s},", c.variable(i, f), interfaceNames[*i.Name], f.goName)
		}
	}
	s.f("}")
}

// serveExport writes the call of a Go method in a guest.
func (c *contract) serveExport(s *source, f function, args string) {
	s.f("if !s.beginCall() {\nreturn\n}")
	call := "p." + f.goName + "(" + args + ")"
	switch {
	case f.result == nil && f.fails:
		s.f("s.returned(%s)", call)
		return
	case f.result == nil:
		s.f("%s\ns.returned(nil)", call)
		return
	case f.fails:
		s.f("v, err := %s", call)
		s.f("if w, b := s.returned(err); w != nil {")
	default:
		s.f("v := %s", call)
		s.f("if w, b := s.returned(nil); w != nil {")
	}
	c.lowerField(s, f.result, 0, "", "v")
	if f.goName == "Create" {
		s.f("s.created(w, v.ID)\n}")
		return
	}
	s.f("s.lowered(w)\n}")
}

// serveImport writes the call of a Go method in a host, which may take forever.
func (c *contract) serveImport(s *source, f function, iface, args string) {
	lower := "nil"
	if f.result != nil {
		s.f("var v %s", c.goType(f.result, "abi."))
		lower = closure(s, "w *lowerer, b []byte", func(s *source) {
			c.lowerField(s, f.result, 0, "", "v")
		})
	}
	s.f("s.do(%s, %s)", importCall(f, iface, args), lower)
}

// importCall returns the closure that calls the Go method of an interface, unless that is denied.
func importCall(f function, iface, args string) string {
	s := &source{}
	s.f("func() (err error) {")
	p := "imports." + interfaceNames[iface]
	if f.fails {
		s.f("if %s == nil {\nreturn denied(%q)\n}", p, iface)
	} else {
		s.f("if %s == nil {\nreturn nil\n}", p)
	}
	call := p + "." + f.goName + "(" + args + ")"
	switch {
	case f.result != nil && f.fails:
		s.f("v, err = %s\nreturn err", call)
	case f.fails:
		s.f("return %s", call)
	case f.result != nil:
		s.f("v = %s\nreturn nil", call)
	default:
		s.f("%s\nreturn nil", call)
	}
	s.WriteString("}")
	return s.String()
}
