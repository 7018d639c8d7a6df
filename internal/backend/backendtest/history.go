package backendtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
)

// Fault is something that happens while the writers of a history use a stack.
type Fault struct {
	// Cause has it happen, and returns when it is over.
	Cause func(*rand.Rand)
	// Every is how often it happens, in pauses between faults: 8 for one of about eight. Zero stands for 1.
	Every int
	// Times is how often it happens at least: the history goes on until then.
	Times int
	// Ends says that it ends the lease of the stack, also one that is taken while it happens, and Expires that another can
	// take that until its holder writes.
	Ends, Expires bool

	// try takes the place of Cause. It returns the writer that it has happened to, false if there was none.
	try func(*rand.Rand) (writer int, happened bool)
	// exit says that the lease of that writer ends.
	exit bool
}

// Case is a history: several writers use one stack while faults happen.
type Case struct {
	// Open returns the store as writer n reaches it.
	Open   func(n int) state.Store
	Faults []Fault
	// Local says that what a store was asked for has no effect any more when it has answered, also with an error, or
	// when the process that was asked has ended. Otherwise, a request that nobody waits for may arrive late.
	Local bool
	// Late says that a writer that has lost its lease may write a record, which is not confirmed, behind the others: all
	// read it until the next holder, if that has not read it, writes.
	Late bool
	// SilentAppends says that a record does not keep others from taking a lease that has expired.
	SilentAppends bool
}

// History runs a [Case] of a store that others reach by requests.
func History(t *testing.T, open func(n int) state.Store, faults ...Fault) {
	Case{Open: open, Faults: faults}.Run(t)
}

const (
	writers = 3
	// turns is how often each writer wants the lease at least. With -short, that and the faults are a part of it, unless nothing was
	// appended by then.
	turns     = 12
	shortPart = 4
	// pause is the longest time between faults.
	pause = 40 * time.Millisecond
)

// Run checks that one register with a fencing token could have shown everything that the writers see: nothing that was confirmed
// is lost, and no two writers interleave.
func (c Case) Run(t *testing.T) {
	stores := make([]state.Store, writers+1)
	for n := range stores {
		stores[n] = c.Open(n)
	}
	require.NoError(t, stores[0].Create(t.Context(), name, logCheckpoint(nil)))
	h := &history{start: time.Now(), seed: seed(t), local: c.Local, left: make([]atomic.Int64, len(c.Faults))}
	part := 1
	if testing.Short() {
		part = shortPart
	}
	for i, f := range c.Faults {
		h.left[i].Store(int64((f.Times + part - 1) / part))
	}
	done := make(chan struct{})
	var causing, work sync.WaitGroup
	left := make([][]state.Lease, writers)
	defer func() {
		for _, l := range slices.Concat(left...) {
			_ = l.Release(t.Context()) // it may be lost
		}
	}()
	if len(c.Faults) > 0 {
		causing.Go(func() { h.causeAll(c.Faults, done) })
	}
	for n := range writers {
		work.Go(func() {
			w := &writer{t: t, n: n, store: stores[n], history: h, random: h.random(n)}
			for turn := 0; turn < turns/part || turn < turns && !h.appended.Load() || h.goesOn() && !t.Failed(); turn++ {
				if turn >= turns/part {
					time.Sleep(pause) // so that what happens rarely makes no long history
				}
				w.turn()
			}
			left[n] = w.left
		})
	}
	work.Wait()
	close(done)
	causing.Wait()
	reader := &writer{t: t, n: writers, store: stores[writers], history: h}
	reader.load()
	t.Log(h.summary())
	ops := h.operations()
	order, complete, err := c.linearize(ops)
	if !complete {
		explain(t, ops, order)
	}
	require.NoError(t, err)
	require.True(t, complete, "the writers saw what no register could have shown")
	require.Positive(t, h.count()[opAppend][resultDone], "a history without changes shows nothing")
}

// explain logs the operations in the order of their begin. It marks the operations that the longest partial explanation leaves
// out: no register could have shown one of the first of these.
func explain(t *testing.T, ops []operation, order []int) {
	for i, op := range ops {
		mark := "! "
		if slices.Contains(order, i) {
			mark = "  "
		}
		t.Logf("%swriter %d, %d to %d ns: %+v → %+v", mark, op.client, op.begin, op.end, op.in, op.out)
	}
}

func logCheckpoint(log []string) []byte {
	text, err := json.Marshal(map[string]any{"version": 3, "checkpoint": map[string]any{"log": log}})
	if err != nil {
		panic(err) // strings are always JSON
	}
	return text
}

// logOf returns the values that a state holds.
func logOf(c *state.Contents) ([]string, error) {
	var read struct {
		Checkpoint struct{ Log []string }
	}
	if err := json.Unmarshal(c.Checkpoint, &read); err != nil {
		return nil, err
	}
	log := read.Checkpoint.Log
	for _, r := range c.Records {
		log = append(log, string(r))
	}
	return log, nil
}

