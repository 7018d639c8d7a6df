package port_test

import (
	"context"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/goproxytest"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/port"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// imitations has the Go command fetch the modules in testdata/proxy and no others. They imitate those of
// Terraform, and an imitation of the adapter serves what they serve.
func imitations(t *testing.T) (sdk string) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a module")
	}
	proxy, err := goproxytest.NewServer("testdata/proxy", "")
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	modules := t.TempDir()
	t.Cleanup(func() { // the Go command makes the directories read-only
		require.NoError(t, filepath.WalkDir(modules, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				err = os.Chmod(path, 0o700)
			}
			return err
		}))
	})
	t.Setenv("GOPROXY", proxy.URL)
	t.Setenv("GOSUMDB", "off")
	t.Setenv("GOMODCACHE", modules)
	t.Setenv("GOTOOLCHAIN", "local")

	sdk = t.TempDir()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(filepath.Join(root, "abi"), filepath.Join(sdk, "abi")))
	require.NoError(t, os.Mkdir(filepath.Join(sdk, "guest-sdk"), 0o755))
	for _, name := range []string{"deploy", "guest", "internal"} {
		require.NoError(t, os.Symlink(filepath.Join(root, "guest-sdk", name), filepath.Join(sdk, "guest-sdk", name)))
	}
	require.NoError(t, os.CopyFS(filepath.Join(sdk, "guest-sdk", "terraform"), os.DirFS("testdata/adapter")))
	return sdk
}

// files writes files and returns their directory.
func files(t *testing.T, contents map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range contents {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

// described returns what the imitation of the adapter says of a module.
func described(t *testing.T, built *port.Built, grants ...host.Grants) string {
	t.Helper()
	m, err := testmodule.Host(t, host.NewConfig()).LoadBytes(t.Context(), built.Wasm)
	require.NoError(t, err)
	require.Equal(t, built.Manifest, *m.Info.Manifest)
	p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: built.Manifest.Name, Grants: slices.Concat(grants, []host.Grants{{}})[0]})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	response, err := p.GetSchema(t.Context(), abi.GetSchemaRequest{})
	require.NoError(t, err)
	pkg, err := schemajson.Parse([]byte(response.Schema))
	require.NoError(t, err)
	return strings.TrimSpace(pkg.Description)
}

func TestAModuleOfAProxy(t *testing.T) {
	sdk := imitations(t)
	built, err := port.Port(t.Context(), "example.com/terraform-provider-cat@v1.2.3", port.Options{Dir: t.TempDir(), SDK: sdk})
	require.NoError(t, err)
	require.Equal(t, "6 registry.terraform.io/example/cat cat 1.2.3 b b new", described(t, built))
	require.Equal(t, "cat", built.Manifest.Name)
	require.Equal(t, "1.2.3", built.Manifest.Version)
	o := built.Manifest.Origin
	require.Equal(t, "example.com/terraform-provider-cat", o.Module)
	require.Equal(t, "v1.2.3", o.Version)
	require.Regexp(t, "^h1:.{43}=$", o.Checksum)
	require.Equal(t, []string{"MPL-2.0"}, o.Licences)
	require.Equal(t, "Terraform provider server", o.Kind)
	require.Regexp(t, `^go1\.`, o.Go)
	require.Equal(t, []string{"plugin-go"}, o.Shims)
}

// What no port has used for long is forgotten; what one uses is not.
func TestTheCacheForgets(t *testing.T) {
	sdk, cache := imitations(t), t.TempDir()
	ported := func(source string) (kept []string) {
		_, err := port.Port(t.Context(), source, port.Options{Dir: cache, SDK: sdk})
		require.NoError(t, err)
		kept, err = filepath.Glob(filepath.Join(cache, "source", "*"))
		require.NoError(t, err)
		return kept
	}
	cat := ported("example.com/terraform-provider-cat@v1.2.3")
	require.Len(t, cat, 1)
	long := time.Now().AddDate(0, -4, 0)
	require.NoError(t, os.Chtimes(cat[0], long, long))
	fork := ported("example.com/fork@v1.5.0")
	require.Len(t, fork, 1)
	require.NotEqual(t, cat, fork)
	month := time.Now().AddDate(0, -1, 0)
	require.NoError(t, os.Chtimes(fork[0], month, month))
	require.Equal(t, fork, ported("example.com/fork@v1.5.0"))
	info, err := os.Stat(fork[0])
	require.NoError(t, err)
	require.True(t, info.ModTime().After(month), "a use counts")
}

