package pulumiplugin_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/internal/pulumi/pulumigrpc"
	"github.com/husk-dev/husk/internal/pulumi/pulumiplugin"
	"github.com/husk-dev/husk/internal/pulumi/pulumiwire"
)

// policyPack is the argument by which this program is a policy pack.
const policyPack = "a policy pack"

// bounds has a property for each kind of bound.
const bounds = `{
	"choice": {"enum": ["a", "b"]}, "one": {"const": 1}, "either": {"type": ["integer", "null"]},
	"even": {"exclusiveMinimum": 0, "exclusiveMaximum": 10, "multipleOf": 2},
	"name": {"minLength": 2, "maxLength": 4, "pattern": "^[a-zä]+$"}, "ahead": {"pattern": "(?=x)"},
	"list": {"minItems": 1, "maxItems": 2, "items": {"type": "boolean"}},
	"nested": {"type": "object", "properties": {"text": {"type": "string"}}}
}`

func entry(key string, v property.Value) property.Map {
	return property.NewMap(property.Entry{Key: key, Value: v})
}

// servePolicyPack serves a policy pack until it is interrupted. Its one policy finds what the properties of a resource say.
func servePolicyPack() {
	s, err := pulumigrpc.Listen(0)
	if err != nil {
		panic(err)
	}
	var level string
	s.Serve(pulumigrpc.Analyzer, map[string]pulumigrpc.Method{
		"GetAnalyzerInfo": func(_ context.Context, _, out pulumiwire.Message) error {
			out.Set("name", "house")
			out.Set("version", "1.0.0")
			policy := out.Add("policies")
			policy.Set("name", "told")
			policy.SetEnum("enforcementLevel", 0)
			described := policy.Make("configSchema")
			properties, err := schemajson.Value([]byte(bounds))
			if err != nil {
				return err
			}
			bounded, _ := properties.AsObject()
			described.SetProperties("properties", bounded.With("size", property.Object(entry("maximum", property.Number(3)))))
			described.SetTexts("required", []string{"size"})
			initial := out.MakeEntry("initialConfig", "told")
			initial.SetEnum("enforcementLevel", 1)
			initial.SetProperties("properties", entry("size", property.Number(2)))
			return nil
		},
		"Configure": func(_ context.Context, in, _ pulumiwire.Message) error {
			config := in.MakeEntry("policyConfig", "told")
			properties, err := config.Properties("properties")
			level = fmt.Sprint(config.Enum("enforcementLevel"), " ", properties.Get("size"))
			return err
		},
		"Analyze": func(_ context.Context, in, out pulumiwire.Message) error {
			properties, err := in.Properties("properties")
			for key, v := range properties.All() {
				if v.Equal(property.String("exit")) {
					fmt.Fprintln(os.Stderr, "it cannot go on")
					os.Exit(1)
				}
				found := out.Add("diagnostics")
				found.Set("policyName", "told")
				found.Set("description", "About it.")
				found.Set("message", "About it.\n"+os.Getenv("STACK")+" "+level+" "+key)
				if key != "unknown" {
					found.SetEnum("enforcementLevel", 1)
				}
			}
			return err
		},
		"AnalyzeStack": func(_ context.Context, in, out pulumiwire.Message) error {
			found := out.Add("diagnostics")
			found.Set("policyName", "told")
			found.SetEnum("enforcementLevel", 1)
			found.Set("message", fmt.Sprint(len(in.Messages("resources"))))
			found.Set("urn", "urn:of:nothing")
			return nil
		},
	})
	fmt.Println(s.Address[len("127.0.0.1:"):])
	select {}
}

