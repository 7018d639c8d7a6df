package equivalence

import "github.com/husk-dev/husk/internal/wasmfile"

// term is a value as far as it is known. Equal terms are equal values.
type term struct {
	form form
	// index is the variable of a local, or the place of a node.
	index uint32
	// number is the constant, or distinguishes a symbol or local from others.
	number int64
}

type form uint8

const (
	// constant32 and constant64 are numbers that are known.
	constant32 form = iota
	constant64
	// symbol is a value of which nothing is known.
	symbol
	// local is the value of a local variable since it was last changed.
	local
	// computed is the result of an instruction, whose operands are in [terms].
	computed
)

// terms computes with terms. The same computation of two functions becomes the same term, whatever
// the form of a negated comparison or of a number of 64 bits that is wrapped to 32. Each rule holds
// for all operands.
type terms struct {
	nodes []node
	// budget is the number of steps left. Without any, nothing is equal.
	budget int
}

// node is an instruction on operands. A unary one has no second operand.
type node struct {
	op   wasmfile.Opcode
	x, y term
}

var zero32, zero64 = term{form: constant32}, term{form: constant64}

// deepest is the number of levels of a term that the rules look into.
const deepest = 32

// node returns the node of a term, if the term has one.
func (t *terms) node(x term) (node, bool) {
	if x.form != computed {
		return node{}, false
	}
	return t.nodes[x.index], true
}

func (t *terms) add(op wasmfile.Opcode, x, y term) term {
	t.nodes = append(t.nodes, node{op, x, y})
	return term{form: computed, index: uint32(len(t.nodes) - 1)}
}

// unary is the result of an instruction of one operand.
func (t *terms) unary(op wasmfile.Opcode, x term) term {
	switch op {
	case wasmfile.OpI32Eqz:
		return t.compare(wasmfile.OpI32Eq, x, zero32)
	case wasmfile.OpI64Eqz:
		return t.compare(wasmfile.OpI64Eq, x, zero64)
	case wasmfile.OpI32WrapI64:
		return t.wrap(x, deepest)
	case wasmfile.OpI64ExtendI32U:
		if x.form == constant32 {
			return term{form: constant64, number: int64(uint32(x.number))}
		}
	}
	return t.add(op, x, term{})
}

// binary is the result of an instruction of two operands.
func (t *terms) binary(op wasmfile.Opcode, x, y term) term {
	if isComparison(op) {
		return t.compare(op, x, y)
	}
	return t.add(op, x, y)
}

// compare compares integers. A number that is 0 or 1 already needs no comparison with 0.
func (t *terms) compare(op wasmfile.Opcode, x, y term) term {
	if n, ok := t.node(x); ok && n.op == wasmfile.OpI64ExtendI32U && y == zero64 {
		switch op {
		case wasmfile.OpI64Eq:
			return t.compare(wasmfile.OpI32Eq, n.x, zero32)
		case wasmfile.OpI64Ne:
			return t.compare(wasmfile.OpI32Ne, n.x, zero32)
		}
	}
	if y == zero32 && (op == wasmfile.OpI32Eq || op == wasmfile.OpI32Ne) {
		if x.form == constant32 {
			return boolean((x.number == 0) == (op == wasmfile.OpI32Eq))
		}
		if n, ok := t.node(x); ok && isComparison(n.op) {
			if op == wasmfile.OpI32Ne {
				return x
			}
			return t.add(opposite[n.op], n.x, n.y)
		}
	}
	return t.add(op, x, y)
}

func boolean(b bool) term {
	if b {
		return term{form: constant32, number: 1}
	}
	return zero32
}

// wrap returns the lower half of a number of 64 bits. That of a sum is the sum of the lower halves.
func (t *terms) wrap(x term, depth int) term {
	t.budget--
	if x.form == constant64 {
		return term{form: constant32, number: int64(int32(x.number))}
	}
	if n, ok := t.node(x); ok && depth > 0 {
		switch n.op {
		case wasmfile.OpI64ExtendI32U:
			return n.x
		case wasmfile.OpI64Add:
			return t.add(wasmfile.OpI32Add, t.wrap(n.x, depth-1), t.wrap(n.y, depth-1))
		}
	}
	return t.add(wasmfile.OpI32WrapI64, x, term{})
}

// condition returns a term that is 0 exactly if x is.
func (t *terms) condition(x term) term {
	for {
		n, ok := t.node(x)
		if !ok || n.op != wasmfile.OpI32Ne || n.y != zero32 {
			return x
		}
		x = n.x
	}
}

// equal reports whether two terms are the same. It gives up on large ones.
func (t *terms) equal(x, y term) bool { return x == y || t.equalTo(x, y, deepest) }

func (t *terms) equalTo(x, y term, depth int) bool {
	if t.budget--; t.budget < 0 {
		return false
	}
	if x == y {
		return true
	}
	n, ok := t.node(x)
	m, also := t.node(y)
	return ok && also && depth > 0 && n.op == m.op && t.equalTo(n.x, m.x, depth-1) && t.equalTo(n.y, m.y, depth-1)
}
