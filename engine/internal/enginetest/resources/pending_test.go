package resources_test

import (
	"context"
	"errors"
	"fmt"
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

// crashed is a failure whose effect is not known.
var crashed = &abi.Error{Kind: abi.ErrorKindCrashed, Message: "cut off"}

// cutOff updates the stack in a run that is cut off when it creates b, after that was done.
func cutOff(t *testing.T, s *enginetest.Stack, program enginetest.Program) urn.URN {
	t.Helper()
	s.Cloud.Unhealthy = nil
	s.Cloud.Hook = func(call string) error {
		if call == "create b" {
			return crashed
		}
		return nil
	}
	_, err := s.Try(enginetest.Up, program)
	require.ErrorIs(t, err, crashed)
	s.Cloud.Hook = nil
	s.Cloud.Calls()
	return pendingURN(t, s)
}

func pendingURN(t *testing.T, s *enginetest.Stack) (u urn.URN) {
	t.Helper()
	for _, op := range s.Snapshot().Operations() {
		require.Equal(t, state.OperationCreating, op.Type)
		u = op.Resource.URN
	}
	return u
}

func adopting(u urn.URN, id string) func(*enginetest.Deployment) {
	return func(d *enginetest.Deployment) { d.AdoptPendingCreates = map[urn.URN]string{u: id} }
}

// Only an object that exists, and that nobody else is, is adopted. Else nothing changes.
func TestAdoptionIsDecidedByARead(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	b := cutOff(t, s, enginetest.Chain(enginetest.Plain, "1"))
	s.Cloud.Change("found", func(property.Map) property.Map {
		return enginetest.Props("key", "made of a-1", "made", "made of found")
	})
	before := s.Snapshot()
	for id, want := range map[string]string{
		"wrong": `no test:index:Plain with the ID "wrong" exists, so nothing was changed`,
		"a-1":   `the object "a-1" is urn:pulumi:dev::proj::test:index:Plain::a, which is recorded already`,
	} {
		s.Edit = adopting(b, id)
		for _, run := range []enginetest.Operation{enginetest.PreviewRefresh, enginetest.Refresh} {
			_, err := s.Try(run, nil)
			require.ErrorContains(t, err, want)
			require.Equal(t, b, pendingURN(t, s))
			require.Equal(t, before.Len(), s.Snapshot().Len())
		}
	}
	s.Edit = adopting(b, "found")
	s.Cloud.Read = func(abi.ReadRequest) (abi.ReadResponse, error) {
		return abi.ReadResponse{}, errors.New("no connection")
	}
	_, err := s.Try(enginetest.Refresh, nil)
	require.ErrorContains(t, err, "no connection")
	require.Equal(t, b, pendingURN(t, s))

	s.Cloud.Read = nil
	s.Refresh()
	require.Equal(t, "found", s.Resource("b").ID)
	require.Empty(t, pendingURN(t, s))
}

// Of several adoptions, one that is wrong keeps all from being made.
func TestAdoptionsAreMadeTogether(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.Hook = func(call string) error { return crashed }
	s.Edit = func(d *enginetest.Deployment) { d.ContinueOnError = true }
	_, err := s.Try(enginetest.Up, pairs("1", "1", "1"))
	require.Error(t, err)
	s.Cloud.Hook = nil
	s.Cloud.Change("a-found", func(property.Map) property.Map { return enginetest.Props("key", "1") })
	adopted := make(map[urn.URN]string)
	for _, op := range s.Snapshot().Operations() {
		adopted[op.Resource.URN] = op.Resource.URN.Name() + "-found"
	}
	require.Len(t, adopted, 2)
	s.Edit = func(d *enginetest.Deployment) { d.AdoptPendingCreates = adopted }
	_, err = s.Try(enginetest.Refresh, nil)
	require.ErrorContains(t, err, `with the ID "c-found" exists`)
	require.Nil(t, s.Resource("a"))
}

// What a creation that was cut off depended on may be gone when its object is adopted.
func TestAdoptionWithoutWhatItNamed(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	program := func(p *enginetest.Run) error {
		g, err := p.Component(enginetest.Group, "g", enginetest.Props())
		if err != nil {
			return err
		}
		a, err := p.Custom(enginetest.Plain, "a", enginetest.Props())
		if err != nil {
			return err
		}
		_, err = p.Child(g.URN, enginetest.Plain, "b", enginetest.Props("from", a.Out("made")), func(o *abi.ResourceOptions) { o.DeletedWith = a.URN })
		return err
	}
	b := cutOff(t, s, program)
	s.Cloud.Change("found", func(property.Map) property.Map { return enginetest.Props("from", "made of a-1") })
	s.Up(func(p *enginetest.Run) error {
		_, err := p.Custom(enginetest.Plain, "other", enginetest.Props())
		return err
	})
	s.Edit = adopting(b, "found")
	s.Refresh()
	adopted := s.Resource("b")
	require.Equal(t, s.Resource("proj-dev").URN, adopted.Parent)
	require.Empty(t, adopted.Dependencies)
	require.Empty(t, adopted.DeletedWith)

	s = enginetest.NewStack(t, enginetest.NewCloud())
	b = cutOff(t, s, program)
	s.Destroy()
	s.Edit = adopting(b, "found")
	_, err := s.Try(enginetest.Refresh, nil)
	require.ErrorContains(t, err, "is not in the state any more: have the program register the resource with its import option")
}

// A creation that was cut off is known by the names that resources have now.
func TestRenamingReachesPendingCreations(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	program := func(a string, b bool, aliases ...abi.Alias) enginetest.Program {
		return func(p *enginetest.Run) error {
			ra, err := p.Custom(enginetest.Plain, a, enginetest.Props(), func(o *abi.ResourceOptions) { o.Aliases = aliases })
			if err != nil || !b {
				return err
			}
			_, err = p.Custom(enginetest.Plain, "b", enginetest.Props("from", ra.Out("made")))
			return err
		}
	}
	b := cutOff(t, s, program("a", true))
	s.Up(program("renamed", false, enginetest.AliasName("a")))
	s.Cloud.Change("found", func(property.Map) property.Map { return enginetest.Props("from", "made of a-1") })
	s.Edit = adopting(b, "found")
	s.Refresh()
	require.Equal(t, []urn.URN{s.Resource("renamed").URN}, s.Resource("b").Dependencies)
}

// The object that a creation which was cut off has made is proposed if it is the only one that
// can be meant: found by the provider, with its inputs, and of no other resource.
func TestPendingCreationsProposeTheirObject(t *testing.T) {
	object := enginetest.Props("key", "made of a-1", "made", "made of it")
	list := func(ids ...string) func(abi.ListRequest) (abi.ListResponse, error) {
		return func(req abi.ListRequest) (resp abi.ListResponse, err error) {
			if req.Token != enginetest.Plain {
				return resp, fmt.Errorf("what is %s?", req.Token)
			}
			for _, id := range ids {
				resp.Resources = append(resp.Resources, abi.ListedResource{ID: id, Name: id})
			}
			return resp, nil
		}
	}
	many := make([]string, 100)
	for i := range many {
		many[i] = fmt.Sprint("m", i)
	}
	for name, test := range map[string]struct {
		objects map[string]property.Map
		list    func(abi.ListRequest) (abi.ListResponse, error)
		want    string
	}{
		"the one":                {map[string]property.Map{"x": object}, list("a-1", "x"), `it looks like the one with the ID "x"`},
		"other inputs":           {map[string]property.Map{"x": object.With("key", property.String("other"))}, list("a-1", "x"), ""},
		"two of them":            {map[string]property.Map{"x": object, "y": object}, list("x", "y"), ""},
		"no list":                {map[string]property.Map{"x": object}, nil, ""},
		"known by an input":      {map[string]property.Map{"made of a-1": object}, nil, `it looks like the one with the ID "made of a-1"`},
		"a list that fails":      {map[string]property.Map{"x": object}, func(abi.ListRequest) (abi.ListResponse, error) { return abi.ListResponse{}, crashed }, ""},
		"more than are asked of": {map[string]property.Map{"x": object}, list(append(many, "x")...), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			b := cutOff(t, s, enginetest.Chain(enginetest.Plain, "1"))
			for id, properties := range test.objects {
				s.Cloud.Change(id, func(property.Map) property.Map { return properties })
			}
			s.Cloud.List = test.list
			s.Preview(enginetest.Chain(enginetest.Plain, "1"))
			warned := strings.Join(s.Warnings(), "\n")
			require.Contains(t, warned, "while creating this resource, which may exist or not")
			if test.want == "" {
				require.NotContains(t, warned, "looks like")
			} else {
				require.Contains(t, warned, test.want)
			}
			require.Equal(t, b, pendingURN(t, s))
		})
	}
}

