package resources_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/state"
)

// owning is a cloud where an object takes those along that it owns.
func owning(t *testing.T) *enginetest.Stack {
	cloud := enginetest.NewCloud()
	cloud.Owning = true
	for typ, about := range enginetest.NewFiles().Types {
		if len(about.Identity) > 0 {
			about.Computed = []string{"made"}
			cloud.Types[typ] = about
		}
	}
	return enginetest.NewStack(t, cloud)
}

// owned registers an owner and what is deleted with it.
func owned(typ, name string, inputs []any, options enginetest.OptionsOf) enginetest.Program {
	return func(p *enginetest.Run) error {
		a, err := p.Custom(typ, name, enginetest.Props(inputs...), options)
		if err != nil {
			return err
		}
		_, err = p.Custom(enginetest.Plain, "b", enginetest.Props("owner", a.Out("made")), func(o *abi.ResourceOptions) { o.DeletedWith = a.URN })
		return err
	}
}

// requireNothingLost requires that each object is in the state, or was told to be retained.
func requireNothingLost(t *testing.T, s *enginetest.Stack) {
	t.Helper()
	known := make(map[string]bool)
	for _, res := range s.Snapshot().Resources() {
		known[res.ID] = true
	}
	for _, op := range s.Snapshot().Operations() {
		known[op.Resource.ID] = true
	}
	for _, id := range s.Cloud.IDs() {
		told := slices.ContainsFunc(s.Events(), func(e engine.Event) bool {
			d, ok := e.(engine.Diagnostic)
			return ok && strings.Contains(d.Message, `"`+id+`" is retained`)
		})
		require.True(t, known[id] || told, "nothing knows of %s", id)
	}
}

func answering(s *enginetest.Stack, call string, err error) {
	s.Cloud.Hook = func(got string) error {
		if got == call {
			return err
		}
		return nil
	}
}

