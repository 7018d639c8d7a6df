package programtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/pulumi/pulumiprogram/sdktest"
	"github.com/husk-dev/husk/internal/testkit/nightly"
)

// folder writes files into a folder of the project.
func (p *project) folder(name string, files map[string]string) {
	p.t.Helper()
	for file, text := range files {
		require.NoError(p.t, os.MkdirAll(filepath.Join(p.dir, name, filepath.Dir(file)), 0o755))
		p.write(filepath.Join(name, file), text)
	}
}

// zooInNode is a package of components that the SDK for Node.js finds among what the program exports.
var zooInNode = map[string]string{
	"PulumiPlugin.yaml": "runtime: nodejs\n",
	"package.json":      `{"name": "zoo", "version": "1.2.0", "main": "index.ts"}`,
	"index.ts": `import * as pulumi from "@pulumi/pulumi";
import * as random from "@pulumi/random";

export interface CageArgs { animals: pulumi.Input<number>; note?: pulumi.Input<string> }

export class Cage extends pulumi.ComponentResource {
  public readonly label: pulumi.Output<string>;
  public readonly note: pulumi.Output<string | undefined>;
  constructor(name: string, args: CageArgs, opts?: pulumi.ComponentResourceOptions) {
    super("zoo:index:Cage", name, args, opts);
    const pet = new random.RandomPet(name + "-pet", { length: args.animals }, { parent: this });
    this.label = pulumi.interpolate` + "`${pet.id}!`" + `;
    this.note = pulumi.output(args.note);
    this.registerOutputs({ label: this.label, note: this.note });
  }
}
`,
}

// zooInPython is the same in Python.
var zooInPython = map[string]string{
	"PulumiPlugin.yaml": "runtime: {name: python, options: {virtualenv: venv}}\n",
	"__main__.py": `from pulumi.provider.experimental import component_provider_host
from cage import Cage

component_provider_host(name="zoo", components=[Cage])
`,
	"cage.py": `from typing import Optional, TypedDict

import pulumi
import pulumi_random as random


class CageArgs(TypedDict):
    animals: pulumi.Input[int]
    note: Optional[pulumi.Input[str]]


class Cage(pulumi.ComponentResource):
    label: pulumi.Output[str]
    note: pulumi.Output[Optional[str]]

    def __init__(self, name: str, args: CageArgs, opts: Optional[pulumi.ResourceOptions] = None):
        super().__init__("zoo:index:Cage", name, args, opts)
        pet = random.RandomPet(name + "-pet", length=args["animals"], opts=pulumi.ResourceOptions(parent=self))
        self.label = pulumi.Output.concat(pet.id, "!")
        self.note = pulumi.Output.from_input(args.get("note"))
        self.register_outputs({"label": self.label, "note": self.note})
`,
}

// zooAsPackage is the same as a package of Python: the SDK finds the components in the module with its name.
var zooAsPackage = map[string]string{
	"PulumiPlugin.yaml": zooInPython["PulumiPlugin.yaml"],
	"pyproject.toml":    "[project]\nname = \"zoo\" # of the schema, too\nversion = \"1.2.0\"\n\n[build-system]\nrequires = [\"setuptools\"]\n",
	"zoo/__init__.py":   "from .cage import Cage\n",
	"zoo/cage.py":       zooInPython["cage.py"],
}

// zoo adds a package of components to a project.
func (p *project) zoo(runtime string) {
	p.t.Helper()
	link, files, linked := "node_modules", zooInNode, ""
	switch runtime {
	case "python":
		link, files, linked = "venv", zooInPython, sdktest.Python(p.t)
	case "python as a package":
		link, files, linked = "venv", zooAsPackage, sdktest.Python(p.t)
	default:
		linked = sdktest.Node(p.t)
	}
	p.folder("zoo", files)
	require.NoError(p.t, os.Symlink(linked, filepath.Join(p.dir, "zoo", link)))
	p.file("packages: {zoo: ./zoo}\n")
}

