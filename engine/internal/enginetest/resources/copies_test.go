package resources_test

import (
	"errors"
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

// provided registers a provider and resources that use it.
func provided(region int, names ...string) enginetest.Program {
	return func(p *enginetest.Run) error {
		own, err := p.Custom(enginetest.ProviderType, "own", enginetest.Props("region", region))
		if err != nil {
			return err
		}
		for _, name := range names {
			_, e := p.Custom(enginetest.Plain, name, enginetest.Props(), func(o *abi.ResourceOptions) { o.Provider = own.Reference() })
			err = errors.Join(err, e)
		}
		return err
	}
}

func regional(t *testing.T) *enginetest.Stack {
	cloud := enginetest.NewCloud()
	cloud.DiffConfig = enginetest.ReplacedByRegion
	return enginetest.NewStack(t, cloud)
}

// A replaced provider stays in the state as long as a resource names it, which goes on with
// it until it is selected.
func TestReplacedProviderStaysForItsUsers(t *testing.T) {
	for name, selection := range map[string]engine.Selection{
		"targets":                {Targets: []engine.Pattern{"**::own"}},
		"one of two users":       {Targets: []engine.Pattern{"**::own", "**::a"}},
		"excludes":               {Excludes: []engine.Pattern{"**::b"}},
		"excluded with the root": {Excludes: []engine.Pattern{"**::b", "**::proj-dev"}},
	} {
		for _, region := range []int{1, 2} {
			t.Run(name, func(t *testing.T) {
				s := regional(t)
				s.Up(provided(1, "a", "b"))
				before := s.Resource("b")
				s.Edit = func(d *enginetest.Deployment) { d.Selection, d.Replace = selection, []engine.Pattern{"**::own"} }
				for range 2 {
					for _, run := range []enginetest.Operation{enginetest.Preview, enginetest.Up} {
						_, err := s.Try(run, provided(region, "a", "b"))
						require.NoError(t, err)
					}
					require.Equal(t, before, s.Resource("b"))
					require.NotEqual(t, before.Provider, s.Resource("own").Reference())
				}
				s.Edit = nil
				s.Up(provided(region, "a", "b"))
				require.Zero(t, s.Up(provided(region, "a", "b")).Total())
				require.Equal(t, s.Resource("own").Reference(), s.Resource("b").Provider)
				require.Len(t, s.Cloud.IDs(), 2)
				require.Equal(t, 5, s.Snapshot().Len()+1, "root, provider, and two resources, and no old copy")
			})
		}
	}
}

// What an excluded resource may use stays, however far away, also the copies that are replaced.
func TestExcludedResourceKeepsOldCopies(t *testing.T) {
	s := regional(t)
	program := func(region int, key string) enginetest.Program {
		return func(p *enginetest.Run) error {
			own, err := p.Custom(enginetest.ProviderType, "own", enginetest.Props("region", region))
			if err != nil {
				return err
			}
			with := func(o *abi.ResourceOptions) { o.Provider = own.Reference() }
			a, err := p.Custom(enginetest.Strict, "a", enginetest.Props("key", key), with)
			if err != nil {
				return err
			}
			b, err := p.Custom(enginetest.Strict, "b", enginetest.Props("key", a.Out("made")), with)
			if err != nil {
				return err
			}
			_, err = p.Custom(enginetest.Plain, "c", enginetest.Props("from", b.Out("made")))
			return err
		}
	}
	s.Up(program(1, "1"))
	s.Edit = targeting(engine.Selection{Excludes: []engine.Pattern{"**::c"}})
	for region := range 3 {
		s.Up(program(region, "1"))
		require.Contains(t, s.Cloud.IDs(), "a-1", "c may use b-2, which may use it")
		require.Contains(t, s.Cloud.IDs(), "b-2", "c may use it")
	}
	s.Edit = nil
	s.Up(program(2, "1"))
	require.Len(t, s.Cloud.IDs(), 3)
	require.Zero(t, s.Up(program(2, "1")).Total())
}

// A provider that is deleted before it is made again stays for the old copies that it made.
func TestProviderDeletedFirstStaysForOldCopies(t *testing.T) {
	cloud := enginetest.NewCloud()
	cloud.DiffConfig = func(req abi.DiffRequest) (abi.DiffResponse, error) {
		resp, err := enginetest.ReplacedByRegion(req)
		resp.DeleteBeforeReplace = true
		return resp, err
	}
	s := enginetest.NewStack(t, cloud)
	program := func(region int, key string) enginetest.Program {
		return func(p *enginetest.Run) error {
			own, err := p.Custom(enginetest.ProviderType, "own", enginetest.Props("region", region))
			if err != nil {
				return err
			}
			_, err = p.Custom(enginetest.Strict, "a", enginetest.Props("key", key), func(o *abi.ResourceOptions) { o.Provider = own.Reference() })
			return err
		}
	}
	s.Up(program(1, "1"))
	s.Cloud.Hook = func(call string) error {
		if call == "delete a-1" {
			return errors.New("busy")
		}
		return nil
	}
	_, err := s.Try(enginetest.Up, program(1, "2"))
	require.ErrorContains(t, err, "busy")
	_, err = s.Try(enginetest.Up, program(2, "2"))
	require.ErrorContains(t, err, "busy")
	s.Cloud.Hook = nil
	s.Up(program(2, "2"))
	require.Len(t, s.Cloud.IDs(), 1)
	require.Zero(t, s.Up(program(2, "2")).Total())
}

// A resource that was renamed is renamed in what others hold of it: nothing is replaced.
func TestAliasRenamesReferencesInValues(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	program := func(name string, aliases ...abi.Alias) enginetest.Program {
		return func(p *enginetest.Run) error {
			a, err := p.Custom(enginetest.Plain, name, enginetest.Props(), func(o *abi.ResourceOptions) { o.Aliases = aliases })
			if err != nil {
				return err
			}
			_, err = p.Custom(enginetest.Strict, "b", enginetest.Props("key", property.Secret(property.Array(referenceTo(a, true)))),
				func(o *abi.ResourceOptions) {
					trigger := referenceTo(a, true)
					o.ReplacementTrigger = &trigger
				})
			return err
		}
	}
	s.Up(program("a"))
	s.Cloud.Calls()
	for _, run := range []enginetest.Operation{enginetest.Preview, enginetest.Up} {
		_, err := s.Try(run, program("renamed", enginetest.AliasName("a")))
		require.NoError(t, err)
		require.Empty(t, s.Steps())
	}
	require.Empty(t, s.Cloud.Calls())
	elements, _ := s.Resource("b").Inputs.Get("key").Plain().AsArray()
	ref, _ := elements[0].AsReference()
	require.Equal(t, string(s.Resource("renamed").URN), ref.URN)
	require.Zero(t, s.Up(program("renamed")).Total())
}

// The old copies that a target leaves behind, and what they use, are kept, and a target
// that something else needs is refused by name.
func TestTargetThatAnOldCopyNeeds(t *testing.T) {
	s := regional(t)
	s.Up(provided(1, "a"))
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::own"}})
	_, err := s.Try(enginetest.Destroy, nil)
	var missing *engine.NotSelectedError
	require.ErrorAs(t, err, &missing)
	require.Equal(t, engine.NotSelectedError{Resource: s.Resource("own").URN, Needs: s.Resource("a").URN, Deleted: true}, *missing)
}

// What depends on a target is selected with it whether it does so in the state or in the
// program.
func TestDependentsOfTargetsInStateAndProgram(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	program := func(typ, key string, depends bool) enginetest.Program {
		return func(p *enginetest.Run) error {
			a, err := p.Custom(typ, "a", enginetest.Props("key", key))
			if err != nil {
				return err
			}
			from := a.Out("made")
			if !depends {
				from = property.String("nothing")
			}
			b, err := p.Custom(enginetest.Strict, "b", enginetest.Props("key", from))
			if err != nil {
				return err
			}
			_, err = p.Custom(enginetest.Plain, "c", enginetest.Props("from", b.Out("made")))
			return err
		}
	}
	s.Up(program(enginetest.Single, "1", true))
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::a"}, TargetDependents: true})
	s.Up(program(enginetest.Single, "2", false))
	require.Zero(t, s.Up(program(enginetest.Single, "2", false)).Total())
	require.Equal(t, "nothing", mustText(s.Resource("b").Inputs.Get("key")))
	s.Edit = nil
	require.Zero(t, s.Up(program(enginetest.Single, "2", false)).Total(), "nothing was left out")

	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::a"}, TargetDependents: true})
	s.Up(program(enginetest.Single, "2", true))
	s.Edit = nil
	require.Zero(t, s.Up(program(enginetest.Single, "2", true)).Total())
}

// The advice of a selection that lacks something is what the user can do, and has not done.
func TestAdviceFitsTheSelection(t *testing.T) {
	for _, test := range []struct {
		err  engine.NotSelectedError
		want string
	}{
		{engine.NotSelectedError{Resource: "a", Needs: "b"}, "a depends on b, which does not exist yet and is not selected: add it with --target"},
		{engine.NotSelectedError{Resource: "a", Needs: "b", Excluded: true}, "a depends on b, which does not exist yet and is excluded: do not exclude it, or exclude a as well"},
		{engine.NotSelectedError{Resource: "a", Needs: "b", Deleted: true}, "a cannot be deleted: b depends on it and is not selected: add it with --target, or all that depend on the targets with --target-dependents"},
		{engine.NotSelectedError{Resource: "a", Needs: "b", Deleted: true, Dependents: true}, "a cannot be deleted: b depends on it and is not selected: add it with --target"},
		{engine.NotSelectedError{Resource: "a", Needs: "b", Deleted: true, Excluded: true}, "a cannot be deleted: b depends on it and is excluded: do not exclude it, or exclude a as well"},
		{engine.NotSelectedError{Resource: "a", Needs: "b", Circular: true, Excluded: true}, "a now depends on b, which depended on it so far and is excluded: do not exclude it, or exclude a as well"},
	} {
		require.EqualError(t, &test.err, test.want)
	}
}

// A resource whose replacement was cut off does not exist. Excluding it fails what needs it, and
// says what helps.
func TestExcludedWhileItsReplacementIsPending(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.Chain(enginetest.Single, "1"))
	s.Cloud.Hook = func(call string) error {
		if call == "create a" {
			return errors.New("busy")
		}
		return nil
	}
	_, err := s.Try(enginetest.Up, enginetest.Chain(enginetest.Single, "2"))
	require.ErrorContains(t, err, "busy")
	s.Cloud.Hook = nil
	s.Edit = targeting(engine.Selection{Excludes: []engine.Pattern{"**::a"}})
	_, err = s.Try(enginetest.Up, enginetest.Chain(enginetest.Single, "2"))
	require.ErrorContains(t, err, "which does not exist yet and is excluded: do not exclude it, or exclude")
	s.Edit = targeting(engine.Selection{Excludes: []engine.Pattern{"**::a"}, ExcludeDependents: true})
	s.Up(enginetest.Chain(enginetest.Single, "2"))
	require.Empty(t, s.Steps())
}

