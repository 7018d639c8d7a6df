package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/projectroot"
)

// Packages may stand before the providers that they are made of.
func TestPackages(t *testing.T) {
	p := project(t, `
name: shop
packages:
  petstore:
    source: openapi
    version: v1.2.3
    parameters: [./petstore.yaml, 1.10, true, {b: {a: [1, x]}, c: null}]
  openapi: openapi@1.2
  random:
    source: random
plugins:
  providers:
    - {name: openapi, path: openapi.wasm}
    - {name: random, path: random.wasm}
`)
	require.Equal(t, Package{
		Name: "petstore", Source: "openapi", Version: "1.2.3",
		Parameters: &Parameterization{Args: []string{"./petstore.yaml", "1.10", "true", `{"b":{"a":[1,"x"]},"c":null}`}}, Position: source.Position{Line: 4, Column: 3},
	}, p.Package("petstore"))
	openapi, random := p.Package("openapi"), p.Package("random")
	require.Equal(t, "1.2", openapi.Version)
	require.False(t, openapi.Parameterized())
	require.Equal(t, "random", random.Source)
	require.Empty(t, random.Version)
	require.Equal(t, Package{Name: "other", Source: "other"}, p.Package("other"), "what is not declared")
	require.Empty(t, project(t, "name: shop\npackages:\n").Packages)
}

// Pulumi writes a file for each package of a program.
func TestPackageLocks(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("Pulumi.yaml", "name: shop\npackages: {mine: {source: openapi, parameters: [x]}}\nplugins: {providers: [{name: openapi, path: x.wasm}]}\n")
	write("sdks/petstore.yaml", "packageDeclarationVersion: 1\nname: openapi\nversion: 1.2.3\ndownloadUrl: https://example.com\n"+
		"parameterization:\n  name: petstore\n  version: 3.0.0\n  value: e30=\n")
	write("sdks/extra.yaml", "packageDeclarationVersion: 1\nname: openapi\nextension: {name: extra, version: 2.0.0, value: ''}\n")
	write("sdks/mine.yaml", "packageDeclarationVersion: 1\nname: openapi\nparameterization: {name: mine, version: 1.0.0, value: e30=}\n")
	write("sdks/random.yaml", "packageDeclarationVersion: 1\nname: random\nversion: 4.0.0\n")
	write("sdks/other.yaml", "name: something else\n")
	write("sdks/empty.yaml", "")
	p, err := LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.NoError(t, err)
	require.Equal(t, Package{
		Name: "petstore", Source: "openapi", Version: "1.2.3",
		Parameters: &Parameterization{Name: "petstore", Version: "3.0.0", Value: []byte("{}")},
	}, p.Package("petstore"))
	require.Equal(t, Package{
		Name: "extra", Source: "openapi", Extension: &Parameterization{Name: "extra", Version: "2.0.0", Value: []byte{}},
	}, p.Package("extra"))
	require.Equal(t, []string{"x"}, p.Package("mine").Parameters.Args, "the project file has precedence")
	require.Equal(t, Package{Name: "random", Source: "random", Version: "4.0.0"}, p.Package("random"))
	require.Len(t, p.Packages, 4)

	write("sdks/petstore.yaml", "packageDeclarationVersion: 2\nname: a\n")
	write("sdks/extra.yaml", "packageDeclarationVersion: 1\nname: a\nextension: {version: 1.0.0, value: e30=}\n")
	write("sdks/random.yaml", "packageDeclarationVersion: 1\n")
	write("sdks/other.yaml", "packageDeclarationVersion: 1\nname: a\nchecksum: x\nparameterization: {name: b, version: 1.0.0, value: '*'}\n")
	_, err = LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.ErrorContains(t, err, "sdks/petstore.yaml:1:1: the lock has version 2, and only version 1 is known")
	require.ErrorContains(t, err, "sdks/extra.yaml:1:1: a parameterization has a name, a version, and a value")
	require.ErrorContains(t, err, "sdks/random.yaml:1:1: the lock names no provider")
	require.ErrorContains(t, err, "sdks/other.yaml:3:1: unknown key \"checksum\" in the lock of a package")
	require.ErrorContains(t, err, "sdks/other.yaml:4:52: the value of the parameterization is not base64")
}

