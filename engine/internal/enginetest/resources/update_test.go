package resources_test

import (
	"context"
	"errors"
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

func TestUpCreatesThenKeepsThenDeletes(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	require.Equal(t, engine.Changes{Create: 4}, s.Up(enginetest.Chain(enginetest.Plain, "1")))
	require.Equal(t, []string{"create a", "create b", "create c"}, s.Cloud.Calls())

	require.Equal(t, engine.Changes{Same: 4}, s.Up(enginetest.Chain(enginetest.Plain, "1")))
	require.Empty(t, s.Cloud.Calls(), "nothing changed, so no provider was asked to change anything")

	require.Equal(t, engine.Changes{Same: 1, Delete: 3}, s.Up(enginetest.Empty))
	require.Equal(t, []string{"delete c-3", "delete b-2", "delete a-1"}, s.Cloud.Calls(), "dependents first")
	require.Zero(t, s.Cloud.Objects())
}

func TestUpdateInPlace(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.Chain(enginetest.Plain, "1"))
	s.Cloud.Calls()
	require.Equal(t, engine.Changes{Same: 3, Update: 1}, s.Preview(enginetest.Chain(enginetest.Plain, "2")))
	require.Empty(t, s.Cloud.Calls())
	require.Equal(t, engine.Changes{Same: 3, Update: 1}, s.Up(enginetest.Chain(enginetest.Plain, "2")))
	require.Equal(t, []string{"update a"}, s.Cloud.Calls())
}

func TestReplaceCreatesBeforeItDeletes(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.Chain(enginetest.Strict, "1"))
	s.Cloud.Calls()
	want := engine.Changes{Same: 1, Update: 1, Replace: 2}
	require.Equal(t, want, s.Preview(enginetest.Chain(enginetest.Strict, "2")))
	require.Equal(t, want, s.Up(enginetest.Chain(enginetest.Strict, "2")))
	require.Equal(t, []string{
		"create a", "create b", "update c", // the new copies, in the order of dependencies
		"delete b-2", "delete a-1", // then the old ones, dependents first
	}, s.Cloud.Calls())
	require.Equal(t, engine.Changes{Same: 4}, s.Up(enginetest.Chain(enginetest.Strict, "2")))
}

func TestReplaceDeletesFirstWithDependents(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.Chain(enginetest.Single, "1"))
	s.Cloud.Calls()
	want := engine.Changes{Same: 1, Update: 1, Replace: 2}
	require.Equal(t, want, s.Preview(enginetest.Chain(enginetest.Single, "2")))
	require.Equal(t, want, s.Up(enginetest.Chain(enginetest.Single, "2")))
	require.Equal(t, []string{
		"delete b-2", "delete a-1", // b cannot live on with another a; c can
		"create a", "create b", "update c",
	}, s.Cloud.Calls())
	require.Equal(t, engine.Changes{Same: 4}, s.Up(enginetest.Chain(enginetest.Single, "2")))
}

func TestDeleteBeforeReplaceOption(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	program := func(key string) enginetest.Program {
		return func(p *enginetest.Run) error {
			yes := true
			_, err := p.Custom(enginetest.Strict, "a", enginetest.Props("key", key), func(o *abi.ResourceOptions) { o.DeleteBeforeReplace = &yes })
			return err
		}
	}
	s.Up(program("1"))
	s.Cloud.Calls()
	s.Up(program("2"))
	require.Equal(t, []string{"delete a-1", "create a"}, s.Cloud.Calls())
}

func TestInterruptedReplacementIsFinished(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.Chain(enginetest.Single, "1"))
	s.Cloud.Calls()
	s.Cloud.Hook = func(call string) error {
		if call == "create a" {
			return errors.New("no quota")
		}
		return nil
	}
	_, err := s.Try(enginetest.Up, enginetest.Chain(enginetest.Single, "2"))
	require.ErrorContains(t, err, "no quota")
	require.True(t, s.Resource("a").PendingReplacement)

	s.Cloud.Hook = nil
	s.Cloud.Calls()
	s.Up(enginetest.Chain(enginetest.Single, "2"))
	require.Equal(t, []string{"create a", "create b", "update c"}, s.Cloud.Calls(), "what was deleted is not deleted again")
}