// What is deleted with its owner stays in the state until the deletion of the owner is recorded.
func TestOwnersThatStay(t *testing.T) {
	yes := true
	none := func(*abi.ResourceOptions) {}
	protected := func(o *abi.ResourceOptions) { o.Protect = &yes }
	retained := func(o *abi.ResourceOptions) { o.RetainOnDelete = &yes }
	first := func(o *abi.ResourceOptions) { o.DeleteBeforeReplace = &yes }
	plain := func(options enginetest.OptionsOf) enginetest.Program {
		return owned(enginetest.Plain, "a", nil, options)
	}
	keyed := func(key int, options enginetest.OptionsOf) enginetest.Program {
		return owned(enginetest.Strict, "a", []any{"key", key}, options)
	}
	file := func(name string, key int) enginetest.Program {
		return owned(enginetest.File, name, []any{"path", "x", "mode", key}, none)
	}
	unavailable := abi.NewError(abi.ErrorKindUnavailable, "no answer")
	type situation struct {
		program enginetest.Program
		// prepare has what the owner's deletion meets.
		prepare func(*enginetest.Stack)
		run     enginetest.Operation
		next    enginetest.Program
		edit    func(*enginetest.Deployment)
		// stays says that b is recorded afterwards, and goes that b is deleted by itself.
		stays, goes bool
	}
	for name, c := range map[string]situation{
		"destroy of a protected owner":  {program: plain(protected), run: enginetest.Destroy, goes: true},
		"up without a protected owner":  {program: plain(protected), run: enginetest.Up, next: enginetest.Empty, goes: true},
		"the owner's deletion fails":    {program: plain(none), run: enginetest.Destroy, prepare: func(s *enginetest.Stack) { failing(s, "delete a-1") }, stays: true},
		"the owner is unavailable":      {program: plain(none), run: enginetest.Destroy, prepare: func(s *enginetest.Stack) { answering(s, "delete a-1", unavailable) }, stays: true},
		"the owner is not found":        {program: plain(none), run: enginetest.Destroy, prepare: func(s *enginetest.Stack) { answering(s, "delete a-1", abi.NewError(abi.ErrorKindNotFound, "where?")) }, stays: true},
		"a retained owner is destroyed": {program: plain(retained), run: enginetest.Destroy, goes: true},
		"a retained owner is replaced":  {program: keyed(1, retained), run: enginetest.Up, next: keyed(2, retained), goes: true},
		"an old owner cannot be deleted": {program: keyed(1, none), run: enginetest.Up, next: keyed(2, none), stays: true,
			prepare: func(s *enginetest.Stack) { failing(s, "delete a-1") }},
		"an owner that goes before its replacement fails": {program: keyed(1, first), run: enginetest.Up, next: keyed(2, first), stays: true,
			prepare: func(s *enginetest.Stack) { failing(s, "delete a-1") }},
		"an owner is replaced over itself": {program: file("a", 1), run: enginetest.Up, next: file("a", 2), goes: true},
		"an owner is renamed": {program: file("a", 1), run: enginetest.Up, goes: true, next: func(p *enginetest.Run) error {
			_, err := p.Custom(enginetest.File, "c", enginetest.Props("path", "x", "mode", 1))
			return err
		}},
		"only b is selected": {program: plain(none), run: enginetest.Destroy, goes: true,
			edit: targeting(engine.Selection{Targets: []engine.Pattern{"**::b"}})},
		"the owner is excluded": {program: plain(none), run: enginetest.Destroy, goes: true,
			edit: targeting(engine.Selection{Excludes: []engine.Pattern{"**::a"}})},
	} {
		t.Run(name, func(t *testing.T) {
			s := owning(t)
			s.Up(c.program)
			b := s.Resource("b").ID
			s.Cloud.Calls()
			if c.prepare != nil {
				c.prepare(s)
			}
			s.Edit = c.edit
			_, _ = s.Try(c.run, c.next)
			requireNothingLost(t, s)
			calls := s.Cloud.Calls()
			require.Equal(t, c.goes, slices.Contains(calls, "delete "+b), "%v", calls)
			require.Equal(t, c.stays, slices.ContainsFunc(ids(s), func(id string) bool { return id == b }))
			s.Edit, s.Cloud.Hook = func(d *enginetest.Deployment) { d.IgnoreProtect = true }, nil
			s.Up(c.program)
			custom := 0
			for _, res := range s.Snapshot().Resources() {
				if res.Custom && !res.IsProvider() {
					custom++
				}
			}
			require.Empty(t, maps.Collect(s.Snapshot().Operations()))
			if !strings.Contains(name, "retained") {
				require.Equal(t, custom, s.Cloud.Objects(), "no object is made twice")
			}
		})
	}
}

func ids(s *enginetest.Stack) (out []string) {
	for _, res := range s.Snapshot().Resources() {
		out = append(out, res.ID)
	}
	return out
}

// An owner and what goes with it leave the state in one change, by way of others that go with it, and what they use
// stays until then.
func TestOwnersAndTheirsLeaveTogether(t *testing.T) {
	s := owning(t)
	program := func(p *enginetest.Run) error {
		x, err := p.Custom(enginetest.Plain, "x", enginetest.Props())
		if err != nil {
			return err
		}
		a, err := p.Custom(enginetest.Plain, "a", enginetest.Props())
		if err != nil {
			return err
		}
		b, err := p.Custom(enginetest.Plain, "b", enginetest.Props("owner", a.Out("made")), func(o *abi.ResourceOptions) { o.DeletedWith = a.URN })
		if err != nil {
			return err
		}
		c, err := p.Custom(enginetest.Plain, "c", enginetest.Props("owner", b.Out("made"), "from", x.Out("made")),
			func(o *abi.ResourceOptions) { o.DeletedWith = b.URN })
		if err != nil {
			return err
		}
		_, err = p.Custom(enginetest.Plain, "d", enginetest.Props("from", c.Out("made")))
		return err
	}
	s.Up(program)
	s.Cloud.Calls()
	for at := 1; s.CrashAt(at, false, enginetest.Destroy, nil); at++ {
		requireNothingLost(t, s)
		names := make(map[string]bool)
		for _, res := range s.Snapshot().Resources() {
			names[res.URN.Name()] = true
		}
		require.Equal(t, names["a"], names["b"])
		require.Equal(t, names["a"], names["c"])
		if names["a"] {
			require.True(t, names["x"])
		}
		s.Refresh()
		s.Up(program)
		s.Cloud.Calls()
	}
	require.Equal(t, 0, s.Snapshot().Len())
	calls := s.Cloud.Calls()
	require.Len(t, calls, 3)
	require.Equal(t, []string{"delete d", "delete a", "delete x"}, cut(calls))
	require.Equal(t, []string{"delete d", "delete c", "delete b", "delete a", "delete x"}, s.Steps()[:5])
}

