package policy_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/policy"
)

type limits struct {
	Most float64 `husk:"most,default=10,min=1" doc:"The most that there may be."`
}

// most allows a count up to a limit: it corrects what is more, but not by much.
var most = policy.Rule[limits]{
	Name: "most", Description: "Not too many.", Level: policy.Remediate,
	Remedy: func(_ context.Context, r policy.ResourceRequest[limits]) (policy.Remedy, error) {
		n, _ := r.Resource.Properties.Get("count").AsNumber()
		switch {
		case n <= r.Config.Most:
			return policy.Remedy{}, nil
		case n > 2*r.Config.Most:
			return policy.Remedy{Message: "it is more than twice too much"}, nil
		}
		inputs := r.Resource.Properties.With("count", property.Number(r.Config.Most))
		return policy.Remedy{Inputs: &inputs, Message: "lowered"}, nil
	},
	Resource: func(_ context.Context, r policy.ResourceRequest[limits]) ([]policy.Violation, error) {
		if n, _ := r.Resource.Properties.Get("count").AsNumber(); n > r.Config.Most {
			return []policy.Violation{{Path: "count", Message: "it is too much"}}, nil
		}
		return nil, nil
	},
}

var doubled = policy.Rule[policy.None]{
	Name: "doubled",
	Remedy: func(_ context.Context, r policy.ResourceRequest[policy.None]) (policy.Remedy, error) {
		n, _ := r.Resource.Properties.Get("count").AsNumber()
		inputs := r.Resource.Properties.With("count", property.Number(2*n))
		return policy.Remedy{Inputs: &inputs}, nil
	},
}

var single = policy.Rule[policy.None]{
	Name: "single", Level: policy.Mandatory,
	Stack: func(_ context.Context, r policy.StackRequest[policy.None]) ([]policy.Violation, error) {
		if len(r.Resources) < 2 {
			return nil, nil
		}
		return []policy.Violation{
			{Message: "the stack " + r.Deployment.Stack + " has more than one resource"},
			{URN: r.Resources[1].URN, Message: "it is one too many"},
		}, nil
	},
}

func pack() policy.Pack {
	return policy.Pack{Name: "house", Version: "1.2.3", Policies: []policy.Policy{policy.Of(doubled), policy.Of(most), policy.Of(single)}}
}

func start(t *testing.T, rules ...abi.PolicyRuleConfig) abi.Policy {
	p, err := policy.New(pack())
	require.NoError(t, err)
	require.NoError(t, p.Configure(t.Context(), abi.PolicyConfigureRequest{Context: abi.RunContext{Stack: "dev"}, Rules: rules}))
	return p
}

func counting(n float64) abi.PolicyResource {
	return abi.PolicyResource{URN: "urn:pulumi:dev::p::a:b:C::c", Properties: property.NewMap(property.Entry{Key: "count", Value: property.Number(n)})}
}

var limit10 = property.NewMap(property.Entry{Key: "most", Value: property.Number(10)})

func TestHandshakeTellsThePolicies(t *testing.T) {
	p, err := policy.New(pack())
	require.NoError(t, err)
	answer, err := p.Handshake(t.Context(), abi.PolicyHandshakeRequest{})
	require.NoError(t, err)
	require.Equal(t, "house 1.2.3 "+policy.SDK, answer.Name+" "+answer.Version+" "+answer.SDK)
	require.Len(t, answer.Rules, 3)
	rule := answer.Rules[1]
	described, err := schemajson.Parse([]byte(rule.ConfigSchema))
	require.NoError(t, err)
	defaults, failures := described.Config.CheckConfig(property.Map{})
	require.Empty(t, failures)
	require.True(t, limit10.Equal(defaults))
	rule.ConfigSchema = ""
	require.Equal(t, abi.PolicyRule{
		Name: "most", Description: "Not too many.", Level: abi.PolicyLevelRemediate,
		Actions: abi.PolicyActionsRemediate | abi.PolicyActionsAnalyze,
	}, rule)
	require.Equal(t, abi.PolicyRule{Name: "single", Level: abi.PolicyLevelMandatory, Actions: abi.PolicyActionsAnalyzeStack}, answer.Rules[2])
}

// Policies correct in their order, each what the one before it made; those that have
// nothing to do are left out.
func TestRemediate(t *testing.T) {
	p := start(t,
		abi.PolicyRuleConfig{Name: "doubled", Level: abi.PolicyLevelRemediate},
		abi.PolicyRuleConfig{Name: "most", Level: abi.PolicyLevelRemediate, Properties: limit10})
	for _, test := range []struct {
		count float64
		want  []abi.PolicyRemediation
	}{
		{3, []abi.PolicyRemediation{{Rule: "doubled", Properties: counted(6)}}},
		{8, []abi.PolicyRemediation{
			{Rule: "doubled", Properties: counted(16)},
			{Rule: "most", Properties: counted(10), Message: "lowered"},
		}},
		{11, []abi.PolicyRemediation{
			{Rule: "doubled", Properties: counted(22)},
			{Rule: "most", Message: "it is more than twice too much"},
		}},
	} {
		answer, err := p.Remediate(t.Context(), abi.PolicyRemediateRequest{Resource: counting(test.count)})
		require.NoError(t, err)
		require.Equal(t, test.want, answer.Remediations)
	}
}

// counted returns the inputs of a resource with that count.
func counted(n float64) *property.Map {
	inputs := counting(n).Properties
	return &inputs
}

