package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
)

// schemaOf returns the schema of a provider of the examples.
func schemaOf(t *testing.T, provider string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./cmd/husk", "provider", "schema", "examples/providers/"+provider)
	cmd.Dir = filepath.Join("..", "..")
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	require.NoError(t, err, "%s", failed.String())
	return string(out)
}

func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// written is what an SDK must have: a file, and a text of it.
type written struct{ file, has string }

// The SDKs are what the compilers of their languages take: of a real provider, and of a schema with all that a schema can have.
func TestSDKs(t *testing.T) {
	kit, err := os.ReadFile(filepath.Join("testdata", "kit.json"))
	require.NoError(t, err)
	schemas := map[string]string{"random": schemaOf(t, "random"), "kit": string(kit)}
	for language, c := range map[string]struct {
		written map[string][]written
		compile func(t *testing.T, dir string)
	}{
		"go": {map[string][]written{
			"random": {
				{"go.mod", "module example.com/random/sdk/go"}, {"random/randomPet.go", "type RandomPetArgs struct"},
				{"random/pulumi-plugin.json", `"version": "4.16.0"`},
			},
			"kit": {
				{"testkit/web/page.go", "*testkit.Greeting"}, {"testkit/pulumiEnums.go", `SizeSmall = Size("s")`},
				{"testkit/web/getPage.go", "func LookupPage("}, {"testkit/site.go", "RegisterRemoteComponentResource"},
			},
		}, compileGo},
		"python": {map[string][]written{
			"random": {{"setup.py", `VERSION = "4.16.0"`}, {"pulumi_random/random_pet.py", "class RandomPet("}},
			"kit": {
				{"pulumi_test_kit/web/page.py", "class PageArgs"}, {"pulumi_test_kit/_enums.py", "SMALL = \"s\""},
				{"pulumi_test_kit/web/get_page.py", "def get_page("}, {"pulumi_test_kit/site.py", "remote=True"},
			},
		}, compilePython},
		"nodejs": {map[string][]written{
			"random": {{"package.json", `"version": "4.16.0"`}, {"randomPet.ts", "export interface RandomPetArgs"}},
			"kit": {
				{"web/page.ts", "headers?: pulumi.Input<pulumi.Input<inputs.web.HeaderArgs>[]"}, {"types/enums/index.ts", `Small: "s"`},
				{"web/getPage.ts", "export function getPage("}, {"site.ts", "pulumi.ComponentResource"},
			},
		}, compileNode},
	} {
		for name, text := range schemas {
			t.Run(language+"/"+name, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "sdk")
				require.NoError(t, run(strings.NewReader(text), language, dir, nil))
				for _, w := range c.written[name] {
					content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(w.file)))
					require.NoError(t, err)
					require.Contains(t, string(content), w.has, w.file)
				}
				require.ErrorContains(t, run(strings.NewReader(text), language, dir, nil), "is not empty")
				if language != "nodejs" || name == "kit" { // where fetching the compiler takes long
					c.compile(t, dir)
				}
			})
		}
	}
}

func compileGo(t *testing.T, dir string) {
	command(t, dir, "go", "mod", "tidy")
	command(t, dir, "go", "build", "./...")
}

func compilePython(t *testing.T, dir string) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("not compiled: there is no python3")
	}
	command(t, dir, python, "-m", "compileall", "-q", ".")
}

// compileNode installs an SDK as its users do: its script compiles it. Then a program imports it.
func compileNode(t *testing.T, dir string) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("not compiled: there is no npm")
	}
	within, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(within, npm, "ping").CombinedOutput(); err != nil {
		t.Skipf("not compiled: npm does not reach its registry, which has the compiler:\n%s", out)
	}
	command(t, dir, npm, "install", "--no-audit", "--no-fund", "--no-package-lock")
	command(t, dir, "node", "-e", "if (Object.keys(require('.')).length < 3) process.exit(1)")
}

// Users install the program with go install, which refuses a module that replaces others.
func TestTheModuleReplacesNothing(t *testing.T) {
	text, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	file, err := modfile.Parse("go.mod", text, nil)
	require.NoError(t, err)
	require.Empty(t, file.Replace)
	require.Empty(t, file.Exclude)
}

