package programtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/pulumi/pulumiprogram/sdktest"
)

// packInNode has a policy of each kind.
var packInNode = map[string]string{
	"PulumiPolicy.yaml": "description: Rules of the house.\nruntime: nodejs\nversion: 2.0.0\n",
	"package.json":      `{"name": "house", "version": "0.1.0", "main": "index.ts"}`,
	"index.ts": `import * as pulumi from "@pulumi/pulumi";
import { PolicyPack, remediateResourceOfType, validateResourceOfType } from "@pulumi/policy";
import * as random from "@pulumi/random";

new PolicyPack("house", {
  enforcementLevel: "mandatory",
  policies: [{
    name: "short", description: "Names are short.",
    configSchema: { properties: { longest: { type: "integer", minimum: 1, default: 3 } } },
    validateResource: validateResourceOfType(random.RandomPet, (pet, args, report) => {
      const { longest } = args.getConfig<{ longest: number }>();
      if (pet.length! > longest) report("it has " + pet.length + " words in " + pulumi.getStack() + ", and at most " + longest + " are allowed");
    }),
  }, {
    name: "prefix", description: "Pets have a prefix.", enforcementLevel: "remediate",
    remediateResource: remediateResourceOfType(random.RandomPet, pet => pet.prefix ? undefined : { ...pet, prefix: "my" }),
  }, {
    name: "separator", description: "Separators are known.",
    validateResource: validateResourceOfType(random.RandomPet, (pet, args, report) => {
      if (pet.separator === "/") report("the separator is a slash");
    }),
  }, {
    name: "few", description: "There are few pets.", enforcementLevel: "advisory",
    validateStack: (args, report) => {
      const pets = args.resources.filter(r => r.isType(random.RandomPet));
      if (pets.length > 1) report("there are " + pets.length, pets[1].urn);
    },
  }],
});
`,
}

// packInPython is the same in Python.
var packInPython = map[string]string{
	"PulumiPolicy.yaml": "description: Rules of the house.\nruntime: {name: python, options: {virtualenv: venv}}\nversion: 2.0.0\n",
	"__main__.py": `import pulumi
from pulumi_policy import (EnforcementLevel, PolicyConfigSchema, PolicyPack, ResourceValidationPolicy, StackValidationPolicy)

PET = "random:index/randomPet:RandomPet"


def short(args, report):
    longest = args.get_config()["longest"]
    if args.resource_type == PET and args.props["length"] > longest:
        report(f"it has {int(args.props['length'])} words in {pulumi.get_stack()}, and at most {int(longest)} are allowed")


def prefix(args):
    if args.resource_type == PET and "prefix" not in args.props:
        return {**args.props, "prefix": "my"}


def separator(args, report):
    if args.resource_type == PET and args.props["separator"] == "/":
        report("the separator is a slash")


def few(args, report):
    pets = [r for r in args.resources if r.resource_type == PET]
    if len(pets) > 1:
        report(f"there are {len(pets)}", pets[1].urn)


PolicyPack(
    name="house",
    enforcement_level=EnforcementLevel.MANDATORY,
    policies=[
        ResourceValidationPolicy("short", "Names are short.", short, config_schema=PolicyConfigSchema(
            properties={"longest": {"type": "integer", "minimum": 1, "default": 3}})),
        ResourceValidationPolicy("prefix", "Pets have a prefix.", remediate=prefix, enforcement_level=EnforcementLevel.REMEDIATE),
        ResourceValidationPolicy("separator", "Separators are known.", separator),
        StackValidationPolicy("few", "There are few pets.", few, enforcement_level=EnforcementLevel.ADVISORY),
    ],
)
`,
}

// A policy pack of Pulumi's SDKs judges as one that is a module does.
func TestPolicyPacksOfPulumi(t *testing.T) {
	for _, runtime := range []string{"nodejs", "python"} {
		t.Run(runtime, func(t *testing.T) {
			link, files, linked := "node_modules", packInNode, ""
			if runtime == "python" {
				link, files, linked = "venv", packInPython, sdktest.Python(t)
			} else {
				linked = sdktest.Node(t)
			}
			p := newProject(t, "yaml")
			p.folder("house", files)
			require.NoError(t, os.Symlink(linked, filepath.Join(p.dir, "house", link)))
			base := p.read("Pulumi.yaml")
			write := func(config, resources string) {
				t.Helper()
				p.write("Pulumi.yaml", base+"policies: [{path: house, config: {"+config+"}}]\nresources:\n"+resources)
			}
			var warnings []string
			p.said = func(d engine.Diagnostic) {
				if d.Severity == "warning" {
					warnings = append(warnings, d.Message)
				}
			}
			const pets = "  one: {type: \"random:RandomPet\", properties: {length: 2}}\n" +
				"  two: {type: \"random:RandomPet\", properties: {length: 2, prefix: a, separator: \"${one.id}\"}}\n"

			write("", pets)
			var loaded []engine.PolicyPackLoaded
			var advice []engine.PolicyViolated
			o := p.options()
			o.Events = func(e engine.Event) {
				switch e := e.(type) {
				case engine.PolicyPackLoaded:
					loaded = append(loaded, e)
				case engine.PolicyViolated:
					advice = append(advice, e)
				case engine.Diagnostic:
					p.said(e)
				}
			}
			_, err := p.stack().Preview(t.Context(), engine.Up{}, o)
			require.NoError(t, err, p.text.String())
			require.Equal(t, "house 2.0.0", loaded[0].Name+" "+loaded[0].Version)
			require.Equal(t, engine.PolicyInfo{Name: "short", Level: "mandatory", Description: "Names are short."}, loaded[0].Policies[0])
			require.Equal(t, "it is a program for the runtime "+runtime+", which runs without a sandbox and with your rights", warnings[0])
			require.True(t, slices.ContainsFunc(warnings, func(s string) bool {
				return strings.HasPrefix(s, "can't run policy 'separator'")
			}), "the separator is not known: %v", warnings)
			require.Len(t, advice, 1)
			require.Equal(t, "there are 2", advice[0].Message)
			require.Equal(t, "two", advice[0].URN.Name())

			require.Equal(t, 3, p.up().Create)
			require.Contains(t, p.text.String(), "corrected by prefix: Pets have a prefix.")
			prefix, _ := p.recorded("one").Inputs.Get("prefix").Plain().AsString()
			require.Equal(t, "my", prefix)

			write("short: {longest: 1}", pets)
			_, err = p.run(engine.Up{})
			require.ErrorContains(t, err, `"one" violates the policy short of house 2.0.0: it has 2 words in dev, and at most 1 are allowed`)
			write("short: advisory, separator: disabled", pets+"  bad: {type: \"random:RandomPet\", properties: {length: 9, prefix: a, separator: /}}\n")
			require.Equal(t, 1, p.up().Create)
			for config, want := range map[string]string{
				"short: {longest: 0}":   "the configuration of the policy short: longest: it breaks the bound minimum: 1",
				"short: {longest: 1.5}": "longest: it must be of the type [integer]",
				"short: {long: 1}":      "long",
				"tall: mandatory":       "it has no policy tall",
			} {
				write(config, pets)
				_, err = p.preview()
				require.ErrorContains(t, err, want)
			}

			p.write(filepath.Join("house", "PulumiPolicy.yaml"), "runtime: opa\n")
			_, err = p.preview()
			require.ErrorContains(t, err, `the policy pack is written for the runtime "opa", and only those in Node.js and Python can be used as they are`)
		})
	}
}
