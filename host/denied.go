package host

import (
	"context"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/abi"
)

// denied is a refusal, and the entry under the capability's name by which an operator
// would change it.
func denied(message, capability, entry string) error {
	return hostError(abi.ErrorKindDenied, message+
		"\nto grant it, add to this provider's entry under plugins.providers in the project file:\n"+
		"  grants:\n    "+capability+":\n      - "+entry)
}

// yamlText is a text as YAML has it where it could be taken for something else.
func yamlText(text string) string {
	if strings.HasPrefix(text, "*") || strings.HasPrefix(text, "[") {
		return strconv.Quote(text)
	}
	return text
}

// deniedMonitor answers outside of calls that may use the monitor.
type deniedMonitor struct{}

func (d deniedMonitor) refuse() error {
	return hostError(abi.ErrorKindDenied, "the monitor can be used only while a component is constructed or called")
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
