package pulumiplugin

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/internal/pulumi/pulumigrpc"
	"github.com/husk-dev/husk/internal/pulumi/pulumiwire"
)

// Construct makes a component. The plugin reaches the engine at an address, which is there during the call.
func (p *Plugin) Construct(ctx context.Context, request abi.ConstructRequest) (abi.ConstructResponse, error) {
	if err := p.decided(); err != nil {
		return abi.ConstructResponse{}, err
	}
	m, err := p.listenForMonitor(ctx, request.Context)
	if err != nil {
		return abi.ConstructResponse{}, err
	}
	defer m.Close()
	request.Inputs = p.lowerComponent(request.Inputs)
	out, err := p.call(ctx, "Construct", func(in pulumiwire.Message) { pulumiwire.WriteConstruct(in, request, m.Address) })
	return answered("Construct", out, err, pulumiwire.ReadConstructed)
}

// Call calls a method of a component.
func (p *Plugin) Call(ctx context.Context, request abi.CallRequest) (abi.CallResponse, error) {
	if err := p.decided(); err != nil {
		return abi.CallResponse{}, err
	}
	m, err := p.listenForMonitor(ctx, request.Context)
	if err != nil {
		return abi.CallResponse{}, err
	}
	defer m.Close()
	asked := request
	asked.Args = p.lowerArgs(request.Args)
	out, err := p.call(ctx, "Call", func(in pulumiwire.Message) { pulumiwire.WriteCall(in, asked, m.Address) })
	response, err := answered("Call", out, err, pulumiwire.ReadCalled)
	response.Result = p.markAll(response.Result, request.Args)
	return response, err
}

// features are the features of the monitor that components may use, by their numbers in GetDeploymentInfo and their names in
// SupportsFeature, which older SDKs ask.
var features = []struct {
	number protoreflect.EnumNumber
	name   string
}{
	{0, "secrets"}, {1, "resourceReferences"}, {2, "outputValues"}, {3, "aliasSpecs"}, {4, "replacementTrigger"},
	{5, "deletedWith"}, {6, "replaceWith"}, {9, "parameterization"}, {14, "invokeDependsOn"}, {15, "invokeParent"},
}

// monitor passes calls of a component to the engine. They run in the context of the component's call.
type monitor struct {
	ctx    context.Context
	engine abi.Monitor
	run    abi.RunContext
	wanted func(pkg, wanted string) string
}

// listenForMonitor starts the resource monitor for a call with that context.
func (p *Plugin) listenForMonitor(ctx context.Context, run abi.RunContext) (*pulumigrpc.Server, error) {
	engine := abi.MonitorFrom(ctx)
	if engine == nil {
		return nil, abi.NewError(abi.ErrorKindInvalidArgument, "a component is made in a deployment only: the call has no monitor")
	}
	m := &monitor{ctx: ctx, engine: engine, run: run, wanted: p.wanted}
	s, err := pulumigrpc.Listen(0)
	if err != nil {
		return nil, fmt.Errorf("listening for calls of a component: %w", err)
	}
	s.Serve(pulumigrpc.ResourceMonitor, map[string]pulumigrpc.Method{
		"GetDeploymentInfo":        m.deploymentInfo,
		"SupportsFeature":          m.supportsFeature,
		"RegisterResource":         m.registerResource,
		"RegisterResourceOutputs":  m.registerOutputs,
		"ReadResource":             m.readResource,
		"Invoke":                   m.invoke,
		"Call":                     m.call,
		"RegisterPackage":          m.registerPackage,
		"SignalAndWaitForShutdown": func(context.Context, pulumiwire.Message, pulumiwire.Message) error { return nil },
	})
	return s, nil
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
	for _, f := range features {
		if f.name == in.Text("id") {
			out.Set("hasSupport", true)
		}
	}
	return nil
}

func badRequest(err error) error {
	return abi.NewError(abi.ErrorKindInvalidArgument, "the component's request cannot be read: "+err.Error())
}

func (m *monitor) registerResource(_ context.Context, in, out pulumiwire.Message) error {
	for _, name := range []string{"transforms", "state_migrations", "snippetId"} {
		if in.Has(name) {
			return abi.NewError(abi.ErrorKindUnimplemented, in.Text("name")+": a component of a native plugin cannot use "+name)
		}
	}
	request, err := pulumiwire.Registration(in)
	if err != nil {
		return badRequest(err)
	}
	request.Options.Version = m.wanted(pulumiwire.PackageOf(request.Type), request.Options.Version)
	response, err := m.engine.RegisterResource(m.ctx, request)
	if err != nil {
		return err
	}
	if response.Result != abi.RegistrationResultSuccess && !in.Bool("supportsResultReporting") {
		return abi.NewError(abi.ErrorKindInternal, "the resource "+request.Name+" failed, or depends on one that did")
	}
	response.State = pulumiwire.Understood(response.State, in.Bool("acceptSecrets"), in.Bool("acceptResources"))
	if !in.Bool("supportsPartialValues") {
		response.State = pulumiwire.Known(response.State)
	}
	pulumiwire.SetRegistered(out, response)
	return nil
}

func (m *monitor) registerOutputs(_ context.Context, in, _ pulumiwire.Message) error {
	request, err := pulumiwire.Outputs(in)
	if err != nil {
		return badRequest(err)
	}
	return m.engine.RegisterOutputs(m.ctx, request)
}

func (m *monitor) readResource(_ context.Context, in, out pulumiwire.Message) error {
	request, err := pulumiwire.Reading(in)
	if err != nil {
		return badRequest(err)
	}
	request.Options.Version = m.wanted(pulumiwire.PackageOf(request.Type), request.Options.Version)
	response, err := m.engine.ReadResource(m.ctx, request)
	if err != nil {
		return err
	}
	out.Set("urn", string(response.URN))
	out.SetProperties("properties", pulumiwire.Understood(response.State, in.Bool("acceptSecrets"), in.Bool("acceptResources")))
	return nil
}

func (m *monitor) invoke(_ context.Context, in, out pulumiwire.Message) error {
	request, err := pulumiwire.Invocation(in)
	if err != nil {
		return badRequest(err)
	}
	request.Options.Version = m.wanted(pulumiwire.PackageOf(request.Token), request.Options.Version)
	response, err := m.engine.Invoke(m.ctx, request)
	if err != nil {
		return err
	}
	pulumiwire.SetResult(out, pulumiwire.Understood(response.Result, true, in.Bool("acceptResources")), response.Failures)
	out.Set("unknown", response.Unknown)
	return nil
}

func (m *monitor) call(_ context.Context, in, out pulumiwire.Message) error {
	request, err := pulumiwire.MethodCall(in)
	if err != nil {
		return badRequest(err)
	}
	request.Options.Version = m.wanted(pulumiwire.PackageOf(request.Token), request.Options.Version)
	response, err := m.engine.Call(m.ctx, request)
	if err != nil {
		return err
	}
	pulumiwire.SetResult(out, response.Result.Lower(property.KindOutput), response.Failures)
	out.SetDependencies("returnDependencies", response.ResultDependencies)
	return nil
}

func (m *monitor) registerPackage(_ context.Context, in, out pulumiwire.Message) error {
	request := pulumiwire.Package(in)
	request.Version = m.wanted(request.Name, request.Version)
	response, err := m.engine.RegisterPackage(m.ctx, request)
	if err != nil {
		return err
	}
	out.Set("ref", response.PackageRef)
	return nil
}
