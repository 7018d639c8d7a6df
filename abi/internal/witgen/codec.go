package main

import (
	"fmt"
	"strconv"
	"strings"

	"go.bytecodealliance.org/wit"
)

func writeCodec(c *contract, s *source) {
	for _, i := range c.allInterfaces() {
		for _, t := range i.TypeDefs.All() {
			name := c.names[t]
			switch k := t.Kind.(type) {
			case *wit.Record:
				s.f("func lift%s(l *lifter, b []byte, v *abi.%s) {", name, name)
				c.eachField(k.Fields, func(f wit.Field, offset uintptr) {
					c.liftField(s, f.Type, offset, f.Name, "v."+goName(f.Name))
				})
				s.f("}\n")
				s.f("func lower%s(w *lowerer, b []byte, v *abi.%s) {", name, name)
				c.eachField(k.Fields, func(f wit.Field, offset uintptr) {
					c.lowerField(s, f.Type, offset, f.Name, "v."+goName(f.Name))
				})
				s.f("}\n")
			case *wit.Variant:
				c.writeVariant(s, name, k)
			}
		}
	}
}

func (c *contract) writeVariant(s *source, name string, v *wit.Variant) {
	if len(v.Cases) > 256 {
		s.fail("%s has more than 256 cases", name)
	}
	payload := payloadOffset(v)
	s.f("func lift%s(l *lifter, b []byte, v *abi.%s) {", name, name)
	s.f("v.Case = abi.%sCase(l.enum(b, %d, \"\"))", name, len(v.Cases))
	s.f("switch v.Case {")
	for _, k := range v.Cases {
		if k.Type != nil {
			s.f("case abi.%sCase%s:", name, goName(k.Name))
			c.liftField(s, k.Type, payload, k.Name, "v."+goName(k.Name))
		}
	}
	s.f("}\n}\n")
	s.f("func lower%s(w *lowerer, b []byte, v *abi.%s) {", name, name)
	s.f("w.enum(b, uint8(v.Case), %d, \"\")", len(v.Cases))
	s.f("switch v.Case {")
	for _, k := range v.Cases {
		if k.Type != nil {
			s.f("case abi.%sCase%s:", name, goName(k.Name))
			c.lowerField(s, k.Type, payload, k.Name, "v."+goName(k.Name))
		}
	}
	s.f("}\n}\n")
}

// liftField writes the statements that lift a value of type t at an offset of b
// into the Go variable dst.
func (c *contract) liftField(s *source, t wit.Type, offset uintptr, field, dst string) {
	at := slice(offset)
	if k, ok := kind(t).(*wit.Option); ok {
		s.f("if l.some(%s, %q) {", at, field)
		inner := slice(offset + payloadOffset(wit.Despecialize(k).(*wit.Variant)))
		if c.composite(k.Type) {
			s.f("%s = new(%s)", dst, c.goType(k.Type, "abi."))
			c.writeComposite(s, "lift", "l", k.Type, inner, field, dst)
		} else {
			s.f("%s = new(%s)", dst, c.liftLeaf(s, k.Type, inner, field))
		}
		s.f("}")
		return
	}
	if !c.composite(t) {
		s.f("%s = %s", dst, c.liftLeaf(s, t, at, field))
		return
	}
	if name, _ := c.named(t); name == "Error" {
		s.f("l.enter(%q)\n%s = l.failure(%s)\nl.leave()", field, dst, at)
		return
	}
	c.writeComposite(s, "lift", "l", t, at, field, "&"+dst)
}

// composite reports whether t has lift and lower functions of its own.
func (c *contract) composite(t wit.Type) bool {
	switch kind(t).(type) {
	case *wit.Record, *wit.Variant:
		return true
	}
	return false
}

// writeComposite writes the call of a lift or lower function. coder is the coder of that function.
func (c *contract) writeComposite(s *source, verb, coder string, t wit.Type, at, field, ptr string) {
	name, _ := c.named(t)
	if field == "" { // the value is not part of another
		s.f("%s%s(%s, %s, %s)", verb, name, coder, at, ptr)
		return
	}
	s.f("%s.enter(%q)", coder, field)
	s.f("%s%s(%s, %s, %s)", verb, name, coder, at, ptr)
	s.f("%s.leave()", coder)
}

