package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/projectroot"
)

func project(t *testing.T, text string) *Project {
	t.Helper()
	p, err := ParseProject(t.Context(), projectroot.New("/work", projectroot.Trusted), "Husk.yaml", []byte(text))
	require.NoError(t, err)
	return p
}

// The word null names a provider, with quotes and without.
func TestAProviderOfTheNameNull(t *testing.T) {
	for _, name := range []string{"null", `"null"`} {
		require.NotNil(t, project(t, "name: a\nruntime: yaml\nplugins: {providers: [{name: "+name+", path: x.wasm}]}\n").Provider("null"))
	}
}

func TestParseProject(t *testing.T) {
	p := project(t, `
name: shop
description: A shop
runtime:
  name: yaml
  options: {}
backend:
  url: file://./state
stackConfigDir: stacks
author: somebody
plugins:
  providers:
    - name: random
      path: ../random.wasm
    - name: local
      path: providers/local
      version: v1.2.3
      grants:
        fs:
          - path: site
            mode: rw
          - assets:ro
          - cache:rw
          - plain
        env: [HOME]
        http:
          - https://api.example.com/v1
          - url: http://127.0.0.1:8080
            methods: [GET, HEAD]
config:
  replicas: {type: integer, default: 2}
  domain: {type: string, description: Where it is served}
  hosts: {type: array, items: {type: string}}
  password: {type: string, secret: true}
  aws:region: eu-west-1
resources:
  pet: {type: random:RandomPet}
`)
	require.Equal(t, "shop", p.Name)
	require.Equal(t, "A shop", p.Description)
	require.Equal(t, RuntimeYAML, p.Runtime)
	require.Equal(t, "file://./state", p.BackendURL)
	require.Equal(t, "/work/stacks", p.StackConfigDir)
	require.Equal(t, "/work", p.ProgramDir)
	require.NotNil(t, p.Template.Resources)
	require.Nil(t, p.Template.Outputs)
	require.Empty(t, p.Warnings)

	require.Len(t, p.Providers, 2)
	random, local := p.Provider("random"), p.Provider("local")
	require.Equal(t, "/random.wasm", p.Path(random.Path))
	require.Empty(t, random.Grants)
	require.Equal(t, "1.2.3", local.Version)
	for i := range local.Grants {
		local.Grants[i].Position = source.Position{}
	}
	require.Equal(t, []Grant{
		{Text: grant.Text{Capability: "fs", Scope: "site"}, Mode: "rw"},
		{Text: grant.Text{Capability: "fs", Scope: "assets"}, Mode: "ro"},
		{Text: grant.Text{Capability: "fs", Scope: "cache"}, Mode: "rw"},
		{Text: grant.Text{Capability: "fs", Scope: "plain"}, Mode: "ro"},
		{Text: grant.Text{Capability: "env", Scope: "HOME"}},
		{Text: grant.Text{Capability: "http", Scope: "https://api.example.com/v1"}},
		{Text: grant.Text{Capability: "http", Scope: "http://127.0.0.1:8080", Methods: []string{"GET", "HEAD"}}},
	}, local.Grants)
	require.Nil(t, p.Provider("tls"))

	types := map[string]string{}
	for _, c := range p.Config {
		types[c.Key] = c.Type.String()
	}
	require.Equal(t, map[string]string{
		"shop:replicas": "integer", "shop:domain": "string", "shop:hosts": "array of string",
		"shop:password": "string", "aws:region": "string",
	}, types)
	require.True(t, p.Config[3].Secret)
	require.Equal(t, property.Number(2), p.Config[0].Default)
}

