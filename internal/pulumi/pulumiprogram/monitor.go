package pulumiprogram

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/internal/pulumi/pulumiwire"
)

// The features of the monitor, by their numbers in GetDeploymentInfo and their names in SupportsFeature,
// which older SDKs ask. Those above 12 have no names.
var features = []struct {
	number protoreflect.EnumNumber
	name   string
}{
	{0, "secrets"}, {1, "resourceReferences"}, {2, "outputValues"}, {3, "aliasSpecs"}, {4, "replacementTrigger"},
	{5, "deletedWith"}, {6, "replaceWith"}, {7, "transforms"}, {8, "invokeTransforms"}, {9, "parameterization"},
	{10, "resourceHooks"}, {11, "errorHooks"}, {14, ""}, {15, ""}, // invokeDependsOn, invokeParent
}

// monitor serves the program of one run.
type monitor struct {
	run     abi.RunContext
	engine  callback.Monitor
	report  func(engine.Diagnostic)
	version func(pkg, wanted string) string
	// node says that the program's runtime is Node.js, whose SDK has described aliases in another way.
	node bool
	// functions calls the program's.
	functions *callbacks

	// released ends the waiting calls of SignalAndWaitForShutdown.
	released chan struct{}
	// done is closed when the program says that it registers nothing more.
	done chan struct{}

	mu sync.Mutex
	// stack is the URN of the stack once it is registered, and root what the program says it is.
	stack urn.URN
	root  string
	// complete is set when the stack has its outputs, which SDKs set when the program has run.
	complete bool
	// errors counts the errors that the program has reported.
	errors int
	// failed is the first error of the engine which ends the program, and broken is closed with it.
	failed error
	broken chan struct{}
}

func (m *monitor) operations() methods {
	return methods{
		"/pulumirpc.ResourceMonitor/RegisterResource":             m.registerResource,
		"/pulumirpc.ResourceMonitor/RegisterResourceOutputs":      m.registerOutputs,
		"/pulumirpc.ResourceMonitor/ReadResource":                 m.readResource,
		"/pulumirpc.ResourceMonitor/ExistsResource":               m.existsResource,
		"/pulumirpc.ResourceMonitor/Invoke":                       m.invoke,
		"/pulumirpc.ResourceMonitor/Call":                         m.call,
		"/pulumirpc.ResourceMonitor/RegisterPackage":              m.registerPackage,
		"/pulumirpc.ResourceMonitor/RegisterStackTransform":       m.registerStackTransform,
		"/pulumirpc.ResourceMonitor/RegisterStackInvokeTransform": m.registerStackInvokeTransform,
		"/pulumirpc.ResourceMonitor/RegisterResourceHook":         m.registerHook,
		"/pulumirpc.ResourceMonitor/RegisterErrorHook":            m.registerErrorHook,
	}
}

func (m *monitor) notices() methods {
	return methods{
		"/pulumirpc.ResourceMonitor/GetDeploymentInfo":        m.deploymentInfo,
		"/pulumirpc.ResourceMonitor/SupportsFeature":          m.supportsFeature,
		"/pulumirpc.ResourceMonitor/SignalAndWaitForShutdown": m.signalAndWait,
		"/pulumirpc.Engine/Log":                               m.log,
		"/pulumirpc.Engine/GetRootResource":                   m.getRoot,
		"/pulumirpc.Engine/SetRootResource":                   m.setRoot,
		"/pulumirpc.Engine/StartDebugging":                    refuseDebugging,
		"/pulumirpc.Engine/RequirePulumiVersion":              requireVersion,
	}
}

func (m *monitor) deploymentInfo(_ context.Context, _, out pulumiwire.Message) error {
	out.Set("project", m.run.Project)
	out.Set("stack", m.run.Stack)
	out.Set("organization", m.run.Organization)
	out.Set("dryRun", m.run.DryRun)
	out.Set("parallel", int32(min(m.run.Parallel, 1<<30)))
	pulumiwire.SetConfig(out, m.run.Config)
	list := out.Reflect.Mutable(out.Field("supportedFeatures")).List()
	for _, f := range features {
		list.Append(protoreflect.ValueOfEnum(f.number))
	}
	return nil
}

func (m *monitor) supportsFeature(_ context.Context, in, out pulumiwire.Message) error {
	id := in.Text("id")
	for _, f := range features {
		if f.name != "" && f.name == id {
			out.Set("hasSupport", true)
		}
	}
	return nil
}

// refused returns the error for a field that means something which Husk does not have.
func refused(rpc, subject, field, instead string) error {
	return abi.NewError(abi.ErrorKindUnimplemented, fmt.Sprintf("%s of %s: husk does not support the field %s: %s", rpc, subject, field, instead))
}

