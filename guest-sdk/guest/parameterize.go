package guest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/urn"
)

// Parameters say what a provider is to become, or to serve beside its own package: see
// [Provider.Parameterize] and [Provider.Extend].
type Parameters struct {
	// Args are words as a user gives them. There are none where there is a Value.
	Args []string
	// Name, Version, and Value are what an earlier call answered, in another
	// instance of the provider or on another machine.
	Name    string
	Version string
	Value   []byte
}

// Parameterized is what a provider became, or is extended with.
type Parameterized struct {
	// Provider is the package, with a name of its own. It is served in place of the
	// provider that was parameterized, or beside it.
	Provider Provider
	// Value gives the same provider again without the Args, and without what they refer
	// to: it is kept in states, so that what was made can be destroyed. At most
	// [MaxParameter] bytes.
	Value []byte
}

// MaxParameter is how many bytes the value of a parameterization may have. It is part of
// each state that was made with the provider.
const MaxParameter = 4 << 20

// parameterizable is a provider that can become another one. Parameterize comes before
// all calls but the handshake, so that the field does not change while others read it.
type parameterizable struct {
	// Provider serves the calls. At first it is the module's own.
	abi.Provider

	own *server
}

// beginFunction begins the context of a call: see [server].
type beginFunction = func(ctx context.Context, u urn.URN, timeout time.Duration) (context.Context, ender)

// ender ends the context of a call.
type ender interface{ End() }

// provide registers a provider, and returns what serves its calls.
func provide(p Provider, begin beginFunction) (abi.Provider, error) {
	s, err := register(p)
	if err != nil {
		return nil, err
	}
	s.begin = begin
	return s.answering(), nil
}

// answering returns what serves the calls of a registered provider.
func (s *server) answering() (served abi.Provider) {
	served = s
	if s.extend != nil {
		served = &extensible{server: s}
	}
	if s.parameterize != nil {
		served = &parameterizable{Provider: served, own: s}
	}
	return served
}

// Parameterize refuses, because the provider neither becomes another package nor serves one.
func (s *server) Parameterize(ctx context.Context, request abi.ParameterizeRequest) (abi.ParameterizeResponse, error) {
	if request.Extension {
		return abi.ParameterizeResponse{}, abi.NewError(abi.ErrorKindUnimplemented, s.pkg.Name+" serves no packages beside its own")
	}
	return s.Unimplemented.Parameterize(ctx, request)
}

// told calls the author's function with the parameters of a request.
func (s *server) told(ctx context.Context, become func(context.Context, Parameters) (Parameterized, error), request abi.ParameterizeRequest) (Parameterized, error) {
	parameters := Parameters{Args: request.Parameters.Args}
	if request.Parameters.Case == abi.ParametersCaseValue {
		v := request.Parameters.Value
		parameters = Parameters{Name: v.Name, Version: v.Version, Value: v.Value}
	}
	ctx, leave := s.within(ctx, "", 0)
	defer leave.End()
	became, err := become(ctx, parameters)
	if err != nil {
		return became, answerError(err)
	}
	if len(became.Value) > MaxParameter {
		return became, abi.NewError(abi.ErrorKindInvalidArgument, "the parameters of "+s.pkg.Name+" are too large to be kept in a state")
	}
	return became, nil
}

func (p *parameterizable) Parameterize(ctx context.Context, request abi.ParameterizeRequest) (abi.ParameterizeResponse, error) {
	if request.Extension {
		return p.Provider.Parameterize(ctx, request)
	}
	became, err := p.own.told(ctx, p.own.parameterize, request)
	if err != nil {
		return abi.ParameterizeResponse{}, err
	}
	next, err := register(became.Provider)
	if err != nil {
		return abi.ParameterizeResponse{}, abi.NewError(abi.ErrorKindInternal, "package "+became.Provider.Name+": "+err.Error())
	}
	next.begin = p.own.begin
	next.madeOf(p.own, became.Value)
	p.Provider = next.answering()
	return abi.ParameterizeResponse{Name: became.Provider.Name, Version: became.Provider.Version, Value: became.Value}, nil
}

// madeOf notes in the schema of a package that it comes of another one by a parameter.
func (s *server) madeOf(base *server, parameter []byte) {
	s.pkg.Parameterization = &schema.Parameterization{Name: base.pkg.Name, Version: base.pkg.Version, Parameter: parameter}
}

// extensible is a provider that serves further packages beside its own. Extensions come
// at any time, also while calls are answered.
type extensible struct {
	*server

	mu       sync.RWMutex
	packages map[string]*server // by name
	// open holds the streams, whose handles are each package's own, under handles that
	// tell them all apart.
	open map[abi.StreamHandle]packageStream
	last abi.StreamHandle
}

// packageStream is a stream of one package.
type packageStream struct {
	of     *server
	handle abi.StreamHandle
}

// of returns what serves a type's or function's token.
func (e *extensible) of(token string) *server {
	pkg, _, _ := strings.Cut(token, ":")
	e.mu.RLock()
	defer e.mu.RUnlock()
	if s := e.packages[pkg]; s != nil {
		return s
	}
	return e.server
}

