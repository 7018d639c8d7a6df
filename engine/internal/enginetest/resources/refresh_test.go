package resources_test

import (
	"errors"
	"slices"
	"strings"
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

// updates returns the differences that the last operation's updates showed.
func updates(s *enginetest.Stack) map[string][]engine.PropertyChange {
	out := make(map[string][]engine.PropertyChange)
	for _, e := range s.Events() {
		if done, ok := e.(engine.StepDone); ok && done.Step.Op == engine.OpUpdate {
			out[done.Step.Name] = done.Step.Diff
		}
	}
	return out
}

// A refresh shows what an update would undo, from the object's side.
func TestRefreshShowsWhatAnUpdateWouldUndo(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.One(enginetest.Props("size", 1, "color", "red")))
	s.Cloud.Change("a-1", func(m property.Map) property.Map {
		return m.With("size", property.Number(2)).With("new", property.Bool(true)).Without("color")
	})
	_, err := s.Try(enginetest.PreviewRefresh, nil)
	require.NoError(t, err)
	want := map[string][]engine.PropertyChange{"a": {
		{Path: "color", Kind: "delete", Old: `"red"`},
		{Path: "new", Kind: "add", New: "true"},
		{Path: "size", Kind: "update", Old: "1", New: "2"},
	}}
	require.Equal(t, want, updates(s))
	s.Refresh()
	require.Equal(t, want, updates(s))
}

// A change that the program ignores, or that is no concern of it, is recorded, but
// is no drift.
func TestRefreshRecordsWhatIsNoDrift(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.Diff = func(abi.DiffRequest) (abi.DiffResponse, error) {
		return abi.DiffResponse{Changes: abi.DiffChangesNone}, nil
	}
	s.Up(enginetest.One(enginetest.Props("size", 1)))
	modified := s.Resource("a").Modified
	s.Cloud.Change("a-1", func(m property.Map) property.Map { return m.With("made", property.String("later")) })
	require.Equal(t, engine.Changes{Same: 1}, s.Refresh())
	require.Equal(t, property.String("later"), s.Resource("a").Outputs.Get("made"))
	require.True(t, s.Resource("a").Modified.After(modified))
}

// An object that is gone is forgotten together with what names it; its children
// become those of its nearest ancestor. That is one change, whatever happens then.
func TestRefreshForgetsWhatIsGone(t *testing.T) {
	program := enginetest.Program(func(p *enginetest.Run) error {
		g, err := p.Component(enginetest.Group, "g", enginetest.Props())
		if err != nil {
			return err
		}
		a, err := p.Child(g.URN, enginetest.Plain, "a", enginetest.Props())
		if err != nil {
			return err
		}
		b, err := p.Child(a.URN, enginetest.Plain, "b", enginetest.Props("key", a.Out("made")))
		if err != nil {
			return err
		}
		_, err = p.Child(b.URN, enginetest.Plain, "c", enginetest.Props(), func(o *abi.ResourceOptions) {
			o.DeletedWith, o.ReplaceWith = a.URN, []urn.URN{b.URN}
		})
		return err
	})
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(program)
	s.Cloud.Change("a-1", nil)
	s.Cloud.Change("b-2", nil)
	require.Equal(t, 2, s.Refresh().Delete)
	c := s.Resource("c")
	require.Equal(t, s.Resource("g").URN, c.Parent)
	require.Empty(t, c.DeletedWith)
	require.Empty(t, c.ReplaceWith)
}

func TestRefreshOfAnUnhealthyResourceWarns(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.One(enginetest.Props("size", 1)))
	s.Cloud.Read = func(req abi.ReadRequest) (abi.ReadResponse, error) {
		return abi.ReadResponse{}, &abi.Error{Kind: abi.ErrorKindInitFailed, InitFailure: &abi.InitFailure{
			ID: req.ID, State: *req.State, Inputs: req.Inputs, Reasons: []string{"it is ill"},
		}}
	}
	s.Refresh()
	require.Contains(t, strings.Join(s.Warnings(), "\n"), "it is ill")
	require.Equal(t, []string{"it is ill"}, s.Resource("a").InitErrors)
	s.Cloud.Read = nil
	require.Equal(t, 1, s.Up(enginetest.One(enginetest.Props("size", 1))).Update, "the next update tries to heal it")
}

