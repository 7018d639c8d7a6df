package guest

import (
	"context"
	"reflect"
	"unsafe"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// implementation is the author's code for a resource without its types: inputs and states are addresses
// of variables of the shapes' types. The compiler copies typed for each resource, with names that have
// all fields and tags: its functions are few, and only fill in a request and call.
type implementation interface {
	create(ctx context.Context, request abi.CreateRequest, inputs unsafe.Pointer) (id string, state unsafe.Pointer, err error)
	read(ctx context.Context, request abi.ReadRequest, inputs, state unsafe.Pointer) (id string, newInputs, newState unsafe.Pointer, err error)
	update(ctx context.Context, request abi.UpdateRequest, inputs, oldInputs, state unsafe.Pointer) (newState unsafe.Pointer, err error)
	delete(ctx context.Context, request abi.DeleteRequest, state unsafe.Pointer) error
	check(ctx context.Context, request abi.CheckRequest, checked property.Map, inputs, olds unsafe.Pointer) ([]CheckFailure, error)
	diff(ctx context.Context, request abi.DiffRequest, found DiffResponse, inputs, oldInputs, state unsafe.Pointer) (DiffResponse, error)
	preview(ctx context.Context, request abi.UpdateRequest, inputs, state unsafe.Pointer) (newState unsafe.Pointer, known []string, err error)
}

// capabilities marks the optional interfaces that a resource implements.
type capabilities struct {
	reads, updates, deletes, checks, diffs, previews, lists, exists bool
}

// typed is the implementation of a resource with inputs I and state S.
type typed[I, S any] struct {
	_ incomparable

	creator   Creator[I, S]
	reader    Reader[I, S]
	updater   Updater[I, S]
	deleter   Deleter[S]
	checker   Checker[I]
	differ    Differ[I, S]
	previewer Previewer[I, S]
}

func typedResource[I, S any](token string, creator Creator[I, S], a about) Resource {
	t := &typed[I, S]{creator: creator}
	var can capabilities
	t.reader, can.reads = creator.(Reader[I, S])
	t.updater, can.updates = creator.(Updater[I, S])
	t.deleter, can.deletes = creator.(Deleter[S])
	t.checker, can.checks = creator.(Checker[I])
	t.differ, can.diffs = creator.(Differ[I, S])
	t.previewer, can.previews = creator.(Previewer[I, S])
	lister, _ := creator.(Lister)
	can.lists = lister != nil
	exister, _ := creator.(Exister)
	can.exists = exister != nil
	in, out := properties{}, properties{}
	if a.resource != nil {
		in.described, out.described = &a.resource.Inputs, &a.resource.Outputs
	} else {
		var inputs I
		var state S
		in.typ, out.typ = reflect.TypeOf(inputs), reflect.TypeOf(state)
	}
	return newResource(token, a, in, out, resource{code: t, can: can, lister: lister, exister: exister}, creator)
}

func (t *typed[I, S]) create(ctx context.Context, request abi.CreateRequest, inputs unsafe.Pointer) (string, unsafe.Pointer, error) {
	response, err := t.creator.Create(ctx, CreateRequest[I]{
		URN: request.URN, Name: request.Name, Timeout: seconds(request.Timeout), Inputs: *(*I)(inputs),
	})
	return response.ID, unsafe.Pointer(&response.State), err
}

func (t *typed[I, S]) read(ctx context.Context, request abi.ReadRequest, inputs, state unsafe.Pointer) (string, unsafe.Pointer, unsafe.Pointer, error) {
	response, err := t.reader.Read(ctx, ReadRequest[I, S]{
		URN: request.URN, Name: request.Name, ID: request.ID, Timeout: seconds(request.Timeout),
		Inputs: (*I)(inputs), State: (*S)(state),
	})
	return response.ID, unsafe.Pointer(&response.Inputs), unsafe.Pointer(&response.State), err
}

func (t *typed[I, S]) update(ctx context.Context, request abi.UpdateRequest, inputs, oldInputs, state unsafe.Pointer) (unsafe.Pointer, error) {
	response, err := t.updater.Update(ctx, UpdateRequest[I, S]{
		URN: request.URN, Name: request.Name, ID: request.ID, Timeout: seconds(request.Timeout),
		IgnoreChanges: request.IgnoreChanges,
		Inputs:        *(*I)(inputs), OldInputs: *(*I)(oldInputs), State: *(*S)(state),
	})
	return unsafe.Pointer(&response.State), err
}

func (t *typed[I, S]) delete(ctx context.Context, request abi.DeleteRequest, state unsafe.Pointer) error {
	return t.deleter.Delete(ctx, DeleteRequest[S]{
		URN: request.URN, Name: request.Name, ID: request.ID, Timeout: seconds(request.Timeout), State: *(*S)(state),
	})
}

func (t *typed[I, S]) check(ctx context.Context, request abi.CheckRequest, checked property.Map, inputs, olds unsafe.Pointer) ([]CheckFailure, error) {
	return t.checker.Check(ctx, CheckRequest[I]{
		URN: request.URN, Name: request.Name, RandomSeed: request.RandomSeed, Autonaming: request.Autonaming,
		Inputs: (*I)(inputs), Olds: (*I)(olds), inputs: checked,
	})
}

func (t *typed[I, S]) diff(ctx context.Context, request abi.DiffRequest, found DiffResponse, inputs, oldInputs, state unsafe.Pointer) (DiffResponse, error) {
	return t.differ.Diff(ctx, DiffRequest[I, S]{
		URN: request.URN, Name: request.Name, ID: request.ID, Default: found, inputs: request.News,
		Inputs: *(*I)(inputs), OldInputs: *(*I)(oldInputs), State: *(*S)(state),
	})
}

func (t *typed[I, S]) preview(ctx context.Context, request abi.UpdateRequest, inputs, state unsafe.Pointer) (unsafe.Pointer, []string, error) {
	response, err := t.previewer.Preview(ctx, PreviewRequest[I, S]{
		URN: request.URN, Name: request.Name, ID: request.ID, Inputs: *(*I)(inputs), State: (*S)(state),
	})
	return unsafe.Pointer(&response.State), response.Known, err
}