func TestInterruptedReplacementThatIsNoLongerWanted(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.Chain(enginetest.Single, "1"))
	s.Cloud.Hook = func(call string) error {
		if call == "create a" {
			return errors.New("no quota")
		}
		return nil
	}
	_, err := s.Try(enginetest.Up, enginetest.Chain(enginetest.Single, "2"))
	require.Error(t, err)
	s.Cloud.Hook = nil
	s.Cloud.Calls()
	s.Up(enginetest.Empty)
	require.Equal(t, []string{"delete c-3"}, s.Cloud.Calls(), "a and b are gone already")
	require.Zero(t, s.Cloud.Objects())
}

func TestDestroy(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.Chain(enginetest.Strict, "1"))
	s.Cloud.Calls()
	require.Equal(t, engine.Changes{Delete: 4}, s.Destroy())
	require.Equal(t, []string{"delete c-3", "delete b-2", "delete a-1"}, s.Cloud.Calls())
	require.Zero(t, s.Snapshot().Len(), "providers are removed from the state as well")
}

func TestFailedStepStopsDependentsAndDeletesNothing(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(func(p *enginetest.Run) error {
		_, err := p.Custom(enginetest.Plain, "old", enginetest.Props())
		return err
	})
	s.Cloud.Calls()
	s.Cloud.Hook = func(call string) error {
		if call == "create b" {
			return errors.New("out of luck")
		}
		return nil
	}
	_, err := s.Try(enginetest.Up, enginetest.Chain(enginetest.Plain, "1"))
	require.ErrorContains(t, err, `create test:index:Plain "b": out of luck`)
	require.Equal(t, []string{"create a", "create b"}, s.Cloud.Calls())
	require.NotNil(t, s.Resource("old"), "a program that failed deletes nothing")
	require.NotNil(t, s.Resource("a"))
	require.Nil(t, s.Resource("b"))
}

func TestPartialFailureIsRecordedAndRepaired(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.Hook = func(call string) error {
		if call != "create b" {
			return nil
		}
		return &abi.Error{Kind: abi.ErrorKindInitFailed, Message: "b is not ready", InitFailure: &abi.InitFailure{
			ID: "b-9", State: enginetest.Props("key", "x"), Reasons: []string{"it did not come up"},
		}}
	}
	_, err := s.Try(enginetest.Up, enginetest.Chain(enginetest.Plain, "1"))
	require.ErrorContains(t, err, "it did not come up")
	b := s.Resource("b")
	require.Equal(t, "b-9", b.ID)
	require.Equal(t, []string{"it did not come up"}, b.InitErrors)

	s.Cloud.Hook = nil
	s.Cloud.Change("b-9", func(property.Map) property.Map { return enginetest.Props("key", "x") })
	s.Cloud.Calls()
	s.Up(enginetest.Chain(enginetest.Plain, "1"))
	require.Equal(t, []string{"update b", "create c"}, s.Cloud.Calls())
	require.Empty(t, s.Resource("b").InitErrors)
}

// An unhealthy object whose provider tells no state keeps the outputs that are known.
func TestUnhealthyWithoutAState(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.One(enginetest.Props("key", "1")))
	before := s.Resource("a")
	unhealthy := &abi.Error{Kind: abi.ErrorKindInitFailed, InitFailure: &abi.InitFailure{Reasons: []string{"it is ill"}}}
	s.Cloud.Hook = func(string) error { return unhealthy }
	_, err := s.Try(enginetest.Up, enginetest.One(enginetest.Props("key", "2")))
	require.ErrorContains(t, err, "it is ill")
	require.Equal(t, []string{"it is ill"}, s.Resource("a").InitErrors)
	require.Equal(t, before.Outputs, s.Resource("a").Outputs)

	s.Cloud.Hook = nil
	s.Cloud.Read = func(abi.ReadRequest) (abi.ReadResponse, error) { return abi.ReadResponse{}, unhealthy }
	s.Refresh()
	require.Equal(t, []string{"it is ill"}, s.Resource("a").InitErrors)
	require.Equal(t, before.Outputs, s.Resource("a").Outputs)
	s.Cloud.Read = nil
	require.Equal(t, 1, s.Up(enginetest.One(enginetest.Props("key", "2"))).Update)
	require.Empty(t, s.Resource("a").InitErrors)
}