// A package whose source is a path is a provider without grants, or components in YAML.
func TestLocalPackages(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("web/PulumiPlugin.yaml", "name: web\nruntime: {name: yaml}\nversion: v1.2.0\nnamespace: acme\ncomponents:\n  Page:\n    inputs: {title: {type: string}, size: 1}\n    resources: {}\n")
	write("web/more.yaml", "components: {Other: {}}\n")
	write("web/values.yaml", "a: b\n")
	write("web/broken.yaml", "a: [\n")
	write("go/PulumiPlugin.yaml", "name: inGo\nruntime: go\n")
	write("node/PulumiPlugin.yaml", "runtime: {name: nodejs, options: {nodeargs: --no-warnings}}\n")
	write("java/PulumiPlugin.yaml", "runtime: java\n")
	write("bad/PulumiPlugin.yaml", "name: worse\nruntime: yaml\nresources: {}\nversion: one\ncomponents:\n  a:b: {}\n  Page: {input: {}, inputs: {a: {typ: string}}}\n")
	const head = "name: shop\nplugins: {providers: [{name: listed, path: listed.wasm}]}\ncomponents: {Own: {}}\npackages:\n"
	write("Husk.yaml", head+"  web: ./web@1.0.0\n  cloud: ./cloud.wasm\n  inGo: {source: ./go}\n  node: ./node\n")
	_, err := LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.ErrorContains(t, err, "web/broken.yaml:1:4:")
	require.NoError(t, os.Remove(filepath.Join(dir, "web/broken.yaml")))
	p, err := LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.NoError(t, err)
	node := p.Provider("node")
	require.True(t, node.Native)
	require.Equal(t, filepath.Join(dir, "node"), node.Program.ProgramDir)
	require.Equal(t, []RuntimeOption{{"nodeargs", "--no-warnings", source.Position{Line: 1, Column: 35}}}, node.Program.RuntimeOptions)
	require.Equal(t, []ProviderPlugin{
		{Name: "listed", Path: "listed.wasm", Position: source.Position{Line: 2, Column: 23}},
		{Name: "cloud", Path: "./cloud.wasm", Position: source.Position{Line: 6, Column: 10}},
		{Name: "inGo", Path: "./go", Position: source.Position{Line: 7, Column: 18}},
		{Name: "node", Path: "./node", Position: source.Position{Line: 8, Column: 9}, Native: true, Program: node.Program},
	}, p.Providers)
	require.Equal(t, "cloud", p.Package("cloud").Source)
	require.Equal(t, []string{"shop:Own"}, p.ComponentsOf("shop"))
	require.Equal(t, []string{"web:Page", "web:Other"}, p.ComponentsOf("web"))
	page := p.Component("web:index:Page")
	require.Equal(t, page, p.Component("web:Page"))
	require.Nil(t, p.Component("web:other:Page"))
	require.Equal(t, "web:index:Page", page.Token())
	require.Equal(t, "1.2.0", page.Version)
	require.Equal(t, filepath.Join(dir, "web"), page.Dir)
	require.Equal(t, []string{"title", "size"}, []string{page.Inputs[0].Name, page.Inputs[1].Name})
	require.Contains(t, p.OwnFiles(), filepath.Join(dir, "web", "*.yaml"))

	write("Husk.yaml", head+"  web: ./web@2.0.0\n  other: ./web\n  java: ./java\n  bad: ./bad\n  listed: ./x\n")
	_, err = LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.EqualError(t, err, strings.TrimPrefix(`
Husk.yaml:5:8: version 2.0.0 is wanted, and ./web holds version 1.2.0, which is not compatible with it
    5 |   web: ./web@2.0.0
      |        ^
Husk.yaml:6:10: the package in ./web is "web", not "other": declare it by that name
    6 |   other: ./web
      |          ^
Husk.yaml:7:9: the package "java" is written for the runtime java, and only those in YAML, Go, Node.js, and Python can be used as they are
    7 |   java: ./java
      |         ^
  write its components in one of these, or list a module of it in plugins.providers
Husk.yaml:9:11: the package "listed" is listed in plugins.providers, too
    9 |   listed: ./x
      |           ^
  leave one of the two out: plugins.providers can also give it grants and limits
bad/PulumiPlugin.yaml:4:10: "one" is not a version such as 4.16.0
    4 | version: one
      |          ^`, "\n"))
	write("bad/PulumiPlugin.yaml", "name: bad\nruntime: yaml\nresources: {}\ncomponents:\n  a:b: {}\n  Page: {input: {}, inputs: {a: {typ: string}}}\n")
	write("Husk.yaml", "name: shop\npackages: {bad: ./bad}\n")
	_, err = LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.EqualError(t, err, strings.TrimPrefix(`
bad/PulumiPlugin.yaml:3:1: a package declares components only, and this one declares resources
    3 | resources: {}
      | ^
  put them into a component
bad/PulumiPlugin.yaml:5:3: "a:b" is not a name that a component can have
    5 |   a:b: {}
      |   ^
bad/PulumiPlugin.yaml:6:10: unknown key "input" in a component; did you mean "inputs"?
    6 |   Page: {input: {}, inputs: {a: {typ: string}}}
      |          ^
bad/PulumiPlugin.yaml:6:34: unknown key "typ" in the declaration of an input; did you mean "type"?
    6 |   Page: {input: {}, inputs: {a: {typ: string}}}
      |                                  ^`, "\n"))
}

