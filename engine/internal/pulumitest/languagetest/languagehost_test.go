// Package languagetest runs a language host that is built with Pulumi's SDK.
package languagetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/pulumi/pulumiprogram"
)

const someURN urn.URN = "urn:pulumi:dev::shop::shop:index:Thing::it"

// The test runs as a language host if it is started under the name of one.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "pulumi-language-script" {
		serveLanguage(os.Args[1])
		return
	}
	os.Exit(m.Run())
}

// script is a language host for files, whose text says how the program ends.
type script struct {
	pulumirpc.UnimplementedLanguageRuntimeServer
	engine string
}

func serveLanguage(engine string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	s := grpc.NewServer()
	pulumirpc.RegisterLanguageRuntimeServer(s, script{engine: engine})
	if os.Getenv("TEST_NO_PORT") != "" {
		fmt.Println("usage: this is another program")
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	_ = s.Serve(listener)
}

func (s script) Run(ctx context.Context, r *pulumirpc.RunRequest) (*pulumirpc.RunResponse, error) {
	text, err := os.ReadFile(filepath.Join(r.Info.ProgramDirectory, r.Info.EntryPoint))
	if err != nil {
		return nil, err
	}
	connection, err := grpc.NewClient(r.MonitorAddress, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	monitor, logs := pulumirpc.NewResourceMonitorClient(connection), pulumirpc.NewEngineClient(connection)
	fmt.Printf("it has %v of %v in %s, %v, %d\n", r.Config, r.ConfigSecretKeys, r.Project+"/"+r.Stack, r.Info.Options.AsMap(), r.Parallel)
	switch string(text) {
	case "error":
		return &pulumirpc.RunResponse{Error: "it does not compile"}, nil
	case "bail":
		_, err := logs.Log(ctx, &pulumirpc.LogRequest{Severity: pulumirpc.LogSeverity_ERROR, Message: "the reason"})
		return &pulumirpc.RunResponse{Bail: true}, err
	case "crash":
		os.Exit(3)
	case "wait":
		fmt.Println("waiting")
		select {}
	case "a transform", "a transform and a failure":
		signal.Ignore(os.Interrupt)
		go func() {
			_, _ = monitor.RegisterResource(ctx, &pulumirpc.RegisterResourceRequest{
				Type: "shop:index:Thing", Name: "slow", Transforms: []*pulumirpc.Callback{hanging()},
			})
		}()
		if string(text) == "a transform" {
			select {}
		}
		<-hangs
		_, _ = monitor.RegisterResource(ctx, &pulumirpc.RegisterResourceRequest{Type: "shop:index:Thing", Name: "bad"})
		select {}
	case "a hook", "a hook and a program that ends":
		if string(text) == "a hook" {
			signal.Ignore(os.Interrupt)
		}
		if _, err := monitor.RegisterResourceHook(ctx, &pulumirpc.RegisterResourceHookRequest{Name: "slow", Callback: hanging()}); err != nil {
			return nil, err
		}
	}
	stack, err := monitor.RegisterResource(ctx, &pulumirpc.RegisterResourceRequest{Type: "pulumi:pulumi:Stack", Name: "shop-dev"})
	if err == nil {
		_, err = monitor.RegisterResourceOutputs(ctx, &pulumirpc.RegisterResourceOutputsRequest{Urn: stack.Urn})
	}
	if err == nil {
		_, err = monitor.SignalAndWaitForShutdown(ctx, &emptypb.Empty{})
	}
	return &pulumirpc.RunResponse{}, err
}

// hangs is closed when a function of the program is called. None returns.
var hangs = make(chan struct{})

type hangingCallbacks struct {
	pulumirpc.UnimplementedCallbacksServer
}

func (hangingCallbacks) Invoke(context.Context, *pulumirpc.CallbackInvokeRequest) (*pulumirpc.CallbackInvokeResponse, error) {
	fmt.Println("called")
	close(hangs)
	select {}
}

// hanging returns a function of the program that never returns.
func hanging() *pulumirpc.Callback {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	s := grpc.NewServer()
	pulumirpc.RegisterCallbacksServer(s, hangingCallbacks{})
	go func() { _ = s.Serve(listener) }()
	return &pulumirpc.Callback{Target: listener.Addr().String(), Token: "token"}
}

// calling is an engine that calls the functions of a program.
type calling struct {
	callback.Monitor
	hook chan callback.Hook
}

func (c calling) RegisterTransformed(ctx context.Context, req abi.RegisterResourceRequest, transforms ...callback.ResourceTransform) (abi.RegisterResourceResponse, error) {
	if req.Name == "bad" {
		return abi.RegisterResourceResponse{}, errors.New("it is bad")
	}
	for _, transform := range transforms {
		if err := transform(ctx, callback.Identity{Name: req.Name, Type: req.Type}, &callback.Declaration{}); err != nil {
			return abi.RegisterResourceResponse{}, err
		}
	}
	return abi.RegisterResourceResponse{URN: someURN}, nil
}

func (calling) LeftOut(urn.URN) bool { return false }

func (calling) RegisterOutputs(context.Context, abi.RegisterOutputsRequest) error { return nil }

func (c calling) RegisterHook(h callback.Hook) error {
	c.hook <- h
	return nil
}

// scripted returns a program of the test's language host, and whatever it prints.
func scripted(t *testing.T, text string, grace time.Duration, stop <-chan struct{}) (*pulumiprogram.Program, <-chan string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the test's language host is a symbolic link")
	}
	bin, dir := t.TempDir(), t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(bin, "pulumi-language-script")))
	t.Setenv("PATH", bin)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Pulumi.yaml"), []byte("name: shop\nruntime: script\nmain: program.txt\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "program.txt"), []byte(text), 0o644))
	project, err := program.LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.NoError(t, err)
	printed := make(chan string, 100)
	return pulumiprogram.New(project, pulumiprogram.Options{
		Stop: func() <-chan struct{} { return stop }, Grace: grace, Report: func(d engine.Diagnostic) { printed <- d.Message },
	}), printed
}