func TestOutcomeThatIsNotKnownStaysPending(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.Hook = func(call string) error {
		return &abi.Error{Kind: abi.ErrorKindInternal, Origin: abi.ErrorOriginHost, Message: "the guest trapped"}
	}
	program := func(p *enginetest.Run) error {
		_, err := p.Custom(enginetest.Plain, "a", enginetest.Props())
		return err
	}
	_, err := s.Try(enginetest.Up, enginetest.Program(program))
	require.ErrorContains(t, err, "the guest trapped")
	s.Cloud.Hook = nil
	s.Up(program)
	require.Len(t, s.Warnings(), 1)
	require.Contains(t, s.Warnings()[0], "cut off while creating")

	s.Edit = func(d *enginetest.Deployment) { d.ClearPendingCreates = true }
	s.Refresh()
	s.Edit = nil
	s.Up(program)
	require.Empty(t, s.Warnings())
}

func TestDuplicateNamesAreRefused(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
		if _, err := p.Custom(enginetest.Plain, "a", enginetest.Props()); err != nil {
			return err
		}
		_, err := p.Custom(enginetest.Plain, "a", enginetest.Props())
		return err
	}))
	require.ErrorContains(t, err, `"a"`)
	require.ErrorContains(t, err, "registered twice")
}

func TestCheckFailuresNameTheProperty(t *testing.T) {
	cloud := enginetest.NewCloud()
	cloud.Types[enginetest.Plain] = enginetest.Type{Required: []string{"size", "shape"}}
	s := enginetest.NewStack(t, cloud)
	_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
		_, err := p.Custom(enginetest.Plain, "a", enginetest.Props())
		return err
	}))
	require.ErrorContains(t, err, "size: missing required property")
	require.ErrorContains(t, err, "shape: missing required property")
	require.Empty(t, s.Cloud.Calls())
}

func TestProtect(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	protected := func(key string) enginetest.Program {
		return func(p *enginetest.Run) error {
			yes := true
			_, err := p.Custom(enginetest.Strict, "a", enginetest.Props("key", key), func(o *abi.ResourceOptions) { o.Protect = &yes })
			return err
		}
	}
	s.Up(protected("1"))
	s.Cloud.Calls()
	_, err := s.Try(enginetest.Up, protected("2"))
	require.ErrorContains(t, err, "protected")
	_, err = s.Try(enginetest.Up, enginetest.Program(enginetest.Empty))
	require.ErrorContains(t, err, "protected")
	require.Empty(t, s.Cloud.Calls())
	require.NotNil(t, s.Resource("a"))
}

func TestRetainOnDelete(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(func(p *enginetest.Run) error {
		yes := true
		_, err := p.Custom(enginetest.Plain, "a", enginetest.Props(), func(o *abi.ResourceOptions) { o.RetainOnDelete = &yes })
		return err
	})
	s.Up(enginetest.Empty)
	require.Nil(t, s.Resource("a"))
	require.Equal(t, 1, s.Cloud.Objects(), "the object itself stays")
}

func TestDeletedWith(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(func(p *enginetest.Run) error {
		a, err := p.Custom(enginetest.Plain, "a", enginetest.Props())
		if err != nil {
			return err
		}
		_, err = p.Custom(enginetest.Plain, "b", enginetest.Props(), func(o *abi.ResourceOptions) { o.DeletedWith = a.URN })
		return err
	})
	s.Cloud.Calls()
	s.Up(enginetest.Empty)
	require.Equal(t, []string{"delete a-1"}, s.Cloud.Calls(), "b goes with a")
}