func TestPackageErrors(t *testing.T) {
	const text = `name: a
plugins:
  providers:
    - {name: openapi, path: x.wasm}
    - {name: bad}
packages:
  petstore: opnapi@1.0.0
  git: github.com/someone/something@b39e20e
  nothing:
  list: [openapi]
  form: {source: {}, parameters: x.yaml}
  keys: {source: openapi, parameter: [x], parameters: [[x], ~]}
  none: {parameters: [x]}
  versions: {source: openapi, version: new, parameters: [x]}
  openapi: openapi@
  other: {source: openapi, parameters: []}
  bad: bad
  a:b: {source: openapi, parameters: [x]}
  pulumi: {source: openapi, parameters: [x]}
  local: {source: ../local, parameters: [x]}
  time: {source: terraform-provider, version: 1.2.0, parameters: [hashicorp/time, 0.12.0]}
  vpc: {source: terraform-module, parameters: [terraform-aws-modules/vpc/aws, 6.0.0, vpc]}
`
	const want = `
Husk.yaml:5:7: the provider "bad" has neither a path nor a source
    5 |     - {name: bad}
      |       ^
  path names a .wasm file, or a directory of source that is built when it is needed; source says where husk install fetches the module from, and may be a name that a registry of plugins.registries has
Husk.yaml:7:13: there is no provider "opnapi" to make the package "petstore" of; did you mean "openapi"?
    7 |   petstore: opnapi@1.0.0
      |             ^
  source names a provider of plugins.providers; add an entry there:
    - name: opnapi
      path: <a .wasm file, or a directory of source>
Husk.yaml:8:8: there is no provider "github.com/someone/something" to make the package "git" of
    8 |   git: github.com/someone/something@b39e20e
      |        ^
  source names a provider of plugins.providers; Husk fetches no packages from a repository: clone it, and give the path of the package's directory as the source, such as ../something
Husk.yaml:9:3: the package "nothing" has a source, but here is nothing
    9 |   nothing:
      |   ^
Husk.yaml:10:9: a package is a mapping with a source, or text such as openapi@1.2.3, not a list
   10 |   list: [openapi]
      |         ^
Husk.yaml:11:18: a package's source must be text, not a mapping
   11 |   form: {source: {}, parameters: x.yaml}
      |                  ^
Husk.yaml:11:34: parameters must be a list of words, or a mapping with a version and a value, not text
   11 |   form: {source: {}, parameters: x.yaml}
      |                                  ^
Husk.yaml:12:27: unknown key "parameter" in a package; did you mean "parameters"?
   12 |   keys: {source: openapi, parameter: [x], parameters: [[x], ~]}
      |                           ^
Husk.yaml:12:56: a parameter must be text, not a list
   12 |   keys: {source: openapi, parameter: [x], parameters: [[x], ~]}
      |                                                        ^
Husk.yaml:12:61: a parameter must be text, not nothing
   12 |   keys: {source: openapi, parameter: [x], parameters: [[x], ~]}
      |                                                             ^
Husk.yaml:13:9: the package "none" has no source
   13 |   none: {parameters: [x]}
      |         ^
  source names a provider of plugins.providers
Husk.yaml:14:40: "new" is not a version such as 4.16.0
   14 |   versions: {source: openapi, version: new, parameters: [x]}
      |                                        ^
Husk.yaml:15:12: "" is not a version such as 4.16.0
   15 |   openapi: openapi@
      |            ^
Husk.yaml:16:19: without parameters, the provider "openapi" is the package "openapi", not "other"
   16 |   other: {source: openapi, parameters: []}
      |                   ^
  add the parameters that make it the package, or the extension that makes it serve it, or rename the package
Husk.yaml:18:3: "a:b" is not a name that a package can have
   18 |   a:b: {source: openapi, parameters: [x]}
      |   ^
Husk.yaml:19:3: "pulumi" is not a name that a package can have
   19 |   pulumi: {source: openapi, parameters: [x]}
      |   ^
Husk.yaml:20:19: there is no provider "../local" to make the package "local" of
   20 |   local: {source: ../local, parameters: [x]}
      |                   ^
  source names a provider of plugins.providers; one with parameters is listed there, and named by its own package:
    - name: <its package>
      path: ../local
Husk.yaml:21:18: there is no provider "terraform-provider" to make the package "time" of
   21 |   time: {source: terraform-provider, version: 1.2.0, parameters: [hashicorp/time, 0.12.0]}
      |                  ^
  Husk builds a module of a Terraform provider before it runs: build this one, list it under plugins.providers, and remove the package:
    husk provider port hashicorp/time@0.12.0 --map /dev/null
    - name: time
      path: time.wasm
Husk.yaml:22:17: there is no provider "terraform-module" to make the package "vpc" of
   22 |   vpc: {source: terraform-module, parameters: [terraform-aws-modules/vpc/aws, 6.0.0, vpc]}
      |                 ^
  Husk runs no modules of Terraform: write the resources into the program, with a provider that husk provider port builds
`
	_, err := ParseProject(t.Context(), projectroot.New("/work", projectroot.Trusted), "Husk.yaml", []byte(text))
	require.Error(t, err)
	require.Equal(t, strings.TrimPrefix(want, "\n"), err.Error()+"\n")
}

