package plugintest

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/pkg/v3/host"
	"github.com/pulumi/pulumi/pkg/v3/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag/colors"
	"github.com/pulumi/pulumi/sdk/v3/go/common/env"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/asset"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil/rpcerror"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
	pulumiproperty "github.com/pulumi/pulumi/sdk/v3/go/property"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/contents"
	"github.com/husk-dev/husk/internal/pulumi/pulumishim"
)

// shown keeps what Pulumi shows to its user.
type shown struct {
	mu   sync.Mutex
	text string
}

func (s *shown) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text += string(p)
	return len(p), nil
}

func (s *shown) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text
}

// pulumi returns what boots plugins in Pulumi, and what it shows.
func pulumi(t *testing.T) (plugin.Host, *plugin.Context, *shown) {
	t.Helper()
	out := &shown{}
	sink := diag.DefaultSink(out, out, diag.FormatOptions{Color: colors.Never})
	h, err := host.New(t.Context(), sink, sink, nil, nil, nil, nil, nil)
	require.NoError(t, err)
	ctx, err := plugin.NewContextWithHost(context.WithoutCancel(t.Context()), sink, sink, h, t.TempDir(), t.TempDir(), nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, ctx.Close())
		require.NoError(t, h.Close())
	})
	return h, ctx, out
}

// attached serves a provider, and has Pulumi attach to it.
func attached(t *testing.T, p abi.Provider) (plugin.Provider, *pulumishim.Shim, *shown) {
	t.Helper()
	s, err := pulumishim.Open(t.Context(), engine.WithContents(p, contents.Source{}), "", 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	_, port, err := net.SplitHostPort(s.Address())
	require.NoError(t, err)
	t.Setenv("PULUMI_DEBUG_PROVIDERS", "all:"+port)
	h, ctx, out := pulumi(t)
	client, err := plugin.NewProvider(h, ctx, workspace.PluginDescriptor{Name: "all", Kind: apitype.ResourcePlugin}, nil, false, "", "", env.Global())
	require.NoError(t, err)
	return client, s, out
}

const thing = resource.URN("urn:pulumi:dev::shop::all:index:Thing::web")

func named(name string) resource.URN {
	return resource.URN("urn:pulumi:dev::shop::all:index:Thing::" + name)
}

func configured(t *testing.T, client plugin.Provider) {
	t.Helper()
	urn, typ, id := resource.URN("urn:pulumi:dev::shop::pulumi:providers:all::default"), tokens.Type("pulumi:providers:all"), resource.ID("one")
	_, err := client.Configure(t.Context(), plugin.ConfigureRequest{
		URN: &urn, Type: &typ, ID: &id,
		Inputs: resource.PropertyMap{"region": resource.NewProperty("eu"), "tags": resource.NewProperty(`["a","b"]`), "version": resource.NewProperty("1.2.3")},
	})
	require.NoError(t, err)
}

// special has each kind of value that providers get.
func special(preview bool) resource.PropertyMap {
	m := resource.PropertyMap{
		"null": resource.NewNullProperty(), "bool": resource.NewProperty(true), "number": resource.NewProperty(1e300), "text": resource.NewProperty("ü\x00"),
		"empty": resource.NewProperty([]resource.PropertyValue{}), "nothing": resource.NewProperty(resource.PropertyMap{}),
		"secret":   resource.MakeSecret(resource.NewProperty("hunter2")),
		"inList":   resource.NewProperty([]resource.PropertyValue{resource.MakeSecret(resource.NewProperty(1.0)), resource.NewNullProperty()}),
		"resource": resource.MakeCustomResourceReference(named("other"), "id-9", "1.0.0"),
	}
	if preview {
		m["unknown"] = resource.MakeComputed(resource.NewProperty(""))
	}
	return m
}

func TestValuesArriveAsPulumiSendsThem(t *testing.T) {
	e := newEverything(abi.AllFeatures)
	client, _, _ := attached(t, e)
	configured(t, client)

	got, err := client.Create(t.Context(), plugin.CreateRequest{URN: thing, Properties: special(true), Timeout: 12.5, Preview: true})
	require.NoError(t, err)
	request := last[abi.CreateRequest](e, "create")
	require.Equal(t, "web", request.Name)
	require.Equal(t, "all:index:Thing", request.Type)
	require.Equal(t, 12.5, request.Timeout)
	require.True(t, request.Preview)
	want := property.NewMap(
		property.Entry{Key: "null", Value: property.Null}, property.Entry{Key: "bool", Value: property.Bool(true)},
		property.Entry{Key: "number", Value: property.Number(1e300)}, property.Entry{Key: "text", Value: property.String("ü\x00")},
		property.Entry{Key: "empty", Value: property.Array()}, property.Entry{Key: "nothing", Value: property.Object(property.Map{})},
		property.Entry{Key: "secret", Value: property.Secret(property.String("hunter2"))},
		property.Entry{Key: "inList", Value: property.Array(property.Secret(property.Number(1)), property.Null)},
		property.Entry{Key: "resource", Value: property.Reference(property.ResourceReference{URN: string(named("other")), ID: "id-9", HasID: true, PackageVersion: "1.0.0"})},
		property.Entry{Key: "unknown", Value: property.Unknown},
	)
	require.True(t, want.Equal(request.Inputs), "%v", request.Inputs)

	back := special(true)
	back["created"] = resource.MakeSecret(resource.NewProperty("s"))
	back["unknown"] = resource.MakeComputed(resource.NewProperty(""))
	require.True(t, back.DeepEquals(got.Properties), "%v", got.Properties)
	require.True(t, got.RefreshBeforeUpdate)
}

func TestAssetsAreReadByTheProvider(t *testing.T) {
	e := newEverything(abi.AllFeatures)
	client, _, _ := attached(t, e)
	configured(t, client)
	file := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(file, []byte("<h1>"), 0o600))
	a, err := asset.FromPath(file)
	require.NoError(t, err)
	got, err := client.Create(t.Context(), plugin.CreateRequest{URN: named("asset"), Properties: resource.PropertyMap{"asset": resource.NewProperty(a)}})
	require.NoError(t, err)
	require.Equal(t, "<h1>", got.Properties["text"].StringValue())
}

