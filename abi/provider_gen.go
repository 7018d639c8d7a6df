// Code generated from wit/ by witgen. DO NOT EDIT.

package abi

import (
	"context"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// Features says what the two sides understand. The effective set is the intersection.
type Features uint32

const (
	// Secret values are passed as such. Without it the host unwraps them and
	// marks the results again, except in `construct` and `call`: what a component
	// makes of a secret is known to nobody else.
	FeaturesSecrets Features = 1 << iota
	// Resource references are passed as such. Without it the provider sees the
	// referenced resource's ID, or its URN where it has none.
	FeaturesResourceReferences
	// Values carry the resources that they depend on.
	FeaturesOutputs
	// `check` understands `autonaming`.
	FeaturesAutonaming
	// `create` and `update` can be called with `preview`. Without it the host
	// serves a preview itself, with unknown outputs.
	FeaturesPreview
	// The schema of some resource has write-only inputs, which are passed to the provider and
	// never recorded. Since 0.2.0.
	FeaturesWriteOnly
	// `diff` can ask for a `read` first, by the answer `outdated`. A host offers it to modules that
	// export a function `husk:feature/read-first`, which are newer than the first ones of 0.2.0.
	FeaturesReadFirst
)

// HandshakeRequest is the request of [Provider.Handshake].
type HandshakeRequest struct {
	// The engine's name and version, for messages only.
	Engine   string
	Features Features
}

// CapabilityRequest is a capability that the provider asks its operator for. Asking grants nothing.
type CapabilityRequest struct {
	// Its name: `fs`, `env`, `http`, `tcp`, `kv`.
	Capability string
	// What of it, as a grant has it: a directory, a variable, a URL, a host and port.
	// Empty where only the configuration or the program tells.
	Scope string
	// What for, for people.
	Reason string
	// The provider is of use without it. Otherwise a host may refuse to run it.
	Optional bool
}

// HandshakeResponse is the response of [Provider.Handshake].
type HandshakeResponse struct {
	// The package's name, for example `random`.
	Name string
	// The package's semantic version.
	Version string
	// The SDK and its version, for messages only.
	SDK      string
	Features Features
	Requests []CapabilityRequest
}

// ParameterValue is a parameterization as `parameterize` answered it.
type ParameterValue struct {
	Name    string
	Version string
	// Bytes that only the provider understands.
	Value []byte
}

// Parameters says how a provider is made into another package.
type Parameters struct {
	// Case says which of the fields below counts.
	Case ParametersCase
	// Words from a command line.
	Args []string
	// The value of an earlier parameterization, kept in an SDK or in a state.
	Value ParameterValue
}

// ParametersCase is the case of a [Parameters].
type ParametersCase uint8

const (
	// Words from a command line.
	ParametersCaseArgs ParametersCase = iota
	// The value of an earlier parameterization, kept in an SDK or in a state.
	ParametersCaseValue
)

var parametersCaseNames = [...]string{
	"args",
	"value",
}

// String returns the name that the contract gives the case.
func (v ParametersCase) String() string { return caseName(parametersCaseNames[:], uint8(v)) }

// ParameterizeRequest is the request of [Provider.Parameterize].
type ParameterizeRequest struct {
	Parameters Parameters
	// False: the provider becomes the package that it returns, once, before anything else. True:
	// it serves the package beside its own. That may come any number of times, even after
	// `configure`, and never changes earlier packages; the configuration is the provider's.
	// Tokens of the package's types and functions begin with its name.
	Extension bool
}

// ParameterizeResponse is the response of [Provider.Parameterize].
type ParameterizeResponse struct {
	Name    string
	Version string
	// What to pass as a value to get the same parameterization again.
	Value []byte
}

// GetSchemaRequest is the request of [Provider.GetSchema].
type GetSchemaRequest struct {
	// Version of the schema format; 0 is the only one.
	Version uint32
	// The extension package whose schema is asked for; empty for the provider's own.
	SubpackageName    string
	SubpackageVersion string
}

// GetSchemaResponse is the response of [Provider.GetSchema].
type GetSchemaResponse struct {
	// Package schema as JSON (Pulumi's metaschema).
	Schema string
}

// GetMappingRequest is the request of [Provider.GetMapping].
type GetMappingRequest struct {
	// The source ecosystem, for example `terraform`.
	Key string
	// The source provider; empty for the only or best one.
	Provider string
}

// GetMappingResponse is the response of [Provider.GetMapping].
type GetMappingResponse struct {
	Provider string
	Data     []byte
}

// GetMappingsRequest is the request of [Provider.GetMappings].
type GetMappingsRequest struct {
	Key string
}

// GetMappingsResponse is the response of [Provider.GetMappings].
type GetMappingsResponse struct {
	Providers []string
}

// ConfigureRequest is the request of [Provider.Configure].
type ConfigureRequest struct {
	URN  urn.URN
	Name string
	Type string
	ID   string
	// The checked configuration. In a preview it may hold unknowns.
	Inputs property.Map
}

// AutonamingMode says how binding a proposed name is.
type AutonamingMode uint8

const (
	// Use the proposed name if it fits.
	AutonamingModePropose AutonamingMode = iota
	// Use exactly the proposed name or fail.
	AutonamingModeEnforce
	// The user must name the resource.
	AutonamingModeDisable
)

var autonamingModeNames = [...]string{
	"propose",
	"enforce",
	"disable",
}

// String returns the name that the contract gives the case.
func (v AutonamingMode) String() string { return caseName(autonamingModeNames[:], uint8(v)) }

// Autonaming is a name that the user's naming policy proposes for the physical resource.
type Autonaming struct {
	ProposedName string
	Mode         AutonamingMode
}

// CheckRequest is the request of [Provider.CheckConfig] and [Provider.Check].
type CheckRequest struct {
	URN  urn.URN
	Name string
	Type string
	// The last checked inputs, where there are any.
	Olds *property.Map
	News property.Map
	// 32 bytes from which generated defaults are drawn, so that a saved plan
	// gives the same ones again.
	RandomSeed []byte
	Autonaming *Autonaming
}

// CheckResponse is the response of [Provider.CheckConfig] and [Provider.Check].
type CheckResponse struct {
	// The inputs with defaults applied; of no meaning if there are failures.
	Inputs   property.Map
	Failures []CheckFailure
}

// DiffChanges says whether anything differs.
type DiffChanges uint8

const (
	// The provider cannot tell: the caller compares old and new inputs.
	DiffChangesUnknown DiffChanges = iota
	DiffChangesNone
	DiffChangesSome
	// Another version of the provider made the recorded state: the caller reads the resource, and
	// asks again with what it has read. Only with the feature `read-first`. Since 0.2.0.
	DiffChangesOutdated
)

var diffChangesNames = [...]string{
	"unknown",
	"none",
	"some",
	"outdated",
}

// String returns the name that the contract gives the case.
func (v DiffChanges) String() string { return caseName(diffChangesNames[:], uint8(v)) }

// DiffKind says how a property differs, and whether that replaces the resource.
type DiffKind uint8

const (
	DiffKindAdd DiffKind = iota
	DiffKindAddReplace
	DiffKindDelete
	DiffKindDeleteReplace
	DiffKindUpdate
	DiffKindUpdateReplace
)

var diffKindNames = [...]string{
	"add",
	"add-replace",
	"delete",
	"delete-replace",
	"update",
	"update-replace",
}

// String returns the name that the contract gives the case.
func (v DiffKind) String() string { return caseName(diffKindNames[:], uint8(v)) }

// PropertyDiff is a property that differs. A path is there once. The elements of a set go and come: one that is added
// at an index where the old list has one that the new list lacks replaces that one.
type PropertyDiff struct {
	Path string
	Kind DiffKind
	// True: the old value is in the old inputs. False: it is in the old state.
	InputDiff bool
}

// DiffRequest is the request of [Provider.DiffConfig] and [Provider.Diff].
type DiffRequest struct {
	URN  urn.URN
	Name string
	Type string
	ID   string
	// The last recorded state (outputs).
	Olds property.Map
	// The checked inputs; in a preview they may hold unknowns.
	News property.Map
	// The inputs that the last recorded state was made from.
	OldInputs     property.Map
	IgnoreChanges []string
}

// DiffResponse is the response of [Provider.DiffConfig] and [Provider.Diff].
type DiffResponse struct {
	Changes DiffChanges
	// Whether `detailed-diff` is filled; without it the keys below count.
	HasDetailedDiff     bool
	DetailedDiff        []PropertyDiff
	DeleteBeforeReplace bool
	// Top-level inputs whose change replaces the resource.
	ReplaceKeys []string
	// Top-level properties that are sure not to change.
	StableKeys []string
	// Top-level inputs that changed.
	ChangedKeys []string
}

// CreateRequest is the request of [Provider.Create].
type CreateRequest struct {
	URN    urn.URN
	Name   string
	Type   string
	Inputs property.Map
	// Seconds; 0 for the provider's default.
	Timeout float64
	// Compute the outputs without creating anything.
	Preview bool
}

// CreateResponse is the response of [Provider.Create].
type CreateResponse struct {
	// Must not be empty, except in a preview.
	ID    string
	State property.Map
	// Ask for a refresh of the resource before each later update.
	RefreshBeforeUpdate bool
}

// ReadRequest is the request of [Provider.Read].
type ReadRequest struct {
	URN  urn.URN
	Name string
	Type string
	ID   string
	// The last recorded state; absent in an import.
	State *property.Map
	// The last recorded inputs; present in a refresh only.
	Inputs  *property.Map
	Timeout float64
}

// ReadResponse is the response of [Provider.Read].
type ReadResponse struct {
	// Empty: the resource does not exist.
	ID    string
	State property.Map
	// Required for an import.
	Inputs              *property.Map
	RefreshBeforeUpdate bool
}

// UpdateRequest is the request of [Provider.Update].
type UpdateRequest struct {
	URN  urn.URN
	Name string
	Type string
	ID   string
	// The last recorded state.
	Olds property.Map
	// The checked inputs.
	News          property.Map
	OldInputs     property.Map
	IgnoreChanges []string
	Timeout       float64
	Preview       bool
}

// UpdateResponse is the response of [Provider.Update].
type UpdateResponse struct {
	State               property.Map
	RefreshBeforeUpdate bool
}

// DeleteRequest is the request of [Provider.Delete].
type DeleteRequest struct {
	URN       urn.URN
	Name      string
	Type      string
	ID        string
	State     property.Map
	OldInputs property.Map
	Timeout   float64
}

// ListRequest is the request of [Provider.List].
type ListRequest struct {
	// The resource type.
	Token string
	Query property.Map
	// At most so many in all; 0 for no limit.
	Limit uint64
	// At most so many in one response; 0 for the provider's choice.
	PageSize uint64
	// From the previous response; empty for the first page.
	ContinuationToken string
}

// ListedResource is an existing resource that `list` found.
type ListedResource struct {
	// An ID that can be imported.
	ID   string
	Name string
}

// ListResponse is the response of [Provider.List].
type ListResponse struct {
	Resources []ListedResource
	// Empty after the last page.
	ContinuationToken string
}

// InvokeRequest is the request of [Provider.Invoke] and [Provider.StreamInvoke].
type InvokeRequest struct {
	Token string
	Args  property.Map
	// True in a preview.
	Preview bool
}

// InvokeResponse is the response of [Provider.Invoke].
type InvokeResponse struct {
	Result   property.Map
	Failures []CheckFailure
}

// OpenEphemeralRequest is the request of [Provider.OpenEphemeral].
type OpenEphemeralRequest struct {
	// A function whose schema says that it is ephemeral.
	Token string
	Args  property.Map
	// True in a preview.
	Preview bool
}

// OpenEphemeralResponse is the response of [Provider.OpenEphemeral].
type OpenEphemeralResponse struct {
	// The value. It is never recorded.
	Result   property.Map
	Failures []CheckFailure
	// Bytes for `renew-ephemeral` and `close-ephemeral` that only the provider understands.
	Private []byte
	// Seconds until the value must be renewed; 0 for never.
	RenewAfter float64
}

// RenewEphemeralRequest is the request of [Provider.RenewEphemeral].
type RenewEphemeralRequest struct {
	Token string
	// From the response that came before.
	Private []byte
}

// RenewEphemeralResponse is the response of [Provider.RenewEphemeral].
type RenewEphemeralResponse struct {
	// In place of the earlier bytes.
	Private []byte
	// Seconds until the value must be renewed again; 0 for never.
	RenewAfter float64
}

// CloseEphemeralRequest is the request of [Provider.CloseEphemeral].
type CloseEphemeralRequest struct {
	Token string
	// From the last response.
	Private []byte
}

// RunActionRequest is the request of [Provider.RunAction].
type RunActionRequest struct {
	// A function whose schema says that it is an action.
	Token string
	Args  property.Map
	// True in a preview: check the arguments, and change nothing.
	Preview bool
}

// RunActionResponse is the response of [Provider.RunAction].
type RunActionResponse struct {
	Failures []CheckFailure
}

// ExistsRequest is the request of [Provider.Exists].
type ExistsRequest struct {
	URN  urn.URN
	Name string
	Type string
	ID   string
	// The last recorded state; absent if there is none.
	State   *property.Map
	Timeout float64
}

// ExistsResponse is the response of [Provider.Exists].
type ExistsResponse struct {
	Exists bool
}

// StreamHandle is a stream of results, pulled one by one: nothing is computed before it is asked for.
type StreamHandle uint64

// StreamItem is a result of a stream, or its end.
type StreamItem struct {
	// Absent after the last result; the stream is then closed.
	Result *property.Map
}

// CallRequest is the request of [Provider.Call].
type CallRequest struct {
	Token           string
	Args            property.Map
	ArgDependencies []PropertyDependency
	Context         RunContext
}

// CallResponse is the response of [Provider.Call].
type CallResponse struct {
	Result             property.Map
	Failures           []CheckFailure
	ResultDependencies []PropertyDependency
}

// ConstructRequest is the request of [Provider.Construct].
type ConstructRequest struct {
	Type              string
	Name              string
	Parent            urn.URN
	Inputs            property.Map
	InputDependencies []PropertyDependency
	Options           ResourceOptions
	Context           RunContext
}

// ConstructResponse is the response of [Provider.Construct].
type ConstructResponse struct {
	URN               urn.URN
	State             property.Map
	StateDependencies []PropertyDependency
}

// Provider says what a provider does. It has the methods of Pulumi's provider protocol, with typed requests
// and errors.
//
// A provider is a core WebAssembly module, a WASI preview 1 reactor, that exports these
// functions under their canonical-ABI names, such as `husk:provider/provider@0.2.0#check`,
// together with `memory`, `cabi_realloc`, and a `cabi_post_` function for each. The version in
// these names is the ABI version: a host reads it without running any code. A host also runs
// modules of earlier versions, with the exports and imports of their time; `@since` marks
// additions after 0.1.0.
//
// The host calls `_initialize` first, then `handshake`, then `parameterize` if the program asks
// for it, then `configure`; `get-schema`, `check-config` and `diff-config` may come before
// `configure`. An instance serves one call at a time. A host may run several instances of one
// configuration, and may discard an instance between any two calls: do not keep state in an
// instance's memory.
//
// Annotations in the comments below guide hosts and engines. The `@kind` of a function is the
// kind of its calls: a call `asks` for an answer that follows from the request and the module
// alone, `reads` existing objects, `changes` something, or `sets-up` the instance. A call is
// `@about` the package, the configuration, a resource, a function, or a component. The `@role`
// of properties in a request says that they are `new` values, or the resource's `old-inputs` or
// `old-state`; in a response, that they are `checked` inputs, the `inputs` or `state` of an
// existing object, or the `result` of a function.
type Provider interface {
	// The first call: who are you, and what do you understand?
	Handshake(ctx context.Context, request HandshakeRequest) (HandshakeResponse, error)

	// Make the provider into (or let it serve) another package.
	Parameterize(ctx context.Context, request ParameterizeRequest) (ParameterizeResponse, error)

	// The package's schema.
	GetSchema(ctx context.Context, request GetSchemaRequest) (GetSchemaResponse, error)

	// How names of another ecosystem map to this package's.
	GetMapping(ctx context.Context, request GetMappingRequest) (GetMappingResponse, error)

	// The source providers that `get-mapping` knows for an ecosystem.
	GetMappings(ctx context.Context, request GetMappingsRequest) (GetMappingsResponse, error)

	// Validate configuration and apply defaults.
	CheckConfig(ctx context.Context, request CheckRequest) (CheckResponse, error)

	// Can the new configuration manage what the old one made?
	DiffConfig(ctx context.Context, request DiffRequest) (DiffResponse, error)

	// Apply a checked configuration, once for each instance.
	Configure(ctx context.Context, request ConfigureRequest) error

	// Validate inputs and apply defaults. Checked inputs, checked again, are unchanged.
	Check(ctx context.Context, request CheckRequest) (CheckResponse, error)

	// What differs between the recorded state and the inputs, and does it need a replacement?
	Diff(ctx context.Context, request DiffRequest) (DiffResponse, error)

	// Make a resource.
	Create(ctx context.Context, request CreateRequest) (CreateResponse, error)

	// The resource as it is now; also an import's first step.
	Read(ctx context.Context, request ReadRequest) (ReadResponse, error)

	// Change a resource in place. Its ID stays.
	Update(ctx context.Context, request UpdateRequest) (UpdateResponse, error)

	// Remove a resource. If it is gone already, the call succeeds.
	Delete(ctx context.Context, request DeleteRequest) error

	// One page of the existing resources of a type.
	List(ctx context.Context, request ListRequest) (ListResponse, error)

	// Call a function of the package.
	Invoke(ctx context.Context, request InvokeRequest) (InvokeResponse, error)

	// Begin a function whose results come one by one.
	StreamInvoke(ctx context.Context, request InvokeRequest) (StreamHandle, error)

	// The next result of a stream.
	StreamNext(ctx context.Context, stream StreamHandle) (StreamItem, error)

	// Close a stream before its end. Closing one that ended does nothing.
	StreamClose(ctx context.Context, stream StreamHandle) error

	// Open an ephemeral value: a credential, most often, that is needed for a while only. The
	// instance that opens it need not be the one that renews or closes it.
	OpenEphemeral(ctx context.Context, request OpenEphemeralRequest) (OpenEphemeralResponse, error)

	// Keep an ephemeral value open for longer. The value does not change.
	RenewEphemeral(ctx context.Context, request RenewEphemeralRequest) (RenewEphemeralResponse, error)

	// Close an ephemeral value that is not needed any more. If it is closed already, the call
	// succeeds.
	CloseEphemeral(ctx context.Context, request CloseEphemeralRequest) error

	// Cause a side effect that is not a resource, once, when the program says that it is due.
	// Progress goes to the log.
	RunAction(ctx context.Context, request RunActionRequest) (RunActionResponse, error)

	// Whether a resource is still there. A provider that cannot tell with less than `read` leaves
	// it unimplemented. An engine asks about resources that `read` does not serve.
	Exists(ctx context.Context, request ExistsRequest) (ExistsResponse, error)

	// Call a method of a component. The `monitor` import may be used.
	Call(ctx context.Context, request CallRequest) (CallResponse, error)

	// Make a component. The `monitor` import may be used.
	Construct(ctx context.Context, request ConstructRequest) (ConstructResponse, error)

	// Release what the instance holds. Calls in flight learn of a cancellation
	// through `control.cancelled` and through host calls that return `cancelled`.
	Cancel(ctx context.Context) error
}
