package plugintest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pulumi/pulumi/pkg/v3/resource/plugin"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/internal/pulumi/pulumiplugin"
	"github.com/husk-dev/husk/internal/pulumi/pulumiwire"
)

// portVariable makes a process of this test a plugin, whose provider another process serves at the port.
const portVariable = "HUSK_TEST_PLUGIN_PORT"

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
	return startedNative(t, failing{plugin.NewProviderServer(p)}, nil)
}

// startedNative runs what a server serves as a native plugin.
func startedNative(t *testing.T, provider pulumirpc.ResourceProviderServer, wanted func(pkg, version string) string) (*pulumiplugin.Plugin, func() []abi.LogEntry) {
	t.Helper()
	server := grpc.NewServer()
	pulumirpc.RegisterResourceProviderServer(server, provider)
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
	p, err := pulumiplugin.Start(t.Context(), pulumiplugin.Options{Name: "all", Program: program, WantedVersion: wanted, Log: func(e abi.LogEntry) {
		mu.Lock()
		defer mu.Unlock()
		entries = append(entries, e)
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p, func() []abi.LogEntry {
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
	invoked    []abi.MonitorInvokeRequest
}

func (m *husksMonitor) RegisterResource(_ context.Context, r abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.registered = append(m.registered, r)
	return abi.RegisterResourceResponse{URN: urn.New("dev", "shop", "", r.Type, r.Name), ID: "id of " + r.Name, State: r.Inputs}, nil
}

func (m *husksMonitor) RegisterOutputs(context.Context, abi.RegisterOutputsRequest) error { return nil }

func (m *husksMonitor) Invoke(_ context.Context, r abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.invoked = append(m.invoked, r)
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

// unmarking is a provider that does not tell secrets apart: what it answers has none. Each change of an object fails in part.
type unmarking struct {
	pulumirpc.UnimplementedResourceProviderServer
	called atomic.Pointer[structpb.Struct]
}

func (*unmarking) Handshake(context.Context, *pulumirpc.ProviderHandshakeRequest) (*pulumirpc.ProviderHandshakeResponse, error) {
	return &pulumirpc.ProviderHandshakeResponse{AcceptResources: true, AcceptOutputs: true}, nil
}

func inPart(properties *structpb.Struct) error {
	s, err := status.New(codes.Unknown, "not ready").WithDetails(&pulumirpc.ErrorResourceInitFailed{
		Id: "id-1", Properties: properties, Inputs: properties, Reasons: []string{"first"},
	})
	if err != nil {
		return err
	}
	return s.Err()
}

func (u *unmarking) Create(_ context.Context, r *pulumirpc.CreateRequest) (*pulumirpc.CreateResponse, error) {
	u.called.Store(r.Properties)
	return nil, inPart(r.Properties)
}

func (u *unmarking) Update(_ context.Context, r *pulumirpc.UpdateRequest) (*pulumirpc.UpdateResponse, error) {
	u.called.Store(r.News)
	return nil, inPart(r.News)
}

func (u *unmarking) Read(_ context.Context, r *pulumirpc.ReadRequest) (*pulumirpc.ReadResponse, error) {
	u.called.Store(r.Inputs)
	return nil, inPart(r.Inputs)
}

func (u *unmarking) Call(_ context.Context, r *pulumirpc.CallRequest) (*pulumirpc.CallResponse, error) {
	u.called.Store(r.Args)
	return &pulumirpc.CallResponse{Return: r.Args}, nil
}

func (u *unmarking) Construct(_ context.Context, r *pulumirpc.ConstructRequest) (*pulumirpc.ConstructResponse, error) {
	u.called.Store(r.Inputs)
	return &pulumirpc.ConstructResponse{Urn: "urn:pulumi:dev::shop::all:index:Part::part", State: r.Inputs}, nil
}

// Nothing that was secret is recorded in plain text because a plugin does not tell secrets apart.
func TestAPluginThatDoesNotMarkSecrets(t *testing.T) {
	u := &unmarking{}
	p, _ := startedNative(t, u, nil)
	_, err := p.Handshake(t.Context(), abi.HandshakeRequest{Engine: "husk", Features: abi.AllFeatures})
	require.NoError(t, err)
	of, given := urn.URN(thing), values(false)
	plain := given.Lower(property.KindSecret)
	for name, call := range map[string]func() error{
		"create": func() error {
			_, err := p.Create(t.Context(), abi.CreateRequest{URN: of, Name: "web", Type: "all:index:Thing", Inputs: given})
			return err
		},
		"update": func() error {
			_, err := p.Update(t.Context(), abi.UpdateRequest{URN: of, Name: "web", Type: "all:index:Thing", ID: "id-1", Olds: plain, News: given, OldInputs: plain})
			return err
		},
		"read": func() error {
			_, err := p.Read(t.Context(), abi.ReadRequest{URN: of, Name: "web", Type: "all:index:Thing", ID: "id-1", State: &given, Inputs: &given})
			return err
		},
	} {
		var failed *abi.Error
		require.ErrorAs(t, call(), &failed, name)
		require.NotNil(t, failed.InitFailure, name)
		sent, err := pulumiwire.FromStruct(u.called.Load())
		require.NoError(t, err)
		require.True(t, plain.Equal(sent), "%s: %v", name, sent)
		require.True(t, given.Equal(failed.InitFailure.State), "%s: %v", name, failed.InitFailure.State)
		require.True(t, given.Equal(*failed.InitFailure.Inputs), "%s: %v", name, failed.InitFailure.Inputs)
	}

	ctx := abi.WithMonitor(t.Context(), &husksMonitor{})
	called, err := p.Call(ctx, abi.CallRequest{Token: "all:index:Part/f", Args: given})
	require.NoError(t, err)
	for key, v := range called.Result.All() {
		require.Equal(t, property.KindSecret, v.Kind(), key)
	}
	made, err := p.Construct(ctx, abi.ConstructRequest{Type: "all:index:Part", Name: "part", Inputs: given})
	require.NoError(t, err)
	require.True(t, given.Equal(made.State), "%v", made.State)
}

// composing makes a component with an SDK of long ago, which does not know values that are unknown in part, and wants the
// version of a package that it was published with.
type composing struct {
	pulumirpc.UnimplementedResourceProviderServer
	supportsPartialValues bool
	registered            *pulumirpc.RegisterResourceResponse
}

func (c *composing) Construct(ctx context.Context, r *pulumirpc.ConstructRequest) (*pulumirpc.ConstructResponse, error) {
	connection, err := grpc.NewClient(r.MonitorEndpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	monitor := pulumirpc.NewResourceMonitorClient(connection)
	c.registered, err = monitor.RegisterResource(ctx, &pulumirpc.RegisterResourceRequest{
		Type: "other:index:Thing", Name: "one", Custom: true, Object: r.Inputs, Version: "9.9.9", AcceptSecrets: true, AcceptResources: true,
		SupportsPartialValues: c.supportsPartialValues,
	})
	if err != nil {
		return nil, err
	}
	if _, err = monitor.Invoke(ctx, &pulumirpc.ResourceInvokeRequest{Tok: "other:index:f", Version: "9.9.9"}); err != nil {
		return nil, err
	}
	return &pulumirpc.ConstructResponse{Urn: c.registered.Urn}, nil
}

func TestAComponentOfANativePluginIsServedAsAProgramIs(t *testing.T) {
	for _, partial := range []bool{false, true} {
		c := &composing{supportsPartialValues: partial}
		p, _ := startedNative(t, c, func(pkg, wanted string) string { return pkg + " in place of " + wanted })
		m := &husksMonitor{}
		given := property.NewMap(
			property.Entry{Key: "known", Value: property.String("x")},
			property.Entry{Key: "list", Value: property.Array(property.String("x"), property.Unknown)},
		)
		_, err := p.Construct(abi.WithMonitor(t.Context(), m), abi.ConstructRequest{Type: "all:index:Part", Name: "part", Inputs: given, Context: abi.RunContext{DryRun: true}})
		require.NoError(t, err)
		require.Equal(t, "other in place of 9.9.9", m.registered[0].Options.Version)
		require.Equal(t, "other in place of 9.9.9", m.invoked[0].Options.Version)
		got, err := pulumiwire.FromStruct(c.registered.Object)
		require.NoError(t, err)
		if !partial {
			given = given.Without("list")
		}
		require.True(t, given.Equal(got), "%v", got)
	}
}

func TestAProgramThatIsNoPlugin(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(portVariable, "nonsense")
	_, err = pulumiplugin.Start(t.Context(), pulumiplugin.Options{Name: "all", Program: program, Log: func(abi.LogEntry) {}})
	require.ErrorContains(t, err, `is not a plugin of Pulumi: its first line is "nonsense"`)
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
