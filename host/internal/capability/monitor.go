package capability

import (
	"context"

	"github.com/husk-dev/husk/abi"
)

// DeniedMonitor refuses outside of calls that may use the monitor.
type DeniedMonitor struct{}

func (d DeniedMonitor) refuse() error {
	return Failure(abi.ErrorKindDenied, "the monitor can be used only while a component is constructed or called")
}

func (d DeniedMonitor) RegisterResource(context.Context, abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	return abi.RegisterResourceResponse{}, d.refuse()
}

func (d DeniedMonitor) RegisterOutputs(context.Context, abi.RegisterOutputsRequest) error {
	return d.refuse()
}

func (d DeniedMonitor) ReadResource(context.Context, abi.ReadResourceRequest) (abi.ReadResourceResponse, error) {
	return abi.ReadResourceResponse{}, d.refuse()
}

func (d DeniedMonitor) Invoke(context.Context, abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
	return abi.MonitorInvokeResponse{}, d.refuse()
}

func (d DeniedMonitor) Call(context.Context, abi.MonitorCallRequest) (abi.MonitorCallResponse, error) {
	return abi.MonitorCallResponse{}, d.refuse()
}

func (d DeniedMonitor) RegisterPackage(context.Context, abi.RegisterPackageRequest) (abi.RegisterPackageResponse, error) {
	return abi.RegisterPackageResponse{}, d.refuse()
}

func (d DeniedMonitor) Start(context.Context, abi.Operation) (abi.OperationHandle, error) {
	return 0, d.refuse()
}

func (d DeniedMonitor) Wait(context.Context) (abi.Completed, error) {
	return abi.Completed{}, d.refuse()
}
