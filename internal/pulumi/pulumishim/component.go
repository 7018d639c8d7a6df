package pulumishim

import (
	"context"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/internal/pulumi/pulumigrpc"
	"github.com/husk-dev/husk/internal/pulumi/pulumiwire"
)

// severities are the protocol's severities.
var severities = map[abi.LogSeverity]protoreflect.EnumNumber{
	abi.LogSeverityDebug: 0, abi.LogSeverityInfo: 1, abi.LogSeverityWarning: 2, abi.LogSeverityError: 3,
}

// construct makes a component, whose resources are registered with Pulumi's monitor.
func (s *Shim) construct(ctx context.Context, in, out pulumiwire.Message) error {
	request, address, err := pulumiwire.ReadConstruct(in)
	if err != nil {
		return abi.NewError(abi.ErrorKindInvalidArgument, err.Error())
	}
	ctx, end := s.during(ctx)
	defer end()
	m := newMonitor(ctx, address)
	defer m.close()
	response, err := s.provider.Construct(abi.WithMonitor(ctx, m), request)
	if err != nil {
		return err
	}
	response.State = asAccepted(in, response.State)
	pulumiwire.WriteConstructed(out, response)
	return nil
}

// call calls a method of a component.
func (s *Shim) call(ctx context.Context, in, out pulumiwire.Message) error {
	request, address, err := pulumiwire.ReadCall(in)
	if err != nil {
		return abi.NewError(abi.ErrorKindInvalidArgument, err.Error())
	}
	ctx, end := s.during(ctx)
	defer end()
	m := newMonitor(ctx, address)
	defer m.close()
	response, err := s.provider.Call(abi.WithMonitor(ctx, m), request)
	if err != nil {
		return err
	}
	pulumiwire.SetResult(out, asAccepted(in, response.Result), response.Failures)
	out.SetDependencies("returnDependencies", response.ResultDependencies)
	return nil
}

// asAccepted returns a result with output values only if the caller takes them. Their dependencies are in
// the response beside it, too.
func asAccepted(in pulumiwire.Message, m property.Map) property.Map {
	if in.Bool("accepts_output_values") {
		return m
	}
	return m.Lower(property.KindOutput)
}

// monitor is Pulumi's resource monitor, for one component or one call of a method.
type monitor struct {
	ctx    context.Context
	client *pulumigrpc.Client

	mu sync.Mutex
	// last is the handle of the last operation that was started, and waiting counts the ones that nobody has waited for.
	last    abi.OperationHandle
	waiting int
	ended   chan abi.Completed
}

var _ abi.Monitor = (*monitor)(nil)

func newMonitor(ctx context.Context, address string) *monitor {
	return &monitor{ctx: ctx, client: pulumigrpc.Dial(address), ended: make(chan abi.Completed)}
}

func (m *monitor) close() { m.client.Close() }

func (m *monitor) do(ctx context.Context, method string, write func(pulumiwire.Message)) (pulumiwire.Message, error) {
	in := pulumigrpc.Request(pulumigrpc.ResourceMonitor, method)
	write(in)
	return m.client.Call(ctx, pulumigrpc.ResourceMonitor, method, in)
}

func (m *monitor) RegisterResource(ctx context.Context, request abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	out, err := m.do(ctx, "RegisterResource", func(in pulumiwire.Message) { pulumiwire.WriteRegistration(in, request) })
	if err != nil {
		return abi.RegisterResourceResponse{}, err
	}
	return pulumiwire.ReadRegistered(out)
}

func (m *monitor) RegisterOutputs(ctx context.Context, request abi.RegisterOutputsRequest) error {
	_, err := m.do(ctx, "RegisterResourceOutputs", func(in pulumiwire.Message) { pulumiwire.WriteOutputs(in, request) })
	return err
}

func (m *monitor) ReadResource(ctx context.Context, request abi.ReadResourceRequest) (abi.ReadResourceResponse, error) {
	out, err := m.do(ctx, "ReadResource", func(in pulumiwire.Message) { pulumiwire.WriteReading(in, request) })
	if err != nil {
		return abi.ReadResourceResponse{}, err
	}
	return pulumiwire.ReadReading(out)
}

func (m *monitor) Invoke(ctx context.Context, request abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
	out, err := m.do(ctx, "Invoke", func(in pulumiwire.Message) { pulumiwire.WriteInvocation(in, request) })
	if err != nil {
		return abi.MonitorInvokeResponse{}, err
	}
	return pulumiwire.ReadInvocation(out)
}

func (m *monitor) Call(ctx context.Context, request abi.MonitorCallRequest) (abi.MonitorCallResponse, error) {
	out, err := m.do(ctx, "Call", func(in pulumiwire.Message) { pulumiwire.WriteMethodCall(in, request) })
	if err != nil {
		return abi.MonitorCallResponse{}, err
	}
	called, err := pulumiwire.ReadCalled(out)
	return abi.MonitorCallResponse(called), err
}

func (m *monitor) RegisterPackage(ctx context.Context, request abi.RegisterPackageRequest) (abi.RegisterPackageResponse, error) {
	name, version := request.Name, request.Version
	for _, p := range []*abi.Parameters{request.Parameters, request.Extension} {
		if p == nil {
			continue
		}
		if p.Case != abi.ParametersCaseValue {
			return abi.RegisterPackageResponse{}, abi.NewError(abi.ErrorKindUnimplemented,
				"Pulumi's monitor takes the value of an earlier parameterization, and no arguments: use the value that parameterize returns for them")
		}
		name, version = p.Value.Name, p.Value.Version
	}
	out, err := m.do(ctx, "RegisterPackage", func(in pulumiwire.Message) { pulumiwire.WritePackage(in, request) })
	return abi.RegisterPackageResponse{PackageRef: out.Text("ref"), Name: name, Version: version}, err
}

// Start begins an operation, which ends with the component's call.
func (m *monitor) Start(_ context.Context, operation abi.Operation) (abi.OperationHandle, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting++
	m.last++
	handle := m.last
	go func() {
		c := abi.Completed{Handle: handle, Outcome: abi.Perform(m.ctx, m, operation)}
		select {
		case m.ended <- c:
		case <-m.ctx.Done(): // nobody waits for it any more
		}
	}()
	return handle, nil
}

// Wait waits for the next operation that ends.
func (m *monitor) Wait(ctx context.Context) (abi.Completed, error) {
	m.mu.Lock()
	waiting := m.waiting
	m.mu.Unlock()
	if waiting == 0 {
		return abi.Completed{}, abi.NewError(abi.ErrorKindInvalidArgument, "no operation is running")
	}
	select {
	case c := <-m.ended:
		m.mu.Lock()
		m.waiting--
		m.mu.Unlock()
		return c, nil
	case <-ctx.Done():
		return abi.Completed{}, abi.AsError(ctx.Err())
	}
}