func TestAModuleThatDeclaresAnotherPath(t *testing.T) {
	sdk := imitations(t)
	built, err := port.Port(t.Context(), "example.com/fork@latest", port.Options{Dir: t.TempDir(), SDK: sdk, Name: "tom", Version: "2.0.0"})
	require.NoError(t, err)
	require.Equal(t, "6 registry.terraform.io/example/cat cat 2.0.0 b b new", described(t, built))
	require.Equal(t, "tom", built.Manifest.Name)
	require.Equal(t, "example.com/fork", built.Manifest.Origin.Module)
	require.Equal(t, "v1.5.0", built.Manifest.Origin.Version)
}

const (
	dogMod = "module example.com/terraform-provider-dog\n\ngo 1.24\n\nrequire github.com/hashicorp/terraform-plugin-sdk/v2 v2.27.0\n"
	dogGo  = `package main

import (
	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-sdk/v2/plugin"
)

type dog struct{}

func (dog) Describe() string { return text() }

func main() {
	plugin.Serve(&plugin.ServeOpts{ProviderFunc: func() tfprotov5.ProviderServer { return dog{} }})
}
`
	textGo = "package main\n\nfunc text() string { return \"dog\" }\n"
)

func TestADirectory(t *testing.T) {
	sdk := imitations(t)
	dir := files(t, map[string]string{
		"go.mod": dogMod, "main.go": dogGo, "text.go": textGo,
		"LICENSE.md": "Permission is hereby granted, free of charge, to any person\nobtaining a copy", "COPYING": "ask me",
		"LICENCE":            "Licensed under the Apache License,\nVersion 2.0 (the \"License\")",
		"vendor/modules.txt": "# nothing of this is used\n", ".git/config": "[core]\n",
	})
	var steps []string
	built, err := port.Port(t.Context(), dir, port.Options{Dir: t.TempDir(), SDK: sdk, Progress: func(s port.Step) { steps = append(steps, s.Doing) }})
	require.NoError(t, err)
	require.Equal(t, "5 provider dog old", described(t, built), "a selection of an old terraform-plugin-go sets build tags")
	require.Equal(t, "0.0.0-dev", built.Manifest.Version)
	require.Equal(t, "Terraform plugin SDKv2", built.Manifest.Origin.Kind)
	require.Equal(t, []string{"go-plugin", "plugin-go"}, built.Manifest.Origin.Shims)
	require.Equal(t, []string{"Apache-2.0", "MIT", "NOASSERTION"}, built.Manifest.Origin.Licences)
	require.Equal(t, []string{"fetching", "resolving", "compiling"}, steps)
	require.NoFileExists(t, filepath.Join(dir, "go.sum"), "nothing is written beside the source")

	again, err := port.Port(t.Context(), files(t, map[string]string{
		"go.mod": dogMod, "main.go": dogGo, "text.go": textGo,
		"LICENSE.md": "Permission is hereby granted, free of charge, to any person\nobtaining a copy", "COPYING": "ask me",
		"LICENCE": "Licensed under the Apache License,\nVersion 2.0 (the \"License\")",
	}), port.Options{Dir: t.TempDir(), SDK: sdk})
	require.NoError(t, err)
	require.Equal(t, built.Wasm, again.Wasm, "the same source in another directory, with another cache, gives the same module")

	small, err := port.Port(t.Context(), dir, port.Options{Dir: t.TempDir(), SDK: sdk, MaxSize: len(built.Wasm) - 1000})
	require.NoError(t, err)
	require.Equal(t, "5 provider dog old", described(t, small))
	require.True(t, named(t, built))
	require.False(t, named(t, small), "a module that is too large has no names of functions")
}

// named reports whether a module has the names of its functions.
func named(t *testing.T, built *port.Built) bool {
	t.Helper()
	m, err := wasmfile.Read(built.Wasm, wasmfile.DefaultLimits())
	require.NoError(t, err)
	return slices.ContainsFunc(m.Customs, func(c wasmfile.Custom) bool { return c.Name == wasmfile.NameSection })
}

