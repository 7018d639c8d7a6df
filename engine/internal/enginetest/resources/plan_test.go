package resources_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
)

// planned previews an update and returns its plan, as a file holds it.
func planned(s *enginetest.Stack, program enginetest.Program) *engine.Plan {
	s.Edit = func(d *enginetest.Deployment) { d.DraftPlan = true }
	result, err := s.Try(enginetest.Preview, program)
	if err != nil {
		panic(err)
	}
	plan, _ := s.Reread(result.Plan)
	s.Edit = func(d *enginetest.Deployment) { d.Plan = plan }
	return plan
}

// flat registers resources without dependencies, by name and key.
func flat(typ string, keys map[string]string, options ...func(*abi.ResourceOptions)) enginetest.Program {
	return func(p *enginetest.Run) error {
		var errs []error
		for _, name := range []string{"a", "b", "c"} {
			if key, ok := keys[name]; ok {
				_, err := p.Custom(typ, name, enginetest.Props("key", key), options...)
				errs = append(errs, err)
			}
		}
		return errors.Join(errs...)
	}
}

// An update does what its plan says, or less, and stops where it would do anything else.
func TestUpdatesKeepToTheirPlan(t *testing.T) {
	yes := true
	protect := func(o *abi.ResourceOptions) { o.Protect = &yes }
	one, two := map[string]string{"a": "1"}, map[string]string{"a": "2"}
	for _, test := range []struct {
		name                   string
		before, planned, later enginetest.Program
		deviation              string // of a; empty where there is none
		steps                  []string
	}{
		{"as planned", flat(enginetest.Plain, one), flat(enginetest.Plain, two), flat(enginetest.Plain, two), "", []string{"update a"}},
		{"an update that is no longer needed", flat(enginetest.Plain, two), flat(enginetest.Plain, two), flat(enginetest.Plain, two), "", nil},
		{"another input", flat(enginetest.Plain, one), flat(enginetest.Plain, two), flat(enginetest.Plain, map[string]string{"a": "3"}),
			`its inputs.key is "3", and "2" was planned`, nil},
		{"an update instead of none", flat(enginetest.Plain, one), flat(enginetest.Plain, one), flat(enginetest.Plain, two),
			`its inputs.key is "2", and "1" was planned`, nil},
		{"an option", flat(enginetest.Plain, one), flat(enginetest.Plain, two), flat(enginetest.Plain, two, protect), `its protect is true, and false was planned`, nil},
		{"another resource", flat(enginetest.Plain, one), flat(enginetest.Plain, one), flat(enginetest.Plain, map[string]string{"a": "1", "b": "1"}),
			"b deviates from the plan: its registration is new, and none was planned", nil},
		{"a resource that is not registered", flat(enginetest.Plain, nil), flat(enginetest.Plain, one), flat(enginetest.Plain, nil), "its registration is none, and create was planned", nil},
		{"a deletion", flat(enginetest.Plain, one), flat(enginetest.Plain, one), flat(enginetest.Plain, nil), "its step is delete, and same was planned", nil},
		{"a planned deletion", flat(enginetest.Plain, one), flat(enginetest.Plain, nil), flat(enginetest.Plain, nil), "", []string{"delete a"}},
		{"none instead of a deletion", flat(enginetest.Plain, one), flat(enginetest.Plain, nil), flat(enginetest.Plain, one), "its registration is new, and none was planned", nil},
		{"a planned replacement", flat(enginetest.Strict, one), flat(enginetest.Strict, two), flat(enginetest.Strict, two), "", []string{"create-replacement a", "delete-replaced a"}},
		{"one that deletes first", flat(enginetest.Single, one), flat(enginetest.Single, two), flat(enginetest.Single, two), "", []string{"delete-replaced a", "create-replacement a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(test.before)
			plan := planned(s, test.planned)
			_, err := s.Try(enginetest.Up, test.later)
			if test.deviation == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, test.deviation+": husk preview --save-plan makes a new plan")
				deviation, ok := errors.AsType[*engine.PlanError](err)
				require.True(t, ok)
				require.NotEmpty(t, deviation.URN)
			}
			require.Equal(t, test.steps, s.Steps())
			require.Equal(t, "proj dev", plan.Project+" "+plan.Stack)
		})
	}
}

