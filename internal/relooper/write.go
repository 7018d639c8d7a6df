package relooper

import (
	"slices"

	"github.com/husk-dev/husk/internal/wasmfile"
)

// node is code that is entered at its begin only: a region and what only it falls into.
type node struct {
	first, last int // regions
	// next are the targets of its branches in order, and last the node that it falls into, if falls
	// is set.
	next  []int
	falls bool
	// order is the node's place in a reverse postorder, or unreached.
	order int
	// dominator is the last other node on all ways to this one. dominated are the nodes that this
	// one dominates, in order.
	dominator int
	dominated []int
	// repeats marks the begin of a loop.
	repeats bool
}

const (
	none      = -1
	unreached = -1
	// workPerNode bounds the steps up the tree of dominators for each node, of which Go's functions
	// need a few. Without a bound, the work could be quadratic.
	workPerNode = 100
	// mostDoubles bounds the nodes that are written twice, see [writer.structure]. Together they
	// have no more code than the function.
	mostDoubles = 40
)

// writer writes a flow with its structure: a node is followed by the nodes that it dominates, each
// behind a block that branches to it leave, and the begin of a loop is in a loop. See Norman Ramsey,
// Beyond Relooper, 2022.
type writer struct {
	*flow
	nodes []node
	// reached are the nodes in their order.
	reached []int
	work    int
	// open counts the open blocks. blocks are those whose labels lead to nodes, by the number open
	// before them. unwinding is the one that leaves the goroutine.
	open      int
	blocks    []int
	unwinding int
	out       []byte
}

// write returns the code of the function, which continues with its copy unless it is entered at its
// begin. It returns nil if the flow has no structure.
func (f *flow) write(copyOf uint32) []byte {
	w := &writer{flow: f}
	w.split()
	if !w.structure() {
		return nil
	}
	w.out = wasmfile.AppendIndex(w.out, wasmfile.OpLocalGet, 0)
	w.out = wasmfile.AppendIndex(wasmfile.AppendOps(w.out, wasmfile.OpIf), wasmfile.OpLocalGet, 0)
	w.out = wasmfile.AppendIndex(w.out, wasmfile.OpCall, copyOf)
	w.out = wasmfile.AppendOps(w.out, wasmfile.OpReturn, wasmfile.OpEnd)
	w.out = append(w.out, f.prologue...)
	if f.unwinds {
		w.unwinding = w.begin(wasmfile.OpBlock)
	}
	w.node(0)
	w.out = append(w.out, byte(wasmfile.OpUnreachable))
	return append(w.out, f.rest...)
}

func (w *writer) split() {
	entered := make([]bool, len(w.regions))
	entered[0] = true
	for _, r := range w.regions {
		for _, p := range r.pieces {
			if p.op != 0 && p.to != unwind {
				entered[p.to] = true
			}
		}
	}
	nodeOf := make([]int, len(w.regions))
	for i := range w.regions {
		if entered[i] || !w.regions[i-1].falls {
			w.nodes = append(w.nodes, node{first: i})
		}
		nodeOf[i] = len(w.nodes) - 1
		w.nodes[nodeOf[i]].last = i
	}
	for i := range w.nodes {
		n := &w.nodes[i]
		for _, r := range w.regions[n.first : n.last+1] {
			for _, p := range r.pieces {
				if p.op != 0 && p.to != unwind {
					n.next = append(n.next, nodeOf[p.to])
				}
			}
		}
		if n.falls = w.regions[n.last].falls; n.falls {
			n.next = append(n.next, i+1) // the last region never falls
		}
	}
}

// structure finds the dominators and reports success. If a loop is entered in its middle, the node
// of that entry gets a double, with which the loop goes on. Few of Go's functions have such loops in
// their source. But Go does not mark calls that never return, such as that of panic, and they seem
// to go on with the code behind them.
func (w *writer) structure() bool {
	room := len(w.code)
	for range mostDoubles {
		w.sort()
		from, branch := w.dominate()
		if from == none {
			w.blocks = make([]int, len(w.nodes))
			return w.work <= workPerNode*len(w.nodes)
		}
		double := w.nodes[w.nodes[from].next[branch]]
		begin, end := w.regions[double.first].pieces, w.regions[double.last].pieces
		if room -= end[len(end)-1].end - begin[0].start; room < 0 {
			return false
		}
		double.next = slices.Clone(double.next)
		w.nodes = append(w.nodes, double)
		w.nodes[from].next[branch] = len(w.nodes) - 1
	}
	return false
}

