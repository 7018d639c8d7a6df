package resources_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
)

// The tests of this file are where Pulumi's engine does otherwise in cases of its lifecycle fuzzer: engine-tests.md says why.

// A destruction that runs the program keeps a provider that the program protects, as any other resource.
func TestProviderThatTheProgramProtectsIsKept(t *testing.T) {
	program := func(protect bool) enginetest.Program {
		return func(p *enginetest.Run) error {
			_, err := p.Custom(enginetest.ProviderType, "own", enginetest.Props(), func(o *abi.ResourceOptions) { o.Protect = &protect })
			return err
		}
	}
	for _, targets := range [][]engine.Pattern{nil, {"**::own"}} {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		s.Up(program(false))
		s.Edit = func(d *enginetest.Deployment) { d.RunProgram, d.Selection.Targets = true, targets }
		_, err := s.Try(enginetest.Destroy, program(true))
		require.ErrorContains(t, err, "protected")
		require.NotNil(t, s.Resource("own"))
		_, err = s.Try(enginetest.Destroy, program(false))
		require.NoError(t, err)
		require.Nil(t, s.Resource("own"))
	}
}

// waiting is a stack in which the parent was deleted ahead of a replacement that failed, and its child is still there.
func waiting(t *testing.T) *enginetest.Stack {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	program := func(key int) enginetest.Program {
		return func(p *enginetest.Run) error {
			a, err := p.Custom(enginetest.Single, "a", enginetest.Props("key", key))
			if err != nil {
				return err
			}
			_, err = p.Child(a.URN, enginetest.Plain, "child", enginetest.Props())
			return err
		}
	}
	s.Up(program(1))
	failing(s, "create a")
	_, err := s.Try(enginetest.Up, program(2))
	require.ErrorContains(t, err, "no luck")
	require.True(t, s.Resource("a").PendingReplacement)
	require.NotNil(t, s.Resource("child"))
	s.Cloud.Hook = nil
	return s
}

// A target that waits for its replacement, and that the program has no longer, goes only with what names it.
func TestTargetThatWaitsForItsReplacement(t *testing.T) {
	s := waiting(t)
	without := enginetest.Program(enginetest.Empty)
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::a"}})
	_, err := s.Try(enginetest.Up, without)
	require.ErrorContains(t, err, "::child depends on it and is not selected")
	require.NotNil(t, s.Resource("a"))
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::a"}, TargetDependents: true})
	s.Up(without)
	require.Empty(t, s.Cloud.IDs())
	require.Nil(t, s.Resource("a"))
}

// A resource that waits for its replacement, and that the program only reads by now, gives nothing to a target.
func TestReadInThePlaceOfWhatIsNotThere(t *testing.T) {
	s := waiting(t)
	s.Cloud.Put("ext", "", enginetest.Props("key", 7))
	program := enginetest.Program(func(p *enginetest.Run) error {
		a, err := p.Monitor.ReadResource(p.Ctx, abi.ReadResourceRequest{Type: enginetest.Single, Name: "a", ID: "ext"})
		if err != nil {
			return err
		}
		_, err = p.Custom(enginetest.Plain, "aside", enginetest.Props("key", a.State.Get("key")), func(o *abi.ResourceOptions) { o.Dependencies = []urn.URN{a.URN} })
		return err
	})
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::aside"}})
	_, err := s.Try(enginetest.Up, program)
	require.ErrorContains(t, err, "::a")
	require.Nil(t, s.Resource("aside"))
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::aside", "**::a"}})
	s.Up(program)
	require.Equal(t, property.Number(7), s.Resource("aside").Inputs.Get("key"))
	require.True(t, s.Resource("a").External)
}

// A new provider below a resource that is not there, and is no target, is not made.
func TestProviderBelowWhatIsNotThere(t *testing.T) {
	s := waiting(t)
	s.Edit = targeting(engine.Selection{Targets: []engine.Pattern{"**::aside"}})
	s.Up(func(p *enginetest.Run) error {
		a, err := p.Custom(enginetest.Single, "a", enginetest.Props("key", 2))
		if err != nil {
			return err
		}
		_, errBelow := p.Child(a.URN, enginetest.ProviderType, "below", enginetest.Props())
		_, errAside := p.Custom(enginetest.Plain, "aside", enginetest.Props())
		return errors.Join(errBelow, errAside)
	})
	require.Nil(t, s.Resource("below"))
	require.NotNil(t, s.Resource("aside"))
	require.True(t, s.Resource("a").PendingReplacement)
}

// A refresh that runs the program records no component that the program has by now: it has no object that could be found.
func TestRefreshRecordsNoNewComponents(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.One(enginetest.Props("key", 1)))
	before := s.Snapshot().Len()
	program := enginetest.Program(func(p *enginetest.Run) error {
		g, err := p.Component(enginetest.Group, "g", enginetest.Props())
		if err != nil {
			return err
		}
		_, err = p.Child(g.URN, enginetest.Plain, "new", enginetest.Props())
		return errors.Join(err, enginetest.One(enginetest.Props("key", 1))(p))
	})
	s.Edit = running(program)
	s.Refresh()
	require.Equal(t, before, s.Snapshot().Len())
	s.Edit = nil
	require.Equal(t, engine.Changes{Create: 2, Same: 2}, s.Up(program))
}

// A refresh finds out which old copies are gone, and forgets them. What cannot be read stays until it is deleted.
func TestRefreshOfOldCopies(t *testing.T) {
	stack := func(t *testing.T) *enginetest.Stack {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		s.Up(enginetest.Chain(enginetest.Strict, "1"))
		failing(s, "delete a-1")
		_, err := s.Try(enginetest.Up, enginetest.Chain(enginetest.Strict, "2"))
		require.ErrorContains(t, err, "no luck")
		s.Cloud.Hook = nil
		return s
	}
	copies := func(s *enginetest.Stack) (n int) {
		for _, res := range s.Snapshot().Resources() {
			if res.Delete {
				n++
			}
		}
		return n
	}
	again := enginetest.Chain(enginetest.Strict, "2")

	s := stack(t)
	require.Equal(t, 1, copies(s))
	s.Refresh()
	require.Equal(t, 1, copies(s), "it is there")
	s.Cloud.Change("a-1", nil)
	require.Equal(t, engine.Changes{Same: 3, Delete: 1}, s.Refresh())
	require.Zero(t, copies(s))
	require.NotNil(t, s.Resource("a"), "its successor stays")
	require.Equal(t, engine.Changes{Same: 4}, s.Up(again))

	s = stack(t)
	s.Cloud.Change("a-1", nil)
	s.Edit = func(d *enginetest.Deployment) { d.RefreshFirst = true }
	s.Cloud.Calls()
	s.Up(again)
	require.NotContains(t, s.Cloud.Calls(), "delete a-1")
	require.Zero(t, copies(s))

	s = stack(t)
	s.Cloud.Read = func(req abi.ReadRequest) (abi.ReadResponse, error) {
		if req.ID == "a-1" {
			return abi.ReadResponse{}, abi.NewError(abi.ErrorKindNotFound, "no such project")
		}
		return abi.ReadResponse{ID: req.ID, State: *req.State, Inputs: req.Inputs}, nil
	}
	s.Refresh()
	require.Equal(t, 1, copies(s))
	s.Cloud.Read = nil

	// Whatever the deletion of an old copy answers, a read tells whether it is gone.
	s.Cloud.Change("a-1", nil)
	failing(s, "delete a-1")
	s.Up(again)
	require.Zero(t, copies(s))
}
