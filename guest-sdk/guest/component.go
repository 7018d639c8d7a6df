package guest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"unsafe"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/deploy"
	"github.com/husk-dev/husk/guest-sdk/internal/call"
	"github.com/husk-dev/husk/guest-sdk/internal/dependency"
	"github.com/husk-dev/husk/guest-sdk/internal/shape"
)

// Component is a type of component of a provider, see [ComponentOf].
type Component struct{ declaration }

// ComponentOf returns the type of component with a token, for example site:index:Site, whose inputs and
// outputs are the fields of I and S. Fields are usually of type [deploy.Out]. Other fields decide which
// children there are: they must be known and not secret. If one is unknown in a preview, the preview
// has no children.
func ComponentOf[I, S any](token string, implementation Constructor[I, S], options ...Option) Component {
	about := aboutOf(options)
	return Component{declaration{token, func(s *server, b *shape.Builder) error {
		var inputs I
		var state S
		c := &component{construct: func(ctx context.Context, r *abi.ConstructRequest, u urn.URN, in unsafe.Pointer, d *deploy.Deployment) (unsafe.Pointer, error) {
			state, err := implementation.Construct(ctx, ConstructRequest[I]{URN: u, Name: r.Name, Inputs: *(*I)(in)}, d)
			return unsafe.Pointer(&state), err
		}}
		return s.addComponent(b, token, &about, c, properties{typ: reflect.TypeOf(inputs)}, properties{typ: reflect.TypeOf(state)}, reflect.TypeOf(implementation))
	}}}
}

// With returns the component with methods.
func (c Component) With(methods ...Method) Component {
	add := c.add
	if add == nil {
		return c
	}
	c.add = func(s *server, b *shape.Builder) error {
		if err := add(s, b); err != nil {
			return err
		}
		for _, m := range methods {
			if err := m.add(s, b, c.token); err != nil {
				return errors.New("method " + m.name + ": " + err.Error())
			}
		}
		return nil
	}
	return c
}

