package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pulumi/pulumi/pkg/v3/display"
	"github.com/pulumi/pulumi/pkg/v3/engine"
	"github.com/pulumi/pulumi/pkg/v3/resource/deploy"
	"github.com/pulumi/pulumi/pkg/v3/resource/plugin"
	"github.com/pulumi/pulumi/pkg/v3/resource/stack"
	"github.com/pulumi/pulumi/pkg/v3/secrets"
	"github.com/pulumi/pulumi/pkg/v3/secrets/passphrase"
	"github.com/pulumi/pulumi/pkg/v3/testing/pulumi-test-language/tests"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/result"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"google.golang.org/grpc"
)

// pluginVariable has this program serve a provider of a test: TEST/INDEX.
const pluginVariable = "HUSK_TEST_CONFORMANCE_PLUGIN"

func TestMain(m *testing.M) {
	which := os.Getenv(pluginVariable)
	if which == "" {
		os.Setenv("HUSK_CONFIG_PASSPHRASE", conformancePassphrase)
		os.Setenv("PULUMI_CONFIG_PASSPHRASE", conformancePassphrase)
		os.Exit(m.Run())
	}
	if err := serve(which); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(which string) error {
	name, index, _ := strings.Cut(which, "/")
	i, err := strconv.Atoi(index)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	p := tests.LanguageTests[name].Providers[i]()
	pulumirpc.RegisterResourceProviderServer(server, plugin.NewProviderServer(p))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	go func() {
		<-interrupted
		server.Stop()
	}()
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	return server.Serve(listener)
}

// language has the programs of tests in a language.
type language interface {
	// write writes the program of a run into a project that has the other files of the test already, and returns the directories of
	// what Pulumi calls SDKs.
	write(ctx context.Context, r runner, run tests.TestRun, project string) (sdks map[string]string, err error)
	// runtime is its name in the project file.
	runtime() string
}

// runner runs one test in a directory of its own.
type runner struct {
	language
	name, dir, husk, programs string
	test                      tests.LanguageTest
	// sdks are the directories of what Pulumi calls SDKs, of the run that is prepared.
	sdks map[string]string
}

const conformancePassphrase = "correct horse"

func (r runner) run(dir string, args ...string) (string, error) {
	cmd := exec.Command(r.husk, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"HUSK_BACKEND_URL=file://"+filepath.Join(r.dir, "state"), "XDG_CONFIG_HOME="+r.dir)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("husk %s: %w\n%s%s", strings.Join(args, " "), err, out.String(), stderr.String())
	}
	return out.String(), nil
}

