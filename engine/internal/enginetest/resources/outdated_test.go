package resources_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
)

// upgraded makes the provider another version, which has its objects read before it compares them. It returns the
// number of reads since it was asked for it before.
func upgraded(cloud *enginetest.Cloud) (reads func() int) {
	var count int
	cloud.Diff = func(req abi.DiffRequest) (abi.DiffResponse, error) {
		typ := cloud.Types[req.Type]
		resp := abi.DiffResponse{Changes: abi.DiffChangesNone, HasDetailedDiff: true, DeleteBeforeReplace: typ.DeleteBeforeReplace}
		if !req.Olds.Has("version") {
			resp.Changes = abi.DiffChangesOutdated
			return resp, nil
		}
		for _, c := range property.Diff(req.OldInputs.Unwrap(), req.News.Unwrap()) {
			kind := abi.DiffKindUpdate
			if key, _ := c.Path[0].Key(); len(typ.Replace) > 0 && key == typ.Replace[0] {
				kind = abi.DiffKindUpdateReplace
			}
			resp.Changes = abi.DiffChangesSome
			resp.DetailedDiff = append(resp.DetailedDiff, abi.PropertyDiff{Path: c.Path.String(), Kind: kind, InputDiff: true})
		}
		return resp, nil
	}
	cloud.Read = func(req abi.ReadRequest) (abi.ReadResponse, error) {
		count++
		object, ok := cloud.Snapshot()[req.ID]
		if !ok {
			return abi.ReadResponse{}, nil
		}
		inputs := object.Without("made")
		return abi.ReadResponse{ID: req.ID, State: object.With("version", property.String("2")), Inputs: &inputs}, nil
	}
	return func() int {
		defer func() { count = 0 }()
		return count
	}
}

func TestAnotherVersionReadsBeforeItCompares(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	chain := enginetest.Chain(enginetest.Strict, "1")
	s.Up(chain)
	s.Cloud.Calls()
	reads := upgraded(s.Cloud)

	require.Equal(t, engine.Changes{Same: 7}, s.Preview(chain), "the reads, and the resources")
	require.Equal(t, 3, reads(), "a preview reads as well")
	require.False(t, s.Resource("a").Outputs.Has("version"), "and records nothing")
	require.Equal(t, engine.Changes{Same: 7}, s.Up(chain))
	require.Equal(t, 3, reads())
	require.True(t, s.Resource("a").Outputs.Has("version"))
	require.Equal(t, engine.Changes{Same: 4}, s.Up(chain))
	require.Zero(t, reads(), "an update reads once")
	require.Empty(t, s.Cloud.Calls())
}

// What is compared is what was read: objects that are gone or have changed are told, and real replacements stay.
func TestAnotherVersionComparesWhatItReads(t *testing.T) {
	for name, c := range map[string]struct {
		typ, key string
		change   func(*enginetest.Stack)
		want     engine.Changes
	}{
		"gone":                    {enginetest.Plain, "1", func(s *enginetest.Stack) { s.Cloud.Change("a-1", nil) }, engine.Changes{Same: 4, Update: 1, Replace: 1, Delete: 1}},
		"drift":                   {enginetest.Plain, "1", func(s *enginetest.Stack) { drift(s, "a-1") }, engine.Changes{Same: 5, Update: 2}},
		"replaced":                {enginetest.Strict, "2", func(*enginetest.Stack) {}, engine.Changes{Same: 4, Update: 1, Replace: 2}},
		"replaced, deleted first": {enginetest.Single, "2", func(*enginetest.Stack) {}, engine.Changes{Same: 3, Update: 1, Replace: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(enginetest.Chain(c.typ, "1"))
			c.change(s)
			upgraded(s.Cloud)
			require.Equal(t, c.want, s.Preview(enginetest.Chain(c.typ, c.key)))
			require.Equal(t, c.want, s.Up(enginetest.Chain(c.typ, c.key)))
			after := s.Up(enginetest.Chain(c.typ, c.key))
			require.Equal(t, engine.Changes{Same: after.Same}, after)
			require.Equal(t, 3, s.Cloud.Objects())
		})
	}
}

func drift(s *enginetest.Stack, id string) {
	s.Cloud.Change(id, func(m property.Map) property.Map { return m.With("key", property.String("other")) })
}

func TestAProviderThatAlwaysWantsToRead(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	chain := enginetest.Chain(enginetest.Plain, "1")
	s.Up(chain)
	s.Cloud.Diff = func(abi.DiffRequest) (abi.DiffResponse, error) {
		return abi.DiffResponse{Changes: abi.DiffChangesOutdated}, nil
	}
	before := s.Resource("a")
	_, err := s.Try(enginetest.Up, chain)
	require.ErrorContains(t, err, "it was just read: this is a fault of the provider")
	require.Equal(t, before.Outputs, s.Resource("a").Outputs)

	require.Equal(t, engine.Changes{Delete: 4}, s.Destroy())
}