// cut leaves out the numbers of IDs.
func cut(calls []string) (out []string) {
	for _, call := range calls {
		name, _, _ := strings.Cut(call, "-")
		out = append(out, name)
	}
	return out
}

// What is deleted with a resource that uses, by way of another, what it uses itself is deleted by itself.
func TestOwnersInACircle(t *testing.T) {
	s := owning(t)
	s.Up(func(p *enginetest.Run) error {
		a, err := p.Custom(enginetest.Plain, "a", enginetest.Props())
		if err != nil {
			return err
		}
		x, err := p.Custom(enginetest.Plain, "x", enginetest.Props("from", a.Out("made")))
		if err != nil {
			return err
		}
		_, err = p.Custom(enginetest.Plain, "b", enginetest.Props("from", x.Out("made"), "owner", a.Out("made")),
			func(o *abi.ResourceOptions) { o.DeletedWith = a.URN })
		return err
	})
	s.Cloud.Calls()
	s.Destroy()
	require.Equal(t, []string{"delete b-3", "delete x-2", "delete a-1"}, s.Cloud.Calls())
}

// A component proves nothing: what is deleted with one is deleted by itself, before its parts.
func TestDeletedWithAComponent(t *testing.T) {
	s := owning(t)
	s.Up(func(p *enginetest.Run) error {
		g, err := p.Component(enginetest.Group, "g", enginetest.Props())
		if err != nil {
			return err
		}
		if _, err := p.Child(g.URN, enginetest.Plain, "part", enginetest.Props()); err != nil {
			return err
		}
		_, err = p.Custom(enginetest.Plain, "b", enginetest.Props(), func(o *abi.ResourceOptions) { o.DeletedWith = g.URN })
		return err
	})
	s.Cloud.Calls()
	s.Destroy()
	require.Equal(t, []string{"delete b-2", "delete part-1"}, s.Cloud.Calls())
}

// A deletion that was cut off may have taken along what goes with it: both are read before they are changed.
func TestCutOffDeletionOfAnOwner(t *testing.T) {
	for _, run := range map[string]func(*enginetest.Stack, enginetest.Program){
		"up":      func(s *enginetest.Stack, program enginetest.Program) { s.Up(program) },
		"destroy": func(s *enginetest.Stack, _ enginetest.Program) { s.Destroy() },
		"owner": func(s *enginetest.Stack, _ enginetest.Program) {
			s.Up(owned(enginetest.Plain, "a", nil, func(*abi.ResourceOptions) {}))
		},
		"alone": func(s *enginetest.Stack, _ enginetest.Program) {
			s.Up(func(p *enginetest.Run) error {
				_, err := p.Custom(enginetest.Plain, "a", enginetest.Props())
				return err
			})
		},
	} {
		s := owning(t)
		program := owned(enginetest.Plain, "a", nil, func(*abi.ResourceOptions) {})
		s.Up(program)
		s.Cloud.Lost = func(_, _ string) error {
			return abi.NewError(abi.ErrorKindUnavailable, "the answer is lost")
		}
		_, err := s.Try(enginetest.Destroy, nil)
		require.ErrorContains(t, err, "the answer is lost")
		require.NotNil(t, s.Resource("b"))
		require.Zero(t, s.Cloud.Objects())
		s.Cloud.Lost = nil
		run(s, program)
		requireNothingLost(t, s)
		for _, res := range s.Snapshot().Resources() {
			if res.Custom && !res.IsProvider() {
				require.Contains(t, s.Cloud.IDs(), res.ID)
			}
		}
		require.Empty(t, maps.Collect(s.Snapshot().Operations()))
	}
}