// A program in YAML uses components in Node.js and Python, by their types in the schema that the SDK makes of the source.
func TestComponentsInYAML(t *testing.T) {
	for _, runtime := range []string{"nodejs", "python", "python as a package"} {
		t.Run(runtime, func(t *testing.T) {
			p := newProject(t, "yaml")
			p.zoo(runtime)
			var said []string
			p.said = func(d engine.Diagnostic) {
				if d.Severity == "warning" {
					said = append(said, d.Provider+": "+d.Message)
				}
			}
			text := p.read("Pulumi.yaml")
			p.write("Pulumi.yaml", text+`
resources:
  secret: {type: "random:RandomPet", properties: {length: 1}}
  cage: {type: "zoo:index:Cage", properties: {animals: 2, note: {"fn::secret": "${secret.id}"}}}
outputs: {label: "${cage.label}", note: "${cage.note}"}
`)
			if runtime == "python" {
				p.cycle(4)
			} else { // each run of Node.js compiles the TypeScript
				require.Equal(t, 4, p.up().Create, p.text.String())
			}
			require.Equal(t, []string{"zoo: it is a program for the runtime " + strings.Fields(runtime)[0] + ", which runs without a sandbox and with your rights"}, said[:1])
			require.Equal(t, p.recorded("cage-pet").ID+"!", p.output("label"))
			require.Equal(t, "urn:pulumi:dev::shop::zoo:index:Cage$random:index/randomPet:RandomPet::cage-pet", string(p.recorded("cage-pet").URN))
			outputs, err := p.stack().Outputs(t.Context())
			require.NoError(t, err)
			require.True(t, outputs.Get("note").ContainsSecrets())
			p.destroy(4)

			p.write("Pulumi.yaml", text+"\nresources: {cage: {type: \"zoo:index:Cage\", properties: {animal: 2}}}\n")
			_, err = p.preview()
			require.ErrorContains(t, err, "animal")
			if runtime == "python as a package" {
				p.write(filepath.Join("zoo", "pyproject.toml"), "[build-system]\nrequires = []\n")
				_, err = p.preview()
				require.ErrorContains(t, err, "has a table build-system, and no name in a table project")
			}
		})
	}
}

// notesInPython is a provider of resources that is written with the SDK for Python.
var notesInPython = map[string]string{
	"PulumiPlugin.yaml": zooInPython["PulumiPlugin.yaml"],
	"__main__.py": `import json, sys
from pulumi.provider.experimental import provider as p, server

text = {"text": {"type": "string"}}
note = {"inputProperties": text, "requiredInputs": ["text"], "properties": text, "required": ["text"]}


class Notes(p.Provider):
    async def get_schema(self, request):
        return p.GetSchemaResponse(json.dumps({"name": "notes", "version": "1.0.0", "resources": {"notes:index:Note": note}}))

    async def create(self, request):
        return p.CreateResponse("note-1", request.properties)

    async def delete(self, request):
        return None


server.main(sys.argv[1:], "1.0.0", Notes())
`,
}

// A provider of resources in Python is such a package, too.
func TestAProviderInPython(t *testing.T) {
	p := newProject(t, "yaml")
	p.folder("notes", notesInPython)
	require.NoError(t, os.Symlink(sdktest.Python(t), filepath.Join(p.dir, "notes", "venv")))
	p.file("packages: {notes: ./notes}\n")
	p.write("Pulumi.yaml", p.read("Pulumi.yaml")+`
resources: {note: {type: "notes:index:Note", properties: {text: Hello}}}
outputs: {text: "${note.text}"}
`)
	p.cycle(2)
	require.Equal(t, "note-1", p.recorded("note").ID)
	require.Equal(t, "Hello", p.output("text"))
	p.destroy(2)
}

// A program uses components as the generated SDK of their package registers them.
func TestComponentsInNode(t *testing.T) {
	nightly.Skip(t)
	p := newNode(t, `
const cage = new pulumi.ComponentResource("zoo:index:Cage", "cage", { animals: 2, label: undefined }, { version: "1.2.0" }, true);
exports.label = cage.label;
`)
	p.zoo("nodejs")
	p.cycle(3)
	require.Equal(t, p.recorded("cage-pet").ID+"!", p.output("label"))
	p.destroy(3)
}

// What a package of components lacks is said before anything is done.
func TestComponentsThatCannotRun(t *testing.T) {
	p := newNode(t, `new pulumi.ComponentResource("zoo:index:Cage", "cage", { animals: 2 }, {}, true);`)
	p.zoo("nodejs")
	for name, c := range map[string]struct{ file, text, want string }{
		"another name":   {"package.json", `{"name": "house", "main": "index.ts"}`, `its path ./zoo holds the provider of the package "house": correct the name or the path`},
		"a wrong option": {"PulumiPlugin.yaml", "runtime: {name: nodejs, options: {nodearg: x}}\n", `zoo/PulumiPlugin.yaml:1:35: husk does not support the option "nodearg" of the runtime nodejs`},
		"a fault":        {"index.ts", `throw new Error("it is closed");`, "it is closed"},
		"no components":  {"index.ts", `export const a = 1;`, "ended before it said at which port it listens"},
	} {
		t.Run(name, func(t *testing.T) {
			p.folder("zoo", zooInNode)
			p.write(filepath.Join("zoo", c.file), c.text)
			_, err := p.preview()
			require.ErrorContains(t, err, c.want)
		})
	}
	p.folder("zoo", zooInNode)
	require.NoError(t, os.Remove(filepath.Join(p.dir, "zoo", "node_modules")))
	require.NoError(t, os.Remove(filepath.Join(p.dir, "node_modules")))
	p.write("Pulumi.yaml", "name: shop\nruntime: yaml\npackages: {zoo: ./zoo}\nresources: {cage: {type: \"zoo:index:Cage\"}}\n")
	_, err := p.preview()
	require.ErrorContains(t, err, "has no node_modules with @pulumi/pulumi: run npm install there")
}