// A new child inherits what the program says of its parent, also if the parent is left as it
// is recorded: that may name what is gone.
func TestChildOfAnUnselectedParentInheritsFromTheProgram(t *testing.T) {
	s := regional(t)
	program := func(region int, owner, child bool) enginetest.Program {
		return func(p *enginetest.Run) error {
			own, err := p.Custom(enginetest.ProviderType, "own", enginetest.Props("region", region))
			if err != nil {
				return err
			}
			with := func(o *abi.ResourceOptions) { o.Provider = own.Reference() }
			var owned urn.URN
			if owner {
				x, err := p.Custom(enginetest.Plain, "x", enginetest.Props(), with)
				if err != nil {
					return err
				}
				owned = x.URN
			}
			parent, err := p.Custom(enginetest.Plain, "parent", enginetest.Props(), with, func(o *abi.ResourceOptions) {
				o.DeletedWith = owned
				o.Protect = &owner
			})
			if err != nil || !child {
				return err
			}
			_, err = p.Child(parent.URN, enginetest.Plain, "child", enginetest.Props())
			return err
		}
	}
	s.Up(program(1, true, false))
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::child"}})
	s.Up(program(2, false, true))
	child := s.Resource("child")
	require.Empty(t, child.DeletedWith)
	require.False(t, child.Protect)
	require.Equal(t, s.Resource("own").Reference(), child.Provider)
	require.NotEqual(t, child.Provider, s.Resource("parent").Provider)
	s.Edit = nil
	s.Up(program(2, false, true))
	require.Zero(t, s.Up(program(2, false, true)).Total())
	s.Destroy()
	require.Equal(t, []string{"parent-2"}, s.Cloud.IDs(), "which went with x, as far as the cloud does that")
}

