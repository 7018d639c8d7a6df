package pulumi

import (
	"context"
	"runtime"
	"sync"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// The features of a monitor that Husk has, by their numbers in GetDeploymentInfo and their names in
// SupportsFeature, which older SDKs ask.
var features = []struct {
	number protoreflect.EnumNumber
	name   string
}{
	{0, "secrets"}, {1, "resourceReferences"}, {2, "outputValues"}, {3, "aliasSpecs"}, {4, "replacementTrigger"},
	{5, "deletedWith"}, {6, "replaceWith"}, {9, "parameterization"}, {14, "invokeDependsOn"}, {15, "invokeParent"},
}

// monitor passes calls of a component to the engine.
type monitor struct {
	ctx    context.Context
	engine abi.Monitor
	run    abi.RunContext

	mu sync.Mutex
	// running are the operations that were started, and who waits for each.
	running map[abi.OperationHandle]chan<- outcome
}

// outcome is the result of an operation, or the reason why it is unknown.
type outcome struct {
	abi.Outcome
	err error
}

// listenForMonitor starts the resource monitor for a call with that context, which ends with it.
func listenForMonitor(ctx context.Context, run abi.RunContext) (*service, error) {
	engine := abi.MonitorFrom(ctx)
	if engine == nil {
		return nil, abi.NewError(abi.ErrorKindInvalidArgument, "a component is made in a deployment only: the call has no monitor")
	}
	m := &monitor{ctx: ctx, engine: engine, run: run, running: map[abi.OperationHandle]chan<- outcome{}}
	return listen(methods{
		"/pulumirpc.ResourceMonitor/GetDeploymentInfo":        m.deploymentInfo,
		"/pulumirpc.ResourceMonitor/SupportsFeature":          m.supportsFeature,
		"/pulumirpc.ResourceMonitor/RegisterResource":         m.registerResource,
		"/pulumirpc.ResourceMonitor/RegisterResourceOutputs":  m.registerOutputs,
		"/pulumirpc.ResourceMonitor/ReadResource":             m.readResource,
		"/pulumirpc.ResourceMonitor/Invoke":                   m.invoke,
		"/pulumirpc.ResourceMonitor/Call":                     m.call,
		"/pulumirpc.ResourceMonitor/RegisterPackage":          m.registerPackage,
		"/pulumirpc.ResourceMonitor/SignalAndWaitForShutdown": func(context.Context, message, message) error { return nil },
	})
}

// yields is how often the code that waits lets others run first. A call through gRPC passes some ten
// goroutines. Each may start an operation, which runs only beside one that is waited for if it is
// started before.
const yields = 200

// perform runs an operation. A module has one thread, and a call of the host that waits stops it. So
// operations are started without waiting, and one goroutine waits once no other has anything to do.
func (m *monitor) perform(op abi.Operation) (abi.Outcome, error) {
	ended := make(chan outcome, 1)
	m.mu.Lock()
	handle, err := m.engine.Start(m.ctx, op)
	if err != nil {
		m.mu.Unlock()
		return abi.Outcome{}, err
	}
	m.running[handle] = ended
	if len(m.running) == 1 {
		go m.wait()
	}
	m.mu.Unlock()
	o := <-ended
	if o.err == nil && o.Case == abi.OutcomeCaseFailed {
		o.err = o.Failed
	}
	return o.Outcome, o.err
}

// wait waits for operations as long as there are any.
func (m *monitor) wait() {
	for {
		for range yields {
			runtime.Gosched()
		}
		completed, err := m.engine.Wait(m.ctx)
		m.mu.Lock()
		if err != nil {
			for handle, ended := range m.running {
				ended <- outcome{err: err}
				delete(m.running, handle)
			}
		} else if ended := m.running[completed.Handle]; ended != nil {
			ended <- outcome{Outcome: completed.Outcome}
			delete(m.running, completed.Handle)
		}
		none := len(m.running) == 0
		m.mu.Unlock()
		if none {
			return
		}
	}
}

func (m *monitor) deploymentInfo(_ context.Context, _, out message) error {
	out.set("project", m.run.Project)
	out.set("stack", m.run.Stack)
	out.set("organization", m.run.Organization)
	out.set("dryRun", m.run.DryRun)
	out.set("parallel", int32(m.run.Parallel))
	setConfig(out, m.run.Config)
	if d := out.field("supportedFeatures"); d != nil {
		list := out.Mutable(d).List()
		for _, f := range features {
			list.Append(protoreflect.ValueOfEnum(f.number))
		}
	}
	return nil
}

func (m *monitor) supportsFeature(_ context.Context, in, out message) error {
	for _, f := range features {
		if f.name == in.text("id") {
			out.set("hasSupport", true)
		}
	}
	return nil
}

// refuse returns an error for fields of a request that mean something which Husk does not have.
func refuse(in message, fields ...string) error {
	for _, name := range fields {
		if d := in.Descriptor().Fields().ByName(protoreflect.Name(name)); d != nil && in.Has(d) {
			return abi.NewError(abi.ErrorKindUnimplemented, in.text("name")+": a component in a module cannot use "+name)
		}
	}
	return nil
}

func (m *monitor) registerResource(_ context.Context, in, out message) error {
	if err := refuse(in, "transforms", "envVarMappings", "state_migrations"); err != nil {
		return err
	}
	inputs, err := in.properties("object")
	if err != nil {
		return badRequest(err)
	}
	trigger, err := in.optionalValue("replacement_trigger")
	if err != nil {
		return badRequest(err)
	}
	timeouts, err := timeoutsOf(in)
	if err != nil {
		return err
	}
	options := optionsOf(in)
	options.Protect, options.RetainOnDelete = in.optionalBool("protect"), in.optionalBool("retainOnDelete")
	if in.bool("deleteBeforeReplaceDefined") || in.bool("deleteBeforeReplace") {
		b := in.bool("deleteBeforeReplace")
		options.DeleteBeforeReplace = &b
	}
	in.eachEntry("providers", func(name string, v protoreflect.Value) {
		options.Providers = append(options.Providers, abi.PackageProvider{Package: name, Reference: v.String()})
	})
	sortByKey(options.Providers, func(p abi.PackageProvider) string { return p.Package })
	options.CustomTimeouts, options.ReplacementTrigger = timeouts, trigger
	options.DeletedWith, options.ReplaceWith = urn.URN(in.text("deletedWith")), urnsOf(in.texts("replace_with"))
	options.IgnoreChanges, options.ReplaceOnChanges, options.HideDiffs = in.texts("ignoreChanges"), in.texts("replaceOnChanges"), in.texts("hideDiffs")
	options.ImportID = in.text("importId")
	for _, u := range in.texts("aliasURNs") {
		options.Aliases = append(options.Aliases, abi.Alias{Case: abi.AliasCaseURN, URN: urn.URN(u)})
	}
	for _, a := range in.messages("aliases") {
		options.Aliases = append(options.Aliases, aliasOf(a))
	}
	hooks := in.message("hooks")
	for kind, name := range hookNames {
		if names := hooks.texts(name); len(names) > 0 {
			options.Hooks = append(options.Hooks, abi.HookBinding{Kind: abi.HookKind(kind), Names: names})
		}
	}
	o, err := m.perform(abi.Operation{Case: abi.OperationCaseRegisterResource, RegisterResource: abi.RegisterResourceRequest{
		Type: in.text("type"), Name: in.text("name"), Parent: urn.URN(in.text("parent")),
		Custom: in.bool("custom"), Remote: in.bool("remote"), Inputs: inputs,
		PropertyDependencies: in.dependencies("propertyDependencies"), Options: options,
	}})
	if err != nil {
		return err
	}
	response := o.Registered
	if response.Result != abi.RegistrationResultSuccess && !in.bool("supportsResultReporting") {
		return abi.NewError(abi.ErrorKindInternal, "the resource "+in.text("name")+" failed, or depends on one that did")
	}
	out.set("urn", string(response.URN))
	out.set("id", response.ID)
	out.setProperties("object", response.State)
	out.setDependencies("propertyDependencies", response.StateDependencies)
	out.setEnum("result", protoreflect.EnumNumber(response.Result))
	return nil
}

// optionsOf returns the options that registered and read resources have.
func optionsOf(in message) abi.ResourceOptions {
	return abi.ResourceOptions{
		Provider: in.text("provider"), Version: in.text("version"), PackageRef: in.text("packageRef"),
		Dependencies:            urnsOf(in.texts("dependencies")),
		AdditionalSecretOutputs: in.texts("additionalSecretOutputs"),
	}
}

func timeoutsOf(in message) (timeouts abi.CustomTimeouts, err error) {
	given := in.message("customTimeouts")
	for name, to := range map[string]*float64{
		"create": &timeouts.Create, "update": &timeouts.Update, "delete": &timeouts.Delete, "read": &timeouts.Read,
	} {
		text := given.text(name)
		if text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			return timeouts, abi.NewError(abi.ErrorKindInvalidArgument, "the timeout "+name+" of "+in.text("name")+": "+err.Error())
		}
		*to = d.Seconds()
	}
	return timeouts, nil
}

