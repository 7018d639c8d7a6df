package main

import (
	"context"
	"strconv"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/testdata/notes"
)

// breaksConstruct: its component has a child that is not below it.
type breaksConstruct struct{ *notes.Provider }

// loose registers what lies below something as if it did not.
type loose struct{ abi.Monitor }

func (m loose) RegisterResource(ctx context.Context, request abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	request.Parent = ""
	return m.Monitor.RegisterResource(ctx, request)
}

func (p breaksConstruct) Construct(ctx context.Context, request abi.ConstructRequest) (abi.ConstructResponse, error) {
	return p.Provider.Construct(abi.WithMonitor(ctx, loose{abi.MonitorFrom(ctx)}), request)
}

// breaksConstructDeterministic: its component has other children each time.
type breaksConstructDeterministic struct {
	*notes.Provider
	children int
}

// counting numbers the children of all components.
type counting struct {
	abi.Monitor
	children *int
}

func (m counting) RegisterResource(ctx context.Context, request abi.RegisterResourceRequest) (abi.RegisterResourceResponse, error) {
	if request.Custom {
		*m.children++
		request.Name += "-" + strconv.Itoa(*m.children)
	}
	return m.Monitor.RegisterResource(ctx, request)
}

func (p *breaksConstructDeterministic) Construct(ctx context.Context, request abi.ConstructRequest) (abi.ConstructResponse, error) {
	return p.Provider.Construct(abi.WithMonitor(ctx, counting{abi.MonitorFrom(ctx), &p.children}), request)
}

// breaksConstructUnknowns: its component cannot be previewed before its title is known.
type breaksConstructUnknowns struct{ *notes.Provider }

func (p breaksConstructUnknowns) Construct(ctx context.Context, request abi.ConstructRequest) (abi.ConstructResponse, error) {
	if request.Inputs.Get("title").IsUnknown() {
		return abi.ConstructResponse{}, abi.NewError(abi.ErrorKindInvalidArgument, "a pad needs a title")
	}
	return p.Provider.Construct(ctx, request)
}

// breaksConstructSecrets: its component forgets that an input is secret.
type breaksConstructSecrets struct{ *notes.Provider }

func (p breaksConstructSecrets) Construct(ctx context.Context, request abi.ConstructRequest) (abi.ConstructResponse, error) {
	request.Inputs = request.Inputs.Unwrap()
	return p.Provider.Construct(ctx, request)
}

// breaksConstructInputs: its component takes inputs that it does not have.
type breaksConstructInputs struct{ *notes.Provider }

func (p breaksConstructInputs) Construct(ctx context.Context, request abi.ConstructRequest) (abi.ConstructResponse, error) {
	if r := notes.Schema.Resource(request.Type); r != nil {
		for _, name := range request.Inputs.Keys() {
			if r.Inputs.Property(name) == nil {
				request.Inputs = request.Inputs.Without(name)
			}
		}
	}
	return p.Provider.Construct(ctx, request)
}