// What changes of the world between a plan and its update counts as well.
func TestPlansOfAnotherWorld(t *testing.T) {
	for name, meddle := range map[string]struct {
		change    func(*enginetest.Stack)
		deviation string
	}{
		"a replacement instead of an update": {func(s *enginetest.Stack) {
			s.Cloud.Types[enginetest.Plain] = enginetest.Type{Replace: []string{"key"}, Computed: []string{"made"}}
		}, "its step is create-replacement, and update was planned"},
		"a creation instead of an update": {func(s *enginetest.Stack) {
			s.Cloud.Change(s.Resource("a").ID, nil)
			s.Refresh()
		}, "its step is create, and update was planned"},
		"what is to be deleted first": {func(s *enginetest.Stack) {
			s.Cloud.Types[enginetest.Plain] = enginetest.Type{Replace: []string{"key"}, Computed: []string{"made"}, DeleteBeforeReplace: true}
		}, "its step is delete-replaced, and update was planned"},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(enginetest.Chain(enginetest.Plain, "1"))
			planned(s, enginetest.Chain(enginetest.Plain, "2"))
			keep := s.Edit
			s.Edit = nil
			meddle.change(s)
			s.Edit = keep
			_, err := s.Try(enginetest.Up, enginetest.Chain(enginetest.Plain, "2"))
			require.ErrorContains(t, err, meddle.deviation)
			require.Empty(t, s.Steps())
		})
	}
}

// What a preview does not know may become anything, and nothing else may.
func TestUnknownsOfPlansAreOpen(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	plan := planned(s, enginetest.Chain(enginetest.Plain, "1"))
	b := plan.Resources[urn.New("dev", "proj", "", enginetest.Plain, "b")]
	require.Equal(t, property.Unknown, b.Goal.Inputs.Get("key"))
	require.Equal(t, []engine.Op{engine.OpCreate}, b.Steps)
	require.Equal(t, engine.Changes{Create: 4}, s.Up(enginetest.Chain(enginetest.Plain, "1")))
	require.Equal(t, 4, s.Up(enginetest.Chain(enginetest.Plain, "1")).Same, "a plan that is carried out may be carried out again")

	planned(s, enginetest.Chain(enginetest.Plain, "1"))
	_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
		if err := enginetest.Chain(enginetest.Plain, "1")(p); err != nil {
			return err
		}
		return p.Outputs(enginetest.Props("made", "by hand"))
	}))
	require.ErrorContains(t, err, `proj-dev deviates from the plan: its outputs.made is "by hand", and "made of c-3" was planned`)
}

// Plans know of imports, reads, and components, and of what their previews do not know.
func TestPlansOfAllKindsOfResources(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(enginetest.One(enginetest.Props("size", 7)))
	other := enginetest.NewStack(t, s.Cloud)
	program := func(size int) enginetest.Program {
		return func(p *enginetest.Run) error {
			own, errOwn := p.Custom(enginetest.ProviderType, "own", enginetest.Props("region", "here"))
			taken, errTaken := p.Custom(enginetest.Plain, "taken", enginetest.Props("size", 7), func(o *abi.ResourceOptions) { o.ImportID = "a-1" })
			made, errMade := p.Custom(enginetest.Plain, "made", enginetest.Props("from", taken.Out("made")), func(o *abi.ResourceOptions) { o.Provider = own.Reference() })
			group, errGroup := p.Component(enginetest.Group, "group", enginetest.Props("size", size, "from", made.Out("made")))
			_, errRead := p.Monitor.ReadResource(p.Ctx, abi.ReadResourceRequest{
				ID: made.ID, Type: enginetest.Plain, Name: "read", Options: abi.ResourceOptions{Provider: own.Reference()},
			})
			return errors.Join(errOwn, errTaken, errMade, errGroup, errRead, p.Monitor.RegisterOutputs(p.Ctx, abi.RegisterOutputsRequest{
				URN: group.URN, Outputs: enginetest.Props("made", property.Reference(property.ResourceReference{URN: string(made.URN), HasID: true, ID: made.ID})),
			}))
		}
	}
	planned(other, program(1))
	for range 2 {
		other.Up(program(1))
	}
	require.Equal(t, "made-2", other.Resource("read").ID)
	_, err := other.Try(enginetest.Up, program(2))
	require.ErrorContains(t, err, "group deviates from the plan: its inputs.size is 2, and 1 was planned")
}

// An update makes the same random parts of inputs as its preview.
func TestPlansKeepSeeds(t *testing.T) {
	cloud := enginetest.NewCloud()
	s := enginetest.NewStack(t, cloud)
	var seeds []string
	s.Cloud.Check = func(req abi.CheckRequest) (abi.CheckResponse, error) {
		seeds = append(seeds, string(req.RandomSeed))
		return abi.CheckResponse{Inputs: req.News.With("name", property.String(string(req.RandomSeed[:4])))}, nil
	}
	planned(s, flat(enginetest.Plain, map[string]string{"a": "1"}))
	s.Up(flat(enginetest.Plain, map[string]string{"a": "1"}))
	require.Len(t, seeds, 2)
	require.Len(t, seeds[0], 32)
	require.Equal(t, seeds[0], seeds[1])
}