// Before a replacement, an owner and what goes with it, also an old copy of that, leave together.
func TestOwnersBeforeTheirReplacement(t *testing.T) {
	s := owning(t)
	program := func(key, own int) enginetest.Program {
		return func(p *enginetest.Run) error {
			a, err := p.Custom(enginetest.Single, "a", enginetest.Props("key", key))
			if err != nil {
				return err
			}
			_, err = p.Custom(enginetest.Strict, "b", enginetest.Props("key", own, "owner", a.Out("made")), func(o *abi.ResourceOptions) { o.DeletedWith = a.URN })
			return err
		}
	}
	s.Up(program(1, 1))
	failing(s, "delete b-2")
	_, err := s.Try(enginetest.Up, program(1, 2))
	require.Error(t, err, "an old copy of b stays")
	s.Cloud.Hook = nil
	s.Cloud.Calls()
	s.Preview(program(2, 2))
	planned := s.Steps()
	s.Up(program(2, 2))
	require.Equal(t, planned, s.Steps())
	require.Equal(t, []string{"delete a-1", "create a", "create b"}, s.Cloud.Calls())
	require.Len(t, s.Cloud.IDs(), 2)
	requireNothingLost(t, s)
}

// A hook that refuses the deletion of what goes with an owner keeps both.
func TestHooksOfWhatGoesWithItsOwner(t *testing.T) {
	s := owning(t)
	refuse := true
	program := func(deleted bool) enginetest.Program {
		return func(p *enginetest.Run) error {
			if err := p.Monitor.(callback.Monitor).RegisterHook(callback.Hook{Name: "guard", Run: func(context.Context, callback.Step) error {
				if refuse {
					return errors.New("not now")
				}
				return nil
			}}); err != nil || deleted {
				return err
			}
			return owned(enginetest.Plain, "a", nil, func(*abi.ResourceOptions) {})(p)
		}
	}
	s.Up(program(false))
	s.Change("b", func(res *state.Resource) { res.ResourceHooks = map[string][]string{"before_delete": {"guard"}} })
	s.Cloud.Calls()
	_, err := s.Try(enginetest.Up, program(true))
	require.ErrorContains(t, err, "not now")
	require.Empty(t, s.Cloud.Calls())
	require.NotNil(t, s.Resource("a"))
	refuse = false
	s.Up(program(true))
	require.Equal(t, []string{"delete a-1"}, s.Cloud.Calls())
	require.Nil(t, s.Resource("b"))
}

// Deletions that answer with a kind of error that sounds like success keep the resource, and say what to do.
func TestKindsOfErrorsAreNoOutcomes(t *testing.T) {
	one := func(p *enginetest.Run) error {
		_, err := p.Custom(enginetest.Plain, "a", enginetest.Props())
		return err
	}
	for kind, advice := range map[abi.ErrorKind][]string{
		abi.ErrorKindNotFound:      {"does not say that it is gone", "husk refresh", "husk state delete 'urn:pulumi:dev::proj::test:index:Plain::a'"},
		abi.ErrorKindUnimplemented: {"cannot delete resources of this type", "husk state delete 'urn:pulumi:dev::proj::test:index:Plain::a'"},
	} {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		s.Up(one)
		answering(s, "delete a-1", abi.NewError(kind, "no"))
		for _, run := range []enginetest.Operation{enginetest.Destroy, enginetest.Up} {
			_, err := s.Try(run, enginetest.Program(enginetest.Empty))
			for _, part := range advice {
				require.ErrorContains(t, err, part)
			}
			require.NotNil(t, s.Resource("a"))
		}
	}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(one)
	s.Cloud.Read = func(abi.ReadRequest) (abi.ReadResponse, error) {
		return abi.ReadResponse{}, abi.NewError(abi.ErrorKindNotFound, "no such project")
	}
	_, err := s.Try(enginetest.Refresh, nil)
	require.ErrorContains(t, err, "does not say that it is gone")
	require.NotNil(t, s.Resource("a"))
	s.Cloud.Read = func(abi.ReadRequest) (abi.ReadResponse, error) {
		return abi.ReadResponse{}, &abi.Error{Kind: abi.ErrorKindInitFailed, InitFailure: &abi.InitFailure{Reasons: []string{"ill"}}}
	}
	s.Refresh()
	require.Equal(t, "a-1", s.Resource("a").ID, "what is not healthy exists, if it is named or not")
	s.Cloud.Read = func(abi.ReadRequest) (abi.ReadResponse, error) { return abi.ReadResponse{}, nil }
	s.Refresh()
	require.Nil(t, s.Resource("a"))
}

