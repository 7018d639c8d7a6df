package host

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/host/internal/answers"
)

// A provider that says so in its schema is not run before something needs it. Its handshake
// is answered with what the module has said before, and its configuration is noted; both
// become steps of the setup that the first instance does like any other. An update without
// changes, whose Checks and Diffs the schema answers, needs no instance, and the module is
// not even loaded.

// deferral is a step of the setup that no instance has done when its caller was answered.
type deferral struct{ done atomic.Bool }

// first reports whether no instance has done the step yet.
func (s setupStep) first() bool { return s.deferral != nil && !s.deferral.done.Load() }

// untouched reports whether no instance has been needed so far. One that has been started may
// as well be asked.
func (s setupState) untouched() bool {
	for _, step := range s.steps {
		if !step.first() {
			return false
		}
	}
	return true
}

// postpone adds a step to the setup of a provider that has no instance. False: the step is to
// be done now.
func (p *Provider) postpone(ctx context.Context, step setupStep) bool {
	if !p.mayAnswer(ctx) {
		return false
	}
	step.once, step.assets, step.deferral = true, abi.AssetsFrom(ctx), &deferral{}
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

// deferHandshake answers a handshake that the module has answered before.
func (p *Provider) deferHandshake(ctx context.Context, request abi.HandshakeRequest) (abi.HandshakeResponse, bool) {
	if p.lenient || p.askGuest || !p.isItself() {
		return abi.HandshakeResponse{}, false
	}
	response, known := p.module.answers.Handshake(request)
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

// deferConfigure notes a configuration that the provider would take. One that does nothing
// with it need not even be asked later.
func (p *Provider) deferConfigure(ctx context.Context, request abi.ConfigureRequest) bool {
	if !p.setup.current().untouched() && !p.packages.find("").asked.Load() {
		return false // the schema comes too late
	}
	pkg := p.declares(ctx, "")
	if pkg == nil || !pkg.SchemaConfigure && (!pkg.Deferred || request.Inputs.ContainsUnknowns()) || !p.mayAnswer(ctx) ||
		len(pkg.Config.Missing(request.Inputs)) > 0 ||
		!areTexts(string(request.URN), request.Name, request.Type, request.ID) || !p.encodable(request.Inputs) {
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