func badRequest(err error) error {
	return abi.NewError(abi.ErrorKindInvalidArgument, "the component's request cannot be read: "+err.Error())
}

func (m *monitor) registerOutputs(_ context.Context, in, _ message) error {
	outputs, err := in.properties("outputs")
	if err != nil {
		return badRequest(err)
	}
	_, err = m.perform(abi.Operation{Case: abi.OperationCaseRegisterOutputs, RegisterOutputs: abi.RegisterOutputsRequest{
		URN: urn.URN(in.text("urn")), Outputs: outputs,
	}})
	return err
}

func (m *monitor) readResource(_ context.Context, in, out message) error {
	properties, err := in.properties("properties")
	if err != nil {
		return badRequest(err)
	}
	o, err := m.perform(abi.Operation{Case: abi.OperationCaseReadResource, ReadResource: abi.ReadResourceRequest{
		ID: in.text("id"), Type: in.text("type"), Name: in.text("name"), Parent: urn.URN(in.text("parent")),
		Properties: properties, Options: optionsOf(in),
	}})
	if err != nil {
		return err
	}
	out.set("urn", string(o.ResourceRead.URN))
	out.setProperties("properties", o.ResourceRead.State)
	return nil
}

func (m *monitor) invoke(_ context.Context, in, out message) error {
	args, err := in.properties("args")
	if err != nil {
		return badRequest(err)
	}
	options := functionOptionsOf(in)
	options.Parent, options.DependsOn = urn.URN(in.text("parent")), urnsOf(in.texts("dependsOn"))
	o, err := m.perform(abi.Operation{Case: abi.OperationCaseInvoke, Invoke: abi.MonitorInvokeRequest{
		Token: in.text("tok"), Args: args, Options: options,
	}})
	if err != nil {
		return err
	}
	setResult(out, o.Invoked.Result, o.Invoked.Failures)
	out.set("unknown", o.Invoked.Unknown)
	return nil
}

