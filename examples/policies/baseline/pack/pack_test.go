package pack_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/analysis"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/examples/policies/baseline/pack"
	"github.com/husk-dev/husk/guest-sdk/policy"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

const bucket = "aws:s3/bucket:Bucket"

// resource returns one that is judged, with these inputs or outputs.
func resource(typ, name string, properties pt.Object) abi.PolicyResource {
	return abi.PolicyResource{
		URN: urn.New("dev", "shop", "", typ, name), Type: typ, Name: name, Custom: true, Properties: pt.MapOf(properties),
	}
}

// panel returns the pack as the engine asks it.
func panel(t *testing.T, p abi.Policy, settings map[string]analysis.Setting) *analysis.Panel {
	asked, err := analysis.Open(t.Context(), []analysis.Pack{{Policy: p, Settings: settings}}, "test", abi.RunContext{})
	require.NoError(t, err)
	return asked
}

func native(t *testing.T) abi.Policy {
	p, err := policy.New(pack.New())
	require.NoError(t, err)
	return p
}

// only configures one policy, and disables the others.
func only(name string, level abi.PolicyLevel, properties pt.Object) map[string]analysis.Setting {
	disabled := abi.PolicyLevelDisabled
	return map[string]analysis.Setting{"all": {Level: &disabled}, name: {Level: &level, Properties: pt.MapOf(properties)}}
}

// found returns the violations, as path and message.
func found(violations []analysis.Violation) []string {
	var out []string
	for _, v := range violations {
		out = append(out, v.URN.Name()+" "+v.Path+": "+v.Message)
	}
	return out
}

func TestRequiredTags(t *testing.T) {
	config := pt.Object{"required": []string{"owner", "team"}, "values": pt.Object{"team": "blue"}}
	typed := pt.With(config, pt.Object{"types": []string{"aws:*"}})
	for name, test := range map[string]struct {
		config   pt.Object
		resource abi.PolicyResource
		tags     pt.Object // after the correction, nil for none
		want     []string
	}{
		"complete":           {config, resource(bucket, "a", pt.Object{"tags": pt.Object{"owner": "me", "team": "red"}}), nil, nil},
		"one is added":       {config, resource(bucket, "a", pt.Object{"tags": pt.Object{"owner": "me"}}), pt.Object{"owner": "me", "team": "blue"}, nil},
		"one cannot be":      {config, resource(bucket, "a", pt.Object{"tags": pt.Object{}}), pt.Object{"team": "blue"}, []string{"a tags: it lacks the tag owner: add it"}},
		"no tags":            {config, resource(bucket, "a", nil), nil, nil},
		"no tags, but asked": {typed, resource(bucket, "a", nil), pt.Object{"team": "blue"}, []string{"a tags: it lacks the tag owner: add it"}},
		"another package":    {typed, resource("gcp:s:Bucket", "a", pt.Object{"tags": pt.Object{}}), nil, nil},
		"not known yet":      {config, resource(bucket, "a", pt.Object{"tags": property.Unknown}), nil, nil},
		"another property": {pt.With(config, pt.Object{"property": "labels"}), resource(bucket, "a", pt.Object{"labels": pt.Object{"owner": "me"}}),
			pt.Object{"owner": "me", "team": "blue"}, nil},
		"the engine's own": {config, resource("pulumi:providers:aws", "default", pt.Object{"tags": pt.Object{}}), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := panel(t, native(t), only("required-tags", abi.PolicyLevelRemediate, test.config))
			made, unable, err := p.Remediate(t.Context(), test.resource)
			require.NoError(t, err)
			require.Empty(t, unable)
			if test.tags == nil {
				require.Empty(t, made)
			} else {
				require.Equal(t, "added team", made[0].Message)
				test.resource.Properties = made[0].After
				key := "tags"
				if test.config["property"] != nil {
					key = "labels"
				}
				require.True(t, pt.Of(test.tags).Equal(made[0].After.Get(key)))
			}
			violations, err := p.Analyze(t.Context(), test.resource)
			require.NoError(t, err)
			require.Equal(t, test.want, found(violations))
		})
	}
}

func TestSecretTagsStaySecret(t *testing.T) {
	p := panel(t, native(t), only("required-tags", abi.PolicyLevelRemediate, pt.Object{"values": pt.Object{"team": "blue"}}))
	made, _, err := p.Remediate(t.Context(), resource(bucket, "a", pt.Object{"tags": property.Secret(pt.Of(pt.Object{"owner": "me"}))}))
	require.NoError(t, err)
	require.True(t, property.Secret(pt.Of(pt.Object{"owner": "me", "team": "blue"})).Equal(made[0].After.Get("tags")))
}

