// Package builtin implements the package pulumi: references to other stacks, values that stay as they
// were first given, and functions that read what stacks hold. yamlprogram checks programs against its
// schema.
package builtin

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/urn"
)

// Provider serves the package. It is safe for concurrent use.
type Provider struct {
	abi.Unimplemented
	stacks     Stacks
	registered func(urn.URN) (Registered, bool)
	schema     *schema.Package
}

// Registered is a resource as the deployment knows it.
type Registered struct {
	// ID is a string, unknown in a preview that creates the resource, and empty for a component.
	ID    property.Value
	State property.Map
	// Provider is the reference of its provider, empty for a component of the program.
	Provider string
}

// New returns the provider of stack references. registered finds what the deployment registered or read.
func New(stacks Stacks, registered func(urn.URN) (Registered, bool)) *Provider {
	return &Provider{stacks: stacks, registered: registered, schema: Schema()}
}

// Handshake names no package: a state does not list the engine as a plugin.
func (p *Provider) Handshake(_ context.Context, req abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	return abi.HandshakeResponse{Features: req.Features}, nil
}

// GetSchema returns the package's schema.
func (p *Provider) GetSchema(context.Context, abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	return abi.GetSchemaResponse{Schema: string(p.schema.AppendJSON(nil))}, nil
}

// CheckConfig drops the configuration: the keys pulumi:... are the engine's own.
func (p *Provider) CheckConfig(context.Context, abi.CheckRequest) (abi.CheckResponse, error) {
	return abi.CheckResponse{}, nil
}

func (p *Provider) resource(typ string) (*schema.Resource, error) {
	if r := p.schema.Resource(typ); r != nil {
		return r, nil
	}
	return nil, noSuch("resource type", typ, p.schema.NearestResource(typ))
}

func noSuch(what, token, nearest string) error {
	message := "the engine has no built-in " + what + " " + token
	if nearest != "" {
		message += "; did you mean " + nearest + "?"
	}
	return abi.NewError(abi.ErrorKindNotFound, message)
}

// Check checks inputs against the schema.
func (p *Provider) Check(_ context.Context, req abi.CheckRequest) (abi.CheckResponse, error) {
	r, err := p.resource(req.Type)
	if err != nil {
		return abi.CheckResponse{}, err
	}
	inputs, failures := r.Inputs.Check(req.News)
	return abi.CheckResponse{Inputs: inputs, Failures: failures}, nil
}

// Diff compares the inputs, and for the same referenced stack its outputs.
func (p *Provider) Diff(ctx context.Context, req abi.DiffRequest) (abi.DiffResponse, error) {
	r, err := p.resource(req.Type)
	if err != nil {
		return abi.DiffResponse{}, err
	}
	found, err := r.Diff(req)
	if err != nil || req.Type != StackReference || found.Changes == abi.DiffChangesSome {
		return found, err
	}
	now, err := p.readStackReference(ctx, req.News)
	if err != nil {
		return abi.DiffResponse{}, err
	}
	for _, c := range property.Diff(req.Olds, now) {
		found.Changes, found.HasDetailedDiff = abi.DiffChangesSome, true
		found.DetailedDiff = append(found.DetailedDiff, abi.PropertyDiff{Path: c.Path.String(), Kind: diffKind(c.Kind)})
	}
	return found, nil
}

func diffKind(k property.ChangeKind) abi.DiffKind {
	switch k {
	case property.ChangeAdd:
		return abi.DiffKindAdd
	case property.ChangeDelete:
		return abi.DiffKindDelete
	default:
		return abi.DiffKindUpdate
	}
}

// Create makes a stash of its input, or reads the outputs of a stack.
func (p *Provider) Create(ctx context.Context, req abi.CreateRequest) (abi.CreateResponse, error) {
	var resp abi.CreateResponse
	var err error
	switch req.Type {
	case StackReference:
		resp.State, err = p.readStackReference(ctx, req.Inputs)
	case Stash:
		resp.State = stash(req.Inputs, req.Inputs.Get("input"))
	default:
		_, err = p.resource(req.Type)
	}
	if err == nil && !req.Preview {
		resp.ID = uuid.NewString()
	}
	return resp, err
}