// An update can be told to do nothing while something may exist that nobody knows of.
func TestStopOnPendingCreations(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	b := cutOff(t, s, enginetest.Chain(enginetest.Plain, "1"))
	s.Edit = func(d *enginetest.Deployment) { d.StopOnPending = true }
	for _, run := range []enginetest.Operation{enginetest.Preview, enginetest.Up} {
		_, err := s.Try(run, enginetest.Chain(enginetest.Plain, "1"))
		var pending *engine.PendingCreatesError
		require.ErrorAs(t, err, &pending)
		require.Equal(t, []urn.URN{b}, pending.URNs)
		require.ErrorContains(t, err, "nothing was done")
		require.Empty(t, s.Cloud.Calls())
	}
	s.Edit = func(d *enginetest.Deployment) { d.ClearPendingCreates = true }
	s.Refresh()
	s.Edit = func(d *enginetest.Deployment) { d.StopOnPending = true }
	s.Up(enginetest.Chain(enginetest.Plain, "1"))
}

// An update that is to stop while something may exist takes over what is certain to be it, and stops for the rest: what has another
// identity or other inputs, is of a type without an identity, or is not there, which it may be later.
func TestEvidentObjectsOfPendingCreations(t *testing.T) {
	for name, test := range map[string]struct {
		path, mode string
		plain      bool
		adopted    bool
	}{
		"the one":          {path: "x", mode: "rw", adopted: true},
		"another identity": {path: "y", mode: "rw"},
		"other inputs":     {path: "x", mode: "ro"},
		"no identity":      {path: "x", mode: "rw", plain: true},
		"not there":        {},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := describedFiles()
			if test.plain {
				cloud.Schema = ""
			}
			s := enginetest.NewStack(t, cloud)
			program := files(enginetest.File, "rw", "b", "x")
			cloud.Hook = func(string) error { return crashed }
			_, err := s.Try(enginetest.Up, program)
			require.ErrorIs(t, err, crashed)
			cloud.Hook = nil
			cloud.Calls()
			u := pendingURN(t, s)
			s.Cloud.Read = func(req abi.ReadRequest) (abi.ReadResponse, error) {
				if req.ID != "x" || test.path == "" {
					return abi.ReadResponse{}, nil
				}
				is := enginetest.Props("path", test.path, "mode", test.mode)
				return abi.ReadResponse{ID: req.ID, State: is, Inputs: &is}, nil
			}
			s.Edit = func(d *enginetest.Deployment) { d.StopOnPending = true }
			_, err = s.Try(enginetest.Preview, program)
			if !test.adopted {
				var pending *engine.PendingCreatesError
				require.ErrorAs(t, err, &pending)
				_, err = s.Try(enginetest.Up, program)
				require.ErrorAs(t, err, &pending)
				require.Equal(t, u, pendingURN(t, s))
				return
			}
			require.NoError(t, err)
			require.Equal(t, u, pendingURN(t, s), "a preview records nothing")
			s.Up(program)
			require.Empty(t, pendingURN(t, s))
			require.Equal(t, "x", s.Resource("b").ID)
			require.Empty(t, cloud.Calls(), "it is not made again")
		})
	}
}

