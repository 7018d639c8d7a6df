package programs_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/analysis"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/guest-sdk/policy"
)

type (
	rule            = policy.Rule[policy.None]
	resourceRequest = policy.ResourceRequest[policy.None]
	stackRequest    = policy.StackRequest[policy.None]
)

// judgedBy has all later operations of a stack judged by a pack with these policies.
func judgedBy(t *testing.T, s *enginetest.Stack, settings map[string]analysis.Setting, rules ...rule) {
	pack := policy.Pack{Name: "house", Version: "1.0.0"}
	for _, r := range rules {
		pack.Policies = append(pack.Policies, policy.Of(r))
	}
	s.Edit = func(d *enginetest.Deployment) {
		p, err := policy.New(pack)
		require.NoError(t, err)
		d.Policies = []analysis.Pack{{Policy: p, Settings: settings}}
	}
}

// verdicts are the events about policies of the last operation, as text.
func verdicts(s *enginetest.Stack) []string {
	var out []string
	for _, e := range s.Events() {
		switch e := e.(type) {
		case engine.PolicyViolated:
			out = append(out, e.Level+" "+e.Policy+" "+e.URN.Name()+" "+e.Path+": "+e.Message)
		case engine.PolicyRemediated:
			text := "remediated " + e.Policy + " " + e.URN.Name() + ": " + e.Message
			for _, c := range e.Changes {
				text += "; " + c.Kind + " " + c.Path + " " + c.New
			}
			out = append(out, text)
		}
	}
	return out
}

func counts(s *enginetest.Stack) *engine.PolicyCounts {
	events := s.Events()
	return events[len(events)-1].(engine.Summary).Policies
}

func registers(inputs property.Map) enginetest.Program {
	return func(p *enginetest.Run) error {
		_, err := p.Custom(enginetest.Plain, "a", inputs)
		return err
	}
}

func TestLevelsOfPolicies(t *testing.T) {
	mandatory := abi.PolicyLevelMandatory
	for name, test := range map[string]struct {
		level    policy.Level
		settings map[string]analysis.Setting
		want     []string
		fails    bool
	}{
		"advisory":  {policy.Advisory, nil, []string{"advisory noted a note: add a note to a"}, false},
		"mandatory": {policy.Mandatory, nil, []string{"mandatory noted a note: add a note to a"}, true},
		"disabled":  {policy.Disabled, nil, nil, false},
		"the operator's": {policy.Disabled, map[string]analysis.Setting{"noted": {Level: &mandatory}},
			[]string{"mandatory noted a note: add a note to a"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			judgedBy(t, s, test.settings, enginetest.Noted(test.level))
			_, err := s.Try(enginetest.Up, registers(enginetest.Props()))
			require.Equal(t, test.want, verdicts(s))
			if !test.fails {
				require.NoError(t, err)
				require.Equal(t, []string{"create a"}, s.Cloud.Calls())
				return
			}
			require.EqualError(t, err, `test:index:Plain "a" violates the policy noted of house 1.0.0: note: add a note to a`)
			_, typed := errors.AsType[*engine.PolicyError](err)
			require.True(t, typed)
			require.Empty(t, s.Cloud.Calls(), "it failed before its step")
			require.Nil(t, s.Resource("a"))
			require.Equal(t, &engine.PolicyCounts{Packs: 1, Mandatory: 1}, counts(s))
		})
	}
}

// A preview tells all violations, and what would be done if there were none.
func TestPreviewTellsAllViolations(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	judgedBy(t, s, nil, enginetest.Noted(policy.Mandatory))
	_, err := s.Try(enginetest.Preview, enginetest.Chain(enginetest.Plain, "1"))
	require.ErrorContains(t, err, `"a" violates`)
	require.ErrorContains(t, err, `"c" violates`)
	require.Len(t, verdicts(s), 3)
	require.Equal(t, []string{"create proj-dev", "create a", "create b", "create c"}, s.Steps())
}