func TestWrongInput(t *testing.T) {
	for want, c := range map[string][2]string{
		"there is no generator for \"cobol\"":                                    {`{"name": "a", "version": "1.0.0"}`, "cobol"},
		"the schema cannot be read":                                              {`nonsense`, "go"},
		"the schema cannot be used: #/resources/b: doesn't validate":             {`{"name": "a", "version": "1.0.0", "resources": {"b": {}}}`, "go"},
		"#/name: no name provided":                                               {`{}`, "go"},
		"the schema of a has no version":                                         {`{"name": "a"}`, "nodejs"},
		"language.go of the schema":                                              {`{"name": "a", "version": "1.0.0", "language": {"go": []}}`, "go"},
		`language.go.importBasePath of the schema is "x"`:                        {`{"name": "a", "version": "1.0.0", "language": {"go": {"importBasePath": "x"}}}`, "go"},
		`language.go.importBasePath of the schema is "../x"`:                     {`{"name": "a", "version": "1.0.0", "language": {"go": {"importBasePath": "../x"}}}`, "go"},
		"language.go.importBasePath of the schema is not a string":               {`{"name": "a", "version": "1.0.0", "language": {"go": {"importBasePath": 1}}}`, "go"},
		"#/meta/moduleFormat: failed to compile regex":                           {`{"name": "a", "version": "1.0.0", "meta": {"moduleFormat": "("}}`, "python"},
		"the generator of Pulumi for nodejs does not take the schema":            {`{"name": "a", "version": "1.0.0", "resources": {"a:../../../x:G": {}}}`, "nodejs"},
		"it refers to the package aws, and an SDK is made of one schema":         {`{"name": "a", "version": "1.0.0", "resources": {"a:index:B": {"properties": {"c": {"$ref": "/aws/v4.0.0/schema.json#/types/aws:s3:D"}}}}}`, "python"},
		"invalid property names: #/resources/a:index:B/properties/c%20d: proper": {`{"name": "a", "version": "1.0.0", "resources": {"a:index:B": {"properties": {"c d": {"type": "string"}}}}}`, "go"},
	} {
		dir := filepath.Join(t.TempDir(), "sdk")
		require.ErrorContains(t, run(strings.NewReader(c[0]), c[1], dir, nil), want)
		require.NoDirExists(t, dir)
	}
	require.ErrorContains(t, run(nil, "", "", nil), "usage:")
}

// A module writes its own schema, so no text of a schema becomes code of an SDK. Programs see the texts unchanged.
func TestTextsAreNoCode(t *testing.T) {
	for _, hostile := range []string{
		`'+canary()+'`, `"+canary()+"`, `"""+canary()+"""`, "'''+canary()+'''", "`+canary()+`", "${canary()}", "\ncanary()\n", "*/canary();/*", `\"+canary()+\"`, "\u2028canary()",
	} {
		text, err := json.Marshal(hostile)
		require.NoError(t, err)
		one := func(format string) []byte { return []byte(strings.ReplaceAll(format, "HOSTILE", string(text))) }
		schema := one(`{"name": "hostile", "version": "1.0.0", "license": HOSTILE, "homepage": HOSTILE, "repository": HOSTILE, "keywords": [HOSTILE], "publisher": HOSTILE, "pluginDownloadURL": HOSTILE,
			"config": {"variables": {"region": {"type": "string", "default": HOSTILE, "deprecationMessage": HOSTILE, "defaultInfo": {"environment": [HOSTILE]}}}},
			"provider": {"inputProperties": {"region": {"type": "string", "defaultInfo": {"environment": [HOSTILE]}}}},
			"types": {"hostile:index:Size": {"type": "string", "enum": [{"value": HOSTILE, "deprecationMessage": HOSTILE}, {"name": HOSTILE, "value": "other"}]}},
			"resources": {"hostile:index:Thing": {"deprecationMessage": HOSTILE, "aliases": [{"type": HOSTILE}], "inputProperties": {
				"a": {"type": "string", "default": HOSTILE, "deprecationMessage": HOSTILE}, "b": {"type": "string", "const": HOSTILE}, "c": {"$ref": "#/types/hostile:index:Size"}}}},
			"functions": {"hostile:index:get": {"deprecationMessage": HOSTILE, "inputs": {"properties": {"a": {"type": "string", "default": HOSTILE}}}}},
			"language": {"python": {"pythonRequires": HOSTILE, "requires": {"x": HOSTILE, "description": HOSTILE, "readme": HOSTILE}}, "nodejs": {"dependencies": {"x": HOSTILE, "description": HOSTILE}, "typescriptVersion": HOSTILE}}}`)
		for _, language := range []string{"go", "python", "nodejs"} {
			files, err := generate(schema, language)
			require.NoError(t, err, "%s: %s", language, hostile)
			escaped := false
			for name, content := range files {
				require.NotContains(t, string(content), hostile, "%s: %s", language, name)
				require.NotContains(t, string(content), "HuskText", "%s: %s", language, name)
				escaped = escaped || strings.Contains(string(content), `canary\u0028\u0029`)
			}
			require.True(t, escaped, "%s: %s", language, hostile)
		}
		for _, schema := range []string{
			`{"name": "hostile", "version": "1.0.0", "resources": {"hostile:index:Thing": {"inputProperties": {HOSTILE: {"type": "string"}}}}}`,
			`{"name": "hostile", "version": "1.0.0", "resources": {HOSTILE: {}}}`,
			`{"name": "hostile", "version": "1.0.0", "language": {"nodejs": {"dependencies": {HOSTILE: "1"}}}}`,
		} {
			_, err := generate(one(schema), "nodejs")
			require.ErrorContains(t, err, "is not a name that SDKs can have")
		}
	}
	_, err := generate([]byte(`{"name": "HuskText000000Text", "version": "1.0.0"}`), "go")
	require.ErrorContains(t, err, "stands for a text")
}