// What Pulumi reads in project files that are old, empty in places, or shared with other tools.
func TestParseAProjectOfPulumi(t *testing.T) {
	parse := func(text string) (*Project, error) {
		return ParseProject(t.Context(), projectroot.New("/work", projectroot.Trusted), "Pulumi.yaml", []byte(text))
	}
	p, err := parse("name: shop\ndescription:\nruntime: nodejs\nconfig: stacks\nteam: {name: web}\n")
	require.NoError(t, err)
	require.Empty(t, p.Description)
	require.Equal(t, "/work/stacks", p.StackConfigDir)
	require.Empty(t, p.Config)
	require.Len(t, p.Warnings, 1)
	require.Contains(t, p.Warnings[0].Error(), `Pulumi.yaml:5:1: warning: the key "team" has no effect`)
	for text, want := range map[string]string{
		"resource: {}":                 `unknown key "resource" in the project file; did you mean "resources"?`,
		"config: a\nstackConfigDir: b": "config and stackConfigDir both name the directory of the stacks' configuration: leave out config",
		"config: [a]":                  "config is a mapping of keys to values, not a list",
		"description: [a]":             "the description must be text",
	} {
		_, err := parse("name: shop\nruntime: yaml\n" + text + "\n")
		require.ErrorContains(t, err, want, text)
	}
}

// All that is wrong with a project file is told at once.
func TestProjectErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty": {"# nothing yet\n", `
Husk.yaml: the project file is empty
  it needs at least "name: my-project"`},
		"no name": {"runtime: yaml\n", `
Husk.yaml:1:1: the project has no name
    1 | runtime: yaml
      | ^
  add a line such as "name: my-project"`},
		"misspelt keys": {"name: a\nresource: {}\nstackconfigdir: x\nzzz: 1\nx-mine: fine\n", `
Husk.yaml:2:1: unknown key "resource" in the project file; did you mean "resources"?
    2 | resource: {}
      | ^
Husk.yaml:3:1: warning: the key "stackconfigdir" is spelled "stackConfigDir"
    3 | stackconfigdir: x
      | ^
Husk.yaml:4:1: unknown key "zzz" in the project file
    4 | zzz: 1
      | ^
  known keys: name, description, runtime, main, backend, encryption, config, configuration, plugins, packages, policies, pulumi, variables, actions, components, resources, outputs, options, stackConfigDir, requiredPulumiVersion`},
		"required version": {"name: a\nrequiredPulumiVersion: '>=4.0.0'\nversion: 1.2.3\nnamespace: acme\n", `
Husk.yaml:2:24: this is for versions >=4.0.0 of Pulumi, and Husk reads programs as Pulumi 3.276.0 does
    2 | requiredPulumiVersion: '>=4.0.0'
      |                        ^`},
		"no range": {"name: a\nrequiredPulumiVersion: new\n", `
Husk.yaml:2:24: "new" is not a range of versions such as >=3.100.0
    2 | requiredPulumiVersion: new
      |                        ^`},
		"bad names": {"name: my project\nruntime: [yaml]\nbackend: file\n", `
Husk.yaml:1:7: the project's name "my project" may have letters, digits, and the characters _ . - only, at most 100 of them
    1 | name: my project
      |       ^
Husk.yaml:2:10: the runtime must be text, not a list
    2 | runtime: [yaml]
      |          ^
Husk.yaml:3:10: backend is a mapping of keys to values, not text
    3 | backend: file
      |          ^`},
		"typos": {"name: a\nruntime: yamll\nplugins: {providers: [{name: “random”, path: x}]}\n", `
Husk.yaml:2:10: there is no runtime "yamll"; did you mean "yaml"?
    2 | runtime: yamll
      |          ^
