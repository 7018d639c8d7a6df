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