// A program may end the protection of a resource with the change that replaces it.
func TestUnprotectedByTheReplacingChange(t *testing.T) {
	yes, no := true, false
	program := func(typ, key string, protect *bool) enginetest.Program {
		return func(p *enginetest.Run) error {
			_, err := p.Custom(typ, "a", enginetest.Props("key", key), func(o *abi.ResourceOptions) { o.Protect = protect })
			return err
		}
	}
	for _, typ := range []string{enginetest.Strict, enginetest.Single} {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		s.Up(program(typ, "1", &yes))
		_, err := s.Try(enginetest.Up, program(typ, "2", &yes))
		require.ErrorContains(t, err, "the resource is protected, but its change of key needs a replacement")
		require.Equal(t, 1, s.Up(program(typ, "2", &no)).Replace)
		require.Len(t, s.Cloud.IDs(), 1)
	}
}

// Some states have a provider for components, which means nothing.
func TestComponentWithAProvider(t *testing.T) {
	program := func(p *enginetest.Run) error {
		a, err := p.Custom(enginetest.Plain, "a", enginetest.Props())
		if err != nil {
			return err
		}
		_, err = p.Component(enginetest.Group, "g", enginetest.Props(), func(o *abi.ResourceOptions) { o.Dependencies = []urn.URN{a.URN} })
		return err
	}
	for name, run := range map[string]func(*enginetest.Stack){
		"up":      func(s *enginetest.Stack) { s.Up(program); require.Empty(t, s.Resource("g").Provider) },
		"refresh": func(s *enginetest.Stack) { s.Refresh() },
		"replace": func(s *enginetest.Stack) {
			s.Edit = func(d *enginetest.Deployment) { d.Replace = []engine.Pattern{"**::g"} }
			s.Up(program)
		},
		"destroy": func(s *enginetest.Stack) { s.Destroy() },
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(program)
			s.Change("g", func(res *state.Resource) { res.Provider = s.Resource("a").Provider })
			run(s)
			s.Edit = nil
			s.Destroy()
			require.Zero(t, s.Snapshot().Len())
		})
	}
}