func TestLevelsSayWhoIsAsked(t *testing.T) {
	for level, want := range map[abi.PolicyLevel]struct{ corrects, judges bool }{
		abi.PolicyLevelAdvisory:  {false, true},
		abi.PolicyLevelMandatory: {false, true},
		abi.PolicyLevelRemediate: {true, true},
		abi.PolicyLevelDisabled:  {false, false},
	} {
		p := start(t, abi.PolicyRuleConfig{Name: "most", Level: level, Properties: limit10})
		corrected, err := p.Remediate(t.Context(), abi.PolicyRemediateRequest{Resource: counting(11)})
		require.NoError(t, err)
		require.Equal(t, want.corrects, len(corrected.Remediations) > 0, level.String())
		judged, err := p.Analyze(t.Context(), abi.PolicyAnalyzeRequest{Resource: counting(11)})
		require.NoError(t, err)
		require.Equal(t, want.judges, len(judged.Violations) > 0, level.String())
	}
}

func TestViolations(t *testing.T) {
	p := start(t, abi.PolicyRuleConfig{Name: "most", Properties: limit10}, abi.PolicyRuleConfig{Name: "single"})
	one, err := p.Analyze(t.Context(), abi.PolicyAnalyzeRequest{Resource: counting(11)})
	require.NoError(t, err)
	require.Equal(t, []abi.PolicyViolation{
		{Rule: "most", Path: "count", Message: "it is too much", URN: counting(11).URN},
	}, one.Violations)

	other := abi.PolicyResource{URN: "urn:pulumi:dev::p::a:b:C::d"}
	all, err := p.AnalyzeStack(t.Context(), abi.PolicyAnalyzeStackRequest{Resources: []abi.PolicyResource{counting(1), other}})
	require.NoError(t, err)
	require.Equal(t, []abi.PolicyViolation{
		{Rule: "single", Message: "the stack dev has more than one resource"},
		{Rule: "single", Message: "it is one too many", URN: other.URN},
	}, all.Violations)
	require.NoError(t, p.Cancel(t.Context()))
}

type logged []abi.LogEntry

func (l *logged) Write(_ context.Context, e abi.LogEntry) { *l = append(*l, e) }

func TestPolicyThatCannotJudge(t *testing.T) {
	p, err := policy.New(policy.Pack{Name: "house", Version: "1.0.0", Policies: []policy.Policy{policy.Of(policy.Rule[policy.None]{
		Name: "unsure",
		Resource: func(ctx context.Context, _ policy.ResourceRequest[policy.None]) ([]policy.Violation, error) {
			policy.Log(ctx).Warning("thinking")
			return nil, errors.New("too dark to see")
		},
	})}})
	require.NoError(t, err)
	require.NoError(t, p.Configure(t.Context(), abi.PolicyConfigureRequest{Rules: []abi.PolicyRuleConfig{{Name: "unsure"}}}))
	var log logged
	_, err = p.Analyze(policy.WithLog(t.Context(), &log), abi.PolicyAnalyzeRequest{Resource: counting(1)})
	require.EqualError(t, err, "the policy unsure: too dark to see")
	require.Equal(t, logged{{Severity: abi.LogSeverityWarning, Message: "thinking", URN: urn.URN("urn:pulumi:dev::p::a:b:C::c")}}, log)
}

func TestConfigurationMustFit(t *testing.T) {
	p, err := policy.New(pack())
	require.NoError(t, err)
	err = p.Configure(t.Context(), abi.PolicyConfigureRequest{Rules: []abi.PolicyRuleConfig{{Name: "other"}}})
	require.EqualError(t, err, "the pack house has no policy other")
	text := property.NewMap(property.Entry{Key: "most", Value: property.String("many")})
	err = p.Configure(t.Context(), abi.PolicyConfigureRequest{Rules: []abi.PolicyRuleConfig{{Name: "most", Properties: text}}})
	require.ErrorIs(t, err, abi.ErrInvalidArgument)
	require.ErrorContains(t, err, "the policy most: ")
}

func TestPacksThatAreNotWellFormed(t *testing.T) {
	judge := func(context.Context, policy.ResourceRequest[policy.None]) ([]policy.Violation, error) {
		return nil, nil
	}
	type rule = policy.Rule[policy.None]
	type untagged struct{ Most int }
	for want, policies := range map[string][]policy.Policy{
		"policy : it was not made by policy.Of":                      {{}},
		"policy : its name must not be empty":                        {policy.Of(rule{Resource: judge})},
		"policy all: its name stands for all policies":               {policy.Of(rule{Name: "all", Resource: judge})},
		"policy a: it has none of the functions":                     {policy.Of(rule{Name: "a"})},
		"policy a: its level is Remediate, but it has no function":   {policy.Of(rule{Name: "a", Level: policy.Remediate, Resource: judge})},
		"policy a: it is declared twice":                             {policy.Of(rule{Name: "a", Resource: judge}), policy.Of(rule{Name: "a", Resource: judge})},
		"policy a: configuration: untagged.Most: it has no husk tag": {policy.Of(policy.Rule[untagged]{Name: "a", Resource: func(context.Context, policy.ResourceRequest[untagged]) ([]policy.Violation, error) { return nil, nil }})},
	} {
		_, err := policy.New(policy.Pack{Name: "p", Version: "1.0.0", Policies: policies})
		require.ErrorContains(t, err, "policy pack p: "+want)
	}
	_, err := policy.New(policy.Pack{Name: "p"})
	require.EqualError(t, err, "policy pack p: its name and version must not be empty")
}
