package equivalence

import (
	"bytes"

	"github.com/husk-dev/husk/internal/wasmfile"
)

// walk runs two functions side by side. It proves a bisimulation: a set of pairs of places from each
// of which both functions have the same next effect, and come to another pair.
//
// At the first pair, all local variables are equal, and the stacks are empty. From a pair, each
// function runs up to its next effect. The effects must be the same, with equal operands, and their
// results are new symbols that both functions share. At a branch on a condition, the walk goes both
// ways.
//
// Pairs are noted after a branch, and when both functions have come to code with several ways to it.
// There, the walk forgets everything but which values are equal: those on the stack must be, and the
// local variables are, because each change of one is an effect. Only the parameter may differ. A way
// ends at a noted pair.
//
// Each function takes at least one step from one pair to the next. So neither can run forever
// without an effect unless the other does.
type walk struct {
	terms
	before, after side
	// notes has the pairs, each with whether the parameters are equal there.
	notes map[pair]bool
	// todo are pairs from which the walk has still to continue.
	todo []todo
	// branched are both functions on the other way of a branch.
	branched [2]side
	// changed is the last change of each local variable. Knowledge from before the change forgotten
	// is forgotten. changes counts changes and symbols.
	changed            []int64
	forgotten, changes int64
}

// pair is a place in each function.
type pair struct{ before, after int32 }

type todo struct {
	pair
	height int
}

// stepsPerInstruction bounds the steps of a proof for each instruction. Go's take 2.3 at most.
const stepsPerInstruction = 10

type side struct {
	*function
	at    int32
	stack []term
	// parameter is the value of the first local variable.
	parameter term
	// joined is set when the function comes to code with several ways to it.
	joined bool
}

// run reports whether functions do the same with a parameter of 0, from an instruction on.
func (w *walk) run(before, after *function, from int32) bool {
	w.before.function, w.after.function = before, after
	w.branched[0].function, w.branched[1].function = before, after
	w.changed = append(w.changed[:0], make([]int64, before.locals)...)
	w.budget = stepsPerInstruction * (len(before.code) + len(after.code))
	if w.notes == nil {
		w.notes = make(map[pair]bool)
	}
	clear(w.notes)
	w.todo = w.todo[:0]
	w.begin(todo{pair: pair{0, from}}, false)
	w.before.parameter, w.after.parameter = zero32, zero32
	for {
		if !w.way() {
			return false
		}
		last := len(w.todo) - 1
		if last < 0 {
			return true
		}
		next := w.todo[last]
		w.todo = w.todo[:last]
		w.begin(next, w.notes[next.pair])
	}
}

func (w *walk) begin(from todo, equal bool) {
	b, a := &w.before, &w.after
	b.at, a.at = from.before, from.after
	b.stack, a.stack = append(b.stack[:0], make([]term, from.height)...), append(a.stack[:0], make([]term, from.height)...)
	w.forget(equal)
}

// forget forgets everything but which values are equal.
func (w *walk) forget(equal bool) {
	b, a := &w.before, &w.after
	w.nodes = w.nodes[:0]
	w.forgotten = w.change()
	for i := range b.stack {
		b.stack[i] = w.symbol()
		a.stack[i] = b.stack[i]
	}
	b.parameter, a.parameter = w.symbol(), w.symbol()
	if equal {
		a.parameter = b.parameter
	}
	b.joined, a.joined = false, false
}

func (w *walk) change() int64 {
	w.changes++
	return w.changes
}

func (w *walk) symbol() term { return term{form: symbol, number: w.change()} }

// way continues until the functions end, or come to a noted pair. It returns false if they differ.
func (w *walk) way() bool {
	b, a := &w.before, &w.after
	for {
		if !w.advance(b) || !w.advance(a) {
			return false
		}
		switch {
		case b.joined && a.joined:
			equal, news, ok := w.note(b, a)
			if !ok {
				return false
			}
			if !news {
				return true
			}
			w.forget(equal)
		case b.joined || a.joined: // the other function is at an effect
			b.joined, a.joined = false, false
		default:
			if same, ended := w.effect(); !same || ended {
				return same
			}
		}
	}
}

// note notes the current pair. It reports whether the parameters are equal there, and whether that
// is news. It fails if the stacks differ.
func (w *walk) note(b, a *side) (equal, news, ok bool) {
	w.budget -= len(b.stack)
	if len(b.stack) != len(a.stack) || !w.equalAll(b.stack, a.stack) {
		return false, false, false
	}
	at := pair{b.at, a.at}
	equal = w.equal(b.parameter, a.parameter)
	if known, noted := w.notes[at]; noted && (equal || !known) {
		return known, false, true
	}
	w.notes[at] = equal
	return equal, true, true
}

func (w *walk) equalAll(x, y []term) bool {
	for i := range x {
		if !w.equal(x[i], y[i]) {
			return false
		}
	}
	return true
}

