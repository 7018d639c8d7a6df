package host

import (
	"context"

	"github.com/husk-dev/husk/abi"
)

// refusals makes the answers of capabilities that a provider was not granted.
type refusals struct{ provider *Provider }

func (r refusals) because(message string) error {
	return &abi.Error{Kind: abi.ErrorKindDenied, Origin: abi.ErrorOriginHost, Message: message}
}

type deniedTCP struct{ refusals }

func (d deniedTCP) Connect(_ context.Context, r abi.TCPConnectRequest) (abi.TCPConnection, error) {
	return 0, d.because("the provider may not connect to " + printable(r.Host) + ": nothing under its grants: tcp allows it")
}

func (d deniedTCP) Read(context.Context, abi.TCPConnection, uint32, bool) ([]byte, error) {
	return nil, d.noConnection()
}

func (d deniedTCP) Write(context.Context, abi.TCPConnection, []byte) (uint32, error) {
	return 0, d.noConnection()
}

func (d deniedTCP) CloseWrite(context.Context, abi.TCPConnection) error { return d.noConnection() }

func (deniedTCP) Close(context.Context, abi.TCPConnection) {}

func (d deniedTCP) noConnection() error {
	return d.because("there is no connection: nothing under the provider's grants: tcp allows one")
}

type deniedKV struct{ refusals }

func (d deniedKV) refuse() error {
	return d.because("the provider is not granted a store: add grants: kv")
}

func (d deniedKV) Get(context.Context, string) (abi.KVItem, error) { return abi.KVItem{}, d.refuse() }

func (d deniedKV) Put(context.Context, string, *[]byte, uint64) (uint64, error) {
	return 0, d.refuse()
}

func (d deniedKV) Keys(context.Context, string, string, uint32) ([]string, error) {
	return nil, d.refuse()
}

// deniedMonitor answers outside of calls that may use the monitor.
type deniedMonitor struct{ refusals }

func (d deniedMonitor) refuse() error {
	return d.because("the monitor can be used only while a component is constructed or called")
}

func (d deniedMonitor) RegisterResource(context.Context, abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	return abi.RegisterResourceResponse{}, d.refuse()
}

func (d deniedMonitor) RegisterOutputs(context.Context, abi.RegisterOutputsRequest) error {
	return d.refuse()
}

func (d deniedMonitor) ReadResource(context.Context, abi.ReadResourceRequest) (abi.ReadResourceResponse, error) {
	return abi.ReadResourceResponse{}, d.refuse()
}

func (d deniedMonitor) Invoke(context.Context, abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
	return abi.MonitorInvokeResponse{}, d.refuse()
}

func (d deniedMonitor) Call(context.Context, abi.MonitorCallRequest) (abi.MonitorCallResponse, error) {
	return abi.MonitorCallResponse{}, d.refuse()
}

func (d deniedMonitor) RegisterPackage(context.Context, abi.RegisterPackageRequest) (abi.RegisterPackageResponse, error) {
	return abi.RegisterPackageResponse{}, d.refuse()
}

func (d deniedMonitor) Start(context.Context, abi.Operation) (abi.OperationHandle, error) {
	return 0, d.refuse()
}

func (d deniedMonitor) Wait(context.Context) (abi.Completed, error) {
	return abi.Completed{}, d.refuse()
}
