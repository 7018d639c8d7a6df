package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/state"
)

// modelResource is one resource of a random program.
type modelResource struct {
	Name, Type  string
	Key         int
	From        []int // earlier resources whose computed property is an input
	After       []int // earlier resources that it depends on without taking anything
	DeleteFirst bool
	Retain      bool
}

// modelProgram registers its resources in order.
type modelProgram []modelResource

func (m modelProgram) program() enginetest.Program {
	return func(p *enginetest.Run) error {
		made := make([]enginetest.Resource, len(m))
		for i, r := range m {
			inputs := props("key", r.Key)
			for _, from := range r.From {
				inputs = inputs.With("from"+m[from].Name, made[from].Out("made"))
			}
			res, err := p.Custom(r.Type, r.Name, inputs, func(o *abi.ResourceOptions) {
				if r.DeleteFirst {
					o.DeleteBeforeReplace = &r.DeleteFirst
				}
				if r.Retain {
					o.RetainOnDelete = &r.Retain
				}
				for _, after := range r.After {
					o.Dependencies = append(o.Dependencies, made[after].URN)
				}
			})
			if err != nil {
				return err
			}
			made[i] = res
		}
		return nil
	}
}

func drawProgram(t *rapid.T) modelProgram {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}), 0, 6, rapid.ID).Draw(t, "names")
	var m modelProgram
	for i, name := range names {
		var earlier *rapid.Generator[[]int]
		if i == 0 {
			earlier = rapid.Just([]int(nil))
		} else {
			earlier = rapid.SliceOfNDistinct(rapid.IntRange(0, i-1), 0, min(i, 2), rapid.ID)
		}
		m = append(m, modelResource{
			Name: name, Type: rapid.SampledFrom([]string{plain, strict, single}).Draw(t, "type"),
			Key: rapid.IntRange(0, 2).Draw(t, "key"), From: earlier.Draw(t, "from"), After: earlier.Draw(t, "after"),
			DeleteFirst: rapid.IntRange(0, 4).Draw(t, "delete first") == 0,
			Retain:      rapid.IntRange(0, 9).Draw(t, "retain") == 0,
		})
	}
	return m
}

// model drives one stack through random operations.
type model struct {
	*enginetest.Stack
	rapid *rapid.T
	// retained are objects that were left behind on purpose.
	retained map[string]bool

	mu sync.Mutex
	// disorder tells of deletions that came too early.
	disorder []string
	// history is what was done, for messages.
	history strings.Builder
}

func newModel(t *rapid.T, tb testing.TB) *model {
	cloud := newCloud()
	for typ, about := range cloud.Types {
		about.Replace = append(about.Replace, "froma", "fromb") // some dependents cannot be updated
		if typ == plain {
			about.Replace = nil
		}
		cloud.Types[typ] = about
	}
	m := &model{rapid: t, Stack: enginetest.NewStack(checked{tb, t}, cloud), retained: make(map[string]bool)}
	return m
}

// checked gives the stack's helpers rapid's way to fail, so that cases shrink.
type checked struct {
	testing.TB
	rapid *rapid.T
}

func (c checked) Errorf(format string, args ...any) { c.rapid.Errorf(format, args...) }
func (c checked) FailNow()                          { c.rapid.FailNow() }
func (c checked) Helper()                           {}

// watchOrder notes deletions of what something that exists was made from. Only what is deleted ahead of its own replacement may still be
// used, by resources that are updated afterwards.
func (m *model) watchOrder(program modelProgram) {
	ahead := make(map[string]bool)
	for _, r := range program {
		ahead[r.Name] = r.DeleteFirst || r.Type == single
	}
	recorded, orphans := make(map[string]bool), make(map[string]bool)
	resources := slices.Collect(maps.Values(maps.Collect(m.Snapshot().Resources())))
	resources, err := state.Sort(resources)
	require.NoError(m.rapid, err)
	for _, res := range resources {
		recorded[res.ID] = true
		for _, dep := range res.Dependencies {
			ahead[res.URN.Name()] = ahead[res.URN.Name()] || ahead[dep.Name()]
		}
	}
	for _, id := range m.Cloud.IDs() {
		orphans[id] = !recorded[id] // a crash came between its creation and the record of it
	}
	m.Cloud.Hook = func(call string) error {
		id, ok := strings.CutPrefix(call, "delete ")
		if name, _, _ := strings.Cut(id, "-"); !ok || ahead[name] {
			return nil
		}
		for other, inputs := range m.Cloud.Snapshot() {
			if other == id || m.retained[other] || orphans[other] {
				continue
			}
			for _, v := range inputs.All() {
				if s, _ := v.AsString(); s == "made of "+id {
					m.mu.Lock()
					m.disorder = append(m.disorder, id+" is deleted while "+other+" uses it")
					m.mu.Unlock()
				}
			}
		}
		return nil
	}
}

