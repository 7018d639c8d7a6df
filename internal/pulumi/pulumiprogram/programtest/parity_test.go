package programtest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/automation"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/testkit/nightly"
)

// written is how programs of a runtime are written.
type written struct {
	file string
	new  func(t *testing.T) *project
	// pets makes two pets, the second of which has the name OTHER, and exports their IDs. exporting exports a color and a
	// secret token, and reading reads them from the stack base.
	pets, exporting, reading string
}

var others = map[string]written{
	"python": {
		file: "__main__.py", new: newPython,
		pets: `import pulumi
import pulumi_random as random

first = random.RandomPet("first", length=1)
second = random.RandomPet("OTHER", length=1)
pulumi.export("first", first.id)
pulumi.export("second", second.id)
`,
		exporting: `import pulumi

pulumi.export("color", "green")
pulumi.export("token", pulumi.Output.secret("of the other stack"))
`,
		reading: `import pulumi

other = pulumi.StackReference("organization/shop/base")
pulumi.export("color", other.get_output("color"))
pulumi.export("token", other.require_output("token"))
`,
	},
	"go": {
		file: "main.go", new: newGo,
		pets: inGo(`
	var first, second pulumi.CustomResourceState
	if err := ctx.RegisterResource("random:index/randomPet:RandomPet", "first", pulumi.Map{"length": pulumi.Int(1)}, &first); err != nil {
		return err
	}
	if err := ctx.RegisterResource("random:index/randomPet:RandomPet", "OTHER", pulumi.Map{"length": pulumi.Int(1)}, &second); err != nil {
		return err
	}
	ctx.Export("first", first.ID())
	ctx.Export("second", second.ID())
`),
		exporting: inGo(`
	ctx.Export("color", pulumi.String("green"))
	ctx.Export("token", pulumi.ToSecret("of the other stack"))
`),
		reading: inGo(`
	other, err := pulumi.NewStackReference(ctx, "organization/shop/base", nil)
	if err != nil {
		return err
	}
	ctx.Export("color", other.GetOutput(pulumi.String("color")))
	ctx.Export("token", other.GetOutput(pulumi.String("token")))
`),
	},
}

// inGo returns a program in Go that runs a body.
func inGo(body string) string {
	return "package main\n\nimport \"github.com/pulumi/pulumi/sdk/v3/go/pulumi\"\n\nfunc main() {\n\tpulumi.Run(func(ctx *pulumi.Context) error {\n" +
		body + "\treturn nil\n\t})\n}\n"
}

// Targets, plans, and policies hold for programs of each runtime. See also TestNodeTargetsPlansAndPolicies.
func TestOthersTargetsPlansAndPolicies(t *testing.T) {
	nightly.Skip(t)
	for name, of := range others {
		t.Run(name, func(t *testing.T) {
			p := of.new(t)
			program := func(other string) { p.write(of.file, strings.ReplaceAll(of.pets, "OTHER", other)) }
			program("second")
			result, err := p.run(engine.Up{Selection: engine.Selection{Targets: []engine.Pattern{"**::first"}}})
			require.NoError(t, err, p.text.String())
			require.Equal(t, 2, result.Changes.Create, "the stack, and the target")
			require.NotEmpty(t, p.output("first"))
			require.Empty(t, p.output("second"), "what was left out has no ID")

			planned, err := p.stack().Preview(t.Context(), engine.Up{DraftPlan: true}, p.options())
			require.NoError(t, err, p.text.String())
			program("third")
			_, err = p.run(engine.Up{Plan: planned.Plan})
			require.ErrorContains(t, err, "third", p.text.String())
			program("second")
			result, err = p.run(engine.Up{Plan: planned.Plan})
			require.NoError(t, err, p.text.String())
			require.Equal(t, 1, result.Changes.Create)
			require.NotEmpty(t, p.output("second"))

			p.file("policies:\n  - {path: " + filepath.ToSlash(p.baseline()) + ", config: {naming: {enforcementLevel: mandatory, longest: 2}}}\n")
			_, err = p.run(engine.Up{})
			require.ErrorContains(t, err, "violates the policy naming")
			p.file("")
			p.destroy(3)
		})
	}
}

// A stack reference reads the outputs of another stack. See also TestNodeStackReference.
func TestOthersStackReferences(t *testing.T) {
	nightly.Skip(t)
	for name, of := range others {
		t.Run(name, func(t *testing.T) {
			p := of.new(t)
			p.write(of.file, of.exporting)
			opened, err := automation.Open(t.Context(), p.dir, automation.Options{})
			require.NoError(t, err)
			base, err := opened.NewStack(t.Context(), "base")
			require.NoError(t, err)
			_, err = base.Run(t.Context(), engine.Up{}, p.options())
			require.NoError(t, err, p.text.String())
			p.write(of.file, of.reading)
			p.up()
			require.Equal(t, "green", p.output("color"))
			outputs, err := p.stack().Outputs(t.Context())
			require.NoError(t, err)
			require.True(t, outputs.Get("token").ContainsSecrets())
			require.NotContains(t, p.text.String(), "of the other stack")
		})
	}
}