// A module starts no programs, and says so.
func TestAProviderThatStartsAProgram(t *testing.T) {
	sdk := imitations(t)
	dir := files(t, map[string]string{"go.mod": dogMod, "main.go": dogGo, "text.go": `package main

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

func text() string {
	_, err := exec.LookPath("kubectl")
	if !errors.Is(err, exec.ErrNotFound) {
		return "another error"
	}
	_, started := os.StartProcess("/bin/echo", nil, &os.ProcAttr{Sys: &syscall.SysProcAttr{Setsid: true}})
	return err.Error() + "\n" + exec.Command("/bin/echo").Run().Error() + "\n" + started.Error()
}
`})
	built, err := port.Port(t.Context(), dir, port.Options{Dir: t.TempDir(), SDK: sdk})
	require.NoError(t, err)
	require.Equal(t, `5 provider exec: "kubectl": a module in the sandbox of Husk cannot start programs: configure the provider to do without this one, or use Pulumi's plugin for it with native: true
exec: "/bin/echo": a module in the sandbox of Husk cannot start programs: configure the provider to do without this one, or use Pulumi's plugin for it with native: true
fork/exec /bin/echo: the sandbox of Husk has no such system call: not implemented on wasip1 old`, described(t, built))
}

// A release of a provider sets variables to its version, and so does a port. Constants and what the program
// sets itself stay.
func TestVariablesOfAVersion(t *testing.T) {
	sdk := imitations(t)
	dir := files(t, map[string]string{
		"go.mod": dogMod, "main.go": dogGo,
		".goreleaser.yml":             "builds:\n  - ldflags:\n      - '-s -w -X example.com/terraform-provider-dog/internal/release.Name={{.Version}} -X main.commit={{.Commit}}'\n",
		"internal/release/release.go": "package release\n\nvar Name = \"unreleased\"\n",
		"text.go": `package main

import "example.com/terraform-provider-dog/internal/release"

var (
	version string
	commit  = "none"
	Version = "dev" + commit
)

func text() string { return version + " " + commit + " " + Version + " " + release.Name }
`,
	})
	built, err := port.Port(t.Context(), dir, port.Options{Dir: t.TempDir(), SDK: sdk, Version: "3.1.0-beta.1"})
	require.NoError(t, err)
	require.Equal(t, "5 provider 3.1.0-beta.1 none devnone 3.1.0-beta.1 old", described(t, built))
}

// A provider that selects a terraform-plugin-go from before the adapter's oldest one gets that.
func TestAnOldSelection(t *testing.T) {
	sdk := imitations(t)
	const old = "module example.com/terraform-provider-cow\n\ngo 1.18\n\nrequire github.com/hashicorp/terraform-plugin-go v0.9.0\n"
	cowGo := strings.NewReplacer("github.com/hashicorp/terraform-plugin-sdk/v2/plugin", "github.com/hashicorp/terraform-plugin-go/tfprotov5/tf5server",
		"plugin.Serve(&plugin.ServeOpts{ProviderFunc: ", "tf5server.Serve(\"cow\", ", "}})", "})").Replace(dogGo)
	cow := map[string]string{"go.mod": old, "main.go": cowGo, "text.go": strings.ReplaceAll(textGo, "dog", "cow")}
	var raised string
	built, err := port.Port(t.Context(), files(t, cow), port.Options{Dir: t.TempDir(), SDK: sdk, Progress: func(s port.Step) {
		if s.Doing == "raising" {
			raised = s.What
		}
	}})
	require.NoError(t, err)
	require.Equal(t, "5 cow cow old", described(t, built))
	require.Equal(t, "github.com/hashicorp/terraform-plugin-go from v0.9.0 to v0.14.3", raised)
	require.Equal(t, []string{"github.com/hashicorp/terraform-plugin-go v0.14.3"}, built.Manifest.Origin.Raised)

	cow["go.mod"] = old + "\nreplace github.com/hashicorp/terraform-plugin-go => github.com/hashicorp/terraform-plugin-go v0.9.0\n"
	_, err = port.Port(t.Context(), files(t, cow), port.Options{Dir: t.TempDir(), SDK: sdk})
	require.ErrorContains(t, err, "cannot be ported: it selects github.com/hashicorp/terraform-plugin-go v0.9.0, replaced by github.com/hashicorp/terraform-plugin-go v0.9.0, "+
		"and no shim takes its server out of it\nPort a newer version of the provider, or update it: go get github.com/hashicorp/terraform-plugin-go@v0.14.3")
}

