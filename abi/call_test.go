package abi_test

import (
	"context"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

var (
	providerType = reflect.TypeFor[abi.Provider]()
	mapType      = reflect.TypeFor[property.Map]()
)

// TestInterceptSeesEveryCall: each method is a call with a kind and a subject, whose property
// maps can all be replaced.
func TestInterceptSeesEveryCall(t *testing.T) {
	for i := range providerType.NumMethod() {
		method := providerType.Method(i)
		t.Run(method.Name, func(t *testing.T) {
			var seen *abi.Call
			p := abi.Intercept(abi.Unimplemented{}, func(ctx context.Context, c *abi.Call) (context.Context, func(error) error, error) {
				seen = c
				return ctx, nil, nil
			})
			arguments := []reflect.Value{reflect.ValueOf(t.Context())}
			for n := 1; n < method.Type.NumIn(); n++ {
				arguments = append(arguments, withMaps(method.Type.In(n)))
			}
			results := reflect.ValueOf(p).MethodByName(method.Name).Call(arguments)
			err, _ := results[len(results)-1].Interface().(error)
			require.ErrorIs(t, err, abi.ErrUnimplemented)
			require.ErrorContains(t, err, string(seen.Method))
			require.Contains(t, abi.Methods, seen.Method)
			require.NotZero(t, seen.Method.Kind())
			require.NotZero(t, seen.Method.About())

			request := reflect.ValueOf(seen.Request).Elem()
			require.Equal(t, len(maps(request)), mark(seen.RequestProperties()))
			response := reflect.ValueOf(seen.Response).Elem()
			response.Set(withMaps(response.Type()))
			answer, err := seen.AnswerProperties(nil)
			require.NoError(t, err)
			require.Equal(t, len(maps(response)), mark(answer))
			require.Equal(t, len(maps(response)) > 0, seen.HasProperties())
			for _, of := range []reflect.Value{request, response} {
				for _, m := range maps(of) {
					require.True(t, m.Has("seen"))
				}
			}
		})
	}
}

// TestEveryMethodHasAKind: those of policy packs too.
func TestEveryMethodHasAKind(t *testing.T) {
	for _, method := range abi.Methods {
		require.NotZero(t, method.Kind(), method)
		require.NotZero(t, method.About(), method)
	}
	require.Zero(t, abi.Method("chek").Kind())
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(abi.Methods[:]))), len(abi.Methods))
	for _, i := range []reflect.Type{providerType, reflect.TypeFor[abi.Policy]()} {
		for n := range i.NumMethod() {
			name := strings.ToLower(i.Method(n).Name)
			require.True(t, slices.ContainsFunc(abi.Methods[:], func(m abi.Method) bool { return strings.ReplaceAll(string(m), "-", "") == name }), name)
		}
	}
}

// withMaps returns a value whose property maps are all there.
func withMaps(of reflect.Type) reflect.Value {
	v := reflect.New(of).Elem()
	if of.Kind() == reflect.Struct {
		for i := range of.NumField() {
			if of.Field(i).Type == reflect.PointerTo(mapType) {
				v.Field(i).Set(reflect.New(mapType))
			}
		}
	}
	return v
}

func maps(of reflect.Value) (all []property.Map) {
	if of.Kind() == reflect.Struct {
		for i := range of.NumField() {
			switch m := of.Field(i).Interface().(type) {
			case property.Map:
				all = append(all, m)
			case *property.Map:
				all = append(all, *m)
			}
		}
	}
	return all
}

// mark sets a property in each map, and counts them.
func mark(all []abi.Properties) int {
	for _, p := range all {
		p.Set(p.Get().With("seen", property.Number(float64(p.Role))))
	}
	return len(all)
}

type creates struct {
	abi.Unimplemented
	closed int
}

func (p *creates) Create(_ context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	return abi.CreateResponse{ID: request.Name, State: request.Inputs}, nil
}

func (p *creates) Close() error {
	p.closed++
	return nil
}

