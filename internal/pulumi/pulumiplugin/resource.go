package pulumiplugin

import (
	"context"
	"errors"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/internal/pulumi/pulumigrpc"
	"github.com/husk-dev/husk/internal/pulumi/pulumiwire"
)

// answered reads a response, unless the call failed.
func answered[R any](method string, out pulumiwire.Message, err error, read func(pulumiwire.Message) (R, error)) (R, error) {
	var none R
	if err != nil {
		return none, err
	}
	response, err := read(out)
	if err != nil {
		return none, unreadable(method, abi.ErrorKindInternal, err)
	}
	return response, nil
}

func unreadable(method string, kind abi.ErrorKind, err error) error {
	return abi.NewError(kind, "the plugin's answer to "+method+" cannot be read: "+err.Error())
}

func (p *Plugin) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	if p.undecided.Load() {
		return abi.CheckResponse{Inputs: request.News}, nil
	}
	return p.check(ctx, "Check", request)
}

func (p *Plugin) check(ctx context.Context, method string, request abi.CheckRequest) (abi.CheckResponse, error) {
	asked := request
	asked.Olds, asked.News = p.lowerOptional(request.Olds), p.lower(request.News)
	if !p.accepted.Load().autonaming {
		asked.Autonaming = nil
	}
	out, err := p.call(ctx, method, func(in pulumiwire.Message) { pulumiwire.WriteCheck(in, asked) })
	response, err := answered(method, out, err, pulumiwire.ReadChecked)
	response.Inputs = p.mark(response.Inputs, request.News)
	return response, err
}

func (p *Plugin) Diff(ctx context.Context, request abi.DiffRequest) (abi.DiffResponse, error) {
	if p.undecided.Load() {
		return abi.DiffResponse{}, nil
	}
	return p.diff(ctx, "Diff", request)
}

func (p *Plugin) diff(ctx context.Context, method string, request abi.DiffRequest) (abi.DiffResponse, error) {
	request.Olds, request.News, request.OldInputs = p.lower(request.Olds), p.lower(request.News), p.lower(request.OldInputs)
	out, err := p.call(ctx, method, func(in pulumiwire.Message) { pulumiwire.WriteDiff(in, request) })
	if err != nil {
		return abi.DiffResponse{}, err
	}
	response := pulumiwire.ReadDifference(out)
	if response.Changes == abi.DiffChangesUnknown && request.OldInputs.EqualContents(request.News) {
		response.Changes = abi.DiffChangesNone // as Pulumi's engine has it
	}
	if response.Changes == abi.DiffChangesNone {
		return abi.DiffResponse{Changes: response.Changes, StableKeys: response.StableKeys}, nil // whatever else it answers
	}
	return response, nil
}

// cannotPreview reports whether outputs are unknown in a preview, because the plugin cannot tell them.
func (p *Plugin) cannotPreview(preview bool) bool {
	return preview && (p.undecided.Load() || !p.accepted.Load().preview)
}

func (p *Plugin) Create(ctx context.Context, request abi.CreateRequest) (abi.CreateResponse, error) {
	if p.cannotPreview(request.Preview) {
		return abi.CreateResponse{}, nil
	}
	if err := p.decided(); err != nil {
		return abi.CreateResponse{}, err
	}
	asked := request
	asked.Inputs = p.lower(request.Inputs)
	out, err := p.call(ctx, "Create", func(in pulumiwire.Message) { pulumiwire.WriteCreate(in, asked) })
	if err != nil {
		return abi.CreateResponse{}, p.markFailed(err, request.Inputs, request.Inputs)
	}
	response, faults := pulumiwire.ReadCreated(out)
	response.State = p.mark(response.State, request.Inputs)
	if request.Preview && response.ID == pulumiwire.UnknownString {
		response.ID = ""
	}
	switch {
	case len(faults) == 0:
		return response, nil
	case request.Preview:
		return abi.CreateResponse{}, unreadable("Create", abi.ErrorKindInternal, faults[0])
	case response.ID == "": // nobody knows whether there is an object
		return abi.CreateResponse{}, unreadable("Create", abi.ErrorKindCrashed, faults[0])
	}
	return abi.CreateResponse{}, pulumiwire.Unread(abi.InitFailure{
		ID: response.ID, State: response.State, RefreshBeforeUpdate: response.RefreshBeforeUpdate,
	}, faults)
}

