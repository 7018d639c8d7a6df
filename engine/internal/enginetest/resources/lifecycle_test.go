package resources_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/state"
)

func reading(id string) enginetest.Program {
	return func(p *enginetest.Run) error {
		resp, err := p.Monitor.ReadResource(p.Ctx, abi.ReadResourceRequest{ID: id, Type: enginetest.Plain, Name: "a"})
		if err != nil {
			return err
		}
		return p.Outputs(enginetest.Props("size", resp.State.Get("size")))
	}
}

// A resource that the stack managed and now reads is let go, or deleted if another
// one is read; one that it read and now manages is made.
func TestManagedAndReadResourcesTakeTurns(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.One(enginetest.Props("size", 1)))
	s.Cloud.Change("other", func(property.Map) property.Map { return enginetest.Props("size", 2) })
	s.Cloud.Calls()
	require.Equal(t, engine.Changes{Same: 1, Read: 1}, s.Up(reading("a-1")))
	require.True(t, s.Resource("a").External)
	require.Equal(t, engine.Changes{Same: 1, Replace: 1}, s.Up(enginetest.One(enginetest.Props("size", 3))))
	require.Equal(t, []string{"create a"}, s.Cloud.Calls(), "what was read is not deleted")
	require.Equal(t, engine.Changes{Same: 1, Replace: 1}, s.Up(reading("other")))
	require.Equal(t, []string{"delete a-2"}, s.Cloud.Calls(), "what was managed is")
	require.Equal(t, []string{"a-1", "other"}, s.Cloud.IDs())
}

func TestReadWithoutAnIDNeedsAPreview(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Preview(reading(""))
	_, err := s.Try(enginetest.Up, reading(""))
	require.ErrorContains(t, err, "needs an ID")
}

func TestReadOrImportInPlaceOfAProtectedResource(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	yes := true
	s.Up(enginetest.One(enginetest.Props(), func(o *abi.ResourceOptions) { o.Protect = &yes }))
	s.Cloud.Change("other", func(property.Map) property.Map { return enginetest.Props() })
	for _, program := range []enginetest.Program{
		reading("other"), enginetest.One(enginetest.Props(), func(o *abi.ResourceOptions) { o.ImportID = "other" }),
	} {
		_, err := s.Try(enginetest.Up, program)
		require.ErrorContains(t, err, "protected")
	}
	require.Equal(t, "a-1", s.Resource("a").ID)
}

// An import that would change the object fails, unless the user wants the change:
// then it is an import and an update.
func TestUpdateOnImport(t *testing.T) {
	importing := func(typ string, inputs property.Map, options ...enginetest.OptionsOf) enginetest.Program {
		return func(p *enginetest.Run) error {
			options := append(options, func(o *abi.ResourceOptions) { o.ImportID = "x" })
			r, err := p.Custom(typ, "a", inputs, options...)
			if err != nil {
				return err
			}
			return p.Outputs(enginetest.Props("size", r.State.Get("size")))
		}
	}
	cases := []struct {
		name    string
		typ     string
		inputs  property.Map
		options []enginetest.OptionsOf
		update  bool
		calls   []string
		err     string
	}{
		{name: "the same", typ: enginetest.Plain, inputs: enginetest.Props("size", 1, "key", "1")},
		{name: "differing", typ: enginetest.Plain, inputs: enginetest.Props("size", 2, "key", "1"), err: "size: is 1, the program says 2"},
		{name: "ignored", typ: enginetest.Plain, inputs: enginetest.Props("size", 2, "key", "1"),
			options: []enginetest.OptionsOf{func(o *abi.ResourceOptions) { o.IgnoreChanges = []string{"size"} }}},
		{name: "updated", typ: enginetest.Plain, inputs: enginetest.Props("size", 2, "key", "1"), update: true, calls: []string{"update a"}},
		{name: "replacement", typ: enginetest.Strict, inputs: enginetest.Props("size", 1, "key", "2"), update: true, err: "key: is"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Edit = func(d *enginetest.Deployment) { d.UpdateOnImport = c.update }
			s.Cloud.Change("x", func(property.Map) property.Map { return enginetest.Props("size", 1, "key", "1") })
			program := importing(c.typ, c.inputs, c.options...)
			planned, errPlanned := s.Try(enginetest.Preview, program)
			done, err := s.Try(enginetest.Up, program)
			require.Equal(t, c.calls, s.Cloud.Calls())
			if c.err != "" {
				require.ErrorContains(t, errPlanned, c.err)
				require.ErrorContains(t, err, c.err)
				require.Nil(t, s.Resource("a"))
				return
			}
			require.NoError(t, errors.Join(errPlanned, err))
			require.Equal(t, planned.Changes, done.Changes)
			require.Equal(t, s.Cloud.Snapshot()["x"].Get("size"), done.Outputs.Get("size"))
			require.Zero(t, s.Up(program).Total())
		})
	}
}