func (m *monitor) call(_ context.Context, in, out message) error {
	args, err := in.properties("args")
	if err != nil {
		return badRequest(err)
	}
	o, err := m.perform(abi.Operation{Case: abi.OperationCaseCall, Call: abi.MonitorCallRequest{
		Token: in.text("tok"), Args: args, ArgDependencies: in.dependencies("argDependencies"), Options: functionOptionsOf(in),
	}})
	if err != nil {
		return err
	}
	setResult(out, o.Called.Result, o.Called.Failures)
	out.setDependencies("returnDependencies", o.Called.ResultDependencies)
	return nil
}

func functionOptionsOf(in message) abi.FunctionOptions {
	return abi.FunctionOptions{Provider: in.text("provider"), Version: in.text("version"), PackageRef: in.text("packageRef")}
}

func setResult(out message, result property.Map, failures []abi.CheckFailure) {
	out.setProperties("return", result)
	for _, f := range failures {
		failure := out.add("failures")
		failure.set("property", f.Path)
		failure.set("reason", f.Reason)
	}
}

func (m *monitor) registerPackage(_ context.Context, in, out message) error {
	response, err := m.engine.RegisterPackage(m.ctx, abi.RegisterPackageRequest{
		Name: in.text("name"), Version: in.text("version"),
		Parameters: parametersOf(in, "parameterization"), Extension: parametersOf(in, "extension"),
	})
	if err != nil {
		return err
	}
	out.set("ref", response.PackageRef)
	return nil
}

func parametersOf(in message, field string) *abi.Parameters {
	if !in.has(field) {
		return nil
	}
	value := in.message(field)
	return &abi.Parameters{Case: abi.ParametersCaseValue, Value: abi.ParameterValue{
		Name: value.text("name"), Version: value.text("version"), Value: value.bytes("value"),
	}}
}
