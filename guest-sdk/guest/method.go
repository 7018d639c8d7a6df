package guest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/deploy"
	"github.com/husk-dev/husk/guest-sdk/internal/dependency"
	"github.com/husk-dev/husk/guest-sdk/internal/docs"
	"github.com/husk-dev/husk/guest-sdk/internal/shape"
)

// Method is a method of a component, see [MethodOf].
type Method struct {
	name string
	// add registers the method of the component with a token.
	add func(s *server, b *shape.Builder, token string) error
}

// MethodRequest asks a component for something.
type MethodRequest[A any] struct {
	_ incomparable

	// Self is the component. Children that the method declares lie under it.
	Self urn.URN
	Args A
}

// MethodOf returns a method of a component, whose arguments and results are the fields of A and R, as
// for [ComponentOf]. Programs call it as site:index:Site/check.
func MethodOf[A, R any](name string, call func(ctx context.Context, request MethodRequest[A], d *deploy.Deployment) (R, error), options ...Option) Method {
	about := aboutOf(options)
	about.description = docs.Function(about.description, reflect.ValueOf(call))
	return Method{name: name, add: func(s *server, b *shape.Builder, token string) error {
		var args A
		var result R
		m := &method{call: func(ctx context.Context, self urn.URN, args unsafe.Pointer, d *deploy.Deployment) (unsafe.Pointer, error) {
			result, err := call(ctx, MethodRequest[A]{Self: self, Args: *(*A)(args)}, d)
			return unsafe.Pointer(&result), err
		}}
		return s.addMethod(b, token, name, &about, m, properties{typ: reflect.TypeOf(args)}, properties{typ: reflect.TypeOf(result)})
	}}
}

type method struct {
	*schema.Function
	args, result *shape.Shape
	call         func(ctx context.Context, self urn.URN, args unsafe.Pointer, d *deploy.Deployment) (unsafe.Pointer, error)
}

func (s *server) addMethod(b *shape.Builder, component, name string, about *about, m *method, args, result properties) (err error) {
	all, _ := s.composer.(*composite)
	c := all.components[component]
	token := component + "/" + name
	if name == "" || strings.ContainsAny(name, ":/") {
		return errors.New("it needs a name without : and /")
	}
	if m.Function, m.args, m.result, err = s.addFunction(b, token, about, args, result); err != nil {
		return err
	}
	at, exists := slices.BinarySearchFunc(m.Args.Properties, deploy.Self, func(p schema.Property, name string) int {
		return strings.Compare(p.Name, name)
	})
	if exists {
		return errors.New("the argument " + deploy.Self + " is the component itself, and not declared")
	}
	m.Args.Properties = shape.Insert(slices.Clone(m.Args.Properties), at, schema.Property{
		Name: deploy.Self, Type: &schema.Type{Kind: schema.KindResource, Token: c.Token}, Required: true,
	})
	at, _ = slices.BinarySearchFunc(c.Methods, name, func(m schema.Method, name string) int {
		return strings.Compare(m.Name, name)
	})
	c.Methods = shape.Insert(c.Methods, at, schema.Method{Name: name, Function: token})
	all.methods[token] = m
	return nil
}

// componentOf returns the URN of a reference to a component, which may be plain text.
func componentOf(v property.Value) urn.URN {
	v = v.Plain()
	if r, ok := v.AsReference(); ok {
		return urn.URN(r.URN)
	}
	u, _ := v.AsString()
	return urn.URN(u)
}

func (all *composite) call(ctx context.Context, s *server, request *abi.CallRequest) (abi.CallResponse, error) {
	none := abi.CallResponse{}
	m := all.methods[request.Token]
	if m == nil {
		return none, s.noSuch("method", request.Token, s.pkg.NearestFunction(request.Token))
	}
	monitor, err := monitorOf(ctx)
	if err != nil {
		return none, err
	}
	args, failures := m.Args.Check(request.Args)
	if len(failures) > 0 {
		return abi.CallResponse{Failures: failures}, nil
	}
	of := componentOf(args.Get(deploy.Self))
	args = dependent(args.Without(deploy.Self), request.ArgDependencies)
	open, err := s.takes(m.args, args)
	if err != nil {
		return none, err
	}
	if !open {
		return abi.CallResponse{Result: unknowns(&m.Result)}, nil
	}
	in, err := loaded(m.args, args)
	if err != nil {
		return none, err
	}
	ctx, leave := s.within(ctx, of, 0)
	defer leave.End()
	result, err := compose(ctx, monitor, &request.Context, of, m.result, func(d *deploy.Deployment) (unsafe.Pointer, error) {
		return m.call(ctx, of, in, d)
	})
	if err != nil {
		return none, err
	}
	return abi.CallResponse{Result: result.Lower(property.KindOutput), ResultDependencies: dependency.Of(result)}, nil
}