// A resource whose provider asks for it is read before each update, and only it.
func TestRefreshBeforeUpdate(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	program := enginetest.Program(func(p *enginetest.Run) error {
		_, errA := p.Custom(enginetest.Plain, "a", enginetest.Props("size", 1))
		_, errB := p.Custom(enginetest.Plain, "b", enginetest.Props("size", 1))
		return errors.Join(errA, errB)
	})
	s.Up(program)
	s.Change("a", func(res *state.Resource) { res.RefreshBeforeUpdate = true })
	var read []string
	s.Cloud.Read = func(req abi.ReadRequest) (abi.ReadResponse, error) {
		read = append(read, req.Name)
		inputs := enginetest.Props("size", 2)
		return abi.ReadResponse{ID: req.ID, State: inputs, Inputs: &inputs, RefreshBeforeUpdate: true}, nil
	}
	require.Equal(t, 1, s.Preview(program).Update-1, "the refresh and the update")
	s.Up(program)
	require.Equal(t, []string{"a", "a"}, read)
	require.Equal(t, []string{"update a"}, slicesOf(s.Cloud.Calls(), "update"))
}

func slicesOf(calls []string, prefix string) (out []string) {
	for _, c := range calls {
		if strings.HasPrefix(c, prefix) {
			out = append(out, c)
		}
	}
	return out
}

// What a creation that was cut off has made is taken over by its ID.
func TestAdoptPendingCreates(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.Hook = func(call string) error {
		if call == "create b" {
			return &abi.Error{Kind: abi.ErrorKindCrashed, Message: "cut off"}
		}
		return nil
	}
	_, err := s.Try(enginetest.Up, enginetest.Chain(enginetest.Plain, "1"))
	require.Error(t, err)
	s.Cloud.Hook = nil
	s.Cloud.Change("b-found", func(property.Map) property.Map {
		return enginetest.Props("key", "made of a-1", "made", "made of b-found")
	})
	b := urn.New("dev", "proj", urn.New("dev", "proj", "", urn.RootType, "proj-dev"), enginetest.Plain, "b")

	s.Edit = func(d *enginetest.Deployment) { d.AdoptPendingCreates = map[urn.URN]string{b + "x": "b-found"} }
	_, err = s.Try(enginetest.Refresh, nil)
	require.ErrorContains(t, err, "no creation of "+string(b)+"x was interrupted")
	s.Edit = func(d *enginetest.Deployment) { d.AdoptPendingCreates = map[urn.URN]string{b: "b-found"} }
	_, err = s.Try(enginetest.PreviewRefresh, nil)
	require.NoError(t, err)
	require.Nil(t, s.Resource("b"))
	s.Refresh()
	require.Equal(t, "b-found", s.Resource("b").ID)
	require.Equal(t, property.String("made of b-found"), s.Resource("b").Outputs.Get("made"))
	require.Empty(t, s.Warnings())
	s.Edit = nil
	require.Equal(t, engine.Changes{Same: 3, Create: 1}, s.Up(enginetest.Chain(enginetest.Plain, "1")))
}

func unreadable(abi.ReadRequest) (abi.ReadResponse, error) {
	return abi.ReadResponse{}, abi.ErrUnimplemented
}

// A provider that cannot read an object may tell whether it exists. A refresh forgets one that is gone.
func TestObjectsThatCannotBeReadMayBeGone(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(flat(enginetest.Plain, map[string]string{"a": "1"}))
	s.Cloud.Read = unreadable
	s.Refresh()
	require.NotNil(t, s.Resource("a"), "nobody can tell")

	exists, failure := true, error(nil)
	s.Cloud.Exists = func(req abi.ExistsRequest) (abi.ExistsResponse, error) {
		require.Equal(t, "a-1", req.ID)
		require.Equal(t, "a", req.Name)
		return abi.ExistsResponse{Exists: exists}, failure
	}
	before := s.Resource("a")
	s.Refresh()
	require.Equal(t, before, s.Resource("a"))
	failure = errors.New("no connection")
	_, err := s.Try(enginetest.Refresh, nil)
	require.ErrorContains(t, err, "no connection")
	require.Equal(t, before, s.Resource("a"))
	exists, failure = false, nil
	require.Equal(t, 1, s.Refresh().Delete)
	require.Nil(t, s.Resource("a"))
}

