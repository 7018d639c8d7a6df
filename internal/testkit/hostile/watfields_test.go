package hostile_test

import (
	"slices"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/internal/testkit/wasmtest"
)

// assembler collects the fields of a module, with their names, and then writes the
// sections.
type assembler struct {
	includes map[string]include
	exported map[string]bool

	types                                              []functionType
	typeNames, funcNames, tableNames, memoryNames      names
	globalNames, elementNames, dataNames               names
	imports, tables, memories, inlineExported, customs []string
	// What names other fields is read when all of them are known.
	functions                                []function
	segmentsInCode                           bool // and so their number must come before the code
	globals, elements, data, exports, starts []node
}

// function is one that the module defines.
type function struct {
	signature
	code node
}

// names are those of one index space; "" for what has none.
type names []string

// index resolves a name or a number.
func (s names) index(n node) uint64 {
	if !n.isName() {
		return integer(n, 32)
	}
	at := slices.Index(s, n.atom)
	if at < 0 {
		n.fail("there is no %s", n.atom)
	}
	return uint64(at)
}

// functionType has a byte for each parameter and result.
type functionType struct{ params, results string }

// signature is the type of a function, with the names of its parameters.
type signature struct {
	index  uint64
	params names
}

// cursor reads a list from its beginning.
type cursor struct {
	of    node // the list itself, for messages
	nodes []node
}

func (c *cursor) peek() node {
	if len(c.nodes) == 0 {
		return node{line: c.of.line}
	}
	return c.nodes[0]
}

func (c *cursor) next() node {
	if len(c.nodes) == 0 {
		c.of.fail("something is missing at the end")
	}
	n := c.nodes[0]
	c.nodes = c.nodes[1:]
	return n
}

// name takes a name if there is one.
func (c *cursor) name() string {
	if c.peek().isName() {
		return c.next().atom
	}
	return ""
}

// list takes a list with that keyword if it comes next.
func (c *cursor) list(keyword string) (n node, ok bool) {
	if c.peek().head() != keyword {
		return node{}, false
	}
	return c.next(), true
}

func (c *cursor) end() {
	if len(c.nodes) > 0 {
		c.nodes[0].fail("nothing is expected here")
	}
}

// module collects the fields. What is imported comes before what is defined, so imports
// are looked for first; types before both, as they are named by them.
func (a *assembler) module(fields []node) {
	var included []string
	for _, f := range fields {
		a.noteExports(f)
	}
	for _, f := range fields {
		if include, ok := a.includes[strings.TrimPrefix(f.head(), "@")]; ok && strings.HasPrefix(f.head(), "@") {
			included = append(included, include(func(name string) bool { return a.exported[name] }))
		}
	}
	fields = slices.Clip(fields)
	for _, text := range included {
		fields = append(fields, expand(parse(text))...)
	}
	for _, f := range fields {
		if f.head() == "type" {
			a.typeField(f)
		}
	}
	for _, f := range fields {
		a.importField(f)
	}
	for _, f := range fields {
		a.field(f)
	}
}

// noteExports finds what a field exports.
func (a *assembler) noteExports(f node) {
	if f.head() == "export" && len(f.list) > 1 {
		a.exported[f.list[1].atom] = true
	}
	for _, n := range f.list {
		if n.head() == "export" && len(n.list) > 1 {
			a.exported[n.list[1].atom] = true
		}
	}
}

func (a *assembler) typeField(f node) {
	c := cursor{f, f.rest()}
	name := c.name()
	function, ok := c.list("func")
	if !ok {
		f.fail("a type is that of a function")
	}
	inner := cursor{function, function.rest()}
	t, _ := parametersAndResults(&inner)
	inner.end()
	a.types, a.typeNames = append(a.types, t), append(a.typeNames, name)
}

var valueTypes = map[string]byte{
	"i32": 0x7f, "i64": 0x7e, "f32": 0x7d, "f64": 0x7c, "v128": 0x7b, "funcref": 0x70, "externref": 0x6f,
}

