package backendtest

import (
	"cmp"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"
)

// operation is what a client did and saw, with the times between which it took effect.
type operation struct {
	client     int
	in         input
	out        output
	begin, end int64
}

// errTooMany is the error for a history with more orders than can be tried.
var errTooMany = errors.New("the operations can have happened in too many orders")

// mostTried bounds the beginnings of orders that are tried, each of which takes some hundred bytes.
const mostTried = 1_000_000

// linearization is the search for an order of operations in which each happens between its begin and its end, and a register
// shows what the clients saw (Wing and Gong's algorithm, with Lowe's memory of what was tried).
type linearization struct {
	step func(register, input, output) []register
	ops  []operation
	// done has a bit for each operation that is in the order.
	done []uint64
	// tried are the keys of operations and states that lead to no order.
	tried map[string]bool
	// numbers are the numbers of states in the keys of tried.
	numbers map[register]uint64
	// order is the current order, and longest the longest that was found.
	order, longest []int
}

// linearize sorts the operations by their begin, and returns an order, by their indexes, in which a register could have shown what
// the clients saw. If there is none, complete is false, and the order is the longest that explains a part of the operations.
func (c Case) linearize(ops []operation) (order []int, complete bool, err error) {
	slices.SortStableFunc(ops, func(a, b operation) int { return cmp.Compare(a.begin, b.begin) })
	l := &linearization{
		step: c.step, ops: ops, done: make([]uint64, (len(ops)+63)/64),
		tried: make(map[string]bool), numbers: make(map[register]uint64),
	}
	complete, err = l.search([]register{{}})
	return l.longest, complete, err
}

// search goes on from the states that the register can have after the present order.
func (l *linearization) search(states []register) (bool, error) {
	if len(l.order) > len(l.longest) {
		l.longest = slices.Clone(l.order)
	}
	if len(l.order) == len(l.ops) {
		return true, nil
	}
	key := l.key(states)
	if l.tried[key] {
		return false, nil
	}
	if len(l.tried) == mostTried {
		return false, errTooMany
	}
	l.tried[key] = true
	for _, i := range l.next() {
		op := l.ops[i]
		after := make(map[register]bool)
		for _, s := range states {
			for _, next := range l.step(s, op.in, op.out) {
				after[next] = true
			}
		}
		if len(after) == 0 {
			continue
		}
		l.done[i/64] |= 1 << (i % 64)
		l.order = append(l.order, i)
		complete, err := l.search(slices.Collect(maps.Keys(after)))
		if complete || err != nil {
			return complete, err
		}
		l.order = l.order[:len(l.order)-1]
		l.done[i/64] &^= 1 << (i % 64)
	}
	return false, nil
}

// next returns the operations that can be next in the order: they begin before any other that is not in it has ended.
func (l *linearization) next() (can []int) {
	firstEnd := int64(math.MaxInt64)
	for i, op := range l.ops {
		if op.begin > firstEnd {
			break
		}
		if l.done[i/64]&(1<<(i%64)) == 0 {
			can = append(can, i)
			firstEnd = min(firstEnd, op.end)
		}
	}
	return can
}

// key tells apart what was tried: the operations in the order, and the states after them.
func (l *linearization) key(states []register) string {
	numbers := make([]uint64, len(states))
	for i, s := range states {
		n, known := l.numbers[s]
		if !known {
			n = uint64(len(l.numbers))
			l.numbers[s] = n
		}
		numbers[i] = n
	}
	slices.Sort(numbers)
	var key []byte
	for _, n := range slices.Concat(l.done, numbers) {
		key = binary.LittleEndian.AppendUint64(key, n)
	}
	return string(key)
}