// Another import ID replaces the resource by the object of that ID.
func TestImportOfAnotherObject(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.One(enginetest.Props()))
	s.Cloud.Change("other", func(property.Map) property.Map { return enginetest.Props() })
	s.Cloud.Calls()
	importing := enginetest.One(enginetest.Props(), func(o *abi.ResourceOptions) { o.ImportID = "other" })
	s.Up(importing)
	require.Equal(t, []string{"delete a-1"}, s.Cloud.Calls())
	require.Zero(t, s.Up(importing).Total())
	_, err := s.Try(enginetest.Up, enginetest.One(enginetest.Props(), func(o *abi.ResourceOptions) { o.ImportID = "missing" }))
	require.ErrorContains(t, err, `no test:index:Plain with ID "missing" exists`)
}

// Times change with what they tell of, and with nothing else.
func TestTimesOfCreationAndChange(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	at := func(hour int) time.Time { return time.Date(2020, 1, 1, hour, 0, 0, 0, time.UTC) }
	up := func(hour int, program enginetest.Program) *state.Resource {
		s.Edit = func(d *enginetest.Deployment) { d.Now = func() time.Time { return at(hour) } }
		s.Up(program)
		return s.Resource("a")
	}
	yes := true
	up(1, enginetest.One(enginetest.Props("size", 1)))
	res := up(2, enginetest.One(enginetest.Props("size", 1)))
	require.Equal(t, []time.Time{at(1), at(1)}, []time.Time{res.Created, res.Modified})
	res = up(3, enginetest.One(enginetest.Props("size", 1), func(o *abi.ResourceOptions) { o.Protect = &yes }))
	require.Equal(t, []time.Time{at(1), at(1)}, []time.Time{res.Created, res.Modified})
	res = up(4, enginetest.One(enginetest.Props("size", 2)))
	require.Equal(t, []time.Time{at(1), at(4)}, []time.Time{res.Created, res.Modified})
}

func TestUnknownsAreRefusedOutsideOfPreviews(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Preview(enginetest.One(enginetest.Props("size", property.Unknown)))
	_, err := s.Try(enginetest.Up, enginetest.One(enginetest.Props("size", property.Unknown)))
	require.ErrorContains(t, err, "its inputs hold values that are not known")
	s.Cloud.Invoke = func(abi.InvokeRequest) (abi.InvokeResponse, error) {
		return abi.InvokeResponse{Result: enginetest.Props("x", property.Unknown)}, nil
	}
	_, err = s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
		_, err := p.Monitor.Invoke(p.Ctx, abi.MonitorInvokeRequest{Token: "test:index:f"})
		return err
	}))
	require.ErrorContains(t, err, "the provider returned unknown values")
}

// A state that does not hold together is not worked on.
func TestDamagedStateIsRefused(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.Chain(enginetest.Plain, "1"))
	s.Cloud.Calls()
	a := s.Resource("a").URN
	s.Change("b", func(res *state.Resource) { res.Dependencies = []urn.URN{a + "x"} })
	st, err := s.Open(t.Context())
	require.NoError(t, err)
	for _, run := range []func(context.Context, enginetest.Deployment) (*engine.Result, error){enginetest.Up, enginetest.Preview, enginetest.Refresh, enginetest.Destroy} {
		_, err := run(t.Context(), enginetest.Deployment{
			Deployment: engine.Deployment{Project: "proj", Stack: "dev", Providers: s.Cloud, State: st},
			Up:         engine.Up{Program: enginetest.Chain(enginetest.Plain, "2")},
		})
		var damage *state.IntegrityError
		require.ErrorAs(t, err, &damage)
		require.ErrorContains(t, err, "husk state repair")
	}
	require.NoError(t, st.Close(t.Context()))
	require.Empty(t, s.Cloud.Calls())
}

// Steps without changes are not written.
func TestNothingIsWrittenWhereNothingChanges(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.Chain(enginetest.Plain, "1"))
	crash := &enginetest.Crash{Store: s.Store}
	s.Store = crash
	s.Up(enginetest.Chain(enginetest.Plain, "1"))
	require.LessOrEqual(t, crash.Writes(), 1, "a checkpoint at most")
}

// No more steps run at once than the user allows.
func TestParallelStepsAreBounded(t *testing.T) {
	for _, parallel := range []int{1, 3} {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		s.Edit = func(d *enginetest.Deployment) { d.Parallel = parallel }
		var mu sync.Mutex
		running, most := 0, 0
		full := make(chan struct{})
		s.Cloud.Hook = func(string) error {
			mu.Lock()
			running++
			if most = max(most, running); most == parallel {
				select {
				case <-full:
				default:
					close(full)
				}
			}
			mu.Unlock()
			<-full // so many do run at once
			mu.Lock()
			running--
			mu.Unlock()
			return nil
		}
		s.Up(fan(20))
		require.Equal(t, parallel, most)
	}
}