// A creation that was cut off is checked as the same one again, so that what its provider
// generates is the same; the user can forget it, and then it is another one.
func TestACutOffCreationIsRepeated(t *testing.T) {
	for _, typ := range []string{enginetest.Plain, enginetest.Single} {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		generated := 0
		s.Cloud.Check = func(req abi.CheckRequest) (abi.CheckResponse, error) {
			key := fmt.Sprint("name-", generated)
			if req.Olds != nil && req.Olds.Has("name") {
				key, _ = req.Olds.Get("name").AsString()
			} else {
				generated++
			}
			return abi.CheckResponse{Inputs: req.News.With("name", property.String(key))}, nil
		}
		name := func() string { return mustText(s.Resource("b").Inputs.Get("name")) }
		program := func(key string) enginetest.Program {
			return func(p *enginetest.Run) error {
				_, err := p.Custom(typ, "b", enginetest.Props("key", key))
				return err
			}
		}
		cutOff(t, s, program("1"))
		s.Up(program("1"))
		require.Equal(t, "name-0", name())
		s.Edit = func(d *enginetest.Deployment) { d.ClearPendingCreates = true }
		s.Refresh()
		s.Edit = nil

		s.Cloud.Types[typ] = enginetest.Type{Replace: []string{"key"}, DeleteBeforeReplace: typ == enginetest.Single}
		cutOff(t, s, program("2"))
		s.Up(program("2"))
		require.Equal(t, "name-1", name(), "a replacement that was cut off")
	}
}