func TestIgnoreChanges(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	program := func(size, color string) enginetest.Program {
		return func(p *enginetest.Run) error {
			_, err := p.Custom(enginetest.Plain, "a", enginetest.Props("size", size, "color", color),
				func(o *abi.ResourceOptions) { o.IgnoreChanges = []string{"size"} })
			return err
		}
	}
	s.Up(program("1", "red"))
	require.Equal(t, 0, s.Up(program("2", "red")).Total())
	require.Equal(t, 1, s.Up(program("3", "blue")).Update)
	require.Equal(t, property.String("1"), s.Resource("a").Outputs.Get("size"))
}

// Elements that an ignored list keeps have their old values, and a preview shows what the update does.
func TestIgnoreChangesInListsThatGrowOrShrink(t *testing.T) {
	list := func(values ...int) property.Value {
		var out []property.Value
		for i, v := range values {
			out = append(out, property.Object(enginetest.Props("port", i, "cidrs", v)))
		}
		return property.Array(out...)
	}
	for path, want := range map[string]property.Value{
		"items[*].cidrs": list(1, 2, 7), "items[*]": list(1, 2, 7), "items[1].cidrs": list(5, 2, 7),
	} {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		program := func(items property.Value) enginetest.Program {
			return func(p *enginetest.Run) error {
				_, err := p.Custom(enginetest.Plain, "a", enginetest.Props("items", items),
					func(o *abi.ResourceOptions) { o.IgnoreChanges = []string{path} })
				return err
			}
		}
		s.Up(program(list(1, 2)))
		diffs := func() (out []string) {
			for _, e := range s.Events() {
				if done, ok := e.(engine.StepDone); ok && done.Step.Name == "a" {
					out = append(out, jsonOf(t, done.Step.Diff))
				}
			}
			return out
		}
		s.Preview(program(list(5, 6, 7)))
		shown := diffs()
		require.Equal(t, 1, s.Up(program(list(5, 6, 7))).Update, path)
		require.True(t, want.Equal(s.Resource("a").Inputs.Get("items")), "%s: %s", path, property.Display(s.Resource("a").Inputs.Get("items")))
		require.Equal(t, shown, diffs(), path)
		s.Up(program(list(8)))
		items, _ := s.Resource("a").Inputs.Get("items").AsArray()
		require.Len(t, items, 1, path)
	}
}

func TestReplaceOnChanges(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	program := func(size string) enginetest.Program {
		return func(p *enginetest.Run) error {
			_, err := p.Custom(enginetest.Plain, "a", enginetest.Props("size", size),
				func(o *abi.ResourceOptions) { o.ReplaceOnChanges = []string{"size"} })
			return err
		}
	}
	s.Up(program("1"))
	require.Equal(t, engine.Changes{Same: 1, Replace: 1}, s.Up(program("2")))
}

func TestAliasKeepsARenamedResource(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(func(p *enginetest.Run) error {
		_, err := p.Custom(enginetest.Plain, "before", enginetest.Props("x", 1))
		return err
	})
	s.Cloud.Calls()
	s.Up(func(p *enginetest.Run) error {
		_, err := p.Custom(enginetest.Plain, "after", enginetest.Props("x", 1), func(o *abi.ResourceOptions) {
			o.Aliases = []abi.Alias{{Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{Name: "before"}}}
		})
		return err
	})
	require.Empty(t, s.Cloud.Calls())
	require.Nil(t, s.Resource("before"))
	require.Equal(t, "before-1", s.Resource("after").ID)
}

func TestSecretsStaySecret(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	program := enginetest.Program(func(p *enginetest.Run) error {
		a, err := p.Custom(enginetest.Plain, "a", enginetest.Props("password", property.Secret(property.String("hunter2")), "made", "x"),
			func(o *abi.ResourceOptions) { o.AdditionalSecretOutputs = []string{"made"} })
		if err != nil {
			return err
		}
		return p.Outputs(enginetest.Props("password", a.Out("password")))
	})
	s.Up(program)
	outputs := s.Resource("a").Outputs
	require.True(t, outputs.Get("password").IsSecret())
	require.True(t, outputs.Get("made").IsSecret())
	require.True(t, s.Resource("proj-dev").Outputs.Get("password").IsSecret())
	for _, e := range s.Events() {
		require.NotContains(t, jsonOf(t, e), "hunter2")
	}
}

