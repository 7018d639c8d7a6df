package backendtest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
)

// Fault is something that happens while the writers of [History] use a stack.
type Fault struct {
	// Cause has it happen, and returns when it is over.
	Cause func(*rand.Rand)
	// Every is how often it happens, in pauses between faults: 8 for one of about eight. Zero stands for 1.
	Every int
	// Ends says that it ends the lease of the stack, and Expires that another can take that until its holder writes.
	Ends, Expires bool
}

// History has several writers use one stack while faults happen, and checks that what they saw is what one
// register with a fencing token could have shown: nothing that was confirmed is lost, and no two writers
// interleave. open returns the store as writer n reaches it.
func History(t *testing.T, open func(n int) state.Store, faults ...Fault) {
	const (
		writers = 3
		turns   = 12
		checkIn = 60 * time.Second
		// pause is the longest time between faults.
		pause = 40 * time.Millisecond
	)
	require.NoError(t, open(0).Create(t.Context(), name, logCheckpoint(nil)))
	stores := make([]state.Store, writers+1)
	for n := range stores {
		stores[n] = open(n)
	}
	h := &history{start: time.Now()}
	done := make(chan struct{})
	var causing, work sync.WaitGroup
	if len(faults) > 0 {
		causing.Go(func() {
			random := rand.New(rand.NewPCG(1, 2))
			for {
				select {
				case <-done:
					return
				case <-time.After(time.Duration(random.Int64N(int64(pause)))):
				}
				if f := faults[random.IntN(len(faults))]; f.Every == 0 || random.IntN(f.Every) == 0 {
					h.cause(writers+1, f, random)
				}
			}
		})
	}
	for n := range writers {
		work.Go(func() {
			w := &writer{t: t, n: n, store: stores[n], history: h, random: rand.New(rand.NewPCG(3, uint64(n)))}
			for range turns {
				w.turn()
			}
		})
	}
	work.Wait()
	close(done)
	causing.Wait()
	reader := &writer{t: t, n: writers, store: stores[writers], history: h}
	reader.load()
	result := porcupine.CheckOperationsTimeout(model.ToModel(), h.operations(), checkIn)
	if result != porcupine.Ok {
		for _, op := range slices.SortedFunc(slices.Values(h.ops), func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) }) {
			t.Logf("writer %d, %6d to %6d µs: %+v → %+v", op.ClientId, op.Call/1000, op.Return/1000, op.Input, op.Output)
		}
	}
	require.Equal(t, porcupine.Ok, result, "the writers saw what no register could have shown")
	var appended int
	for _, op := range h.ops {
		if in := op.Input.(input); in.kind == opAppend && op.Output.(output).result == resultDone {
			appended++
		}
	}
	require.Positive(t, appended, "a history without changes shows nothing")
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

type opKind string

const (
	opLease      opKind = "lease"
	opAppend     opKind = "append"
	opCheckpoint opKind = "checkpoint"
	opBreak      opKind = "break"
	opLoad       opKind = "load"
	opRelease    opKind = "release"
	// opExpire has the lease end for others than its holder.
	opExpire opKind = "expire"
)

type input struct {
	kind  opKind
	token uint64
	// value is what is appended, and length how many values there are before.
	value  string
	length int
}

type resultKind string

const (
	resultDone    resultKind = "done"
	resultLocked  resultKind = "locked"
	resultFenced  resultKind = "fenced"
	resultUnknown resultKind = "unknown"
)

type output struct {
	result resultKind
	token  uint64
	log    string
}

func resultOf(err error) resultKind {
	switch {
	case err == nil:
		return resultDone
	case errors.Is(err, state.ErrLocked):
		return resultLocked
	case errors.Is(err, state.ErrFenced):
		return resultFenced
	}
	return resultUnknown
}

// register is the state of the model.
type register struct {
	// holder is the token of the lease that lasts, 0 for none, and last that of the last one.
	holder, last uint64
	log          string
	length       int
	// expired says that another can take the lease.
	expired bool
}

// model says what a stack may show.
var model = porcupine.NondeterministicModel{
	Init: func() []any { return []any{register{}} },
	Step: func(of, in, out any) []any {
		r, i, o := of.(register), in.(input), out.(output)
		next, legal := r.next(i, o)
		switch {
		case o.result == resultUnknown && legal:
			return []any{r, next}
		case o.result == resultUnknown:
			return []any{r}
		case o.result == resultFenced && i.kind == opAppend:
			// It may have taken effect before its writer was told that the lease was lost, and, in files, until the
			// next lease, whose holder reads it. It was not confirmed.
			var all []any
			if !r.holds(i) {
				all = append(all, r)
			}
			if r.last == i.token && r.length == i.length {
				r.log, r.length = r.log+i.value+",", r.length+1
				all = append(all, r)
			}
			return all
		case o.result == resultFenced && !r.holds(i):
			return []any{r}
		case o.result == resultFenced && i.kind == opCheckpoint && legal:
			return []any{r} // it changes nothing that can be seen
		case legal:
			return []any{next}
		}
		return nil
	},
	Equal: func(a, b any) bool { return a == b },
}

// holds reports whether the lease of an operation lasts.
func (r register) holds(i input) bool { return i.token != 0 && r.holder == i.token }