// A provider is nothing real: a creation of one that was cut off leaves nothing behind.
func TestCutOffProviderIsConfiguredAnew(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	for n := 1; s.CrashAt(n, true, enginetest.Up, enginetest.One(enginetest.Props())); n++ {
		s.Up(enginetest.One(enginetest.Props()))
		for _, op := range s.Snapshot().Operations() {
			require.False(t, op.Resource.IsProvider())
		}
		s = enginetest.NewStack(t, enginetest.NewCloud())
	}
}

// describedFiles is a cloud with a schema that says what files are known by.
func describedFiles() *enginetest.Cloud {
	cloud := enginetest.NewFiles()
	cloud.Schema = `{"name": "test", "version": "1.0.0", "resources": {"test:index:File": {
		"inputProperties": {"path": {"type": "string"}, "mode": {"type": "string"}},
		"language": {"husk": {"identity": ["path"]}}}}}`
	return cloud
}

// What an object is known by tells that a creation which was cut off has been made up for.
func TestARepeatedCreationIsNoLongerPending(t *testing.T) {
	for _, test := range []struct {
		path    string
		pending bool
	}{{"x", false}, {"y", true}} {
		cloud := describedFiles()
		s := enginetest.NewStack(t, cloud)
		cutOff(t, s, files(enginetest.File, "rw", "b", "x"))
		s.Preview(files(enginetest.File, "ro", "b", test.path))
		require.NotEmpty(t, pendingURN(t, s))
		s.Up(files(enginetest.File, "ro", "b", test.path))
		require.Equal(t, test.pending, pendingURN(t, s) != "")
	}
}

// A renaming leaves alone what others were cut off with.
func TestRenamingBesideAnotherPendingUpdate(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	program := func(key, a string, aliases ...abi.Alias) enginetest.Program {
		return func(p *enginetest.Run) error {
			_, errA := p.Custom(enginetest.Plain, a, enginetest.Props("key", key), func(o *abi.ResourceOptions) { o.Aliases = aliases })
			_, errB := p.Custom(enginetest.Plain, "z", enginetest.Props("key", key))
			return errors.Join(errA, errB)
		}
	}
	s.Up(program("1", "a"))
	s.Cloud.Hook = func(string) error { return crashed }
	s.Edit = func(d *enginetest.Deployment) { d.ContinueOnError = true }
	_, err := s.Try(enginetest.Up, program("2", "a"))
	require.ErrorIs(t, err, crashed)
	s.Cloud.Hook = nil
	var read []string
	s.Cloud.Read = func(req abi.ReadRequest) (abi.ReadResponse, error) {
		read = append(read, req.Name)
		return abi.ReadResponse{ID: req.ID, State: *req.State, Inputs: req.Inputs}, nil
	}
	s.Up(program("2", "b", enginetest.AliasName("a")))
	require.ElementsMatch(t, []string{"b", "z"}, read)
	require.Empty(t, pendingURN(t, s))
}

