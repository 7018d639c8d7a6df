package main

import (
	"context"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine"
)

// cloud is an in-process provider that takes every resource to be as it is recorded.
type cloud struct{ abi.Unimplemented }

// Load implements engine.Loader.
func (c cloud) Load(context.Context, engine.PackageSpec) (abi.Provider, error) { return c, nil }

func (cloud) Handshake(_ context.Context, r abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	return abi.HandshakeResponse{Name: "bench", Version: "1.0.0", Features: r.Features}, nil
}

func (cloud) Configure(context.Context, abi.ConfigureRequest) error { return nil }

func (cloud) Check(_ context.Context, r abi.CheckRequest) (abi.CheckResponse, error) {
	return abi.CheckResponse{Inputs: r.News}, nil
}

func (cloud) Diff(context.Context, abi.DiffRequest) (abi.DiffResponse, error) {
	return abi.DiffResponse{Changes: abi.DiffChangesNone}, nil
}

func (cloud) Create(_ context.Context, r abi.CreateRequest) (abi.CreateResponse, error) {
	return abi.CreateResponse{ID: "id-of-" + r.Name, State: r.Inputs}, nil
}

func (cloud) Read(_ context.Context, r abi.ReadRequest) (abi.ReadResponse, error) {
	return abi.ReadResponse{ID: r.ID, State: *r.State, Inputs: r.Inputs}, nil
}

func (cloud) Delete(context.Context, abi.DeleteRequest) error { return nil }

func (cloud) Cancel(context.Context) error { return nil }