// A provider that does not understand secrets and references gets plain values, and Pulumi marks the secrets again.
func TestAProviderOfFewFeatures(t *testing.T) {
	e := newEverything(0)
	client, _, _ := attached(t, e)
	configured(t, client)
	got, err := client.Create(t.Context(), plugin.CreateRequest{URN: thing, Properties: special(false)})
	require.NoError(t, err)
	inputs := last[abi.CreateRequest](e, "create").Inputs
	require.False(t, inputs.ContainsSecrets())
	reference, _ := inputs.Lookup("resource")
	require.True(t, property.String("id-9").Equal(reference), "%v", reference)
	require.True(t, got.Properties["secret"].IsSecret())

	preview, err := client.Create(t.Context(), plugin.CreateRequest{URN: thing, Properties: special(true), Preview: true})
	require.NoError(t, err)
	require.Empty(t, preview.Properties, "a provider without previews is not asked")
	require.False(t, last[abi.CreateRequest](e, "create").Preview)
}

func TestConfiguration(t *testing.T) {
	e := newEverything(abi.AllFeatures)
	client, _, _ := attached(t, e)
	urn := resource.URN("urn:pulumi:dev::shop::pulumi:providers:all::default")
	checked, err := client.CheckConfig(t.Context(), plugin.CheckConfigRequest{
		URN: urn, News: pulumiproperty.NewMap(map[string]pulumiproperty.Value{
			"tags": pulumiproperty.New(`["a"]`), "version": pulumiproperty.New("1.2.3"),
		}),
	})
	require.NoError(t, err)
	request := last[abi.CheckRequest](e, "check-config")
	require.Nil(t, request.Olds)
	require.True(t, property.NewMap(property.Entry{Key: "tags", Value: property.Array(property.String("a"))}).Equal(request.News), "%v", request.News)
	require.Equal(t, "1.2.3", checked.Properties.Get("version").AsString(), "Pulumi's own keys come back")
	require.True(t, checked.Properties.Get("added").AsBool())

	diff, err := client.DiffConfig(t.Context(), plugin.DiffConfigRequest{
		URN: urn, OldInputs: resource.PropertyMap{"region": resource.NewProperty("eu")}, OldOutputs: resource.PropertyMap{"region": resource.NewProperty("eu")},
		NewInputs: resource.PropertyMap{"region": resource.NewProperty("us")},
	})
	require.NoError(t, err)
	require.Equal(t, []resource.PropertyKey{"region"}, diff.ReplaceKeys)

	configured(t, client)
	_, err = client.Check(t.Context(), plugin.CheckRequest{URN: thing, News: resource.PropertyMap{}}) // it waits for the configuration
	require.NoError(t, err)
	inputs := last[abi.ConfigureRequest](e, "configure").Inputs
	require.True(t, property.NewMap(
		property.Entry{Key: "region", Value: property.String("eu")},
		property.Entry{Key: "tags", Value: property.Array(property.String("a"), property.String("b"))},
	).Equal(inputs), "%v", inputs)
}