func TestViolationsAndContinueOnError(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	judgedBy(t, s, nil, enginetest.Noted(policy.Mandatory))
	edit := s.Edit
	s.Edit = func(d *enginetest.Deployment) { edit(d); d.ContinueOnError = true }
	_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
		a, errA := p.Custom(enginetest.Plain, "a", enginetest.Props())
		_, errB := p.Custom(enginetest.Plain, "b", enginetest.Props("note", a.Out("made")))
		_, errC := p.Custom(enginetest.Plain, "c", enginetest.Props("note", "fine"))
		return errors.Join(errA, errB, errC)
	}))
	require.ErrorContains(t, err, `"a" violates`)
	require.Equal(t, []string{"create c"}, s.Cloud.Calls(), "b needs a")
}

// Policies correct inputs after the provider's check, which then checks what they made.
func TestRemediation(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	var mu sync.Mutex
	var checked []string
	s.Cloud.Checked = func(req abi.CheckRequest) {
		mu.Lock()
		defer mu.Unlock()
		checked = append(checked, strings.Join(req.News.Keys(), " "))
	}
	judgedBy(t, s, nil, enginetest.Notes())
	program := registers(enginetest.Props("key", property.Secret(property.String("hush"))))
	for range 2 {
		s.Preview(program)
		require.Equal(t, []string{`remediated noted a: added a note; add note "by the house"`}, verdicts(s))
		s.Up(program)
		require.Equal(t, &engine.PolicyCounts{Packs: 1, Remediated: 1}, counts(s))
	}
	require.Equal(t, []string{"key", "key note"}, checked[:2])
	require.Equal(t, []string{"create a"}, s.Cloud.Calls(), "the second update found what the first one made")
	require.Equal(t, "by the house", must(s.Resource("a").Inputs.Get("note").AsString()))
	require.True(t, s.Resource("a").Inputs.Get("key").IsSecret())
}

func must(text string, ok bool) string {
	if !ok {
		return "no text"
	}
	return text
}

func TestReplacementsAreRemediated(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	judgedBy(t, s, nil, enginetest.Notes())
	s.Up(keyed("1"))
	s.Up(keyed("2"))
	require.Equal(t, []string{`remediated noted a: added a note; add note "by the house"`}, verdicts(s), "once")
	require.Equal(t, []string{"create a", "create a", "delete a-1"}, s.Cloud.Calls())
	require.Equal(t, "by the house", must(s.Resource("a").Inputs.Get("note").AsString()))
}

func keyed(key string) enginetest.Program {
	return func(p *enginetest.Run) error {
		_, err := p.Custom(enginetest.Strict, "a", enginetest.Props("key", key))
		return err
	}
}

// What a policy cannot correct is advice, and then judged like anything else.
func TestWhatCannotBeRemediated(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	judgedBy(t, s, nil, enginetest.Notes())
	_, err := s.Try(enginetest.Up, registers(enginetest.Props("refuses", true)))
	require.ErrorContains(t, err, "note: add a note to a")
	require.Equal(t, []string{
		"advisory noted a : it could not be corrected: it refuses notes",
		"mandatory noted a note: add a note to a",
	}, verdicts(s))

	corrects := enginetest.Notes()
	corrects.Resource = nil // nobody else judges
	judgedBy(t, s, nil, corrects)
	_, err = s.Try(enginetest.Up, registers(enginetest.Props("refuses", true)))
	require.ErrorContains(t, err, "it could not be corrected: it refuses notes")
	require.Empty(t, s.Cloud.Calls())
}

func TestProviderRefusesWhatAPolicyMade(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.Check = func(req abi.CheckRequest) (resp abi.CheckResponse, _ error) {
		if req.News.Has("note") {
			resp.Failures = []abi.CheckFailure{{Path: "note", Reason: "there is no such property"}}
		}
		resp.Inputs = req.News
		return resp, nil
	}
	judgedBy(t, s, nil, enginetest.Notes())
	_, err := s.Try(enginetest.Up, registers(enginetest.Props()))
	require.ErrorContains(t, err, "the inputs that the policy noted of house 1.0.0 made are refused: note: there is no such property")
	require.Empty(t, s.Cloud.Calls())
}

