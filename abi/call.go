package abi

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// Method is a method of a provider or a policy pack, by its name in the WIT.
type Method string

// MethodKind says what a call of a method does. The WIT annotates each function with it.
type MethodKind uint8

const (
	// KindAsks is a call that computes its result from the request and the module alone.
	KindAsks MethodKind = iota + 1
	// KindReads is a call that reads what exists, and changes nothing that Husk manages.
	KindReads
	// KindChanges is a call that creates, changes, or removes something. In a preview it only
	// predicts that.
	KindChanges
	// KindSetsUp is a call that each instance of a module gets before others.
	KindSetsUp
)

// MethodSubject says what a call of a method is about. The schema of that subject applies to
// requests and responses.
type MethodSubject uint8

const (
	// AboutPackage is a call about the module itself.
	AboutPackage MethodSubject = iota + 1
	// AboutConfiguration is a call about the configuration of a provider.
	AboutConfiguration
	// AboutResource is a call about a resource, or a type of resource.
	AboutResource
	// AboutFunction is a call of a function.
	AboutFunction
	// AboutComponent is a call of a component's constructor or method, which may use the monitor.
	// Its property maps keep outputs.
	AboutComponent
)

type methodFacts struct {
	kind  MethodKind
	about MethodSubject
}

// Kind returns the kind of a call of the method, 0 for an unknown method.
func (m Method) Kind() MethodKind { return m.facts().kind }

// About returns the subject of a call of the method, 0 for an unknown method.
func (m Method) About() MethodSubject { return m.facts().about }

// Role is the purpose of a property map in a request or response. The WIT annotates each property
// map of a provider's methods with it.
type Role uint8

// IsNew reports whether the caller made the map for the call: inputs, a configuration, arguments.
func (r Role) IsNew() bool { return r == RoleNew }

// IsOld reports whether the map is of the last recorded state of a resource.
func (r Role) IsOld() bool { return r == RoleOldInputs || r == RoleOldState }

// Subject is the subject of a request. Fields that the request lacks are empty.
type Subject struct {
	URN urn.URN
	// Token is the type of the resource or component, or the token of the function.
	Token string
	ID    string
	// Preview reports whether nothing may be changed.
	Preview bool
}

// Call is one call of a method of a [Provider], as data.
type Call struct {
	Method Method
	// Request and Response point to the argument and the result of the method, such as a
	// *CheckRequest and a *CheckResponse, or a *struct{}. The request may be changed before the
	// provider serves the call, and the response after it.
	Request, Response any
	// DoWith has a provider serve the call, and sets the response.
	DoWith func(ctx context.Context, p Provider) error

	// skipped and served say how far the call came: served is set once the provider has served it without an error.
	skipped, served bool
	// after has the work that the interceptors left to do. The last one comes first. It begins in afterOfMost.
	after       []func(error) error
	afterOfMost [4]func(error) error
	// ofRequest and ofResponse save the allocation of the lists of property maps.
	ofRequest  [3]Properties
	ofResponse [2]Properties
}

// Skip keeps a call from the provider and from the interceptors after this one. The response stays
// as it is.
func (c *Call) Skip() { c.skipped = true }

// begin passes the call to the interceptors, up to one that refuses or skips it.
func (c *Call) begin(ctx context.Context, interceptors []Interceptor) (context.Context, error) {
	c.after = c.afterOfMost[:0]
	for _, intercept := range interceptors {
		inner, after, err := intercept(ctx, c)
		if after != nil {
			c.after = append(c.after, after)
		}
		if err != nil || c.skipped {
			return ctx, err
		}
		ctx = inner
	}
	return ctx, nil
}

// end passes the outcome to the interceptors, and returns the call's error.
func (c *Call) end(err error) error {
	c.served = err == nil && !c.skipped
	for _, after := range slices.Backward(c.after) {
		err = c.made(after(err))
	}
	return err
}

// made returns the error of a creation that has an ID beside its error, whichever it is, with that ID: the object
// exists, and no caller gets a response beside an error. So does an update that its provider served, and that an
// interceptor failed afterwards.
func (c *Call) made(err error) error {
	subject := c.Subject()
	if err == nil || subject.Preview {
		return err
	}
	var id string
	var state property.Map
	switch response := c.Response.(type) {
	case *CreateResponse:
		id, state = response.ID, response.State
	case *UpdateResponse:
		if c.served {
			id, state = subject.ID, response.State
		}
	}
	if id == "" {
		return err
	}
	e := *AsError(err)
	if e.InitFailure == nil {
		e.InitFailure = &InitFailure{State: state, RefreshBeforeUpdate: true}
	}
	left := *e.InitFailure
	left.ID = cmp.Or(left.ID, id)
	e.Kind, e.InitFailure = ErrorKindInitFailed, &left
	return &e
}

// Subject returns the subject of the request.
func (c *Call) Subject() Subject {
	if r, ok := c.Request.(interface{ subject() Subject }); ok {
		return r.subject()
	}
	return Subject{}
}

// Properties is a property map in a request or response.
type Properties struct {
	Role     Role
	required *property.Map
	optional **property.Map
}

// Get returns the property map.
func (p Properties) Get() property.Map {
	if p.optional != nil {
		return **p.optional
	}
	return *p.required
}

// Set replaces the property map, in the request or response of the call alone.
func (p Properties) Set(m property.Map) {
	switch {
	case p.optional == nil:
		*p.required = m
	case !m.Is(**p.optional):
		*p.optional = &m
	}
}

func appendOptional(list []Properties, role Role, m **property.Map) []Properties {
	if *m == nil {
		return list
	}
	return append(list, Properties{Role: role, optional: m})
}

// propertied is a request or response with property maps.
type propertied interface {
	// properties appends the property maps that are there.
	properties(list []Properties) []Properties
}