// effect compares the next effects and applies them. It reports whether they are the same, and
// whether the functions have ended.
func (w *walk) effect() (same, ended bool) {
	b, a := &w.before, &w.after
	x, y := &b.code[b.at], &a.code[a.at]
	if x.kind != y.kind {
		return false, false
	}
	switch x.kind {
	case unreachable:
		return true, true
	case ends:
		return w.equalAll(b.top(b.results), a.top(a.results)), true
	case table:
		return false, false // no function that was rewritten has one
	}
	pops := int(x.pops)
	if x.op != y.op || x.pops != y.pops || !w.equalAll(b.top(pops), a.top(pops)) {
		return false, false
	}
	switch x.kind {
	case condition:
		if !w.branch(x, y) {
			return false, false
		}
	case set, tee:
		if x.index != y.index {
			return false, false
		}
		w.changed[x.index] = w.change()
		if x.kind == set {
			b.pop(1)
			a.pop(1)
		}
	default:
		if !bytes.Equal(b.raw[x.start:x.end], a.raw[y.start:y.end]) {
			return false, false
		}
		b.pop(pops)
		a.pop(pops)
		for range x.pushes {
			result := w.symbol()
			b.push(result)
			a.push(result)
		}
	}
	b.goTo(b.at + 1)
	a.goTo(a.at + 1)
	return true, false
}

// branch is a branch of both functions on an unknown condition. The walk continues without it, and
// later with it.
func (w *walk) branch(x, y *instruction) bool {
	b, a := &w.before, &w.after
	b.pop(1)
	a.pop(1)
	for i, from := range []*side{b, a} {
		to := &w.branched[i]
		to.stack, to.parameter = append(to.stack[:0], from.stack...), from.parameter
	}
	with, withAlso := &w.branched[0], &w.branched[1]
	with.jump(&x.to)
	withAlso.jump(&y.to)
	w.settle(with)
	w.settle(withAlso)
	_, news, ok := w.note(with, withAlso)
	if news {
		w.todo = append(w.todo, todo{pair{with.at, withAlso.at}, len(with.stack)})
	}
	return ok
}

// advance runs a function up to its next effect, or to code with several ways to it. It returns
// false if the proof takes too long.
func (w *walk) advance(s *side) bool {
	for !s.joined {
		in := &s.code[s.at]
		if w.budget--; w.budget < 0 {
			return false
		}
		switch in.kind {
		case silent:
			s.goTo(in.to.at)
			continue
		case jump:
			s.jump(&in.to)
			continue
		case number:
			s.push(s.constant(in))
		case get:
			s.push(w.variable(s, in.index))
		case set, tee:
			if in.index != 0 {
				return true
			}
			s.parameter = s.top(1)[0]
			if in.kind == set {
				s.pop(1)
			}
		case drop:
			s.pop(1)
		case arithmetic:
			operands := s.top(int(in.pops))
			result := term{}
			if in.pops == 1 {
				result = w.unary(in.op, operands[0])
			} else {
				result = w.binary(in.op, operands[0], operands[1])
			}
			s.pop(int(in.pops))
			s.push(result)
		case condition:
			value := &s.top(1)[0]
			*value = w.condition(*value)
			if value.form != constant32 {
				return true
			}
			holds := value.number != 0
			s.pop(1)
			if holds == (in.op == wasmfile.OpBrIf) {
				s.jump(&in.to)
				continue
			}
		case table:
			value := s.top(1)[0]
			if value.form != constant32 {
				return true
			}
			s.pop(1)
			s.jump(s.entry(in, value))
			continue
		default:
			return true
		}
		s.goTo(s.at + 1)
	}
	w.settle(s)
	return true
}

// mostSettled bounds the branches in a row, which may be a circle.
const mostSettled = 8

// settle follows branches without a condition: the same code is the same place on all ways.
func (w *walk) settle(s *side) {
	for range mostSettled {
		in := &s.code[s.at]
		w.budget--
		switch {
		case in.kind == silent:
			s.at = in.to.at
		case in.kind == jump:
			s.jump(&in.to)
		case in.kind == get && in.index == 0 && s.parameter.form == constant32 && s.code[s.at+1].kind == table:
			s.jump(s.entry(&s.code[s.at+1], s.parameter))
		default:
			return
		}
	}
}

func (w *walk) variable(s *side, index uint32) term {
	if index == 0 {
		return s.parameter
	}
	return term{form: local, index: index, number: max(w.changed[index], w.forgotten)}
}

func (s *side) constant(in *instruction) term {
	if in.op == wasmfile.OpI32Const {
		return term{form: constant32, number: int64(int32(in.index))}
	}
	return term{form: constant64, number: wasmfile.Signed(s.raw[in.start+1 : in.end])}
}

// entry returns the target of a jump table for a number. The last target is for all other numbers.
func (s *side) entry(in *instruction, value term) *target {
	return &s.targets[in.to.at+int32(min(uint32(value.number), in.index))]
}

func (s *side) top(n int) []term { return s.stack[len(s.stack)-n:] }

func (s *side) pop(n int) { s.stack = s.stack[:len(s.stack)-n] }

func (s *side) push(value term) { s.stack = append(s.stack, value) }

func (s *side) jump(to *target) {
	values := s.top(int(to.arity))
	s.stack = append(s.stack[:to.height], values...)
	s.goTo(to.at)
}

func (s *side) goTo(at int32) {
	s.at = at
	s.joined = s.joined || s.code[at].joined
}