Husk.yaml:3:30: "“random”" is not the name of a package
    3 | plugins: {providers: [{name: “random”, path: x}]}
      |                              ^
  “ is not a quote for YAML: write " in its place`},
		"a program in another language": {"name: a\nruntime: {name: nodejs}\nresources: {}\n", `
Husk.yaml:3:1: a program in nodejs cannot declare resources in Husk.yaml
    3 | resources: {}
      | ^
  only programs of the runtime yaml can`},
		"providers": {`name: a
plugins:
  providers:
    - name: random
      path: ""
    - name: tls
    - path: x.wasm
    - {name: local, path: x, version: new, grant: {}}
    - {name: local, path: y}
    - name: other
      path: z
      grants:
        fs: [{path: d, mode: wr}, {mode: rw}]
        env: [A=B]
        http: [{url: a, method: GET}, {methods: []}, {methods: [GET]}, []]
`, `
Husk.yaml:5:13: the path is empty
    5 |       path: ""
      |             ^
Husk.yaml:6:7: the provider "tls" has neither a path nor a source
    6 |     - name: tls
      |       ^
  path names a .wasm file, or a directory of source that is built when it is needed; source says where husk install fetches the module from, and may be a name that a registry of plugins.registries has
Husk.yaml:7:7: the provider has no name
    7 |     - path: x.wasm
      |       ^
Husk.yaml:8:39: "new" is not a version such as 4.16.0
    8 |     - {name: local, path: x, version: new, grant: {}}
      |                                       ^
Husk.yaml:8:44: unknown key "grant" in a provider; did you mean "grants"?
    8 |     - {name: local, path: x, version: new, grant: {}}
      |                                            ^
Husk.yaml:9:7: the provider "local" is listed twice
    9 |     - {name: local, path: y}
      |       ^
  to use several versions, give each entry an exact version
Husk.yaml:13:30: the mode is ro (read only) or rw (read and write), not "wr"
   13 |         fs: [{path: d, mode: wr}, {mode: rw}]
      |                              ^
Husk.yaml:13:35: the granted directory has no path
   13 |         fs: [{path: d, mode: wr}, {mode: rw}]
      |                                   ^
Husk.yaml:14:15: "A=B" is not the name of an environment variable
   14 |         env: [A=B]
      |               ^
Husk.yaml:15:25: unknown key "method" in a service that may be used over HTTP; did you mean "methods"?
   15 |         http: [{url: a, method: GET}, {methods: []}, {methods: [GET]}, []]
      |                         ^
Husk.yaml:15:49: no method is listed; leave methods out to grant all
   15 |         http: [{url: a, method: GET}, {methods: []}, {methods: [GET]}, []]
      |                                                 ^
Husk.yaml:15:54: a service that may be used over HTTP has no url
   15 |         http: [{url: a, method: GET}, {methods: []}, {methods: [GET]}, []]
      |                                                      ^
Husk.yaml:15:72: a service that may be used over HTTP must be text, not a list
   15 |         http: [{url: a, method: GET}, {methods: []}, {methods: [GET]}, []]
      |                                                                        ^`},
		"config": {`name: a
config:
  one: {type: strng}
  two: {type: integer, default: x}
  three: {secret: true}
  four: {type: array, items: {type: integer}, default: [1, b]}
  a:four: 1
  five six: 1
  big: 123456789012345678901
`, `
Husk.yaml:3:15: unknown type "strng": a configuration value is a string, integer, number, boolean, array, object; did you mean "string"?
    3 |   one: {type: strng}
      |               ^
Husk.yaml:4:33: the default of "two" does not fit its type: it must be an integer
    4 |   two: {type: integer, default: x}
      |                                 ^
Husk.yaml:6:56: the default of "four" does not fit its type: element 1: it must be an integer
    6 |   four: {type: array, items: {type: integer}, default: [1, b]}
      |                                                        ^
Husk.yaml:8:3: invalid configuration key "five six": it must have the form <key> or <namespace>:<key>
    8 |   five six: 1
      |   ^
Husk.yaml:9:8: this number is larger than 2^53 and would lose digits; quote it to keep it as text
    9 |   big: 123456789012345678901
      |        ^`},
		"words that would change what is done": {`name: a
runtime: {name: yaml, options: {compiler: cue export, binary: x}}
options: {refresh: sometimes, protect: true}
plugins: {analyzers: [{name: p, path: q}]}
`, `
Husk.yaml:2:33: a program that a compiler writes is not supported
    2 | runtime: {name: yaml, options: {compiler: cue export, binary: x}}
      |                                 ^
  run the compiler first, and have it write the program to Main.yaml beside this file
Husk.yaml:2:55: the runtime yaml has no option "binary"
    2 | runtime: {name: yaml, options: {compiler: cue export, binary: x}}
      |                                                       ^
Husk.yaml:3:20: refresh is "sometimes", and can only be always: leave it out to refresh where --refresh says so
    3 | options: {refresh: sometimes, protect: true}
      |                    ^
Husk.yaml:3:31: unknown key "protect" in options
    3 | options: {refresh: sometimes, protect: true}
      |                               ^
  known keys: refresh
Husk.yaml:4:11: plugins.analyzers are not supported, so nothing would be held to them: list policy packs under policies
    4 | plugins: {analyzers: [{name: p, path: q}]}
      |           ^`},
		"config twice": {"name: a\nconfig:\n  b: 1\n  c: {}\n  a:b: {type: Int}\n", `
Husk.yaml:5:3: the configuration key "a:b" is declared twice; the first is on line 3
    5 |   a:b: {type: Int}
      |   ^`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseProject(t.Context(), projectroot.New("/work", projectroot.Trusted), "Husk.yaml", []byte(c.text))
			require.Error(t, err)
			require.Equal(t, strings.TrimPrefix(c.want, "\n"), err.Error())
		})
	}
}

