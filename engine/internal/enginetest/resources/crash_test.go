package resources_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/state"
)

// Wherever the process is killed, the next run reads the state, knows of every
// object that was made or may have been made, and brings the stack to its goal.
func TestKilledAtEachWrite(t *testing.T) {
	up := func(program enginetest.Program) func(context.Context, enginetest.Deployment) (*engine.Result, error) {
		return func(ctx context.Context, d enginetest.Deployment) (*engine.Result, error) {
			d.Program = program
			return enginetest.Up(ctx, d)
		}
	}
	cases := []struct {
		name   string
		before enginetest.Program
		run    func(context.Context, enginetest.Deployment) (*engine.Result, error)
		after  enginetest.Program
		want   int // objects of the goal
	}{
		{"create", enginetest.Empty, up(enginetest.Chain(enginetest.Plain, "1")), enginetest.Chain(enginetest.Plain, "1"), 3},
		{"update", enginetest.Chain(enginetest.Plain, "1"), up(enginetest.Chain(enginetest.Plain, "2")), enginetest.Chain(enginetest.Plain, "2"), 3},
		{"replace", enginetest.Chain(enginetest.Strict, "1"), up(enginetest.Chain(enginetest.Strict, "2")), enginetest.Chain(enginetest.Strict, "2"), 3},
		{"delete before replace", enginetest.Chain(enginetest.Single, "1"), up(enginetest.Chain(enginetest.Single, "2")), enginetest.Chain(enginetest.Single, "2"), 3},
		{"delete", enginetest.Chain(enginetest.Plain, "1"), up(enginetest.Empty), enginetest.Empty, 0},
		{"destroy", enginetest.Chain(enginetest.Plain, "1"), enginetest.Destroy, enginetest.Empty, 0},
		{"refresh", enginetest.Chain(enginetest.Plain, "1"), drifted, enginetest.Chain(enginetest.Plain, "1"), 3},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, late := range []bool{false, true} {
				for n := 1; ; n++ {
					s := enginetest.NewStack(t, enginetest.NewCloud())
					s.Up(c.before)
					if !s.CrashAt(n, late, c.run, nil) {
						require.Greater(t, n, 1, "the operation writes nothing")
						break
					}
					requireKnown(t, s, n, late)
					// An object whose creation was not recorded is not deleted behind
					// the user's back; it is the only thing that may be left over.
					unrecorded := 0
					for _, op := range s.Snapshot().Operations() {
						if op.Type == state.OperationCreating {
							unrecorded++
						}
					}
					if c.name == "refresh" {
						s.Refresh() // an update alone does not look for what has vanished
					}
					s.Up(c.after)
					if unrecorded > 0 {
						require.Contains(t, strings.Join(s.Warnings(), "\n"), "cut off while creating")
					}
					extra := s.Cloud.Objects() - c.want
					require.GreaterOrEqual(t, extra, 0, "write %d, late %v: something was lost", n, late)
					require.LessOrEqual(t, extra, unrecorded, "write %d, late %v: something was left", n, late)
					require.Zero(t, s.Up(c.after).Total(), "write %d, late %v: the goal was not reached at once", n, late)
				}
			}
		})
	}
}

// drifted refreshes after one object has changed and another has vanished.
func drifted(ctx context.Context, d enginetest.Deployment) (*engine.Result, error) {
	cloud := d.Providers.(*enginetest.Cloud)
	cloud.Change("a-1", func(m property.Map) property.Map { return m.With("key", property.String("changed")) })
	cloud.Change("c-3", nil)
	return enginetest.Refresh(ctx, d)
}

// requireKnown requires that every object is in the state, or that the state
// says that its creation or deletion was under way.
func requireKnown(t *testing.T, s *enginetest.Stack, n int, late bool) {
	t.Helper()
	snapshot := s.Snapshot()
	require.NoError(t, snapshot.Verify())
	known := make(map[string]bool)
	for _, res := range snapshot.Resources() {
		known[res.ID] = true
	}
	creating := make(map[string]bool)
	for _, op := range snapshot.Operations() {
		if op.Type == state.OperationCreating {
			creating[op.Resource.URN.Name()] = true
		}
	}
	for _, id := range s.Cloud.IDs() {
		name, _, _ := strings.Cut(id, "-")
		require.True(t, known[id] || creating[name], "write %d, late %v: nothing knows of %s", n, late, id)
	}
}