func valueType(n node) byte {
	t, ok := valueTypes[n.atom]
	if !ok || n.quoted {
		n.fail("%q is no type of values", n.atom)
	}
	return t
}

// parametersAndResults reads (param …) and (result …).
func parametersAndResults(c *cursor) (t functionType, params names) {
	declarations := func(keyword string) (types string, all names) {
		for n, ok := c.list(keyword); ok; n, ok = c.list(keyword) {
			inner := cursor{n, expand(n.rest())}
			name := inner.name()
			for len(inner.nodes) > 0 {
				types += string([]byte{valueType(inner.next())})
				all = append(all, name)
			}
		}
		return types, all
	}
	t.params, params = declarations("param")
	t.results, _ = declarations("result")
	return t, params
}

// typeUse reads the type of a function: by its name, as it is, or both.
func (a *assembler) typeUse(c *cursor) signature {
	named, byName := c.list("type")
	written := c.peek().head() == "param" || c.peek().head() == "result"
	t, params := parametersAndResults(c)
	if !byName {
		return signature{a.typeOf(t), params}
	}
	if len(named.list) != 2 {
		named.fail("a type is named by one name or number")
	}
	s := signature{index: a.typeNames.index(named.list[1])}
	if s.params = params; !written && s.index < uint64(len(a.types)) {
		s.params = make(names, len(a.types[s.index].params))
	}
	return s
}

// typeOf is the index of a type, which is added if there is none.
func (a *assembler) typeOf(t functionType) uint64 {
	at := slices.Index(a.types, t)
	if at < 0 {
		at = len(a.types)
		a.types, a.typeNames = append(a.types, t), append(a.typeNames, "")
	}
	return uint64(at)
}

// importField collects what is imported.
func (a *assembler) importField(f node) {
	if f.head() == "import" {
		if len(f.list) != 4 || f.list[3].list == nil {
			f.fail("an import has a module, a name, and what it is")
		}
		what := f.list[3]
		c := cursor{what, what.rest()}
		a.imported(f.list[1].text(), f.list[2].text(), what.head(), c.name(), &c)
		return
	}
	c := cursor{f, f.list}
	if len(f.list) > 0 {
		c.next()
	}
	name := c.name()
	exports := inlineExports(&c)
	from, ok := c.list("import")
	if !ok {
		return
	}
	if len(from.list) != 3 {
		from.fail("an import has a module and a name")
	}
	for _, e := range exports {
		a.export(e, f.head(), a.next(f.head()))
	}
	a.imported(from.list[1].text(), from.list[2].text(), f.head(), name, &c)
}

func (a *assembler) imported(module, name, kind, as string, c *cursor) {
	out := wasmtest.Text(module) + wasmtest.Text(name)
	switch kind {
	case "func":
		s := a.typeUse(c)
		out += "\x00" + wasmtest.Unsigned(s.index)
		a.funcNames = append(a.funcNames, as)
	case "table":
		out += "\x01" + tableType(c)
		a.tableNames = append(a.tableNames, as)
	case "memory":
		out += "\x02" + limits(c)
		a.memoryNames = append(a.memoryNames, as)
	case "global":
		out += "\x03" + globalType(c.next())
		a.globalNames = append(a.globalNames, as)
	default:
		c.of.fail("%q cannot be imported", kind)
	}
	c.end()
	a.imports = append(a.imports, out)
}

// inlineExports reads (export "name") after the name of a field.
func inlineExports(c *cursor) (list []string) {
	for n, ok := c.list("export"); ok; n, ok = c.list("export") {
		if len(n.list) != 2 {
			n.fail("an export has a name")
		}
		list = append(list, n.list[1].text())
	}
	return list
}

// next is the index of what is added next to an index space.
func (a *assembler) next(kind string) uint64 {
	return uint64(len(map[string]names{"func": a.funcNames, "table": a.tableNames, "memory": a.memoryNames, "global": a.globalNames}[kind]))
}

