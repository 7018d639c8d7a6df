package programs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/state"
)

func callbacks(p *enginetest.Run) callback.Monitor { return p.Monitor.(callback.Monitor) }

// stepHooks are all kinds of hooks around steps.
var stepHooks = []abi.HookKind{
	abi.HookKindBeforeCreate, abi.HookKindAfterCreate, abi.HookKindBeforeUpdate,
	abi.HookKindAfterUpdate, abi.HookKindBeforeDelete, abi.HookKindAfterDelete,
}

// bound binds the hook to all kinds of steps.
func bound(hook string) enginetest.OptionsOf {
	return func(o *abi.ResourceOptions) {
		for _, kind := range stepHooks {
			o.Hooks = append(o.Hooks, abi.HookBinding{Kind: kind, Names: []string{hook}})
		}
	}
}

// onError binds error hooks.
func onError(hooks ...string) enginetest.OptionsOf {
	return func(o *abi.ResourceOptions) {
		o.Hooks = append(o.Hooks, abi.HookBinding{Kind: abi.HookKindOnError, Names: hooks})
	}
}

// diary collects what happens, in its order.
type diary struct {
	mu      sync.Mutex
	entries []string
}

func (d *diary) write(entry string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, entry)
}

// read returns the entries, and empties the diary.
func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.entries
	d.entries = nil
	return out
}

func (d *diary) hook(name string) callback.Hook {
	return callback.Hook{Name: name, Run: func(_ context.Context, s callback.Step) error {
		d.write(fmt.Sprintf("%s %s", s.Kind, s.Resource().URN.Name()))
		return nil
	}}
}

// hooked is a program that registers hooks, and then resources.
func hooked(hooks []callback.Hook, then enginetest.Program) enginetest.Program {
	return func(p *enginetest.Run) error {
		for _, h := range hooks {
			if err := callbacks(p).RegisterHook(h); err != nil {
				return err
			}
		}
		return then(p)
	}
}

func custom(typ, name string, inputs property.Map, options ...enginetest.OptionsOf) enginetest.Program {
	return func(p *enginetest.Run) error {
		_, err := p.Custom(typ, name, inputs, options...)
		return err
	}
}

func nothing(*enginetest.Run) error { return nil }

// Hooks run right before and after the provider's call, for creations, updates,
// replacements, and deletions.
func TestHooksAroundSteps(t *testing.T) {
	log := new(diary)
	hooks := []callback.Hook{log.hook("log")}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.Hook = func(call string) error { log.write(call); return nil }
	run := func(typ, key string) []string {
		s.Up(hooked(hooks, custom(typ, "a", enginetest.Props("key", key), bound("log"))))
		return log.read()
	}
	require.Equal(t, []string{"before-create a", "create a", "after-create a"}, run(enginetest.Plain, "1"))
	require.Empty(t, run(enginetest.Plain, "1"), "not where nothing changes")
	require.Equal(t, []string{"before-update a", "update a", "after-update a"}, run(enginetest.Plain, "2"))
	s.Up(hooked(hooks, nothing))
	require.Equal(t, []string{"before-delete a", "delete a-1", "after-delete a"}, log.read())

	run(enginetest.Strict, "1")
	require.Equal(t, []string{
		"before-create a", "create a", "after-create a", "before-delete a", "delete a-2", "after-delete a",
	}, run(enginetest.Strict, "2"), "a replacement")
	s.Up(hooked(hooks, nothing))
	log.read()
	run(enginetest.Single, "1")
	require.Equal(t, []string{
		"before-delete a", "delete a-4", "after-delete a", "before-create a", "create a", "after-create a",
	}, run(enginetest.Single, "2"), "a replacement that deletes first")
}