// A run ended after a resource was replaced and before its old copy was deleted,
// which depends on a resource that by now depends on the new copy: a circle, which
// destructions and updates come out of.
func TestOldCopyThatDependsOnItsSuccessor(t *testing.T) {
	stop := errors.New("the program ends here")
	before := enginetest.Program(func(p *enginetest.Run) error {
		b, err := p.Custom(enginetest.Plain, "b", enginetest.Props())
		if err != nil {
			return err
		}
		_, err = p.Custom(enginetest.Strict, "a", enginetest.Props("key", b.Out("made")))
		return err
	})
	after := func(end error) enginetest.Program {
		return func(p *enginetest.Run) error {
			a, err := p.Custom(enginetest.Strict, "a", enginetest.Props("key", "new"))
			if err != nil {
				return err
			}
			_, err = p.Custom(enginetest.Plain, "b", enginetest.Props("from", a.Out("made")))
			return errors.Join(err, end)
		}
	}
	for _, finish := range []func(s *enginetest.Stack){
		func(s *enginetest.Stack) { s.Destroy() },
		func(s *enginetest.Stack) { s.Up(enginetest.Empty) },
		func(s *enginetest.Stack) { s.Up(after(nil)); s.Destroy() },
	} {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		s.Up(before)
		_, err := s.Try(enginetest.Up, after(stop))
		require.ErrorIs(t, err, stop)
		finish(s)
		require.Zero(t, s.Cloud.Objects())
	}
}

// A run was cut off after an object was deleted and before that was recorded. The
// program wants it again, changed: it is made anew, though only an update was asked for.
func TestDeletedObjectWhoseDeletionWasCutOff(t *testing.T) {
	b := enginetest.Program(func(p *enginetest.Run) error {
		_, err := p.Custom(enginetest.Plain, "b", enginetest.Props())
		return err
	})
	for n, lost := 1, false; !lost; n++ {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		s.Up(enginetest.Chain(enginetest.Plain, "1"))
		require.True(t, s.CrashAt(n, false, enginetest.Up, b), "no write comes after the deletion of an object and before the record of it")
		for _, res := range s.Snapshot().Resources() {
			lost = lost || res.Custom && !res.IsProvider() && !slices.Contains(s.Cloud.IDs(), res.ID)
		}
		preview := s.Preview(enginetest.Chain(enginetest.Plain, "2"))
		require.Equal(t, preview, s.Up(enginetest.Chain(enginetest.Plain, "2")))
		require.Equal(t, lost, strings.Contains(strings.Join(s.Warnings(), "\n"), "cut off while deleting"))
		require.Equal(t, 3, s.Cloud.Objects())
		require.Zero(t, s.Up(enginetest.Chain(enginetest.Plain, "2")).Total())
		require.Empty(t, s.Warnings(), "what was found out is not asked again")
	}
}

// An update that was cut off may have had its effect. A program that goes back to what
// it said before undoes that.
func TestUpdateThatWasCutOffIsUndone(t *testing.T) {
	for n, changed := 1, false; !changed; n++ {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		s.Up(enginetest.Chain(enginetest.Plain, "1"))
		require.True(t, s.CrashAt(n, false, enginetest.Up, enginetest.Chain(enginetest.Plain, "2")))
		changed = !s.Cloud.Snapshot()["a-1"].Get("key").Equal(property.String("1"))
		s.Up(enginetest.Chain(enginetest.Plain, "1"))
		require.Equal(t, property.String("1"), s.Cloud.Snapshot()["a-1"].Get("key"))
		require.Zero(t, s.Up(enginetest.Chain(enginetest.Plain, "1")).Total())
	}
}

// An update that was cut off may have made an object use another one, or have taken it from
// its owner. What is deleted next goes by what may be.
func TestUpdateThatWasCutOffMayHaveItsEffect(t *testing.T) {
	program := func(of string) enginetest.Program {
		return func(p *enginetest.Run) error {
			inputs, owner := enginetest.Props("key", of), func(*abi.ResourceOptions) {}
			for _, name := range []string{"a", "b"} {
				r, err := p.Custom(enginetest.Plain, name, enginetest.Props())
				if err != nil {
					return err
				}
				if name == of {
					inputs = inputs.With("of", r.Out("made"))
					owner = func(o *abi.ResourceOptions) { o.DeletedWith = r.URN }
				}
			}
			_, err := p.Custom(enginetest.Plain, "c", inputs, owner)
			return err
		}
	}
	for n, changed := 1, false; !changed; n++ {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		s.Edit = func(d *enginetest.Deployment) { d.Parallel = 1 }
		s.Up(program("a"))
		require.True(t, s.CrashAt(n, false, enginetest.Up, program("b")))
		changed = s.Cloud.Snapshot()["c-3"].Get("of").Equal(property.String("made of b-2"))
		if !changed {
			continue
		}
		c := s.Resource("c")
		require.Equal(t, []urn.URN{s.Resource("a").URN, s.Resource("b").URN}, c.Dependencies)
		require.Empty(t, c.DeletedWith)
		s.Cloud.Calls()
		s.Up(enginetest.Empty)
		require.Equal(t, "delete c-3", s.Cloud.Calls()[0])
	}
}