func TestLoadProject(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}

	_, err := LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	var none *NoProjectError
	require.ErrorAs(t, err, &none)
	require.ErrorContains(t, err, "looked for Husk.yaml, Husk.yml, Pulumi.yaml, Pulumi.yml")

	write("Pulumi.yaml", "name: theirs\nruntime: yaml\n")
	p, err := LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.NoError(t, err)
	require.Equal(t, "theirs", p.Name)

	write("Husk.yaml", "name: ours\nmain: sub\nplugins: {languages: []}\n")
	_, err = LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.ErrorContains(t, err, "Husk.yaml:2:7: main names no program")

	write("sub/Main.yaml", "resources: {}\noutput: {}\n")
	_, err = LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.ErrorContains(t, err, `sub/Main.yaml:2:1: unknown key "output" in the program; did you mean "outputs"?`)

	write("sub/Main.yaml", "resources: {}\noutputs: {}\n")
	p, err = LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.NoError(t, err)
	require.Equal(t, "ours", p.Name)
	require.Equal(t, filepath.Join(dir, "sub"), p.ProgramDir)
	require.NotNil(t, p.Template.Outputs)
	require.Equal(t, "sub/Main.yaml", p.Template.File.Name)
	require.Len(t, p.Warnings, 1)
	require.Equal(t, source.Warning, p.Warnings[0].Severity)

	// Beside the project file, Pulumi reads a program of its own first. It stands in one place.
	write("Husk.yaml", "name: ours\noptions: {refresh: always}\n")
	write("Main.yaml", "resources: {a: {type: t}}\n")
	p, err = LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.NoError(t, err)
	require.True(t, p.Refresh)
	require.Equal(t, "Main.yaml", p.Template.File.Name)
	require.NotNil(t, p.Template.Resources)
	write("Main.json", "{\"outputs\": {\"a\": 1}}\n")
	p, err = LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.NoError(t, err)
	require.Equal(t, "Main.json", p.Template.File.Name)
	require.NotNil(t, p.Template.Outputs)
	require.Nil(t, p.Template.Resources)
	write("Husk.yaml", "name: ours\nresources: {}\nmain: sub\n")
	_, err = LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.ErrorContains(t, err, "Husk.yaml:2:1: the program is in sub/Main.yaml, and this file declares resources as well")
	require.NoError(t, os.Rename(filepath.Join(dir, "sub/Main.yaml"), filepath.Join(dir, "sub/Pulumi.yaml")))
	write("Husk.yaml", "name: ours\nmain: sub\n")
	p, err = LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.NoError(t, err)
	require.Equal(t, "sub/Pulumi.yaml", p.Template.File.Name)

	write("Husk.yaml", strings.Repeat("#", source.MaxFileSize+1))
	_, err = LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.ErrorContains(t, err, "larger than 8 MiB")
}