// sort puts nodes into reverse postorder.
func (w *writer) sort() {
	type visit struct{ node, next int }
	w.reached, w.work = w.reached[:0], 0
	for i := range w.nodes {
		n := &w.nodes[i]
		n.order, n.dominator, n.dominated, n.repeats = unreached, none, nil, false
	}
	visited := make([]bool, len(w.nodes))
	visited[0] = true
	for stack := []visit{{}}; len(stack) > 0; {
		at := &stack[len(stack)-1]
		next := w.nodes[at.node].next
		if at.next == len(next) {
			w.reached = append(w.reached, at.node)
			stack = stack[:len(stack)-1]
			continue
		}
		to := next[at.next]
		at.next++
		if !visited[to] {
			visited[to] = true
			stack = append(stack, visit{node: to})
		}
	}
	slices.Reverse(w.reached)
	for order, n := range w.reached {
		w.nodes[n].order = order
	}
}

// dominate finds dominators and loops, or a branch of a node into the middle of a loop. Without such
// branches, one pass is enough (Cooper, Harvey, and Kennedy, A Simple, Fast Dominance Algorithm,
// 2001).
func (w *writer) dominate() (from, branch int) {
	w.nodes[0].dominator = 0
	for _, from := range w.reached {
		for _, to := range w.nodes[from].next {
			n := &w.nodes[to]
			switch {
			case n.order <= w.nodes[from].order:
				n.repeats = true
			case n.dominator == none:
				n.dominator = from
			default:
				n.dominator = w.common(n.dominator, from)
			}
		}
	}
	for _, from := range w.reached {
		for branch, to := range w.nodes[from].next {
			if w.nodes[to].order <= w.nodes[from].order && w.common(to, from) != to {
				return from, branch
			}
		}
	}
	for _, n := range w.reached[1:] {
		d := &w.nodes[w.nodes[n].dominator]
		d.dominated = append(d.dominated, n)
	}
	return none, none
}

// common is the last node that dominates both.
func (w *writer) common(a, b int) int {
	for a != b && w.work <= workPerNode*len(w.nodes) {
		w.work++
		if w.nodes[a].order > w.nodes[b].order {
			a = w.nodes[a].dominator
		} else {
			b = w.nodes[b].dominator
		}
	}
	return a
}

// begin opens a block or loop and returns its number.
func (w *writer) begin(op wasmfile.Opcode) (block int) {
	w.out = wasmfile.AppendOps(w.out, op)
	w.open++
	return w.open - 1
}

func (w *writer) end() {
	w.out = append(w.out, byte(wasmfile.OpEnd))
	w.open--
}

// node writes a node and all that it dominates.
func (w *writer) node(i int) {
	n := &w.nodes[i]
	if n.repeats {
		w.blocks[i] = w.begin(wasmfile.OpLoop)
	}
	for _, d := range slices.Backward(n.dominated) {
		w.blocks[d] = w.begin(wasmfile.OpBlock)
	}
	next := n.next
	for _, r := range w.regions[n.first : n.last+1] {
		for _, p := range r.pieces {
			w.out = append(w.out, w.code[p.start:p.end]...)
			switch {
			case p.op == 0:
			case p.to == unwind:
				w.branch(p.op, w.unwinding, p.inside)
			default:
				w.branch(p.op, w.blocks[next[0]], p.inside)
				next = next[1:]
			}
		}
	}
	if n.falls && (len(n.dominated) == 0 || n.dominated[0] != next[0]) {
		w.branch(wasmfile.OpBr, w.blocks[next[0]], 0)
	}
	for _, d := range n.dominated {
		w.end()
		w.node(d)
	}
	if n.repeats {
		w.end()
		w.out = append(w.out, byte(wasmfile.OpUnreachable))
	}
}

// branch leads to a block, from inside of so many blocks of the region.
func (w *writer) branch(op wasmfile.Opcode, block, inside int) {
	w.out = wasmfile.AppendIndex(w.out, op, uint32(w.open-1-block+inside))
}
