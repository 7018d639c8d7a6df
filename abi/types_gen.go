// Code generated from wit/ by witgen. DO NOT EDIT.

package abi

import (
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// ErrorKind says what kind of failure an error is. It decides what the caller does.
type ErrorKind uint8

const (
	// The request itself is wrong; the message says what to change.
	ErrorKindInvalidArgument ErrorKind = iota
	// The thing asked for does not exist.
	ErrorKindNotFound
	// The provider does not implement the method; the caller falls back.
	ErrorKindUnimplemented
	// The other end cannot be reached now; a later attempt may work.
	ErrorKindUnavailable
	// The call was cancelled by the caller.
	ErrorKindCancelled
	// The resource exists but could not be initialized; see `init-failure`.
	ErrorKindInitFailed
	// The sandbox refused it: nothing grants it.
	ErrorKindDenied
	// Anything else.
	ErrorKindInternal
	// The provider's code crashed: whether the call had its effect is not known.
	ErrorKindCrashed
)

var errorKindNames = [...]string{
	"invalid-argument",
	"not-found",
	"unimplemented",
	"unavailable",
	"cancelled",
	"init-failed",
	"denied",
	"internal",
	"crashed",
}

// String returns the name that the contract gives the case.
func (v ErrorKind) String() string { return caseName(errorKindNames[:], uint8(v)) }

// ErrorOrigin says where an error arose. A host believes a guest only when it says `guest` or `remote`.
type ErrorOrigin uint8

const (
	// In the provider's own code.
	ErrorOriginGuest ErrorOrigin = iota
	// In the host that runs the provider.
	ErrorOriginHost
	// In a policy of the operator.
	ErrorOriginPolicy
	// In the service that the provider talks to.
	ErrorOriginRemote
)

var errorOriginNames = [...]string{
	"guest",
	"host",
	"policy",
	"remote",
}

// String returns the name that the contract gives the case.
func (v ErrorOrigin) String() string { return caseName(errorOriginNames[:], uint8(v)) }

// InitFailure is the state of a resource that was created or updated, but is not healthy.
// It is saved, and the next deployment repairs the resource.
type InitFailure struct {
	ID    string
	State property.Map
	// The inputs that the provider found, where it is able to tell them.
	Inputs *property.Map
	// One line for each reason.
	Reasons             []string
	RefreshBeforeUpdate bool
}

// MissingKey is a configuration key that is required and was not given.
type MissingKey struct {
	Name        string
	Description string
}

// CheckFailure says why an input is refused.
type CheckFailure struct {
	Path   string
	Reason string
}

// PropertyDependency is the resources that one top-level property was computed from.
type PropertyDependency struct {
	Key  string
	URNs []urn.URN
}

// CustomTimeouts says how long a resource's operations may take, in seconds; 0 is the provider's default.
type CustomTimeouts struct {
	Create float64
	Update float64
	Delete float64
	Read   float64
}

// AliasSpec is an earlier name of a resource, told part by part. Those left empty are
// the ones that the resource has now.
type AliasSpec struct {
	Name      string
	Type      string
	Stack     string
	Project   string
	ParentURN urn.URN
	// The resource had no parent.
	NoParent bool
}

// Alias is an earlier name of a resource: whole, or told part by part.
type Alias struct {
	// Case says which of the fields below counts.
	Case AliasCase
	URN  urn.URN
	Spec AliasSpec
}

// AliasCase is the case of a [Alias].
type AliasCase uint8

const (
	AliasCaseURN AliasCase = iota
	AliasCaseSpec
)

var aliasCaseNames = [...]string{
	"urn",
	"spec",
}

// String returns the name that the contract gives the case.
func (v AliasCase) String() string { return caseName(aliasCaseNames[:], uint8(v)) }

// PackageProvider is the provider that a component hands down to its children for one package.
type PackageProvider struct {
	Package string
	// A provider reference: `<urn>::<id>`.
	Reference string
}

// HookKind says when a hook runs.
type HookKind uint8

const (
	HookKindBeforeCreate HookKind = iota
	HookKindAfterCreate
	HookKindBeforeUpdate
	HookKindAfterUpdate
	HookKindBeforeDelete
	HookKindAfterDelete
	HookKindOnError
)

var hookKindNames = [...]string{
	"before-create",
	"after-create",
	"before-update",
	"after-update",
	"before-delete",
	"after-delete",
	"on-error",
}

// String returns the name that the contract gives the case.
func (v HookKind) String() string { return caseName(hookKindNames[:], uint8(v)) }

// HookBinding is the hooks of one kind, named as they were registered.
type HookBinding struct {
	Kind  HookKind
	Names []string
}

// ResourceOptions says what a program may say about a resource beside its inputs.
type ResourceOptions struct {
	Protect *bool
	// A provider reference `<urn>::<id>`; empty chooses the parent's or the default provider.
	Provider                string
	Providers               []PackageProvider
	Dependencies            []urn.URN
	AdditionalSecretOutputs []string
	CustomTimeouts          CustomTimeouts
	DeletedWith             urn.URN
	DeleteBeforeReplace     *bool
	IgnoreChanges           []string
	ReplaceOnChanges        []string
	RetainOnDelete          *bool
	Aliases                 []Alias
	ReplaceWith             []urn.URN
	// A change of this value replaces the resource.
	ReplacementTrigger *property.Value
	HideDiffs          []string
	// Take over the existing object with this ID instead of creating one.
	ImportID string
	// The version of the package to use; empty for any.
	Version string
	// A package registered with `monitor.register-package`; empty for none.
	PackageRef string
	Hooks      []HookBinding
}

// ConfigEntry is a value of the stack's configuration.
type ConfigEntry struct {
	// `<namespace>:<key>`.
	Key string
	// A string as it is, anything else as JSON.
	Value  string
	Secret bool
}

// RunContext is the deployment that a component or method call is part of.
type RunContext struct {
	Project      string
	Stack        string
	Organization string
	// The stack's configuration. Of its secrets, those whose namespace is the
	// component's package.
	Config []ConfigEntry
	// True in a preview: nothing may be changed, and values may be unknown.
	DryRun bool
	// How many operations may run at once; 0 means no limit.
	Parallel uint32
}