// A resource that was cut off is read, and after that what it depended on gets another name.
func TestRenamingAfterAPendingUpdateWasRead(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	program := func(key, a, before string, aliases ...abi.Alias) enginetest.Program {
		return func(p *enginetest.Run) error {
			var on []urn.URN
			if before != "" {
				z, err := p.Custom(enginetest.Plain, "z", enginetest.Props("key", key))
				if err != nil {
					return err
				}
				on = append(on, z.URN)
			}
			first, err := p.Custom(enginetest.Plain, a, enginetest.Props("key", "1"), func(o *abi.ResourceOptions) { o.Aliases, o.Dependencies = aliases, on })
			if err != nil || before != "" {
				return err
			}
			_, err = p.Custom(enginetest.Plain, "z", enginetest.Props("key", key), func(o *abi.ResourceOptions) { o.Dependencies = []urn.URN{first.URN} })
			return err
		}
	}
	s.Up(program("1", "a", ""))
	s.Cloud.Hook = func(string) error { return crashed }
	_, err := s.Try(enginetest.Up, program("2", "a", ""))
	require.ErrorIs(t, err, crashed)
	require.NotZero(t, countPending(s))
	s.Cloud.Hook = nil
	s.Up(program("2", "b", "z", enginetest.AliasName("a")))
	require.Zero(t, countPending(s))
}

// An object of another type may have the same ID.
func TestAdoptionOfAnIDOfAnotherType(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	b := cutOff(t, s, func(p *enginetest.Run) error {
		_, errA := p.Custom(enginetest.Strict, "a", enginetest.Props("key", "1"))
		_, errB := p.Custom(enginetest.Plain, "b", enginetest.Props("key", "1"))
		return errors.Join(errA, errB)
	})
	s.Edit = adopting(b, "a-1")
	s.Refresh()
	require.Equal(t, "a-1", s.Resource("b").ID)
}

func countPending(s *enginetest.Stack) (n int) {
	for range s.Snapshot().Operations() {
		n++
	}
	return n
}

// A provider that looks only at inputs would find the object whatever the ID is.
func TestAdoptionReadsByTheIDAlone(t *testing.T) {
	s := enginetest.NewStack(t, describedFiles())
	u := cutOff(t, s, files(enginetest.File, "rw", "b", "x"))
	s.Cloud.Read = func(req abi.ReadRequest) (abi.ReadResponse, error) {
		require.Nil(t, req.State)
		require.Nil(t, req.Inputs)
		other := enginetest.Props("path", "y", "mode", "rw")
		return abi.ReadResponse{ID: req.ID, State: other, Inputs: &other}, nil
	}
	s.Edit = adopting(u, "y")
	_, err := s.Try(enginetest.Refresh, nil)
	require.ErrorContains(t, err, `the object "y" has another path than the interrupted creation, so nothing was changed`)
	require.Nil(t, s.Resource("b"))
	require.Equal(t, u, pendingURN(t, s))
}