// Configuration may be declared in the file of the program, and by the older name of config. The first has precedence.
func TestConfigurationOfPrograms(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"Pulumi.yaml": "name: shop\nrequiredPulumiVersion: '>=3.0.0 !3.1.2'\nconfig:\n  one: {type: integer}\n  two: {}\nconfiguration:\n  two: {type: Int}\n  three: {type: List<String>}\n",
		"Main.yaml":   "configuration:\n  three: {type: String}\n  four: {type: String, default: x}\nconfig:\n  five: 5\npulumi: {requiredVersion: '>=3.0.0'}\nx-anchors: 1\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	p, err := LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.NoError(t, err)
	var got []string
	for _, c := range p.Config {
		got = append(got, c.Key+" "+c.Type.String()+" "+c.File.Name)
	}
	require.Equal(t, []string{
		"shop:one integer Pulumi.yaml", "shop:two any value Pulumi.yaml", "shop:three array of string Pulumi.yaml",
		"shop:five integer Main.yaml", "shop:four string Main.yaml",
	}, got)
	require.Equal(t, strings.TrimPrefix(`
Main.yaml:2:3: warning: the configuration key "shop:three" is declared on line 8 of Pulumi.yaml, too, which is used
    2 |   three: {type: String}
      |   ^
Pulumi.yaml:7:3: warning: the configuration key "shop:two" is declared on line 5 of Pulumi.yaml, too, which is used
    7 |   two: {type: Int}
      |   ^`, "\n"), p.Warnings.Error())
}

func TestConfigTypeParse(t *testing.T) {
	strings := ConfigType{Kind: ConfigArray, Items: &ConfigType{Kind: ConfigString}}
	for _, c := range []struct {
		typ  ConfigType
		text string
		want property.Value
		err  string
	}{
		{ConfigType{Kind: ConfigString}, "01", property.String("01"), ""},
		{ConfigType{Kind: ConfigInteger}, "3", property.Number(3), ""},
		{ConfigType{Kind: ConfigInteger}, "3.5", property.Null, "it must be an integer"},
		{ConfigType{Kind: ConfigInteger}, "three", property.Null, "it must be an integer"},
		{ConfigType{Kind: ConfigNumber}, "3.5", property.Number(3.5), ""},
		{ConfigType{Kind: ConfigNumber}, "NaN", property.Null, "it must be a number"},
		{ConfigType{Kind: ConfigBoolean}, "true", property.Bool(true), ""},
		{ConfigType{Kind: ConfigBoolean}, "yes", property.Null, "it must be true or false"},
		{strings, `["a"]`, property.Array(property.String("a")), ""},
		{strings, `["a", 1]`, property.Null, "element 1: it must be a string"},
		{strings, `a`, property.Null, "it must be an array of string, written as JSON"},
		{ConfigType{Kind: ConfigObject}, `{"a": null}`, property.Object(property.NewMap(property.Entry{Key: "a"})), ""},
		{ConfigType{}, `{"a"`, property.String(`{"a"`), ""},
		{ConfigType{}, `[1]`, property.Array(property.Number(1)), ""},
		{ConfigType{}, `1`, property.String("1"), ""},
	} {
		v, err := c.typ.Parse(c.text)
		if c.err != "" {
			require.EqualError(t, err, c.err, "%s %s", c.typ, c.text)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, v, "%s %s", c.typ, c.text)
	}
}

