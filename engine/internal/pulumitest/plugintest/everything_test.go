package plugintest

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// everything is a provider with all methods that Pulumi's protocol has. It keeps the last request of each.
type everything struct {
	abi.Unimplemented
	features abi.Features

	mu       sync.Mutex
	requests map[string]any
	// began is closed when a creation waits for its cancellation.
	began chan struct{}
}

func newEverything(features abi.Features) *everything {
	return &everything{features: features, requests: map[string]any{}, began: make(chan struct{})}
}

func (e *everything) keep(method string, request any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests[method] = request
}

// last returns the last request of a method.
func last[Q any](e *everything, method string) Q {
	e.mu.Lock()
	defer e.mu.Unlock()
	q, _ := e.requests[method].(Q)
	return q
}

const schemaText = `{"name":"all","version":"1.2.3","config":{"variables":{"tags":{"type":"array","items":{"type":"string"}}}},"resources":{"all:index:Thing":{}}}`

func (e *everything) Handshake(_ context.Context, r abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	return abi.HandshakeResponse{Name: "all", Version: "1.2.3", Features: r.Features & e.features}, nil
}

func (e *everything) Parameterize(_ context.Context, r abi.ParameterizeRequest) (abi.ParameterizeResponse, error) {
	e.keep("parameterize", r)
	if r.Parameters.Case == abi.ParametersCaseArgs && len(r.Parameters.Args) == 0 {
		return abi.ParameterizeResponse{}, abi.NewError(abi.ErrorKindInvalidArgument, "give the name of a package")
	}
	name := r.Parameters.Value.Name
	if name == "" {
		name = r.Parameters.Args[0]
	}
	return abi.ParameterizeResponse{Name: name, Version: "2.0.0", Value: []byte("how to make " + name)}, nil
}

func (e *everything) GetSchema(_ context.Context, r abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	e.keep("schema", r)
	return abi.GetSchemaResponse{Schema: schemaText}, nil
}

func (e *everything) GetMapping(_ context.Context, r abi.GetMappingRequest) (abi.GetMappingResponse, error) {
	if r.Key != "terraform" {
		return abi.GetMappingResponse{}, abi.ErrNotFound
	}
	return abi.GetMappingResponse{Provider: "all", Data: []byte("{}")}, nil
}

func (e *everything) GetMappings(_ context.Context, r abi.GetMappingsRequest) (abi.GetMappingsResponse, error) {
	return abi.GetMappingsResponse{Providers: []string{r.Key + "-all"}}, nil
}

func (e *everything) CheckConfig(_ context.Context, r abi.CheckRequest) (abi.CheckResponse, error) {
	e.keep("check-config", r)
	return abi.CheckResponse{Inputs: r.News.With("added", property.Bool(true))}, nil
}

func (e *everything) DiffConfig(_ context.Context, r abi.DiffRequest) (abi.DiffResponse, error) {
	e.keep("diff-config", r)
	return abi.DiffResponse{Changes: abi.DiffChangesSome, ReplaceKeys: []string{"region"}, ChangedKeys: []string{"region"}}, nil
}

func (e *everything) Configure(_ context.Context, r abi.ConfigureRequest) error {
	e.keep("configure", r)
	if _, ok := r.Inputs.Lookup("region"); !ok {
		return &abi.Error{Kind: abi.ErrorKindInvalidArgument, Message: "keys are missing", MissingKeys: []abi.MissingKey{{Name: "region", Description: "where"}}}
	}
	return nil
}

func (e *everything) Check(_ context.Context, r abi.CheckRequest) (abi.CheckResponse, error) {
	e.keep("check", r)
	if _, ok := r.News.Lookup("bad"); ok {
		return abi.CheckResponse{Failures: []abi.CheckFailure{{Path: "bad", Reason: "it is bad"}}}, nil
	}
	return abi.CheckResponse{Inputs: r.News.With("default", property.Number(1))}, nil
}

func (e *everything) Diff(_ context.Context, r abi.DiffRequest) (abi.DiffResponse, error) {
	e.keep("diff", r)
	return abi.DiffResponse{
		Changes: abi.DiffChangesSome, HasDetailedDiff: true, DeleteBeforeReplace: true, StableKeys: []string{"stable"},
		DetailedDiff: []abi.PropertyDiff{
			{Path: `list[1]["a b"]`, Kind: abi.DiffKindUpdateReplace, InputDiff: true}, {Path: "plain", Kind: abi.DiffKindAdd},
		},
	}, nil
}