// An update that failed cleanly leaves what its resource needs as it was.
func TestUpdateThatFailedNeedsNothingNew(t *testing.T) {
	program := func(inputs func(a enginetest.Resource) property.Map) enginetest.Program {
		return func(p *enginetest.Run) error {
			a, err := p.Custom(enginetest.Plain, "a", enginetest.Props())
			if err == nil {
				_, err = p.Custom(enginetest.Plain, "b", inputs(a))
			}
			return err
		}
	}
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(program(func(enginetest.Resource) property.Map { return enginetest.Props("key", 1) }))
	before := s.Resource("b")
	s.Cloud.Hook = func(call string) error { return errors.New("the cloud refuses") }
	_, err := s.Try(enginetest.Up, program(func(a enginetest.Resource) property.Map { return enginetest.Props("key", a.Out("made")) }))
	require.ErrorContains(t, err, "the cloud refuses")
	require.Equal(t, before, s.Resource("b"))
}

// A run was cut off after an object was deleted. The resource that is found to be selected
// only when the program registers it is made anew.
func TestCutOffAndSelectedByTheProgram(t *testing.T) {
	before := enginetest.Program(func(p *enginetest.Run) error {
		_, errB := p.Custom(enginetest.Plain, "b", enginetest.Props())
		_, errA := p.Custom(enginetest.Plain, "a", enginetest.Props())
		return errors.Join(errB, errA)
	})
	cases := []struct {
		name, of  string
		selection engine.Selection
		options   enginetest.OptionsOf
	}{
		{"by its new dependency", "b", engine.Selection{Targets: []engine.Pattern{"**::a"}, TargetDependents: true}, func(*abi.ResourceOptions) {}},
		{"by its new name", "c", engine.Selection{Targets: []engine.Pattern{"**::c"}}, func(o *abi.ResourceOptions) { o.Aliases = []abi.Alias{enginetest.AliasName("b")} }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			after := enginetest.Program(func(p *enginetest.Run) error {
				a, err := p.Custom(enginetest.Plain, "a", enginetest.Props())
				if err == nil {
					_, err = p.Custom(enginetest.Plain, c.of, enginetest.Props("key", a.Out("made")), c.options)
				}
				return err
			})
			for n, lost := 1, false; !lost; n++ {
				s := enginetest.NewStack(t, enginetest.NewCloud())
				s.Up(before)
				s.Edit = func(d *enginetest.Deployment) { d.Parallel = 1 }
				require.True(t, s.CrashAt(n, false, enginetest.Up, enginetest.Program(enginetest.Empty)))
				lost = slices.Equal(s.Cloud.IDs(), []string{"a-2"}) && s.Resource("b") != nil
				if !lost {
					continue
				}
				s.Edit = func(d *enginetest.Deployment) { d.Selection = c.selection }
				preview := s.Preview(after)
				require.Equal(t, preview, s.Up(after))
				require.Equal(t, 2, s.Cloud.Objects())
				s.Edit = nil
				require.Zero(t, s.Up(after).Total())
				require.Empty(t, s.Warnings(), "what was found out is not asked again")
			}
		})
	}
}

// A run was cut off while it updated an object, and the next one after it renamed the
// resource. The update is undone all the same.
func TestCutOffAgainAfterItsRenaming(t *testing.T) {
	program := func(name, key string) enginetest.Program {
		return func(p *enginetest.Run) error {
			_, err := p.Custom(enginetest.Plain, name, enginetest.Props("key", key), func(o *abi.ResourceOptions) { o.Aliases = []abi.Alias{enginetest.AliasName("a")} })
			return err
		}
	}
	for n, changed := 1, false; !changed; n++ {
		for again, more := 1, true; more; again++ {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(program("a", "1"))
			require.True(t, s.CrashAt(n, false, enginetest.Up, program("a", "2")))
			changed = s.Cloud.Snapshot()["a-1"].Get("key").Equal(property.String("2"))
			more = s.CrashAt(again, false, enginetest.Up, program("b", "1"))
			s.Up(program("b", "1"))
			require.Equal(t, property.String("1"), s.Cloud.Snapshot()["a-1"].Get("key"), "write %d, then %d", n, again)
			require.Zero(t, s.Up(program("b", "1")).Total())
			require.Empty(t, s.Warnings(), "what was found out is not asked again")
		}
	}
}

// A run was cut off while it updated an object. The next one deletes the object with another one, and does not read it afterwards.
func TestCutOffAndDeletedBeforeItsReplacement(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	program := func(a, b string) enginetest.Program {
		return func(p *enginetest.Run) error {
			first, err := p.Custom(enginetest.Single, "a", enginetest.Props("key", a))
			if err != nil {
				return err
			}
			_, err = p.Custom(enginetest.Plain, "b", enginetest.Props("key", b), func(o *abi.ResourceOptions) { o.ReplaceWith = []urn.URN{first.URN} })
			return err
		}
	}
	s.Up(program("1", "1"))
	s.Cloud.Hook = func(string) error { return crashed }
	_, err := s.Try(enginetest.Up, program("1", "2"))
	require.ErrorIs(t, err, crashed)
	s.Cloud.Hook = nil
	s.Preview(program("2", "2"))
	previewed := s.Steps()
	s.Up(program("2", "2"))
	require.ElementsMatch(t, previewed, s.Steps())
	require.Zero(t, countPending(s))
}
