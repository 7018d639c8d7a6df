package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/husk-dev/husk/bench/internal/processor"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
)

// operation is the measured operation, from opening the state to closing it.
type operation struct {
	name string
	run  func(context.Context, engine.Deployment, engine.Operation) (*engine.Result, error)
	of   func(program) engine.Operation
	// writes says that it writes a record for each resource.
	writes bool
}

// operations follow each other on one stack: the first makes it, the last ends it.
var operations = []operation{
	{"first up", engine.Run, up, true},
	{"no-op up", engine.Run, up, false},
	{"no-op preview", engine.Preview, up, false},
	{"refresh", engine.Run, func(program) engine.Operation { return engine.Refresh{} }, false},
	{"destroy", engine.Run, func(program) engine.Operation { return engine.Destroy{} }, true},
}

func up(p program) engine.Operation { return engine.Up{Program: p} }

type cost struct {
	// time is the elapsed time, and processor the processor time, which other work on the machine disturbs less; 0 where it is
	// unknown.
	time, processor time.Duration
	// allocated and peak are the bytes that were allocated, and in use at once, garbage
	// that was not yet collected included.
	allocated, peak float64
	// written is the bytes that were written to the journal.
	written float64
}

// measure runs all operations on a stack of its own.
func measure(ctx context.Context, p program) (costs []cost, err error) {
	dir, err := os.MkdirTemp("", "growth")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := stack{store: &counting{Store: filestore.New(dir + "/state")}, keyDir: dir, name: state.StackName{Project: "bench", Name: "growth"}}
	if err := state.Create(ctx, s.store, s.name, s.keys()); err != nil {
		return nil, err
	}
	for _, op := range operations {
		c, err := s.measure(ctx, op, p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", op.name, err)
		}
		costs = append(costs, c)
	}
	return costs, nil
}

type stack struct {
	store  *counting
	keyDir string
	name   state.StackName
}

// keys encrypts secrets with a key in the stack's directory. The stacks have none.
func (s stack) keys() secrets.Keys {
	return secrets.Keys{
		LookupEnv: func(string) (string, bool) { return "", false },
		ReadFile:  os.ReadFile,
		ConfigDir: func() (string, error) { return s.keyDir, nil },
		KeyMade:   func(string) {},
	}
}

// measure runs an operation, from opening the state to closing it.
func (s stack) measure(ctx context.Context, op operation, p program) (c cost, err error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s.store.written.Store(0)
	peak := watchHeap()
	start, used := time.Now(), processor.Own()
	err = s.run(ctx, op, p)
	c.time, c.processor = time.Since(start), processor.Own()-used
	c.peak = peak()
	runtime.ReadMemStats(&after)
	c.allocated = float64(after.TotalAlloc - before.TotalAlloc)
	c.written = float64(s.store.written.Load())
	return c, err
}

func (s stack) run(ctx context.Context, op operation, p program) (err error) {
	st, err := state.Open(ctx, s.store, s.name, s.keys(), state.Holder{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close(ctx)) }()
	_, err = op.run(ctx, engine.Deployment{
		Project: s.name.Project, Stack: s.name.Name, Providers: cloud{}, State: st,
		Events: func(engine.Event) {},
	}, op.of(p))
	return err
}

// watchEvery is how often the heap's size is read, to see it between two collections.
const watchEvery = 2 * time.Millisecond

// watchHeap returns a function that ends the watch and returns the heap's largest size.
func watchHeap() (peak func() float64) {
	stop, largest := make(chan struct{}), make(chan float64)
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		most := uint64(0)
		for {
			metrics.Read(sample)
			most = max(most, sample[0].Value.Uint64())
			select {
			case <-ticker.C:
			case <-stop:
				largest <- float64(most)
				return
			}
		}
	}()
	return func() float64 { close(stop); return <-largest }
}