// Hooks see the resource as it was, except in creations, and as it will be or is, except
// in deletions.
func TestWhatHooksSee(t *testing.T) {
	var seen []callback.Step
	hooks := []callback.Hook{{Name: "look", Run: func(_ context.Context, s callback.Step) error {
		seen = append(seen, s)
		if s.New != nil {
			s.New.Inputs = enginetest.Props("key", "a hook changes its own copy only")
		}
		return nil
	}}}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	up := func(p enginetest.Program) (before, after callback.Step) {
		seen = nil
		s.Up(hooked(hooks, p))
		require.Len(t, seen, 2)
		return seen[0], seen[1]
	}
	key := func(m property.Map) string { v, _ := m.Get("key").AsString(); return v }

	before, after := up(custom(enginetest.Plain, "a", enginetest.Props("key", "1"), bound("look")))
	require.Nil(t, before.Old)
	require.Empty(t, before.New.ID)
	require.Zero(t, before.New.Outputs.Len())
	require.Nil(t, after.Old)
	require.Equal(t, "a-1", after.New.ID)
	require.Equal(t, "1", key(after.New.Outputs))

	before, after = up(custom(enginetest.Plain, "a", enginetest.Props("key", "2"), bound("look")))
	require.Equal(t, "1", key(before.Old.Outputs))
	require.Equal(t, "1", key(after.Old.Inputs))
	require.Equal(t, "2", key(after.New.Outputs))

	before, after = up(nothing)
	require.Equal(t, "2", key(before.Old.Inputs))
	require.Nil(t, before.New)
	require.Equal(t, "a-1", after.Old.ID)
	require.Nil(t, after.New)
}

func refusing(kinds ...abi.HookKind) []callback.Hook {
	return []callback.Hook{{Name: "h", Run: func(_ context.Context, s callback.Step) error {
		for _, k := range kinds {
			if s.Kind == k {
				return errors.New("oh no")
			}
		}
		return nil
	}}}
}

// A hook before a step refuses it: the provider is not called, and nothing changes.
func TestHookBeforeStepFails(t *testing.T) {
	for _, c := range []struct {
		kind   abi.HookKind
		before []string // the values of key until then
		then   enginetest.Program
	}{
		{abi.HookKindBeforeCreate, nil, custom(enginetest.Plain, "a", enginetest.Props("key", "1"), bound("h"))},
		{abi.HookKindBeforeUpdate, []string{"1"}, custom(enginetest.Plain, "a", enginetest.Props("key", "2"), bound("h"))},
		{abi.HookKindBeforeDelete, []string{"1"}, nothing},
	} {
		t.Run(c.kind.String(), func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			for _, key := range c.before {
				s.Up(hooked(refusing(), custom(enginetest.Plain, "a", enginetest.Props("key", key), bound("h"))))
			}
			s.Cloud.Calls()
			was := s.Resource("a")
			_, err := s.Try(enginetest.Up, hooked(refusing(c.kind), c.then))
			require.ErrorContains(t, err, "the "+c.kind.String()+` hook "h" failed: oh no`)
			require.Empty(t, s.Cloud.Calls())
			require.Equal(t, was, s.Resource("a"))
		})
	}
}

// A hook after a step cannot undo it: what was done is recorded, but the deployment
// fails, and what follows is not done.
func TestHookAfterStepFails(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	program := func(hooks []callback.Hook) enginetest.Program {
		return hooked(hooks, func(p *enginetest.Run) error {
			a, err := p.Custom(enginetest.Plain, "a", enginetest.Props("key", "1"), bound("h"))
			if err != nil {
				return err
			}
			_, err = p.Custom(enginetest.Plain, "b", enginetest.Props("key", a.Out("made")))
			return err
		})
	}
	result, err := s.Try(enginetest.Up, program(refusing(abi.HookKindAfterCreate)))
	require.ErrorContains(t, err, `the after-create hook "h" failed: oh no`)
	require.Equal(t, 2, result.Changes.Create, "the stack, and the step that was taken")
	require.Equal(t, "a-1", s.Resource("a").ID)
	require.Nil(t, s.Resource("b"))
	require.Contains(t, s.Events(), engine.Event(engine.Diagnostic{
		Severity: "error", URN: s.Resource("a").URN, Message: `the after-create hook "h" failed: oh no`,
	}))
	require.Equal(t, 1, s.Up(program(refusing(abi.HookKindAfterCreate))).Create, "the hook was for the creation alone")

	_, err = s.Try(enginetest.Up, hooked(refusing(abi.HookKindAfterDelete), nothing))
	require.ErrorContains(t, err, `the after-delete hook "h" failed: oh no`)
	require.Nil(t, s.Resource("a"))
}

// A hook whose errors are ignored only warns.
func TestHookErrorsIgnored(t *testing.T) {
	hooks := refusing(abi.HookKindBeforeCreate, abi.HookKindAfterCreate)
	hooks[0].IgnoreErrors = true
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(hooked(hooks, custom(enginetest.Plain, "a", enginetest.Props(), bound("h"))))
	require.Equal(t, []string{`the before-create hook "h" failed: oh no`, `the after-create hook "h" failed: oh no`}, s.Warnings())
}

