package guest

import (
	"context"
	"errors"
	"slices"
	"time"
	"unsafe"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/guest-sdk/internal/shape"
)

// resource is a registered type of resource. Its methods call the author's code, and convert between
// properties and the author's types.
type resource struct {
	*schema.Resource
	inputs *shape.Shape
	state  *shape.Shape
	// copies says that a copy of the inputs' struct has nothing in common with it.
	copies bool

	code    implementation
	can     capabilities
	lister  Lister
	exister Exister
}

// loaded returns a variable of the shape's type that holds the properties.
func loaded(s *shape.Shape, m property.Map) (unsafe.Pointer, error) {
	p := s.New()
	return p, s.Load(m, p)
}

// recorded is loaded for properties of the state. If they do not fit, they are from another version of
// the provider.
func recorded(s *shape.Shape, m property.Map) (unsafe.Pointer, error) {
	p, err := loaded(s, m)
	if err == nil {
		return p, nil
	}
	e := *abi.AsError(err)
	e.Kind = abi.ErrorKindInternal
	e.Message = "the recorded value does not fit this version of the provider: " + e.Message
	return nil, &e
}

// optional is recorded for properties that may be absent; nil then.
func optional(s *shape.Shape, m *property.Map) (unsafe.Pointer, error) {
	if m == nil {
		return nil, nil
	}
	return recorded(s, *m)
}

// asState returns inputs as a state that repeats them: without secrets, and with zeros for missing
// inputs.
func (r *resource) asState(inputs property.Map) property.Map {
	state, err := loaded(r.state, inputs)
	if err != nil {
		return inputs
	}
	m, err := r.state.Store(state)
	if err != nil {
		return inputs
	}
	return m
}

// check lets the author see inputs that the schema accepts.
func (r *resource) check(ctx context.Context, request *abi.CheckRequest, inputs property.Map) (property.Map, []abi.CheckFailure, error) {
	if !r.can.checks {
		return inputs, nil, nil
	}
	in, err := loaded(r.inputs, inputs)
	if err != nil {
		return inputs, nil, err
	}
	olds, err := optional(r.inputs, request.Olds)
	if err != nil {
		olds = nil // inputs of another version of the resource do not help
	}
	failures, err := r.code.check(ctx, *request, inputs, in, olds)
	if err != nil {
		return inputs, nil, err
	}
	if r.inputs.Holds(inputs, in) {
		return inputs, failures, nil
	}
	after, err := r.inputs.Store(in)
	if err != nil {
		return inputs, nil, err
	}
	loadedAgain, err := loaded(r.inputs, inputs)
	if err != nil {
		return inputs, nil, err
	}
	before, err := r.inputs.Store(loadedAgain)
	if err != nil {
		return inputs, nil, err
	}
	return merge(inputs, before, after), failures, nil
}

func (r *resource) diff(ctx context.Context, request *abi.DiffRequest, found abi.DiffResponse) (abi.DiffResponse, error) {
	in, err := loaded(r.inputs, request.News)
	if err != nil {
		return found, err
	}
	oldInputs := in // which the author's code gets copies of
	if !request.OldInputs.Is(request.News) || !r.copies {
		if oldInputs, err = recorded(r.inputs, request.OldInputs); err != nil {
			return found, err
		}
	}
	state, err := recorded(r.state, request.Olds)
	if err != nil {
		return found, err
	}
	found.DetailedDiff = slices.Clone(found.DetailedDiff)
	return r.code.diff(ctx, *request, found, in, oldInputs, state)
}

// preview returns the outputs that the author knows beforehand, and their names.
func (r *resource) preview(ctx context.Context, request *abi.UpdateRequest) (state property.Map, known []string, err error) {
	if !r.can.previews {
		return property.Map{}, nil, nil
	}
	in, err := loaded(r.inputs, request.News)
	if err != nil {
		return property.Map{}, nil, err
	}
	var old unsafe.Pointer
	if request.ID != "" {
		if old, err = recorded(r.state, request.Olds); err != nil {
			return property.Map{}, nil, err
		}
	}
	out, known, err := r.code.preview(ctx, *request, in, old)
	if err != nil {
		return property.Map{}, nil, err
	}
	state, err = r.state.Store(out)
	return state, known, err
}

