package plugintest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"slices"
	"sync"
	"testing"

	"github.com/pulumi/pulumi/pkg/v3/resource/plugin"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/internal/pulumiplugin"
	"github.com/husk-dev/husk/internal/pulumiwire"
)

// portVariable makes a process of this test a plugin, whose provider another process serves at the port.
const portVariable = "HUSK_PLUGINTEST_PORT"

func TestMain(m *testing.M) {
	port := os.Getenv(portVariable)
	if port == "" {
		var mu sync.Mutex
		unknown := map[protoreflect.FullName]bool{}
		pulumiwire.UnknownField = func(name protoreflect.FullName) {
			mu.Lock()
			defer mu.Unlock()
			unknown[name] = true
		}
		code := m.Run()
		if len(unknown) > 0 { // a field that is misspelt would be left out without a word
			fmt.Println("the published protocol lacks", unknown)
			code = 1
		}
		os.Exit(code)
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	fmt.Println(port)
	fmt.Fprintln(os.Stderr, "a word of the plugin")
	if port == "nonsense" {
		os.Exit(3)
	}
	<-interrupted
}

// failing fails as servers of providers do: Pulumi's generic one keeps back what a failed creation has made.
type failing struct {
	pulumirpc.ResourceProviderServer
}

func (f failing) Create(ctx context.Context, r *pulumirpc.CreateRequest) (*pulumirpc.CreateResponse, error) {
	if r.Name != "partial" {
		return f.ResourceProviderServer.Create(ctx, r)
	}
	s, err := status.New(codes.Unknown, "not ready").WithDetails(&pulumirpc.ErrorResourceInitFailed{
		Id: "id-1", Properties: r.Properties, Inputs: r.Properties, Reasons: []string{"first", "second"}, RefreshBeforeUpdate: true,
	})
	if err != nil {
		return nil, err
	}
	return nil, s.Err()
}

// native runs a provider as a native plugin: Husk calls Pulumi's own server, which calls the provider.
func native(t *testing.T, p plugin.Provider) (*pulumiplugin.Plugin, func() []abi.LogEntry) {
	t.Helper()
	server := grpc.NewServer()
	pulumirpc.RegisterResourceProviderServer(server, failing{plugin.NewProviderServer(p)})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	t.Setenv(portVariable, port)
	program, err := os.Executable()
	require.NoError(t, err)
	var mu sync.Mutex
	var entries []abi.LogEntry
	started, err := pulumiplugin.Start(t.Context(), pulumiplugin.Options{Name: "all", Program: program, Log: func(e abi.LogEntry) {
		mu.Lock()
		defer mu.Unlock()
		entries = append(entries, e)
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, started.Close()) })
	return started, func() []abi.LogEntry {
		mu.Lock()
		defer mu.Unlock()
		return entries
	}
}

func values(preview bool) property.Map {
	m := property.NewMap(
		property.Entry{Key: "secret", Value: property.Secret(property.Array(property.String("a"), property.Null))},
		property.Entry{Key: "number", Value: property.Number(-0.5)},
		property.Entry{Key: "empty", Value: property.Object(property.Map{})},
		property.Entry{Key: "reference", Value: property.Reference(property.ResourceReference{URN: string(named("other")), ID: "id-9", HasID: true, PackageVersion: "1.0.0"})},
	)
	if preview {
		m = m.With("unknown", property.Unknown)
	}
	return m
}

// A provider answers as a native plugin what it answers as itself: Husk's client, Pulumi's server, Pulumi's client, and
// Husk's server are between them.
func TestANativePluginAnswersAsTheProvider(t *testing.T) {
	e := newEverything(abi.AllFeatures)
	client, _, _ := attached(t, e)
	p, _ := native(t, client)
	ctx := t.Context()
	who, err := p.Handshake(ctx, abi.HandshakeRequest{Engine: "husk", Features: abi.AllFeatures})
	require.NoError(t, err)
	require.Equal(t, "all 1.2.3", who.Name+" "+who.Version)
	require.NotZero(t, who.Features&abi.FeaturesSecrets)
	require.NoError(t, p.Configure(ctx, abi.ConfigureRequest{
		URN: "urn:pulumi:dev::shop::pulumi:providers:all::default", Name: "default", Type: "pulumi:providers:all", ID: "one",
		Inputs: property.NewMap(property.Entry{Key: "region", Value: property.String("eu")}),
	}))

	of := urn.URN(thing)
	check := abi.CheckRequest{URN: of, Name: "web", Type: "all:index:Thing", News: values(true), RandomSeed: []byte("seed"), Autonaming: &abi.Autonaming{ProposedName: "w", Mode: abi.AutonamingModeDisable}}
	checked, err := p.Check(ctx, check)
	require.NoError(t, err)
	require.True(t, values(true).With("default", property.Number(1)).Equal(checked.Inputs), "%v", checked.Inputs)
	require.Equal(t, check.Autonaming, last[abi.CheckRequest](e, "check").Autonaming)
	check.News = property.NewMap(property.Entry{Key: "bad", Value: property.Null})
	checked, err = p.Check(ctx, check)
	require.NoError(t, err)
	require.Equal(t, []abi.CheckFailure{{Path: "bad", Reason: "it is bad"}}, checked.Failures)

	diff, err := p.Diff(ctx, abi.DiffRequest{URN: of, Name: "web", Type: "all:index:Thing", ID: "id-1", Olds: values(false), News: values(true), OldInputs: values(false), IgnoreChanges: []string{"x.y"}})
	require.NoError(t, err)
	slices.Sort(diff.ChangedKeys)      // in a map at Pulumi's server
	require.Equal(t, abi.DiffResponse{ // Pulumi's server neither passes stable keys on, nor says that the diff is detailed
		Changes: abi.DiffChangesSome, DeleteBeforeReplace: true,
		ReplaceKeys: []string{"list"}, ChangedKeys: []string{"list", "plain"},
		DetailedDiff: []abi.PropertyDiff{{Path: `list[1]["a b"]`, Kind: abi.DiffKindUpdateReplace, InputDiff: true}, {Path: "plain", Kind: abi.DiffKindAdd}},
	}, diff)

	for _, preview := range []bool{true, false} {
		made, err := p.Create(ctx, abi.CreateRequest{URN: of, Name: "web", Type: "all:index:Thing", Inputs: values(preview), Timeout: 2, Preview: preview})
		require.NoError(t, err)
		require.True(t, values(preview).With("created", property.Secret(property.String("s"))).Equal(made.State), "%v", made.State)
		require.True(t, made.RefreshBeforeUpdate)
		request := last[abi.CreateRequest](e, "create")
		require.True(t, values(preview).Equal(request.Inputs), "%v", request.Inputs)
	}
	_, err = p.Create(ctx, abi.CreateRequest{URN: urn.URN(named("partial")), Name: "partial", Type: "all:index:Thing", Inputs: values(false)})
	var failed *abi.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, abi.ErrorKindInitFailed, failed.Kind)
	require.Equal(t, "id-1", failed.InitFailure.ID)
	require.Equal(t, []string{"first", "second"}, failed.InitFailure.Reasons)
	require.True(t, values(false).Equal(failed.InitFailure.State), "%v", failed.InitFailure.State)

	state := values(false)
	read, err := p.Read(ctx, abi.ReadRequest{URN: of, Name: "web", Type: "all:index:Thing", ID: "id-1", State: &state, Inputs: &state})
	require.NoError(t, err)
	require.Equal(t, "id-1", read.ID)
	updated, err := p.Update(ctx, abi.UpdateRequest{URN: of, Name: "web", Type: "all:index:Thing", ID: "id-1", Olds: state, News: state, OldInputs: state})
	require.NoError(t, err)
	require.True(t, state.Equal(updated.State))
	require.NoError(t, p.Delete(ctx, abi.DeleteRequest{URN: of, Name: "web", Type: "all:index:Thing", ID: "id-1", State: state, OldInputs: state}))
	invoked, err := p.Invoke(ctx, abi.InvokeRequest{Token: "all:index:f", Args: state})
	require.NoError(t, err)
	require.True(t, state.Equal(invoked.Result), "%v", invoked.Result)
	listed, err := p.List(ctx, abi.ListRequest{Token: "all:index:Thing"})
	require.NoError(t, err)
	require.Equal(t, abi.ListResponse{Resources: []abi.ListedResource{{ID: "a", Name: "A"}, {ID: "b"}}, ContinuationToken: "next"}, listed)
	mapping, err := p.GetMapping(ctx, abi.GetMappingRequest{Key: "terraform"})
	require.NoError(t, err)
	require.Equal(t, abi.GetMappingResponse{Provider: "all", Data: []byte("{}")}, mapping)
	schema, err := p.GetSchema(ctx, abi.GetSchemaRequest{})
	require.NoError(t, err)
	require.Contains(t, schema.Schema, "all:index:Thing")
	require.NoError(t, p.Cancel(ctx))
	require.True(t, last[bool](e, "cancel"))
}

