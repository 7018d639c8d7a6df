// Package provider is the provider of Pulumi's dynamic resources for Node.js: it runs the functions that a program
// of Node.js made part of a resource, in a JavaScript engine of its own, and thus in the sandbox of the module.
package provider

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

const (
	name    = "pulumi-nodejs"
	version = "0.1.0"
	// code is the property with the serialized functions.
	code = "__provider"
	// unknown is how Pulumi's SDK for Node.js shows functions a value that is not known yet.
	unknown = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
)

// New returns the provider.
func New() abi.Provider {
	p := &provider{}
	// The engine starts with the instance. The first call returns its error.
	p.runner, p.err = newRunner()
	return p
}

type provider struct {
	abi.Unimplemented
	mu     sync.Mutex
	runner *runner
	err    error
	config map[string]any
}

// Handshake announces no features, as Pulumi's own provider has none: secrets come as plain values, which the
// engine marks again, and the engine answers previews.
func (p *provider) Handshake(context.Context, abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	return abi.HandshakeResponse{Name: name, Version: version, SDK: guest.SDK, Requests: []abi.CapabilityRequest{
		{Capability: "http", Reason: "for the functions of dynamic resources that call fetch; the program says which hosts", Optional: true},
	}}, nil
}

func (p *provider) CheckConfig(_ context.Context, r abi.CheckRequest) (abi.CheckResponse, error) {
	return abi.CheckResponse{Inputs: r.News}, nil
}

// DiffConfig reports that nothing needs a replacement: the configuration only reaches functions.
func (p *provider) DiffConfig(_ context.Context, r abi.DiffRequest) (abi.DiffResponse, error) {
	var d abi.DiffResponse
	d.Changes = abi.DiffChangesNone
	if !property.Object(r.OldInputs).Equal(property.Object(r.News)) {
		d.Changes = abi.DiffChangesSome
	}
	return d, nil
}

func (p *provider) Configure(_ context.Context, r abi.ConfigureRequest) error {
	config, err := object(r.Inputs)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.config = config
	return nil
}