func TestProviderThatKnowsNoSecretsGetsPlainValues(t *testing.T) {
	cloud := enginetest.NewCloud()
	none := abi.FeaturesPreview
	cloud.Features = &none
	s := enginetest.NewStack(t, cloud)
	s.Up(func(p *enginetest.Run) error {
		_, err := p.Custom(enginetest.Plain, "a", enginetest.Props("password", property.Secret(property.String("hunter2"))))
		return err
	})
	require.True(t, s.Resource("a").Inputs.Get("password").IsSecret())
	require.True(t, s.Resource("a").Outputs.Get("password").IsSecret())
	cloud.Change("a-1", func(m property.Map) property.Map {
		require.False(t, m.Get("password").IsSecret())
		return m
	})
}

func TestDependenciesAreRecorded(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.Chain(enginetest.Plain, "1"))
	b := s.Resource("b")
	require.Equal(t, []urn.URN{s.Resource("a").URN}, b.Dependencies)
	require.Equal(t, map[string][]urn.URN{"key": {s.Resource("a").URN}}, b.PropertyDependencies)
}

func TestPreviewHasNoEffect(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	require.Equal(t, engine.Changes{Create: 4}, s.Preview(enginetest.Chain(enginetest.Plain, "1")))
	require.Empty(t, s.Cloud.Calls())
	require.Zero(t, s.Snapshot().Len())
}

func TestStackOutputsOfAFailedRunAreKept(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.Chain(enginetest.Plain, "1"))
	s.Cloud.Hook = func(call string) error {
		if strings.HasPrefix(call, "update") {
			return errors.New("no")
		}
		return nil
	}
	_, err := s.Try(enginetest.Up, enginetest.Chain(enginetest.Plain, "2"))
	require.Error(t, err)
	require.True(t, s.Resource("proj-dev").Outputs.Has("made"))
}

func TestACrashDuringACreationStaysPending(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.Hook = func(string) error { return abi.NewError(abi.ErrorKindCrashed, "panic: nil map") }
	_, err := s.Try(enginetest.Up, enginetest.Chain(enginetest.Plain, "1"))
	require.ErrorContains(t, err, "nil map")
	n := 0
	for _, op := range s.Snapshot().Operations() {
		require.Equal(t, state.OperationCreating, op.Type)
		n++
	}
	require.Equal(t, 1, n, "the provider may have created it before it crashed")
}

// Whatever a provider answers after its call was cut off, the creation may have had its effect.
func TestAPoliteAnswerOfACutOffCreationStaysPending(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	ctx, cancel := context.WithCancel(t.Context())
	s.Cloud.Hook = func(string) error {
		cancel()
		return abi.NewError(abi.ErrorKindInternal, "rpc error: context canceled")
	}
	_, err := s.Try(func(_ context.Context, d enginetest.Deployment) (*engine.Result, error) { return enginetest.Up(ctx, d) }, enginetest.Chain(enginetest.Plain, "1"))
	require.ErrorContains(t, err, "context canceled")
	var pending []state.OperationType
	for _, op := range s.Snapshot().Operations() {
		pending = append(pending, op.Type)
	}
	require.Equal(t, []state.OperationType{state.OperationCreating}, pending)
}

