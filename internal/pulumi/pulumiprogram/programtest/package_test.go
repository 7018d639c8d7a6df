package programtest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
)

// Component providers in modules construct what a program asks for, and answer its methods.
func TestNodeRemoteComponent(t *testing.T) {
	p := newNode(t, `
class Site extends pulumi.ComponentResource {
  constructor(name, args, opts) {
    super("site:index:Site", name, { url: undefined, files: undefined, certificate: undefined, ...args }, opts, true /*remote*/);
  }
  read(file) { return pulumi.runtime.call("site:index:Site/read", { __self__: this, file }, this); }
}
const pet = new random.RandomPet("pet", { length: 1 });
const site = new Site("web", { directory: "public", host: "shop.example", title: pulumi.interpolate`+"`Hello ${pet.id}`"+` }, { dependsOn: [pet] });
const note = new random.RandomPet("note", { keepers: { url: site.url } }, { parent: site });
exports.url = site.url;
exports.page = site.read(site.files[0]).content;
exports.pet = pet.id;
exports.note = note.urn;
`)
	p.provider("site", "../../../../examples/providers/site")
	p.provider("tls", "../../../../examples/providers/tls")
	p.provider("local", "../../../../examples/providers/local", "fs: [{path: public, mode: rw}]")
	p.cycle(11)
	require.Equal(t, "https://shop.example/", p.output("url"))
	require.Contains(t, p.output("page"), "<h1>Hello "+p.output("pet")+"</h1>")
	require.Equal(t, "urn:pulumi:dev::shop::site:index:Site$random:index/randomPet:RandomPet::note", p.output("note"))
	require.FileExists(t, filepath.Join(p.dir, "public", "index.html"))
	p.destroy(11)

	p.program(`new pulumi.ComponentResource("site:index:Site", "web", { directory: "public" }, {}, true);`)
	_, err := p.run(engine.Up{})
	require.ErrorContains(t, err, "host")
}

const words = `
const words = pulumi.runtime.registerPackage({
  baseProviderName: "kit", baseProviderVersion: "1.0.0", packageName: "words", packageVersion: "2.1.0",
  base64Parameter: Buffer.from(JSON.stringify({ name: "words", version: "2.1.0", resources: { "words:index:Word": {
    inputProperties: { value: { type: "string" } }, properties: { value: { type: "string" } } } } })).toString("base64"),
});
class Word extends pulumi.CustomResource {
  constructor(name, value, opts) { super("words:index:Word", name, { value }, opts, false, words); }
}
`

// A generated SDK registers its parameterized package, as this program does, which needs no entry in the project file.
func TestNodeParameterizedPackage(t *testing.T) {
	p := newNode(t, words+`
const word = new Word("word", "hello");
exports.id = word.id;
`)
	p.provider("kit", "../../../../cmd/husk/testdata/kit")
	p.cycle(2)
	require.Equal(t, "made-of-word", p.output("id"))
	p.destroy(2)
}

// Error hooks have a failed step tried again, for as long as they say so.
func TestNodeErrorHooks(t *testing.T) {
	p := newNode(t, words+`
const again = new pulumi.ErrorHook("again", async args => {
  console.log("asked", args.failedOperation, args.errors.length, args.name, args.newInputs.value);
  return args.errors.length < 3;
});
new Word("word", "broken", { hooks: { onError: [again] } });
`)
	p.provider("kit", "../../../../cmd/husk/testdata/kit")
	var said []string
	p.said = func(d engine.Diagnostic) {
		if strings.HasPrefix(d.Message, "asked") {
			said = append(said, d.Message)
		}
	}
	_, err := p.run(engine.Up{})
	require.ErrorContains(t, err, "it breaks")
	require.Equal(t, []string{"asked create 1 word broken", "asked create 2 word broken", "asked create 3 word broken"}, said)
}

// Providers that the program makes serve the resources that name them, and what is below those.
func TestNodeExplicitProvider(t *testing.T) {
	p := newNode(t, pair+`
const own = new random.Provider("own", {}, { envVarMappings: { OTHER: "SEEN" } });
const pair = new Pair("pair", { provider: own });
const read = random.RandomPet.get("read", "a-pet", undefined, { provider: own });
exports.text = pair.text.result;
`)
	p.providers = strings.Replace(p.providers, "grants: {}", "grants: {env: [OTHER]}", 1)
	p.file("")
	p.cycle(5)
	internal, _ := p.recorded("own").Inputs.Get("__internal").AsObject()
	mappings, _ := internal.Get("envVarMappings").AsObject()
	require.Equal(t, property.String("SEEN"), mappings.Get("OTHER"))
	p.program(`exports.done = 1;`)
	require.Equal(t, engine.Changes{Same: 1, Delete: 4}, p.up())
}

