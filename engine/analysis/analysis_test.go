package analysis_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/analysis"
	"github.com/husk-dev/husk/guest-sdk/policy"
)

type limits struct {
	Most int `husk:"most,min=1" doc:"The most."`
	Step int `husk:"step,default=5"`
}

// tell is a policy that says what it was given.
var tell = policy.Of(policy.Rule[limits]{Name: "most", Level: policy.Mandatory,
	Resource: func(_ context.Context, r policy.ResourceRequest[limits]) ([]policy.Violation, error) {
		text, _ := r.Resource.Properties.Get("key").Plain().AsString()
		return []policy.Violation{{Message: "with " + text + " it is " + text[:2] + ", at " + string(rune('0'+r.Config.Most)) + " and " + string(rune('0'+r.Config.Step))}}, nil
	}})

func number(n float64) property.Map {
	return property.NewMap(property.Entry{Key: "most", Value: property.Number(n)})
}

func level(l abi.PolicyLevel) *abi.PolicyLevel { return &l }

func open(t *testing.T, p abi.Policy, settings map[string]analysis.Setting) (*analysis.Panel, error) {
	return analysis.Open(t.Context(), []analysis.Pack{{Policy: p, Settings: settings}}, "husk", abi.RunContext{})
}

func TestSettings(t *testing.T) {
	for name, test := range map[string]struct {
		settings map[string]analysis.Setting
		level    abi.PolicyLevel
		fails    string
	}{
		"the pack's own level":    {settings: map[string]analysis.Setting{"most": {Properties: number(3)}}, level: abi.PolicyLevelMandatory},
		"all":                     {settings: map[string]analysis.Setting{"all": {Level: level(abi.PolicyLevelAdvisory)}, "most": {Properties: number(3)}}, level: abi.PolicyLevelAdvisory},
		"its own comes after all": {settings: map[string]analysis.Setting{"all": {Level: level(abi.PolicyLevelAdvisory)}, "most": {Properties: number(3), Level: level(abi.PolicyLevelMandatory)}}, level: abi.PolicyLevelMandatory},
		"disabled policies need no configuration": {settings: map[string]analysis.Setting{"most": {Level: level(abi.PolicyLevelDisabled)}}, level: abi.PolicyLevelDisabled},
		"missing property":                        {fails: `configuration of the policy most of house 1.0.0: most: `},
		"out of bounds":                           {settings: map[string]analysis.Setting{"most": {Properties: number(0)}}, fails: "most: must be at least 1"},
		"unknown property":                        {settings: map[string]analysis.Setting{"most": {Properties: number(3).With("leats", property.Number(1))}}, fails: "leats"},
		"unknown policy":                          {settings: map[string]analysis.Setting{"mots": {}}, fails: "the policy pack house 1.0.0: it has no policy mots; did you mean most?"},
		"nothing near":                            {settings: map[string]analysis.Setting{"tags": {}}, fails: "it has no policy tags; it has most"},
		"properties of all":                       {settings: map[string]analysis.Setting{"all": {Properties: number(3)}}, fails: "all can have a level and nothing else"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := policy.New(policy.Pack{Name: "house", Version: "1.0.0", Policies: []policy.Policy{tell}})
			require.NoError(t, err)
			panel, err := open(t, p, test.settings)
			if test.fails != "" {
				require.ErrorContains(t, err, test.fails)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.level, panel.Packs()[0].Rules[0].Level)
			found, err := panel.Analyze(t.Context(), abi.PolicyResource{
				Properties: property.NewMap(property.Entry{Key: "key", Value: property.Secret(property.String("open sesame"))}),
			})
			require.NoError(t, err)
			if test.level == abi.PolicyLevelDisabled {
				require.Empty(t, found)
				return
			}
			require.Equal(t, []analysis.Violation{{
				Source: analysis.Source{Pack: "house", Version: "1.0.0", Policy: "most"}, Mandatory: test.level == abi.PolicyLevelMandatory,
				Message: "with [secret] it is op, at 3 and 5",
			}}, found, "secrets are taken out")
		})
	}
}

// Secrets are taken out of messages, wherever packs were told of them; a message that
// quotes one holds the longest first, as others may be parts of it.
func TestSecretsInMessages(t *testing.T) {
	secret := func(text string) property.Map {
		return property.NewMap(property.Entry{Key: "key", Value: property.Secret(property.Array(property.String(text)))})
	}
	quoting := canned{
		who: house(corrector),
		analyzed: abi.PolicyAnalyzeResponse{Violations: []abi.PolicyViolation{
			{Rule: "corrector", Message: "inputs, inputs of old, provider, config, and abc"},
		}},
		remediated: abi.PolicyRemediateResponse{Remediations: []abi.PolicyRemediation{{Rule: "corrector", Message: "inputs"}}},
	}
	panel, err := analysis.Open(t.Context(), []analysis.Pack{{Policy: quoting}}, "husk", abi.RunContext{
		Config: []abi.ConfigEntry{{Key: "a:b", Value: "config", Secret: true}, {Key: "a:c", Value: "and"}},
	})
	require.NoError(t, err)
	r := abi.PolicyResource{
		Properties: property.NewMap(
			property.Entry{Key: "all", Value: property.Secret(property.String("inputs of old"))},
			property.Entry{Key: "part", Value: property.Secret(property.String("inputs"))},
			property.Entry{Key: "short", Value: property.Secret(property.String("abc"))}),
		Provider: &abi.PolicyProviderResource{Properties: secret("provider")},
	}
	found, err := panel.Analyze(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, "[secret], [secret], [secret], [secret], and abc", found[0].Message)
	_, unable, err := panel.Remediate(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, "it could not be corrected: [secret]", unable[0].Message)
}