func TestMissingConfigurationNamesPulumisCommand(t *testing.T) {
	client, _, _ := attached(t, newEverything(abi.AllFeatures))
	typ := tokens.Type("pulumi:providers:all")
	_, err := client.Configure(t.Context(), plugin.ConfigureRequest{Type: &typ, Inputs: resource.PropertyMap{}})
	require.NoError(t, err)
	_, err = client.Check(t.Context(), plugin.CheckRequest{URN: thing, News: resource.PropertyMap{}})
	require.ErrorContains(t, err, "pulumi config set region")
}

func TestLifecycle(t *testing.T) {
	e := newEverything(abi.AllFeatures)
	client, _, _ := attached(t, e)
	configured(t, client)
	ctx := t.Context()
	one := resource.PropertyMap{"a": resource.NewProperty("1")}

	checked, err := client.Check(ctx, plugin.CheckRequest{
		URN: thing, News: one, RandomSeed: []byte("seed"), Autonaming: &plugin.AutonamingOptions{ProposedName: "web-1", Mode: plugin.AutonamingModeEnforce},
	})
	require.NoError(t, err)
	require.Equal(t, 1.0, checked.Properties["default"].NumberValue())
	check := last[abi.CheckRequest](e, "check")
	require.Nil(t, check.Olds)
	require.Equal(t, []byte("seed"), check.RandomSeed)
	require.Equal(t, &abi.Autonaming{ProposedName: "web-1", Mode: abi.AutonamingModeEnforce}, check.Autonaming)
	failed, err := client.Check(ctx, plugin.CheckRequest{URN: thing, News: resource.PropertyMap{"bad": resource.NewProperty(true)}})
	require.NoError(t, err)
	require.Equal(t, []plugin.CheckFailure{{Property: "bad", Reason: "it is bad"}}, failed.Failures)

	diff, err := client.Diff(ctx, plugin.DiffRequest{URN: thing, ID: "id-1", OldInputs: one, OldOutputs: one, NewInputs: one, IgnoreChanges: []string{"x"}})
	require.NoError(t, err)
	require.Equal(t, plugin.DiffSome, diff.Changes)
	require.Equal(t, []resource.PropertyKey{"list"}, diff.ReplaceKeys, "the keys follow from the detailed diff")
	require.Equal(t, []resource.PropertyKey{"list", "plain"}, diff.ChangedKeys)
	require.Equal(t, []resource.PropertyKey{"stable"}, diff.StableKeys)
	require.True(t, diff.DeleteBeforeReplace)
	require.Equal(t, map[string]plugin.PropertyDiff{
		`list[1]["a b"]`: {Kind: plugin.DiffUpdateReplace, InputDiff: true}, "plain": {Kind: plugin.DiffAdd},
	}, diff.DetailedDiff)
	require.Equal(t, []string{"x"}, last[abi.DiffRequest](e, "diff").IgnoreChanges)

	read, err := client.Read(ctx, plugin.ReadRequest{URN: thing, ID: "id-1", Inputs: one, State: one})
	require.NoError(t, err)
	require.Equal(t, resource.ID("id-1"), read.ID)
	require.True(t, read.Inputs["in"].BoolValue())
	_, err = client.Read(ctx, plugin.ReadRequest{URN: thing, ID: "id-2"})
	require.NoError(t, err)
	require.Nil(t, last[abi.ReadRequest](e, "read").State, "an import has no state")
	gone, err := client.Read(ctx, plugin.ReadRequest{URN: thing, ID: "gone", Inputs: one, State: one})
	require.NoError(t, err)
	require.Empty(t, gone.ID)
	_, err = client.Read(ctx, plugin.ReadRequest{URN: thing, ID: "misled", Inputs: one, State: one})
	require.Error(t, err, "not found does not say that it is gone")
	same, err := client.Read(ctx, plugin.ReadRequest{URN: thing, ID: "unread", Inputs: one, State: one})
	require.NoError(t, err)
	require.Equal(t, resource.ID("unread"), same.ID, "what a provider cannot read stays")
	require.True(t, one.DeepEquals(same.Outputs))
	_, err = client.Read(ctx, plugin.ReadRequest{URN: thing, ID: "unread"})
	require.Error(t, err, "an import needs it")

	updated, err := client.Update(ctx, plugin.UpdateRequest{URN: thing, ID: "id-1", OldInputs: one, OldOutputs: one, NewInputs: special(false), Timeout: 3})
	require.NoError(t, err)
	require.True(t, special(false).DeepEquals(updated.Properties), "%v", updated.Properties)
	_, err = client.Delete(ctx, plugin.DeleteRequest{URN: thing, ID: "id-1", Inputs: one, Outputs: one})
	require.NoError(t, err)
	require.Equal(t, "id-1", last[abi.DeleteRequest](e, "delete").ID)
	_, err = client.Delete(ctx, plugin.DeleteRequest{URN: thing, ID: "misled", Inputs: one, Outputs: one})
	require.Error(t, err, "not found is no deletion")

	invoked, err := client.Invoke(ctx, plugin.InvokeRequest{
		Tok: "all:index:f", Preview: true, Args: pulumiproperty.NewMap(map[string]pulumiproperty.Value{"s": pulumiproperty.New("x").WithSecret(true)}),
	})
	require.NoError(t, err)
	require.True(t, invoked.Properties.Get("s").Secret())
	require.Len(t, invoked.Failures, 1)
	require.True(t, last[abi.InvokeRequest](e, "invoke").Preview)

	list, err := client.List(ctx, plugin.ListRequest{Token: "all:index:Thing", Limit: 5, ContinuationToken: "from"})
	require.NoError(t, err)
	var ids []resource.ID
	for r, err := range list.Items {
		require.NoError(t, err)
		ids = append(ids, r.ID)
	}
	require.Equal(t, []resource.ID{"a", "b"}, ids)
	require.Equal(t, "next", list.ContinuationToken)
	require.Equal(t, abi.ListRequest{Token: "all:index:Thing", Limit: 5, ContinuationToken: "from"}, last[abi.ListRequest](e, "list"))

	info, err := client.GetPluginInfo(ctx)
	require.NoError(t, err)
	require.Equal(t, "1.2.3", info.Version.String())
	mapping, err := client.GetMapping(ctx, plugin.GetMappingRequest{Key: "terraform"})
	require.NoError(t, err)
	require.Equal(t, plugin.GetMappingResponse{Provider: "all", Data: []byte("{}")}, mapping)
	mapping, err = client.GetMapping(ctx, plugin.GetMappingRequest{Key: "other"})
	require.NoError(t, err)
	require.Empty(t, mapping.Provider)
	mappings, err := client.GetMappings(ctx, plugin.GetMappingsRequest{Key: "k"})
	require.NoError(t, err)
	require.Equal(t, []string{"k-all"}, mappings.Keys)
}