func (p *Plugin) Read(ctx context.Context, request abi.ReadRequest) (abi.ReadResponse, error) {
	if err := p.decided(); err != nil {
		return abi.ReadResponse{}, err
	}
	if request.Inputs == nil {
		request.Inputs = request.State // Pulumi gives what a program knows of an object as both
	}
	asked := request
	asked.State, asked.Inputs = p.lowerOptional(request.State), p.lowerOptional(request.Inputs)
	out, err := p.call(ctx, "Read", func(in pulumiwire.Message) { pulumiwire.WriteRead(in, asked) })
	response, err := answered("Read", out, err, pulumiwire.ReadFound)
	var state property.Map
	if request.State != nil {
		state = *request.State
	}
	response.State = p.mark(response.State, state)
	var inputs property.Map
	if request.Inputs != nil {
		inputs = *request.Inputs
	}
	response.Inputs = p.markOptional(response.Inputs, inputs)
	return response, p.markFailed(err, state, inputs)
}

func (p *Plugin) Update(ctx context.Context, request abi.UpdateRequest) (abi.UpdateResponse, error) {
	if p.cannotPreview(request.Preview) {
		return abi.UpdateResponse{}, nil
	}
	if err := p.decided(); err != nil {
		return abi.UpdateResponse{}, err
	}
	asked := request
	asked.Olds, asked.News, asked.OldInputs = p.lower(request.Olds), p.lower(request.News), p.lower(request.OldInputs)
	out, err := p.call(ctx, "Update", func(in pulumiwire.Message) { pulumiwire.WriteUpdate(in, asked) })
	if err != nil {
		return abi.UpdateResponse{}, p.markFailed(err, request.News, request.News)
	}
	response, faults := pulumiwire.ReadUpdated(out)
	response.State = p.mark(response.State, request.News)
	switch {
	case len(faults) == 0:
		return response, nil
	case request.Preview:
		return abi.UpdateResponse{}, unreadable("Update", abi.ErrorKindInternal, faults[0])
	}
	for _, f := range faults {
		if old, ok := request.Olds.Lookup(f.Key); ok {
			response.State = response.State.With(f.Key, old)
		}
	}
	return abi.UpdateResponse{}, pulumiwire.Unread(abi.InitFailure{
		ID: request.ID, State: response.State, RefreshBeforeUpdate: response.RefreshBeforeUpdate,
	}, faults)
}

// markFailed marks the secrets in the state and in the inputs that an error holds: both are recorded.
func (p *Plugin) markFailed(err error, state, inputs property.Map) error {
	if e, ok := errors.AsType[*abi.Error](err); ok && e.InitFailure != nil {
		e.InitFailure.State = p.mark(e.InitFailure.State, state)
		e.InitFailure.Inputs = p.markOptional(e.InitFailure.Inputs, inputs)
	}
	return err
}

func (p *Plugin) markOptional(response *property.Map, request property.Map) *property.Map {
	if response == nil {
		return nil
	}
	marked := p.mark(*response, request)
	return &marked
}

func (p *Plugin) Delete(ctx context.Context, request abi.DeleteRequest) error {
	if err := p.decided(); err != nil {
		return err
	}
	request.State, request.OldInputs = p.lower(request.State), p.lower(request.OldInputs)
	_, err := p.call(ctx, "Delete", func(in pulumiwire.Message) { pulumiwire.WriteDelete(in, request) })
	return err
}

func (p *Plugin) Invoke(ctx context.Context, request abi.InvokeRequest) (abi.InvokeResponse, error) {
	if err := p.decided(); err != nil {
		return abi.InvokeResponse{}, err
	}
	asked := request
	asked.Args = p.lower(request.Args)
	out, err := p.call(ctx, "Invoke", func(in pulumiwire.Message) { pulumiwire.WriteInvoke(in, asked) })
	response, err := answered("Invoke", out, err, pulumiwire.ReadInvoked)
	response.Result = p.markAll(response.Result, request.Args)
	return response, err
}

// List collects the page that the plugin streams.
func (p *Plugin) List(ctx context.Context, request abi.ListRequest) (response abi.ListResponse, err error) {
	if err := p.decided(); err != nil {
		return response, err
	}
	request.Query = p.lower(request.Query)
	in := pulumigrpc.Request(pulumigrpc.ResourceProvider, "List")
	pulumiwire.WriteList(in, request)
	err = p.client.Stream(ctx, pulumigrpc.ResourceProvider, "List", in, func(out pulumiwire.Message) error {
		switch {
		case out.Has("result"):
			found := out.Message("result")
			response.Resources = append(response.Resources, abi.ListedResource{ID: found.Text("id"), Name: found.Text("name")})
		case out.Has("continuation"):
			response.ContinuationToken = out.Message("continuation").Text("continuation_token")
		case out.Has("computed"):
			return abi.NewError(abi.ErrorKindUnavailable, "the query holds values that are not known yet")
		}
		return nil
	})
	return response, err
}
