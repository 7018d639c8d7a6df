// Package automationtest drives husk as Pulumi's command by the published Automation API of each language.
package automationtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optimport"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
	"github.com/husk-dev/husk/internal/pulumi/pulumiprogram/sdktest"
	"github.com/husk-dev/husk/internal/testkit/nightly"
)

func TestMain(m *testing.M) { usertest.Main(m, nil) }

// place makes a directory for programs of a language, with a project file of Husk for those that have no directory, and the
// directory of a project in YAML.
func place(t *testing.T, runtime string) (dir string, environment []string) {
	t.Helper()
	user, dir := usertest.New(t), t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	write("lab.wasm", string(user.Lab))
	write("Husk.yaml", "name: own\nruntime: "+runtime+"\nplugins: {providers: [{name: lab, path: lab.wasm, grants: {fs: [\"out:rw\"]}}]}\n")
	write("local/Pulumi.yaml", `name: local
runtime: yaml
plugins: {providers: [{name: lab, path: ../lab.wasm}]}
config:
  name: {type: string, default: box}
  size: {type: integer, default: 1}
resources:
  box: {type: lab:index:Thing, properties: {name: "${name}", size: "${size}"}}
outputs: {size: "${box.size}"}
`)
	temporary := filepath.Join(dir, "temporary")
	for _, made := range []string{temporary, filepath.Join(dir, "out")} {
		require.NoError(t, os.Mkdir(made, 0o755))
	}
	return dir, append(user.Environment, "PULUMI_CONFIG_PASSPHRASE=of the tests", "TMPDIR="+temporary)
}

// lives runs a program that drives husk.
func lives(t *testing.T, dir string, environment []string, command ...string) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), append(environment, "PWD="+dir)...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.True(t, strings.HasSuffix(strings.TrimSpace(string(out)), "lived"), string(out))
}

func script(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func TestNode(t *testing.T) {
	modules := sdktest.Node(t)
	dir, environment := place(t, "nodejs")
	require.NoError(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "life.js"), []byte(script(t, "life.js")), 0o644))
	lives(t, dir, environment, "node", "life.js")
}

func TestPython(t *testing.T) {
	nightly.Skip(t)
	python := filepath.Join(sdktest.Python(t), "bin", "python")
	dir, environment := place(t, "python")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "life.py"), []byte(script(t, "life.py")), 0o644))
	lives(t, dir, environment, python, "life.py")
}

// program is one in Go.
func program(ctx *pulumi.Context) error {
	c := config.New(ctx, "")
	size := c.GetInt("size")
	if size == 0 {
		return errors.New("this went wrong")
	}
	var box struct{ pulumi.CustomResourceState }
	if err := ctx.RegisterResource("lab:index:Thing", "box", pulumi.Map{"name": pulumi.String("box"), "size": pulumi.Int(size)}, &box); err != nil {
		return err
	}
	ctx.Export("id", box.ID())
	ctx.Export("token", c.RequireSecret("token"))
	return nil
}