// liftLeaf returns the expression for a value without lift function.
func (c *contract) liftLeaf(s *source, t wit.Type, at, field string) string {
	name, _ := c.named(t)
	switch name {
	case "property.Map":
		return fmt.Sprintf("l.properties(%s, %q)", at, field)
	case "property.Value":
		return fmt.Sprintf("l.value(%s, %q)", at, field)
	}
	convert := func(expr string) string {
		if name == "" || name == "string" {
			return expr
		}
		return c.goType(t, "abi.") + "(" + expr + ")"
	}
	if p := primitives[kind(t)]; p.lift != "" {
		return convert(strings.NewReplacer("AT", at, "FIELD", strconv.Quote(field)).Replace(p.lift))
	}
	switch k := kind(t).(type) {
	case *wit.Enum:
		return convert(fmt.Sprintf("l.enum(%s, %d, %q)", at, len(k.Cases), field))
	case *wit.Flags:
		return convert(fmt.Sprintf("l.flags(%s, %s, %q)", at, flagMask(s, k), field))
	case *wit.List:
		if _, ok := kind(k.Type).(wit.U8); ok {
			return fmt.Sprintf("l.bytes(%s, %q)", at, field)
		}
		return fmt.Sprintf("liftList(l, %s, %q, %d, %d, %s)",
			at, field, k.Type.Size(), k.Type.Align(), c.element(s, "lift", k.Type))
	}
	s.fail("%s: no way to lift %T", field, kind(t))
	return ""
}

// element returns the function that lifts or lowers the element of a list.
func (c *contract) element(s *source, verb string, t wit.Type) string {
	if c.composite(t) {
		name, _ := c.named(t)
		return verb + name
	}
	if _, ok := kind(t).(wit.String); !ok {
		s.fail("no way to %s a list of %T", verb, kind(t))
	}
	return verb + "String[" + c.goType(t, "abi.") + "]"
}

// lowerField writes the statements that lower the Go expression src of type t to
// an offset of b.
func (c *contract) lowerField(s *source, t wit.Type, offset uintptr, field, src string) {
	at := slice(offset)
	if k, ok := kind(t).(*wit.Option); ok {
		s.f("if %s != nil {", src)
		s.f("%s = 1", byteAt(offset))
		inner := offset + payloadOffset(wit.Despecialize(k).(*wit.Variant))
		if c.composite(k.Type) {
			c.writeComposite(s, "lower", "w", k.Type, slice(inner), field, src)
		} else {
			c.lowerField(s, k.Type, inner, field, "*"+src)
		}
		s.f("}")
		return
	}
	if c.composite(t) {
		if name, _ := c.named(t); name == "Error" {
			s.f("w.enter(%q)\nw.failure(%s, %s)\nw.leave()", field, at, src)
			return
		}
		c.writeComposite(s, "lower", "w", t, at, field, "&"+src)
		return
	}
	switch name, _ := c.named(t); name {
	case "property.Map":
		s.f("w.properties(%s, %s, %q)", at, src, field)
		return
	case "property.Value":
		s.f("w.value(%s, %s, %q)", at, src, field)
		return
	case "urn.URN":
		src = "string(" + src + ")"
	}
	if p := primitives[kind(t)]; p.lower != "" {
		if _, named := c.named(t); named && p.goType == "uint64" {
			src = "uint64(" + src + ")"
		}
		s.f("%s", strings.NewReplacer("AT", at, "SRC", src, "FIELD", strconv.Quote(field)).Replace(p.lower))
		return
	}
	switch k := kind(t).(type) {
	case *wit.Enum:
		s.f("w.enum(%s, uint8(%s), %d, %q)", at, src, len(k.Cases), field)
	case *wit.Flags:
		s.f("w.flags(%s, uint32(%s), %s, %q)", at, src, flagMask(s, k), field)
	case *wit.List:
		if _, ok := kind(k.Type).(wit.U8); ok {
			s.f("w.bytes(%s, %s, %q)", at, src, field)
			return
		}
		if _, ok := kind(k.Type).(wit.String); ok {
			s.f("lowerStrings(w, %s, %s, %q)", at, src, field)
			return
		}
		s.f("lowerList(w, %s, %s, %q, %d, %d, %s)",
			at, src, field, k.Type.Size(), k.Type.Align(), c.element(s, "lower", k.Type))
	default:
		s.fail("%s: no way to lower %T", field, k)
	}
}

func (c *contract) eachField(fields []wit.Field, do func(f wit.Field, offset uintptr)) {
	offset := uintptr(0)
	for _, f := range fields {
		offset = wit.Align(offset, f.Type.Align())
		do(f, offset)
		offset += f.Type.Size()
	}
}

// payloadOffset is where the value of a variant's case begins.
func payloadOffset(v *wit.Variant) uintptr {
	offset := wit.Discriminant(len(v.Cases)).Size()
	align := uintptr(1)
	for _, k := range v.Cases {
		if k.Type != nil {
			align = max(align, k.Type.Align())
		}
	}
	return wit.Align(offset, align)
}

func flagMask(s *source, f *wit.Flags) string {
	if len(f.Flags) > 8 {
		s.fail("more than eight flags")
	}
	return fmt.Sprintf("%#b", 1<<len(f.Flags)-1)
}

func slice(offset uintptr) string {
	if offset == 0 {
		return "b"
	}
	return fmt.Sprintf("b[%d:]", offset)
}

func byteAt(offset uintptr) string { return fmt.Sprintf("b[%d]", offset) }

func lowerFirst(name string) string {
	if strings.ToUpper(name) == name {
		return strings.ToLower(name)
	}
	return strings.ToLower(name[:1]) + name[1:]
}