// What a provider made of parameters before takes the place of them; the name is the
// package's own where nothing else is said.
func TestPackageValues(t *testing.T) {
	p := project(t, `
name: shop
packages:
  petstore: {source: openapi, parameters: {version: v1.2.3, value: AP8=}}
  more: {source: openapi, extension: {version: 2.0.0, value: ""}}
  both: {source: openapi, parameters: {name: petstore, version: 1.2.3, value: AP8=}, extension: [x]}
plugins:
  providers:
    - {name: openapi, path: openapi.wasm}
`)
	value := Parameterization{Name: "petstore", Version: "1.2.3", Value: []byte{0, 255}}
	require.Equal(t, &value, p.Package("petstore").Parameters)
	require.Equal(t, &abi.Parameters{
		Case: abi.ParametersCaseValue, Value: abi.ParameterValue{Name: "petstore", Version: "1.2.3", Value: []byte{0, 255}},
	}, p.Package("petstore").Parameters.Parameters())
	require.Equal(t, &Parameterization{Name: "more", Version: "2.0.0", Value: []byte{}}, p.Package("more").Extension)
	require.Nil(t, p.Package("more").Parameters.Parameters())
	both := p.Package("both")
	require.Equal(t, &value, both.Parameters)
	require.Equal(t, &abi.Parameters{Case: abi.ParametersCaseArgs, Args: []string{"x"}}, both.Extension.Parameters())
}

func TestPackageValueErrors(t *testing.T) {
	for text, want := range map[string]string{
		"{version: 1.0.0}":                              "the parameters need a version and a value, which husk package add writes, or a list of words",
		"{value: eA==}":                                 "the parameters need a version and a value",
		"{version: 1.0, value: eA==}":                   `"1.0" is not a version such as 4.16.0`,
		"{version: 1.0.0, value: '?'}":                  "the value of the parameters is not base64; husk package add writes it",
		"{version: 1.0.0, value: eA==, args: x}":        `unknown key "args" in parameters`,
		"{version: 1.0.0, value: eA==}, extension: [x]": `the parameters of the package "a" need the name of the package that it extends`,
	} {
		_, err := ParseProject(t.Context(), projectroot.New("/work", projectroot.Trusted), "Husk.yaml", []byte("name: shop\nplugins: {providers: [{name: b, path: b.wasm}]}\npackages: {a: {source: b, parameters: "+text+"}}\n"))
		require.ErrorContains(t, err, want, text)
	}
}