func TestInterceptPassesThroughTheOutermostFirst(t *testing.T) {
	named := func(p abi.Provider, suffix string) abi.Provider {
		return abi.Intercept(p, func(ctx context.Context, c *abi.Call) (context.Context, func(error) error, error) {
			c.Request.(*abi.CreateRequest).Name += suffix
			return ctx, func(err error) error {
				c.Response.(*abi.CreateResponse).ID += suffix
				return err
			}, nil
		})
	}
	inner := &creates{}
	p := named(named(inner, "-inner"), "-outer")
	response, err := p.Create(t.Context(), abi.CreateRequest{Name: "n"})
	require.NoError(t, err)
	require.Equal(t, "n-outer-inner-inner-outer", response.ID)

	as, ok := abi.ProviderAs[*creates](p)
	require.True(t, ok)
	require.Same(t, inner, as)
	closer, ok := p.(interface{ Close() error })
	require.True(t, ok)
	require.NoError(t, closer.Close())
	require.Equal(t, 1, inner.closed)
}

// TestInterceptorMaySkipOrRefuseACall: the interceptors after it and the provider do not see the call then,
// and those before it see its outcome.
func TestInterceptorMaySkipOrRefuseACall(t *testing.T) {
	refusal := errors.New("refused")
	type key struct{}
	for name, test := range map[string]struct {
		skip     bool
		err      error
		response string
	}{
		"skip":   {skip: true},
		"refuse": {err: refusal},
		"pass":   {response: "n"},
	} {
		t.Run(name, func(t *testing.T) {
			inner, outcome := 0, errors.New("none")
			p := abi.Intercept(&creates{}, func(ctx context.Context, c *abi.Call) (context.Context, func(error) error, error) {
				inner++
				require.Equal(t, "of the call", ctx.Value(key{}))
				return ctx, nil, nil
			})
			p = abi.Intercept(p, func(ctx context.Context, c *abi.Call) (context.Context, func(error) error, error) {
				if test.skip {
					c.Skip()
				}
				return context.WithValue(ctx, key{}, "of the call"), nil, test.err
			})
			p = abi.Intercept(p, func(ctx context.Context, c *abi.Call) (context.Context, func(error) error, error) {
				return ctx, func(err error) error { outcome = err; return err }, nil
			})
			response, err := p.Create(t.Context(), abi.CreateRequest{Name: "n"})
			require.Equal(t, test.err, err)
			require.Equal(t, test.err, outcome)
			require.Equal(t, test.response, response.ID)
			require.Equal(t, test.response != "", inner == 1)
		})
	}
}

// TestProviderOfCalls: one function serves the calls of all methods.
func TestProviderOfCalls(t *testing.T) {
	p := abi.ProviderOf(func(ctx context.Context, c *abi.Call) error { return c.DoWith(ctx, &creates{}) })
	response, err := p.Create(t.Context(), abi.CreateRequest{Name: "n"})
	require.NoError(t, err)
	require.Equal(t, "n", response.ID)
	_, err = p.Read(t.Context(), abi.ReadRequest{})
	require.ErrorIs(t, err, abi.ErrUnimplemented)

	_, ok := abi.ProviderAs[io.Closer](p)
	require.False(t, ok)
	require.NoError(t, p.(io.Closer).Close())
}

// serves is a provider that serves its calls as data.
type serves struct {
	abi.Provider
	calls []abi.Method
}

func (p *serves) CallServer() (abi.Provider, func(context.Context, *abi.Call) error) {
	return p, func(_ context.Context, c *abi.Call) error {
		p.calls = append(p.calls, c.Method)
		return nil
	}
}

// embedding has a method of its own in place of one of a provider that serves calls.
type embedding struct{ *serves }

func (embedding) Create(context.Context, abi.CreateRequest) (abi.CreateResponse, error) {
	return abi.CreateResponse{ID: "its own"}, nil
}

