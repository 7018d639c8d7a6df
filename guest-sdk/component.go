package guest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/internal/docs"
	"github.com/husk-dev/husk/guest-sdk/internal/shape"
)

// Component is a type of component of a provider, see [ComponentOf].
type Component struct {
	token string
	// add registers the component. That it is a function, and not called by those who
	// have no components, keeps what components need out of their modules.
	add func(s *server, b *shape.Builder, methods []Method) error

	methods []Method
}

// ComponentOf returns the type of component with that token, for example
// site:index:Site, whose inputs and outputs are the fields of I and S: usually of type
// [Out], since values of other types must be known, and not secret, before Construct is
// called. In a preview where one is not known the component has no children.
func ComponentOf[I, S any](token string, implementation Constructor[I, S], options ...Option) Component {
	about := aboutOf(options)
	about.description = docs.Type(about.description, reflect.TypeOf(implementation))
	return Component{token: token, add: func(s *server, b *shape.Builder, methods []Method) error {
		var inputs I
		var state S
		c := &component{construct: func(ctx context.Context, r *abi.ConstructRequest, u urn.URN, in unsafe.Pointer, d *Deployment) (unsafe.Pointer, error) {
			state, err := implementation.Construct(ctx, ConstructRequest[I]{URN: u, Name: r.Name, Inputs: *(*I)(in)}, d)
			return unsafe.Pointer(&state), err
		}}
		return s.addComponent(b, token, &about, c, reflect.TypeOf(inputs), reflect.TypeOf(state), methods)
	}}
}

// With returns the component with methods.
func (c Component) With(methods ...Method) Component {
	c.methods = slices.Concat(c.methods, methods)
	return c
}

// Constructor is what every component implements.
type Constructor[I, S any] interface {
	// Construct declares the component's children and answers its outputs, without
	// waiting for any: fields of the answer may be values that come to be.
	Construct(ctx context.Context, request ConstructRequest[I], d *Deployment) (S, error)
}

// ConstructRequest asks for a component.
type ConstructRequest[I any] struct {
	_ incomparable

	// URN is the component's, which the SDK has registered.
	URN  urn.URN
	Name string
	// Inputs are checked and complete with defaults.
	Inputs I
}

// component is a registered type of component.
type component struct {
	*schema.Resource
	inputs, state *shape.Shape
	construct     func(ctx context.Context, r *abi.ConstructRequest, u urn.URN, inputs unsafe.Pointer, d *Deployment) (unsafe.Pointer, error)
}

// composer is what a provider with components has more than others: behind an interface,
// so that others do not have its code.
type composer interface {
	construct(context.Context, *server, *abi.ConstructRequest) (abi.ConstructResponse, error)
	call(context.Context, *server, *abi.CallRequest) (abi.CallResponse, error)
}

// composite are the components of a provider, by token, and their methods.
type composite struct {
	components map[string]*component
	methods    map[string]*method
}

func (s *server) addComponent(b *shape.Builder, token string, about *about, c *component, inputs, state reflect.Type, methods []Method) error {
	all, _ := s.composer.(*composite)
	if all == nil {
		all = &composite{components: map[string]*component{}, methods: map[string]*method{}}
		s.composer = all
	}
	if all.components[token] != nil || s.resources[token] != nil {
		return errors.New("it is declared twice")
	}
	if err := checkToken(s.pkg.Name, token); err != nil {
		return err
	}
	var err error
	if c.inputs, err = b.Inputs(inputs); err != nil {
		return err
	}
	if c.state, err = b.Outputs(state); err != nil {
		return err
	}
	c.Resource = &schema.Resource{
		Token: token, Description: about.description, Deprecation: about.deprecation, Aliases: about.aliases,
		Inputs: *c.inputs.Object, Outputs: *c.state.Object, Component: true,
	}
	for _, name := range [...]string{"id", "urn"} {
		if c.Outputs.Property(name) != nil {
			return errors.New(`its outputs must not have a property "` + name + `"`)
		}
	}
	all.components[token] = c
	for i := range methods {
		m := &methods[i]
		if err := m.add(s, b, token); err != nil {
			return errors.New("method " + m.name + ": " + err.Error())
		}
	}
	at, _ := slices.BinarySearchFunc(s.pkg.Resources, token, func(r *schema.Resource, token string) int {
		return strings.Compare(r.Token, token)
	})
	s.pkg.Resources = shape.Insert(s.pkg.Resources, at, c.Resource)
	return nil
}

// addOthers adds what few providers have.
func (s *server) addOthers(b *shape.Builder, p *Provider) error {
	for i := range p.Streams {
		declared := &p.Streams[i]
		if declared.add == nil {
			return errors.New("function " + declared.token + ": it was not made by guest.StreamOf")
		}
		if err := declared.add(s, b); err != nil {
			return errors.New("function " + declared.token + ": " + err.Error())
		}
	}
	for i := range p.Components {
		declared := &p.Components[i]
		if declared.add == nil {
			return errors.New("component " + declared.token + ": it was not made by guest.ComponentOf")
		}
		if err := declared.add(s, b, declared.methods); err != nil {
			return errors.New("component " + declared.token + ": " + err.Error())
		}
	}
	return nil
}

func (s *server) Construct(ctx context.Context, request abi.ConstructRequest) (abi.ConstructResponse, error) {
	if s.composer == nil {
		return s.Unimplemented.Construct(ctx, request)
	}
	response, err := s.composer.construct(ctx, s, &request)
	if err != nil {
		return abi.ConstructResponse{}, answerError(err)
	}
	return response, nil
}

func (s *server) Call(ctx context.Context, request abi.CallRequest) (abi.CallResponse, error) {
	if s.composer == nil {
		return s.Unimplemented.Call(ctx, request)
	}
	response, err := s.composer.call(ctx, s, &request)
	if err != nil {
		return abi.CallResponse{}, answerError(err)
	}
	return response, nil
}