type history struct {
	start time.Time
	seed  uint64
	local bool
	// left is how often each fault has to happen yet.
	left []atomic.Int64
	// caused counts faults.
	caused atomic.Int64
	// appended says that a record was confirmed.
	appended atomic.Bool

	mu  sync.Mutex
	ops []operation
}

// seedVariable is the environment variable with the seed. Writers and faults make other choices for each seed.
const seedVariable = "HUSK_TEST_SEED"

func seed(t *testing.T) uint64 {
	text := os.Getenv(seedVariable)
	if text == "" {
		return 1
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, seedVariable)
	return seed
}

// random returns the choices of a writer, or of faults, by its number.
func (h *history) random(n int) *rand.Rand { return rand.New(rand.NewPCG(h.seed, uint64(n))) }

// goesOn reports whether a fault has to happen yet.
func (h *history) goesOn() bool {
	for i := range h.left {
		if h.left[i].Load() > 0 {
			return true
		}
	}
	return false
}

// operations returns the operations. One whose outcome is unknown may take effect until the end, unless it is local.
func (h *history) operations() []operation {
	end := h.now()
	out := slices.Clone(h.ops)
	for i := range out {
		if out[i].out.result == resultUnknown && !h.local {
			out[i].end = end
		}
	}
	return out
}

// count counts operations by their results.
func (h *history) count() map[opKind]map[resultKind]int {
	out := make(map[opKind]map[resultKind]int)
	for _, op := range h.ops {
		kind, result := op.in.kind, op.out.result
		if out[kind] == nil {
			out[kind] = make(map[resultKind]int)
		}
		out[kind][result]++
	}
	return out
}

func (h *history) summary() string {
	text, counts := fmt.Sprintf("seed %d, %d faults in %v", h.seed, h.caused.Load(), time.Since(h.start).Round(time.Millisecond)), h.count()
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		for _, result := range slices.Sorted(maps.Keys(counts[kind])) {
			text += fmt.Sprintf(", %d × %s %s", counts[kind][result], kind, result)
		}
	}
	return text
}

// now returns the time since the start, in nanoseconds.
func (h *history) now() int64 { return time.Since(h.start).Nanoseconds() }

// do records an operation.
func (h *history) do(client int, in input, act func() output) output {
	begin := h.now()
	out := act()
	end := h.now()
	if out.result == resultNone || in.kind == opLoad && (out.result == resultUnknown || out.result == resultFull) {
		return out // it changed nothing, and showed nothing
	}
	h.add(operation{client: client, in: in, out: out, begin: begin, end: end})
	if in.kind == opAppend && out.result == resultDone {
		h.appended.Store(true)
	}
	if out.result == resultFenced && in.token != 0 {
		// It was lost then, whatever the operation has done before.
		h.add(operation{client: client, in: input{kind: opLost, token: in.token}, out: out, begin: begin, end: end})
	}
	return out
}

// causeAll causes faults until it is told that no more are needed.
func (h *history) causeAll(faults []Fault, done <-chan struct{}) {
	random := h.random(writers + 1)
	for {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(random.Int64N(int64(pause)))):
		}
		i := random.IntN(len(faults))
		if f := faults[i]; (f.Every == 0 || random.IntN(f.Every) == 0) && h.cause(f, random) {
			h.caused.Add(1)
			h.left[i].Add(-1)
		}
	}
}

// cause causes a fault, and records what the model must know of it. It reports whether the fault has happened.
func (h *history) cause(f Fault, random *rand.Rand) bool {
	begin := h.now()
	in := input{}
	if f.try != nil {
		happened := false
		if in.writer, happened = f.try(random); !happened {
			return false
		}
	} else {
		f.Cause(random)
	}
	switch {
	case f.exit:
		in.kind = opExit
	case f.Ends:
		in.kind = opBreak
	case f.Expires:
		in.kind = opExpire
	}
	moments := 1
	switch {
	case in.kind == "":
		return true
	case f.Ends:
		moments = writers // each may have a lease, one after the other
	}
	end := h.now()
	for range moments {
		h.add(operation{client: writers + 1, in: in, out: output{result: resultDone}, begin: begin, end: end})
	}
	return true
}

func (h *history) add(op operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, op)
}

// writer is one process that uses the stack.
type writer struct {
	t       *testing.T
	n       int
	store   state.Store
	history *history
	random  *rand.Rand
	values  int
	// left are leases that it has not ended.
	left []state.Lease
}

