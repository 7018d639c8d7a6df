package programtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/automation"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/pulumi/pulumiprogram/sdktest"
)

const pair = `
class Pair extends pulumi.ComponentResource {
  constructor(name, opts) {
    super("custom/Pair", name, {}, opts);
    this.pet = new random.RandomPet(name + "-pet", { length: 2 }, { parent: this });
    this.text = new random.RandomString(name + "-text", { length: 8, special: false, keepers: { pet: this.pet.id } }, { parent: this });
    this.both = pulumi.interpolate` + "`${this.pet.id}/${this.text.result}`" + `;
    this.registerOutputs({ both: this.both });
  }
}
`

// A component with a tree below it, a secret, and configuration.
func TestNode(t *testing.T) {
	p := newNode(t, pair+`
const shop = new Pair("shop");
const inner = new Pair("inner", { parent: shop });
const password = new random.RandomPassword("password", { length: 12 });
console.log("printed by the program");
exports.both = shop.both;
exports.password = password.result;
exports.token = pulumi.secret("a secret of the program");
exports.color = new pulumi.Config().require("color");
exports.where = pulumi.getProject() + "/" + pulumi.getStack();
exports.urn = inner.pet.urn;
`)
	p.write("Pulumi.dev.yaml", "config: {color: blue}\n")
	p.cycle(8)
	require.Regexp(t, `^\w+-\w+/\w{8}$`, p.output("both"))
	require.Equal(t, "blue", p.output("color"))
	require.Equal(t, "shop/dev", p.output("where"))
	require.Equal(t, "urn:pulumi:dev::shop::custom/Pair$custom/Pair$random:index/randomPet:RandomPet::inner-pet", p.output("urn"))

	p.up()
	require.Contains(t, p.text.String(), "printed by the program")
	outputs, err := p.stack().Outputs(t.Context())
	require.NoError(t, err)
	require.True(t, outputs.Get("password").ContainsSecrets())
	require.True(t, outputs.Get("token").ContainsSecrets())
	p.destroy(8)
}

// What the SDK reads with get is not the stack's, and an option that husk has reaches the resource.
func TestNodeOptions(t *testing.T) {
	p := newNode(t, `
const first = new random.RandomPet("first", { length: 2 }, { protect: true, ignoreChanges: ["length"] });
exports.name = first.id;
`)
	p.up()
	name := p.output("name")
	p.program(`
const first = new random.RandomPet("renamed", { length: 3 }, { aliases: [{ name: "first" }], ignoreChanges: ["length"] });
const read = random.RandomPet.get("read", "a-pet", { length: 2 });
const after = new random.RandomString("after", { length: 4 }, { dependsOn: [first], additionalSecretOutputs: ["result"], customTimeouts: { create: "1m" } });
exports.name = first.id;
exports.read = read.id;
exports.after = after.result;
exports.exists = pulumi.runtime.existsResource("random:index/randomPet:RandomPet", "a-pet", { length: 2 });
`)
	changes := p.up()
	require.Equal(t, engine.Changes{Create: 1, Update: 0, Same: 2, Read: 1}, changes, p.text.String())
	require.Equal(t, name, p.output("name"), "the alias keeps the pet")
	require.Equal(t, "a-pet", p.output("read"))
	outputs, err := p.stack().Outputs(t.Context())
	require.NoError(t, err)
	require.True(t, outputs.Get("after").ContainsSecrets())
	require.Equal(t, "true", outputs.Get("exists").String())
	p.program("")
	require.Equal(t, 2, p.up().Delete)
}

// TypeScript is translated by the SDK.
func TestNodeTypeScript(t *testing.T) {
	p := newNode(t, "")
	require.NoError(t, os.Remove(filepath.Join(p.dir, "index.js")))
	p.runtime = "{name: nodejs, options: {packagemanager: npm}}" // as Pulumi makes projects
	p.file("")
	p.write("package.json", `{"name": "shop", "main": "index.ts"}`)
	p.write("index.ts", `import * as random from "@pulumi/random";
const pet = new random.RandomPet("pet", { length: 2 as number });
export const id = pet.id;
`)
	p.cycle(2)
	p.write("index.ts", "const text: string = 1;\n")
	_, err := p.run(engine.Up{})
	require.ErrorContains(t, err, "the program failed with the error above")
	require.Contains(t, p.text.String(), "index.ts(1,7): error TS2322: Type '1' is not assignable to type 'string'.")
}

