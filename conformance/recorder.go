package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// previewContext is the deployment of components and methods under test. Only a preview can register
// resources of packages that do not exist.
var previewContext = abi.RunContext{Project: "conformance", Stack: "test", Organization: "organization", DryRun: true}

// recorder is a monitor that behaves as the engine in a preview: the outputs of a registered resource
// are its inputs, and all else is unknown.
type recorder struct {
	mu         sync.Mutex
	registered []abi.RegisterResourceRequest
	outputs    []abi.RegisterOutputsRequest
	last       abi.OperationHandle
	completed  []abi.Completed
}

var _ abi.Monitor = (*recorder)(nil)

func newRecorder() *recorder { return &recorder{} }

func registeredURN(request abi.RegisterResourceRequest) urn.URN {
	return urn.New("test", "conformance", request.Parent, request.Type, request.Name)
}

func (m *recorder) RegisterResource(_ context.Context, request abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.registered = append(m.registered, request)
	response := abi.RegisterResourceResponse{URN: registeredURN(request)}
	if request.Custom {
		response.State = request.Inputs
	}
	return response, nil
}

func (m *recorder) RegisterOutputs(_ context.Context, request abi.RegisterOutputsRequest) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.outputs = append(m.outputs, request)
	return nil
}

func (m *recorder) ReadResource(_ context.Context, request abi.ReadResourceRequest) (abi.ReadResourceResponse, error) {
	return abi.ReadResourceResponse{
		URN:   urn.New("test", "conformance", request.Parent, request.Type, request.Name),
		State: request.Properties,
	}, nil
}

func (m *recorder) Invoke(context.Context, abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
	return abi.MonitorInvokeResponse{Unknown: true}, nil
}

func (m *recorder) Call(context.Context, abi.MonitorCallRequest) (abi.MonitorCallResponse, error) {
	return abi.MonitorCallResponse{}, nil
}

func (m *recorder) RegisterPackage(_ context.Context, request abi.RegisterPackageRequest) (abi.RegisterPackageResponse, error) {
	return abi.RegisterPackageResponse{PackageRef: request.Name + "@" + request.Version, Name: request.Name, Version: request.Version}, nil
}

// Start runs the operation at once. Wait returns its outcome.
func (m *recorder) Start(ctx context.Context, o abi.Operation) (abi.OperationHandle, error) {
	outcome := abi.Perform(ctx, m, o)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last++
	m.completed = append(m.completed, abi.Completed{Handle: m.last, Outcome: outcome})
	return m.last, nil
}

func (m *recorder) Wait(context.Context) (abi.Completed, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.completed) == 0 {
		return abi.Completed{}, abi.NewError(abi.ErrorKindInvalidArgument, "no operation was started that could end")
	}
	next := m.completed[0]
	m.completed = m.completed[1:]
	return next, nil
}

// texts returns the registrations as sorted text, because independent ones come in any order.
func (m *recorder) texts() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	texts := make([]string, len(m.registered))
	for i, r := range m.registered {
		texts[i] = fmt.Sprintf("%s of %s", registeredURN(r), property.Object(r.Inputs))
	}
	slices.SortFunc(texts, strings.Compare)
	return texts
}
