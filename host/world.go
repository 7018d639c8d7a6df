package host

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/internal/base/printable"
)

// PolicyOptions says how a module is used as a policy pack.
type PolicyOptions struct {
	// Name is the caller's, for messages before its handshake.
	Name string
	// Logger takes what the pack logs and prints; nil drops it. See [LogProvider].
	Logger *slog.Logger
	// Instances bounds how many calls run at once; 0 is [DefaultInstances].
	Instances int
}

// Policy is a policy pack in use. It is an [abi.Policy], safe for concurrent use, with a pool of instances as a
// [Provider] has. It is granted nothing: it sees what it judges, and can only answer and log.
type Policy struct {
	sandbox
}

var (
	_ abi.Policy = (*Policy)(nil)
	_ io.Closer  = (*Policy)(nil)
)

// NewPolicy makes a use of a policy pack, and runs nothing. Other modules are refused with a *[WorldError].
func (m *Module) NewPolicy(ctx context.Context, options PolicyOptions) (*Policy, error) {
	p := &Policy{}
	if err := p.init(ctx, m, canon.WorldPolicy, options.Name, Grants{}, nil, options.Logger, options.Instances); err != nil {
		return nil, err
	}
	if err := m.host.made(p); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close ends the pack: calls that are running are stopped, and fail.
func (p *Policy) Close() error {
	return p.endUse(p)
}

// Handshake asks the module who it is and which policies it has.
func (p *Policy) Handshake(ctx context.Context, request abi.PolicyHandshakeRequest) (abi.PolicyHandshakeResponse, error) {
	response, err := establish(ctx, &p.sandbox, abi.MethodHandshake, true, request, judging(abi.Policy.Handshake))
	if err != nil {
		return response, err
	}
	if err := p.introduce(&response.Name, &response.Version, &response.SDK); err != nil {
		return abi.PolicyHandshakeResponse{}, err
	}
	for i := range response.Rules {
		r := &response.Rules[i]
		r.Name, r.Description = printable.Line(r.Name), printable.Text(r.Description)
	}
	return response, nil
}

// Configure configures all instances.
func (p *Policy) Configure(ctx context.Context, request abi.PolicyConfigureRequest) error {
	_, err := establish(ctx, &p.sandbox, abi.MethodConfigure, true, request, answerless(func(g *canon.Guest, ctx context.Context, r abi.PolicyConfigureRequest) error {
		return g.Policy().Configure(ctx, r)
	}))
	return err
}

// Remediate corrects the inputs of a resource.
func (p *Policy) Remediate(ctx context.Context, request abi.PolicyRemediateRequest) (abi.PolicyRemediateResponse, error) {
	response, err := call(ctx, &p.sandbox, abi.MethodRemediate, request, judging(abi.Policy.Remediate))
	for i := range response.Remediations {
		r := &response.Remediations[i]
		r.Rule, r.Message = printable.Line(r.Rule), printable.Text(r.Message)
	}
	return response, err
}

// Analyze judges a resource.
func (p *Policy) Analyze(ctx context.Context, request abi.PolicyAnalyzeRequest) (abi.PolicyAnalyzeResponse, error) {
	response, err := call(ctx, &p.sandbox, abi.MethodAnalyze, request, judging(abi.Policy.Analyze))
	return printableViolations(response), err
}

// AnalyzeStack judges all resources together.
func (p *Policy) AnalyzeStack(ctx context.Context, request abi.PolicyAnalyzeStackRequest) (abi.PolicyAnalyzeResponse, error) {
	response, err := call(ctx, &p.sandbox, abi.MethodAnalyzeStack, request, judging(abi.Policy.AnalyzeStack))
	return printableViolations(response), err
}

// Cancel tells running calls to stop, and has idle instances release what they hold. The pack stays usable.
func (p *Policy) Cancel(ctx context.Context) error {
	return p.cancelAll(ctx, func(g *canon.Guest, ctx context.Context) error { return g.Policy().Cancel(ctx) })
}

// judging makes a method of policy packs into one of guests.
func judging[Q, R any](do func(abi.Policy, context.Context, Q) (R, error)) func(*canon.Guest, context.Context, Q) (R, error) {
	return func(g *canon.Guest, ctx context.Context, request Q) (R, error) { return do(g.Policy(), ctx, request) }
}

func printableViolations(response abi.PolicyAnalyzeResponse) abi.PolicyAnalyzeResponse {
	for i := range response.Violations {
		v := &response.Violations[i]
		v.Rule, v.Message, v.Path = printable.Line(v.Rule), printable.Text(v.Message), printable.Line(v.Path)
	}
	return response
}

// Program is a program in use. It is an [abi.Program], whose guest gets the monitor in the context of Run, see
// [abi.WithMonitor]. It is granted nothing: it can register resources, and log.
type Program struct {
	sandbox
}

var (
	_ abi.Program = (*Program)(nil)
	_ io.Closer   = (*Program)(nil)
)

// NewProgram makes a use of a program, and runs nothing. The name is the caller's, for messages. Logger takes what the program
// logs and prints; nil drops it. Other modules are refused with a *[WorldError].
func (m *Module) NewProgram(ctx context.Context, name string, logger *slog.Logger) (*Program, error) {
	p := &Program{}
	if err := p.init(ctx, m, canon.WorldProgram, name, Grants{}, nil, logger, 1); err != nil {
		return nil, err
	}
	if err := m.host.made(p); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close ends the program: a call that is running is stopped, and fails.
func (p *Program) Close() error {
	return p.endUse(p)
}

// Run has the program register the resources of a stack. Each call has an instance of its own.
func (p *Program) Run(ctx context.Context, request abi.ProgramRunRequest) (abi.ProgramRunResponse, error) {
	i, err := p.take(ctx, abi.MethodRun)
	if err != nil {
		return abi.ProgramRunResponse{}, err
	}
	defer p.put(i)
	i.spoiled = true // the next run starts anew
	var response abi.ProgramRunResponse
	err = i.run(ctx, abi.MethodRun, func(ctx context.Context, guest *canon.Guest) (err error) {
		response, err = guest.Program().Run(ctx, request)
		return err
	})
	return response, err
}