// husksMonitor is the monitor of a deployment of Husk.
type husksMonitor struct {
	abi.Monitor
	mu         sync.Mutex
	registered []abi.RegisterResourceRequest
}

func (m *husksMonitor) RegisterResource(_ context.Context, r abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.registered = append(m.registered, r)
	return abi.RegisterResourceResponse{URN: urn.New("dev", "shop", "", r.Type, r.Name), ID: "id of " + r.Name, State: r.Inputs}, nil
}

func (m *husksMonitor) RegisterOutputs(context.Context, abi.RegisterOutputsRequest) error { return nil }

func (m *husksMonitor) Invoke(_ context.Context, r abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
	return abi.MonitorInvokeResponse{Result: r.Args}, nil
}

func TestANativePluginMakesComponents(t *testing.T) {
	e := newEverything(abi.AllFeatures)
	client, _, _ := attached(t, e)
	p, _ := native(t, client)
	_, err := p.Handshake(t.Context(), abi.HandshakeRequest{Engine: "husk", Features: abi.AllFeatures})
	require.NoError(t, err)
	require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{Type: "pulumi:providers:all", Inputs: property.NewMap(property.Entry{Key: "region", Value: property.String("eu")})}))
	m := &husksMonitor{}
	ctx := abi.WithMonitor(t.Context(), m)
	yes := true
	made, err := p.Construct(ctx, abi.ConstructRequest{
		Type: "all:index:Part", Name: "part", Inputs: values(false), Context: abi.RunContext{Project: "shop", Stack: "dev", Parallel: 4},
		Options: abi.ResourceOptions{Protect: &yes, IgnoreChanges: []string{"a"}, Aliases: []abi.Alias{{Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{Name: "older"}}}},
	})
	require.NoError(t, err)
	require.Equal(t, urn.New("dev", "shop", "", "all:index:Part", "part"), made.URN)
	require.Len(t, m.registered, 3)
	require.True(t, *m.registered[0].Options.Protect)
	require.Equal(t, []string{"a"}, m.registered[0].Options.IgnoreChanges)
	require.Equal(t, "older", m.registered[0].Options.Aliases[0].Spec.Name)
	require.True(t, values(false).Equal(m.registered[1].Inputs), "%v", m.registered[1].Inputs)
	require.Equal(t, made.URN, m.registered[1].Parent)
	one, _ := made.State.Lookup("one")
	require.True(t, property.String("id of one").Equal(one), "%v", one)

	called, err := p.Call(ctx, abi.CallRequest{Token: "all:index:Part/f", Args: values(false), Context: abi.RunContext{Project: "shop", Stack: "dev"}})
	require.NoError(t, err)
	require.True(t, values(false).Equal(called.Result), "%v", called.Result)
	_, err = p.Construct(t.Context(), abi.ConstructRequest{Type: "all:index:Part", Name: "part"})
	require.ErrorContains(t, err, "in a deployment only")
}

func TestAProgramThatIsNoPlugin(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(portVariable, "nonsense")
	_, err = pulumiplugin.Start(t.Context(), pulumiplugin.Options{Name: "all", Program: program, Log: func(abi.LogEntry) {}})
	require.ErrorContains(t, err, `is no plugin of Pulumi: its first line is "nonsense"`)
	_, err = pulumiplugin.Start(t.Context(), pulumiplugin.Options{Name: "all", Program: program + ".missing", Log: func(abi.LogEntry) {}})
	require.ErrorIs(t, err, os.ErrNotExist)
	t.Setenv(portVariable, "1") // nobody listens there
	p, err := pulumiplugin.Start(t.Context(), pulumiplugin.Options{Name: "all", Program: program, Log: func(abi.LogEntry) {}})
	require.NoError(t, err)
	_, err = p.GetSchema(t.Context(), abi.GetSchemaRequest{})
	require.ErrorIs(t, err, abi.ErrUnavailable)
	require.NoError(t, p.Close())
	_, err = p.GetSchema(t.Context(), abi.GetSchemaRequest{})
	require.ErrorContains(t, err, "has ended")
	require.ErrorContains(t, err, "a word of the plugin")
}
