package host

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/host/internal/answers"
	"github.com/husk-dev/husk/host/limit"
	"github.com/husk-dev/husk/internal/base/printable"
)

// Names of package grant for programs that only make grants for [ProviderOptions].
type (
	Grants    = grant.Set
	FSGrant   = grant.FS
	HTTPGrant = grant.HTTP
	TCPGrant  = grant.TCP
	// Refusal is a use of a capability that no grant covers, as the grant that would.
	Refusal = grant.Text
)

// ProviderOptions are for one configuration of a module.
type ProviderOptions struct {
	// Name is the expected package, for messages before its handshake.
	Name string
	// Grants are the provider's grants.
	Grants Grants
	// Logger takes what the provider logs and prints; nil drops it. See [LogProvider].
	Logger *slog.Logger
	// Limits are the provider's own, by name and in the units of package limit. Others are the host's.
	Limits map[string]uint64
	// Instances bounds how many calls run at once; 0 is [DefaultInstances].
	Instances int
	// Lenient checks answers against no schema, for tests of providers: it passes on answers that do not fit, and impossible
	// diffs, and asks the guest for each.
	Lenient bool
}

// Provider is one configuration of a module. It is an [abi.Provider], safe for concurrent use. Each call has an instance to
// itself, of a bounded pool that starts them when needed. The calls that set a provider up (Handshake, Parameterize, Configure)
// are repeated in each instance before it serves anything else.
//
// The guest gets the monitor in the context of Call or Construct (see [abi.WithMonitor]), and the assets in
// the context of any method (see [abi.WithAssets]).
type Provider struct {
	sandbox
	servedMethods
	streams  streams
	lenient  bool
	packages answers.Schemas
	// isConfigured is set once Configure has succeeded.
	isConfigured atomic.Bool
	// knowsNoSecrets is set if the module did not take the secrets that the handshake offered.
	knowsNoSecrets atomic.Bool
}

// servedMethods are the methods of a provider. Each is one call of [Provider.serve]. The methods that [hasOwnMethod] names are
// not used.
type servedMethods = abi.Provider

var (
	_ abi.Provider   = (*Provider)(nil)
	_ abi.CallServer = (*Provider)(nil)
	_ abi.Measured   = (*Provider)(nil)
	_ io.Closer      = (*Provider)(nil)
)

