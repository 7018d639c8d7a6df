package hostile_test

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/internal/testkit/wasmtest"
)

// coder writes the code of one function.
type coder struct {
	*assembler
	locals names
	labels names // of the blocks that are open, innermost last
	out    strings.Builder
}

// sequence writes instructions, in either form.
func (w *coder) sequence(nodes []node) {
	c := cursor{nodes: expand(nodes)}
	if len(nodes) > 0 {
		c.of.line = nodes[0].line
	}
	for len(c.nodes) > 0 {
		if n := c.next(); n.list != nil {
			w.folded(n)
		} else {
			w.instruction(n, &c)
		}
	}
}

// folded writes an instruction in parentheses, with its operands in it.
func (w *coder) folded(n node) {
	if len(n.list) == 0 {
		n.fail("an instruction is missing")
	}
	c := cursor{n, expand(n.rest())}
	op := n.list[0]
	switch op.atom {
	case "@bytes":
		w.out.WriteString(bytesOf(n.rest()))
		return
	case "block", "loop":
		w.open(op.atom, &c)
		w.sequence(c.nodes)
		w.close(op)
		return
	case "if":
		label := c.name()
		block := w.blockType(&c)
		for len(c.nodes) > 0 && c.peek().head() != "then" {
			w.folded(c.next())
		}
		then := c.next()
		w.begin(byte(structured["if"]), label, block)
		w.sequence(then.rest())
		if otherwise, ok := c.list("else"); ok {
			w.out.WriteString(wasmtest.Else)
			w.sequence(otherwise.rest())
		}
		w.close(op)
		c.end()
		return
	}
	inner := coder{assembler: w.assembler, locals: w.locals, labels: w.labels}
	inner.instruction(op, &c)
	for len(c.nodes) > 0 {
		operand := c.next()
		if operand.list == nil {
			operand.fail("%q is no operand", operand.atom)
		}
		w.folded(operand)
	}
	w.out.WriteString(inner.out.String())
}

var structured = map[string]byte{"block": 0x02, "loop": 0x03, "if": 0x04}

func (w *coder) open(kind string, c *cursor) {
	label := c.name()
	w.begin(structured[kind], label, w.blockType(c))
}

func (w *coder) begin(opcode byte, label, blockType string) {
	w.out.WriteByte(opcode)
	w.out.WriteString(blockType)
	w.labels = append(w.labels, label)
}

func (w *coder) close(n node) {
	if len(w.labels) == 0 {
		n.fail("no block is open")
	}
	w.labels = w.labels[:len(w.labels)-1]
	w.out.WriteString(wasmtest.End)
}

// blockType reads and writes the type of a block.
func (w *coder) blockType(c *cursor) string {
	if head := c.peek().head(); head == "type" {
		return wasmtest.Signed(int64(w.typeUse(c).index))
	}
	t, _ := parametersAndResults(c)
	switch {
	case t == functionType{}:
		return "\x40"
	case t.params == "" && len(t.results) == 1:
		return t.results
	}
	return wasmtest.Signed(int64(w.typeOf(t)))
}

// label resolves the target of a branch.
func (w *coder) label(n node) string {
	if !n.isName() {
		return wasmtest.Unsigned(integer(n, 32))
	}
	for depth := range w.labels {
		if w.labels[len(w.labels)-1-depth] == n.atom {
			return wasmtest.Unsigned(uint64(depth))
		}
	}
	n.fail("no block is named %s", n.atom)
	return ""
}

// isIndex reports whether a name or number comes next.
func isIndex(c *cursor) bool {
	n := c.peek()
	return n.isName() || !n.quoted && n.atom != "" && n.atom[0] >= '0' && n.atom[0] <= '9'
}

// optional reads an index that may be left out.
func optional(c *cursor, space names) string {
	if !isIndex(c) {
		return "\x00"
	}
	return wasmtest.Unsigned(space.index(c.next()))
}

// instruction writes one instruction with what follows it in the code.
func (w *coder) instruction(n node, c *cursor) {
	name := n.atom
	switch name {
	case "block", "loop", "if":
		w.open(name, c)
		return
	case "else":
		c.name()
		w.out.WriteString(wasmtest.Else)
		return
	case "end":
		c.name()
		w.close(n)
		return
	}
	if name == "select" && c.peek().head() == "result" {
		t, _ := parametersAndResults(c)
		w.out.WriteString("\x1c" + wasmtest.Text(t.results))
		return
	}
	op, ok := opcodes[name]
	if !ok || n.quoted {
		n.fail("there is no instruction %q", name)
	}
	w.out.WriteString(op.code)
	w.out.WriteString(w.immediates(op.operands, n, c))
}