func (e *everything) Create(ctx context.Context, r abi.CreateRequest) (abi.CreateResponse, error) {
	e.keep("create", r)
	switch r.Name {
	case "partial":
		return abi.CreateResponse{}, &abi.Error{Kind: abi.ErrorKindInitFailed, Message: "not ready", InitFailure: &abi.InitFailure{
			ID: "id-1", State: r.Inputs, Inputs: &r.Inputs, Reasons: []string{"first", "second"}, RefreshBeforeUpdate: true,
		}}
	case "denied":
		return abi.CreateResponse{}, &abi.Error{Kind: abi.ErrorKindDenied, Origin: abi.ErrorOriginHost, Message: "http https://example.org is not granted"}
	case "crash":
		return abi.CreateResponse{}, abi.NewError(abi.ErrorKindCrashed, "the guest trapped")
	case "waits":
		close(e.began)
		<-ctx.Done()
		return abi.CreateResponse{}, abi.AsError(ctx.Err())
	case "asset":
		v, _ := r.Inputs.Lookup("asset")
		a, _ := v.AsAsset()
		contents, err := abi.AssetsFrom(ctx).OpenAsset(ctx, a.Hash, abi.AssetsFormBlob)
		if err != nil {
			return abi.CreateResponse{}, err
		}
		text, err := io.ReadAll(contents)
		return abi.CreateResponse{ID: "asset", State: property.NewMap(property.Entry{Key: "text", Value: property.String(string(text))})}, errors.Join(err, contents.Close())
	}
	return abi.CreateResponse{ID: "id-1", State: r.Inputs.With("created", property.Secret(property.String("s"))), RefreshBeforeUpdate: true}, nil
}

func (e *everything) Read(_ context.Context, r abi.ReadRequest) (abi.ReadResponse, error) {
	e.keep("read", r)
	switch r.ID {
	case "gone":
		return abi.ReadResponse{}, nil
	case "misled":
		return abi.ReadResponse{}, abi.ErrNotFound
	}
	if r.ID == "unread" {
		return abi.ReadResponse{}, abi.NewError(abi.ErrorKindUnimplemented, "cannot read")
	}
	inputs := property.NewMap(property.Entry{Key: "in", Value: property.Bool(true)})
	return abi.ReadResponse{ID: r.ID, State: inputs, Inputs: &inputs}, nil
}

func (e *everything) Update(_ context.Context, r abi.UpdateRequest) (abi.UpdateResponse, error) {
	e.keep("update", r)
	return abi.UpdateResponse{State: r.News}, nil
}

func (e *everything) Delete(_ context.Context, r abi.DeleteRequest) error {
	e.keep("delete", r)
	if r.ID == "misled" {
		return abi.ErrNotFound // a wrong project answers so, too: nothing says that the object is gone
	}
	return nil
}

func (e *everything) List(_ context.Context, r abi.ListRequest) (abi.ListResponse, error) {
	e.keep("list", r)
	return abi.ListResponse{Resources: []abi.ListedResource{{ID: "a", Name: "A"}, {ID: "b"}}, ContinuationToken: "next"}, nil
}

func (e *everything) Invoke(_ context.Context, r abi.InvokeRequest) (abi.InvokeResponse, error) {
	e.keep("invoke", r)
	return abi.InvokeResponse{Result: r.Args, Failures: []abi.CheckFailure{{Path: "x", Reason: "odd"}}}, nil
}

func (e *everything) Call(ctx context.Context, r abi.CallRequest) (abi.CallResponse, error) {
	e.keep("call", r)
	resp, err := abi.MonitorFrom(ctx).Invoke(ctx, abi.MonitorInvokeRequest{Token: "other:index:f", Args: r.Args})
	return abi.CallResponse{Result: resp.Result}, err
}

func (e *everything) Construct(ctx context.Context, r abi.ConstructRequest) (abi.ConstructResponse, error) {
	e.keep("construct", r)
	m := abi.MonitorFrom(ctx)
	self, err := m.RegisterResource(ctx, abi.RegisterResourceRequest{Type: r.Type, Name: r.Name, Parent: r.Parent, Options: r.Options})
	if err != nil {
		return abi.ConstructResponse{}, err
	}
	children := map[abi.OperationHandle]bool{}
	for _, name := range []string{"one", "two"} {
		handle, err := m.Start(ctx, abi.Operation{Case: abi.OperationCaseRegisterResource, RegisterResource: abi.RegisterResourceRequest{
			Type: "all:index:Thing", Name: name, Parent: self.URN, Custom: true, Inputs: r.Inputs,
		}})
		if err != nil {
			return abi.ConstructResponse{}, err
		}
		children[handle] = true
	}
	var outputs property.Map
	for range children {
		c, err := m.Wait(ctx)
		if err != nil {
			return abi.ConstructResponse{}, err
		}
		if c.Outcome.Case != abi.OutcomeCaseRegistered || !children[c.Handle] {
			return abi.ConstructResponse{}, c.Outcome.Failed
		}
		outputs = outputs.With(c.Outcome.Registered.URN.Name(), property.String(c.Outcome.Registered.ID))
	}
	if err := m.RegisterOutputs(ctx, abi.RegisterOutputsRequest{URN: self.URN, Outputs: outputs}); err != nil {
		return abi.ConstructResponse{}, err
	}
	return abi.ConstructResponse{URN: self.URN, State: outputs}, nil
}

func (e *everything) Cancel(context.Context) error {
	e.keep("cancel", true)
	return nil
}