func (e *extensible) Parameterize(ctx context.Context, request abi.ParameterizeRequest) (abi.ParameterizeResponse, error) {
	if !request.Extension {
		return e.server.Parameterize(ctx, request)
	}
	became, err := e.told(ctx, e.extend, request)
	if err != nil {
		return abi.ParameterizeResponse{}, err
	}
	s, err := e.beside(became.Provider)
	if err != nil {
		return abi.ParameterizeResponse{}, abi.NewError(abi.ErrorKindInternal, "package "+became.Provider.Name+": "+err.Error())
	}
	s.madeOf(e.server, became.Value)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.packages == nil {
		e.packages = map[string]*server{}
	}
	e.packages[s.pkg.Name] = s
	return abi.ParameterizeResponse{Name: s.pkg.Name, Version: s.pkg.Version, Value: became.Value}, nil
}

// beside registers a package that is served beside the provider's own.
func (e *extensible) beside(p Provider) (*server, error) {
	switch {
	case p.Name == e.pkg.Name:
		return nil, errors.New("it has the name of the provider that it extends")
	case p.Config.configure != nil:
		return nil, errors.New("it has a configuration, but is configured with the provider that it extends")
	case p.Parameterize != nil || p.Extend != nil:
		return nil, errors.New("it cannot be parameterized itself")
	}
	s, err := register(p)
	if err != nil {
		return nil, err
	}
	s.begin, s.undecided = e.begin, e.undecided
	return s, nil
}

func (e *extensible) GetSchema(ctx context.Context, request abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	e.mu.RLock()
	s := e.packages[request.SubpackageName]
	e.mu.RUnlock()
	if s == nil {
		return e.server.GetSchema(ctx, request)
	}
	if v := request.SubpackageVersion; v != "" && v != s.pkg.Version {
		return abi.GetSchemaResponse{}, abi.NewError(abi.ErrorKindNotFound,
			"the package "+s.pkg.Name+" is served in version "+s.pkg.Version+", not "+v)
	}
	return s.GetSchema(ctx, abi.GetSchemaRequest{Version: request.Version})
}

// manager is what serves a resource, whose type is in its URN where a request has none.
func (e *extensible) manager(typ string, u urn.URN) *server {
	if typ == "" {
		typ = u.Type()
	}
	return e.of(typ)
}

func (e *extensible) Check(ctx context.Context, r abi.CheckRequest) (abi.CheckResponse, error) {
	return e.manager(r.Type, r.URN).Check(ctx, r)
}

func (e *extensible) Diff(ctx context.Context, r abi.DiffRequest) (abi.DiffResponse, error) {
	return e.manager(r.Type, r.URN).Diff(ctx, r)
}

func (e *extensible) Create(ctx context.Context, r abi.CreateRequest) (abi.CreateResponse, error) {
	return e.manager(r.Type, r.URN).Create(ctx, r)
}

func (e *extensible) Read(ctx context.Context, r abi.ReadRequest) (abi.ReadResponse, error) {
	return e.manager(r.Type, r.URN).Read(ctx, r)
}

func (e *extensible) Update(ctx context.Context, r abi.UpdateRequest) (abi.UpdateResponse, error) {
	return e.manager(r.Type, r.URN).Update(ctx, r)
}

func (e *extensible) Delete(ctx context.Context, r abi.DeleteRequest) error {
	return e.manager(r.Type, r.URN).Delete(ctx, r)
}

func (e *extensible) List(ctx context.Context, r abi.ListRequest) (abi.ListResponse, error) {
	return e.of(r.Token).List(ctx, r)
}

func (e *extensible) Invoke(ctx context.Context, r abi.InvokeRequest) (abi.InvokeResponse, error) {
	return e.of(r.Token).Invoke(ctx, r)
}

func (e *extensible) Call(ctx context.Context, r abi.CallRequest) (abi.CallResponse, error) {
	return e.of(r.Token).Call(ctx, r)
}

func (e *extensible) Construct(ctx context.Context, r abi.ConstructRequest) (abi.ConstructResponse, error) {
	return e.of(r.Type).Construct(ctx, r)
}

func (e *extensible) StreamInvoke(ctx context.Context, r abi.InvokeRequest) (abi.StreamHandle, error) {
	s := e.of(r.Token)
	handle, err := s.StreamInvoke(ctx, r)
	if err != nil {
		return 0, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open == nil {
		e.open = map[abi.StreamHandle]packageStream{}
	}
	e.last++
	e.open[e.last] = packageStream{s, handle}
	return e.last, nil
}

// stream returns an open stream; of one that is not open, what its package says to that.
func (e *extensible) stream(handle abi.StreamHandle) packageStream {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if s, ok := e.open[handle]; ok {
		return s
	}
	return packageStream{of: e.server}
}

func (e *extensible) forget(handle abi.StreamHandle) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.open, handle)
}

func (e *extensible) StreamNext(ctx context.Context, handle abi.StreamHandle) (abi.StreamItem, error) {
	s := e.stream(handle)
	item, err := s.of.StreamNext(ctx, s.handle)
	if err != nil || item.Result == nil {
		e.forget(handle)
	}
	return item, err
}

func (e *extensible) StreamClose(ctx context.Context, handle abi.StreamHandle) error {
	s := e.stream(handle)
	e.forget(handle)
	return s.of.StreamClose(ctx, s.handle)
}

// Cancel closes the packages, and the provider last, which they may use.
func (e *extensible) Cancel(ctx context.Context) error {
	e.mu.RLock()
	packages := make([]*server, 0, len(e.packages))
	for _, s := range e.packages {
		packages = append(packages, s)
	}
	e.mu.RUnlock()
	var failures []error
	for _, s := range packages {
		failures = append(failures, s.Cancel(ctx))
	}
	return errors.Join(append(failures, e.server.Cancel(ctx))...)
}