// NewProvider makes a configuration of the module, and runs nothing. Errors are about the options: a granted
// directory that is missing, for example.
func (m *Module) NewProvider(ctx context.Context, options ProviderOptions) (*Provider, error) {
	p := &Provider{lenient: options.Lenient}
	p.servedMethods = abi.ProviderOf(p.serve)
	p.packages.Begin(m.declared)
	err := p.init(ctx, m, canon.WorldProvider, options.Name, options.Grants, options.Limits, options.Logger, options.Instances)
	if err != nil {
		return nil, err
	}
	if err := m.host.made(p); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close ends the provider: calls that are running are stopped, and fail.
func (p *Provider) Close() error {
	if p.end() {
		for _, s := range p.streams.takeAll() {
			s.close()
		}
		p.release()
		p.module.host.closedOne(p)
	}
	return nil
}

// CallServer has intercepted calls served without the methods, see [abi.CallServer].
func (p *Provider) CallServer() (abi.Provider, func(context.Context, *abi.Call) error) {
	return p, p.serve
}

// Measured implements [abi.Measured].
func (p *Provider) Measured() map[string]abi.Measure {
	out := make(map[string]abi.Measure)
	for method, s := range p.Stats().Methods {
		out[method] = abi.Measure{BySchema: int(s.BySchema), Fuel: s.Fuel, BytesIn: s.BytesIn, BytesOut: s.BytesOut}
	}
	return out
}

// Cancel tells running calls to stop, and has idle instances release what they hold. The provider stays
// usable.
func (p *Provider) Cancel(ctx context.Context) error {
	return p.cancelAll(ctx, (*canon.Guest).Cancel)
}

// Handshake asks the module who it is.
func (p *Provider) Handshake(ctx context.Context, request abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	response, known := p.deferHandshake(ctx, request)
	if !known {
		var err error
		if response, err = establish(ctx, &p.sandbox, abi.MethodHandshake, true, request, (*canon.Guest).Handshake); err != nil {
			return response, err
		}
		if p.isItself() {
			p.module.facts.NoteHandshake(request, response)
		}
	}
	response.Requests = slices.Clone(response.Requests)
	for i, r := range response.Requests {
		response.Requests[i] = abi.CapabilityRequest{
			Capability: printable.Line(r.Capability), Scope: printable.Line(r.Scope), Reason: printable.Line(r.Reason), Optional: r.Optional,
		}
	}
	if err := p.introduce(&response.Name, &response.Version, &response.SDK); err != nil {
		return abi.HandshakeResponse{}, err
	}
	p.knowsNoSecrets.Store(request.Features&^response.Features&abi.FeaturesSecrets != 0)
	return response, nil
}

// Parameterize makes the provider into another package, or extends it.
func (p *Provider) Parameterize(ctx context.Context, request abi.ParameterizeRequest) (abi.ParameterizeResponse, error) {
	response, err := establish(ctx, &p.sandbox, abi.MethodParameterize, !request.Extension, request, (*canon.Guest).Parameterize)
	if err == nil {
		p.packages.Become(response, request.Extension)
	}
	if err == nil && !request.Extension && response.Name != "" {
		p.identity.Store(&identity{printable.Line(response.Name), printable.Line(response.Version)})
	}
	return response, err
}

// Configure configures all instances.
func (p *Provider) Configure(ctx context.Context, request abi.ConfigureRequest) error {
	p.resource.Store(&request.URN)
	if !p.deferConfigure(ctx, request) {
		if _, err := establish(ctx, &p.sandbox, abi.MethodConfigure, true, request, answerless((*canon.Guest).Configure)); err != nil {
			return err
		}
	}
	p.isConfigured.Store(true)
	return nil
}

// GetSchema returns the package's schema.
func (p *Provider) GetSchema(ctx context.Context, request abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	if text := p.module.facts.Schema(); text != "" && p.isItself() && request == (abi.GetSchemaRequest{}) &&
		!p.lenient && p.mayAnswer(ctx) {
		return abi.GetSchemaResponse{Schema: text}, nil
	}
	return p.askSchema(ctx, request)
}

// askSchema asks the guest for a schema.
func (p *Provider) askSchema(ctx context.Context, request abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	return call(ctx, &p.sandbox, abi.MethodGetSchema, request, (*canon.Guest).GetSchema)
}

// asker asks the provider for schemas.
func (p *Provider) asker() answers.Asker {
	return answers.Asker{GetSchema: p.askSchema, Unreadable: func(ctx context.Context, err error) {
		p.logger.LogAttrs(ctx, slog.LevelWarn, "the provider's schema cannot be read, so that its answers are not held to it: "+printable.Line(err.Error()),
			slog.String(LogProvider, p.identity.Load().name), slog.String(LogMethod, string(abi.MethodGetSchema)), slog.Bool(LogOfHost, true))
	}}
}

// declared returns the schema's declarations of the subject of a call, none if the provider is not held to its schema.
func (p *Provider) declared(ctx context.Context, method abi.Method, subject abi.Subject) (d answers.Declared) {
	if p.lenient {
		return d
	}
	return p.packages.Of(ctx, p.asker(), method, subject)
}

// isItself reports whether the provider is the module's own package, which no parameters have replaced.
func (p *Provider) isItself() bool { return p.packages.Find("") == p.module.declared }

// rules returns the rules that responses are checked against.
func (p *Provider) rules() answers.Rules {
	return answers.Rules{Lenient: p.lenient, NoSecrets: p.knowsNoSecrets.Load()}
}

// bySchema responds to a call if the provider's schema says how, and a guest could be asked. Calls about
// configuration need no configured provider.
func (p *Provider) bySchema(ctx context.Context, c *abi.Call, d answers.Declared) bool {
	if !d.Answers(c.Method) || !p.mayAnswer(ctx) || c.Method.About() != abi.AboutConfiguration && !p.isConfigured.Load() ||
		!d.Answer(c, p.module.host.config.limits.RequestBytes) {
		return false
	}
	p.counters.answeredBySchema(c.Method)
	return true
}

// mayAnswer reports whether the host may respond in a guest's place: one could be asked now.
func (p *Provider) mayAnswer(ctx context.Context) bool {
	return ctx.Err() == nil && !p.isClosed() && p.health.Quarantine() == nil
}

// hasOwnMethod reports whether [Provider] itself has the method: it sets up instances, speaks to all of them, or
// keeps one for a stream.
func hasOwnMethod(m abi.Method) bool {
	switch m {
	case abi.MethodHandshake, abi.MethodParameterize, abi.MethodGetSchema, abi.MethodConfigure, abi.MethodCancel,
		abi.MethodStreamInvoke, abi.MethodStreamNext, abi.MethodStreamClose:
		return true
	}
	return false
}

// serve makes a call: the schema answers it, or the guest does, within the contract.
func (p *Provider) serve(ctx context.Context, c *abi.Call) error {
	if hasOwnMethod(c.Method) {
		return c.DoWith(ctx, p)
	}
	var d, said answers.Declared
	if c.Method.About() != abi.AboutPackage && (c.HasProperties() || c.Method.Kind() == abi.KindAsks) {
		d = p.declared(ctx, c.Method, c.Subject())
		if said = d; p.lenient && (c.Method == abi.MethodInvoke || c.Method == abi.MethodConstruct) {
			said = p.packages.Of(ctx, p.asker(), c.Method, c.Subject())
		}
	}
	if p.bySchema(ctx, c, d) {
		return nil
	}
	if p.mayAnswer(ctx) {
		if refused, why := said.RefusesArguments(c); why != nil {
			return p.sandbox.answered(c.Method, why)
		} else if refused {
			return nil
		}
	}
	err := p.sandbox.serve(ctx, c.Method, func(ctx context.Context, guest *canon.Guest) error { return c.DoWith(ctx, guest) })
	if p.lenient && errors.Is(err, abi.ErrUnimplemented) && p.bySchema(ctx, c, p.packages.Of(ctx, p.asker(), c.Method, c.Subject())) {
		return nil // what is left to the host, and so no answer to test
	}
	if !p.lenient {
		err = d.DeletesFirst(c, err)
	}
	if err != nil {
		return cmp.Or(p.breach(c.Method, p.rules().CheckFailed(c, d, err)), err)
	}
	if failures := c.Failures(); failures != nil {
		*failures = answers.PrintableFailures(*failures)
	}
	return p.breach(c.Method, p.rules().Violation(c, d))
}

// answerless makes a method without an answer into one with an empty answer.
func answerless[Q any](do func(*canon.Guest, context.Context, Q) error) func(*canon.Guest, context.Context, Q) (struct{}, error) {
	return func(guest *canon.Guest, ctx context.Context, request Q) (struct{}, error) {
		return struct{}{}, do(guest, ctx, request)
	}
}

// streams are the open streams of a provider. A stream keeps the instance that began it.
type streams struct {
	mu   sync.Mutex
	last abi.StreamHandle
	open map[abi.StreamHandle]*stream
	// starting counts streams that are not in open yet.
	starting int
}

// stream is one open stream. Its lock is held while a call is in its instance.
type stream struct {
	mu       sync.Mutex
	instance *instance
	handle   abi.StreamHandle // the guest's own
	declared answers.Declared
	closed   bool
}

func (s *streams) reserve(most int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open)+s.starting >= most {
		return false
	}
	s.starting++
	return true
}