// Targets, plans, and policies hold for programs, as for any.
func TestNodeTargetsPlansAndPolicies(t *testing.T) {
	p := newNode(t, `
const first = new random.RandomPet("first", { length: 1 });
const second = new random.RandomPet("second", { length: 1 });
exports.first = first.id;
exports.second = second.id;
`)
	result, err := p.run(engine.Up{Selection: engine.Selection{Targets: []engine.Pattern{"**::first"}}})
	require.NoError(t, err, p.text.String())
	require.Equal(t, 2, result.Changes.Create, "the stack, and the target")
	require.NotEmpty(t, p.output("first"))
	require.Empty(t, p.output("second"), "what was left out has no ID")

	planned, err := p.stack().Preview(t.Context(), engine.Up{DraftPlan: true}, p.options())
	require.NoError(t, err)
	p.program(`
const first = new random.RandomPet("first", { length: 1 });
const third = new random.RandomPet("third", { length: 1 });
exports.first = first.id;
exports.second = third.id;
`)
	_, err = p.run(engine.Up{Plan: planned.Plan})
	require.ErrorContains(t, err, "third", p.text.String())
	require.NotContains(t, p.text.String(), "failed to deliver")
	p.program(`
const first = new random.RandomPet("first", { length: 1 });
const second = new random.RandomPet("second", { length: 1 });
exports.first = first.id;
exports.second = second.id;
`)
	result, err = p.run(engine.Up{Plan: planned.Plan})
	require.NoError(t, err, p.text.String())
	require.Equal(t, 1, result.Changes.Create)

	p.file("policies:\n  - {path: " + filepath.ToSlash(p.baseline()) + ", config: {naming: {enforcementLevel: mandatory, longest: 2}}}\n")
	_, err = p.run(engine.Up{})
	require.ErrorContains(t, err, "violates the policy naming")
}

// A refresh and a destroy can run the program, which has nothing made.
func TestNodeRunProgram(t *testing.T) {
	p := newNode(t, `
const first = new random.RandomPet("first", { length: 1 });
console.log("the program runs");
`)
	p.up()
	p.write("index.js", p.read("index.js")+"new random.RandomPet(\"new\", { length: 1 });\n")
	o := p.options()
	o.RunProgram = true
	result, err := p.stack().Run(t.Context(), engine.Refresh{}, o)
	require.NoError(t, err, p.text.String())
	require.Zero(t, result.Changes.Create)
	require.Contains(t, p.text.String(), "the program runs")
	o = p.options()
	o.RunProgram = true
	result, err = p.stack().Run(t.Context(), engine.Destroy{}, o)
	require.NoError(t, err, p.text.String())
	require.Equal(t, 2, result.Changes.Delete)
	require.Contains(t, p.text.String(), "the program runs")
}

// Resources of two packages, of which one is made of the other's secrets, and functions.
func TestNodeTLS(t *testing.T) {
	p := newNode(t, `
const tls = require("@pulumi/tls");
const key = new tls.PrivateKey("key", { algorithm: "ED25519" });
const pet = new random.RandomPet("pet", { length: 1 });
const cert = new tls.SelfSignedCert("cert", {
  privateKeyPem: key.privateKeyPem, allowedUses: ["server_auth"], validityPeriodHours: 24,
  subject: { commonName: pulumi.interpolate`+"`${pet.id}.example`"+` },
});
const read = tls.getPublicKeyOutput({ privateKeyPem: key.privateKeyPem });
exports.cert = cert.certPem;
exports.subject = cert.subject.commonName;
exports.same = pulumi.all([read.publicKeyPem, key.publicKeyPem]).apply(([a, b]) => a === b ? "same" : "different");
`)
	p.provider("tls", "../../../../examples/providers/tls")
	p.cycle(4)
	require.Contains(t, p.output("cert"), "BEGIN CERTIFICATE")
	require.Regexp(t, `^\w+\.example$`, p.output("subject"))
	require.Equal(t, "same", p.output("same"))
	require.NotContains(t, p.text.String(), "BEGIN PRIVATE KEY")
	p.destroy(4)
}

// With ContinueOnError the outputs of a resource that failed are unknown to the program, which goes on, and resources that
// do not need it are made.
func TestNodeContinuesOnError(t *testing.T) {
	p := newNode(t, words+`
const broken = new Word("broken", "broken");
const after = new random.RandomPet("after", { keepers: { of: broken.id } });
const other = new random.RandomPet("other", { length: 1 });
exports.other = other.id;
`)
	p.provider("kit", "../../../../cmd/husk/testdata/kit")
	_, err := p.run(engine.Up{ContinueOnError: true})
	require.ErrorContains(t, err, `words:index:Word "broken": words 2.1.0: create: it breaks`)
	require.Contains(t, p.text.String(), `random:RandomPet after: skipped, since words:index:Word "broken" failed`)
	p.program(words + `
new Word("broken", "whole");
new random.RandomPet("other", { length: 1 });
`)
	require.Equal(t, engine.Changes{Create: 1, Same: 2}, p.up(), "the other one was made")
}
