package program

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/analysis"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/projectroot"
)

func leveled(l abi.PolicyLevel, properties ...property.Entry) analysis.Setting {
	return analysis.Setting{Level: &l, Properties: property.NewMap(properties...)}
}

func TestPoliciesOfAProject(t *testing.T) {
	p := project(t, `
name: shop
policies:
  - packs/short
  - path: packs/long.wasm
    config:
      all: advisory
      tags: {enforcementLevel: mandatory, required: [owner], most: 3}
      names: {pattern: "${x}"}
`)
	require.Equal(t, PolicyPack{Path: "packs/short", Position: source.Position{Line: 4, Column: 5}}, p.Policies[0])
	require.Equal(t, "packs/long.wasm", p.Policies[1].Path)
	require.Equal(t, map[string]analysis.Setting{
		"all": leveled(abi.PolicyLevelAdvisory),
		"tags": leveled(abi.PolicyLevelMandatory,
			property.Entry{Key: "required", Value: property.Array(property.String("owner"))},
			property.Entry{Key: "most", Value: property.Number(3)}),
		"names": {Properties: property.NewMap(property.Entry{Key: "pattern", Value: property.String("${x}")})},
	}, p.Policies[1].Settings)

	for text, want := range map[string]string{
		"policies: house":                            "Husk.yaml:2:11: policies must be a list, not text",
		"policies: [{}]":                             "Husk.yaml:2:12: the policy pack has no path",
		"policies: [{paht: x}]":                      `Husk.yaml:2:13: unknown key "paht" in a policy pack`,
		"policies: [{path: x, config: {a: strict}}]": `Husk.yaml:2:34: "strict" is not a level of a policy: the levels are advisory, mandatory, remediate, and disabled`,
		"policies: [{path: x, config: {a: {enforcementLevel: [1]}}}]": "the level of a policy must be text",
		"policies: [{path: x, config: [1]}]":                          "the configuration of a policy pack is a mapping",
		"plugins: {analyzers: [{name: p, path: x}]}":                  "plugins.analyzers are not supported, so nothing would be held to them",
	} {
		_, err := ParseProject(t.Context(), projectroot.New("/work", projectroot.Trusted), "Husk.yaml", []byte("name: shop\n"+text))
		require.ErrorContains(t, err, want)
	}
	require.Contains(t, project(t, "name: shop\nplugins: {analyzers: []}").Warnings.Error(), "list policy packs under policies")
}

// Pulumi's files are JSON, whatever it is indented with.
func TestPolicySettingsOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	write("{\n\t\"all\": \"disabled\",\n\t\"tags\": {\n\t\t\"enforcementLevel\": \"remediate\",\n\t\t\"required\": [\"a\\tb\"]\n\t}\n}\n")
	settings, err := ReadPolicySettings(path)
	require.NoError(t, err)
	require.Equal(t, map[string]analysis.Setting{
		"all":  leveled(abi.PolicyLevelDisabled),
		"tags": leveled(abi.PolicyLevelRemediate, property.Entry{Key: "required", Value: property.Array(property.String("a\tb"))}),
	}, settings)

	write("tags: mandatory\n")
	settings, err = ReadPolicySettings(path)
	require.NoError(t, err)
	require.Equal(t, map[string]analysis.Setting{"tags": leveled(abi.PolicyLevelMandatory)}, settings)

	write("")
	settings, err = ReadPolicySettings(path)
	require.NoError(t, err)
	require.Empty(t, settings)

	write("tags: strict\n")
	_, err = ReadPolicySettings(path)
	require.ErrorContains(t, err, `config.json:1:7: "strict" is not a level of a policy`)
	_, err = ReadPolicySettings(path + ".missing")
	require.ErrorContains(t, err, "cannot read the configuration of a policy pack")
}
