package tf

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Value is an encoded value of the protocol.
type Value struct {
	MsgPack []byte
	JSON    []byte
}

// Diagnostic is an error or a warning of a provider.
type Diagnostic struct {
	Warning bool
	Summary string
	Detail  string
	// Path is the attribute that it is about, or nil.
	Path *tftypes.AttributePath
}

// Diagnostics are the errors and warnings of one call.
type Diagnostics []Diagnostic

// Schemas are the schemas of a provider.
type Schemas struct {
	Provider    *Schema
	Resources   map[string]*Schema
	DataSources map[string]*Schema
	Ephemerals  map[string]*Schema
	Actions     map[string]*Schema
	Functions   map[string]*Function
	// PlanDestroy means that the provider plans deletions, too.
	PlanDestroy bool
}

// Schema is the schema of a resource, a data source, or a configuration.
type Schema struct {
	Version     int64
	Attributes  *Attributes
	Description string
	Deprecation string
	// Identity is the type of identities of the resource, or nil.
	Identity        tftypes.Type
	IdentityVersion int64
}

// Function is a function of a provider.
type Function struct {
	Parameters []Parameter
	// Variadic is the parameter for further arguments, or nil.
	Variadic    *Parameter
	Return      tftypes.Type
	Description string
	Deprecation string
}

// Parameter is a parameter of a function.
type Parameter struct {
	Name        string
	Type        tftypes.Type
	Description string
	AllowNull   bool
}

// State is a resource as the provider sees it. A nil Value is a resource that does not exist.
type State struct {
	Value    *Value
	Private  []byte
	Identity *Value
}

// PlanRequest asks what a change of a resource would do.
type PlanRequest struct {
	Type     string
	Prior    State
	Proposed *Value
	Config   *Value
}

// PlanResponse is a planned change.
type PlanResponse struct {
	Planned State
	// Replace are the attributes whose changes replace the resource.
	Replace []*tftypes.AttributePath
}

// ApplyRequest asks for a planned change.
type ApplyRequest struct {
	Type    string
	Prior   *Value
	Planned State
	Config  *Value
}

// Imported is a resource that an import has found.
type Imported struct {
	Type string
	State
}

// Opened is an ephemeral resource that is open.
type Opened struct {
	Result  *Value
	Private []byte
	// RenewAt is when it must be renewed, zero for never.
	RenewAt time.Time
}

// FunctionError is why a function failed.
type FunctionError struct {
	Text string
	// Argument is the index of the wrong argument, or nil.
	Argument *int64
}

// Server is a provider. An error of a method is one of the protocol, as opposed to diagnostics.
type Server interface {
	Schemas(ctx context.Context) (*Schemas, Diagnostics, error)
	ValidateProvider(ctx context.Context, config *Value) (Diagnostics, error)
	Configure(ctx context.Context, config *Value, terraformVersion string) (Diagnostics, error)
	Stop(ctx context.Context) error

	ValidateResource(ctx context.Context, typ string, config *Value) (Diagnostics, error)
	UpgradeState(ctx context.Context, typ string, version int64, json []byte) (*Value, Diagnostics, error)
	UpgradeIdentity(ctx context.Context, typ string, version int64, json []byte) (*Value, Diagnostics, error)
	Read(ctx context.Context, typ string, current State) (State, Diagnostics, error)
	Plan(ctx context.Context, request PlanRequest) (PlanResponse, Diagnostics, error)
	Apply(ctx context.Context, request ApplyRequest) (State, Diagnostics, error)
	Import(ctx context.Context, typ, id string) ([]Imported, Diagnostics, error)

	ValidateDataSource(ctx context.Context, typ string, config *Value) (Diagnostics, error)
	ReadDataSource(ctx context.Context, typ string, config *Value) (*Value, Diagnostics, error)
	ValidateEphemeral(ctx context.Context, typ string, config *Value) (Diagnostics, error)
	OpenEphemeral(ctx context.Context, typ string, config *Value) (Opened, Diagnostics, error)
	// RenewEphemeral returns no result.
	RenewEphemeral(ctx context.Context, typ string, private []byte) (Opened, Diagnostics, error)
	CloseEphemeral(ctx context.Context, typ string, private []byte) (Diagnostics, error)

	ValidateAction(ctx context.Context, typ string, config *Value) (Diagnostics, error)
	PlanAction(ctx context.Context, typ string, config *Value) (Diagnostics, error)
	// InvokeAction calls progress with messages while the action runs.
	InvokeAction(ctx context.Context, typ string, config *Value, progress func(string)) (Diagnostics, error)

	CallFunction(ctx context.Context, name string, arguments []*Value) (*Value, *FunctionError, error)
}
