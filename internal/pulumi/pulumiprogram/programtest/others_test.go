package programtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/pulumi/pulumiprogram/sdktest"
)

const pythonProgram = `import pulumi
import pulumi_random as random

class Pair(pulumi.ComponentResource):
    def __init__(self, name, opts=None):
        super().__init__("shop:index:Pair", name, {}, opts)
        self.pet = random.RandomPet(name + "-pet", length=2, opts=pulumi.ResourceOptions(parent=self))
        self.text = random.RandomString(name + "-text", length=8, keepers={"pet": self.pet.id}, opts=pulumi.ResourceOptions(parent=self))
        self.register_outputs({"pet": self.pet.id})

print("printed by the program")
pair = Pair("pair")
pulumi.export("pet", pair.pet.id)
pulumi.export("color", pulumi.Config().require("color"))
pulumi.export("token", pulumi.Output.secret("a secret of the program"))
`

// newPython returns a project for a program in Python.
func newPython(t *testing.T) *project {
	t.Helper()
	environment := sdktest.Python(t)
	return newProject(t, "{name: python, options: {virtualenv: "+environment+"}}")
}

func TestPython(t *testing.T) {
	p := newPython(t)
	p.write("__main__.py", pythonProgram)
	p.cycle(4)
	require.Equal(t, "red", p.output("color"))
	outputs, err := p.stack().Outputs(t.Context())
	require.NoError(t, err)
	require.True(t, outputs.Get("token").ContainsSecrets())

	p.write("__main__.py", "import sys\nsys.exit(3)\n")
	_, err = p.run(engine.Up{})
	require.ErrorContains(t, err, "the program exited with code 3")
	p.write("__main__.py", "def broken():\n    raise Exception('half-way')\nbroken()\n")
	_, err = p.run(engine.Up{})
	require.ErrorContains(t, err, "the program failed with the error above")
	require.Contains(t, p.text.String(), "Exception: half-way")
	require.NotContains(t, p.text.String(), "runpy", "the traceback begins in the program")
	p.write("__main__.py", pythonProgram)
	require.Zero(t, p.up().Total())
	p.destroy(4)
}

// newGo returns a project with the program in testdata, which is a module of its own, with the published SDK.
func newGo(t *testing.T) *project {
	t.Helper()
	source, err := filepath.Abs(filepath.Join("testdata", "go"))
	require.NoError(t, err)
	p := newProject(t, "go")
	sdktest.Fetch(t, "the modules of the program", func() error { return sdktest.Command(source, "go", "mod", "download") })
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		text, err := os.ReadFile(filepath.Join(source, name))
		require.NoError(t, err)
		p.write(name, string(text))
	}
	return p
}

func TestGo(t *testing.T) {
	p := newGo(t)
	p.cycle(4)
	outputs, err := p.stack().Outputs(t.Context())
	require.NoError(t, err)
	require.True(t, outputs.Get("token").ContainsSecrets())
	p.destroy(4)

	p.write("main.go", "package main\n\nfunc main() { panic(\"half-way\") }\n")
	_, err = p.run(engine.Up{})
	require.ErrorContains(t, err, "the program exited with code 2")
	require.Contains(t, p.text.String(), "panic: half-way")
	p.write("main.go", "package main\n\nfunc main() { x }\n")
	_, err = p.run(engine.Up{})
	require.ErrorContains(t, err, "cannot be built")
	require.ErrorContains(t, err, "undefined: x")
}

// Transforms and hooks of a program in Python are called, and what it reads is not the stack's.
func TestPythonCallbacks(t *testing.T) {
	p := newPython(t)
	p.write("__main__.py", `import pulumi
import pulumi_random as random

def prefixed(args):
    if args.type_ == "random:index/randomPet:RandomPet":
        return pulumi.ResourceTransformResult(props={**args.props, "prefix": "own"}, opts=args.opts)

pulumi.runtime.register_resource_transform(prefixed)
say = pulumi.ResourceHook("say", lambda args: print("made", args.name, args.id, args.new_outputs["length"]))
pet = random.RandomPet("pet", length=1, opts=pulumi.ResourceOptions(
    hooks=pulumi.ResourceHookBinding(after_create=[say]), aliases=[pulumi.Alias(name="before"), pulumi.Alias(parent=pulumi.ROOT_STACK_RESOURCE)]))
read = random.RandomPet.get("read", "a-pet")
pulumi.export("pet", pet.id)
pulumi.export("read", read.id)
`)
	result, err := p.preview()
	require.NoError(t, err, p.text.String())
	require.Equal(t, 2, result.Changes.Create)
	require.Equal(t, engine.Changes{Create: 2, Read: 1}, p.up(), p.text.String())
	require.Contains(t, p.text.String(), "made pet "+p.output("pet")+" 1")
	require.Regexp(t, `^own-\w+$`, p.output("pet"))
	require.Equal(t, "a-pet", p.output("read"))

	name := p.output("pet")
	p.write("__main__.py", strings.Replace(p.read("__main__.py"), `RandomPet("pet", length=1, opts=pulumi.ResourceOptions(`,
		`RandomPet("renamed", length=1, opts=pulumi.ResourceOptions(`, 1))
	p.write("__main__.py", strings.Replace(p.read("__main__.py"), `name="before"`, `name="pet"`, 1))
	require.Zero(t, p.up().Total(), p.text.String())
	require.Equal(t, name, p.output("pet"), "the alias keeps the pet")
	p.destroy(2)

	p.write("__main__.py", "import pulumi_random as random\nrandom.RandomPet('bad', length='long')\n")
	_, err = p.run(engine.Up{})
	require.ErrorContains(t, err, "expected integer")
	require.NotContains(t, p.text.String(), "terminated")
}