// settle ends a reservation, with a stream if one was begun.
func (s *streams) settle(begun *stream) abi.StreamHandle {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starting--
	if begun == nil {
		return 0
	}
	if s.open == nil {
		s.open = make(map[abi.StreamHandle]*stream)
	}
	s.last++
	s.open[s.last] = begun
	return s.last
}

func (s *streams) get(handle abi.StreamHandle) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[handle]
}

func (s *streams) remove(handle abi.StreamHandle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, handle)
}

func (s *streams) takeAll() []*stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Collect(maps.Values(s.open))
	s.open = nil
	return all
}

// close frees the stream's instance, unless a call is in it, which frees it at its end.
func (s *stream) close() {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		s.instance.Close()
	}
}

// StreamInvoke begins a stream of results, which must be read to its end or closed.
func (p *Provider) StreamInvoke(ctx context.Context, request abi.InvokeRequest) (abi.StreamHandle, error) {
	const method = abi.MethodStreamInvoke
	if most := p.config.limits.Streams; !p.streams.reserve(most) {
		return 0, p.refuse(method, &limit.ExceededError{Limit: limit.Streams, Most: uint64(most)})
	}
	begun, err := p.beginStream(ctx, method, request)
	handle := p.streams.settle(begun)
	if err != nil {
		return 0, err
	}
	if p.isClosed() { // since the stream began, and has not seen it
		p.streams.remove(handle)
		begun.close()
		return 0, p.gone(method)
	}
	return handle, nil
}

