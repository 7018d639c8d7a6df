package providers

import (
	"context"

	"github.com/husk-dev/husk/abi"
)

// Unconfigured is a provider whose configuration a preview does not know: checks pass, differences cannot
// be told, and outputs are unknown.
type Unconfigured struct{ abi.Unimplemented }

// ErrUnconfigured is the error of a provider that is not configured in a preview.
var ErrUnconfigured = abi.NewError(abi.ErrorKindUnavailable,
	"the provider's configuration holds values that are not known yet")

func (Unconfigured) Check(_ context.Context, req abi.CheckRequest) (abi.CheckResponse, error) {
	return abi.CheckResponse{Inputs: req.News}, nil
}

func (Unconfigured) Diff(context.Context, abi.DiffRequest) (abi.DiffResponse, error) {
	return abi.DiffResponse{}, ErrUnconfigured
}

func (Unconfigured) Create(context.Context, abi.CreateRequest) (abi.CreateResponse, error) {
	return abi.CreateResponse{}, nil
}

func (Unconfigured) Update(context.Context, abi.UpdateRequest) (abi.UpdateResponse, error) {
	return abi.UpdateResponse{}, nil
}

func (Unconfigured) Read(_ context.Context, req abi.ReadRequest) (abi.ReadResponse, error) {
	return abi.ReadResponse{}, ErrUnconfigured
}

func (Unconfigured) Invoke(context.Context, abi.InvokeRequest) (abi.InvokeResponse, error) {
	return abi.InvokeResponse{}, ErrUnconfigured
}

func (Unconfigured) StreamInvoke(context.Context, abi.InvokeRequest) (abi.StreamHandle, error) {
	return 0, ErrUnconfigured
}

func (Unconfigured) OpenEphemeral(context.Context, abi.OpenEphemeralRequest) (abi.OpenEphemeralResponse, error) {
	return abi.OpenEphemeralResponse{}, ErrUnconfigured
}

func (Unconfigured) RunAction(context.Context, abi.RunActionRequest) (abi.RunActionResponse, error) {
	return abi.RunActionResponse{}, nil
}
