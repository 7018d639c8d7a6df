// Code generated from wit/ by witgen. DO NOT EDIT.

package abi

import (
	"context"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// RegisterResourceRequest is the request of [Monitor.RegisterResource].
type RegisterResourceRequest struct {
	Type   string
	Name   string
	Parent urn.URN
	// True for a resource with a provider of its own, false for a component.
	Custom bool
	// True for a component that another provider constructs.
	Remote bool
	Inputs property.Map
	// Where empty, the dependencies are those inside `inputs`.
	PropertyDependencies []PropertyDependency
	Options              ResourceOptions
	// `file:line:column` in the program; empty where not known.
	SourcePosition string
}

// RegistrationResult says what became of a registration.
type RegistrationResult uint8

const (
	RegistrationResultSuccess RegistrationResult = iota
	// The resource failed, and the deployment goes on without it.
	RegistrationResultFailed
	// The resource was left out because something that it depends on failed.
	RegistrationResultSkipped
)

var registrationResultNames = [...]string{
	"success",
	"failed",
	"skipped",
}

// String returns the name that the contract gives the case.
func (v RegistrationResult) String() string { return caseName(registrationResultNames[:], uint8(v)) }

// RegisterResourceResponse is the response of [Monitor.RegisterResource].
type RegisterResourceResponse struct {
	URN               urn.URN
	ID                string
	State             property.Map
	StateDependencies []PropertyDependency
	Result            RegistrationResult
}

// RegisterOutputsRequest is the request of [Monitor.RegisterOutputs].
type RegisterOutputsRequest struct {
	URN     urn.URN
	Outputs property.Map
}

// ReadResourceRequest is the request of [Monitor.ReadResource].
type ReadResourceRequest struct {
	ID             string
	Type           string
	Name           string
	Parent         urn.URN
	Properties     property.Map
	Options        ResourceOptions
	SourcePosition string
}

// ReadResourceResponse is the response of [Monitor.ReadResource].
type ReadResourceResponse struct {
	URN   urn.URN
	State property.Map
}

// FunctionOptions says what a program may say about a function call beside its arguments.
type FunctionOptions struct {
	// A provider reference `<urn>::<id>`; empty chooses the parent's or the default provider.
	Provider string
	// The version of the package to use; empty for any.
	Version string
	// A package registered with `register-package`; empty for none.
	PackageRef string
	// The provider is the one that a child of this resource would use.
	Parent    urn.URN
	DependsOn []urn.URN
}

// MonitorInvokeRequest is the request of [Monitor.Invoke].
type MonitorInvokeRequest struct {
	Token   string
	Args    property.Map
	Options FunctionOptions
}

// MonitorInvokeResponse is the response of [Monitor.Invoke].
type MonitorInvokeResponse struct {
	Result   property.Map
	Failures []CheckFailure
	// True in a preview where a dependency does not exist yet: there is no result.
	Unknown bool
}

// MonitorCallRequest is the request of [Monitor.Call].
type MonitorCallRequest struct {
	Token           string
	Args            property.Map
	ArgDependencies []PropertyDependency
	Options         FunctionOptions
}

// MonitorCallResponse is the response of [Monitor.Call].
type MonitorCallResponse struct {
	Result             property.Map
	Failures           []CheckFailure
	ResultDependencies []PropertyDependency
}

// RegisterPackageRequest is the request of [Monitor.RegisterPackage].
type RegisterPackageRequest struct {
	// The module's package.
	Name    string
	Version string
	// What the provider is made into another package with; none for its own.
	Parameters *Parameters
	// What makes that package's provider serve the registered package beside its own;
	// none where it is the registered one. Resources of an extension have the provider
	// of the package that is extended.
	Extension *Parameters
}

// RegisterPackageResponse is the response of [Monitor.RegisterPackage].
type RegisterPackageResponse struct {
	PackageRef string
	Name       string
	Version    string
}

// Operation is an operation that runs while the guest goes on.
type Operation struct {
	// Case says which of the fields below counts.
	Case             OperationCase
	RegisterResource RegisterResourceRequest
	RegisterOutputs  RegisterOutputsRequest
	ReadResource     ReadResourceRequest
	Invoke           MonitorInvokeRequest
	Call             MonitorCallRequest
}

// OperationCase is the case of a [Operation].
type OperationCase uint8

const (
	OperationCaseRegisterResource OperationCase = iota
	OperationCaseRegisterOutputs
	OperationCaseReadResource
	OperationCaseInvoke
	OperationCaseCall
)

var operationCaseNames = [...]string{
	"register-resource",
	"register-outputs",
	"read-resource",
	"invoke",
	"call",
}

// String returns the name that the contract gives the case.
func (v OperationCase) String() string { return caseName(operationCaseNames[:], uint8(v)) }

// OperationHandle is an operation that was started.
type OperationHandle uint64

// Outcome says what an operation ended with.
type Outcome struct {
	// Case says which of the fields below counts.
	Case         OutcomeCase
	Registered   RegisterResourceResponse
	ResourceRead ReadResourceResponse
	Invoked      MonitorInvokeResponse
	Called       MonitorCallResponse
	Failed       *Error
}

// OutcomeCase is the case of a [Outcome].
type OutcomeCase uint8

const (
	OutcomeCaseRegistered OutcomeCase = iota
	OutcomeCaseOutputsRegistered
	OutcomeCaseResourceRead
	OutcomeCaseInvoked
	OutcomeCaseCalled
	OutcomeCaseFailed
)

var outcomeCaseNames = [...]string{
	"registered",
	"outputs-registered",
	"resource-read",
	"invoked",
	"called",
	"failed",
}

// String returns the name that the contract gives the case.
func (v OutcomeCase) String() string { return caseName(outcomeCaseNames[:], uint8(v)) }

// Completed is an operation that ended.
type Completed struct {
	Handle  OperationHandle
	Outcome Outcome
}

// Monitor is the deployment's resource monitor. It serves calls only during `construct`, `call`, and a program's `run`.
type Monitor interface {
	// Register a resource and wait until it exists in the wanted state.
	RegisterResource(ctx context.Context, request RegisterResourceRequest) (RegisterResourceResponse, error)

	// Record the outputs of a component, which ends its construction.
	RegisterOutputs(ctx context.Context, request RegisterOutputsRequest) error

	// Adopt an existing resource without managing it.
	ReadResource(ctx context.Context, request ReadResourceRequest) (ReadResourceResponse, error)

	// Call a function of a package.
	Invoke(ctx context.Context, request MonitorInvokeRequest) (MonitorInvokeResponse, error)

	// Call a method of a component.
	Call(ctx context.Context, request MonitorCallRequest) (MonitorCallResponse, error)

	// Make a parameterized package known; the returned reference goes into options. The
	// same package has the same reference.
	RegisterPackage(ctx context.Context, request RegisterPackageRequest) (RegisterPackageResponse, error)

	// Begin an operation. Independent operations run in parallel.
	Start(ctx context.Context, operation Operation) (OperationHandle, error)

	// Wait until one of the started operations ends. Each is returned once.
	Wait(ctx context.Context) (Completed, error)
}