// next returns the state after an operation, and whether that may have the outcome. An unknown outcome is
// taken for success.
func (r register) next(i input, o output) (register, bool) {
	holds := r.holds(i)
	switch i.kind {
	case opLease:
		if o.result == resultLocked {
			return r, true // also if another only tried to take it: whoever is refused changes nothing
		}
		if o.result == resultUnknown {
			o.token = r.last + 1
		}
		return register{holder: o.token, last: o.token, log: r.log, length: r.length}, (r.holder == 0 || r.expired) && o.token > r.last
	case opBreak:
		r.holder, r.expired = 0, false
		return r, true
	case opExpire:
		r.expired = r.holder != 0
		return r, true
	case opRelease:
		if holds {
			r.holder, r.expired = 0, false
		}
		return r, true
	case opLoad:
		return r, o.result != resultFenced && o.log == r.log
	}
	if !holds || r.length != i.length {
		return r, false
	}
	if i.kind == opAppend {
		r.log, r.length = r.log+i.value+",", r.length+1
	}
	r.expired = false
	return r, true
}

type history struct {
	start time.Time
	mu    sync.Mutex
	ops   []porcupine.Operation
}

// operations returns the operations. One whose outcome is unknown may take effect until the end.
func (h *history) operations() []porcupine.Operation {
	end := time.Since(h.start).Nanoseconds()
	out := slices.Clone(h.ops)
	for i := range out {
		if out[i].Output.(output).result == resultUnknown {
			out[i].Return = end
		}
	}
	return out
}

// do records an operation.
func (h *history) do(client int, in input, operation func() output) output {
	begin := time.Since(h.start).Nanoseconds()
	out := operation()
	end := time.Since(h.start).Nanoseconds()
	if in.kind == opLoad && out.result == resultUnknown {
		return out // it changed nothing, and showed nothing
	}
	h.add(porcupine.Operation{ClientId: client, Input: in, Call: begin, Output: out, Return: end})
	return out
}

// cause causes a fault, and records what the model must know of it.
func (h *history) cause(client int, f Fault, random *rand.Rand) {
	begin := time.Since(h.start).Nanoseconds()
	f.Cause(random)
	op := porcupine.Operation{ClientId: client, Call: begin, Output: output{result: resultDone}, Return: time.Since(h.start).Nanoseconds()}
	switch {
	case f.Ends:
		op.Input = input{kind: opBreak}
	case f.Expires:
		op.Input = input{kind: opExpire}
	default:
		return
	}
	h.add(op)
}

func (h *history) add(op porcupine.Operation) {
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
}

// turn takes the lease, if it is free, makes some changes, and ends it. If it is not free, the writer looks
// at the state, or takes the lease away.
func (w *writer) turn() {
	ctx := w.t.Context()
	const breaks, checkpoints, leaves, most = 3, 4, 5, 6 // one of so many times
	var lease state.Lease
	var contents *state.Contents
	var log []string
	begin := time.Since(w.history.start).Nanoseconds()
	out := w.history.do(w.n, input{kind: opLease}, func() output {
		if opener, ok := w.store.(state.Opener); ok && w.random.IntN(2) == 0 {
			l, c, err := opener.LeaseAndLoad(ctx, name, state.Holder{PID: w.n + 1})
			if err != nil {
				return output{result: resultOf(err)}
			}
			lease, contents = l, c
			return output{result: resultDone, token: l.Token()}
		}
		l, err := w.store.Lease(ctx, name, state.Holder{PID: w.n + 1})
		if err != nil {
			return output{result: resultOf(err)}
		}
		lease = l
		return output{result: resultDone, token: l.Token()}
	})
	if lease == nil {
		if w.random.IntN(breaks) == 0 {
			w.history.do(w.n, input{kind: opBreak}, func() output { return output{result: resultOf(w.store.Break(ctx, name))} })
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
			w.t.Cleanup(func() { _ = lease.Release(w.t.Context()) })
			return
		}
		w.history.do(w.n, input{kind: opRelease, token: token}, func() output { return output{result: resultOf(lease.Release(ctx))} })
	}()
	if contents != nil {
		// It was loaded at some moment of the same step.
		in, shown := input{kind: opLoad, token: token}, w.shown(contents, &log)
		w.history.add(porcupine.Operation{ClientId: w.n, Input: in, Call: begin, Output: shown, Return: time.Since(w.history.start).Nanoseconds()})
	} else {
		w.history.do(w.n, input{kind: opLoad, token: token}, func() output {
			c, err := lease.Load(ctx)
			if err != nil {
				return output{result: resultOf(err)}
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
		out := w.history.do(w.n, in, func() output {
			if in.kind == opCheckpoint {
				return output{result: resultOf(lease.Checkpoint(ctx, sequence, logCheckpoint(log)))}
			}
			return output{result: resultOf(lease.Append(ctx, sequence+1, []byte(in.value)))}
		})
		if out.result != resultDone {
			return
		}
		if in.kind == opAppend {
			sequence, log = sequence+1, append(log, in.value)
		}
		time.Sleep(time.Duration(w.random.IntN(5)) * time.Millisecond)
	}
}

// shown returns what a state shows.
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
		if errors.Is(err, state.ErrCorrupt) {
			w.t.Errorf("the state is damaged: %v", err)
		}
		if err != nil {
			return output{result: resultUnknown}
		}
		var log []string
		return w.shown(c, &log)
	})
}
