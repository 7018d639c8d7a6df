package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/host/internal/answers"
)

// setup has the steps that set instances up. It grows, or a step is replaced: then older generations are useless.
type setup struct {
	// changing serializes the calls that change the setup.
	changing sync.Mutex

	mu    sync.Mutex
	state setupState
}

// setupState is the setup at one moment. Its steps are not changed.
type setupState struct {
	generation int
	steps      []setupStep
}

// setupStep is one call that every instance gets.
type setupStep struct {
	method abi.Method
	// once is false for a step that adds to earlier ones of its method.
	once bool
	do   func(context.Context, *canon.Guest) error
	// assets are the assets passed to the step, which its repetitions get too.
	assets abi.AssetOpener
	// lazyStep is nil for a step that an instance did when it was established.
	lazyStep *lazyStep
}

func (s *setup) current() setupState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

func (s *setup) set(state setupState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = state
}

// with returns the setup with one more step, or with that step in place of an earlier one, and its index.
func (s setupState) with(step setupStep) (setupState, int) {
	steps := slices.Clone(s.steps)
	if step.once {
		at := slices.IndexFunc(steps, func(other setupStep) bool { return other.once && other.method == step.method })
		if at >= 0 {
			steps[at] = step
			return setupState{s.generation + 1, steps}, at
		}
	}
	return setupState{s.generation, append(steps, step)}, len(steps)
}

// establish does a step of the setup in one instance, and records it for all others if it succeeds.
func establish[Q, R any](ctx context.Context, s *sandbox, method abi.Method, once bool, request Q,
	do func(*canon.Guest, context.Context, Q) (R, error),
) (response R, err error) {
	s.setup.changing.Lock()
	defer s.setup.changing.Unlock()
	step := setupStep{method: method, once: once, assets: abi.AssetsFrom(ctx)}
	step.do = func(ctx context.Context, guest *canon.Guest) error {
		_, err := do(guest, ctx, request)
		return err
	}
	state, at := s.setup.current().with(step)
	if len(state.steps) > maxSetup {
		return response, s.fail(method, abi.ErrorKindInvalidArgument,
			fmt.Sprintf("it was set up %d times already", maxSetup))
	}
	// The instance gets the setup before the step, and nothing else.
	i, err := s.takeWith(ctx, method, setupState{state.generation, state.steps[:at]})
	if err != nil {
		return response, err
	}
	err = i.run(ctx, method, func(ctx context.Context, guest *canon.Guest) error {
		response, err = do(guest, ctx, request)
		return err
	})
	if err != nil {
		var none R
		response = none
		i.spoiled = true // it may be set up in part
	} else {
		i.applied = at + 1
		s.setup.set(state)
	}
	s.put(i)
	return response, err
}

// A provider whose schema permits it is not run before something needs it. The host answers its handshake
// from the cache and notes its configuration. Both become steps of the setup for the first instance. An
// update without changes, whose Checks and Diffs the schema answers, does not even load the module.

// lazyStep is a step of the setup that was answered before any instance did it.
type lazyStep struct{ done atomic.Bool }

// first reports whether no instance has done the step yet.
func (s setupStep) first() bool { return s.lazyStep != nil && !s.lazyStep.done.Load() }

// untouched reports whether no instance has been needed so far.
func (s setupState) untouched() bool {
	for _, step := range s.steps {
		if !step.first() {
			return false
		}
	}
	return true
}

// postpone adds a step to the setup of a provider without an instance. False: do the step now.
func (p *Provider) postpone(ctx context.Context, step setupStep) bool {
	if !p.mayAnswer(ctx) {
		return false
	}
	step.once, step.assets, step.lazyStep = true, abi.AssetsFrom(ctx), &lazyStep{}
	p.setup.changing.Lock()
	defer p.setup.changing.Unlock()
	before := p.setup.current()
	state, _ := before.with(step)
	if !before.untouched() || len(state.steps) > maxSetup {
		return false
	}
	p.setup.set(state)
	return true
}

// deferHandshake returns a handshake that the module has answered before.
func (p *Provider) deferHandshake(ctx context.Context, request abi.HandshakeRequest) (abi.HandshakeResponse, bool) {
	if p.lenient || !p.isItself() {
		return abi.HandshakeResponse{}, false
	}
	response, known := p.module.facts.Handshake(request)
	if !known {
		return response, false
	}
	return response, p.postpone(ctx, setupStep{method: abi.MethodHandshake, do: repeatHandshake(request, response)})
}

// repeatHandshake has an instance shake hands as another one did.
func repeatHandshake(request abi.HandshakeRequest, response abi.HandshakeResponse) func(context.Context, *canon.Guest) error {
	return func(ctx context.Context, guest *canon.Guest) error {
		now, err := guest.Handshake(ctx, request)
		if err == nil && !answers.SameHandshake(now, response) {
			err = abi.NewError(abi.ErrorKindInternal,
				"the provider broke the contract: it answers the handshake in another way than before, though its schema says that it does not")
		}
		return err
	}
}

// deferConfigure notes a configuration that the provider would take, unless the schema says that it ignores it.
func (p *Provider) deferConfigure(ctx context.Context, request abi.ConfigureRequest) bool {
	if !p.setup.current().untouched() && !p.packages.Find("").Asked() {
		return false // the schema comes too late
	}
	if p.lenient {
		return false
	}
	pkg := p.packages.Package(ctx, p.asker(), "")
	if pkg == nil || !pkg.SchemaConfigure && (!pkg.Deferred || request.Inputs.ContainsUnknowns()) || !p.mayAnswer(ctx) ||
		len(pkg.Config.Missing(request.Inputs)) > 0 ||
		!answers.AreTexts(string(request.URN), request.Name, request.Type, request.ID) || !answers.Encodable(request.Inputs, p.module.host.config.limits.RequestBytes) {
		return false
	}
	if pkg.SchemaConfigure {
		p.counters.answeredBySchema(abi.MethodConfigure)
		return true
	}
	return p.postpone(ctx, setupStep{method: abi.MethodConfigure, do: func(ctx context.Context, guest *canon.Guest) error {
		if err := guest.Configure(ctx, request); !errors.Is(err, abi.ErrUnimplemented) {
			return err
		}
		return nil // it needs none
	}})
}

// late completes the error of a step that was deferred until a method needed it.
func late(err error, method abi.Method) error {
	failed, ok := errors.AsType[*abi.Error](err)
	if !ok {
		return err
	}
	e := *failed
	e.Message = "this was not asked before " + string(method) + " needed it: " + e.Message
	return &e
}