// An editor gets what can be used of a project with mistakes, and the texts of its other files are those that it has.
func TestReadProject(t *testing.T) {
	texts := map[string]string{
		"/nowhere/infra/Main.yaml": "resources: {a: {type: 'x:Y'}}",
		"/nowhere/Husk.dev.yaml":   "config: {shop:a: b}",
	}
	root := projectroot.New("/nowhere", projectroot.Trusted).Overlay(func(path string) ([]byte, bool) {
		text, ok := texts[filepath.ToSlash(path)]
		return []byte(text), ok
	})
	p, ds := ReadProject(t.Context(), root, "Husk.yaml", []byte("name: shop\nmain: infra/Main.yaml\nplugns: {}\nplugins: {providers: [{name: x, path: x.wasm}, {name: y}]}\n"))
	require.Len(t, ds, 2)
	require.Equal(t, "shop", p.Name)
	require.Len(t, p.Providers, 1)
	require.Equal(t, "infra/Main.yaml", filepath.ToSlash(p.Template.File.Name))
	require.NotNil(t, p.Template.Resources)
	config, err := p.StackConfig("dev")
	require.NoError(t, err)
	require.Equal(t, []string{"shop:a"}, config.Keys())

	p, ds = ReadProject(t.Context(), root, "Husk.yaml", []byte("name: [\n"))
	require.Nil(t, p)
	require.Len(t, ds, 1)
}

func TestSources(t *testing.T) {
	p, err := ParseProject(t.Context(), projectroot.New("/work", projectroot.Trusted), "Husk.yaml", []byte(`
name: a
plugins:
  vendor: modules
  providers:
    - {name: random, source: "oci://registry.example.com/acme/random", version: ">=1.2 <2"}
    - {version: v1.4.0, name: tls, source: "https://example.com/tls.wasm"}
    - {name: local, path: local.wasm}
    - {name: aws, source: "oci://registry.example.com/acme/aws", version: 1.0.0}
    - {name: aws, source: "oci://registry.example.com/acme/aws", version: 2.0.0}
`))
	require.NoError(t, err)
	require.Equal(t, "/work/modules", p.Vendor)
	var listed [][3]string
	for _, d := range p.Providers {
		listed = append(listed, [3]string{d.Source, d.Version, d.Place()})
	}
	require.Equal(t, [][3]string{
		{"oci://registry.example.com/acme/random", ">=1.2 <2", "oci://registry.example.com/acme/random"},
		{"https://example.com/tls.wasm", "1.4.0", "https://example.com/tls.wasm"},
		{"", "", "local.wasm"},
		{"oci://registry.example.com/acme/aws", "1.0.0", "oci://registry.example.com/acme/aws"},
		{"oci://registry.example.com/acme/aws", "2.0.0", "oci://registry.example.com/acme/aws"},
	}, listed)
	aws, err := p.ProviderVersion("aws", "1.0.0")
	require.NoError(t, err)
	require.Equal(t, "1.0.0", aws.Version)
	require.Empty(t, (&ProviderPlugin{Name: "unlisted"}).Place())
}

func TestWrongSources(t *testing.T) {
	for entry, want := range map[string]string{
		`{name: a, source: "oci://r.example.com/a/a", path: x}`:         `the provider "a" has a path and a source`,
		`{name: a, source: ""}`:                                         "the source is empty",
		`{name: a, source: []}`:                                         "a provider's source must be text",
		`{name: a, source: "oci://r.example.com/a/a", version: newest}`: `"newest" is not a range of versions`,
		`{name: a, path: a.wasm, version: ">=1"}`:                       `">=1" is not a version`,
		`{name: a, source: "oci://r.example.com/a/a", version: ^1}, {name: a, path: x, version: 2.0.0}`:                              "to use several versions, give each entry an exact version",
		`{name: a, source: "oci://r.example.com/a/a", version: 1.0.0}, {name: a, source: "oci://r.example.com/a/a", version: 1.0.0}`: "is listed twice",
	} {
		_, err := ParseProject(t.Context(), projectroot.New("/work", projectroot.Trusted), "Husk.yaml", []byte("name: a\nplugins: {providers: ["+entry+"]}\n"))
		require.ErrorContains(t, err, want, entry)
	}
}