// In previews only those hooks run that ask for it.
func TestHooksInPreviews(t *testing.T) {
	log := new(diary)
	shy, eager := log.hook("shy"), log.hook("eager")
	eager.OnDryRun = true
	eager.Run = func(_ context.Context, s callback.Step) error {
		log.write(fmt.Sprintf("eager %s, dry: %t", s.Kind, s.DryRun))
		return nil
	}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	program := hooked([]callback.Hook{shy, eager}, custom(enginetest.Plain, "a", enginetest.Props(), bound("shy"), bound("eager")))
	s.Preview(program)
	require.Equal(t, []string{"eager before-create, dry: true", "eager after-create, dry: true"}, log.read())
	s.Up(program)
	require.Equal(t, []string{
		"before-create a", "eager before-create, dry: false", "after-create a", "eager after-create, dry: false",
	}, log.read())
}

// Hooks after the creation or update of a component wait until its outputs are
// registered, which is when its children are there.
func TestHooksOfComponents(t *testing.T) {
	log := new(diary)
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.Hook = func(call string) error { log.write(call); return nil }
	program := func(size int) enginetest.Program {
		hooks := []callback.Hook{log.hook("log"), {Name: "look", Run: func(_ context.Context, s callback.Step) error {
			log.write("outputs " + property.Display(s.New.Outputs.Get("size")))
			return nil
		}}}
		return hooked(hooks, func(p *enginetest.Run) error {
			g, err := p.Component("test:index:Group", "g", enginetest.Props("size", size), bound("log"), func(o *abi.ResourceOptions) {
				o.Hooks = append(o.Hooks, abi.HookBinding{Kind: abi.HookKindAfterCreate, Names: []string{"look"}})
			})
			if err != nil {
				return err
			}
			if _, err := p.Child(g.URN, enginetest.Plain, "a", enginetest.Props("size", size)); err != nil {
				return err
			}
			return p.Monitor.RegisterOutputs(p.Ctx, abi.RegisterOutputsRequest{URN: g.URN, Outputs: enginetest.Props("size", size)})
		})
	}
	s.Up(program(1))
	require.Equal(t, []string{"before-create g", "create a", "after-create g", "outputs 1"}, log.read())
	s.Up(program(2))
	require.Equal(t, []string{"before-update g", "update a", "after-update g"}, log.read())
	s.Up(program(2))
	require.Empty(t, log.read())
	s.Up(hooked([]callback.Hook{log.hook("log")}, nothing))
	require.Equal(t, []string{"delete a-1", "before-delete g", "after-delete g"}, log.read())
}

// Hooks are for what is made, changed, and destroyed.
func TestWhereHooksDoNotRun(t *testing.T) {
	log := new(diary)
	hooks := []callback.Hook{log.hook("log")}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.Read = func(req abi.ReadRequest) (abi.ReadResponse, error) {
		inputs := enginetest.Props()
		return abi.ReadResponse{ID: req.ID, Inputs: &inputs}, nil
	}
	yes := true
	s.Up(hooked(hooks, func(p *enginetest.Run) error {
		_, err := p.Custom(enginetest.Plain, "imported", enginetest.Props(), bound("log"), func(o *abi.ResourceOptions) { o.ImportID = "x" })
		read := abi.ReadResourceRequest{ID: "y", Type: enginetest.Plain, Name: "read"}
		bound("log")(&read.Options)
		_, errRead := p.Monitor.ReadResource(p.Ctx, read)
		return errors.Join(err, errRead)
	}))
	s.Refresh()
	s.Up(hooked(hooks, custom(enginetest.Plain, "imported", enginetest.Props(), bound("log"), func(o *abi.ResourceOptions) { o.RetainOnDelete = &yes })))
	s.Up(nothing)
	require.Empty(t, log.read(), "imports, reads, refreshes, forgetting, and retaining")

	s.Up(hooked(hooks, custom(enginetest.Plain, "a", enginetest.Props(), bound("log"), func(o *abi.ResourceOptions) { o.Protect = &yes })))
	log.read()
	_, err := s.Try(enginetest.Up, enginetest.Program(nothing))
	require.ErrorContains(t, err, "protected")
	require.Empty(t, log.read(), "a deletion that is refused")
}