// A function that depends on a component waits for the component's children.
func TestFunctionsWaitForComponents(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.Invoke = func(abi.InvokeRequest) (abi.InvokeResponse, error) {
		return abi.InvokeResponse{Result: enginetest.Props("x", 1)}, nil
	}
	unknown := false
	program := func(child string) enginetest.Program {
		return func(p *enginetest.Run) error {
			g, err := p.Component(enginetest.Group, "g", enginetest.Props())
			if err != nil {
				return err
			}
			inner, err := p.Monitor.RegisterResource(p.Ctx, abi.RegisterResourceRequest{Type: enginetest.Group, Name: "inner", Parent: g.URN})
			if err != nil {
				return err
			}
			if _, err := p.Child(inner.URN, enginetest.Plain, child, enginetest.Props()); err != nil {
				return err
			}
			resp, err := p.Monitor.Invoke(p.Ctx, abi.MonitorInvokeRequest{
				Token: "test:index:f", Options: abi.FunctionOptions{DependsOn: []urn.URN{g.URN}},
			})
			unknown = resp.Unknown
			return err
		}
	}
	s.Preview(program("a"))
	require.True(t, unknown)
	s.Up(program("a"))
	require.False(t, unknown)
	s.Preview(program("a"))
	require.False(t, unknown, "all exist")
	s.Preview(program("b"))
	require.True(t, unknown, "a child is new")
}

// A component is compared by its inputs, and its outputs are those that the program
// gives it at the end.
func TestLocalComponents(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	program := func(size int) enginetest.Program {
		return func(p *enginetest.Run) error {
			g, err := p.Component(enginetest.Group, "g", enginetest.Props("size", size))
			if err != nil {
				return err
			}
			require.Zero(t, g.State.Len())
			return p.Monitor.RegisterOutputs(p.Ctx, abi.RegisterOutputsRequest{URN: g.URN, Outputs: enginetest.Props("area", size*size)})
		}
	}
	require.Equal(t, engine.Changes{Create: 2}, s.Up(program(2)))
	require.Equal(t, engine.Changes{Same: 2}, s.Up(program(2)))
	require.Equal(t, engine.Changes{Same: 1, Update: 1}, s.Up(program(3)))
	g := s.Resource("g")
	require.Empty(t, g.Provider)
	require.Empty(t, g.ID)
	require.Equal(t, property.Number(9), g.Outputs.Get("area"))
}

// Everything that happens is an event; the last one counts it.
func TestEventsTellEverything(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	failing(s, "create c")
	_, err := s.Try(enginetest.Up, enginetest.Chain(enginetest.Plain, "1"))
	require.Error(t, err)
	var types []string
	for _, e := range s.Events() {
		text := e.Type()
		switch e := e.(type) {
		case engine.StepStarted:
			text += " " + string(e.Step.Op) + " " + e.Step.Name
		case engine.StepDone:
			text += " " + string(e.Step.Op) + " " + e.Step.Name
		case engine.StepFailed:
			text += " " + string(e.Step.Op) + " " + e.Step.Name
		case engine.Summary:
			require.Equal(t, engine.Changes{Create: 3}, e.Changes)
			text += " " + e.Result
		}
		types = append(types, text)
	}
	require.Equal(t, []string{
		"started",
		"step-started create proj-dev", "step-done create proj-dev",
		"step-started create default", "step-done create default",
		"step-started create a", "step-done create a",
		"step-started create b", "step-done create b",
		"step-started create c", "step-failed create c",
		"provider-costs", "summary failed",
	}, types)
}

func TestCreationWithoutAnIDIsAnError(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Edit = func(d *enginetest.Deployment) { d.Providers = nameless{s.Cloud} }
	_, err := s.Try(enginetest.Up, enginetest.One(enginetest.Props()))
	require.ErrorContains(t, err, "the provider returned no ID")
	s.Edit = nil
	s.Up(enginetest.One(enginetest.Props()))
	require.Len(t, s.Warnings(), 1, "whether it exists is not known")
}

// nameless makes providers whose creations have no ID.
type nameless struct{ *enginetest.Cloud }

func (l nameless) Load(ctx context.Context, spec engine.PackageSpec) (abi.Provider, error) {
	p, err := l.Cloud.Load(ctx, spec)
	return namelessProvider{p}, err
}

type namelessProvider struct{ abi.Provider }

func (p namelessProvider) Create(ctx context.Context, req abi.CreateRequest) (abi.CreateResponse, error) {
	resp, err := p.Provider.Create(ctx, req)
	resp.ID = ""
	return resp, err
}

// BenchmarkUp is a first update and an update without changes, in memory.
func BenchmarkUp(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("first/%d", n), func(b *testing.B) {
			for b.Loop() {
				enginetest.NewStack(b, enginetest.NewCloud()).Up(fan(n))
			}
		})
		b.Run(fmt.Sprintf("same/%d", n), func(b *testing.B) {
			s := enginetest.NewStack(b, enginetest.NewCloud())
			s.Up(fan(n))
			for b.Loop() {
				s.Up(fan(n))
			}
		})
	}
}
