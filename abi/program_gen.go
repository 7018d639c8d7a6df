// Code generated from wit/ by witgen. DO NOT EDIT.

package abi

import (
	"context"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// ProgramRunRequest is the request of [Program.Run].
type ProgramRunRequest struct {
	// The engine's name and version, for messages only.
	Engine string
	// The deployment, with the stack's whole configuration. Secrets of it are in plain
	// text, and marked.
	Context RunContext
	// The stack, a component that is registered already: the parent of resources that
	// have no other.
	Stack urn.URN
}

// ProgramRunResponse is the response of [Program.Run].
type ProgramRunResponse struct {
	// The stack's outputs.
	Outputs property.Map
}

// Program says what a program does.
//
// A program is a module as a provider is, which exports this function instead, under its
// canonical-ABI name `husk:program/program@0.1.0#run`. The host calls `_initialize` first,
// then `run` once in an instance, for each preview and each update.
type Program interface {
	// Register the resources of the stack. The `monitor` import may be used. Resources that
	// are not registered are deleted, unless the function fails.
	Run(ctx context.Context, request ProgramRunRequest) (ProgramRunResponse, error)
}