func TestInterceptedCallsAreServedAsData(t *testing.T) {
	pass := func(ctx context.Context, c *abi.Call) (context.Context, func(error) error, error) {
		return ctx, nil, nil
	}
	inner := &serves{}
	_, err := abi.Intercept(inner, pass).Create(t.Context(), abi.CreateRequest{})
	require.NoError(t, err)
	require.Equal(t, []abi.Method{abi.MethodCreate}, inner.calls)

	response, err := abi.Intercept(embedding{inner}, pass).Create(t.Context(), abi.CreateRequest{})
	require.NoError(t, err)
	require.Equal(t, "its own", response.ID)
	require.Len(t, inner.calls, 1)
}

// TestAnswerOfAFailedInitialization: what it left behind has maps as a response has, and the
// error that the provider returned stays as it is.
func TestAnswerOfAFailedInitialization(t *testing.T) {
	inputs := property.Map{}
	failure := &abi.Error{Kind: abi.ErrorKindInitFailed, InitFailure: &abi.InitFailure{ID: "i", Inputs: &inputs}}
	p := abi.Intercept(failing{err: failure}, func(ctx context.Context, c *abi.Call) (context.Context, func(error) error, error) {
		return ctx, func(err error) error {
			left, err := c.AnswerProperties(err)
			require.Equal(t, 2, mark(left))
			require.Equal(t, []abi.Role{abi.RoleState, abi.RoleInputs}, []abi.Role{left[0].Role, left[1].Role})
			return err
		}, nil
	})
	_, err := p.Create(t.Context(), abi.CreateRequest{})
	var changed *abi.Error
	require.ErrorAs(t, err, &changed)
	require.Equal(t, "i", changed.InitFailure.ID)
	require.True(t, changed.InitFailure.State.Has("seen"))
	require.True(t, changed.InitFailure.Inputs.Has("seen"))
	require.Zero(t, failure.InitFailure.State.Len())
	require.Zero(t, inputs.Len())
}

type failing struct {
	abi.Unimplemented
	err error
}

func (p failing) Create(context.Context, abi.CreateRequest) (abi.CreateResponse, error) {
	return abi.CreateResponse{}, p.err
}

func TestSubjectIsWhatARequestIsAbout(t *testing.T) {
	var subject abi.Subject
	p := abi.Intercept(abi.Unimplemented{}, func(ctx context.Context, c *abi.Call) (context.Context, func(error) error, error) {
		subject = c.Subject()
		return ctx, nil, nil
	})
	_, _ = p.Update(t.Context(), abi.UpdateRequest{URN: "u", ID: "i", Type: "t", Preview: true})
	require.Equal(t, abi.Subject{URN: "u", ID: "i", Token: "t", Preview: true}, subject)
	_, _ = p.Construct(t.Context(), abi.ConstructRequest{Type: "t", Context: abi.RunContext{DryRun: true}})
	require.Equal(t, abi.Subject{Token: "t", Preview: true}, subject)
	_ = p.Cancel(t.Context())
	require.Zero(t, subject)
}