func TestFailures(t *testing.T) {
	e := newEverything(abi.AllFeatures)
	client, _, _ := attached(t, e)
	configured(t, client)
	partial, err := client.Create(t.Context(), plugin.CreateRequest{URN: named("partial"), Properties: special(false)})
	var failed *plugin.InitError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, []string{"first", "second"}, failed.Reasons)
	require.Equal(t, resource.StatusPartialFailure, partial.Status)
	require.Equal(t, resource.ID("id-1"), partial.ID)
	require.True(t, partial.RefreshBeforeUpdate)
	require.True(t, special(false).DeepEquals(partial.Properties), "%v", partial.Properties)

	_, err = client.Create(t.Context(), plugin.CreateRequest{URN: named("denied"), Properties: special(false)})
	require.ErrorContains(t, err, "is not granted")
	requireCode(t, codes.PermissionDenied, err)
	_, err = client.Create(t.Context(), plugin.CreateRequest{URN: named("crash"), Properties: special(false)})
	require.ErrorContains(t, err, "the guest trapped")
	requireCode(t, codes.Unknown, err) // nobody knows whether it had its effect
}

func requireCode(t *testing.T, want codes.Code, err error) {
	t.Helper()
	status, ok := rpcerror.FromError(err)
	require.True(t, ok)
	require.Equal(t, want, status.Code())
}

