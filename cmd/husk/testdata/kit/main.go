// Command kit is a provider for the tests of the command line that is no package of
// its own: its parameter names a file with the schema of the package to become. Its
// resources are remembered in the state and nowhere else.
package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

type kit struct {
	abi.Unimplemented
	schema []byte
}

// Handshake claims to understand all that the engine does, or, where the variable
// KIT_PLAIN is set and granted, nothing but previews.
func (*kit) Handshake(_ context.Context, r abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	if _, ok := os.LookupEnv("KIT_PLAIN"); ok {
		r.Features &= abi.FeaturesPreview
	}
	return abi.HandshakeResponse{Name: "kit", Version: "1.0.0", Features: r.Features}, nil
}

// Parameterize reads the file, whose text is the value that makes the provider the
// same package again.
func (k *kit) Parameterize(_ context.Context, r abi.ParameterizeRequest) (abi.ParameterizeResponse, error) {
	k.schema = r.Parameters.Value.Value
	if r.Parameters.Case == abi.ParametersCaseArgs {
		var err error
		if k.schema, err = os.ReadFile(r.Parameters.Args[0]); err != nil {
			return abi.ParameterizeResponse{}, abi.NewError(abi.ErrorKindInvalidArgument, err.Error())
		}
	}
	var about struct{ Name, Version string }
	if err := json.Unmarshal(k.schema, &about); err != nil {
		return abi.ParameterizeResponse{}, abi.NewError(abi.ErrorKindInvalidArgument, err.Error())
	}
	return abi.ParameterizeResponse{Name: about.Name, Version: about.Version, Value: k.schema}, nil
}

func (k *kit) GetSchema(context.Context, abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	return abi.GetSchemaResponse{Schema: string(k.schema)}, nil
}

func (k *kit) Create(_ context.Context, r abi.CreateRequest) (abi.CreateResponse, error) {
	if k.schema == nil {
		return abi.CreateResponse{}, abi.NewError(abi.ErrorKindInternal, "the kit is no package yet")
	}
	if value, _ := r.Inputs.Get("value").AsString(); value == "broken" {
		return abi.CreateResponse{}, abi.NewError(abi.ErrorKindInternal, "it breaks")
	}
	state := r.Inputs
	if r.Inputs.Has("differs") {
		state = state.With("left", property.String("as made"))
	}
	return abi.CreateResponse{ID: "made-of-" + r.URN.Name(), State: state, RefreshBeforeUpdate: r.Inputs.Has("stale")}, nil
}

// Read finds what the state remembers.
func (k *kit) Read(_ context.Context, r abi.ReadRequest) (abi.ReadResponse, error) {
	if r.State == nil {
		inputs := property.NewMap(property.Entry{Key: "value", Value: property.String(r.ID)})
		return abi.ReadResponse{ID: r.ID, State: inputs, Inputs: &inputs}, nil
	}
	return abi.ReadResponse{ID: r.ID, State: *r.State, Inputs: r.Inputs, RefreshBeforeUpdate: r.State.Has("stale")}, nil
}

func (k *kit) Update(_ context.Context, r abi.UpdateRequest) (abi.UpdateResponse, error) {
	if r.Preview && r.News.Has("differs") {
		return abi.UpdateResponse{}, nil
	}
	return abi.UpdateResponse{State: r.News, RefreshBeforeUpdate: r.News.Has("stale")}, nil
}

// Diff returns what the input differs says, as JSON.
func (*kit) Diff(_ context.Context, r abi.DiffRequest) (abi.DiffResponse, error) {
	text, ok := r.News.Get("differs").AsString()
	if !ok {
		return abi.DiffResponse{}, abi.ErrUnimplemented
	}
	var answer abi.DiffResponse
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return answer, abi.NewError(abi.ErrorKindInvalidArgument, err.Error())
	}
	answer.HasDetailedDiff = len(answer.DetailedDiff) > 0
	return answer, nil
}

// Invoke returns the arguments.
func (*kit) Invoke(_ context.Context, r abi.InvokeRequest) (abi.InvokeResponse, error) {
	return abi.InvokeResponse{Result: r.Args}, nil
}

// Call returns the arguments, and what they depend on.
func (*kit) Call(_ context.Context, r abi.CallRequest) (abi.CallResponse, error) {
	return abi.CallResponse{Result: r.Args.Without("__self__"), ResultDependencies: r.ArgDependencies}, nil
}

func (k *kit) Delete(context.Context, abi.DeleteRequest) error {
	if k.schema == nil {
		return abi.NewError(abi.ErrorKindInternal, "the kit is no package")
	}
	return nil
}

// Construct makes a component whose output seen says what its inputs are. It has one
// child where the input mirror names a type: with the component's own options.
func (k *kit) Construct(ctx context.Context, r abi.ConstructRequest) (abi.ConstructResponse, error) {
	m := abi.MonitorFrom(ctx)
	own, err := m.RegisterResource(ctx, abi.RegisterResourceRequest{
		Type: r.Type, Name: r.Name, Parent: r.Parent, Inputs: r.Inputs, PropertyDependencies: r.InputDependencies,
	})
	if err != nil {
		return abi.ConstructResponse{}, err
	}
	if typ, ok := r.Inputs.Get("mirror").AsString(); ok {
		_, err := m.RegisterResource(ctx, abi.RegisterResourceRequest{
			Type: typ, Name: r.Name + "-mirror", Parent: own.URN, Custom: true, Options: r.Options,
			Inputs: r.Inputs.Without("mirror"), PropertyDependencies: r.InputDependencies,
		})
		if err != nil {
			return abi.ConstructResponse{}, err
		}
	}
	var seen []property.Value
	for name, v := range r.Inputs.All() {
		text := name + " is " + describe(v)
		for _, d := range r.InputDependencies {
			if d.Key == name && len(d.URNs) > 0 {
				text += ", and comes from " + d.URNs[0].Name()
			}
		}
		seen = append(seen, property.String(text))
	}
	state := property.NewMap(property.Entry{Key: "seen", Value: property.Array(seen...)})
	if r.Inputs.Has("use") {
		tell, err := k.useMonitor(ctx, m, own.URN, r)
		if err != nil {
			return abi.ConstructResponse{}, err
		}
		state = state.With("told", property.Object(tell))
	}
	return abi.ConstructResponse{URN: own.URN, State: state}, m.RegisterOutputs(ctx, abi.RegisterOutputsRequest{URN: own.URN, Outputs: state})
}

// describe says what a value is, without what it holds.
func describe(v property.Value) string {
	if elements, ok := v.AsArray(); ok {
		text := "a list:"
		for _, e := range elements {
			text += " " + describe(e)
		}
		return text
	}
	if o, ok := v.AsOutput(); ok {
		text := describe(o.Value)
		if o.Secret {
			text = "secret " + text
		}
		return text + " of " + urn.URN(o.Dependencies[0]).Name()
	}
	if inner, ok := v.AsSecret(); ok {
		return "secret " + describe(inner)
	}
	return v.Kind().String()
}

func main() {
	if _, ok := os.LookupEnv("KIT_TALK"); ok {
		guest.ServeProvider(talker{&kit{}})
		return
	}
	guest.ServeProvider(&kit{})
}