func BenchmarkIntercept(b *testing.B) {
	p := abi.Provider(&creates{})
	for range 3 {
		p = abi.Intercept(p, func(ctx context.Context, c *abi.Call) (context.Context, func(error) error, error) {
			return ctx, func(err error) error { return err }, nil
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = p.Create(b.Context(), abi.CreateRequest{Name: "n"})
	}
}

type halfMaker struct {
	abi.Unimplemented
	err error
}

func (m halfMaker) Create(context.Context, abi.CreateRequest) (abi.CreateResponse, error) {
	return abi.CreateResponse{ID: "i-1", State: property.MapOf(map[string]property.Value{"size": property.Number(1)})}, m.err
}

// A creation that failed and has an ID nonetheless has made something: its error has the ID, and interceptors see the state.
func TestAnIDBesideAnError(t *testing.T) {
	seen := 0
	create := func(err error, preview bool) *abi.Error {
		p := abi.Intercept(halfMaker{err: err}, func(ctx context.Context, c *abi.Call) (context.Context, func(error) error, error) {
			return ctx, func(err error) error {
				properties, err := c.AnswerProperties(err)
				seen += len(properties)
				return err
			}, nil
		})
		response, err := p.Create(t.Context(), abi.CreateRequest{Preview: preview})
		require.Zero(t, response)
		return abi.AsError(err)
	}
	for _, err := range []error{
		errors.New("no"), abi.NewError(abi.ErrorKindInternal, "no"), abi.NewError(abi.ErrorKindCrashed, "no"),
		&abi.Error{Kind: abi.ErrorKindInitFailed, Message: "no", InitFailure: &abi.InitFailure{RefreshBeforeUpdate: true}},
	} {
		seen = 0
		e := create(err, false)
		require.ErrorIs(t, e, abi.ErrInitFailed)
		require.Equal(t, "no", e.Error())
		require.Equal(t, "i-1", e.InitFailure.ID)
		require.True(t, e.InitFailure.RefreshBeforeUpdate)
		require.Equal(t, 1, seen)
	}
	require.ErrorIs(t, create(abi.NewError(abi.ErrorKindInternal, "no"), true), abi.ErrInternal, "a preview makes nothing")
}

// changing serves creations, updates, and reads.
type changing struct{ abi.Unimplemented }

var changedState = property.MapOf(map[string]property.Value{"size": property.Number(1)})

func (changing) Create(context.Context, abi.CreateRequest) (abi.CreateResponse, error) {
	return abi.CreateResponse{ID: "i-1", State: changedState}, nil
}

func (changing) Update(context.Context, abi.UpdateRequest) (abi.UpdateResponse, error) {
	return abi.UpdateResponse{State: changedState}, nil
}

func (changing) Read(context.Context, abi.ReadRequest) (abi.ReadResponse, error) {
	return abi.ReadResponse{ID: "i-1", State: changedState}, nil
}

// An interceptor that fails after a change cannot undo it: the error has what was changed, also for those after it.
func TestInterceptorFailsAfterAChange(t *testing.T) {
	var seen []property.Map
	outer := func(ctx context.Context, c *abi.Call) (context.Context, func(error) error, error) {
		return ctx, func(err error) error {
			properties, err := c.AnswerProperties(err)
			for _, p := range properties {
				seen = append(seen, p.Get())
			}
			return err
		}, nil
	}
	inner := func(ctx context.Context, c *abi.Call) (context.Context, func(error) error, error) {
		return ctx, func(error) error { return abi.NewError(abi.ErrorKindInvalidArgument, "no") }, nil
	}
	p := abi.Intercept(abi.Intercept(changing{}, inner), outer)
	ctx := t.Context()
	_, created := p.Create(ctx, abi.CreateRequest{})
	_, updated := p.Update(ctx, abi.UpdateRequest{ID: "i-1"})
	for _, err := range []error{created, updated} {
		require.ErrorIs(t, err, abi.ErrInitFailed)
		require.Equal(t, &abi.InitFailure{ID: "i-1", State: changedState, RefreshBeforeUpdate: true}, abi.AsError(err).InitFailure)
	}
	require.Equal(t, []property.Map{changedState, changedState}, seen)
	_, read := p.Read(ctx, abi.ReadRequest{ID: "i-1"})
	_, refused := p.Update(ctx, abi.UpdateRequest{ID: "i-1", Preview: true})
	for _, err := range []error{read, refused} {
		require.ErrorIs(t, err, abi.ErrInvalidArgument)
	}
	before := func(ctx context.Context, _ *abi.Call) (context.Context, func(error) error, error) {
		return ctx, nil, abi.NewError(abi.ErrorKindInvalidArgument, "no")
	}
	_, err := abi.Intercept(changing{}, before).Update(ctx, abi.UpdateRequest{ID: "i-1"})
	require.ErrorIs(t, err, abi.ErrInvalidArgument, "nothing was changed")
}