// noteRetained remembers the objects that retainOnDelete keeps: those of the
// state whose removal deletes nothing.
func (m *model) noteRetained() {
	for _, res := range m.Snapshot().Resources() {
		if res.RetainOnDelete {
			m.retained[res.ID] = true
		}
	}
}

// requireKnown requires that every object is in the state, or its creation pending.
func (m *model) requireKnown(t *rapid.T) {
	known, creating := make(map[string]bool), make(map[string]bool)
	snapshot := m.Snapshot()
	for _, res := range snapshot.Resources() {
		known[res.ID] = true
	}
	for _, op := range snapshot.Operations() {
		if op.Type == state.OperationCreating {
			creating[op.Resource.URN.Name()] = true
		}
	}
	for _, id := range m.Cloud.IDs() {
		name, _, _ := strings.Cut(id, "-")
		if !known[id] && !creating[name] && !m.retained[id] {
			t.Fatalf("nothing knows of object %s", id)
		}
	}
}

// requireReached requires that the stack is what the program says.
func (m *model) requireReached(t *rapid.T, program modelProgram) {
	var want, got []string
	for _, r := range program {
		want = append(want, r.Name)
	}
	for _, res := range m.Snapshot().Resources() {
		if !res.IsProvider() && res.Custom {
			require.False(t, res.Delete || res.PendingReplacement, "%s is left half done", res.URN)
			got = append(got, res.URN.Name())
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	require.Equal(t, want, got)
}

// Random programs, failures, and crashes: whatever happens, the state holds
// together, nothing that exists is forgotten, deletions keep the order of
// dependencies, a preview tells what the update does, and a second update does
// nothing.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(rt, t)
		for range rapid.IntRange(1, 6).Draw(rt, "operations") {
			program := drawProgram(rt)
			m.noteRetained()
			m.watchOrder(program)
			operation := rapid.IntRange(0, 5).Draw(rt, "operation")
			fmt.Fprintf(&m.history, "operation %d\n%s", operation, describe(program))
			switch operation {
			case 0: // a provider's call fails
				var calls atomic.Int32
				failing := rapid.Int32Range(1, 8).Draw(rt, "failing call")
				order := m.Cloud.Hook
				m.Cloud.Hook = func(call string) error {
					if calls.Add(1) == failing {
						return errors.New("the cloud refuses")
					}
					return order(call)
				}
				_, _ = m.Try(engine.Up, program.program())
			case 1: // the process dies
				n, late := rapid.IntRange(1, 12).Draw(rt, "fatal write"), rapid.Bool().Draw(rt, "late")
				up := func(ctx context.Context, d engine.Deployment) (*engine.Result, error) { return engine.Up(ctx, d) }
				m.CrashAt(n, late, up, program.program())
			case 2:
				m.Refresh()
			case 3:
				m.Destroy()
			default:
				planned, err := m.Try(engine.Preview, program.program())
				require.NoError(rt, err)
				done, err := m.Try(engine.Up, program.program())
				require.NoError(rt, err)
				require.Equal(rt, planned.Changes, done.Changes, "the preview told something else\n%s", describe(program))
				m.noteRetained()
				m.requireReached(rt, program)
				again, err := m.Try(engine.Up, program.program())
				require.NoError(rt, err)
				require.Zero(rt, again.Changes.Total(), "the second update changes something\n%s", describe(program))
			}
			m.noteRetained()
			m.requireKnown(rt)
			require.Empty(rt, m.disorder, &m.history)
		}
		m.Cloud.Hook = nil
		m.noteRetained()
		m.Destroy()
		for _, id := range m.Cloud.IDs() {
			if !m.retained[id] {
				require.NotEmpty(rt, m.Snapshot().Len()+len(pendingCreations(m.Snapshot())), "object %s is left over", id)
			}
		}
	})
}

func pendingCreations(s *state.Snapshot) []string {
	var out []string
	for _, op := range s.Operations() {
		if op.Type == state.OperationCreating {
			out = append(out, op.Resource.URN.Name())
		}
	}
	return out
}

func describe(m modelProgram) string {
	var b strings.Builder
	for _, r := range m {
		fmt.Fprintf(&b, "%+v\n", r)
	}
	return b.String()
}