// A creation that made something, and does not say what, stays pending; an update of that sort keeps the ID.
func TestInitFailuresWithoutAnID(t *testing.T) {
	one := func(key int) enginetest.Program {
		return func(p *enginetest.Run) error {
			_, err := p.Custom(enginetest.Plain, "a", enginetest.Props("key", key))
			return err
		}
	}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	nameless := func(_, _ string) error {
		return &abi.Error{Kind: abi.ErrorKindInitFailed, InitFailure: &abi.InitFailure{Reasons: []string{"ill"}}}
	}
	s.Cloud.Lost = nameless
	_, err := s.Try(enginetest.Up, one(1))
	require.ErrorContains(t, err, "returned no ID")
	operations := 0
	for _, op := range s.Snapshot().Operations() {
		require.Equal(t, state.OperationCreating, op.Type)
		operations++
	}
	require.Equal(t, 1, operations)
	s = enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(one(1))
	s.Cloud.Lost = nameless
	_, err = s.Try(enginetest.Up, one(2))
	require.Error(t, err)
	require.Equal(t, "a-1", s.Resource("a").ID)
	require.NotEmpty(t, s.Resource("a").InitErrors)
}

// What goes with an owner that is another resource as well is deleted by itself: the other one may stay.
func TestOwnersThatAreAnotherResource(t *testing.T) {
	s := owning(t)
	yes := true
	s.Up(func(p *enginetest.Run) error {
		a, err := p.Custom(enginetest.Plain, "a", enginetest.Props())
		if err != nil {
			return err
		}
		if _, err := p.Custom(enginetest.Plain, "d", enginetest.Props("owner", a.Out("made")), func(o *abi.ResourceOptions) { o.DeletedWith = a.URN }); err != nil {
			return err
		}
		x, err := p.Custom(enginetest.Plain, "x", enginetest.Props("from", a.Out("made"))) // so that a is deleted after b
		if err != nil {
			return err
		}
		if _, err := p.Custom(enginetest.Plain, "y", enginetest.Props("from", x.Out("made"))); err != nil {
			return err
		}
		b, err := p.Custom(enginetest.Plain, "b", enginetest.Props())
		if err != nil {
			return err
		}
		_, err = p.Custom(enginetest.Plain, "u", enginetest.Props("from", b.Out("made")), func(o *abi.ResourceOptions) { o.Protect = &yes })
		return err
	})
	s.Cloud.Change(s.Resource("b").ID, nil)
	s.Change("b", func(res *state.Resource) { res.ID = "a-1" })
	s.Cloud.Calls()

	_, err := s.Try(enginetest.Destroy, nil)
	require.ErrorContains(t, err, "protected")
	require.ElementsMatch(t, []string{"delete y-4", "delete x-3", "delete d-2"}, s.Cloud.Calls())
	require.Nil(t, s.Resource("a"))
	require.NotNil(t, s.Resource("b"))
	requireNothingLost(t, s)
	s.Change("u", func(res *state.Resource) { res.Protect = false })
	s.Destroy()
	require.Empty(t, s.Cloud.IDs())
}

// An owner that becomes another resource as well, which stays, is not deleted, so what goes with it is not forgotten.
func TestOwnerThatBecomesAnotherResource(t *testing.T) {
	s := owning(t)
	first := true
	program := func(mode string) enginetest.Program {
		return owned(enginetest.File, "a", []any{"path", "x", "mode", mode}, func(o *abi.ResourceOptions) { o.DeleteBeforeReplace = &first })
	}
	s.Up(program("1"))
	s.Change("b", func(res *state.Resource) { res.ResourceHooks = map[string][]string{"before_delete": {"guard"}} })
	deleting, made := make(chan struct{}), make(chan struct{})
	_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
		if err := p.Monitor.(callback.Monitor).RegisterHook(callback.Hook{Name: "guard", Run: func(context.Context, callback.Step) error {
			close(deleting)
			<-made
			return nil
		}}); err != nil {
			return err
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			<-deleting
			_, _ = p.Custom(enginetest.File, "c", enginetest.Props("path", "x"))
			close(made)
		})
		defer wg.Wait()
		return program("2")(p)
	}))
	require.ErrorContains(t, err, `the object "x" is not deleted, since it is urn:pulumi:dev::proj::test:index:File::c as well, which stays`)
	require.NotNil(t, s.Resource("b"), "its object lives on")
	requireNothingLost(t, s)
}