// A policy pack is asked over Pulumi's protocol: its program may set levels and values of its policies, advice of a policy that
// demands is a warning, and another run has another process.
func TestPolicyPack(t *testing.T) {
	var mu sync.Mutex
	var warnings []string
	p := pulumiplugin.OpenPolicy(pulumiplugin.PolicyOptions{
		Dir: t.TempDir(), Version: "2.0.0", Run: abi.RunContext{Stack: "dev", DryRun: true},
		Command: func(run abi.RunContext, _ string) *exec.Cmd {
			self, err := os.Executable()
			require.NoError(t, err)
			cmd := exec.Command(self, policyPack)
			cmd.Env = append(os.Environ(), "STACK="+run.Stack)
			return cmd
		},
		Log: func(e abi.LogEntry) {
			if mu.Lock(); e.Severity == abi.LogSeverityWarning {
				warnings = append(warnings, e.Message)
			}
			mu.Unlock()
		},
	})
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	is, err := p.Handshake(t.Context(), abi.PolicyHandshakeRequest{})
	require.NoError(t, err)
	require.Equal(t, "house 2.0.0", is.Name+" "+is.Version)
	require.Equal(t, abi.PolicyLevelMandatory, is.Rules[0].Level)
	require.Equal(t, abi.PolicyActionsRemediate|abi.PolicyActionsAnalyze|abi.PolicyActionsAnalyzeStack, is.Rules[0].Actions)
	require.NotContains(t, is.Rules[0].ConfigSchema, `"requiredInputs":["size"]`, "the program has given it")

	configure := func(stack string, level abi.PolicyLevel, properties property.Map) error {
		return p.Configure(t.Context(), abi.PolicyConfigureRequest{
			Context: abi.RunContext{Stack: stack}, Rules: []abi.PolicyRuleConfig{{Name: "told", Level: level, Properties: properties}},
		})
	}
	require.ErrorContains(t, configure("dev", abi.PolicyLevelMandatory, entry("size", property.Number(4))), "the policy told: size: it breaks the bound maximum: 3")
	for config, problem := range map[string]string{
		`{"choice": "b", "one": 1, "either": 1, "even": 8, "name": "ää", "list": [true], "nested": {"text": "", "more": 1}}`: "",
		`{"either": null, "list": [true, false], "name": "abcd"}`:                                                            "",
		`{"choice": "c"}`:           "choice: it is not one of the 2 values",
		`{"one": 2}`:                "one: it is not the one value",
		`{"either": 1.5}`:           "either: it must be of the type [integer null]",
		`{"even": 0}`:               "even: it breaks the bound exclusiveMinimum: 0",
		`{"even": 10}`:              "even: it breaks the bound exclusiveMaximum: 10",
		`{"even": 3}`:               "even: it breaks the bound multipleOf: 2",
		`{"name": "ä"}`:             "name: it breaks the bound minLength: 2",
		`{"name": "abcde"}`:         "name: it breaks the bound maxLength: 4",
		`{"name": "A1"}`:            "name: it does not match ^[a-zä]+$",
		`{"ahead": "x"}`:            "ahead: the policy's pattern for it cannot be read",
		`{"list": []}`:              "list: it breaks the bound minItems: 1",
		`{"list": [true, 1]}`:       "list: [1]: it must be of the type [boolean]",
		`{"nested": {"text": 1}}`:   "nested: text: it must be of the type [string]",
		`{"list": [true, true, 1]}`: "list: it breaks the bound maxItems: 2",
	} {
		v, err := schemajson.Value([]byte(config))
		require.NoError(t, err)
		properties, _ := v.AsObject()
		if err = configure("dev", abi.PolicyLevelMandatory, properties); problem == "" {
			require.NoError(t, err, config)
		} else {
			require.ErrorContains(t, err, "the configuration of the policy told: "+problem)
		}
	}
	for _, stack := range []string{"dev", "prod"} {
		require.NoError(t, configure(stack, abi.PolicyLevelMandatory, property.Map{}))
		found, err := p.Analyze(t.Context(), abi.PolicyAnalyzeRequest{Resource: abi.PolicyResource{URN: "urn:a", Properties: entry("known", property.Number(1))}})
		require.NoError(t, err)
		require.Equal(t, []abi.PolicyViolation{{Rule: "told", Message: stack + " 1 2 known", URN: "urn:a"}}, found.Violations)
	}
	found, err := p.Analyze(t.Context(), abi.PolicyAnalyzeRequest{Resource: abi.PolicyResource{Properties: entry("unknown", property.Unknown)}})
	require.NoError(t, err)
	require.Empty(t, found.Violations)
	require.Equal(t, []string{"prod 1 2 unknown"}, warnings)
	found, err = p.AnalyzeStack(t.Context(), abi.PolicyAnalyzeStackRequest{Resources: make([]abi.PolicyResource, 2)})
	require.NoError(t, err)
	require.Equal(t, []abi.PolicyViolation{{Rule: "told", Message: "2"}}, found.Violations, "it is about no resource of the stack")
	require.NoError(t, p.Cancel(t.Context()), "older SDKs lack it")

	_, err = p.Analyze(t.Context(), abi.PolicyAnalyzeRequest{Resource: abi.PolicyResource{Properties: entry("what", property.String("exit"))}})
	require.Equal(t, abi.ErrorKindCrashed, abi.AsError(err).Kind)
	require.ErrorContains(t, err, "it cannot go on")
}
