package guest

import (
	"context"
	"reflect"
	"unsafe"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/guest-sdk/internal/shape"
)

// implementation is the author's code for a resource without its types: inputs and
// states are addresses of variables of the types that the resource's shapes know. The
// compiler makes a copy of typed for each resource, so that its methods do as little as
// they can: fill in a request, call, and pass on what comes back.
type implementation interface {
	// has reports which of the optional interfaces the author implements.
	has() capabilities

	create(ctx context.Context, request *abi.CreateRequest, inputs unsafe.Pointer) (id string, state unsafe.Pointer, err error)
	read(ctx context.Context, request *abi.ReadRequest, inputs, state unsafe.Pointer) (id string, newInputs, newState unsafe.Pointer, err error)
	update(ctx context.Context, request *abi.UpdateRequest, inputs, oldInputs, state unsafe.Pointer) (newState unsafe.Pointer, err error)
	delete(ctx context.Context, request *abi.DeleteRequest, state unsafe.Pointer) error
	check(ctx context.Context, request *abi.CheckRequest, checked property.Map, inputs, olds unsafe.Pointer) ([]CheckFailure, error)
	diff(ctx context.Context, request *abi.DiffRequest, found DiffResponse, inputs, oldInputs, state unsafe.Pointer) (DiffResponse, error)
	preview(ctx context.Context, request *abi.UpdateRequest, inputs, state unsafe.Pointer) (newState unsafe.Pointer, known []string, err error)
}

// capabilities says which optional interfaces a resource implements.
type capabilities struct {
	reads, updates, deletes, checks, diffs, previews bool
}

// typed is the implementation of a resource with inputs I and state S.
type typed[I, S any] struct {
	creator   Creator[I, S]
	reader    Reader[I, S]
	updater   Updater[I, S]
	deleter   Deleter[S]
	checker   Checker[I]
	differ    Differ[I, S]
	previewer Previewer[I, S]
}

// planOf returns what makes a resource of its types when the provider is registered.
func planOf[I, S any](creator Creator[I, S]) func(*shape.Builder, *about) (*resource, error) {
	return func(b *shape.Builder, a *about) (*resource, error) {
		t := &typed[I, S]{creator: creator}
		t.reader, _ = creator.(Reader[I, S])
		t.updater, _ = creator.(Updater[I, S])
		t.deleter, _ = creator.(Deleter[S])
		t.checker, _ = creator.(Checker[I])
		t.differ, _ = creator.(Differ[I, S])
		t.previewer, _ = creator.(Previewer[I, S])
		return describe(b, a, t, reflect.TypeFor[I](), reflect.TypeFor[S](), creator)
	}
}

func (t *typed[I, S]) has() capabilities {
	return capabilities{
		reads: t.reader != nil, updates: t.updater != nil, deletes: t.deleter != nil,
		checks: t.checker != nil, diffs: t.differ != nil, previews: t.previewer != nil,
	}
}

func (t *typed[I, S]) create(ctx context.Context, request *abi.CreateRequest, inputs unsafe.Pointer) (string, unsafe.Pointer, error) {
	response, err := t.creator.Create(ctx, CreateRequest[I]{
		URN: request.URN, Name: request.Name, Timeout: seconds(request.Timeout), Inputs: *(*I)(inputs),
	})
	return response.ID, unsafe.Pointer(&response.State), err
}

func (t *typed[I, S]) read(ctx context.Context, request *abi.ReadRequest, inputs, state unsafe.Pointer) (string, unsafe.Pointer, unsafe.Pointer, error) {
	response, err := t.reader.Read(ctx, ReadRequest[I, S]{
		URN: request.URN, Name: request.Name, ID: request.ID, Timeout: seconds(request.Timeout),
		Inputs: (*I)(inputs), State: (*S)(state),
	})
	return response.ID, unsafe.Pointer(&response.Inputs), unsafe.Pointer(&response.State), err
}

func (t *typed[I, S]) update(ctx context.Context, request *abi.UpdateRequest, inputs, oldInputs, state unsafe.Pointer) (unsafe.Pointer, error) {
	response, err := t.updater.Update(ctx, UpdateRequest[I, S]{
		URN: request.URN, Name: request.Name, ID: request.ID, Timeout: seconds(request.Timeout),
		IgnoreChanges: request.IgnoreChanges,
		Inputs:        *(*I)(inputs), OldInputs: *(*I)(oldInputs), State: *(*S)(state),
	})
	return unsafe.Pointer(&response.State), err
}

func (t *typed[I, S]) delete(ctx context.Context, request *abi.DeleteRequest, state unsafe.Pointer) error {
	return t.deleter.Delete(ctx, DeleteRequest[S]{
		URN: request.URN, Name: request.Name, ID: request.ID, Timeout: seconds(request.Timeout), State: *(*S)(state),
	})
}

func (t *typed[I, S]) check(ctx context.Context, request *abi.CheckRequest, checked property.Map, inputs, olds unsafe.Pointer) ([]CheckFailure, error) {
	return t.checker.Check(ctx, CheckRequest[I]{
		URN: request.URN, Name: request.Name, RandomSeed: request.RandomSeed, Autonaming: request.Autonaming,
		Inputs: (*I)(inputs), Olds: (*I)(olds), inputs: checked,
	})
}

func (t *typed[I, S]) diff(ctx context.Context, request *abi.DiffRequest, found DiffResponse, inputs, oldInputs, state unsafe.Pointer) (DiffResponse, error) {
	return t.differ.Diff(ctx, DiffRequest[I, S]{
		URN: request.URN, Name: request.Name, ID: request.ID, Default: found, inputs: request.News,
		Inputs: *(*I)(inputs), OldInputs: *(*I)(oldInputs), State: *(*S)(state),
	})
}

func (t *typed[I, S]) preview(ctx context.Context, request *abi.UpdateRequest, inputs, state unsafe.Pointer) (unsafe.Pointer, []string, error) {
	response, err := t.previewer.Preview(ctx, PreviewRequest[I, S]{
		URN: request.URN, Name: request.Name, ID: request.ID, Inputs: *(*I)(inputs), State: (*S)(state),
	})
	return unsafe.Pointer(&response.State), response.Known, err
}

// describe makes a resource of its types and what implements it.
func describe(b *shape.Builder, a *about, code implementation, inputs, state reflect.Type, creator any) (*resource, error) {
	can := code.has()
	if err := checkMethods(creator, can); err != nil {
		return nil, err
	}
	r := &resource{code: code, can: can}
	var err error
	if r.inputs, err = b.Inputs(inputs); err != nil {
		return nil, err
	}
	if r.state, err = b.Outputs(state); err != nil {
		return nil, err
	}
	r.Resource = &schema.Resource{
		Description: a.description, Deprecation: a.deprecation, Aliases: a.aliases,
		Inputs: *r.inputs.Object, Outputs: *r.state.Object,
		DeleteBeforeReplace: a.deleteBeforeReplace,
		SchemaCheck:         !can.checks,
		SchemaDiff:          !can.diffs,
	}
	if !can.updates {
		for i := range r.Inputs.Properties {
			r.Inputs.Properties[i].Replace = true
		}
	}
	return r, nil
}