func (p *Provider) beginStream(ctx context.Context, method abi.Method, request abi.InvokeRequest) (*stream, error) {
	declared := p.declared(ctx, method, abi.Subject{Token: request.Token})
	i, err := p.take(ctx, method)
	if err != nil {
		return nil, err
	}
	s := &stream{instance: i, declared: declared}
	err = i.run(ctx, method, func(ctx context.Context, guest *canon.Guest) error {
		s.handle, err = guest.StreamInvoke(ctx, request)
		return err
	})
	if err != nil {
		p.put(i)
		return nil, err
	}
	p.instances.Leave() // the instance is the stream's now
	return s, nil
}

// StreamNext returns the next result. The last one and an error close the stream.
func (p *Provider) StreamNext(ctx context.Context, handle abi.StreamHandle) (item abi.StreamItem, err error) {
	const method = abi.MethodStreamNext
	s := p.streams.get(handle)
	if s == nil {
		return item, p.fail(method, abi.ErrorKindNotFound, "there is no such stream, or it has ended")
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return item, p.fail(method, abi.ErrorKindNotFound, "the stream was closed")
	}
	p.instances.Begin()
	err = s.instance.run(ctx, method, func(ctx context.Context, guest *canon.Guest) error {
		item, err = guest.StreamNext(ctx, s.handle)
		return err
	})
	p.instances.End()
	s.mu.Unlock()
	if err == nil && item.Result != nil {
		err = p.breach(method, p.rules().CheckResult(*item.Result, s.declared))
	}
	if err != nil || item.Result == nil || p.isClosed() {
		p.streams.remove(handle)
		s.close()
	}
	if err != nil {
		return abi.StreamItem{}, err
	}
	return item, nil
}

// StreamClose closes a stream before its end.
func (p *Provider) StreamClose(ctx context.Context, handle abi.StreamHandle) error {
	s := p.streams.get(handle)
	if s == nil {
		return nil
	}
	p.streams.remove(handle)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	p.instances.Begin()
	defer p.instances.End()
	defer s.instance.Close()
	return s.instance.run(ctx, abi.MethodStreamClose, func(ctx context.Context, guest *canon.Guest) error {
		return guest.StreamClose(ctx, s.handle)
	})
}
