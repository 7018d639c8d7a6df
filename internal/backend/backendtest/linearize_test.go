package backendtest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLinearize(t *testing.T) {
	lease := func(token uint64, begin, end int64) operation {
		return operation{in: input{kind: opLease}, out: output{result: resultDone, token: token}, begin: begin, end: end}
	}
	add := func(token uint64, value string, length int, r resultKind, begin, end int64) operation {
		return operation{in: input{kind: opAppend, token: token, value: value, length: length}, out: output{result: r}, begin: begin, end: end}
	}
	load := func(log string, begin, end int64) operation {
		return operation{in: input{kind: opLoad}, out: output{result: resultDone, log: log}, begin: begin, end: end}
	}
	for name, c := range map[string]struct {
		ops  []operation
		left []int // the operations that are not explained, nil if all are
	}{
		"nothing":                         {},
		"a load after a record":           {ops: []operation{lease(1, 0, 1), add(1, "a", 0, resultDone, 2, 3), load("a,", 4, 5)}},
		"a load at the same time":         {ops: []operation{lease(1, 0, 1), add(1, "a", 0, resultDone, 2, 5), load("", 3, 4)}},
		"a load that begins as it ends":   {ops: []operation{lease(1, 0, 1), add(1, "a", 0, resultDone, 2, 3), load("", 3, 4)}},
		"a record is lost":                {ops: []operation{lease(1, 0, 1), add(1, "a", 0, resultDone, 2, 3), load("", 4, 5)}, left: []int{2}},
		"a record that nobody has made":   {ops: []operation{lease(1, 0, 1), load("a,", 2, 3)}, left: []int{1}},
		"a record from later":             {ops: []operation{lease(1, 0, 1), load("a,", 2, 3), add(1, "a", 0, resultDone, 4, 5)}, left: []int{1, 2}},
		"two holders":                     {ops: []operation{lease(1, 0, 1), lease(2, 2, 3)}, left: []int{1}},
		"a token again":                   {ops: []operation{lease(1, 0, 1), {in: input{kind: opRelease, token: 1}, out: output{result: resultDone}, begin: 2, end: 3}, lease(1, 4, 5)}, left: []int{2}},
		"an unknown record is shown":      {ops: []operation{lease(1, 0, 1), add(1, "a", 0, resultUnknown, 2, 9), load("", 3, 4), load("a,", 5, 6)}},
		"an unknown record is never seen": {ops: []operation{lease(1, 0, 1), add(1, "a", 0, resultUnknown, 2, 9), load("", 3, 4)}},
		"it is shown, and then not":       {ops: []operation{lease(1, 0, 1), add(1, "a", 0, resultUnknown, 2, 9), load("a,", 3, 4), load("", 5, 6)}, left: []int{3}},
	} {
		t.Run(name, func(t *testing.T) {
			order, complete, err := Case{}.linearize(c.ops)
			require.NoError(t, err)
			require.Equal(t, c.left == nil, complete)
			var left []int
			for i := range c.ops {
				if !slices.Contains(order, i) {
					left = append(left, i)
				}
			}
			require.Equal(t, c.left, left)
		})
	}
}

// The search finds an order exactly if one of all orders is possible.
func TestLinearizeTriesAllOrders(t *testing.T) {
	random, results := rand.New(rand.NewPCG(1, 2)), map[bool]int{}
	kinds := []opKind{opLease, opAppend, opAppend, opLoad, opLoad, opRelease, opCheckpoint, opExpire, opLost}
	outcomes := []resultKind{resultDone, resultDone, resultDone, resultUnknown, resultFenced, resultFull}
	for range 4000 {
		c := Case{Late: random.IntN(2) == 0, SilentAppends: random.IntN(2) == 0}
		ops := []operation{{in: input{kind: opLease}, out: output{result: resultDone, token: 1}}}
		for range 1 + random.IntN(5) {
			begin := random.Int64N(8)
			op := operation{begin: begin, end: begin + random.Int64N(5)}
			op.in = input{kind: kinds[random.IntN(len(kinds))], token: 1 + random.Uint64N(2), value: "a", length: random.IntN(2)}
			op.out = output{result: outcomes[random.IntN(len(outcomes))], token: 2, log: []string{"", "a,", "a,a,"}[random.IntN(3)]}
			ops = append(ops, op)
		}
		order, complete, err := c.linearize(ops)
		require.NoError(t, err)
		require.Equal(t, possible(c, ops, make([]bool, len(ops)), nil, []register{{}}), complete, "%+v", ops)
		results[complete]++
		if complete {
			require.Len(t, order, len(ops))
			require.True(t, possible(c, ops, make([]bool, len(ops)), order, []register{{}}), "%v of %+v", order, ops)
		}
	}
	require.Greater(t, min(results[true], results[false]), 400, "%v", results)
}

// possible reports whether a register can have shown the operations that are not done, in an order, or in any if that is nil.
func possible(c Case, ops []operation, done []bool, order []int, states []register) bool {
	if !slices.Contains(done, false) {
		return len(states) > 0
	}
	for i, op := range ops {
		late := false
		for j, other := range ops {
			late = late || !done[j] && other.end < op.begin
		}
		if done[i] || late || len(order) > 0 && order[0] != i {
			continue
		}
		var after []register
		for _, s := range states {
			after = append(after, c.step(s, op.in, op.out)...)
		}
		done[i] = true
		if len(after) > 0 && possible(c, ops, done, order[min(1, len(order)):], after) {
			return true
		}
		done[i] = false
	}
	return false
}