// An object whose deletion was cut off is made again if it is gone, even if its provider cannot read it.
func TestDeletionThatWasCutOffOfAnObjectThatCannotBeRead(t *testing.T) {
	nothing := enginetest.Program(func(*enginetest.Run) error { return nil })
	one := flat(enginetest.Plain, map[string]string{"a": "1"})
	for n, lost := 1, false; !lost; n++ {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		s.Cloud.Read = unreadable
		s.Cloud.Exists = func(req abi.ExistsRequest) (abi.ExistsResponse, error) {
			return abi.ExistsResponse{Exists: slices.Contains(s.Cloud.IDs(), req.ID)}, nil
		}
		s.Up(one)
		require.True(t, s.CrashAt(n, false, enginetest.Up, nothing), "no write comes after the deletion of an object and before the record of it")
		lost = s.Cloud.Objects() == 0
		s.Up(one)
		require.Equal(t, 1, s.Cloud.Objects())
		require.Zero(t, s.Up(one).Total())
	}
}

// A refresh that cannot read does not end a deletion that was cut off, and the next destruction finds out that the object is gone. Nor
// does it stay when the provider says that the object exists, or when an update goes by what the state says.
func TestRefreshThatCannotReadEndsNoDeletion(t *testing.T) {
	one := flat(enginetest.Plain, map[string]string{"a": "1"})
	cut := func(t *testing.T) *enginetest.Stack {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		s.Up(one)
		s.Cloud.Lost = func(string, string) error { return crashed }
		_, err := s.Try(enginetest.Destroy, nil)
		require.ErrorIs(t, err, crashed)
		s.Cloud.Lost, s.Cloud.Read = nil, unreadable
		return s
	}
	s := cut(t)
	s.Refresh()
	s.Cloud.Read = nil
	s.Destroy()
	require.Zero(t, s.Snapshot().Len())
	require.Zero(t, countPending(s))

	s = cut(t)
	s.Cloud.Exists = func(abi.ExistsRequest) (abi.ExistsResponse, error) { return abi.ExistsResponse{Exists: true}, nil }
	s.Refresh()
	require.Zero(t, countPending(s))

	s = cut(t)
	s.Refresh()
	require.Equal(t, 1, countPending(s))
	s.Up(one)
	require.Zero(t, countPending(s))
}

// An object that is adopted must exist, even if its provider cannot read it.
func TestAdoptionOfAnObjectThatCannotBeRead(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	b := cutOff(t, s, enginetest.Chain(enginetest.Plain, "1"))
	s.Cloud.Read = unreadable
	s.Cloud.Exists = func(req abi.ExistsRequest) (abi.ExistsResponse, error) {
		return abi.ExistsResponse{Exists: req.ID == "found"}, nil
	}
	s.Edit = adopting(b, "wrong")
	_, err := s.Try(enginetest.Refresh, nil)
	require.ErrorContains(t, err, `with the ID "wrong" exists, so nothing was changed`)
	s.Edit = adopting(b, "found")
	s.Refresh()
	require.Equal(t, "found", s.Resource("b").ID)
	require.Contains(t, strings.Join(s.Warnings(), "\n"), `the object "found" exists`)
}

// What a refresh finds changed is no part of an object that was taken over in place of its owner before.
func TestRefreshGivesNoOwner(t *testing.T) {
	s := owning(t)
	s.Cloud.Put("first", "", enginetest.Props())
	s.Cloud.Put("other", "", enginetest.Props())
	s.Up(func(p *enginetest.Run) error {
		a, err := p.Monitor.ReadResource(p.Ctx, abi.ReadResourceRequest{Type: enginetest.Plain, Name: "a", ID: "first"})
		if err != nil {
			return err
		}
		_, err = p.Custom(enginetest.Plain, "b", enginetest.Props(), func(o *abi.ResourceOptions) {
			protect := true
			o.DeletedWith, o.Protect = a.URN, &protect
		})
		return err
	})
	_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
		_, err := p.Custom(enginetest.Plain, "a", enginetest.Props(), func(o *abi.ResourceOptions) { o.ImportID = "other" })
		return err
	}))
	require.ErrorContains(t, err, "protected")
	s.Cloud.Change("b-1", func(m property.Map) property.Map { return m.With("made", property.String("later")) })
	s.Refresh()
	s.Edit = func(d *enginetest.Deployment) { d.IgnoreProtect = true }
	s.Destroy()
	require.Equal(t, []string{"first"}, s.Cloud.IDs())
}