func TestCancel(t *testing.T) {
	e := newEverything(abi.AllFeatures)
	client, _, _ := attached(t, e)
	configured(t, client)
	ended := make(chan error, 1)
	go func() {
		_, err := client.Create(context.WithoutCancel(t.Context()), plugin.CreateRequest{URN: named("waits"), Properties: special(false)})
		ended <- err
	}()
	<-e.began
	require.NoError(t, client.SignalCancellation(t.Context()))
	requireCode(t, codes.Unknown, <-ended) // for Pulumi, Canceled would say that nothing was made
	require.True(t, last[bool](e, "cancel"))
	_, err := client.Delete(t.Context(), plugin.DeleteRequest{URN: thing, ID: "id-1", Inputs: special(false), Outputs: special(false)})
	require.NoError(t, err, "what cleans up still works")
}

func TestMessagesReachPulumi(t *testing.T) {
	_, s, out := attached(t, newEverything(abi.AllFeatures))
	require.True(t, s.Log(abi.LogEntry{Severity: abi.LogSeverityWarning, Message: "mind the step"}))
	require.Contains(t, out.String(), "warning: mind the step")
}

func TestParameters(t *testing.T) {
	e := newEverything(abi.AllFeatures)
	client, _, _ := attached(t, e)
	became, err := client.Parameterize(t.Context(), plugin.ParameterizeRequest{Parameters: &plugin.ParameterizeArgs{Args: []string{"shop", "x"}}})
	require.NoError(t, err)
	require.Equal(t, "shop 2.0.0", became.Name+" "+became.Version.String())
	require.False(t, last[abi.ParameterizeRequest](e, "parameterize").Extension)
	version := semver.MustParse("2.0.0")
	schema, err := client.GetSchema(t.Context(), plugin.GetSchemaRequest{SubpackageName: "shop", SubpackageVersion: &version})
	require.NoError(t, err)
	require.Equal(t, abi.GetSchemaRequest{}, last[abi.GetSchemaRequest](e, "schema"), "it is the provider's own now")
	var document struct {
		Parameterization struct {
			BaseProvider struct{ Name, Version string }
			Parameter    []byte
		}
	}
	require.NoError(t, json.Unmarshal(schema.Schema, &document))
	require.Equal(t, "how to make shop", string(document.Parameterization.Parameter))
	require.Equal(t, "all", document.Parameterization.BaseProvider.Name)

	_, err = client.Parameterize(t.Context(), plugin.ParameterizeRequest{Parameters: &plugin.ParameterizeValue{Name: "more", Version: version, Value: []byte("v")}})
	require.NoError(t, err)
	request := last[abi.ParameterizeRequest](e, "parameterize")
	require.True(t, request.Extension, "later packages are beside the first")
	require.Equal(t, abi.ParameterValue{Name: "more", Version: "2.0.0", Value: []byte("v")}, request.Parameters.Value)
	_, err = client.Parameterize(t.Context(), plugin.ParameterizeRequest{Parameters: &plugin.ParameterizeArgs{}})
	require.ErrorContains(t, err, "give the name of a package")
}

// engineMonitor is the resource monitor of Pulumi's engine.
type engineMonitor struct {
	pulumirpc.UnimplementedResourceMonitorServer
	mu         sync.Mutex
	registered []*pulumirpc.RegisterResourceRequest
	outputs    *pulumirpc.RegisterResourceOutputsRequest
}

func (m *engineMonitor) RegisterResource(_ context.Context, r *pulumirpc.RegisterResourceRequest) (*pulumirpc.RegisterResourceResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.registered = append(m.registered, r)
	urn := resource.NewURN("dev", "shop", "", tokens.Type(r.Type), r.Name)
	return &pulumirpc.RegisterResourceResponse{Urn: string(urn), Id: "id of " + r.Name, Object: r.Object}, nil
}

func (m *engineMonitor) RegisterResourceOutputs(_ context.Context, r *pulumirpc.RegisterResourceOutputsRequest) (*emptypb.Empty, error) {
	m.outputs = r
	return &emptypb.Empty{}, nil
}