// A policy cannot make a secret plain, nor values that are not known, and has no file read.
func TestRemediationKeepsWhatMustBeKept(t *testing.T) {
	for name, test := range map[string]struct {
		made property.Value
		want string
	}{
		"secret":  {property.String("hush"), ""},
		"unknown": {property.Unknown, "the inputs that the policy bold of house 1.0.0 made: they hold values that are not known"},
		"a file":  {property.AssetOf(property.Asset{Source: property.SourcePath, Path: "policies_test.go"}), "the inputs that the policy bold of house 1.0.0 made: key: "},
	} {
		t.Run(name, func(t *testing.T) {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			judgedBy(t, s, nil, rule{Name: "bold", Level: policy.Remediate,
				Remedy: func(_ context.Context, r resourceRequest) (policy.Remedy, error) {
					if r.Resource.Type != enginetest.Plain {
						return policy.Remedy{}, nil
					}
					inputs := r.Resource.Properties.With("key", test.made)
					return policy.Remedy{Inputs: &inputs}, nil
				}})
			_, err := s.Try(enginetest.Up, registers(enginetest.Props("key", property.Secret(property.String("hush")))))
			if test.want != "" {
				require.ErrorContains(t, err, test.want)
				return
			}
			require.NoError(t, err)
			require.True(t, s.Resource("a").Inputs.Get("key").IsSecret())
		})
	}
}

// recorder is a policy that notes what it is asked.
type recorder struct {
	mu        sync.Mutex
	resources map[string]abi.PolicyResource
	stacks    [][]abi.PolicyResource
	run       abi.RunContext
}

func (r *recorder) rule() rule {
	return rule{Name: "recorder",
		Resource: func(_ context.Context, q resourceRequest) ([]policy.Violation, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.resources == nil {
				r.resources = make(map[string]abi.PolicyResource)
			}
			r.resources[q.Resource.Name], r.run = q.Resource, q.Deployment
			return nil, nil
		},
		Stack: func(_ context.Context, q stackRequest) ([]policy.Violation, error) {
			r.stacks = append(r.stacks, q.Resources)
			return nil, nil
		},
	}
}

func TestWhatPoliciesSee(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.Digest = "sha256:1"
	s.Config = []abi.ConfigEntry{{Key: "test:region", Value: "eu"}, {Key: "test:token", Value: "t", Secret: true}}
	var seen recorder
	judgedBy(t, s, nil, seen.rule())
	yes := true
	program := func(p *enginetest.Run) error {
		a, err := p.Custom(enginetest.Plain, "a", enginetest.Props("key", property.Secret(property.String("hush"))))
		if err != nil {
			return err
		}
		g, err := p.Component(enginetest.Group, "g", enginetest.Props())
		if err != nil {
			return err
		}
		_, err = p.Child(g.URN, enginetest.Plain, "b", enginetest.Props("from", a.Out("made")), func(o *abi.ResourceOptions) {
			o.Protect, o.IgnoreChanges = &yes, []string{"x"}
		})
		return err
	}
	s.Preview(program)
	require.True(t, seen.run.DryRun)
	require.Equal(t, "dev", seen.run.Stack)
	require.True(t, seen.resources["b"].Properties.Get("from").IsUnknown(), "a preview does not know it yet")
	require.Empty(t, seen.resources["b"].ID)

	s.Up(program)
	a, b := seen.resources["a"], seen.resources["b"]
	require.True(t, a.Properties.Equal(enginetest.Props("key", property.Secret(property.String("hush")))), "secrets come as such")
	require.True(t, b.Properties.Equal(enginetest.Props("from", "made of a-1")))
	require.Equal(t, seen.resources["g"].URN, b.Parent)
	require.False(t, seen.resources["g"].Custom)
	require.Nil(t, seen.resources["g"].Provider)
	require.Equal(t, []urn.URN{a.URN}, b.Dependencies)
	require.Equal(t, []abi.PropertyDependency{{Key: "from", URNs: []urn.URN{a.URN}}}, b.PropertyDependencies)
	require.True(t, *b.Options.Protect)
	require.Equal(t, []string{"x"}, b.Options.IgnoreChanges)
	config := enginetest.Props("region", "eu", "token", property.Secret(property.String("t")))
	require.Equal(t, "pulumi:providers:test default", b.Provider.Type+" "+b.Provider.Name)
	require.True(t, b.Provider.Properties.Equal(config), "without what is the engine's")
	require.True(t, seen.resources["default"].Properties.Equal(config))

	last := seen.stacks[len(seen.stacks)-1]
	var names []string
	for _, r := range last {
		names = append(names, r.Name)
		if r.Name == "b" {
			require.True(t, r.Properties.Get("made").Equal(property.String("made of b-2")), "the outputs")
			require.Equal(t, "b-2", r.ID)
			require.True(t, *r.Options.Protect)
		}
	}
	require.Equal(t, []string{"proj-dev", "default", "a", "g", "b"}, names)

	s.Up(program)
	require.Equal(t, "b-2", seen.resources["b"].ID)
}