// Names of hooks are checked before anything happens.
func TestHookRegistration(t *testing.T) {
	run := func(context.Context, callback.Step) error { return nil }
	decide := func(context.Context, callback.Failure) (bool, error) { return false, nil }
	s := enginetest.NewStack(t, enginetest.NewCloud())
	_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
		m := callbacks(p)
		require.NoError(t, m.RegisterHook(callback.Hook{Name: "h", Run: run}))
		require.NoError(t, m.RegisterErrorHook(callback.ErrorHook{Name: "h", Run: decide}), "error hooks have names of their own")
		require.ErrorContains(t, m.RegisterHook(callback.Hook{Name: "h", Run: run}), `the hook "h" is registered twice`)
		require.ErrorContains(t, m.RegisterErrorHook(callback.ErrorHook{Name: "h", Run: decide}), `the error hook "h" is registered twice`)
		require.ErrorContains(t, m.RegisterHook(callback.Hook{Run: run}), "has no name")
		require.ErrorContains(t, m.RegisterHook(callback.Hook{Name: "x"}), "nothing to run")
		_, err := p.Custom(enginetest.Plain, "a", enginetest.Props(), bound("late"))
		return err
	}))
	require.ErrorContains(t, err, `the before-create hook "late" is not registered`)
	_, err = s.Try(enginetest.Up, custom(enginetest.Plain, "a", enginetest.Props(), onError("never")))
	require.ErrorContains(t, err, `the on-error hook "never" is not registered`)
	require.Empty(t, s.Cloud.Calls())
}

// Nothing is deleted while hooks that want to see it are not there.
func TestDeleteHooksNeedTheProgram(t *testing.T) {
	log := new(diary)
	program := hooked([]callback.Hook{log.hook("log")}, func(p *enginetest.Run) error {
		_, err := p.Custom(enginetest.Plain, "a", enginetest.Props(), bound("log"))
		_, errB := p.Custom(enginetest.Plain, "b", enginetest.Props())
		return errors.Join(err, errB)
	})
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(program)
	s.Cloud.Calls()
	log.read()

	for name, try := range map[string]func() (*engine.Result, error){
		"destroy":         func() (*engine.Result, error) { return s.Try(enginetest.Destroy, nil) },
		"preview destroy": func() (*engine.Result, error) { return s.Try(enginetest.PreviewDestroy, nil) },
		"up":              func() (*engine.Result, error) { return s.Try(enginetest.Up, enginetest.Program(nothing)) },
	} {
		_, err := try()
		require.ErrorContains(t, err, s.Resource("a").URN.Name()+`: the before-delete hook "log"`, name)
		require.ErrorContains(t, err, "--run-program", name)
		require.Empty(t, s.Cloud.Calls(), name)
	}
	s.Edit = func(d *enginetest.Deployment) { d.RunProgram = true }
	_, err := s.Try(enginetest.Destroy, program)
	require.NoError(t, err)
	require.Equal(t, []string{"before-delete a", "after-delete a"}, log.read())
	require.Zero(t, s.Cloud.Objects())
}

// The state names the hooks of resources, as Pulumi's does, and says that it does.
func TestHooksAreRecorded(t *testing.T) {
	hooks := []callback.Hook{new(diary).hook("first"), new(diary).hook("second")}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(hooked(hooks, custom(enginetest.Plain, "a", enginetest.Props(), bound("first"))))
	changes := s.Up(hooked(hooks, custom(enginetest.Plain, "a", enginetest.Props(), bound("second"), func(o *abi.ResourceOptions) {
		o.Hooks = append(o.Hooks, abi.HookBinding{Kind: abi.HookKindBeforeDelete, Names: []string{"first"}}, abi.HookBinding{Kind: abi.HookKindAfterCreate})
	})))
	require.Zero(t, changes.Total(), "other hooks are no change of the resource")
	require.Equal(t, map[string][]string{
		"before_create": {"second"}, "after_create": {"second"}, "before_update": {"second"},
		"after_update": {"second"}, "before_delete": {"second", "first"}, "after_delete": {"second"},
	}, s.Resource("a").ResourceHooks)
	st, err := s.Open(t.Context())
	require.NoError(t, err)
	export, err := st.Codec().EncodeExport(t.Context(), st.Snapshot(), false)
	require.NoError(t, err)
	require.NoError(t, st.Close(t.Context()))
	for _, want := range []string{`"version":4`, `"features":["hooks"]`, `"resourceHooks":{"after_create":["second"]`} {
		require.Contains(t, strings.Join(strings.Fields(string(export)), ""), want)
	}
	var none *state.Resource
	s.Up(hooked(hooks, nothing))
	require.Equal(t, none, s.Resource("a"))
}