// unreadable returns the error for a request that makes no sense.
func unreadable(rpc, subject string, err error) error {
	return abi.NewError(abi.ErrorKindInvalidArgument, fmt.Sprintf("%s of %s: %v", rpc, subject, err))
}

// about returns an error that names the resource. An error of a step names it already, an error of a stopped deployment belongs
// to no resource, and one with a place is about that place.
func about(subject string, err error) error {
	if _, ok := errors.AsType[source.Diagnostics](err); ok {
		return err
	}
	if _, ok := errors.AsType[*engine.StepError](err); ok || errors.Is(err, abi.ErrCancelled) {
		return err
	}
	return fmt.Errorf("%s: %w", subject, err)
}

// failing returns the error of an engine's method that ends the program. Without the code of errEnding, the
// SDK would report the failure of a step a second time.
func (m *monitor) failing(err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed == nil {
		close(m.broken)
	}
	if m.failed == nil || errors.Is(m.failed, abi.ErrCancelled) {
		m.failed = err
	}
	return errEnding
}

func (m *monitor) registerResource(ctx context.Context, in, out pulumiwire.Message) error {
	const rpc = "RegisterResource"
	subject := fmt.Sprintf("%s %q", in.Text("type"), in.Text("name"))
	switch {
	case in.Has("state_migrations"):
		return refused(rpc, subject, "state_migrations", "change the recorded state with husk state edit")
	case in.Has("snippetId"):
		return refused(rpc, subject, "snippetId", "it is part of a prototype")
	case m.node && in.Has("aliases") && !in.Bool("aliasSpecs"):
		return refused(rpc, subject, "aliases without aliasSpecs", "this SDK describes aliases in an old way: upgrade @pulumi/pulumi to 3.50 or later")
	}
	req, err := pulumiwire.Registration(in)
	if err != nil {
		return unreadable(rpc, subject, err)
	}
	req.Options.Version = m.version(pulumiwire.PackageOf(req.Type), req.Options.Version)
	transforms, err := m.transforms(in)
	if err != nil {
		return unreadable(rpc, subject, err)
	}
	resp, err := m.engine.RegisterTransformed(ctx, req, transforms...)
	if err != nil {
		return m.failing(about(subject, err))
	}
	left := m.leftOut(&resp)
	if resp.Result != abi.RegistrationResultSuccess && !in.Bool("supportsResultReporting") {
		return m.failing(fmt.Errorf("%s failed, or depends on what failed, and this SDK cannot go on without it", subject))
	}
	if req.Type == urn.RootType {
		m.mu.Lock()
		m.stack = resp.URN
		m.mu.Unlock()
	}
	resp.State = pulumiwire.Understood(resp.State, in.Bool("acceptSecrets"), in.Bool("acceptResources"))
	if !in.Bool("supportsPartialValues") {
		resp.State = pulumiwire.Known(resp.State)
	}
	pulumiwire.SetRegistered(out, resp)
	out.Set("unknown", left && req.Custom)
	return nil
}

