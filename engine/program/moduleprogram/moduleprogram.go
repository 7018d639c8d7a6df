// Package moduleprogram runs programs that are WebAssembly modules of the world husk:program, as programs of the engine.
package moduleprogram

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
)

// Program is the program of a project whose runtime is [program.RuntimeWASM].
type Program struct {
	project *program.Project
	open    func(context.Context) (abi.Program, error)
	stop    func() <-chan struct{}
}

// New returns the program of a project. open returns its module, for each run. stop returns a channel that is closed when the
// deployment is to end; if stop is nil, nothing stops the deployment.
func New(project *program.Project, open func(context.Context) (abi.Program, error), stop func() <-chan struct{}) *Program {
	return &Program{project: project, open: open, stop: stop}
}

// Run registers the stack, has the module register its resources, and registers the outputs of the stack. If the deployment is
// to end, it ends the module, whose operations go on.
func (p *Program) Run(ctx context.Context, run abi.RunContext, m abi.Monitor) (err error) {
	if run.Config, err = p.project.DeclaredConfig(run); err != nil {
		return err
	}
	module, err := p.open(ctx)
	if err != nil {
		return err
	}
	root, err := m.RegisterResource(ctx, abi.RegisterResourceRequest{Type: urn.RootType, Name: run.Project + "-" + run.Stack})
	if err != nil {
		return fmt.Errorf("register the stack: %w", err)
	}
	guest, end := context.WithCancel(ctx)
	defer end()
	if p.stop != nil {
		stop := p.stop()
		go func() {
			select {
			case <-stop:
				end()
			case <-guest.Done():
			}
		}()
	}
	operations := &monitor{Monitor: m, ctx: ctx}
	response, err := module.Run(abi.WithMonitor(guest, operations), abi.ProgramRunRequest{Engine: "husk", Context: run, Stack: root.URN})
	operations.running.Wait()
	if err != nil {
		return p.failed(ctx, err)
	}
	if err := m.RegisterOutputs(ctx, abi.RegisterOutputsRequest{URN: root.URN, Outputs: response.Outputs}); err != nil {
		return fmt.Errorf("register the stack's outputs: %w", err)
	}
	return nil
}

// failed returns the error of a module that has not registered all. What the program said itself is shown as it said it.
func (p *Program) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, abi.ErrCancelled) {
		return err
	}
	e := *abi.AsError(err)
	e.Provider, e.Version, e.Method = "", "", ""
	d := p.project.File.Errorf(p.project.MainPosition, "the program failed: %v", &e)
	d.Cause = err
	return source.Diagnostics{d}
}

// monitor is the monitor of a module. Its operations go on when the module is ended. The engine waits for those that were started,
// and Run for the others.
type monitor struct {
	abi.Monitor
	ctx     context.Context
	running sync.WaitGroup
}

func (m *monitor) RegisterResource(_ context.Context, r abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	return perform(m, m.Monitor.RegisterResource, r)
}

func (m *monitor) RegisterOutputs(_ context.Context, r abi.RegisterOutputsRequest) error {
	_, err := perform(m, func(ctx context.Context, r abi.RegisterOutputsRequest) (struct{}, error) {
		return struct{}{}, m.Monitor.RegisterOutputs(ctx, r)
	}, r)
	return err
}

func (m *monitor) ReadResource(_ context.Context, r abi.ReadResourceRequest) (abi.ReadResourceResponse, error) {
	return perform(m, m.Monitor.ReadResource, r)
}

func (m *monitor) Invoke(_ context.Context, r abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
	return perform(m, m.Monitor.Invoke, r)
}

func (m *monitor) Call(_ context.Context, r abi.MonitorCallRequest) (abi.MonitorCallResponse, error) {
	return perform(m, m.Monitor.Call, r)
}

func (m *monitor) RegisterPackage(_ context.Context, r abi.RegisterPackageRequest) (abi.RegisterPackageResponse, error) {
	return perform(m, m.Monitor.RegisterPackage, r)
}

// Start begins an operation.
func (m *monitor) Start(_ context.Context, op abi.Operation) (abi.OperationHandle, error) {
	return m.Monitor.Start(m.ctx, op)
}

func perform[Q, R any](m *monitor, do func(context.Context, Q) (R, error), request Q) (R, error) {
	m.running.Add(1)
	defer m.running.Done()
	return do(m.ctx, request)
}