// RequestProperties returns the property maps of the request.
func (c *Call) RequestProperties() []Properties {
	if r, ok := c.Request.(propertied); ok {
		return r.properties(c.ofRequest[:0])
	}
	return nil
}

// AnswerProperties returns the property maps of the response. If the call failed with err, they come from a partial
// initialization, and changes of them apply to the error that AnswerProperties returns in place of err.
func (c *Call) AnswerProperties(err error) ([]Properties, error) {
	if err == nil {
		if r, ok := c.Response.(propertied); ok {
			return r.properties(c.ofResponse[:0]), nil
		}
		return nil, nil
	}
	var failure *Error
	if !errors.As(err, &failure) || failure.InitFailure == nil {
		return nil, err
	}
	changed, left := *failure, *failure.InitFailure
	changed.InitFailure = &left
	return left.properties(nil), &changed
}

// HasProperties reports whether the response of the method has property maps.
func (c *Call) HasProperties() bool {
	_, ok := c.Response.(propertied)
	return ok
}

// Failures returns the check failures of the response, to read and change, or nil.
func (c *Call) Failures() *[]CheckFailure {
	if r, ok := c.Response.(interface{ checkFailures() *[]CheckFailure }); ok {
		return r.checkFailures()
	}
	return nil
}

// Dependencies returns the dependencies of the properties of the request, to read and change, or
// nil.
func (c *Call) Dependencies() *[]PropertyDependency {
	if r, ok := c.Request.(interface{ dependencies() *[]PropertyDependency }); ok {
		return r.dependencies()
	}
	return nil
}

// Interceptor acts on a call before its provider serves it, and after that. It may change the request,
// skip the call, or refuse it with an error. It returns the context in which the call continues, and
// a function that gets the error of the call, nil for none, and returns it or another one. That
// function may change the response. It is nil if nothing is to be done.
type Interceptor func(ctx context.Context, c *Call) (inner context.Context, after func(error) error, err error)

// Intercept returns a provider whose calls the interceptor sees, before the interceptors of p. The provider is an [io.Closer],
// which closes p if p can be closed.
func Intercept(p Provider, interceptor Interceptor) Provider {
	inner, ok := p.(*callProvider)
	if !ok {
		inner = &callProvider{provider: p, serve: callServer(p)}
	}
	outer := *inner
	outer.interceptors = slices.Concat([]Interceptor{interceptor}, inner.interceptors)
	return &outer
}

// CallServer is implemented by providers that serve their calls as data. An intercepted call then
// needs no method of the provider.
type CallServer interface {
	// CallServer returns the provider and the function that serves any call as the provider's method
	// does. A type that embeds the provider may have other methods, so it is not that provider.
	CallServer() (p Provider, serve func(context.Context, *Call) error)
}

// callServer returns the function that serves a call of p.
func callServer(p Provider) func(context.Context, *Call) error {
	if s, ok := p.(CallServer); ok {
		if self, serve := s.CallServer(); self == p {
			return serve
		}
	}
	return func(ctx context.Context, c *Call) error { return c.DoWith(ctx, p) }
}

// ProviderOf returns a provider each of whose methods is a call that serve serves.
func ProviderOf(serve func(context.Context, *Call) error) Provider {
	return &callProvider{serve: serve}
}

// ProviderAs returns as a T the provider that [Intercept] got, or p itself.
func ProviderAs[T any](p Provider) (t T, ok bool) {
	if i, intercepts := p.(*callProvider); intercepts {
		p = i.provider
	}
	t, ok = p.(T)
	return t, ok
}

// callProvider is a provider whose methods are calls.
type callProvider struct {
	// provider is the provider that Intercept got, nil for a provider of calls alone.
	provider Provider
	// interceptors are in the order in which they see a call.
	interceptors []Interceptor
	serve        func(context.Context, *Call) error
}

// Close closes the provider.
func (p *callProvider) Close() error { return Close(p.provider) }

// Close closes a provider, if it is an [io.Closer]: one that holds something, such as instances of a module.
func Close(p Provider) error {
	if c, ok := p.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// methodCall is a Call of a method, in one allocation.
type methodCall[Q, R any] struct {
	Call
	request  Q
	response R
	do       func(Provider, context.Context, Q) (R, error)
}

// doWith is the call's DoWith.
func (c *methodCall[Q, R]) doWith(ctx context.Context, p Provider) (err error) {
	c.response, err = c.do(p, ctx, c.request)
	return err
}

// serveCall makes a call of a method, and has it served between the interceptors.
func serveCall[Q, R any](ctx context.Context, p *callProvider, method Method, request Q,
	do func(Provider, context.Context, Q) (R, error),
) (R, error) {
	c := &methodCall[Q, R]{request: request, do: do}
	c.Method, c.Request, c.Response, c.DoWith = method, &c.request, &c.response, c.doWith
	ctx, err := c.begin(ctx, p.interceptors)
	if err == nil && !c.skipped {
		err = c.made(p.serve(ctx, &c.Call))
	}
	if err = c.end(err); err != nil {
		var none R
		return none, err
	}
	return c.response, nil
}

// answerless adapts a method without a result.
func answerless[Q any](do func(Provider, context.Context, Q) error) func(Provider, context.Context, Q) (struct{}, error) {
	return func(p Provider, ctx context.Context, request Q) (struct{}, error) {
		return struct{}{}, do(p, ctx, request)
	}
}

// empty adapts a method without a request and a result.
func empty(do func(Provider, context.Context) error) func(Provider, context.Context, struct{}) (struct{}, error) {
	return func(p Provider, ctx context.Context, _ struct{}) (struct{}, error) { return struct{}{}, do(p, ctx) }
}
