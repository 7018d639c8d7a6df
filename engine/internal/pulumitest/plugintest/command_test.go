package plugintest

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
	"github.com/pulumi/pulumi/pkg/v3/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/env"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

const repository = "../../../.."

// husk builds the command, and returns a function that runs it.
func husk(t *testing.T) func(args ...string) string {
	t.Helper()
	program := huskProgram(t)
	return func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
}

// huskProgram builds the command.
func huskProgram(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "husk")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/husk/husk-full")
	build.Dir = repository
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Setenv("HUSK_CACHE_DIR", testmodule.CacheDir(t))
	return program
}

// process is a command that runs, whose first line is a port.
type process struct {
	*exec.Cmd
	port string
}

func begin(t *testing.T, program string, args ...string) process {
	t.Helper()
	p := process{Cmd: exec.Command(program, args...)}
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	t.Cleanup(func() { _ = p.Process.Kill() }) // most have ended
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	p.port = strings.TrimSpace(line)
	return p
}

// Pulumi attaches to a provider that husk provider serve serves until it is interrupted.
func TestPulumiAttachesToAServedModule(t *testing.T) {
	testmodule.Skip(t)
	program := huskProgram(t)
	served := begin(t, program, "provider", "serve", filepath.Join(repository, "examples/providers/random"))
	t.Setenv("PULUMI_DEBUG_PROVIDERS", "random:"+served.port)
	h, ctx, _ := pulumi(t)
	client, err := plugin.NewProvider(h, ctx, workspace.PluginDescriptor{Name: "random", Kind: apitype.ResourcePlugin}, nil, false, "", "", env.Global())
	require.NoError(t, err)
	requireSchema(t, client)
	require.NoError(t, served.Process.Signal(os.Interrupt))
	require.NoError(t, served.Wait())
}

// A plugin ends when its engine is gone, which may have been killed.
func TestAPluginEndsWithItsEngine(t *testing.T) {
	testmodule.Skip(t)
	run := husk(t)
	plugins := t.TempDir()
	run("provider", "shim", filepath.Join(repository, "examples/providers/random"), "-o", plugins)
	engine, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	started := begin(t, filepath.Join(plugins, "pulumi-resource-random"), "--logtostderr", "-v=9", engine.Addr().String())
	require.NoError(t, engine.Close())
	require.NoError(t, started.Wait())
}

// started has Pulumi start a plugin, with the configuration.
func started(t *testing.T, program, pkg string, config resource.PropertyMap) (plugin.Provider, *shown) {
	t.Helper()
	h, ctx, out := pulumi(t)
	client, err := plugin.NewProviderFromPath(h, ctx, program)
	require.NoError(t, err, "%s", out)
	typ := tokens.Type("pulumi:providers:" + pkg)
	_, err = client.Configure(t.Context(), plugin.ConfigureRequest{Type: &typ, Inputs: config})
	require.NoError(t, err)
	return client, out
}

func of(typ, name string) resource.URN {
	return resource.NewURN("dev", "shop", "", tokens.Type(typ), name)
}

// A module is a plugin of Pulumi, in its sandbox.
func TestPulumiStartsModules(t *testing.T) {
	testmodule.Skip(t)
	run := husk(t)
	plugins := filepath.Join(t.TempDir(), "plugins")
	public := filepath.Join(t.TempDir(), "public")
	require.Contains(t, run("provider", "shim", filepath.Join(repository, "examples/providers/random"), "-o", plugins), "nothing granted")
	run("provider", "shim", filepath.Join(repository, "examples/providers/local"), "-o", plugins, "--grant", "fs="+public+":rw")

	random, _ := started(t, filepath.Join(plugins, "pulumi-resource-random"), "random", resource.PropertyMap{})
	info, err := random.GetPluginInfo(t.Context())
	require.NoError(t, err)
	require.NotNil(t, info.Version)
	requireSchema(t, random)
	password := of("random:index/randomPassword:RandomPassword", "p")
	checked, err := random.Check(t.Context(), plugin.CheckRequest{URN: password, News: resource.PropertyMap{"length": resource.NewProperty(12.0)}, RandomSeed: make([]byte, 32)})
	require.NoError(t, err)
	require.Empty(t, checked.Failures)
	made, err := random.Create(t.Context(), plugin.CreateRequest{URN: password, Properties: checked.Properties})
	require.NoError(t, err)
	require.Len(t, made.Properties["result"].SecretValue().Element.StringValue(), 12)
	wrong, err := random.Check(t.Context(), plugin.CheckRequest{URN: password, News: resource.PropertyMap{"length": resource.NewProperty("many")}})
	require.NoError(t, err)
	require.NotEmpty(t, wrong.Failures)

	require.NoError(t, os.MkdirAll(public, 0o755))
	local, _ := started(t, filepath.Join(plugins, "pulumi-resource-local"), "local", resource.PropertyMap{})
	page := of("local:index/file:File", "page")
	inside, err := local.Create(t.Context(), plugin.CreateRequest{URN: page, Properties: resource.PropertyMap{
		"path": resource.NewProperty(filepath.Join(public, "a.txt")), "content": resource.NewProperty("hello"),
	}})
	require.NoError(t, err)
	require.NotEmpty(t, inside.ID)
	text, err := os.ReadFile(filepath.Join(public, "a.txt"))
	require.NoError(t, err)
	require.Equal(t, "hello", string(text))
	_, err = local.Create(t.Context(), plugin.CreateRequest{URN: page, Properties: resource.PropertyMap{
		"path": resource.NewProperty(filepath.Join(plugins, "a.txt")), "content": resource.NewProperty("hello"),
	}})
	require.ErrorContains(t, err, "grant")
	require.NoFileExists(t, filepath.Join(plugins, "a.txt"))
}

// requireSchema holds that Pulumi's generators of SDKs take the schema, as pulumi package gen-sdk does.
func requireSchema(t *testing.T, client plugin.Provider) {
	t.Helper()
	got, err := client.GetSchema(t.Context(), plugin.GetSchemaRequest{})
	require.NoError(t, err)
	var spec schema.PackageSpec
	require.NoError(t, json.Unmarshal(got.Schema, &spec))
	pkg, problems, err := schema.BindSpec(spec, schema.NewPluginLoader(nil), schema.ValidationOptions{})
	require.NoError(t, err)
	require.False(t, problems.HasErrors(), "%v", problems)
	files, err := nodejs.GeneratePackage("husk", pkg, nil, nil, true, nil)
	require.NoError(t, err)
	require.Contains(t, files, "randomPassword.ts", "the module of a token is not its file")
}

// A plugin serves the module that it was made of, and no other.
func TestAPluginRefusesAnotherModule(t *testing.T) {
	testmodule.Skip(t)
	run := husk(t)
	plugins := t.TempDir()
	run("provider", "shim", filepath.Join(repository, "examples/providers/random"), "-o", plugins)
	module := filepath.Join(plugins, "random.wasm")
	wasm, err := os.ReadFile(module)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(module, append(wasm, 0, 2, 1, 'x'), 0o600)) // a custom section
	out, err := exec.CommandContext(t.Context(), filepath.Join(plugins, "pulumi-resource-random"), "127.0.0.1:1").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "digest")
}