func writeJSON(file string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// nameOf returns the name and version of a provider.
func nameOf(ctx context.Context, p plugin.Provider) (name, version string, err error) {
	info, err := p.GetPluginInfo(ctx)
	if err != nil {
		return "", "", err
	}
	answer, err := p.GetSchema(ctx, plugin.GetSchemaRequest{})
	if err != nil {
		return "", "", err
	}
	var schema struct{ Name, Version string }
	if err := json.Unmarshal(answer.Schema, &schema); err != nil {
		return "", "", err
	}
	if info.Version != nil {
		return schema.Name, info.Version.String(), nil
	}
	return schema.Name, schema.Version, nil
}

// providers writes a plugin for each provider of the test, and returns their list for the project file.
func (r runner) providers(ctx context.Context) (list []any, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for i, start := range r.test.Providers {
		name, version, err := nameOf(ctx, start())
		if err != nil {
			return nil, err
		}
		file := filepath.Join(r.dir, "plugins", strconv.Itoa(i), "pulumi-resource-"+name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return nil, err
		}
		script := fmt.Sprintf("#!/bin/sh\n%s=%s/%d exec '%s'\n", pluginVariable, r.name, i, self)
		if err := os.WriteFile(file, []byte(script), 0o700); err != nil {
			return nil, err
		}
		list = append(list, map[string]any{"name": name, "path": file, "version": version, "native": true})
	}
	return list, nil
}

// sources returns the files of a run's program.
func (r runner) sources(i int) string {
	dir := filepath.Join(r.programs, r.name)
	if len(r.test.Runs) > 1 && !r.test.RunsShareSource {
		dir = filepath.Join(dir, strconv.Itoa(i))
	}
	return dir
}

// prepare writes the project of a run.
func (r *runner) prepare(ctx context.Context, i int) (project string, err error) {
	run := r.test.Runs[i]
	project = filepath.Join(r.dir, "project", strconv.Itoa(i))
	if err := os.CopyFS(project, os.DirFS(r.sources(i))); err != nil {
		return "", err
	}
	if r.sdks, err = r.write(ctx, *r, run, project); err != nil {
		return "", err
	}
	list, err := r.providers(ctx)
	if err != nil {
		return "", err
	}
	file := map[string]any{"name": r.name, "runtime": r.runtime(), "plugins": map[string]any{"providers": list}}
	if run.Main != "" {
		file["main"] = run.Main
	}
	return project, errors.Join(writeJSON(filepath.Join(project, "Pulumi.yaml"), file), r.configure(i, project, run.Config))
}

// configure sets the configuration of a run.
func (r runner) configure(i int, project string, values config.Map) error {
	plain := map[string]any{}
	for key, v := range values {
		if v.Secure() {
			continue
		}
		text, err := v.Value(config.NopDecrypter)
		if err != nil {
			return err
		}
		var value any = text
		if v.Object() {
			if err := json.Unmarshal([]byte(text), &value); err != nil {
				return err
			}
		}
		plain[key.String()] = value
	}
	// The salt of the secrets, which husk stack init wrote.
	salted := map[string]any{}
	file := filepath.Join(project, "Pulumi.test.yaml")
	kept := filepath.Join(r.dir, "Pulumi.test.yaml")
	if i == 0 {
		if _, err := r.run(project, "stack", "init", "test"); err != nil {
			return err
		}
		if err := os.Rename(file, kept); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if text, err := os.ReadFile(kept); err == nil {
		if err := yaml.Unmarshal(text, &salted); err != nil {
			return err
		}
	}
	salted["config"] = plain
	if err := writeJSON(file, salted); err != nil {
		return err
	}
	for key, v := range values {
		if !v.Secure() {
			continue
		}
		ciphertext, err := v.Value(config.NopDecrypter)
		if err != nil {
			return err
		}
		text, err := base64.StdEncoding.DecodeString(ciphertext)
		if err != nil {
			return err
		}
		if _, err := r.run(project, "config", "set", "--stack", "test", "--secret", key.String(), "--", string(text)); err != nil {
			return err
		}
	}
	return nil
}

// deployment runs a preview or an update, and counts its steps as Pulumi does.
func (r runner) deployment(project string, args ...string) (display.ResourceChanges, []engine.Event, error) {
	out, err := r.run(project, args...)
	changes := display.ResourceChanges{}
	var events []engine.Event
	lines := bufio.NewScanner(strings.NewReader(out))
	lines.Buffer(nil, 1<<30)
	for lines.Scan() {
		var event struct {
			Type              string         `json:"type"`
			Changes           map[string]int `json:"changes"`
			Severity, Message string
			URN               resource.URN
			DryRun            bool `json:"dryRun"`
			Step              struct {
				Op  string       `json:"op"`
				URN resource.URN `json:"urn"`
			} `json:"step"`
		}
		if json.Unmarshal(lines.Bytes(), &event) != nil {
			continue
		}
		switch event.Type {
		case "started":
			events = nil
		case "step-started":
			ops := []display.StepOp{display.StepOp(event.Step.Op)}
			if ops[0] == deploy.OpCreateReplacement {
				ops = append(ops, deploy.OpReplace) // which Pulumi tells as a step of its own
			}
			for _, op := range ops {
				events = append(events, engine.NewEvent(engine.ResourcePreEventPayload{
					Metadata: engine.StepEventMetadata{Op: op, URN: event.Step.URN},
				}))
			}
		case "diagnostic":
			if event.URN == "" {
				continue // the tests expect that each is of a resource
			}
			events = append(events, engine.NewEvent(engine.DiagEventPayload{
				URN: event.URN, Message: event.Message, Severity: diag.Severity(event.Severity),
			}))
		case "summary":
			for op, n := range event.Changes {
				if n > 0 {
					changes[display.StepOp(op)] = n
				}
			}
		}
	}
	if err != nil {
		err = result.BailError(err)
	}
	return changes, events, err
}

// snapshot reads the state as Pulumi does.
func (r runner) snapshot(ctx context.Context, project string) (*deploy.Snapshot, error) {
	file := filepath.Join(r.dir, "export.json")
	if _, err := r.run(project, "stack", "export", "--stack", "test", "--file", file); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var untyped apitype.UntypedDeployment
	if err := json.Unmarshal(text, &untyped); err != nil {
		return nil, err
	}
	known := (&secrets.MockProvider{}).Add(passphrase.Type, passphrase.NewPromptingPassphraseSecretsManagerFromState)
	return stack.DeserializeUntypedDeployment(ctx, &untyped, known)
}

// others makes the stacks that the program refers to.
func (r runner) others() error {
	for name, outputs := range r.test.StackReferences {
		parts := strings.Split(name, "/")
		values := map[string]any{}
		for key, v := range outputs {
			if v.IsSecret() {
				values[string(key)] = map[string]any{"fn::secret": v.SecretValue().Element.V}
			} else {
				values[string(key)] = v.V
			}
		}
		dir := filepath.Join(r.dir, "others", parts[1])
		if err := writeJSON(filepath.Join(dir, "Pulumi.yaml"), map[string]any{"name": parts[1], "runtime": "yaml", "outputs": values}); err != nil {
			return err
		}
		if _, err := r.run(dir, "stack", "init", parts[2]); err != nil {
			return err
		}
		if _, err := r.run(dir, "up", "--yes", "--stack", parts[2]); err != nil {
			return err
		}
	}
	return nil
}

// targets are the patterns of the resources that a run is for. Pulumi does not export them.
func targets(run tests.TestRun) (flags []string) {
	for _, p := range reflect.ValueOf(run.UpdateOptions.Targets).FieldByName("globs").MapKeys() {
		flags = append(flags, "--target", p.String())
	}
	return flags
}

func names(s *deploy.Snapshot) (urns []string) {
	for _, r := range s.Resources {
		urns = append(urns, string(r.URN.Type())+" "+r.URN.Name())
	}
	return urns
}

// inYAML translates the programs.
type inYAML struct{}

func (inYAML) runtime() string { return "yaml" }

// write writes a file for each package.
func (inYAML) write(ctx context.Context, r runner, run tests.TestRun, project string) (sdks map[string]string, err error) {
	programDir := filepath.Join(project, run.Main)
	files := map[string][]byte{}
	names, err := filepath.Glob(filepath.Join(programDir, "*.pp"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if files[name], err = os.ReadFile(name); err != nil {
			return nil, err
		}
	}
	translated, parameterized, err := translate(files)
	if err != nil {
		return nil, err
	}
	locks := map[string]lock{}
	for _, start := range r.test.Providers {
		name, version, err := nameOf(ctx, start())
		if err != nil {
			return nil, err
		}
		if l, ok := locks[name]; !ok || l.Version < version {
			locks[name] = lock{PackageDeclarationVersion: 1, Name: name, Version: version}
		}
	}
	maps.Copy(locks, parameterized)
	sdks = map[string]string{}
	for name, l := range locks {
		sdks[l.Name+"-"+l.Version] = filepath.Join(project, "sdks")
		if err := writeJSON(filepath.Join(project, "sdks", name+".yaml"), l); err != nil {
			return nil, err
		}
	}
	return sdks, writeJSON(filepath.Join(programDir, "Main.yaml"), translated)
}

// all runs the test, and returns what is wrong.
func (r *runner) all(ctx context.Context) (problem string) {
	if err := r.others(); err != nil {
		return err.Error()
	}
	for i, run := range r.test.Runs {
		project, err := r.prepare(ctx, i)
		if err != nil {
			return err.Error()
		}
		var messages []string
		check := func(assert func(l *tests.L)) {
			defer func() {
				if p := recover(); p != nil {
					messages = append(messages, fmt.Sprint(p))
				}
			}()
			if done := tests.WithL(assert); done.Failed {
				messages = append(messages, done.Messages...)
			}
		}
		if run.AssertPreview != nil && !unseen[r.name] {
			changes, events, err := r.deployment(project, append([]string{"preview", "--json", "--stack", "test"}, targets(run)...)...)
			check(func(l *tests.L) {
				run.AssertPreview(l, tests.AssertPreviewArgs{ProjectDirectory: project, Err: err, Changes: changes, Events: events, SDKs: r.sdks})
			})
			if len(messages) > 0 {
				return fmt.Sprintf("preview %d: %s\n%v", i, strings.Join(messages, "\n"), err)
			}
		}
		changes, events, failed := r.deployment(project, append([]string{"up", "--yes", "--skip-preview", "--json", "--stack", "test"}, targets(run)...)...)
		snapshot, err := r.snapshot(ctx, project)
		if err != nil {
			return err.Error()
		}
		check(func(l *tests.L) {
			run.Assert(l, tests.AssertArgs{ProjectDirectory: project, Err: failed, Snap: snapshot, Changes: changes, Events: events, SDKs: r.sdks})
		})
		if len(messages) > 0 {
			return fmt.Sprintf("run %d: %s\n%v\nthe resources are %v", i, strings.Join(messages, "\n"), failed, names(snapshot))
		}
	}
	return ""
}

// program builds husk, and returns it with the directory of the tests' programs.
func program(t *testing.T) (husk, programs string) {
	t.Helper()
	husk = filepath.Join(t.TempDir(), "husk")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", husk, "./cmd/husk/husk-full")
	build.Dir = "../../../.."
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	module, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/pulumi/pulumi/pkg/v3").Output()
	require.NoError(t, err)
	return husk, filepath.Join(strings.TrimSpace(string(module)), "testing/pulumi-test-language/tests/testdata")
}

// Each program of Pulumi's conformance tests that YAML can say runs on Husk, and leaves what Pulumi's tests demand,
// but for those that are listed with the reason.
func TestConformance(t *testing.T) {
	husk, programs := program(t)

	var passed, said atomic.Int32
	t.Cleanup(func() {
		t.Logf("%d of %d conformance tests of Pulumi that YAML can say pass", passed.Load(), said.Load())
	})
	for _, name := range slices.Sorted(maps.Keys(tests.LanguageTests)) {
		if !strings.HasPrefix(name, "l1-") && !strings.HasPrefix(name, "l2-") {
			continue // of components in PCL, policies, and providers
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runner{language: inYAML{}, name: name, dir: t.TempDir(), husk: husk, programs: programs, test: tests.LanguageTests[name]}
			problem := r.all(t.Context())
			if reason, ok := unsaid[name]; ok {
				require.True(t, strings.HasPrefix(problem, inexpressible{}.Error()), "YAML has no %s, it was said: %s", reason, problem)
				return
			}
			said.Add(1)
			if reason, ok := different[name]; ok {
				require.NotEmpty(t, problem, "the test passes: take it out of the list, where it is because %s", reason)
				return
			}
			require.Empty(t, problem)
			passed.Add(1)
		})
	}
}