// Constructor is the interface of every component.
type Constructor[I, S any] interface {
	// Construct declares the children and returns the outputs without waiting for any.
	Construct(ctx context.Context, request ConstructRequest[I], d *deploy.Deployment) (S, error)
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

type component struct {
	*schema.Resource
	inputs, state *shape.Shape
	construct     func(ctx context.Context, r *abi.ConstructRequest, u urn.URN, inputs unsafe.Pointer, d *deploy.Deployment) (unsafe.Pointer, error)
}

// composer serves components. It is an interface to keep its code out of modules without components.
type composer interface {
	construct(context.Context, *server, *abi.ConstructRequest) (abi.ConstructResponse, error)
	call(context.Context, *server, *abi.CallRequest) (abi.CallResponse, error)
}

// composite are the components of a provider, by token, and their methods.
type composite struct {
	components map[string]*component
	methods    map[string]*method
}

func (s *server) addComponent(b *shape.Builder, token string, about *about, c *component, inputs, state properties, documented reflect.Type) (err error) {
	all, _ := s.composer.(*composite)
	if all == nil {
		all = &composite{components: map[string]*component{}, methods: map[string]*method{}}
		s.composer = all
	}
	if c.Resource, c.inputs, c.state, err = s.addResource(b, token, about, inputs, state, documented); err != nil {
		return err
	}
	c.Resource.Component = true
	all.components[token] = c
	return nil
}

func (s *server) Construct(ctx context.Context, request abi.ConstructRequest) (abi.ConstructResponse, error) {
	s = s.of(request.Type)
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
	s = s.of(request.Token)
	if s.composer == nil {
		return s.Unimplemented.Call(ctx, request)
	}
	response, err := s.composer.call(ctx, s, &request)
	if err != nil {
		return abi.CallResponse{}, answerError(err)
	}
	return response, nil
}

// construct registers a component, runs its author's function, and registers the outputs.
func (all *composite) construct(ctx context.Context, s *server, request *abi.ConstructRequest) (abi.ConstructResponse, error) {
	none := abi.ConstructResponse{}
	c := all.components[request.Type]
	if c == nil {
		return none, s.noSuch("component", request.Type, s.pkg.NearestResource(request.Type))
	}
	monitor, err := monitorOf(ctx)
	if err != nil {
		return none, err
	}
	inputs, failures := c.Inputs.Check(request.Inputs)
	if len(failures) > 0 {
		return none, abi.NewRefusal(failures)
	}
	inputs = dependent(inputs, request.InputDependencies)
	open, err := s.takes(c.inputs, inputs)
	if err != nil {
		return none, err
	}
	in, err := loaded(c.inputs, inputs)
	if err != nil {
		return none, err
	}

	ctx, leave := s.within(ctx, "", 0)
	defer leave.End()
	own, err := monitor.RegisterResource(ctx, abi.RegisterResourceRequest{
		Type: request.Type, Name: request.Name, Parent: request.Parent, Inputs: inputs,
		PropertyDependencies: request.InputDependencies, Options: s.ownOptions(request.Options),
	})
	if err != nil {
		return none, err
	}
	ctx = call.WithURN(ctx, own.URN)

	outputs := unknowns(&c.Outputs)
	if open {
		if outputs, err = compose(ctx, monitor, &request.Context, own.URN, c.state, func(d *deploy.Deployment) (unsafe.Pointer, error) {
			return c.construct(ctx, request, own.URN, in, d)
		}); err != nil {
			return none, err
		}
	} else {
		Log(ctx).Warning("what " + request.Name + " is made of is not known in this preview, for some of its inputs are not")
	}
	if err := monitor.RegisterOutputs(ctx, abi.RegisterOutputsRequest{URN: own.URN, Outputs: outputs}); err != nil {
		return none, err
	}
	return abi.ConstructResponse{
		URN: own.URN, State: outputs.Lower(property.KindOutput), StateDependencies: dependency.Of(outputs),
	}, nil
}

func monitorOf(ctx context.Context) (abi.Monitor, error) {
	if m := callersMonitor(ctx); m != nil {
		return m, nil
	}
	return nil, abi.NewError(abi.ErrorKindInvalidArgument, "a component needs a monitor to make its children with, and the caller has none")
}

// takes reports whether variables of the shape can hold the properties: an ordinary field cannot hold
// an unknown. A secret in one is an error, because what the author computes would not be secret.
func (s *server) takes(inputs *shape.Shape, m property.Map) (bool, error) {
	if path, found := inputs.Secret(m); found {
		return false, InvalidArgument(path.String(), "the provider cannot keep this input secret: its author would have to declare it as an output")
	}
	if s.undecided.Load() {
		return false, nil
	}
	_, found := inputs.Unknown(m)
	return !found, nil
}

// ownOptions returns the component's own options. Children of its package inherit the provider.
func (s *server) ownOptions(o abi.ResourceOptions) abi.ResourceOptions {
	named := slices.ContainsFunc(o.Providers, func(p abi.PackageProvider) bool { return p.Package == s.pkg.Name })
	if o.Provider != "" && !named {
		o.Providers = append(slices.Clone(o.Providers), abi.PackageProvider{Package: s.pkg.Name, Reference: o.Provider})
	}
	o.Provider, o.Version, o.PackageRef = "", "", ""
	return o
}

// compose calls the author's function, and returns the outputs that it leads to, of the shape.
func compose(ctx context.Context, m abi.Monitor, run *abi.RunContext, parent urn.URN, outputs *shape.Shape, call func(*deploy.Deployment) (unsafe.Pointer, error)) (property.Map, error) {
	var out unsafe.Pointer
	return deploy.Run{Monitor: m, Context: run, Parent: parent}.Do(ctx,
		func(d *deploy.Deployment) (err error) { out, err = call(d); return err },
		func() (property.Map, error) { return outputs.Store(out) })
}

func unknowns(o *schema.Object) (m property.Map) {
	for i := range o.Properties {
		m = m.With(o.Properties[i].Name, property.Unknown)
	}
	return m
}

// dependent gives properties the dependencies that the caller names.
func dependent(m property.Map, dependencies []abi.PropertyDependency) property.Map {
	for _, d := range dependencies {
		if v, ok := m.Lookup(d.Key); ok {
			m = m.With(d.Key, dependency.With(v, d.URNs))
		}
	}
	return m
}