// Secrets are encrypted in a plan, and are not shown where they deviate.
func TestSecretsInPlans(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	program := func(secret string) enginetest.Program {
		return func(p *enginetest.Run) error {
			_, err := p.Custom(enginetest.Plain, "a", enginetest.Props("key", property.Secret(property.String(secret))))
			return err
		}
	}
	s.Edit = func(d *enginetest.Deployment) { d.DraftPlan = true }
	result, err := s.Try(enginetest.Preview, program("hush"))
	require.NoError(t, err)
	plan, text := s.Reread(result.Plan)
	require.NotContains(t, text, "hush")
	s.Edit = func(d *enginetest.Deployment) { d.Plan = plan }
	_, err = s.Try(enginetest.Up, program("hush, too"))
	require.ErrorContains(t, err, "its inputs.key is [secret], and [secret] was planned")
	require.NotContains(t, err.Error(), "hush")
	s.Up(program("hush"))
}

func TestPlanOfAnotherStack(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	planned(s, enginetest.Empty).Stack = "prod"
	_, err := s.Try(enginetest.Up, enginetest.Program(enginetest.Empty))
	require.EqualError(t, err, "the plan is for the stack proj/prod, not for proj/dev")
}

// A preview that finds something wrong makes no plan.
func TestFailedPreviewsMakeNoPlan(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Edit = func(d *enginetest.Deployment) { d.DraftPlan = true }
	result, err := s.Try(enginetest.Preview, enginetest.Program(func(*enginetest.Run) error { return errors.New("oh") }))
	require.ErrorContains(t, err, "oh")
	require.Nil(t, result.Plan)
}

func TestDecodePlan(t *testing.T) {
	const goals = `{"version":3,"deployment":{"resources":[{"urn":"urn:pulumi:dev::proj::t:i:T::a","custom":true,"type":"t:i:T"}]}}`
	for name, test := range map[string]struct{ text, failure string }{
		"an empty plan":    {`{"version":1,"project":"p","stack":"s","resources":{},"goals":{"version":3,"deployment":{"resources":[]}}}`, ""},
		"no JSON":          {`plan`, "not a plan: line 1, column 1: invalid character"},
		"another document": {`{"deployment":{"resources":[]}}`, `not a plan: there is no member "deployment" here`},
		"a later version":  {`{"version":2}`, "the plan has version 2, and this version of husk reads 1"},
		"an unknown step":  {`{"version":1,"resources":{"u":{"steps":["fly"]}}}`, `not a plan: u has the unknown step "fly"`},
		"no goals":         {`{"version":1}`, "not a plan: goals: "},
		"a goal alone":     {`{"version":1,"goals":` + goals + `}`, "urn:pulumi:dev::proj::t:i:T::a has no steps, or more than one goal"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := engine.DecodePlan(t.Context(), []byte(test.text), secrets.Keys{}.Open)
			if test.failure == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.failure)
		})
	}
}

// FuzzDecodePlan: what is read as a plan can be written and read again, and is the same.
func FuzzDecodePlan(f *testing.F) {
	goal := `{"urn":"urn:pulumi:dev::proj::t:i:T::a","custom":true,"type":"t:i:T","inputs":{"x":"04da6b54-80e4-46f7-96ec-b56ff0331ba9"}}`
	f.Add(`{"version":1,"project":"p","stack":"s","resources":{},"goals":{"version":3,"deployment":{"resources":[]}}}`)
	f.Add(`{"version":1,"resources":{"urn:pulumi:dev::proj::t:i:T::a":{"steps":["create"],"seed":"AAAA"}},"goals":` +
		`{"version":3,"deployment":{"resources":[` + goal + `]}}}`)
	codec := state.NewCodec(nil)
	f.Fuzz(func(t *testing.T, text string) {
		plan, err := engine.DecodePlan(t.Context(), []byte(text), secrets.Keys{}.Open)
		if err != nil || strings.Contains(text, "1b47061264138c4ac30d75fd1eb44270") {
			return // secrets need a key
		}
		again, err := plan.Encode(t.Context(), codec)
		require.NoError(t, err)
		reread, err := engine.DecodePlan(t.Context(), again, secrets.Keys{}.Open)
		require.NoError(t, err)
		require.Equal(t, len(plan.Resources), len(reread.Resources))
		for u, r := range plan.Resources {
			require.Equal(t, r.Steps, reread.Resources[u].Steps)
			if r.Goal != nil {
				require.True(t, r.Goal.Inputs.Equal(reread.Resources[u].Goal.Inputs))
			}
		}
	})
}