// What a selection has already is not advised again.
func TestErrorsKnowTheSelection(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	for _, test := range []struct {
		selection            engine.Selection
		excluded, dependents bool
	}{
		{engine.Selection{Targets: []engine.Pattern{"**::b"}}, false, false},
		{engine.Selection{Targets: []engine.Pattern{"**::b"}, TargetDependents: true}, false, true},
		{engine.Selection{Excludes: []engine.Pattern{"**::a"}}, true, false},
	} {
		s.Edit = targeting(test.selection)
		_, err := s.Try(enginetest.Preview, enginetest.Chain(enginetest.Plain, "1"))
		var missing *engine.NotSelectedError
		require.ErrorAs(t, err, &missing)
		require.Equal(t, test.excluded, missing.Excluded)
		require.Equal(t, test.dependents, missing.Dependents)
	}
}

// A state may have a provider twice, with one ID, since an earlier run was cut off or another tool wrote it. Either will
// do for the resources that it manages, and both can be deleted.
func TestTwoCopiesOfAProviderWithOneID(t *testing.T) {
	program := func(with bool) enginetest.Program {
		return func(p *enginetest.Run) error {
			own, err := p.Custom(enginetest.ProviderType, "own", enginetest.Props("region", "x"))
			if err != nil || !with {
				return err
			}
			_, err = p.Custom(enginetest.Plain, "a", enginetest.Props(), func(o *abi.ResourceOptions) { o.Provider = own.Reference() })
			return err
		}
	}
	for _, runs := range [][]func(*enginetest.Stack){
		{func(s *enginetest.Stack) { s.Destroy() }},
		{func(s *enginetest.Stack) { s.Up(program(true)) }, func(s *enginetest.Stack) { s.Destroy() }},
		{func(s *enginetest.Stack) { s.Up(program(false)) }, func(s *enginetest.Stack) { s.Destroy() }},
		{func(s *enginetest.Stack) { s.Up(enginetest.Empty) }, func(s *enginetest.Stack) { s.Destroy() }},
	} {
		for _, old := range []int{1, 2, 3} { // which of the copies is old: the first, the second, or both
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(program(true))
			s.Double("own", old&1 > 0, old&2 > 0)
			for _, run := range runs {
				run(s)
			}
			require.Zero(t, s.Snapshot().Len())
			require.Empty(t, s.Cloud.IDs())
		}
	}
}