// What a provider does with net and net/http goes through the host, which asks for a grant.
func TestTheNetwork(t *testing.T) {
	sdk := imitations(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "connected") }))
	defer server.Close()
	dir := files(t, map[string]string{
		"go.mod": dogMod, "main.go": dogGo, "text.go": `package main

import (
	"io"
	"net/http"
)

func text() string {
	r, err := http.Get("` + server.URL + `")
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}
`,
	})
	built, err := port.Port(t.Context(), dir, port.Options{Dir: t.TempDir(), SDK: sdk})
	require.NoError(t, err)
	allowed, err := grant.ParseHTTP(server.URL)
	require.NoError(t, err)
	require.Equal(t, "5 provider connected old", described(t, built, host.Grants{HTTP: []grant.HTTP{allowed}}))
	require.Contains(t, described(t, built, host.Grants{}), "add to the provider's grants: http "+server.URL)
}

func TestReplacementsByDirectories(t *testing.T) {
	sdk := imitations(t)
	dir := files(t, map[string]string{
		"provider/go.mod": dogMod + `
require (
	example.com/beside v0.0.0
	example.com/inside v0.0.0
)

replace example.com/beside => ../beside

replace example.com/inside => ./inside
`,
		"provider/cmd/terraform-provider-puppy/main.go": dogGo,
		"provider/cmd/terraform-provider-puppy/text.go": `package main

import (
	"example.com/beside"
	"example.com/inside"
)

func text() string { return beside.Text + inside.Text }
`,
		"provider/inside/go.mod":    "module example.com/inside\n",
		"provider/inside/inside.go": "package inside\n\nconst Text = \"side\"\n",
		"beside/go.mod":             "module example.com/beside\n",
		"beside/beside.go":          "package beside\n\nconst Text = \"be\"\n",
	})
	built, err := port.Port(t.Context(), filepath.Join(dir, "provider", "cmd", "terraform-provider-puppy"), port.Options{Dir: t.TempDir(), SDK: sdk})
	require.NoError(t, err)
	require.Equal(t, "5 provider beside old", described(t, built))
	require.Equal(t, "puppy", built.Manifest.Name, "the program names the package")
}

func TestMainPackages(t *testing.T) {
	sdk := imitations(t)
	other := "package main\n\nfunc main() {}\n"
	contents := map[string]string{
		"go.mod": dogMod, "main.go": other, "tools/generate/main.go": other,
		"cmd/dog/main.go": dogGo, "cmd/dog/text.go": textGo,
	}
	dir := files(t, contents)
	built, err := port.Port(t.Context(), dir, port.Options{Dir: t.TempDir(), SDK: sdk})
	require.NoError(t, err, "the only program that serves a provider")
	require.Equal(t, "5 provider dog old", described(t, built))

	contents["cmd/cat/main.go"], contents["cmd/cat/text.go"] = dogGo, strings.ReplaceAll(textGo, "dog", "cat")
	dir = files(t, contents)
	_, err = port.Port(t.Context(), dir, port.Options{Dir: t.TempDir(), SDK: sdk})
	require.EqualError(t, err, dir+" has several providers: choose one with --main:\n  cmd/cat\n  cmd/dog")
	built, err = port.Port(t.Context(), dir, port.Options{Dir: t.TempDir(), SDK: sdk, Main: "cmd/cat"})
	require.NoError(t, err)
	require.Equal(t, "5 provider cat old", described(t, built))
}

