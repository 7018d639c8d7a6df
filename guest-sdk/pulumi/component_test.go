package pulumi

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// engine is a monitor that notes what is asked, and answers with an ID made of the name.
type engine struct {
	mu sync.Mutex
	// asked are the operations in the order of their start.
	asked    []abi.Operation
	packages []abi.RegisterPackageRequest
	// together, if set, is closed once as many operations run as are to run at once. None ends before.
	together chan struct{}
	atOnce   int
	ended    []abi.Completed
	failure  error
}

// patience is for operations that never come.
const patience = 10 * time.Second

func (e *engine) answer(op abi.Operation) (out abi.Outcome) {
	if e.failure != nil {
		return abi.Outcome{Case: abi.OutcomeCaseFailed, Failed: abi.AsError(e.failure)}
	}
	switch op.Case {
	case abi.OperationCaseRegisterResource:
		q := op.RegisterResource
		out.Case = abi.OutcomeCaseRegistered
		out.Registered = abi.RegisterResourceResponse{
			URN: urnsOf([]string{"urn:pulumi:dev::p::" + q.Type + "::" + q.Name})[0], ID: "id-" + q.Name,
			State:             properties("made", property.Secret(property.String(q.Name))),
			StateDependencies: []abi.PropertyDependency{{Key: "made", URNs: urnsOf([]string{noteURN})}},
		}
		if q.Name == "failed" {
			out.Registered.Result = abi.RegistrationResultFailed
		}
	case abi.OperationCaseRegisterOutputs:
		out.Case = abi.OutcomeCaseOutputsRegistered
	case abi.OperationCaseReadResource:
		out.Case = abi.OutcomeCaseResourceRead
		out.ResourceRead = abi.ReadResourceResponse{URN: noteURN, State: properties("read", "it")}
	case abi.OperationCaseInvoke:
		out.Case = abi.OutcomeCaseInvoked
		out.Invoked = abi.MonitorInvokeResponse{Result: properties("r", "s"), Failures: []abi.CheckFailure{{Path: "a", Reason: "b"}}, Unknown: true}
	case abi.OperationCaseCall:
		out.Case = abi.OutcomeCaseCalled
		out.Called = abi.MonitorCallResponse{Result: properties("r", "s"), ResultDependencies: []abi.PropertyDependency{{Key: "r", URNs: urnsOf([]string{noteURN})}}}
	}
	return out
}

func (e *engine) Start(_ context.Context, op abi.Operation) (abi.OperationHandle, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, op)
	handle := abi.OperationHandle(len(e.asked))
	e.ended = append(e.ended, abi.Completed{Handle: handle, Outcome: e.answer(op)})
	if e.together != nil && len(e.ended) == e.atOnce {
		close(e.together)
	}
	return handle, nil
}