// Transforms, hooks, aliases, and stack references of a program in Go.
func TestGoCallbacks(t *testing.T) {
	p := newGo(t)
	p.write("main.go", `package main

import (
	"context"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

type pet struct {
	pulumi.CustomResourceState
	Length pulumi.IntOutput `+"`pulumi:\"length\"`"+`
}

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		say, err := ctx.RegisterResourceHook("say", func(args *pulumi.ResourceHookArgs) error {
			fmt.Println("made", args.Name, args.ID)
			return nil
		}, nil)
		if err != nil {
			return err
		}
		longer := func(_ context.Context, args *pulumi.ResourceTransformArgs) *pulumi.ResourceTransformResult {
			args.Props["prefix"] = pulumi.String("own")
			return &pulumi.ResourceTransformResult{Props: args.Props, Opts: args.Opts}
		}
		var made, read pet
		if err := ctx.RegisterResource("random:index/randomPet:RandomPet", "first", pulumi.Map{"length": pulumi.Int(1)}, &made,
			pulumi.Transforms([]pulumi.ResourceTransform{longer}), pulumi.Aliases([]pulumi.Alias{{Name: pulumi.String("before")}}),
			pulumi.ResourceHooks(&pulumi.ResourceHookBinding{AfterCreate: []*pulumi.ResourceHook{say}})); err != nil {
			return err
		}
		if err := ctx.ReadResource("random:index/randomPet:RandomPet", "read", pulumi.ID("a-pet"), nil, &read); err != nil {
			return err
		}
		ctx.Export("pet", made.ID())
		ctx.Export("read", read.ID())
		return nil
	})
}
`)
	require.Equal(t, engine.Changes{Create: 2, Read: 1}, p.up(), p.text.String())
	require.Contains(t, p.text.String(), "made first "+p.output("pet"))
	require.Regexp(t, `^own-\w+$`, p.output("pet"))
	require.Equal(t, "a-pet", p.output("read"))
	p.write("main.go", strings.Replace(strings.Replace(p.read("main.go"), `"first"`, `"renamed"`, 1), `"before"`, `"first"`, 1))
	require.Zero(t, p.up().Total(), p.text.String())
	p.destroy(2)
}

// A program can say for which versions of Pulumi it is, as a project file can.
func TestRequiredVersions(t *testing.T) {
	const missed = "the program requires a version of Pulumi: this is for versions <3.0.0 of Pulumi, and Husk reads programs as Pulumi " + program.PulumiVersion + " does"
	for name, runtime := range map[string]struct {
		file string
		make func(t *testing.T) *project
		text string
	}{
		"nodejs": {"index.js", func(t *testing.T) *project { return newNode(t, "") }, "require('@pulumi/pulumi').requirePulumiVersion('RANGE');\n"},
		"python": {"__main__.py", newPython, "import pulumi\npulumi.require_pulumi_version('RANGE')\n"},
		"go": {"main.go", newGo, "package main\n\nimport \"github.com/pulumi/pulumi/sdk/v3/go/pulumi\"\n\n" +
			"func main() { pulumi.Run(func(ctx *pulumi.Context) error { return ctx.RequirePulumiVersion(\"RANGE\") }) }\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := runtime.make(t)
			for versions, want := range map[string]string{"<3.0.0": missed, ">=3.100.0 <4.0.0": ""} {
				p.write(runtime.file, strings.ReplaceAll(runtime.text, "RANGE", versions))
				_, err := p.preview()
				if want == "" {
					require.NoError(t, err, p.text.String())
					continue
				}
				require.Error(t, err)
				require.Contains(t, p.text.String(), want)
			}
		})
	}
}