// create returns an ID and a state beside an error if the resource exists.
func (r *resource) create(ctx context.Context, request *abi.CreateRequest) (abi.CreateResponse, error) {
	in, err := loaded(r.inputs, request.Inputs)
	if err != nil {
		return abi.CreateResponse{}, err
	}
	id, out, err := r.code.create(ctx, *request, in)
	if id == "" {
		return abi.CreateResponse{}, err
	}
	state, err := r.stored(out, request.Inputs, property.Map{}, err)
	return abi.CreateResponse{ID: id, State: state}, err
}

// stored returns the state of an object that exists, beside the error that it is not healthy. If the state cannot be told, it is as the
// inputs have it, or as it was recorded, until the object is read.
func (r *resource) stored(out unsafe.Pointer, inputs, olds property.Map, err error) (property.Map, error) {
	state, wrong := r.state.Store(out)
	if wrong == nil {
		return state, err
	}
	for name, v := range inputs.All() {
		if r.Outputs.Property(name) != nil {
			olds = olds.With(name, v)
		}
	}
	if err == nil {
		err = wrong
	}
	e := abi.AsError(unhealthy(err, "", olds))
	e.InitFailure.RefreshBeforeUpdate = true
	return olds, e
}

func (r *resource) read(ctx context.Context, request *abi.ReadRequest) (abi.ReadResponse, error) {
	if !r.can.reads {
		if request.State == nil {
			return abi.ReadResponse{}, abi.NewError(abi.ErrorKindUnimplemented, "resources of this type cannot be imported")
		}
		if r.exister != nil {
			exists, err := r.exister.Exists(ctx, ExistsRequest{
				URN: request.URN, Name: request.Name, ID: request.ID, Timeout: seconds(request.Timeout),
			})
			if err != nil || !exists {
				return abi.ReadResponse{}, err
			}
		}
		return abi.ReadResponse{ID: request.ID, State: *request.State, Inputs: request.Inputs}, nil
	}
	in, err := optional(r.inputs, request.Inputs)
	if err != nil {
		return abi.ReadResponse{}, err
	}
	old, err := optional(r.state, request.State)
	if err != nil {
		return abi.ReadResponse{}, err
	}
	var before property.Map
	if in != nil {
		if before, err = r.inputs.Store(in); err != nil {
			return abi.ReadResponse{}, err
		}
	}
	id, in, out, err := r.code.read(ctx, *request, in, old)
	if err != nil {
		return abi.ReadResponse{}, err
	}
	if id == "" {
		id = request.ID
	}
	inputs, err := r.inputs.Store(in)
	if err != nil {
		return abi.ReadResponse{}, err
	}
	if request.Inputs != nil {
		inputs = merge(*request.Inputs, before, inputs)
	}
	state, err := r.state.Store(out)
	return abi.ReadResponse{ID: id, State: state, Inputs: &inputs}, err
}

// update returns a state beside an error of kind init-failed.
func (r *resource) update(ctx context.Context, request *abi.UpdateRequest) (property.Map, error) {
	if !r.can.updates {
		return property.Map{}, abi.NewError(abi.ErrorKindUnimplemented, "resources of this type cannot be changed in place, only replaced")
	}
	in, err := loaded(r.inputs, request.News)
	if err != nil {
		return property.Map{}, err
	}
	oldInputs, err := recorded(r.inputs, request.OldInputs)
	if err != nil {
		return property.Map{}, err
	}
	old, err := recorded(r.state, request.Olds)
	if err != nil {
		return property.Map{}, err
	}
	out, err := r.code.update(ctx, *request, in, oldInputs, old)
	if err != nil && !errors.Is(err, abi.ErrInitFailed) {
		return property.Map{}, err
	}
	return r.stored(out, request.News, request.Olds, err)
}

func (r *resource) delete(ctx context.Context, request *abi.DeleteRequest) error {
	if !r.can.deletes {
		return nil
	}
	state, err := recorded(r.state, request.State)
	if err != nil {
		return err
	}
	return r.code.delete(ctx, *request, state)
}

// maxTimeout is the longest timeout, in seconds: a year, far from any overflow.
const maxTimeout = 365 * 24 * 60 * 60

func seconds(s float64) time.Duration {
	if !(s > 0) {
		return 0
	}
	return time.Duration(min(s, maxTimeout) * float64(time.Second))
}