// What was made from a resource that is replaced keeps the old copy, though the successor is gone, and whatever has changed the
// resource since.
func TestOldCopyStaysForWhatWasMadeFromIt(t *testing.T) {
	yes := true
	protected := func(o *abi.ResourceOptions) { o.Protect = &yes }
	registerA := func(p *enginetest.Run, key string) (enginetest.Resource, error) {
		return p.Custom(enginetest.Strict, "a", enginetest.Props("key", key))
	}
	both := func(key string) enginetest.Program {
		return func(p *enginetest.Run) error {
			a, err := registerA(p, key)
			if err != nil {
				return err
			}
			_, err = p.Custom(enginetest.Plain, "b", enginetest.Props("from", a.Out("made")), protected)
			return err
		}
	}
	onlyA := func(key string) enginetest.Program {
		return func(p *enginetest.Run) error {
			_, err := registerA(p, key)
			return err
		}
	}
	replaceA := func(t *testing.T, s *enginetest.Stack, program enginetest.Program) {
		failing(s, "update b", "delete a-1")
		_, err := s.Try(enginetest.Up, program)
		require.ErrorContains(t, err, "no luck")
		s.Cloud.Hook = nil
	}
	drift := func(s *enginetest.Stack) {
		s.Cloud.Change("b-2", func(m property.Map) property.Map { return m.With("made", property.String("later")) })
	}
	for name, prepare := range map[string]func(*testing.T, *enginetest.Stack){
		"a refresh finds it changed": func(t *testing.T, s *enginetest.Stack) {
			s.Up(both("1"))
			replaceA(t, s, both("2"))
			drift(s)
			s.Refresh()
		},
		"it is read during the replacement": func(t *testing.T, s *enginetest.Stack) {
			s.Cloud.Editions = true
			s.Up(both("1"))
			s.Cloud.Digest = "new"
			creating, read := make(chan struct{}), make(chan struct{})
			s.Cloud.Hook = func(call string) error {
				switch call {
				case "create a":
					close(creating)
					<-read
				case "update b":
					close(read)
					return errors.New("no luck")
				}
				return nil
			}
			_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
				var wg sync.WaitGroup
				wg.Go(func() { _, _ = registerA(p, "2") })
				<-creating
				_, err := p.Custom(enginetest.Plain, "b", enginetest.Props(), protected)
				wg.Wait()
				return err
			}))
			require.ErrorContains(t, err, "no luck")
			s.Cloud.Hook = nil
		},
		"another object is read in place": func(t *testing.T, s *enginetest.Stack) {
			s.Up(both("1"))
			s.Cloud.Put("other", "", enginetest.Props())
			_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
				_, err := p.Monitor.ReadResource(p.Ctx, abi.ReadResourceRequest{Type: enginetest.Strict, Name: "a", ID: "other"})
				return err
			}))
			require.ErrorContains(t, err, "protected")
		},
		"it is adopted afterwards": func(t *testing.T, s *enginetest.Stack) {
			b := cutOff(t, s, both("1"))
			s.Cloud.Put("b-2", "", enginetest.Props("from", "made of a-1", "made", "made of b-2"))
			replaceA(t, s, onlyA("2"))
			s.Edit = adopting(b, "b-2")
			s.Refresh()
		},
		"by a machine whose clock is behind": func(t *testing.T, s *enginetest.Stack) {
			s.Up(both("1"))
			s.Edit = func(d *enginetest.Deployment) {
				d.Now = func() time.Time { return time.Now().Add(-time.Hour) }
			}
			replaceA(t, s, both("2"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			prepare(t, s)
			s.Edit = nil
			s.Cloud.Change(s.Resource("a").ID, nil)
			s.Refresh()
			_, err := s.Try(enginetest.Destroy, nil)
			require.ErrorContains(t, err, "protected")
			require.Equal(t, []string{"a-1", "b-2"}, s.Cloud.IDs())
		})
	}
}