var exportKinds = map[string]string{"func": "\x00", "table": "\x01", "memory": "\x02", "global": "\x03"}

func (a *assembler) export(name, kind string, index uint64) {
	a.inlineExported = append(a.inlineExported, wasmtest.Text(name)+exportKinds[kind]+wasmtest.Unsigned(index))
}

// field collects what is defined. Contents that name other fields are read in encode.
func (a *assembler) field(f node) {
	kind := f.head()
	c := cursor{f, f.list[min(1, len(f.list)):]}
	name := c.name()
	exports := inlineExports(&c)
	if _, imported := c.list("import"); imported {
		return
	}
	for _, e := range exports {
		a.export(e, kind, a.next(kind))
	}
	switch kind {
	case "type", "import":
	case "func":
		s := a.typeUse(&c)
		a.funcNames = append(a.funcNames, name)
		a.functions = append(a.functions, function{s, node{line: f.line, list: c.nodes}})
	case "table":
		a.table(f, &c)
		a.tableNames = append(a.tableNames, name)
	case "memory":
		a.memory(f, &c)
		a.memoryNames = append(a.memoryNames, name)
	case "global":
		a.globalNames = append(a.globalNames, name)
		a.globals = append(a.globals, node{line: f.line, list: c.nodes})
	case "elem":
		a.elements, a.elementNames = append(a.elements, f), append(a.elementNames, name)
	case "data":
		a.data, a.dataNames = append(a.data, f), append(a.dataNames, name)
	case "export":
		a.exports = append(a.exports, f)
	case "start":
		a.starts = append(a.starts, f)
	case "@custom":
		if len(f.list) < 2 {
			f.fail("a custom section has a name")
		}
		a.customs = append(a.customs, wasmtest.Text(f.list[1].text())+bytesOf(f.list[2:]))
	default:
		if _, ok := a.includes[strings.TrimPrefix(kind, "@")]; !ok || !strings.HasPrefix(kind, "@") {
			f.fail("%q is no field of a module", kind)
		}
	}
}

// table collects a table, whose elements may be in it and give it its size.
func (a *assembler) table(f node, c *cursor) {
	if isIndex(c) {
		a.tables = append(a.tables, tableType(c))
		c.end()
		return
	}
	kind := c.next()
	content, ok := c.list("elem")
	if !ok {
		f.fail("a table has a size or elements")
	}
	items := expand(content.rest())
	size := uint32(len(items))
	a.tables = append(a.tables, string([]byte{valueType(kind)})+wasmtest.Limits(size, size))
	segment := segmentOf(f, "elem", "table", len(a.tableNames))
	if len(items) > 0 && items[0].list == nil {
		kind = node{line: f.line, atom: "func"}
	}
	segment.list = append(append(segment.list, kind), items...)
	a.elements, a.elementNames = append(a.elements, segment), append(a.elementNames, "")
	c.end()
}

// memory collects a memory, whose contents may be in it and give it its size.
func (a *assembler) memory(f node, c *cursor) {
	content, ok := c.list("data")
	if !ok {
		a.memories = append(a.memories, limits(c))
		c.end()
		return
	}
	pages := uint32((len(bytesOf(content.rest())) + 0xffff) >> 16)
	a.memories = append(a.memories, wasmtest.Limits(pages, pages))
	segment := segmentOf(f, "data", "memory", len(a.memoryNames))
	segment.list = append(segment.list, content.rest()...)
	a.data, a.dataNames = append(a.data, segment), append(a.dataNames, "")
	c.end()
}

// segmentOf is the beginning of a segment that is put at the start of a table or memory.
func segmentOf(f node, kind, place string, index int) node {
	atom := func(s string) node { return node{line: f.line, atom: s} }
	list := func(nodes ...node) node { return node{line: f.line, list: nodes} }
	return list(atom(kind), list(atom(place), atom(strconv.Itoa(index))), list(atom("i32.const"), atom("0")))
}