// Update leaves what a stash holds as it is, and reads the outputs of a stack anew.
func (p *Provider) Update(ctx context.Context, req abi.UpdateRequest) (abi.UpdateResponse, error) {
	switch req.Type {
	case StackReference:
		state, err := p.readStackReference(ctx, req.News)
		return abi.UpdateResponse{State: state}, err
	case Stash:
		return abi.UpdateResponse{State: stash(req.News, req.Olds.Get("output"))}, nil
	}
	_, err := p.resource(req.Type)
	return abi.UpdateResponse{}, err
}

// stash returns the state of a stash: the input now, and the first one as its output.
func stash(inputs property.Map, output property.Value) property.Map {
	return property.NewMap(
		property.Entry{Key: "input", Value: inputs.Get("input")},
		property.Entry{Key: "output", Value: output},
	)
}

// Read reads the outputs of the stack that the state or the ID names. A stash is as it is recorded.
func (p *Provider) Read(ctx context.Context, req abi.ReadRequest) (abi.ReadResponse, error) {
	switch req.Type {
	case StackReference:
		inputs := property.NewMap(property.Entry{Key: "name", Value: property.String(req.ID)})
		if req.State != nil && req.State.Has("name") {
			inputs = inputs.With("name", req.State.Get("name"))
		}
		state, err := p.readStackReference(ctx, inputs)
		if _, gone := errors.AsType[noStack](err); gone && req.Inputs != nil { // a refresh
			return abi.ReadResponse{}, nil
		}
		return abi.ReadResponse{ID: req.ID, State: state, Inputs: &inputs}, err
	case Stash:
		if req.State == nil {
			return abi.ReadResponse{}, abi.NewError(abi.ErrorKindInvalidArgument,
				"a stash cannot be imported: it exists in the state and nowhere else")
		}
		return abi.ReadResponse{ID: req.ID, State: *req.State, Inputs: req.Inputs}, nil
	}
	_, err := p.resource(req.Type)
	return abi.ReadResponse{}, err
}

// Delete does nothing: there is nothing outside of the state.
func (p *Provider) Delete(context.Context, abi.DeleteRequest) error { return nil }

// readStackReference returns the state of a reference with these inputs.
func (p *Provider) readStackReference(ctx context.Context, inputs property.Map) (property.Map, error) {
	given := inputs.Get("name")
	outputs, secretNames := property.Unknown, property.Unknown
	var sealedNames []property.Value
	if !given.ContainsUnknowns() {
		name, err := text(inputs, "name")
		if err != nil {
			return property.Map{}, err
		}
		found, sealed, err := p.stacks.outputs(ctx, name)
		if err != nil {
			return property.Map{}, err
		}
		var names []property.Value
		for _, k := range found.Keys() {
			if found.Get(k).ContainsSecrets() {
				names = append(names, property.String(k))
			}
		}
		outputs, secretNames = property.Object(found), property.Array(names...)
		for _, path := range sealed {
			sealedNames = append(sealedNames, property.String(path))
		}
	}
	result := property.NewMap(
		property.Entry{Key: "name", Value: given},
		property.Entry{Key: "outputs", Value: outputs},
		property.Entry{Key: "secretOutputNames", Value: secretNames},
	)
	if len(sealedNames) > 0 {
		result = result.With(SealedOutputNames, property.Array(sealedNames...))
	}
	return result, nil
}

// text returns an argument that must be a text.
func text(args property.Map, key string) (string, error) {
	s, ok := args.Get(key).Plain().AsString()
	if !ok || strings.TrimSpace(s) == "" {
		e := abi.NewError(abi.ErrorKindInvalidArgument, "must be text that is not empty")
		e.Path = property.Path{property.Key(key)}.String()
		return "", e
	}
	return s, nil
}