func TestGo(t *testing.T) {
	nightly.Skip(t)
	dir, environment := place(t, "go")
	t.Chdir(dir)
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	ctx := t.Context()
	stack, err := auto.UpsertStackInlineSource(ctx, "dev", "inline", program)
	require.NoError(t, err)
	workspace := stack.Workspace()
	require.Equal(t, "3.276.0", workspace.PulumiVersion())
	_, err = auto.NewStackInlineSource(ctx, "dev", "inline", program)
	require.True(t, auto.IsCreateStack409Error(err), "%v", err)
	_, err = auto.SelectStackInlineSource(ctx, "other", "inline", program)
	require.True(t, auto.IsSelectStack404Error(err), "%v", err)

	_, err = stack.Up(ctx)
	require.ErrorContains(t, err, "this went wrong")
	require.NoError(t, stack.SetAllConfig(ctx, auto.ConfigMap{
		"size": {Value: "1"}, "token": {Value: "hunter22", Secret: true}, "a.b": {Value: "c"},
	}))
	require.NoError(t, stack.SetConfigWithOptions(ctx, "tags.owner", auto.ConfigValue{Value: "-me"}, &auto.ConfigOptions{Path: true}))
	require.NoError(t, stack.RemoveAllConfig(ctx, []string{"a.b"}))
	require.NoError(t, stack.RemoveConfigWithOptions(ctx, "tags.owner", &auto.ConfigOptions{Path: true}))
	require.NoError(t, stack.RemoveConfig(ctx, "tags"))
	all, err := stack.GetAllConfig(ctx)
	require.NoError(t, err)
	require.Equal(t, auto.ConfigMap{"inline:size": {Value: "1"}, "inline:token": {Value: "hunter22", Secret: true}}, all)
	err = stack.SetConfigWithOptions(ctx, "size", auto.ConfigValue{Value: "1"}, &auto.ConfigOptions{ConfigFile: "other.yaml"})
	require.ErrorContains(t, err, "husk reads the configuration of a stack from the file of its name beside the project file")

	previewed, err := stack.Preview(ctx)
	require.NoError(t, err)
	require.Equal(t, map[apitype.OpType]int{apitype.OpSame: 1, apitype.OpCreate: 1}, previewed.ChangeSummary)
	stream := make(chan events.EngineEvent)
	seen := make(chan []apitype.EngineEvent)
	go func() {
		var all []apitype.EngineEvent
		for e := range stream {
			all = append(all, e.EngineEvent)
		}
		seen <- all
	}()
	up, err := stack.Up(ctx, optup.Message("the first"), optup.EventStreams(stream))
	require.NoError(t, err)
	require.Equal(t, auto.OutputMap{"id": {Value: "thing-box"}, "token": {Value: "hunter22", Secret: true}}, up.Outputs)
	require.Equal(t, "update", up.Summary.Kind)
	require.Equal(t, &map[string]int{"same": 1, "create": 1}, up.Summary.ResourceChanges)
	all2 := <-seen
	require.NotNil(t, all2[0].PreludeEvent)
	require.NotNil(t, all2[len(all2)-1].CancelEvent)
	var made []string
	for _, e := range all2 {
		if e.ResOutputsEvent != nil {
			made = append(made, fmt.Sprint(e.ResOutputsEvent.Metadata.Op, " ", e.ResOutputsEvent.Metadata.New.ID))
		}
	}
	require.Equal(t, []string{"create thing-box", "same "}, made)

	refreshed, err := stack.Refresh(ctx)
	require.NoError(t, err)
	require.Equal(t, "refresh", refreshed.Summary.Kind)
	previewed, err = stack.PreviewRefresh(ctx)
	require.NoError(t, err)
	require.Equal(t, map[apitype.OpType]int{apitype.OpSame: 1}, previewed.ChangeSummary)
	state, err := stack.Export(ctx)
	require.NoError(t, err)
	require.NoError(t, stack.Import(ctx, state))
	found, err := stack.ImportResources(ctx, optimport.Protect(false), optimport.Resources([]*optimport.ImportResource{
		{Type: "lab:index:Thing", Name: "found", ID: "thing-found"},
	}))
	require.NoError(t, err)
	require.Contains(t, found.GeneratedCode, "type: lab:index:Thing")

	history, err := stack.History(ctx, 1, 1)
	require.NoError(t, err)
	require.Equal(t, "resource-import", history[0].Kind)
	require.NoError(t, stack.SetTag(ctx, "team", "storage"))
	tag, err := stack.GetTag(ctx, "team")
	require.NoError(t, err)
	require.Equal(t, "storage", tag)
	who, err := workspace.WhoAmIDetails(ctx)
	require.NoError(t, err)
	require.NotEmpty(t, who.User)
	settings, err := workspace.ProjectSettings(ctx)
	require.NoError(t, err)
	settings.Main = ""
	others, err := auto.NewLocalWorkspace(ctx, auto.Project(*settings))
	require.NoError(t, err)
	listed, err := others.ListStacks(ctx)
	require.NoError(t, err)
	require.Equal(t, "dev", listed[0].Name, "settings need not say where the program is")
	plugins, err := workspace.ListPlugins(ctx)
	require.NoError(t, err)
	require.Equal(t, "lab", plugins[0].Name)
	require.NoError(t, stack.Cancel(ctx))
	passphrase := "another"
	require.NoError(t, stack.ChangeSecretsProvider(ctx, "passphrase", &auto.ChangeSecretsProviderOptions{NewPassphrase: &passphrase}))
	_, err = stack.GetAllConfig(ctx)
	require.ErrorContains(t, err, "passphrase")
	workspace.SetEnvVar("PULUMI_CONFIG_PASSPHRASE", passphrase)

	previewed, err = stack.PreviewDestroy(ctx)
	require.NoError(t, err)
	require.Equal(t, map[apitype.OpType]int{apitype.OpDelete: 3}, previewed.ChangeSummary)
	_, err = stack.Destroy(ctx, optdestroy.Remove())
	require.NoError(t, err)
	left, err := workspace.ListStacks(ctx)
	require.NoError(t, err)
	require.Empty(t, left)

	local, err := auto.NewStackLocalSource(ctx, "organization/local/test", filepath.Join(dir, "local"))
	require.NoError(t, err)
	require.NoError(t, local.SetConfig(ctx, "size", auto.ConfigValue{Value: "3"}))
	up, err = local.Up(ctx)
	require.NoError(t, err)
	require.InDelta(t, 3, up.Outputs["size"].Value, 0)
	_, err = local.Destroy(ctx)
	require.NoError(t, err)
}