// One object cannot be two resources.
func TestAnObjectIsAdoptedOnce(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.Hook = func(string) error { return crashed }
	s.Edit = func(d *enginetest.Deployment) { d.ContinueOnError = true }
	_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
		_, errA := p.Custom(enginetest.Plain, "a", enginetest.Props("key", "1"))
		_, errB := p.Custom(enginetest.Plain, "b", enginetest.Props("key", "1"))
		return errors.Join(errA, errB)
	}))
	require.Error(t, err)
	s.Cloud.Hook = nil
	s.Cloud.Put("found", "", enginetest.Props("key", "1"))
	adopted := make(map[urn.URN]string)
	for _, op := range s.Snapshot().Operations() {
		adopted[op.Resource.URN] = "found"
	}
	require.Len(t, adopted, 2)
	s.Edit = func(d *enginetest.Deployment) { d.AdoptPendingCreates = adopted }
	_, err = s.Try(enginetest.Refresh, nil)
	require.ErrorContains(t, err, `the object "found" is to be urn:`)
	require.Equal(t, 2, countPending(s))
}

// The next run tells a crash of the provider from a call that was stopped, and an adopted object is not unhealthy for it.
func TestACrashIsToldFromACallThatWasStopped(t *testing.T) {
	stopped := &abi.Error{Kind: abi.ErrorKindCrashed, Origin: abi.ErrorOriginPolicy, Message: "it took too long"}
	for failure, want := range map[*abi.Error]string{
		crashed: "the provider crashed in an earlier run while ",
		stopped: "an earlier run was cut off while ",
	} {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		fail := func(when string) {
			s.Cloud.Hook = func(call string) error {
				if call == when {
					return failure
				}
				return nil
			}
		}
		warned := func(run enginetest.Operation, program enginetest.Program, what string) {
			s.Cloud.Hook = nil
			_, err := s.Try(run, program)
			require.NoError(t, err)
			require.Len(t, s.Warnings(), 1)
			require.Contains(t, s.Warnings()[0], want+what)
		}
		fail("create b")
		_, err := s.Try(enginetest.Up, enginetest.Chain(enginetest.Plain, "1"))
		require.ErrorIs(t, err, failure)
		warned(enginetest.Preview, enginetest.Chain(enginetest.Plain, "1"), "creating this resource, which may exist or not")

		s.Cloud.Change("found", func(property.Map) property.Map {
			return enginetest.Props("key", "made of a-1", "made", "made of found")
		})
		s.Edit = adopting(pendingURN(t, s), "found")
		s.Refresh()
		require.Equal(t, "found", s.Resource("b").ID)
		require.Empty(t, s.Resource("b").InitErrors)
		s.Edit = nil

		fail("update a")
		_, err = s.Try(enginetest.Up, enginetest.Chain(enginetest.Plain, "2"))
		require.ErrorIs(t, err, failure)
		warned(enginetest.Preview, enginetest.Chain(enginetest.Plain, "2"), "updating this resource, which is read before it is changed")
	}
}

// A state that cannot be written after a creation has the creation without its ID. The error has it, with the
// command that takes the object over.
func TestACreationThatCannotBeRecordedTellsItsID(t *testing.T) {
	program := enginetest.One(enginetest.Props("size", 1))
	told := 0
	for n := 1; ; n++ {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		var failure error
		run := func(ctx context.Context, d enginetest.Deployment) (*engine.Result, error) {
			d.Program = program
			result, err := enginetest.Up(ctx, d)
			failure = err
			return result, err
		}
		if !s.CrashAt(n, false, run, nil) {
			break
		}
		u := pendingURN(t, s)
		if s.Cloud.Objects() == 0 || u == "" { // not made yet, or recorded
			require.NotContains(t, fmt.Sprint(failure), `"a-1"`) // in quotes: a provider's ID may have these characters
			continue
		}
		require.ErrorContains(t, failure, `the resource was created with ID "a-1", but could not be recorded`)
		require.ErrorContains(t, failure, "husk refresh --adopt-pending-creates '"+string(u)+"=a-1' take it over")
		s.Edit = adopting(u, "a-1")
		s.Refresh()
		s.Edit = nil
		s.Up(program)
		require.Equal(t, []string{"a-1"}, s.Cloud.IDs(), "nothing is made twice")
		told++
	}
	require.Positive(t, told)
}