func (w *coder) immediates(kind operands, n node, c *cursor) string {
	index := func(space names) string { return wasmtest.Unsigned(space.index(c.next())) }
	switch kind {
	case noOperands:
		return ""
	case zeroByte:
		return "\x00"
	case twoZeros:
		return "\x00\x00"
	case aLabel:
		return w.label(c.next())
	case labels:
		var list []string
		for isIndex(c) {
			list = append(list, w.label(c.next()))
		}
		return wasmtest.Unsigned(uint64(len(list)-1)) + strings.Join(list, "")
	case aFunction:
		return index(w.funcNames)
	case aTypeAndTable:
		table := optional(c, w.tableNames)
		return wasmtest.Unsigned(w.typeUse(c).index) + table
	case aLocal:
		return index(w.locals)
	case aGlobal:
		return index(w.globalNames)
	case aTable:
		return optional(c, w.tableNames)
	case twoTables:
		to := optional(c, w.tableNames)
		return to + optional(c, w.tableNames)
	case aSegmentAndTable:
		first := c.next()
		if isIndex(c) {
			return wasmtest.Unsigned(w.elementNames.index(c.next())) + wasmtest.Unsigned(w.tableNames.index(first))
		}
		return wasmtest.Unsigned(w.elementNames.index(first)) + "\x00"
	case aSegmentAndZero:
		w.segmentsInCode = true
		return index(w.dataNames) + "\x00"
	case aDataSegment:
		w.segmentsInCode = true
		return index(w.dataNames)
	case anElementSegment:
		return index(w.elementNames)
	case aHeapType:
		return string([]byte{valueType(node{line: n.line, atom: c.next().atom + "ref"})})
	case anI32:
		return wasmtest.Signed(int64(int32(integer(c.next(), 32))))
	case anI64:
		return wasmtest.Signed(int64(integer(c.next(), 64)))
	case anF32:
		return string(binary.LittleEndian.AppendUint32(nil, uint32(float(c.next(), 32))))
	case anF64:
		return string(binary.LittleEndian.AppendUint64(nil, float(c.next(), 64)))
	}
	return w.memoryArgument(uint64(kind-accesses), c)
}

// memoryArgument reads where memory is accessed; alignments are given in bytes.
func (w *coder) memoryArgument(align uint64, c *cursor) string {
	offset := uint64(0)
	if text, ok := strings.CutPrefix(c.peek().atom, "offset="); ok {
		offset = integer(node{line: c.next().line, atom: text}, 32)
	}
	if text, ok := strings.CutPrefix(c.peek().atom, "align="); ok {
		align = 0
		for bytes := integer(node{line: c.next().line, atom: text}, 32); bytes > 1; bytes >>= 1 {
			align++
		}
	}
	return wasmtest.Unsigned(align) + wasmtest.Unsigned(offset)
}

// integer reads a number of so many bits, signed or not, as its bits.
func integer(n node, bits int) uint64 {
	if n.quoted || n.list != nil {
		n.fail("a number is missing")
	}
	text, negative := strings.CutPrefix(strings.ReplaceAll(n.atom, "_", ""), "-")
	digits, base := strings.TrimPrefix(text, "+"), 10
	if hex, ok := strings.CutPrefix(digits, "0x"); ok {
		digits, base = hex, 16
	}
	v, err := strconv.ParseUint(digits, base, bits)
	if err != nil || negative && v > 1<<(bits-1) {
		n.fail("%q is no number of %d bits", n.atom, bits)
	}
	if negative {
		v = -v
	}
	return v << (64 - bits) >> (64 - bits)
}

// float reads a number as its bits. A NaN may have bits of its own: nan:0x1.
func float(n node, bits int) uint64 {
	text := strings.ReplaceAll(n.atom, "_", "")
	sign := uint64(0)
	if strings.HasPrefix(text, "-") {
		sign = 1 << (bits - 1)
	}
	magnitude := strings.TrimLeft(text, "+-")
	mantissa := 52
	if bits == 32 {
		mantissa = 23
	}
	exponent := uint64(1)<<(bits-1) - uint64(1)<<mantissa
	if own, ok := strings.CutPrefix(magnitude, "nan:"); ok {
		return sign | exponent | integer(node{line: n.line, atom: own}, 64)
	}
	if magnitude == "nan" {
		return sign | exponent | 1<<(mantissa-1)
	}
	if strings.HasPrefix(magnitude, "0x") && !strings.ContainsAny(magnitude, "pP") {
		magnitude += "p0" // which Go wants
	}
	v, err := strconv.ParseFloat(magnitude, bits)
	if err != nil || n.quoted {
		n.fail("%q is no number", n.atom)
	}
	if bits == 32 {
		return sign | uint64(math.Float32bits(float32(v)))
	}
	return sign | math.Float64bits(v)
}
