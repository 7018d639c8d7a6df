package main

import (
	"slices"
	"strings"
)

// writeEcho writes the methods of the echoing provider and host, and a function that
// calls each function of the host.
func writeEcho(c *contract, s *source) {
	for _, i := range c.callable() {
		name := interfaceNames[*i.Name]
		ctx := ""
		if slices.Contains(c.exported(), i) {
			ctx = "ctx, "
		} else {
			s.f("// Echo%s is the %s of a host that echoes.", name, *i.Name)
			s.f("type Echo%s struct{ echo }\n", name)
		}
		for _, f := range c.functions(i) {
			result := "nil"
			if f.result != nil {
				result = "&v"
			}
			verb := "answer"
			if !f.fails {
				verb = "tell"
			}
			call := "e." + verb + "(" + strings.Join(append([]string{ctx + `"` + *i.Name + "." + f.Name + `"`, result}, f.params...), ", ") + ")"
			s.f("func (e Echo%s) %s%s {", name, f.goName, c.clientSignature(f))
			f.writeReturn(s, call, "")
			s.f("}\n")
		}
	}
	s.f("// callHost calls the functions of a host with drawn parameters and shows the results.")
	s.f("var callHost = [...]func(context.Context, Host, Draw) string{")
	for _, i := range c.imported() {
		for _, f := range c.functions(i) {
			s.f("func(ctx context.Context, host Host, draw Draw) string {")
			for n, p := range f.Params {
				s.f("var %s %s\nFill(draw, &%s)", f.params[n], c.goType(p.Type, "abi."), f.params[n])
			}
			call := "host." + interfaceNames[*i.Name] + "." + f.goName + "(" + strings.Join(append([]string{"ctx"}, f.params...), ", ") + ")"
			switch {
			case f.result != nil && f.fails:
				s.f("v, err := %s\nif err != nil {\nreturn Dump(err)\n}\nreturn Dump(v)", call)
			case f.result != nil || f.fails:
				s.f("return Dump(%s)", call)
			default:
				s.f("%s\nreturn \"\"", call)
			}
			s.f("},")
		}
	}
	s.f("}")
}