func (m *monitor) registerOutputs(ctx context.Context, in, _ pulumiwire.Message) error {
	req, err := pulumiwire.Outputs(in)
	if err != nil {
		return unreadable("RegisterResourceOutputs", in.Text("urn"), err)
	}
	if err := m.engine.RegisterOutputs(ctx, req); err != nil {
		return m.failing(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.complete = m.complete || req.URN == m.stack
	return nil
}

func (m *monitor) readResource(ctx context.Context, in, out pulumiwire.Message) error {
	req, err := pulumiwire.Reading(in)
	if err != nil {
		return unreadable("ReadResource", fmt.Sprintf("%s %q", in.Text("type"), in.Text("name")), err)
	}
	req.Options.Version = m.version(pulumiwire.PackageOf(req.Type), req.Options.Version)
	resp, err := m.engine.Read(ctx, req)
	if err != nil {
		return m.failing(about(fmt.Sprintf("%s %q", req.Type, req.Name), err))
	}
	left := m.leftOut(&resp)
	resp.State = pulumiwire.Understood(resp.State, in.Bool("acceptSecrets"), in.Bool("acceptResources"))
	pulumiwire.SetRead(out, resp)
	out.Set("unknown", left)
	return nil
}

// leftOut reports whether targets leave out a resource. That has not failed for Pulumi: its outputs are unknown, also in an
// update.
func (m *monitor) leftOut(resp *abi.RegisterResourceResponse) bool {
	left := resp.Result == abi.RegistrationResultSkipped && m.engine.LeftOut(resp.URN)
	if left {
		resp.Result = abi.RegistrationResultSuccess
	}
	return left
}

// existsResource tells whether an object exists. Its errors are the program's, which may catch them.
func (m *monitor) existsResource(ctx context.Context, in, out pulumiwire.Message) error {
	req, err := pulumiwire.Existence(in)
	if err != nil {
		return unreadable("ExistsResource", fmt.Sprintf("%s %q", in.Text("type"), in.Text("id")), err)
	}
	req.Options.Version = m.version(pulumiwire.PackageOf(req.Type), req.Options.Version)
	exists, known, err := m.engine.Exists(ctx, req)
	if err != nil {
		return m.called(err)
	}
	out.Set("exists", exists)
	out.Set("unknown", !known)
	return nil
}

// invoke calls a function. Its errors are the program's, which may catch them.
func (m *monitor) invoke(ctx context.Context, in, out pulumiwire.Message) error {
	req, err := pulumiwire.Invocation(in)
	if err != nil {
		return unreadable("Invoke", in.Text("tok"), err)
	}
	req.Options.Version = m.version(pulumiwire.PackageOf(req.Token), req.Options.Version)
	resp, err := m.engine.Invoke(ctx, req)
	if err != nil {
		return m.called(err)
	}
	// All SDKs that ask for functions understand secrets in results.
	pulumiwire.SetResult(out, pulumiwire.Understood(resp.Result, true, in.Bool("acceptResources")), resp.Failures)
	out.Set("unknown", resp.Unknown)
	return nil
}

// called returns the error of a function, or errEnding if the deployment is stopping.
func (m *monitor) called(err error) error {
	if errors.Is(err, abi.ErrCancelled) || errors.Is(err, context.Canceled) {
		return m.failing(err)
	}
	return err
}

func (m *monitor) call(ctx context.Context, in, out pulumiwire.Message) error {
	req, err := pulumiwire.MethodCall(in)
	if err != nil {
		return unreadable("Call", in.Text("tok"), err)
	}
	req.Options.Version = m.version(pulumiwire.PackageOf(req.Token), req.Options.Version)
	resp, err := m.engine.Call(ctx, req)
	if err != nil {
		return m.called(err)
	}
	pulumiwire.SetResult(out, resp.Result.Lower(property.KindOutput), resp.Failures)
	out.SetDependencies("returnDependencies", resp.ResultDependencies)
	return nil
}

func (m *monitor) registerPackage(ctx context.Context, in, out pulumiwire.Message) error {
	req := pulumiwire.Package(in)
	req.Version = m.version(req.Name, req.Version)
	resp, err := m.engine.RegisterPackage(ctx, req)
	if err != nil {
		return err
	}
	out.Set("ref", resp.PackageRef)
	return nil
}

// signalAndWait is called when the program has registered all. It returns when nothing calls the program any more. A failed
// program must not wait: only its end counts.
func (m *monitor) signalAndWait(context.Context, pulumiwire.Message, pulumiwire.Message) error {
	m.mu.Lock()
	good := m.complete && m.errors == 0 && m.failed == nil
	if good {
		select {
		case <-m.done:
		default:
			close(m.done)
		}
	}
	m.mu.Unlock()
	if good {
		<-m.released
	}
	return nil
}

// severities are the protocol's severities.
var severities = []string{"debug", "info", "warning", "error"}

func (m *monitor) log(_ context.Context, in, _ pulumiwire.Message) error {
	n := int(in.Enum("severity"))
	if n < 0 || n >= len(severities) {
		return abi.NewError(abi.ErrorKindInvalidArgument, fmt.Sprintf("Log: there is no severity %d", n))
	}
	d := engine.Diagnostic{
		Severity: severities[n], Message: style.ReplaceAllString(strings.TrimRight(in.Text("message"), "\n"), ""),
		URN: urn.URN(in.Text("urn")), Ephemeral: in.Bool("ephemeral"),
	}
	if n == slices.Index(severities, "error") {
		m.mu.Lock()
		m.errors++
		m.mu.Unlock()
	}
	if d.Message != "" {
		m.report(d)
	}
	return nil
}

func (m *monitor) getRoot(_ context.Context, _, out pulumiwire.Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	out.Set("urn", cmp.Or(m.root, string(m.stack)))
	return nil
}

func (m *monitor) setRoot(_ context.Context, in, _ pulumiwire.Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.root = in.Text("urn")
	return nil
}

func refuseDebugging(context.Context, pulumiwire.Message, pulumiwire.Message) error {
	return abi.NewError(abi.ErrorKindUnimplemented, "StartDebugging: husk attaches no debugger to programs: start the program under one yourself, for example with NODE_OPTIONS=--inspect-brk")
}

// requireVersion refuses programs for other versions of Pulumi, as for the field requiredPulumiVersion of a project file.
func requireVersion(_ context.Context, in, _ pulumiwire.Message) error {
	if err := program.CheckPulumiVersion(in.Text("pulumi_version_range")); err != nil {
		return abi.NewError(abi.ErrorKindInvalidArgument, fmt.Sprintf("the program requires a version of Pulumi: %v", err))
	}
	return nil
}