func TestWhatIsNoProvider(t *testing.T) {
	sdk := imitations(t)
	const module = "module example.com/provider\n\ngo 1.24\n"
	// program returns the files of a program that imports a package, which a directory of it imitates.
	program := func(importing string) map[string]string {
		return map[string]string{
			"go.mod":  module + "\nrequire " + importing + " v0.0.0\n\nreplace " + importing + " => ./imitation\n",
			"main.go": "package main\n\nimport _ \"" + importing + "/plugin\"\n\nfunc main() {}\n", "imitation/go.mod": "module " + importing + "\n",
			"imitation/plugin/plugin.go": "package plugin\n",
		}
	}
	for name, c := range map[string]struct {
		files   map[string]string
		options port.Options
		want    string
	}{
		"no module":  {map[string]string{"main.go": "package main\n"}, port.Options{}, `has no go.mod, so the versions of its dependencies are unknown: get its source, run "go mod init"`},
		"a newer Go": {map[string]string{"go.mod": "module m\n\ngo 1.99\n", "main.go": "package main\n"}, port.Options{}, "needs Go 1.99, and the go command here is Go 1."},
		"no program": {map[string]string{"go.mod": module, "lib.go": "package lib\n"}, port.Options{}, "has no main package"},
		"another program": {map[string]string{"go.mod": module, "main.go": "package main\n\nfunc main() {}\n"}, port.Options{},
			"is not a provider that can be ported: its main package serves none of these kinds: pulumi-go-provider, Pulumi provider server, Terraform"},
		"a bridged provider": {map[string]string{
			"go.mod": module + "\nrequire (\n\tgithub.com/pulumi/pulumi-terraform-bridge/v3 v3.100.0\n\texample.com/terraform-provider-dog/v2 v2.1.0\n)\n\n" +
				"replace github.com/pulumi/pulumi-terraform-bridge/v3 => ./bridge\n\nreplace example.com/terraform-provider-dog/v2 => ./dog\n",
			"main.go":       "package main\n\nimport (\n\t_ \"example.com/terraform-provider-dog/v2/dog\"\n\t_ \"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge\"\n)\n\nfunc main() {}\n",
			"bridge/go.mod": "module github.com/pulumi/pulumi-terraform-bridge/v3\n", "bridge/pkg/tfbridge/bridge.go": "package tfbridge\n",
			"dog/go.mod": "module example.com/terraform-provider-dog/v2\n", "dog/dog/dog.go": "package dog\n",
		}, port.Options{}, "and the adapter for Terraform derives its tokens in the same way\nPort the Terraform provider: example.com/terraform-provider-dog/v2@v2.1.0"},
		"before the SDKs": {program("github.com/hashicorp/terraform"), port.Options{},
			"is a provider of the kind Terraform itself as the SDK: it was written before the plugin SDK was taken out of Terraform"},
		"a named package that is missing":    {map[string]string{"go.mod": module}, port.Options{Main: "cmd/x"}, "has no package in ./cmd/x"},
		"a named package that is no program": {map[string]string{"go.mod": module, "lib/lib.go": "package lib\n"}, port.Options{Main: "lib"}, "is the package lib, not a main package"},
		"a named package elsewhere":          {map[string]string{"go.mod": module}, port.Options{Main: "../x"}, "--main ../x: it is not in the module"},
		"a broken go.mod":                    {map[string]string{"go.mod": "modul x\n"}, port.Options{}, "go.mod:1: unknown directive: modul"},
		"a version that is none":             {map[string]string{"go.mod": dogMod, "main.go": dogGo, "text.go": textGo}, port.Options{Version: "one"}, `the version "one" is not a semantic version`},
		"no SDK":                             {map[string]string{"go.mod": dogMod, "main.go": dogGo, "text.go": textGo}, port.Options{SDK: "/nowhere"}, "--sdk /nowhere is not a checkout of Husk"},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.Dir = t.TempDir()
			if c.options.SDK == "" {
				c.options.SDK = sdk
			}
			_, err := port.Port(t.Context(), files(t, c.files), c.options)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestWhatIsNoSource(t *testing.T) {
	imitations(t)
	file := filepath.Join(files(t, map[string]string{"cat.wasm": ""}), "cat.wasm")
	for source, want := range map[string]string{
		"example.com/terraform-provider-cat@":            "names no version",
		"cat@v1.0.0":                                     "no provider is known by the name cat",
		"example.com/terraform-provider-cat@v1.2.3/../x": `the package "../x" is not in the module`,
		"example.com/terraform-provider-cat@v9.0.0":      "A module proxy does not serve every version",
		file: "is a file: name a directory of Go source, a provider such as hashicorp/time, or MODULE@VERSION",
	} {
		t.Run(source, func(t *testing.T) {
			_, err := port.Port(t.Context(), source, port.Options{Dir: t.TempDir()})
			require.ErrorContains(t, err, want)
		})
	}
	t.Run("no Go", func(t *testing.T) {
		t.Setenv("PATH", "")
		_, err := port.Port(t.Context(), t.TempDir(), port.Options{Dir: t.TempDir()})
		require.ErrorContains(t, err, "there is no go command: install Go")
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := port.Port(ctx, "example.com/terraform-provider-cat@v1.2.3", port.Options{Dir: t.TempDir()})
		require.ErrorIs(t, err, context.Canceled)
	})
}

// needing are the files of a provider whose text needs two packages of a module.
func needing(module, other string) map[string]string {
	name := path.Base(module)
	return map[string]string{
		"go.mod": dogMod + "\nrequire " + module + " v1.0.0\n", "main.go": dogGo,
		"text.go": "package main\n\nimport \"example.com/terraform-provider-dog/internal/store\"\n\nfunc text() string { return store.Text() }\n",
		"internal/store/store.go": "package store\n\nimport (\n\t\"" + module + "\"\n\t\"" + module + "/" + other + "\"\n)\n\n" +
			"func Text() string { return " + name + ".Size() + \", \" + " + other + ".Size() }\n",
	}
}

// remembering are the files of a provider whose modules are written for other systems.
func remembering() map[string]string { return needing("example.com/memory", "pages") }

// A package that has no file for WebAssembly is built as for Linux, and one that names system calls of Linux builds: they fail.
func TestAPackageForLinux(t *testing.T) {
	sdk := imitations(t)
	built, err := port.Port(t.Context(), files(t, remembering()), port.Options{Dir: t.TempDir(), SDK: sdk})
	require.NoError(t, err)
	require.Equal(t, "5 provider of Linux, pages of Unix for 1: the sandbox of Husk has no such system call: not implemented on wasip1, true old",
		described(t, built))
	require.Equal(t, []string{"go-plugin", "linux:example.com/memory", "plugin-go"}, built.Manifest.Origin.Shims)
}

func TestAPackageThatDoesNotBuild(t *testing.T) {
	sdk := imitations(t)
	dir := files(t, needing("example.com/processor", "kernel"))
	_, err := port.Port(t.Context(), dir, port.Options{Dir: t.TempDir(), SDK: sdk})
	var failed *port.BuildError
	require.ErrorAs(t, err, &failed)
	require.Len(t, failed.Packages, 2)
	require.ErrorContains(t, err, dir+" does not build for WebAssembly\n")
	require.ErrorContains(t, err, "The package example.com/processor of example.com/processor@v1.0.0 fails: a function is written in the assembly of other processors\n")
	require.ErrorContains(t, err, "missing function body\n"+
		"It is needed by example.com/terraform-provider-dog → example.com/terraform-provider-dog/internal/store\n")
	require.ErrorContains(t, err, "The package example.com/processor/kernel of example.com/processor@v1.0.0 fails: it calls the operating system, and WebAssembly has no such call\n")
	require.ErrorContains(t, err, "and --shim DIR names it")

	_, err = port.Port(t.Context(), files(t, map[string]string{"go.mod": dogMod, "main.go": dogGo}), port.Options{Dir: t.TempDir(), SDK: sdk})
	require.ErrorContains(t, err, "undefined: text")
	require.ErrorContains(t, err, "These packages are the provider's own")
}

func TestShimsOfTheUser(t *testing.T) {
	sdk := imitations(t)
	shim := map[string]string{
		"shim.yaml":        "module: example.com/memory\nversions: '>=1.0.0 <2.0.0'\npackages: [example.com/memory, example.com/memory/pages]\nreason: maps files\nlift: [pages/pages_js.go, pages/pages_unix.go]\ndrop: [memory_linux.go]\n",
		"memory_wasip1.go": "package memory\n\nfunc size() string { return \"of a shim\" }\n",
	}
	alone := files(t, shim)
	among := filepath.Join(files(t, map[string]string{"memory/shim.yaml": shim["shim.yaml"], "memory/memory_wasip1.go": shim["memory_wasip1.go"]}))
	for name, dir := range map[string]string{"alone": alone, "among others": among} {
		t.Run(name, func(t *testing.T) {
			built, err := port.Port(t.Context(), files(t, remembering()), port.Options{Dir: t.TempDir(), SDK: sdk, Shims: []string{dir}})
			require.NoError(t, err)
			require.Equal(t, "5 provider of a shim, pages of js old", described(t, built))
			require.Len(t, built.Manifest.Origin.Shims, 3)
		})
	}
	for name, c := range map[string]struct{ yaml, want string }{
		"an unknown key":    {"modul: example.com/memory\n", `unknown key "modul"; did you mean "module"?`},
		"no module":         {"reason: it fails\n", "it names no module"},
		"no reason":         {"module: example.com/memory\n", "it gives no reason"},
		"no YAML":           {"- a\n", "cannot unmarshal"},
		"a wrong range":     {"module: example.com/memory\nreason: x\nversions: '1 to 2'\n", `versions "1 to 2"`},
		"a missing file":    {"module: example.com/memory\nreason: x\ndrop: [memory_plan9.go]\n", "the shim"},
		"a file without js": {"module: example.com/memory\nreason: x\nlift: [memory.go]\n", "the file memory.go has no build constraint with js to lift"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := files(t, map[string]string{"shim.yaml": c.yaml})
			_, err := port.Port(t.Context(), files(t, remembering()), port.Options{Dir: t.TempDir(), SDK: sdk, Shims: []string{dir}})
			require.ErrorContains(t, err, c.want)
		})
	}
	other := files(t, map[string]string{"shim.yaml": "module: example.com/processor\nreason: x\nversions: '>=2.0.0'\n"})
	_, err := port.Port(t.Context(), files(t, needing("example.com/processor", "kernel")), port.Options{Dir: t.TempDir(), SDK: sdk, Shims: []string{other}})
	require.ErrorContains(t, err, "is for other versions of the module")
	_, err = port.Port(t.Context(), files(t, remembering()), port.Options{Dir: t.TempDir(), SDK: sdk, Shims: []string{t.TempDir()}})
	require.ErrorContains(t, err, "neither it nor one of its directories has a shim.yaml")
}

func TestAMapping(t *testing.T) {
	sdk := imitations(t)
	dir := files(t, map[string]string{"go.mod": dogMod, "main.go": dogGo, "text.go": textGo})
	with := func(text string) (*port.Built, error) {
		return port.Port(t.Context(), dir, port.Options{Dir: t.TempDir(), SDK: sdk, Mapping: filepath.Join(files(t, map[string]string{"map.yaml": text}), "map.yaml")})
	}
	built, err := with("prefix: dog_\nresources:\n  dog_bone:\n    name: O'Bone\n    fields:\n      hole: {maxItemsOne: false, fields: {depth: {name: deep}}}\n")
	require.NoError(t, err)
	require.Equal(t, `5 provider dog old {"prefix":"dog_","resources":{"dog_bone":{"name":"O\u0027Bone","fields":`+
		`{"hole":{"maxItemsOne":false,"fields":{"depth":{"name":"deep"}}}}}}}`, described(t, built))
	for text, want := range map[string]string{
		"resource: {}\n": `map.yaml:1: unknown key "resource"; did you mean "resources"?`,
		"prefix: d\nresources:\n  dog_bone:\n    fields:\n      hole: {maxItemOne: true}\n": `map.yaml:5: unknown key "maxItemOne"; did you mean "maxItemsOne"?`,
		"modules: 7\n": "map.yaml: line 1: cannot unmarshal",
		"\tx":          "map.yaml: ",
	} {
		_, err := with(text)
		require.ErrorContains(t, err, want)
	}
	_, err = port.Port(t.Context(), dir, port.Options{Dir: t.TempDir(), SDK: sdk, Mapping: filepath.Join(dir, "none.yaml")})
	require.ErrorContains(t, err, "--map: open ")
}

// A file of Pulumi's bridge names the package, too.
func TestAMappingOfPulumisBridge(t *testing.T) {
	file := filepath.Join(files(t, map[string]string{"bridge-metadata.json": `{
		"auto-aliasing": {"resources": {
			"dog_bone": {"current": "hound:toy/bone:Bone", "fields": {"hole": {"maxItemsOne": true}}},
			"dog_ball": {"current": "hound:toy/dogBall:DogBall"}}},
		"mux": {}, "smell": {}}`}), "bridge-metadata.json")
	dir := files(t, map[string]string{"go.mod": dogMod, "main.go": dogGo, "text.go": textGo})
	told := ""
	options := port.Options{Dir: t.TempDir(), SDK: imitations(t), Mapping: file, Progress: func(s port.Step) {
		if s.Doing == "leaving out" {
			told = s.What
		}
	}}
	built, err := port.Port(t.Context(), dir, options)
	require.NoError(t, err)
	require.Equal(t, "hound", built.Manifest.Name)
	require.Equal(t, "smell of "+file, told)
	require.Equal(t, `5 provider dog old {"optional":true,"modules":{"dog_":"toy"},"resources":{`+
		`"dog_ball":{"name":"DogBall"},"dog_bone":{"fields":{"hole":{"maxItemsOne":true}}}}}`, described(t, built))
}
