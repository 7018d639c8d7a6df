package main

import (
	"context"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/testdata/notes"
)

// breaksHandshake: its version is not a semantic version.
type breaksHandshake struct{ *notes.Provider }

func (p breaksHandshake) Handshake(ctx context.Context, request abi.HandshakeRequest) (abi.HandshakeResponse, error) {
	response, err := p.Provider.Handshake(ctx, request)
	response.Version = "one"
	return response, err
}

// breaksSchema: its schema is another package's.
type breaksSchema struct{ *notes.Provider }

func (p breaksSchema) GetSchema(ctx context.Context, request abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	response, err := p.Provider.GetSchema(ctx, request)
	response.Schema = strings.ReplaceAll(response.Schema, "notes:", "memos:")
	return response, err
}

// breaksConfigure: it crashes on a configuration that it accepts.
type breaksConfigure struct{ *notes.Provider }

func (breaksConfigure) Configure(context.Context, abi.ConfigureRequest) error {
	panic("no reader")
}

// breaksConfigureUnknowns: it cannot be configured before everything is known.
type breaksConfigureUnknowns struct{ *notes.Provider }

func (p breaksConfigureUnknowns) Configure(ctx context.Context, request abi.ConfigureRequest) error {
	if request.Inputs.Get("reader").IsUnknown() {
		return abi.NewError(abi.ErrorKindInvalidArgument, "who reads the notes?")
	}
	return p.Provider.Configure(ctx, request)
}

// breaksUnknownTokens: it takes every type for a note.
type breaksUnknownTokens struct{ *notes.Provider }

func (p breaksUnknownTokens) Check(ctx context.Context, request abi.CheckRequest) (abi.CheckResponse, error) {
	request.Type = notes.Note
	return p.Provider.Check(ctx, request)
}

// breaksCancel: it cannot be cancelled.
type breaksCancel struct{ *notes.Provider }

func (breaksCancel) Cancel(context.Context) error {
	return abi.NewError(abi.ErrorKindInternal, "not now")
}