// An object whose ID comes with an error, whichever it is, is recorded, and repaired by the next run.
func TestAnIDBesideAnErrorIsRecorded(t *testing.T) {
	for _, failure := range []error{
		errors.New("the response cannot be read"), abi.NewError(abi.ErrorKindInternal, "no"), abi.NewError(abi.ErrorKindCrashed, "panic"),
	} {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		s.Cloud.Create = func(req abi.CreateRequest) (abi.CreateResponse, error) {
			if req.Preview {
				return abi.CreateResponse{}, nil
			}
			s.Cloud.Put("a-1", "", req.Inputs)
			return abi.CreateResponse{ID: "a-1", State: enginetest.Props("half", "1")}, failure
		}
		program := enginetest.One(enginetest.Props("key", "1"))
		_, err := s.Try(enginetest.Up, program)
		require.ErrorContains(t, err, abi.AsError(failure).Message)
		require.Equal(t, "a-1", s.Resource("a").ID)
		require.Equal(t, enginetest.Props("half", "1"), s.Resource("a").Outputs)
		require.Equal(t, []string{abi.AsError(failure).Message}, s.Resource("a").InitErrors)
		require.True(t, s.Resource("a").RefreshBeforeUpdate)
		for range s.Snapshot().Operations() {
			require.Fail(t, "nothing is pending")
		}
		s.Cloud.Create = nil
		s.Up(program)
		require.NotContains(t, s.Cloud.Calls(), "create a", "it is not made twice")
		require.Equal(t, "a-1", s.Resource("a").ID)
		require.Empty(t, s.Resource("a").InitErrors)
	}
}

// A default that takes the place of an input is what the provider plans, and a computed value is what it makes.
func TestDifferencesShowWhatTheProgramLeavesToTheProvider(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.One(enginetest.Props("size", 1, "flag", false)))
	kinds := map[string]abi.DiffKind{}
	s.Cloud.Diff = func(req abi.DiffRequest) (abi.DiffResponse, error) {
		resp := abi.DiffResponse{Changes: abi.DiffChangesSome, HasDetailedDiff: true}
		for path, kind := range kinds {
			resp.DetailedDiff = append(resp.DetailedDiff, abi.PropertyDiff{Path: path, Kind: kind})
		}
		return resp, nil
	}
	shown := func() map[string]string {
		out := map[string]string{}
		for _, e := range s.Events() {
			if done, ok := e.(engine.StepDone); ok {
				for _, c := range done.Step.Diff {
					out[c.Path] = c.Old + " " + c.Kind + " " + c.New
				}
			}
		}
		return out
	}
	typ := s.Cloud.Types[enginetest.Plain]
	typ.Computed = []string{"made", "flag"} // which a program that has no flag leaves to the provider
	s.Cloud.Types[enginetest.Plain] = typ
	kinds["flag"], kinds["made"], kinds["size"] = abi.DiffKindUpdate, abi.DiffKindAdd, abi.DiffKindDelete
	one := enginetest.One(enginetest.Props("size", 1))
	want := map[string]string{"flag": `false update "flag of a-1"`, "made": ` add "made of a-1"`, "size": "1 delete "}
	s.Preview(one)
	require.Equal(t, want, shown())

	typ.Coy = true
	s.Cloud.Types[enginetest.Plain] = typ
	s.Preview(one)
	require.Equal(t, "false update [unknown]", shown()["flag"], "the provider does not tell")
	s.Up(one)
	require.Equal(t, want, shown(), "it has told")
}

