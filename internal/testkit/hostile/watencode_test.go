package hostile_test

import (
	"strings"

	"github.com/husk-dev/husk/internal/testkit/wasmtest"
)

// encode writes the sections. Types come last, as code adds to them, but are the first
// section.
func (a *assembler) encode() []byte {
	var functionTypes, bodies, globals, elements, data, exports []string
	for _, f := range a.functions {
		functionTypes = append(functionTypes, wasmtest.Unsigned(f.index))
		bodies = append(bodies, a.body(f))
	}
	for _, g := range a.globals {
		c := cursor{g, g.list}
		globals = append(globals, globalType(c.next())+a.expression(c.nodes))
	}
	for _, e := range a.elements {
		elements = append(elements, a.element(e))
	}
	for _, d := range a.data {
		data = append(data, a.segment(d))
	}
	exports = a.inlineExported
	for _, e := range a.exports {
		if len(e.list) != 3 || len(e.list[2].list) != 2 || exportKinds[e.list[2].head()] == "" {
			e.fail("an export has a name and what is exported")
		}
		kind := e.list[2].head()
		exports = append(exports, wasmtest.Text(e.list[1].text())+exportKinds[kind]+wasmtest.Unsigned(a.space(kind).index(e.list[2].list[1])))
	}
	types := make([]string, len(a.types))
	for i, t := range a.types {
		types[i] = "\x60" + wasmtest.Text(t.params) + wasmtest.Text(t.results)
	}

	var out strings.Builder
	out.WriteString("\x00asm\x01\x00\x00\x00")
	section := func(id byte, items []string) {
		if len(items) > 0 {
			out.WriteString(wasmtest.Section(id, wasmtest.Unsigned(uint64(len(items)))+strings.Join(items, "")))
		}
	}
	section(1, types)
	section(2, a.imports)
	section(3, functionTypes)
	section(4, a.tables)
	section(5, a.memories)
	section(6, globals)
	section(7, exports)
	for _, s := range a.starts {
		if len(s.list) != 2 {
			s.fail("one function is the start")
		}
		out.WriteString(wasmtest.Section(8, wasmtest.Unsigned(a.funcNames.index(s.list[1]))))
	}
	section(9, elements)
	if a.segmentsInCode {
		out.WriteString(wasmtest.Section(12, wasmtest.Unsigned(uint64(len(data)))))
	}
	section(10, bodies)
	section(11, data)
	for _, c := range a.customs {
		out.WriteString(wasmtest.Section(0, c))
	}
	return []byte(out.String())
}

func (a *assembler) space(kind string) names {
	switch kind {
	case "func":
		return a.funcNames
	case "table":
		return a.tableNames
	case "memory":
		return a.memoryNames
	}
	return a.globalNames
}

// limits reads a minimum and a maximum, if there is one.
func limits(c *cursor) string {
	least := uint32(integer(c.next(), 32))
	if n := c.peek(); n.atom == "" || n.atom[0] < '0' || n.atom[0] > '9' {
		return wasmtest.Limits(least)
	}
	return wasmtest.Limits(least, uint32(integer(c.next(), 32)))
}

func tableType(c *cursor) string {
	size := limits(c)
	return string([]byte{valueType(c.next())}) + size
}

func globalType(n node) string {
	if n.head() != "mut" {
		return string([]byte{valueType(n)}) + "\x00"
	}
	if len(n.list) != 2 {
		n.fail("a mutable global has one type")
	}
	return string([]byte{valueType(n.list[1])}) + "\x01"
}

// expression writes constant code with its end.
func (a *assembler) expression(nodes []node) string {
	w := coder{assembler: a}
	w.sequence(nodes)
	return w.out.String() + wasmtest.End
}

// offset reads where a segment begins: (offset …), or one instruction.
func (a *assembler) offset(c *cursor) (code string, active bool) {
	if n, ok := c.list("offset"); ok {
		return a.expression(n.rest()), true
	}
	if head := c.peek().head(); head == "" || head == "item" || head == "ref.func" || head == "ref.null" || head[0] == '@' {
		return "", false
	}
	return a.expression([]node{c.next()}), true
}

// place reads which table or memory a segment is for, the first one if it says nothing.
func place(c *cursor, keyword string, space names) (index uint64) {
	if n, ok := c.list(keyword); ok {
		if len(n.list) != 2 {
			n.fail("one %s is named", keyword)
		}
		return space.index(n.list[1])
	}
	if isIndex(c) {
		return space.index(c.next())
	}
	return 0
}

// segment writes a data segment.
func (a *assembler) segment(d node) string {
	c := cursor{d, d.rest()}
	c.name()
	memory := place(&c, "memory", a.memoryNames)
	offset, active := a.offset(&c)
	content := wasmtest.Text(bytesOf(c.nodes))
	switch {
	case !active:
		return "\x01" + content
	case memory != 0:
		return "\x02" + wasmtest.Unsigned(memory) + offset + content
	}
	return "\x00" + offset + content
}

// element writes an element segment, in the shorter form if all elements are functions
// by their indexes.
func (a *assembler) element(e node) string {
	c := cursor{e, expand(e.rest())}
	c.name()
	declared := c.peek().atom == "declare"
	if declared {
		c.next()
	}
	table := place(&c, "table", a.tableNames)
	offset, active := a.offset(&c)
	kind, expressions := "\x70", false
	if c.peek().atom == "func" {
		c.next()
	} else if _, ok := valueTypes[c.peek().atom]; ok {
		kind, expressions = string([]byte{valueType(c.next())}), true
	}
	items := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		switch {
		case !expressions:
			items[i] = wasmtest.Unsigned(a.funcNames.index(n))
		case n.head() == "item":
			items[i] = a.expression(n.rest())
		default:
			items[i] = a.expression([]node{n})
		}
	}
	content := wasmtest.Unsigned(uint64(len(items))) + strings.Join(items, "")
	form, into := byte(0), wasmtest.Unsigned(table)
	if expressions {
		form = 4
	} else {
		kind = "\x00"
	}
	switch {
	case declared:
		return string([]byte{form | 3}) + kind + content
	case !active:
		return string([]byte{form | 1}) + kind + content
	case table != 0 || kind == "\x6f":
		return string([]byte{form | 2}) + into + offset + kind + content
	}
	return string([]byte{form}) + offset + content
}

// body writes a function's locals and code, with their length.
func (a *assembler) body(f function) string {
	w := coder{assembler: a, locals: f.params}
	c := cursor{f.code, f.code.list}
	var runs []string
	last, length := byte(0), uint64(0)
	flush := func() {
		if length > 0 {
			runs = append(runs, wasmtest.Unsigned(length)+string([]byte{last}))
		}
	}
	for n, ok := c.list("local"); ok; n, ok = c.list("local") {
		inner := cursor{n, expand(n.rest())}
		name := inner.name()
		for len(inner.nodes) > 0 {
			t := valueType(inner.next())
			w.locals = append(w.locals, name)
			if t != last {
				flush()
				last, length = t, 0
			}
			length++
		}
	}
	flush()
	w.sequence(c.nodes)
	if len(w.labels) > 0 {
		f.code.fail("a block does not end")
	}
	return wasmtest.Text(wasmtest.Unsigned(uint64(len(runs))) + strings.Join(runs, "") + w.out.String() + wasmtest.End)
}