// An object of a creation that was cut off is an old copy of what was made in its place since, whoever made that and whatever clocks say.
// It takes the place of what was there before, and of what nobody can say.
func TestAdoptedObjectIsAnOldCopyOfWhatWasMadeSince(t *testing.T) {
	in := func(region int, typ, key string) enginetest.Program {
		return func(p *enginetest.Run) error {
			own, errOwn := p.Custom(enginetest.ProviderType, "own", enginetest.Props("region", region))
			_, errA := p.Custom(enginetest.Plain, "a", enginetest.Props()) // which keeps the default provider
			_, errB := p.Custom(typ, "b", enginetest.Props("key", key), func(o *abi.ResourceOptions) {
				if region > 0 {
					o.Provider = own.Reference()
				}
			})
			return errors.Join(errOwn, errA, errB)
		}
	}
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	plain, replacing := enginetest.Plain, enginetest.Strict
	read := func(p *enginetest.Run) error {
		_, err := p.Monitor.ReadResource(p.Ctx, abi.ReadResourceRequest{Type: plain, Name: "b", ID: "other"})
		return err
	}
	for name, test := range map[string]struct {
		before, cutOff, since enginetest.Program
		clocks                [2]time.Time // of the first run and the later ones
		unstamped             bool
		adopted, current      string
		left                  []string
	}{
		"by another provider":    {cutOff: in(0, plain, "1"), since: in(1, plain, "1"), adopted: "b-2", current: "b-3", left: []string{"a-1", "b-3", "other"}},
		"by the same one":        {cutOff: in(0, plain, "1"), since: in(0, plain, "1"), adopted: "b-2", current: "b-3", left: []string{"a-1", "b-3", "other"}},
		"another object is read": {cutOff: in(0, plain, "1"), since: read, adopted: "b-2", current: "other", left: []string{"other"}},
		"by a machine whose clock is behind": {cutOff: in(0, plain, "1"), since: in(1, plain, "1"), clocks: [2]time.Time{noon.Add(time.Hour), noon},
			adopted: "b-2", current: "b-3", left: []string{"a-1", "b-3", "other"}},
		"by a machine whose clock stands": {cutOff: in(0, plain, "1"), since: in(1, plain, "1"), clocks: [2]time.Time{noon, noon},
			adopted: "b-2", current: "b-3", left: []string{"a-1", "b-3", "other"}},
		"nothing, but it was a replacement": {before: in(0, replacing, "1"), cutOff: in(0, replacing, "2"), adopted: "b-3", current: "b-3", left: []string{"a-1", "b-3", "other"}},
		"by another tool":                   {cutOff: in(0, plain, "1"), since: in(0, plain, "1"), unstamped: true, adopted: "b-2", current: "b-2", left: []string{"a-1", "b-2", "other"}},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := enginetest.NewCloud()
			cloud.DiffConfig, cloud.Regional = enginetest.ReplacedByRegion, true
			cloud.Put("other", "", enginetest.Props())
			s := enginetest.NewStack(t, cloud)
			run := 0
			s.Edit = func(d *enginetest.Deployment) {
				if clock := test.clocks[min(run, 1)]; !clock.IsZero() {
					d.Now = func() time.Time { return clock }
				}
				run++
			}
			last := test.cutOff
			if test.before != nil {
				s.Up(test.before)
			}
			cloud.Lost = func(call, _ string) error {
				if call == "create b" {
					return crashed
				}
				return nil
			}
			_, err := s.Try(enginetest.Up, test.cutOff)
			require.ErrorIs(t, err, crashed)
			cloud.Lost = nil
			if test.unstamped {
				unstamp(t, s)
			}
			if test.since != nil {
				s.Up(test.since)
				last = test.since
			}
			u := pendingURN(t, s)
			edit := s.Edit
			s.Edit = func(d *enginetest.Deployment) { edit(d); adopting(u, test.adopted)(d) }
			s.Refresh()
			require.Equal(t, test.current, s.Resource("b").ID)
			s.Edit = edit
			cloud.Calls()
			s.Up(last)
			for _, call := range cloud.Calls() {
				require.NotContains(t, call, "create", "what exists is not made again")
			}
			require.Equal(t, test.left, cloud.IDs())
			require.Zero(t, s.Up(last).Total())
			require.Zero(t, countPending(s))
		})
	}
}

// unstamp removes the times of pending operations, as another tool would not have written them.
func unstamp(t *testing.T, s *enginetest.Stack) {
	ctx := t.Context()
	st, err := s.Open(ctx)
	require.NoError(t, err)
	var entry state.Entry
	for op, pending := range st.Snapshot().Operations() {
		res := *pending.Resource
		res.Created, res.Modified = time.Time{}, time.Time{}
		entry = append(entry, state.EndOperation{Op: op}, state.BeginOperation{Op: st.NextOp(), Type: pending.Type, Resource: &res})
	}
	require.NotEmpty(t, entry)
	require.NoError(t, st.Append(ctx, entry))
	require.NoError(t, st.Close(ctx))
}
