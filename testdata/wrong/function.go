package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/testdata/notes"
)

// breaksInvoke: its function answers less than its schema says.
type breaksInvoke struct{ *notes.Provider }

func (p breaksInvoke) Invoke(ctx context.Context, request abi.InvokeRequest) (abi.InvokeResponse, error) {
	response, err := p.Provider.Invoke(ctx, request)
	response.Result = response.Result.Without("words")
	return response, err
}

// breaksInvokeArguments: its function takes arguments that it does not have.
type breaksInvokeArguments struct{ *notes.Provider }

func (p breaksInvokeArguments) Invoke(ctx context.Context, request abi.InvokeRequest) (abi.InvokeResponse, error) {
	if f := notes.Schema.Function(request.Token); f != nil {
		for _, name := range request.Args.Keys() {
			if f.Args.Property(name) == nil {
				request.Args = request.Args.Without(name)
			}
		}
	}
	return p.Provider.Invoke(ctx, request)
}

// breaksInvokePreview: its function fails in a preview.
type breaksInvokePreview struct{ *notes.Provider }

func (p breaksInvokePreview) Invoke(ctx context.Context, request abi.InvokeRequest) (abi.InvokeResponse, error) {
	if request.Preview {
		return abi.InvokeResponse{}, abi.NewError(abi.ErrorKindUnavailable, "there are no previews")
	}
	return p.Provider.Invoke(ctx, request)
}

// breaksInvokeSecrets: its function answers a secret argument in plain.
type breaksInvokeSecrets struct{ *notes.Provider }

func (p breaksInvokeSecrets) Invoke(ctx context.Context, request abi.InvokeRequest) (abi.InvokeResponse, error) {
	response, err := p.Provider.Invoke(ctx, request)
	response.Result = response.Result.Unwrap()
	return response, err
}

// breaksStream: it cannot close a stream.
type breaksStream struct{ *notes.Provider }

func (breaksStream) StreamClose(context.Context, abi.StreamHandle) error {
	return abi.NewError(abi.ErrorKindNotFound, "there is no such stream")
}

// breaksEphemeral: it cannot renew what it has opened for a while.
type breaksEphemeral struct{ *notes.Provider }

func (p breaksEphemeral) RenewEphemeral(context.Context, abi.RenewEphemeralRequest) (abi.RenewEphemeralResponse, error) {
	return abi.RenewEphemeralResponse{}, abi.NewError(abi.ErrorKindInvalidArgument, "nobody has the key")
}

// breaksAction: its action takes arguments that it does not have.
type breaksAction struct{ *notes.Provider }

func (p breaksAction) RunAction(ctx context.Context, request abi.RunActionRequest) (abi.RunActionResponse, error) {
	if request.Token == notes.Tidy {
		return abi.RunActionResponse{}, nil
	}
	return p.Provider.RunAction(ctx, request)
}

// breaksExists: it forgets no note.
type breaksExists struct{ *notes.Provider }

func (p breaksExists) Exists(context.Context, abi.ExistsRequest) (abi.ExistsResponse, error) {
	return abi.ExistsResponse{Exists: true}, nil
}