// A resource whose early deletion failed stays, so another one that is the same object is not deleted.
func TestFailedEarlyDeletionKeepsItsObject(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	program := func(key int, other bool) enginetest.Program {
		return func(p *enginetest.Run) error {
			err := p.Monitor.(callback.Monitor).RegisterHook(callback.Hook{Name: "guard", Run: func(context.Context, callback.Step) error { return errors.New("not now") }})
			if err != nil {
				return err
			}
			if other {
				_, err = p.Custom(enginetest.Single, "a", enginetest.Props())
			}
			_, failed := p.Custom(enginetest.Single, "r", enginetest.Props("key", key))
			return errors.Join(err, failed)
		}
	}
	s.Up(program(1, true))
	s.Cloud.Change(s.Resource("a").ID, nil)
	object := s.Resource("r").ID
	s.Change("a", func(res *state.Resource) { res.ID = object })
	s.Change("r", func(res *state.Resource) { res.ResourceHooks = map[string][]string{"before_delete": {"guard"}} })
	s.Edit = goOn
	_, err := s.Try(enginetest.Up, program(2, false))
	require.ErrorContains(t, err, "not now")
	require.Equal(t, object, s.Resource("r").ID)
	require.Nil(t, s.Resource("a"), "the state forgets it")
	require.Equal(t, []string{object}, s.Cloud.IDs())
}

// What the program has a resource belong to is the newest copy, though an old one still waits for its deletion.
func TestBelongsToTheNewestCopy(t *testing.T) {
	program := func(key string, option func(*abi.ResourceOptions, urn.URN)) enginetest.Program {
		return func(p *enginetest.Run) error {
			a, err := p.Custom(enginetest.Strict, "a", enginetest.Props("key", key))
			if err != nil {
				return err
			}
			_, err = p.Custom(enginetest.Plain, "b", enginetest.Props(), func(o *abi.ResourceOptions) { option(o, a.URN) })
			return err
		}
	}
	for name, option := range map[string]func(*abi.ResourceOptions, urn.URN){
		"deleted with":  func(o *abi.ResourceOptions, a urn.URN) { o.DeletedWith = a },
		"replaced with": func(o *abi.ResourceOptions, a urn.URN) { o.ReplaceWith = []urn.URN{a} },
	} {
		prepared := func(t *testing.T) *enginetest.Stack {
			s := owning(t)
			none := func(*abi.ResourceOptions, urn.URN) {}
			s.Up(program("1", none))
			failing(s, "delete a-1")
			for _, option := range []func(*abi.ResourceOptions, urn.URN){none, option} {
				_, err := s.Try(enginetest.Up, program("2", option))
				require.ErrorContains(t, err, "no luck", "nothing keeps the old copy")
			}
			return s
		}
		t.Run(name+", updated", func(t *testing.T) {
			s := prepared(t)
			s.Cloud.Hook = nil
			s.Up(program("2", option))
			require.Equal(t, []string{"delete-replaced a"}, s.Steps())
		})
		t.Run(name+", destroyed", func(t *testing.T) {
			s := prepared(t)
			failing(s, "delete a-3")
			_, err := s.Try(enginetest.Destroy, nil)
			require.ErrorContains(t, err, "no luck")
			requireNothingLost(t, s)
		})
		t.Run(name+", refreshed", func(t *testing.T) {
			s := prepared(t)
			s.Cloud.Hook = nil
			s.Cloud.Change("a-3", nil)
			s.Refresh()
			s.Destroy()
			require.Empty(t, s.Cloud.IDs())
		})
	}
}