// A provider with sets names the elements that come and go, and none that has another place in the program.
func TestDifferencesOfSetsNameNoOtherElements(t *testing.T) {
	texts := func(all ...string) property.Map {
		var list []property.Value
		for _, text := range all {
			list = append(list, property.String(text))
		}
		return enginetest.Props("all", property.Array(list...))
	}
	for name, c := range map[string]struct {
		new     property.Map
		changes []abi.PropertyDiff
		want    []string
	}{
		"another order, one for another": {
			texts("c", "b", "d"), []abi.PropertyDiff{{Path: "all[0]", Kind: abi.DiffKindDelete}, {Path: "all[2]", Kind: abi.DiffKindAdd}},
			[]string{`all[0] "a" delete `, `all[2]  add "d"`},
		},
		"two that go": {
			texts("c"), []abi.PropertyDiff{{Path: "all[0]", Kind: abi.DiffKindDelete}, {Path: "all[1]", Kind: abi.DiffKindDelete}},
			[]string{`all[0] "a" delete `, `all[1] "b" delete `},
		},
		"a list with a new first element": {
			texts("x", "a", "b", "c"), []abi.PropertyDiff{{Path: "all[0]", Kind: abi.DiffKindUpdate}, {Path: "all[1]", Kind: abi.DiffKindUpdate},
				{Path: "all[2]", Kind: abi.DiffKindUpdate}, {Path: "all[3]", Kind: abi.DiffKindAdd}},
			[]string{`all[0]  add "x"`},
		},
		"one for another at its index": {
			texts("x", "b", "c"), []abi.PropertyDiff{{Path: "all[0]", Kind: abi.DiffKindAdd}},
			[]string{`all[0] "a" delete `, `all[0]  add "x"`},
		},
		"another for each": {
			texts("x", "y", "z"), []abi.PropertyDiff{{Path: "all[0]", Kind: abi.DiffKindAdd}, {Path: "all[1]", Kind: abi.DiffKindAdd}, {Path: "all[2]", Kind: abi.DiffKindAdd}},
			[]string{`all[0] "a" delete `, `all[0]  add "x"`, `all[1] "b" delete `, `all[1]  add "y"`, `all[2] "c" delete `, `all[2]  add "z"`},
		},
		"another for two, in another order": {
			texts("b", "x", "y"), []abi.PropertyDiff{{Path: "all[0]", Kind: abi.DiffKindDelete}, {Path: "all[1]", Kind: abi.DiffKindAdd}, {Path: "all[2]", Kind: abi.DiffKindAdd}},
			[]string{`all[0] "a" delete `, `all[1]  add "x"`, `all[2] "c" delete `, `all[2]  add "y"`},
		},
		"an element before another": {
			texts("x", "a", "b", "c"), []abi.PropertyDiff{{Path: "all[0]", Kind: abi.DiffKindAdd}},
			[]string{`all[0]  add "x"`},
		},
		"one that the provider adds itself": {
			texts("c", "b"), []abi.PropertyDiff{{Path: "all[0]", Kind: abi.DiffKindDelete}, {Path: "all[2]", Kind: abi.DiffKindAdd}},
			[]string{`all[0] "a" delete `, `all[2]  add `},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(enginetest.One(texts("a", "b", "c")))
			s.Cloud.Diff = func(abi.DiffRequest) (abi.DiffResponse, error) {
				return abi.DiffResponse{Changes: abi.DiffChangesSome, HasDetailedDiff: true, DetailedDiff: c.changes}, nil
			}
			s.Preview(enginetest.One(c.new))
			var shown []string
			for _, e := range s.Events() {
				if done, ok := e.(engine.StepDone); ok {
					for _, c := range done.Step.Diff {
						shown = append(shown, c.Path+" "+c.Old+" "+c.Kind+" "+c.New)
					}
				}
			}
			require.Equal(t, c.want, shown)
		})
	}
}

// What a refresh finds in a set is removed and added, too.
func TestDifferencesOfSetsInARefresh(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.One(enginetest.Props("all", property.Array(property.Number(1)))))
	s.Cloud.Change("a-1", func(m property.Map) property.Map { return m.With("all", property.Array(property.Number(9))) })
	s.Cloud.Diff = func(abi.DiffRequest) (abi.DiffResponse, error) { // an update would remove 9 and add 1
		return abi.DiffResponse{Changes: abi.DiffChangesSome, HasDetailedDiff: true, DetailedDiff: []abi.PropertyDiff{{Path: "all[0]", Kind: abi.DiffKindAdd}}}, nil
	}
	s.Refresh()
	var shown []string
	for _, e := range s.Events() {
		if done, ok := e.(engine.StepDone); ok {
			for _, c := range done.Step.Diff {
				shown = append(shown, c.Path+" "+c.Old+" "+c.Kind+" "+c.New)
			}
		}
	}
	require.Equal(t, []string{"all[0] 1 delete ", "all[0]  add 9"}, shown)
}