func (e *engine) Wait(context.Context) (abi.Completed, error) {
	if e.together != nil {
		select {
		case <-e.together:
		case <-time.After(patience):
			return abi.Completed{}, fmt.Errorf("fewer than %d operations run at once", e.atOnce)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.ended) == 0 {
		return abi.Completed{}, fmt.Errorf("nothing was started")
	}
	last := e.ended[len(e.ended)-1] // in another order than they were started
	e.ended = e.ended[:len(e.ended)-1]
	return last, nil
}

func (e *engine) RegisterPackage(_ context.Context, q abi.RegisterPackageRequest) (abi.RegisterPackageResponse, error) {
	e.packages = append(e.packages, q)
	return abi.RegisterPackageResponse{PackageRef: "ref"}, e.failure
}

// The adapter starts operations; it calls none of the methods that wait.

func (e *engine) RegisterResource(context.Context, abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	panic("it waits")
}
func (e *engine) RegisterOutputs(context.Context, abi.RegisterOutputsRequest) error {
	panic("it waits")
}
func (e *engine) ReadResource(context.Context, abi.ReadResourceRequest) (abi.ReadResourceResponse, error) {
	panic("it waits")
}
func (e *engine) Invoke(context.Context, abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
	panic("it waits")
}
func (e *engine) Call(context.Context, abi.MonitorCallRequest) (abi.MonitorCallResponse, error) {
	panic("it waits")
}

var run = abi.RunContext{
	Project: "p", Stack: "dev", Organization: "o", DryRun: true, Parallel: 4,
	Config: []abi.ConfigEntry{{Key: "notes:author", Value: "a"}, {Key: "notes:key", Value: "k", Secret: true}},
}

// construct runs what a component does with its monitor.
func construct(t *testing.T, e *engine, component func(ctx context.Context, m pulumirpc.ResourceMonitorClient) error) error {
	t.Helper()
	f := &fake{construct: func(ctx context.Context, _ *pulumirpc.ConstructRequest, m pulumirpc.ResourceMonitorClient) (*pulumirpc.ConstructResponse, error) {
		return &pulumirpc.ConstructResponse{Urn: noteURN}, component(ctx, m)
	}}
	_, err := shaken(t, f).Construct(abi.WithMonitor(t.Context(), e), abi.ConstructRequest{Context: run})
	return err
}

func TestConstruct(t *testing.T) {
	yes, no := true, false
	trigger := property.String("t")
	f := &fake{construct: func(context.Context, *pulumirpc.ConstructRequest, pulumirpc.ResourceMonitorClient) (*pulumirpc.ConstructResponse, error) {
		return &pulumirpc.ConstructResponse{Urn: noteURN, State: fields("s", "t"), StateDependencies: map[string]*pulumirpc.ConstructResponse_PropertyDependencies{
			"s": {Urns: []string{noteURN}}}}, nil
	}}
	output := property.OutputOf(property.Output{Value: property.Unknown, Secret: true, Dependencies: []string{noteURN}})
	p := shaken(t, f)
	response, err := p.Construct(abi.WithMonitor(t.Context(), &engine{}), abi.ConstructRequest{
		Type: "notes:index:Binder", Name: "b", Parent: "parent", Inputs: properties("in", output), Context: run,
		InputDependencies: []abi.PropertyDependency{{Key: "in", URNs: urnsOf([]string{noteURN})}},
		Options: abi.ResourceOptions{
			Protect: &yes, Providers: []abi.PackageProvider{{Package: "notes", Reference: "u::i"}}, Dependencies: urnsOf([]string{"d"}),
			AdditionalSecretOutputs: []string{"x"}, CustomTimeouts: abi.CustomTimeouts{Create: 90, Read: 0.5}, DeletedWith: "w",
			DeleteBeforeReplace: &no, IgnoreChanges: []string{"i"}, ReplaceOnChanges: []string{"r"}, RetainOnDelete: &yes,
			Aliases: []abi.Alias{{Case: abi.AliasCaseURN, URN: "old"}, {Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{Name: "n", NoParent: true}},
				{Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{Type: "t", Stack: "s", Project: "p", ParentURN: "u"}}},
			ReplaceWith: urnsOf([]string{"rw"}), ReplacementTrigger: &trigger,
			Hooks: []abi.HookBinding{{Kind: abi.HookKindAfterDelete, Names: []string{"h"}}, {Kind: abi.HookKindOnError, Names: []string{"e"}}},
		},
	})
	require.NoError(t, err)
	require.EqualValues(t, noteURN, response.URN)
	require.True(t, response.State.Equal(properties("s", "t")))
	require.Equal(t, []abi.PropertyDependency{{Key: "s", URNs: urnsOf([]string{noteURN})}}, response.StateDependencies)

	got := f.last().(*pulumirpc.ConstructRequest)
	require.NotEmpty(t, got.MonitorEndpoint)
	got.MonitorEndpoint = ""
	equal(t, &pulumirpc.ConstructRequest{
		Project: "p", Stack: "dev", Organization: "o", DryRun: true, Parallel: 4, AcceptsOutputValues: true,
		Config: map[string]string{"notes:author": "a", "notes:key": "k"}, ConfigSecretKeys: []string{"notes:key"},
		Type: "notes:index:Binder", Name: "b", Parent: "parent", Inputs: fields("in", output),
		InputDependencies: map[string]*pulumirpc.ConstructRequest_PropertyDependencies{"in": {Urns: []string{noteURN}}},
		Protect:           &yes, Providers: map[string]string{"notes": "u::i"}, Dependencies: []string{"d"}, AdditionalSecretOutputs: []string{"x"},
		CustomTimeouts: &pulumirpc.ConstructRequest_CustomTimeouts{Create: "1m30s", Read: "500ms"}, DeletedWith: "w",
		DeleteBeforeReplace: &no, IgnoreChanges: []string{"i"}, ReplaceOnChanges: []string{"r"}, RetainOnDelete: &yes,
		Aliases: []*pulumirpc.Alias{
			{Alias: &pulumirpc.Alias_Urn{Urn: "old"}},
			{Alias: &pulumirpc.Alias_Spec_{Spec: &pulumirpc.Alias_Spec{Name: "n", Parent: &pulumirpc.Alias_Spec_NoParent{NoParent: true}}}},
			{Alias: &pulumirpc.Alias_Spec_{Spec: &pulumirpc.Alias_Spec{Type: "t", Stack: "s", Project: "p", Parent: &pulumirpc.Alias_Spec_ParentUrn{ParentUrn: "u"}}}},
		},
		ReplaceWith: []string{"rw"}, ReplacementTrigger: structpb.NewStringValue("t"),
		ResourceHooks: &pulumirpc.ConstructRequest_ResourceHooksBinding{AfterDelete: []string{"h"}, OnError: []string{"e"}},
	}, got)

	_, err = p.Construct(t.Context(), abi.ConstructRequest{})
	require.ErrorContains(t, err, "a component is made in a deployment only")
}

func TestTheMonitorPassesRegistrationsOn(t *testing.T) {
	yes := true
	trigger := property.String("t")
	e := &engine{}
	var answer *pulumirpc.RegisterResourceResponse
	err := construct(t, e, func(ctx context.Context, m pulumirpc.ResourceMonitorClient) (err error) {
		answer, err = m.RegisterResource(ctx, &pulumirpc.RegisterResourceRequest{
			Type: note, Name: "n", Parent: "parent", Custom: true, Object: fields("a", property.Secret(property.Unknown)), Protect: &yes,
			Dependencies: []string{"d"}, Provider: "u::i", Version: "1.0.0", PackageRef: "ref",
			PropertyDependencies: map[string]*pulumirpc.RegisterResourceRequest_PropertyDependencies{"a": {Urns: []string{"d"}}},
			DeleteBeforeReplace:  false, DeleteBeforeReplaceDefined: true, IgnoreChanges: []string{"i"}, AdditionalSecretOutputs: []string{"x"},
			AliasURNs: []string{"old"}, Aliases: []*pulumirpc.Alias{{Alias: &pulumirpc.Alias_Spec_{Spec: &pulumirpc.Alias_Spec{Name: "o"}}}},
			ImportId: "i", CustomTimeouts: &pulumirpc.RegisterResourceRequest_CustomTimeouts{Create: "1m30s"}, Remote: true,
			Providers: map[string]string{"b": "2", "a": "1"}, ReplaceOnChanges: []string{"r"}, RetainOnDelete: &yes, DeletedWith: "w",
			ReplaceWith: []string{"rw"}, ReplacementTrigger: structpb.NewStringValue("t"), HideDiffs: []string{"h"},
			Hooks:         &pulumirpc.RegisterResourceRequest_ResourceHooksBinding{BeforeUpdate: []string{"hook"}},
			AcceptSecrets: true, AcceptResources: true, SupportsPartialValues: true, SupportsResultReporting: true, PluginDownloadURL: "ignored",
		})
		return err
	})
	require.NoError(t, err)
	no := false
	got := e.asked[0].RegisterResource
	require.True(t, got.Inputs.Equal(properties("a", property.Secret(property.Unknown))))
	got.Inputs = property.Map{}
	require.Equal(t, abi.RegisterResourceRequest{
		Type: note, Name: "n", Parent: "parent", Custom: true, Remote: true,
		PropertyDependencies: []abi.PropertyDependency{{Key: "a", URNs: urnsOf([]string{"d"})}},
		Options: abi.ResourceOptions{
			Protect: &yes, Provider: "u::i", Providers: []abi.PackageProvider{{Package: "a", Reference: "1"}, {Package: "b", Reference: "2"}},
			Dependencies: urnsOf([]string{"d"}), AdditionalSecretOutputs: []string{"x"}, CustomTimeouts: abi.CustomTimeouts{Create: 90},
			DeletedWith: "w", DeleteBeforeReplace: &no, IgnoreChanges: []string{"i"}, ReplaceOnChanges: []string{"r"}, RetainOnDelete: &yes,
			Aliases:     []abi.Alias{{Case: abi.AliasCaseURN, URN: "old"}, {Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{Name: "o"}}},
			ReplaceWith: urnsOf([]string{"rw"}), ReplacementTrigger: &trigger, HideDiffs: []string{"h"}, ImportID: "i", Version: "1.0.0", PackageRef: "ref",
			Hooks: []abi.HookBinding{{Kind: abi.HookKindBeforeUpdate, Names: []string{"hook"}}},
		},
	}, got)
	equal(t, &pulumirpc.RegisterResourceResponse{
		Urn: noteURN, Id: "id-n", Object: fields("made", property.Secret(property.String("n"))),
		PropertyDependencies: map[string]*pulumirpc.RegisterResourceResponse_PropertyDependencies{"made": {Urns: []string{noteURN}}},
	}, answer)
}

func TestTheMonitorPassesOtherCallsOn(t *testing.T) {
	e := &engine{}
	err := construct(t, e, func(ctx context.Context, m pulumirpc.ResourceMonitorClient) error {
		info, err := m.GetDeploymentInfo(ctx, &emptypb.Empty{})
		require.NoError(t, err)
		require.Equal(t, "dev", info.Stack)
		require.Equal(t, []string{"notes:key"}, info.ConfigSecretKeys)
		for _, f := range info.SupportedFeatures {
			require.Contains(t, pulumirpc.ResourceMonitorFeature_name, int32(f))
		}
		require.Contains(t, info.SupportedFeatures, pulumirpc.ResourceMonitorFeature_RESOURCE_MONITOR_FEATURE_OUTPUT_VALUES)
		require.NotContains(t, info.SupportedFeatures, pulumirpc.ResourceMonitorFeature_RESOURCE_MONITOR_FEATURE_TRANSFORMS)
		for feature, has := range map[string]bool{"secrets": true, "outputValues": true, "transforms": false} {
			r, err := m.SupportsFeature(ctx, &pulumirpc.SupportsFeatureRequest{Id: feature})
			require.NoError(t, err)
			require.Equal(t, has, r.HasSupport, feature)
		}

		_, err = m.RegisterResourceOutputs(ctx, &pulumirpc.RegisterResourceOutputsRequest{Urn: noteURN, Outputs: fields("a", "b")})
		require.NoError(t, err)
		read, err := m.ReadResource(ctx, &pulumirpc.ReadResourceRequest{Id: "i", Type: note, Name: "n", Parent: "p", Properties: fields("a", "b"), Provider: "u::i"})
		require.NoError(t, err)
		equal(t, &pulumirpc.ReadResourceResponse{Urn: noteURN, Properties: fields("read", "it")}, read)
		invoked, err := m.Invoke(ctx, &pulumirpc.ResourceInvokeRequest{Tok: "t", Args: fields("a", "b"), Parent: "p", DependsOn: []string{"d"}, Version: "1.0.0"})
		require.NoError(t, err)
		equal(t, &pulumirpc.ResourceInvokeResponse{Return: fields("r", "s"), Failures: []*pulumirpc.CheckFailure{{Property: "a", Reason: "b"}}, Unknown: true}, invoked)
		called, err := m.Call(ctx, &pulumirpc.ResourceCallRequest{Tok: "t", Args: fields("a", "b"),
			ArgDependencies: map[string]*pulumirpc.ResourceCallRequest_ArgumentDependencies{"a": {Urns: []string{"d"}}}})
		require.NoError(t, err)
		equal(t, &pulumirpc.CallResponse{Return: fields("r", "s"),
			ReturnDependencies: map[string]*pulumirpc.CallResponse_ReturnDependencies{"r": {Urns: []string{noteURN}}}}, called)
		registered, err := m.RegisterPackage(ctx, &pulumirpc.RegisterPackageRequest{Name: "base", Version: "1.0.0",
			Parameterization: &pulumirpc.Parameterization{Name: "sub", Version: "2.0.0", Value: []byte("v")}})
		require.NoError(t, err)
		require.Equal(t, "ref", registered.Ref)
		_, err = m.SignalAndWaitForShutdown(ctx, &emptypb.Empty{})
		return err
	})
	require.NoError(t, err)
	require.Equal(t, []abi.RegisterPackageRequest{{Name: "base", Version: "1.0.0", Parameters: &abi.Parameters{
		Case: abi.ParametersCaseValue, Value: abi.ParameterValue{Name: "sub", Version: "2.0.0", Value: []byte("v")}}}}, e.packages)
	require.EqualValues(t, noteURN, e.asked[0].RegisterOutputs.URN)
	require.Equal(t, "i", e.asked[1].ReadResource.ID)
	require.Equal(t, "u::i", e.asked[1].ReadResource.Options.Provider)
	require.Equal(t, abi.FunctionOptions{Version: "1.0.0", Parent: "p", DependsOn: urnsOf([]string{"d"})}, e.asked[2].Invoke.Options)
	require.Equal(t, []abi.PropertyDependency{{Key: "a", URNs: urnsOf([]string{"d"})}}, e.asked[3].Call.ArgDependencies)
}

// Operations that are started together run together, and each gets its own answer.
func TestTheMonitorRunsOperationsAtOnce(t *testing.T) {
	e := &engine{together: make(chan struct{}), atOnce: 20}
	err := construct(t, e, func(ctx context.Context, m pulumirpc.ResourceMonitorClient) error {
		var calls sync.WaitGroup
		failures := make(chan error, 20)
		for i := range 20 {
			calls.Go(func() {
				name := fmt.Sprintf("n%d", i)
				r, err := m.RegisterResource(ctx, &pulumirpc.RegisterResourceRequest{Type: note, Name: name})
				if err == nil && r.Id != "id-"+name {
					err = fmt.Errorf("%s got %s", name, r.Id)
				}
				failures <- err
			})
		}
		calls.Wait()
		close(failures)
		for err := range failures {
			if err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Len(t, e.asked, 20)
}

func TestWhatTheMonitorRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		request proto.Message
		failure error
		code    codes.Code
		words   string
	}{
		"a transform": {&pulumirpc.RegisterResourceRequest{Name: "n", Transforms: []*pulumirpc.Callback{{Token: "t"}}}, nil,
			codes.Unimplemented, "n: a component in a module cannot use transforms"},
		"a callback for all": {&pulumirpc.Callback{}, nil, codes.Unimplemented, "Husk does not have"},
		"a timeout that is none": {&pulumirpc.RegisterResourceRequest{Name: "n",
			CustomTimeouts: &pulumirpc.RegisterResourceRequest_CustomTimeouts{Update: "soon"}}, nil, codes.InvalidArgument, "the timeout update of n"},
		"a failed resource": {&pulumirpc.RegisterResourceRequest{Name: "failed"}, nil, codes.Unknown, "the resource failed failed"},
		"what the engine refuses": {&pulumirpc.RegisterResourceRequest{Name: "n"}, abi.NewError(abi.ErrorKindInvalidArgument, "no such type"),
			codes.InvalidArgument, "no such type"},
		"what cannot be read": {&pulumirpc.RegisterResourceRequest{Object: &structpb.Struct{Fields: map[string]*structpb.Value{
			"v": signed("beef", map[string]*structpb.Value{})}}}, nil, codes.InvalidArgument, "the component's request cannot be read: v:"},
	} {
		t.Run(name, func(t *testing.T) {
			err := construct(t, &engine{failure: c.failure}, func(ctx context.Context, m pulumirpc.ResourceMonitorClient) (err error) {
				switch q := c.request.(type) {
				case *pulumirpc.RegisterResourceRequest:
					_, err = m.RegisterResource(ctx, q)
				case *pulumirpc.Callback:
					_, err = m.RegisterStackTransform(ctx, q)
				}
				return err
			})
			require.ErrorContains(t, err, c.words)
			require.Equal(t, abi.AsError(errorOf(status.Error(c.code, ""))).Kind, abi.AsError(err).Kind)
		})
	}
	t.Run("unless the component handles failures", func(t *testing.T) {
		err := construct(t, &engine{}, func(ctx context.Context, m pulumirpc.ResourceMonitorClient) error {
			r, err := m.RegisterResource(ctx, &pulumirpc.RegisterResourceRequest{Name: "failed", SupportsResultReporting: true})
			require.Equal(t, pulumirpc.Result_FAIL, r.GetResult())
			return err
		})
		require.NoError(t, err)
	})
}

type logged struct {
	mu      sync.Mutex
	entries []abi.LogEntry
}

func (l *logged) Write(_ context.Context, entry abi.LogEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, entry)
}

func TestLog(t *testing.T) {
	log := &logged{}
	f := &fake{}
	_, err := Provider(guest.WithLog(t.Context(), log), "notes", func(engine string) (pulumirpc.ResourceProviderServer, error) {
		f.engine = engine
		return f, nil
	})
	require.NoError(t, err)
	connection, err := dial(f.engine)
	require.NoError(t, err)
	defer connection.Close()
	client := pulumirpc.NewEngineClient(connection)
	for _, q := range []*pulumirpc.LogRequest{
		{Severity: pulumirpc.LogSeverity_DEBUG, Message: "d"}, {Severity: pulumirpc.LogSeverity_INFO, Message: "i", Urn: noteURN},
		{Severity: pulumirpc.LogSeverity_WARNING, Message: "w"}, {Severity: pulumirpc.LogSeverity_ERROR, Message: "e"},
		{Severity: pulumirpc.LogSeverity_INFO, Message: "s", Ephemeral: true},
	} {
		_, err := client.Log(t.Context(), q)
		require.NoError(t, err)
	}
	require.Equal(t, []abi.LogEntry{
		{Severity: abi.LogSeverityDebug, Message: "d"}, {Severity: abi.LogSeverityInfo, Message: "i", URN: noteURN},
		{Severity: abi.LogSeverityWarning, Message: "w"}, {Severity: abi.LogSeverityError, Message: "e"},
		{Severity: abi.LogSeverityInfo, Message: "s", Ephemeral: true},
	}, log.entries)
	root, err := client.GetRootResource(t.Context(), &pulumirpc.GetRootResourceRequest{})
	require.NoError(t, err)
	require.Empty(t, root.Urn)
}