// result returns the result for an error. No fault damages a state, or has a writer miscount.
func (w *writer) result(err error) resultKind {
	var full *state.NoSpaceError
	switch {
	case err == nil, errors.As(err, &full) && full.Saved:
		return resultDone
	case errors.Is(err, errGone):
		return resultNone
	case errors.Is(err, state.ErrLocked):
		return resultLocked
	case errors.Is(err, state.ErrFenced):
		return resultFenced
	case errors.Is(err, state.ErrNoSpace):
		return resultFull
	case errors.Is(err, state.ErrCorrupt), errors.Is(err, state.ErrSequence), errors.Is(err, state.ErrStackNotFound):
		w.t.Errorf("writer %d: %v", w.n, err)
	}
	return resultUnknown
}

// turn takes the lease, if it is free, makes some changes, and ends it. If it is not free, the writer looks
// at the state, or takes the lease away.
func (w *writer) turn() {
	ctx := w.t.Context()
	const breaks, checkpoints, leaves, reserves, most = 3, 4, 5, 2, 6 // one of so many times
	var lease state.Lease
	var contents *state.Contents
	var log []string
	begin := w.history.now()
	out := w.history.do(w.n, input{kind: opLease, writer: w.n}, func() output {
		if w.random.IntN(2) == 0 {
			l, c, err := w.store.LeaseAndLoad(ctx, name, state.Holder{PID: w.n + 1})
			if err != nil {
				return output{result: w.result(err)}
			}
			lease, contents = l, c
			return output{result: resultDone, token: l.Token()}
		}
		l, err := w.store.Lease(ctx, name, state.Holder{PID: w.n + 1})
		if err != nil {
			return output{result: w.result(err)}
		}
		lease = l
		return output{result: resultDone, token: l.Token()}
	})
	if lease == nil {
		if w.random.IntN(breaks) == 0 {
			w.history.do(w.n, input{kind: opBreak}, func() output {
				result := w.result(w.store.Break(ctx, name))
				if result != resultDone {
					result = resultUnknown
				}
				return output{result: result}
			})
		} else {
			w.load()
			time.Sleep(time.Duration(w.random.IntN(20)) * time.Millisecond)
		}
		return
	}
	token := out.token
	defer func() {
		if w.random.IntN(leaves) == 0 {
			_ = lease.Reserve(ctx) // a process that hangs: somebody breaks its lease
			w.left = append(w.left, lease)
			return
		}
		w.history.do(w.n, input{kind: opRelease, token: token}, func() output {
			result := w.result(lease.Release(ctx))
			if result == resultFull {
				result = resultUnknown
			}
			return output{result: result}
		})
	}()
	if contents != nil {
		// It was loaded at some moment of the same step.
		in, shown := input{kind: opLoad, token: token}, w.shown(contents, &log)
		w.history.add(operation{client: w.n, in: in, out: shown, begin: begin, end: w.history.now()})
	} else {
		w.history.do(w.n, input{kind: opLoad, token: token}, func() output {
			c, err := lease.Load(ctx)
			if err != nil {
				return output{result: w.result(err)}
			}
			contents = c
			return w.shown(c, &log)
		})
	}
	if contents == nil {
		return
	}
	sequence := contents.Sequence + uint64(len(contents.Records))
	for range 1 + w.random.IntN(most) {
		in := input{kind: opAppend, token: token, length: len(log), value: fmt.Sprintf("%d.%d", w.n, w.values)}
		w.values++
		if w.random.IntN(checkpoints) == 0 {
			in.kind = opCheckpoint
		}
		if w.random.IntN(reserves) == 0 && errors.Is(lease.Reserve(ctx), state.ErrNoSpace) {
			continue // what needs it does not begin
		}
		out := w.history.do(w.n, in, func() output {
			if in.kind == opCheckpoint {
				return output{result: w.result(lease.Checkpoint(ctx, sequence, logCheckpoint(log)))}
			}
			return output{result: w.result(lease.Append(ctx, sequence+1, []byte(in.value)))}
		})
		if out.result != resultDone && out.result != resultFull {
			return
		}
		if in.kind == opAppend && out.result == resultDone {
			sequence, log = sequence+1, append(log, in.value)
		}
		time.Sleep(time.Duration(w.random.IntN(5)) * time.Millisecond)
	}
}

// shown returns the values that a state shows.
func (w *writer) shown(c *state.Contents, log *[]string) output {
	values, err := logOf(c)
	if err != nil {
		w.t.Errorf("the state cannot be read: %v", err)
		return output{result: resultUnknown}
	}
	*log = values
	out := output{result: resultDone}
	for _, v := range values {
		out.log += v + ","
	}
	return out
}

func (w *writer) load() {
	w.history.do(w.n, input{kind: opLoad}, func() output {
		c, err := w.store.Load(w.t.Context(), name)
		if err != nil {
			w.result(err) // tells damage
			return output{result: resultUnknown}
		}
		var log []string
		return w.shown(c, &log)
	})
}