func TestSecretProperties(t *testing.T) {
	const message = ": it is passed in plain text: make it a secret"
	secret := property.Secret(property.String("x"))
	for name, test := range map[string]struct {
		config, inputs pt.Object
		want           []string
	}{
		"plain":         {nil, pt.Object{"dbPassword": "x", "size": 1}, []string{"a dbPassword" + message}},
		"secret":        {nil, pt.Object{"dbPassword": secret}, nil},
		"nested":        {nil, pt.Object{"users": pt.List{pt.Object{"apiToken": "x"}}}, []string{"a users[0].apiToken" + message}},
		"in a secret":   {nil, pt.Object{"users": property.Secret(pt.Of(pt.List{pt.Object{"apiToken": "x"}}))}, nil},
		"not known yet": {nil, pt.Object{"dbPassword": property.Unknown}, nil},
		"other names":   {pt.Object{"names": []string{"PIN"}}, pt.Object{"dbPassword": "x", "pin": "1"}, []string{"a pin" + message}},
		"excepted":      {pt.Object{"except": []string{bucket}}, pt.Object{"dbPassword": "x"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := panel(t, native(t), only("secret-properties", abi.PolicyLevelMandatory, test.config))
			violations, err := p.Analyze(t.Context(), resource(bucket, "a", test.inputs))
			require.NoError(t, err)
			require.Equal(t, test.want, found(violations))
		})
	}

	p := panel(t, native(t), only("secret-properties", abi.PolicyLevelMandatory, nil))
	violations, err := p.AnalyzeStack(t.Context(), []abi.PolicyResource{
		resource(urn.RootType, "shop-dev", pt.Object{"token": "x", "url": "y"}),
		resource(bucket, "a", pt.Object{"token": "x"}),
	})
	require.NoError(t, err)
	require.Equal(t, []string{
		"shop-dev token: the output is in plain text: make it a secret",
		"a token: the output is in plain text: list it under additionalSecretOutputs",
	}, found(violations))
}

func TestNaming(t *testing.T) {
	for name, test := range map[string]struct {
		config pt.Object
		name   string
		want   string
	}{
		"as it should be": {nil, "web-1", ""},
		"capitals":        {nil, "Web", "its name does not match ^[a-z][a-z0-9-]*$"},
		"too long":        {pt.Object{"longest": 3}, "web-1", "its name has 5 characters, and at most 3 are allowed"},
		"another pattern": {pt.Object{"pattern": "^[A-Z]+$"}, "WEB", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := panel(t, native(t), only("naming", abi.PolicyLevelAdvisory, test.config))
			violations, err := p.Analyze(t.Context(), resource(bucket, test.name, nil))
			require.NoError(t, err)
			if test.want == "" {
				require.Empty(t, violations)
				return
			}
			require.Equal(t, []string{test.name + " : " + test.want}, found(violations))
		})
	}
	p := panel(t, native(t), only("naming", abi.PolicyLevelAdvisory, pt.Object{"pattern": "("}))
	_, err := p.Analyze(t.Context(), resource(bucket, "a", nil))
	require.ErrorContains(t, err, "baseline 0.1.0: analyze: the policy naming: error parsing regexp")
}

// The pack returns the same as a module in the host and in a program.
func TestModule(t *testing.T) {
	module := testmodule.Load(t, "..", host.NewConfig())
	asModule, err := module.NewPolicy(t.Context(), host.PolicyOptions{Name: "baseline", Instances: 2})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, asModule.Close()) })
	inProgram := native(t)

	settings := map[string]analysis.Setting{"required-tags": {Properties: pt.MapOf(pt.Object{
		"required": []string{"owner", "team"}, "values": pt.Object{"team": "blue"},
	})}}
	var panels [2]*analysis.Panel
	for i, p := range []abi.Policy{asModule, inProgram} {
		require.NoError(t, panel(t, p, nil).Cancel(t.Context())) // as after a preview
		panels[i] = panel(t, p, settings)
	}
	require.Equal(t, panels[1].Packs(), panels[0].Packs())

	yes := true
	full := resource(bucket, "Data", pt.Object{
		"tags": pt.Object{}, "password": "x", "key": property.Secret(property.String("k")), "later": property.Unknown,
		"page":  property.AssetOf(property.Asset{Source: property.SourceText, Text: "hello"}),
		"other": property.Reference(property.ResourceReference{URN: "urn:pulumi:dev::shop::a:b:C::c", HasID: true, ID: "1"}),
	})
	full.ID, full.Parent = "data-1", "urn:pulumi:dev::shop::pulumi:pulumi:Stack::shop-dev"
	full.Dependencies = []urn.URN{full.Parent}
	full.PropertyDependencies = []abi.PropertyDependency{{Key: "tags", URNs: full.Dependencies}}
	full.Options = abi.ResourceOptions{Protect: &yes, IgnoreChanges: []string{"tags.x"}, Version: "1.0.0"}
	full.Provider = &abi.PolicyProviderResource{URN: "urn:pulumi:dev::shop::pulumi:providers:aws::default", Type: "pulumi:providers:aws", Name: "default",
		Properties: pt.MapOf(pt.Object{"region": "eu"})}
	for _, r := range []abi.PolicyResource{full, resource(bucket, "fine", nil), resource(urn.RootType, "shop-dev", pt.Object{"token": "x"})} {
		var made [2][]analysis.Remediation
		var violations, whole [2][]analysis.Violation
		for i, p := range panels {
			var err error
			made[i], _, err = p.Remediate(t.Context(), r)
			require.NoError(t, err)
			violations[i], err = p.Analyze(t.Context(), r)
			require.NoError(t, err)
			whole[i], err = p.AnalyzeStack(t.Context(), []abi.PolicyResource{r})
			require.NoError(t, err)
		}
		require.Equal(t, violations[1], violations[0])
		require.Equal(t, whole[1], whole[0])
		require.Len(t, made[0], len(made[1]))
		for i, m := range made[1] {
			require.True(t, m.After.Equal(made[0][i].After), "what it did not touch comes back as it was")
			require.True(t, m.After.Without("tags").Equal(r.Properties.Without("tags")))
		}
	}
	require.NotEmpty(t, panels[0].Packs()[0].Rules)

	_, err = module.NewProvider(t.Context(), host.ProviderOptions{Name: "baseline"})
	require.EqualError(t, err, "the module is a policy pack, and not a provider")
}