func await(printed <-chan string, line string) {
	for text := range printed {
		if text == line {
			return
		}
	}
}

// A program whose functions do not return, and which ignores interrupts, is given up.
func TestATransformThatDoesNotReturn(t *testing.T) {
	for text, want := range map[string]string{"a transform": "the program was stopped", "a transform and a failure": "it is bad"} {
		t.Run(text, func(t *testing.T) {
			stop := make(chan struct{})
			p, printed := scripted(t, text, 100*time.Millisecond, stop)
			if text == "a transform" {
				go func() {
					await(printed, "called")
					close(stop)
				}()
			}
			err := p.Run(t.Context(), abi.RunContext{Project: "shop", Stack: "dev"}, calling{})
			require.ErrorContains(t, err, want)
		})
	}
}

// An interrupt reaches a program that has registered all, and ends the wait for its functions.
func TestAHookThatDoesNotReturn(t *testing.T) {
	for text, want := range map[string]string{
		"a hook":                         "the deployment is ending, and a function of the program has not returned within 100ms",
		"a hook and a program that ends": "",
	} {
		t.Run(text, func(t *testing.T) {
			stop := make(chan struct{})
			grace := 100 * time.Millisecond
			if want == "" {
				grace = time.Hour
			}
			p, printed := scripted(t, text, grace, stop)
			engine := calling{hook: make(chan callback.Hook, 1)}
			require.NoError(t, p.Run(t.Context(), abi.RunContext{Project: "shop", Stack: "dev"}, engine))
			hook := <-engine.hook
			ended := make(chan error, 1)
			go func() { ended <- hook.Run(t.Context(), callback.Step{New: &state.Resource{URN: someURN}}) }()
			await(printed, "called")
			close(stop)
			err := <-ended
			require.Error(t, err)
			require.ErrorContains(t, err, want)
			require.NoError(t, p.Finish(t.Context()), "it was the user who stopped it")
		})
	}
}

// A program of a runtime that husk does not start itself is run by the language host of the runtime.
func TestLanguageHost(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the test's language host is a symbolic link")
	}
	bin := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(bin, "pulumi-language-script")))
	t.Setenv("PATH", bin)
	t.Setenv("HUSK_CONFIG_PASSPHRASE", "a secret")
	for name, c := range map[string]struct{ program, variable, want, printed string }{
		"success":             {program: "success", printed: "it has map[shop:color:red] of [shop:color] in shop/dev, map[fast:true], 3"},
		"an error":            {program: "error", want: "the program failed: it does not compile"},
		"a failure":           {program: "bail", want: "the program failed with the error above", printed: "the reason"},
		"a crash":             {program: "crash", want: "the program exited with code 3"},
		"another program":     {program: "success", variable: "TEST_NO_PORT", want: `printed "usage: this is another program" in place of the port`},
		"a user who stops it": {program: "wait", want: "the program was stopped", printed: "waiting"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.variable != "" {
				t.Setenv(c.variable, "1")
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, "Pulumi.yaml"),
				[]byte("name: shop\nruntime: {name: script, options: {fast: true}}\nmain: program.txt\n"), 0o644))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "program.txt"), []byte(c.program), 0o644))
			project, err := program.LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
			require.NoError(t, err)
			require.NoError(t, pulumiprogram.Find(project.Runtime))
			var mu sync.Mutex
			var printed []string
			stop := make(chan struct{})
			p := pulumiprogram.New(project, pulumiprogram.Options{Stop: func() <-chan struct{} { return stop }, Report: func(d engine.Diagnostic) {
				mu.Lock()
				defer mu.Unlock()
				printed = append(printed, d.Message)
				if d.Message == "waiting" {
					close(stop)
				}
			}})
			err = p.Run(t.Context(), abi.RunContext{Project: "shop", Stack: "dev", Organization: "organization", Parallel: 3,
				Config: []abi.ConfigEntry{{Key: "shop:color", Value: "red", Secret: true}}}, calling{})
			if finished := p.Finish(t.Context()); err == nil {
				err = finished
			}
			if c.want == "" {
				require.NoError(t, err, printed)
			} else {
				require.ErrorContains(t, err, c.want, printed)
			}
			require.Contains(t, strings.Join(printed, "\n"), c.printed)
		})
	}
	require.ErrorContains(t, pulumiprogram.Find("dotnet"), "pulumi-language-dotnet, which is not in PATH")
	require.ErrorContains(t, pulumiprogram.Find("../script"), "there is no runtime")
}
