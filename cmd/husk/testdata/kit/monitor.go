package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// useMonitor has a component do all that a monitor can, and tells what came of it.
func (k *kit) useMonitor(ctx context.Context, m abi.Monitor, own urn.URN, r abi.ConstructRequest) (property.Map, error) {
	args := property.NewMap(property.Entry{Key: "value", Value: property.String("from " + r.Name)})
	by := abi.FunctionOptions{PackageRef: r.Options.PackageRef, Parent: own}
	tell := property.Map{}

	read, err := m.ReadResource(ctx, abi.ReadResourceRequest{
		ID: "there", Type: "echo:index:Echo", Name: r.Name + "-read", Parent: own, Properties: args, Options: abi.ResourceOptions{PackageRef: by.PackageRef},
	})
	if err != nil {
		return tell, err
	}
	tell = tell.With("read", read.State.Get("value")).With("urn", property.String(string(read.URN)))

	said, err := m.Invoke(ctx, abi.MonitorInvokeRequest{Token: "echo:index:say", Args: args, Options: by})
	if err != nil {
		return tell, err
	}
	tell = tell.With("said", said.Result.Get("value"))

	answered, err := m.Call(ctx, abi.MonitorCallRequest{
		Token: "echo:index:Mirror/ask", Args: args, Options: by,
		ArgDependencies: []abi.PropertyDependency{{Key: "value", URNs: []urn.URN{own}}},
	})
	if err != nil {
		return tell, err
	}
	tell = tell.With("answered", answered.Result.Get("value")).With("from", property.String(string(answered.ResultDependencies[0].URNs[0])))

	made, err := m.RegisterPackage(ctx, abi.RegisterPackageRequest{Name: "kit", Parameters: &abi.Parameters{
		Case: abi.ParametersCaseValue, Value: abi.ParameterValue{Name: "other", Version: "2.0.0", Value: []byte(other)},
	}})
	if err != nil {
		return tell, err
	}
	tell = tell.With("package", property.String(made.Name+" "+made.Version))

	operations := []abi.Operation{
		{Case: abi.OperationCaseRegisterResource, RegisterResource: abi.RegisterResourceRequest{
			Type: "other:index:Thing", Name: r.Name + "-other", Parent: own, Custom: true, Options: abi.ResourceOptions{PackageRef: made.PackageRef},
		}},
		{Case: abi.OperationCaseReadResource, ReadResource: abi.ReadResourceRequest{
			ID: "here", Type: "other:index:Thing", Name: r.Name + "-here", Parent: own, Options: abi.ResourceOptions{PackageRef: made.PackageRef},
		}},
		{Case: abi.OperationCaseInvoke, Invoke: abi.MonitorInvokeRequest{Token: "echo:index:say", Args: args, Options: by}},
		{Case: abi.OperationCaseCall, Call: abi.MonitorCallRequest{Token: "echo:index:Mirror/ask", Args: args, Options: by}},
		{Case: abi.OperationCaseInvoke, Invoke: abi.MonitorInvokeRequest{Token: "other:index:lost", Args: args, Options: abi.FunctionOptions{Provider: "nonsense"}}},
	}
	started := map[abi.OperationHandle]bool{}
	for _, o := range operations {
		handle, err := m.Start(ctx, o)
		if err != nil {
			return tell, err
		}
		started[handle] = true
	}
	for range operations {
		done, err := m.Wait(ctx)
		if err != nil {
			return tell, err
		}
		if !started[done.Handle] {
			return tell, abi.NewError(abi.ErrorKindInternal, "what was waited for was not started, or was before")
		}
		delete(started, done.Handle)
		switch o := done.Outcome; o.Case {
		case abi.OutcomeCaseRegistered:
			tell = tell.With("registered", property.String(o.Registered.ID))
		case abi.OutcomeCaseResourceRead:
			tell = tell.With("resource-read", property.String(o.ResourceRead.URN.Name()))
		case abi.OutcomeCaseInvoked:
			tell = tell.With("invoked", o.Invoked.Result.Get("value"))
		case abi.OutcomeCaseCalled:
			tell = tell.With("called", o.Called.Result.Get("value"))
		case abi.OutcomeCaseFailed:
			tell = tell.With("failed", property.String(o.Failed.Message))
		}
	}
	return tell, nil
}

// other is the schema of the package that a component adds.
const other = `{"name": "other", "version": "2.0.0", "resources": {"other:index:Thing": {"properties": {"value": {"type": "string"}}}}}`