// A stack reference reads the outputs of another stack.
func TestNodeStackReference(t *testing.T) {
	p := newNode(t, `exports.color = "green"; exports.token = pulumi.secret("of the other stack");`)
	opened, err := automation.Open(t.Context(), p.dir, automation.Options{})
	require.NoError(t, err)
	base, err := opened.NewStack(t.Context(), "base")
	require.NoError(t, err)
	_, err = base.Run(t.Context(), engine.Up{}, p.options())
	require.NoError(t, err, p.text.String())
	p.program(`
const other = new pulumi.StackReference("organization/shop/base");
exports.color = other.getOutput("color");
exports.token = other.requireOutput("token");
`)
	p.up()
	require.Equal(t, "green", p.output("color"))
	outputs, err := p.stack().Outputs(t.Context())
	require.NoError(t, err)
	require.True(t, outputs.Get("token").ContainsSecrets())
}

// A program that does not run to its end deletes nothing, whatever it says at its exit, and the next run goes on.
func TestNodeFailures(t *testing.T) {
	p := newNode(t, `new random.RandomPet("kept", { length: 2 });`)
	p.up()
	for name, c := range map[string]struct{ program, want, said string }{
		"an exception":          {`new random.RandomPet("a", { length: 2 }); throw new Error("half-way");`, "the program failed with the error above", "Error: half-way"},
		"an error in an apply":  {`new random.RandomPet("b", { length: 2 }).id.apply(() => { throw new Error("in the apply"); });`, "the program failed with the error above", "Error: in the apply"},
		"an exit with a code":   {`process.exit(7);`, "the program exited with code 7", ""},
		"an early exit":         {`process.removeAllListeners("exit"); process.exit(0);`, "the program ended before it was through", ""},
		"a signal":              {`process.kill(process.pid, "SIGKILL");`, "the program was ended by a signal", ""},
		"a refused resource":    {`new random.RandomPet("c", { length: "long" });`, `random:index/randomPet:RandomPet "c": length: expected integer`, ""},
		"a misspelled type":     {`new pulumi.CustomResource("random:index/randomPat:RandomPat", "d", {});`, "RandomPat", ""},
		"a package not listed":  {`new pulumi.CustomResource("nowhere:index:Thing", "e", {});`, "nowhere", ""},
		"an error of a message": {`pulumi.log.error("it went wrong");`, "the program failed with the error above", "it went wrong"},
		"a missing package":     {`require("nowhere");`, "the program failed with the error above", "\n        at Function.Module._resolveFilename ("},
		"a message of stderr":   {`console.error("only once"); process.exit(5);`, "the program exited with code 5, after the output above", "only once"},
		"a syntax error":        {`const = 3;`, "the program failed with the error above", "SyntaxError"},
	} {
		t.Run(name, func(t *testing.T) {
			p.program(c.program)
			_, err := p.run(engine.Up{})
			require.ErrorContains(t, err, c.want, p.text.String())
			require.Contains(t, p.text.String(), c.said)
		})
	}
	outputs, err := p.stack().Outputs(t.Context())
	require.NoError(t, err)
	require.Zero(t, outputs.Len())
	p.program(`new random.RandomPet("kept", { length: 2 });`)
	require.Zero(t, p.up().Create, "it was not deleted")
}

// Without the packages, the error says what to do.
func TestNodeWithoutPackages(t *testing.T) {
	sdktest.Node(t)
	p := newProject(t, "nodejs")
	p.program("")
	_, err := p.run(engine.Up{})
	require.ErrorContains(t, err, "run npm install there")
}

// The first interrupt ends a program that waits, and keeps what is there.
func TestNodeInterrupt(t *testing.T) {
	p := newNode(t, `
const pet = new random.RandomPet("pet", { length: 2 });
pet.id.apply(() => console.log("waiting"));
setInterval(() => {}, 1000);
`)
	p.stop = make(chan struct{})
	p.said = func(d engine.Diagnostic) {
		if strings.Contains(d.Message, "waiting") {
			close(p.stop)
			p.said = nil
		}
	}
	_, err := p.run(engine.Up{})
	require.ErrorIs(t, err, engine.ErrStopped)
	p.stop = nil
	p.program(`new random.RandomPet("pet", { length: 2 });`)
	require.Equal(t, engine.Changes{Same: 2}, p.up())
}

// A program that a failed step ends, and which does not end by itself, is killed.
func TestNodeHangsAfterAFailure(t *testing.T) {
	p := newNode(t, `
process.on("uncaughtException", () => {});
new random.RandomPet("pet", { length: "long" });
setInterval(() => {}, 1000);
`)
	_, err := p.run(engine.Up{})
	require.ErrorContains(t, err, "expected integer")
}