func (m *engineMonitor) Invoke(_ context.Context, r *pulumirpc.ResourceInvokeRequest) (*pulumirpc.ResourceInvokeResponse, error) {
	return &pulumirpc.ResourceInvokeResponse{Return: r.Args}, nil
}

func listenAsEngine(t *testing.T) (*engineMonitor, string) {
	t.Helper()
	m, server := &engineMonitor{}, grpc.NewServer()
	pulumirpc.RegisterResourceMonitorServer(server, m)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return m, listener.Addr().String()
}

func TestComponents(t *testing.T) {
	e := newEverything(abi.AllFeatures)
	client, _, _ := attached(t, e)
	configured(t, client)
	m, address := listenAsEngine(t)
	yes := true
	info := plugin.ConstructInfo{
		Project: "shop", Stack: "dev", Organization: "acme", MonitorAddress: address, Parallel: 8, DryRun: true,
		Config: map[config.Key]string{config.MustMakeKey("shop", "size"): "3"}, ConfigSecretKeys: []config.Key{config.MustMakeKey("shop", "size")},
	}
	inputs := resource.PropertyMap{"a": resource.NewProperty(resource.Output{
		Element: resource.NewProperty("x"), Known: true, Secret: true, Dependencies: []resource.URN{thing},
	})}
	made, err := client.Construct(t.Context(), plugin.ConstructRequest{
		Info: info, Type: "all:index:Part", Name: "part", Parent: named("parent"), Inputs: inputs,
		Options: plugin.ConstructOptions{
			Protect: &yes, Dependencies: []resource.URN{thing}, Providers: map[string]string{"all": "urn::id"}, IgnoreChanges: []string{"a.b"},
			Aliases: []resource.Alias{{Name: "older"}}, CustomTimeouts: &plugin.CustomTimeouts{Create: "5m"}, DeletedWith: thing,
			ResourceHooks: map[resource.HookType][]string{resource.AfterCreate: {"tell"}},
		},
	})
	require.NoError(t, err)
	require.Equal(t, "part", made.URN.Name())
	require.Equal(t, "id of two", made.Outputs.Get("two").AsString())
	request := last[abi.ConstructRequest](e, "construct")
	require.Equal(t, abi.RunContext{Project: "shop", Stack: "dev", Organization: "acme", DryRun: true, Parallel: 8,
		Config: []abi.ConfigEntry{{Key: "shop:size", Value: "3", Secret: true}}}, request.Context)
	a, _ := request.Inputs.Lookup("a")
	require.True(t, property.OutputOf(property.Output{Value: property.String("x"), Secret: true, Dependencies: []string{string(thing)}}).Equal(a), "%v", a)
	o := request.Options
	require.True(t, *o.Protect)
	require.Equal(t, 300.0, o.CustomTimeouts.Create)
	require.Equal(t, "older", o.Aliases[0].Spec.Name)
	require.Equal(t, []abi.HookBinding{{Kind: abi.HookKindAfterCreate, Names: []string{"tell"}}}, o.Hooks)
	require.Equal(t, []abi.PackageProvider{{Package: "all", Reference: "urn::id"}}, o.Providers)

	require.Len(t, m.registered, 3)
	self := m.registered[0]
	require.True(t, self.GetProtect())
	require.Equal(t, []string{"a.b"}, self.IgnoreChanges)
	require.Equal(t, "5m0s", self.CustomTimeouts.Create)
	require.Equal(t, "older", self.Aliases[0].GetSpec().Name)
	require.Equal(t, []string{"tell"}, self.Hooks.AfterCreate)
	require.True(t, self.AcceptSecrets && self.SupportsResultReporting && self.AliasSpecs)
	require.True(t, m.registered[1].Custom)
	require.Equal(t, string(made.URN), m.registered[1].Parent)
	require.Equal(t, "id of one", m.outputs.Outputs.Fields["one"].GetStringValue())

	called, err := client.Call(t.Context(), plugin.CallRequest{
		Tok: "all:index:Part/f", Args: pulumiproperty.NewMap(map[string]pulumiproperty.Value{"q": pulumiproperty.New(2.0)}),
		Info: plugin.CallInfo{Project: "shop", Stack: "dev", MonitorAddress: address},
	})
	require.NoError(t, err)
	require.Equal(t, 2.0, called.Return.Get("q").AsNumber())
}
