package abi_test

import (
	"context"
	"errors"
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
			p := abi.Intercept(abi.Unimplemented{}, func(ctx context.Context, c *abi.Call) error {
				seen = c
				return c.Do(ctx)
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
		return abi.Intercept(p, func(ctx context.Context, c *abi.Call) error {
			c.Request.(*abi.CreateRequest).Name += suffix
			err := c.Do(ctx)
			c.Response.(*abi.CreateResponse).ID += suffix
			return err
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

func TestCallMayGoOnTwiceAndElsewhere(t *testing.T) {
	calls := 0
	counting := func(ctx context.Context, c *abi.Call) error {
		calls++
		return c.Do(ctx)
	}
	again := func(ctx context.Context, c *abi.Call) error { return errors.Join(c.Do(ctx), c.Do(ctx)) }
	p := abi.Intercept(abi.Intercept(&creates{}, counting), again)
	_, err := p.Create(t.Context(), abi.CreateRequest{})
	require.NoError(t, err)
	require.Equal(t, 2, calls)

	elsewhere := abi.Intercept(abi.Unimplemented{}, func(ctx context.Context, c *abi.Call) error { return c.DoWith(ctx, &creates{}) })
	response, err := elsewhere.Create(t.Context(), abi.CreateRequest{Name: "n"})
	require.NoError(t, err)
	require.Equal(t, "n", response.ID)
}

// TestAnswerOfAFailedInitialization: what it left behind has maps as a response has, and the
// error that the provider returned stays as it is.
func TestAnswerOfAFailedInitialization(t *testing.T) {
	inputs := property.Map{}
	failure := &abi.Error{Kind: abi.ErrorKindInitFailed, InitFailure: &abi.InitFailure{ID: "i", Inputs: &inputs}}
	p := abi.Intercept(failing{err: failure}, func(ctx context.Context, c *abi.Call) error {
		left, err := c.AnswerProperties(c.Do(ctx))
		require.Equal(t, 2, mark(left))
		require.Equal(t, []abi.Role{abi.RoleState, abi.RoleInputs}, []abi.Role{left[0].Role, left[1].Role})
		return err
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
	p := abi.Intercept(abi.Unimplemented{}, func(ctx context.Context, c *abi.Call) error {
		subject = c.Subject()
		return c.Do(ctx)
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
		p = abi.Intercept(p, func(ctx context.Context, c *abi.Call) error { return c.Do(ctx) })
	}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = p.Create(b.Context(), abi.CreateRequest{Name: "n"})
	}
}
