// Package toposort puts numbered things into topological order.
package toposort

import "slices"

// Order returns the numbers below n in an order in which the numbers of before(i) come before i. Numbers that are in such an
// order keep it. It takes time linear in the numbers and their edges.
//
// cycle is called for each edge that closes a cycle and so does not count. numbers returns the
// cycle, in time linear in n: every number depends on the next, and the last on the first.
func Order(n int, before func(i int) []int, cycle func(numbers func() []int)) []int {
	const (
		unseen = iota
		open
		done
	)
	order := make([]int, 0, n)
	marks := make([]uint8, n)
	type visit struct {
		at   int
		deps []int
	}
	var stack []visit // of its own: a chain may be longer than the goroutine's
	begin := func(at int) {
		marks[at] = open
		stack = append(stack, visit{at, before(at)})
	}
	for start := range n {
		if marks[start] == unseen {
			begin(start)
		}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if len(top.deps) == 0 {
				marks[top.at] = done
				order = append(order, top.at)
				stack = stack[:len(stack)-1]
				continue
			}
			dep := top.deps[0]
			top.deps = top.deps[1:]
			switch marks[dep] {
			case unseen:
				begin(dep)
			case open:
				cycle(func() (numbers []int) {
					for _, v := range stack[slices.IndexFunc(stack, func(v visit) bool { return v.at == dep }):] {
						numbers = append(numbers, v.at)
					}
					return numbers
				})
			}
		}
	}
	return order
}