func TestNoPacks(t *testing.T) {
	panel, err := analysis.Open(t.Context(), nil, "husk", abi.RunContext{})
	require.NoError(t, err)
	require.Nil(t, panel.Packs())
	require.False(t, panel.AsksAboutStacks())
	require.NoError(t, panel.Cancel(t.Context()))
	found, err := panel.Analyze(t.Context(), abi.PolicyResource{})
	require.NoError(t, err)
	require.Empty(t, found)
}

// canned returns what a test says.
type canned struct {
	abi.Policy
	who        abi.PolicyHandshakeResponse
	remediated abi.PolicyRemediateResponse
	analyzed   abi.PolicyAnalyzeResponse
}

func (c canned) Handshake(context.Context, abi.PolicyHandshakeRequest) (abi.PolicyHandshakeResponse, error) {
	return c.who, nil
}
func (c canned) Configure(context.Context, abi.PolicyConfigureRequest) error { return nil }
func (c canned) Remediate(context.Context, abi.PolicyRemediateRequest) (abi.PolicyRemediateResponse, error) {
	return c.remediated, nil
}
func (c canned) Analyze(context.Context, abi.PolicyAnalyzeRequest) (abi.PolicyAnalyzeResponse, error) {
	return c.analyzed, nil
}

func house(rules ...abi.PolicyRule) abi.PolicyHandshakeResponse {
	return abi.PolicyHandshakeResponse{Name: "house", Version: "1.0.0", Rules: rules}
}

var (
	doesAll   = abi.PolicyActionsRemediate | abi.PolicyActionsAnalyze
	corrector = abi.PolicyRule{Name: "corrector", Level: abi.PolicyLevelRemediate, Actions: doesAll}
	adviser   = abi.PolicyRule{Name: "adviser", Level: abi.PolicyLevelAdvisory, Actions: doesAll}
	sleeper   = abi.PolicyRule{Name: "sleeper", Level: abi.PolicyLevelDisabled, Actions: doesAll}
)

func TestPacksThatBreakTheContract(t *testing.T) {
	violated := func(v abi.PolicyViolation) abi.PolicyAnalyzeResponse {
		return abi.PolicyAnalyzeResponse{Violations: []abi.PolicyViolation{v}}
	}
	corrected := func(rule string) abi.PolicyRemediateResponse {
		return abi.PolicyRemediateResponse{Remediations: []abi.PolicyRemediation{{Rule: rule, Properties: &property.Map{}}}}
	}
	for want, pack := range map[string]canned{
		"it has no name":                                      {},
		`"all" is not a valid name for a policy`:              {who: house(abi.PolicyRule{Name: "all"})},
		"it has two policies adviser":                         {who: house(adviser, adviser)},
		"its schema cannot be read":                           {who: house(abi.PolicyRule{Name: "a", ConfigSchema: "{"})},
		`house 1.0.0 answers for a policy "b"`:                {who: house(adviser), analyzed: violated(abi.PolicyViolation{Rule: "b"})},
		"adviser of house 1.0.0 has a violation of urn:other": {who: house(adviser), analyzed: violated(abi.PolicyViolation{Rule: "adviser", URN: "urn:other"})},
		"adviser of house 1.0.0 corrects resources, but its":  {who: house(corrector, adviser), remediated: corrected("adviser")},
		`answers for a policy "c", which it does not have`:    {who: house(corrector), remediated: corrected("c")},
	} {
		t.Run(want, func(t *testing.T) {
			panel, err := open(t, pack, nil)
			r := abi.PolicyResource{URN: "urn:asked"}
			if err == nil {
				_, _, err = panel.Remediate(t.Context(), r)
			}
			if err == nil {
				_, err = panel.Analyze(t.Context(), r)
			}
			require.ErrorContains(t, err, want)
		})
	}
}

// A pack that forgets which of its policies are disabled is not heard about them.
func TestDisabledPoliciesAreNotHeard(t *testing.T) {
	panel, err := open(t, canned{who: house(adviser, sleeper), analyzed: abi.PolicyAnalyzeResponse{Violations: []abi.PolicyViolation{
		{Rule: "sleeper", Message: "hm"}, {Rule: "adviser", Message: "look"},
	}}}, nil)
	require.NoError(t, err)
	found, err := panel.Analyze(t.Context(), abi.PolicyResource{})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "look", found[0].Message)
}
