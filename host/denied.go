package host

import (
	"context"
	"strings"

	"github.com/husk-dev/husk/abi"
)

// Refusal is a use of a capability that no grant covers, as the grant that would.
type Refusal struct {
	// Capability is its name: http, tcp, kv.
	Capability string
	// Scope is the URL or the host and port; a store has none.
	Scope string
	// Methods are those of a URL that has a grant for other ones: with the one that was
	// refused, last. None stands for all.
	Methods []string
}

// String is the refusal as capability and scope.
func (r Refusal) String() string {
	text := strings.TrimSpace(r.Capability + " " + r.Scope)
	if len(r.Methods) > 0 {
		text += " with the methods " + strings.Join(r.Methods, ", ")
	}
	return text
}

// howToGrant is as in [Grants]: only who makes the grants knows where they come from.
type howToGrant func(Refusal) string

// denied is a refusal, with what to do so that it would not be one.
func (how howToGrant) denied(message string, r Refusal) error {
	advice := "to grant it, add to the provider's grants: " + r.String()
	if how != nil {
		advice = how(r)
	}
	return hostError(abi.ErrorKindDenied, message+"\n"+advice)
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