// The engine's own parts of a provider's inputs outlive a correction.
func TestProvidersCanBeRemediated(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Cloud.Digest = "sha256:1"
	judgedBy(t, s, nil, rule{Name: "region", Level: policy.Remediate,
		Remedy: func(_ context.Context, r resourceRequest) (policy.Remedy, error) {
			if r.Resource.Type != "pulumi:providers:test" || r.Resource.Properties.Has("region") {
				return policy.Remedy{}, nil
			}
			inputs := r.Resource.Properties.With("region", property.String("eu"))
			return policy.Remedy{Inputs: &inputs}, nil
		}})
	s.Up(registers(enginetest.Props()))
	s.Up(registers(enginetest.Props()))
	require.Equal(t, []string{"__internal", "region"}, s.Resource("default").Inputs.Keys())
	require.Empty(t, s.Steps())
}

func TestStackPolicies(t *testing.T) {
	few := rule{Name: "few", Level: policy.Remediate, Stack: func(_ context.Context, r stackRequest) ([]policy.Violation, error) {
		var found []policy.Violation
		for _, res := range r.Resources {
			if res.Name == "b" {
				found = append(found, policy.Violation{URN: res.URN, Message: "there must be no b"}, policy.Violation{Message: "it is too large"})
			}
		}
		return found, nil
	}}
	few.Remedy = func(context.Context, resourceRequest) (policy.Remedy, error) { return policy.Remedy{}, nil }
	want := []string{"mandatory few b : there must be no b", "mandatory few  : it is too large"}
	for _, run := range []func(context.Context, enginetest.Deployment) (*engine.Result, error){enginetest.Preview, enginetest.Up} {
		s := enginetest.NewStack(t, enginetest.NewCloud())
		judgedBy(t, s, nil, few)
		_, err := s.Try(run, enginetest.Chain(enginetest.Plain, "1"))
		require.ErrorContains(t, err, "the stack violates the policy few of house 1.0.0: it is too large")
		require.Equal(t, want, verdicts(s))
	}

	s := enginetest.NewStack(t, enginetest.NewCloud())
	judgedBy(t, s, nil, few)
	s.Cloud.Hook = func(call string) error {
		if call == "create c" {
			return errors.New("no")
		}
		return nil
	}
	_, err := s.Try(enginetest.Up, enginetest.Chain(enginetest.Plain, "1"))
	require.ErrorContains(t, err, "no")
	require.Empty(t, verdicts(s), "what is not whole is not judged")
}

func TestImportsAreJudged(t *testing.T) {
	cloud := enginetest.NewCloud()
	cloud.Change("outside", func(property.Map) property.Map { return enginetest.Props("size", 1) })
	s := enginetest.NewStack(t, cloud)
	judgedBy(t, s, nil, enginetest.Noted(policy.Mandatory))
	_, err := s.Try(enginetest.Up, enginetest.Program(func(p *enginetest.Run) error {
		_, err := p.Custom(enginetest.Plain, "a", enginetest.Props("size", 1), func(o *abi.ResourceOptions) { o.ImportID = "outside" })
		return err
	}))
	require.ErrorContains(t, err, `violates the policy noted`)
	require.Nil(t, s.Resource("a"))
}

// Only what is about to be made is judged.
func TestRefreshAndDestroyAreNotJudged(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(registers(enginetest.Props()))
	judgedBy(t, s, nil, enginetest.Noted(policy.Mandatory))
	s.Refresh()
	s.Destroy()
	require.Nil(t, counts(s))
}

func TestPackThatFails(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	judgedBy(t, s, nil, rule{Name: "unsure", Resource: func(context.Context, resourceRequest) ([]policy.Violation, error) {
		return nil, errors.New("too dark to see")
	}})
	_, err := s.Try(enginetest.Up, registers(enginetest.Props()))
	require.EqualError(t, err, "house 1.0.0: analyze: the policy unsure: too dark to see")
	require.Empty(t, s.Cloud.Calls())
}