// call calls a method of the resource's dynamic provider.
func (p *provider) call(ctx context.Context, method string, u urn.URN, id string, olds, news *property.Map, result any) error {
	request := map[string]any{"method": method, "id": id, "project": u.Project()}
	for key, m := range map[string]*property.Map{"olds": olds, "news": news} {
		values := map[string]any{}
		if m != nil {
			var err error
			if values, err = object(*m); err != nil {
				return err
			}
		}
		request[key] = values
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.config == nil {
		p.config = map[string]any{}
	}
	request["config"] = p.config
	if p.runner == nil || p.runner.stale || p.runner.js.Broken() {
		if p.runner, p.err = newRunner(); p.err != nil {
			return errorOf(p.err)
		}
	}
	text, err := p.runner.run(ctx, request)
	if err != nil {
		var f *failure
		if !errors.As(err, &f) || strings.Contains(f.Message, "out of memory") {
			p.runner = nil // its memory may be full, or its state in between
		}
		if errors.As(err, &f) && f.ID != "" && (method == "create" || method == "update") {
			state, bad := mapOf(f.Properties)
			if bad != nil {
				return bad
			}
			given := *news
			e := errorOf(err)
			e.Kind = abi.ErrorKindInitFailed
			e.InitFailure = &abi.InitFailure{ID: f.ID, State: state.With(code, given.Get(code)), Reasons: f.Reasons}
			if len(f.Reasons) == 0 {
				e.InitFailure.Reasons = []string{f.Message}
			}
			return e
		}
		return errorOf(err)
	}
	if err := json.Unmarshal(text, result); err != nil {
		return errorOf(err)
	}
	return nil
}

func (p *provider) Check(ctx context.Context, r abi.CheckRequest) (abi.CheckResponse, error) {
	var answer struct {
		Inputs   map[string]any
		Failures []struct{ Property, Reason string }
	}
	if err := p.call(ctx, "check", r.URN, "", r.Olds, &r.News, &answer); err != nil {
		return abi.CheckResponse{}, err
	}
	inputs, err := mapOf(answer.Inputs)
	response := abi.CheckResponse{Inputs: inputs}
	for _, f := range answer.Failures {
		path := f.Property
		if _, err := property.ParsePath(path); err != nil {
			path = property.Path{property.Key(path)}.String()
		}
		response.Failures = append(response.Failures, abi.CheckFailure{Path: path, Reason: f.Reason})
	}
	return response, err
}

func (p *provider) Diff(ctx context.Context, r abi.DiffRequest) (abi.DiffResponse, error) {
	var answer struct {
		Changes             *bool
		Replaces, Stables   []string
		DeleteBeforeReplace bool
	}
	if err := p.call(ctx, "diff", r.URN, r.ID, &r.Olds, &r.News, &answer); err != nil {
		return abi.DiffResponse{}, err
	}
	// What the function does not say, the inputs do. As in Pulumi, a list of what replaces the resource replaces nothing if nothing changes.
	changed := !r.OldInputs.EqualContents(r.News)
	if answer.Changes != nil {
		changed = *answer.Changes
	}
	if !changed {
		return abi.DiffResponse{Changes: abi.DiffChangesNone, StableKeys: answer.Stables}, nil
	}
	d := abi.DiffResponse{ReplaceKeys: answer.Replaces, StableKeys: answer.Stables, DeleteBeforeReplace: answer.DeleteBeforeReplace}
	if answer.Changes != nil {
		d.Changes = abi.DiffChangesSome
	}
	return d, nil
}

func (p *provider) Create(ctx context.Context, r abi.CreateRequest) (abi.CreateResponse, error) {
	var answer struct {
		ID   string
		Outs map[string]any
	}
	if err := p.call(ctx, "create", r.URN, "", nil, &r.Inputs, &answer); err != nil {
		return abi.CreateResponse{}, err
	}
	state, err := mapOf(answer.Outs)
	return abi.CreateResponse{ID: answer.ID, State: state}, err
}

func (p *provider) Read(ctx context.Context, r abi.ReadRequest) (abi.ReadResponse, error) {
	if r.State == nil || r.State.Get(code).IsNull() {
		return abi.ReadResponse{}, abi.NewError(abi.ErrorKindInvalidArgument,
			"a dynamic resource cannot be imported or read by its ID alone: its functions are in the program, and only a resource that the program has created knows them")
	}
	var answer struct {
		ID     string
		Same   bool
		Outs   map[string]any
		Inputs map[string]any
	}
	if err := p.call(ctx, "read", r.URN, r.ID, r.State, nil, &answer); err != nil {
		return abi.ReadResponse{}, err
	}
	response := abi.ReadResponse{ID: answer.ID, State: *r.State, Inputs: r.Inputs}
	if answer.Same || answer.ID == "" {
		return response, nil
	}
	var err error
	if response.State, err = mapOf(answer.Outs); err == nil && answer.Inputs != nil {
		var inputs property.Map
		inputs, err = mapOf(answer.Inputs)
		response.Inputs = &inputs
	}
	return response, err
}

func (p *provider) Update(ctx context.Context, r abi.UpdateRequest) (abi.UpdateResponse, error) {
	var answer struct{ Outs map[string]any }
	if err := p.call(ctx, "update", r.URN, r.ID, &r.Olds, &r.News, &answer); err != nil {
		return abi.UpdateResponse{}, err
	}
	state, err := mapOf(answer.Outs)
	return abi.UpdateResponse{State: state}, err
}

func (p *provider) Delete(ctx context.Context, r abi.DeleteRequest) error {
	return p.call(ctx, "delete", r.URN, r.ID, &r.State, nil, &struct{}{})
}

func (p *provider) Cancel(context.Context) error { return nil }

// object returns properties as JSON has them.
func object(m property.Map) (map[string]any, error) {
	out := make(map[string]any, m.Len())
	for key, v := range m.All() {
		plain, err := toJSON(v)
		if err != nil {
			err.Path = property.Path{property.Key(key)}.String()
			return nil, err
		}
		out[key] = plain
	}
	return out, nil
}

func toJSON(v property.Value) (any, *abi.Error) {
	v = v.Plain()
	switch v.Kind() {
	case property.KindNull:
		return nil, nil
	case property.KindUnknown:
		return unknown, nil
	case property.KindBool:
		b, _ := v.AsBool()
		return b, nil
	case property.KindNumber:
		n, _ := v.AsNumber()
		return n, nil
	case property.KindString:
		s, _ := v.AsString()
		return s, nil
	case property.KindArray:
		elements, _ := v.AsArray()
		out := make([]any, len(elements))
		for i, e := range elements {
			var err *abi.Error
			if out[i], err = toJSON(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	case property.KindObject:
		m, _ := v.AsObject()
		out, err := object(m)
		if err != nil {
			return nil, abi.AsError(err)
		}
		return out, nil
	}
	return nil, abi.NewError(abi.ErrorKindInvalidArgument, "a dynamic resource has no "+v.Kind().String()+" as a property here: give it the text, or the path, instead")
}

// mapOf returns properties from JSON.
func mapOf(m map[string]any) (property.Map, error) {
	entries := make([]property.Entry, 0, len(m))
	for key, v := range m {
		value, err := fromJSON(v)
		if err != nil {
			return property.Map{}, err
		}
		entries = append(entries, property.Entry{Key: key, Value: value})
	}
	return property.NewMap(entries...), nil
}

func fromJSON(v any) (property.Value, error) {
	switch v := v.(type) {
	case nil:
		return property.Null, nil
	case bool:
		return property.Bool(v), nil
	case float64:
		return property.Number(v), nil
	case string:
		if v == unknown {
			return property.Unknown, nil
		}
		return property.String(v), nil
	case []any:
		elements := make([]property.Value, len(v))
		for i, e := range v {
			var err error
			if elements[i], err = fromJSON(e); err != nil {
				return property.Null, err
			}
		}
		return property.Array(elements...), nil
	case map[string]any:
		m, err := mapOf(v)
		return property.Object(m), err
	}
	return property.Null, abi.NewError(abi.ErrorKindInternal, "the dynamic provider returned a value of a kind that is not known")
}
