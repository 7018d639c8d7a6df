package plugins

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/build/nativewire"
)

// nativeNotes is the provider of a native process.
type nativeNotes struct{ abi.Unimplemented }

func (nativeNotes) Handshake(context.Context, abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	return abi.HandshakeResponse{Name: "notes", Version: "1.2.0"}, nil
}

func (nativeNotes) Configure(context.Context, abi.ConfigureRequest) error { return nil }

func (nativeNotes) GetSchema(context.Context, abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	return abi.GetSchemaResponse{Schema: `{"name": "notes", "version": "1.2.0"}`}, nil
}

// A native provider stands for the module of its directory in previews, and for no other. What is not its own error, such as an
// unknown version, it reports as the module does.
func TestANativeProviderIsForPreviewsOnly(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"notes", "other"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	file := filepath.Join(dir, "Husk.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
name: native
runtime: yaml
plugins:
  providers:
    - {name: notes, path: notes}
    - {name: other, path: other}
    - {name: misnamed, path: notes}
`), 0o600))
	project, err := program.LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.NoError(t, err)

	callsOut, callsIn := io.Pipe()
	answersOut, answersIn := io.Pipe()
	go nativewire.Serve(callsOut, answersIn, func() (abi.Provider, error) { return nativeNotes{}, nil },
		func(ctx context.Context, _ nativewire.Imports) context.Context { return ctx })
	t.Cleanup(func() { callsIn.Close() })
	client := nativewire.NewClient(answersOut, callsIn)
	p, err := Open(t.Context(), project, Options{
		Places: Places{Cache: t.TempDir()},
		Native: &Native{Dir: filepath.Join(dir, "notes"), Start: func() (*nativewire.Client, error) { return client, nil }},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close(context.Background())) })

	notes, err := p.Load(t.Context(), engine.PackageSpec{Name: "notes"})
	require.NoError(t, err)
	pkg, err := p.Package(t.Context(), program.Package{Name: "notes", Source: "notes"})
	require.NoError(t, err)
	require.Equal(t, "1.2.0", pkg.Version)
	_, is := abi.ProviderAs[engine.Digester](notes)
	require.False(t, is, "it is no module that a state could name")
	_, err = p.Load(t.Context(), engine.PackageSpec{Name: "misnamed"})
	require.ErrorContains(t, err, `holds the provider of the package "notes"`)
	_, err = p.Load(t.Context(), engine.PackageSpec{Name: "other"})
	require.ErrorContains(t, err, "other", "which is built")

	here := abi.ConfigureRequest{URN: "urn:here", Inputs: property.NewMap().With("region", property.String("here"))}
	there := abi.ConfigureRequest{URN: "urn:there", Inputs: property.NewMap().With("region", property.String("there"))}
	require.NoError(t, notes.Configure(t.Context(), here))
	require.NoError(t, notes.Configure(t.Context(), here))
	require.ErrorContains(t, notes.Configure(t.Context(), there), "urn:there has another configuration")

	p.Perform()
	_, err = p.Load(t.Context(), engine.PackageSpec{Name: "notes"})
	require.ErrorIs(t, err, errNativeRecords)
}

// Components and policy packs in Node.js and Python run outside the sandbox: not for a project that is not trusted, nor for a process
// that was started without what runs it.
func TestWhatNothingConfinesIsForTrustedProjects(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "zoo"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "zoo", "PulumiPlugin.yaml"), []byte("runtime: python\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "zoo", "PulumiPolicy.yaml"), []byte("runtime: python\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte("name: shop\npackages: {zoo: ./zoo}\npolicies: [zoo]\n"), 0o600))
	for trust, want := range map[projectroot.Trust]struct{ component, policy string }{
		projectroot.Untrusted: {"it is a program for the runtime python, and a project that is not trusted may have only modules", "and a project that is not trusted may have only modules"},
		projectroot.Trusted:   {errNoNatives.Error(), "it is a program of Pulumi's SDK, which this process cannot run"},
	} {
		project, err := program.LoadProject(t.Context(), projectroot.New(dir, trust))
		require.NoError(t, err)
		p, err := Open(t.Context(), project, Options{Places: Places{Cache: t.TempDir()}, RunNative: true})
		require.NoError(t, err)
		_, err = p.Load(t.Context(), engine.PackageSpec{Name: "zoo"})
		require.ErrorContains(t, err, want.component)
		_, err = p.Policies(t.Context(), nil)
		require.ErrorContains(t, err, want.policy)
		require.NoError(t, p.Close(context.Background()))
	}
}

// Source in a language whose tools run code of it is not built where a trust policy wants all to be in the sandbox: the policy is
// asked before the tools run.
func TestSourceWhoseToolsRunCode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the tool is a shell script")
	}
	dir, bin := t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "crate"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "crate", "Cargo.toml"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "cargo"), []byte("#!/bin/sh\necho cargo runs >&2\nexit 1\n"), 0o700))
	t.Setenv("PATH", bin)
	for policy, want := range map[string]string{
		"rules: [{source: ./crate, unsigned: true}]":               "which runs without a sandbox, and the trust policy of Husk.yaml does not allow that",
		"native: true, rules: [{source: ./crate, unsigned: true}]": "cargo runs",
	} {
		text := "name: shop\nplugins: {trust: {" + policy + "}, providers: [{name: x, path: crate}]}\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(text), 0o600))
		project, err := program.LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
		require.NoError(t, err)
		p, err := Open(t.Context(), project, Options{Places: Places{Cache: t.TempDir()}})
		require.NoError(t, err)
		_, err = p.Load(t.Context(), engine.PackageSpec{Name: "x"})
		require.ErrorContains(t, err, want)
		require.NoError(t, p.Close(context.Background()))

		// So it is with the source of a program that is a module.
		text = "name: shop\nruntime: wasm\nmain: crate\nplugins: {trust: {" + policy + "}}\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(text), 0o600))
		project, err = program.LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
		require.NoError(t, err)
		p, err = Open(t.Context(), project, Options{Places: Places{Cache: t.TempDir()}})
		require.NoError(t, err)
		_, err = p.Program(t.Context())
		require.ErrorContains(t, err, want)
		require.NoError(t, p.Close(context.Background()))

		// A user who names the directory decides about the source, and not about the policy of this machine.
		text = "{" + policy + "}"
		file := filepath.Join(dir, "trust.yaml")
		require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(text, "./crate", `"**"`)), 0o600))
		t.Setenv(policyVariable, file)
		p, err = Open(t.Context(), nil, Options{Places: Places{Cache: t.TempDir()}})
		require.NoError(t, err)
		_, err = p.Build(t.Context(), filepath.Join(dir, "crate"))
		require.ErrorContains(t, err, strings.Replace(want, "Husk.yaml", file, 1))
		require.NoError(t, p.Close(context.Background()))
		t.Setenv(policyVariable, "")
	}
	p, err := Open(t.Context(), nil, Options{Places: Places{Cache: t.TempDir()}, Untrusted: true})
	require.NoError(t, err)
	_, err = p.Build(t.Context(), filepath.Join(dir, "crate"))
	require.ErrorContains(t, err, "is in rust, whose tools run code of it with your rights, and it is not trusted")
	require.NoError(t, p.Close(context.Background()))
}

// A process in place of a module is for trusted projects, too, and for policies that allow what is not in the sandbox.
func TestNoNativeProcessOfAStranger(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "notes"), 0o755))
	for policy, trust := range map[string]projectroot.Trust{"": projectroot.Untrusted, "trust: {rules: [{source: '**', unsigned: true}]}, ": projectroot.Trusted} {
		text := "name: shop\nplugins: {" + policy + "providers: [{name: notes, path: notes}]}\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(text), 0o600))
		project, err := program.LoadProject(t.Context(), projectroot.New(dir, trust))
		require.NoError(t, err)
		p, err := Open(t.Context(), project, Options{Places: Places{Cache: t.TempDir()}, Native: &Native{
			Dir: filepath.Join(dir, "notes"), Start: func() (*nativewire.Client, error) { panic("it started") },
		}})
		require.NoError(t, err)
		_, err = p.Load(t.Context(), engine.PackageSpec{Name: "notes"})
		require.ErrorContains(t, err, "--native runs it as a process, ")
		_, err = p.Package(t.Context(), program.Package{Name: "notes", Source: "notes"})
		require.ErrorContains(t, err, "--native runs it as a process, ")
		require.NoError(t, p.Close(context.Background()))
	}
}
