// Package callback holds the functions of a program in this process that a deployment calls: hooks around steps, and transforms
// of registrations. The [abi.Monitor] of such a program is a [Monitor]; package goprogram uses it.
//
// Callbacks run in goroutines of the deployment, several at once, and block the step or registration that
// they are called for. They must honour their context. They get the plain text of secrets, as the program
// does.
package callback

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// Monitor is the monitor of callers in this process.
type Monitor interface {
	abi.Monitor

	// RegisterHook makes a hook known under its name, for the options of resources that are registered later.
	RegisterHook(Hook) error

	// RegisterErrorHook makes an error hook known under its name. Other hooks may have the same name.
	RegisterErrorHook(ErrorHook) error

	// RegisterAction makes an action known under its name, for the options of resources that are registered later.
	RegisterAction(Action) error

	// RegisterStackTransform has a transform run on every resource that is registered from now on, after the transforms of the
	// resource and of its ancestors.
	RegisterStackTransform(ResourceTransform)

	// RegisterStackInvokeTransform has a transform run on every later call of a function.
	RegisterStackInvokeTransform(InvokeTransform)

	// RegisterTransformed registers a resource with transforms of its own. They run on it before its ancestors' transforms, and
	// on all resources that are registered below it.
	RegisterTransformed(context.Context, abi.RegisterResourceRequest, ...ResourceTransform) (abi.RegisterResourceResponse, error)

	// LeftOut reports whether the targets of the deployment leave out a resource that is registered and does
	// not exist. It is not created, and its registration was skipped.
	LeftOut(urn.URN) bool

	// Read does what ReadResource does, and answers as for a registration: with the ID that the provider has for the
	// object, empty while it is not known, and with the result.
	Read(context.Context, abi.ReadResourceRequest) (abi.RegisterResourceResponse, error)

	// Exists reports whether an object exists, by the provider that a resource with these options has. Nothing is
	// registered, and the name has no meaning. known is false where only an update can tell.
	Exists(context.Context, abi.ReadResourceRequest) (exists, known bool, err error)

	// StreamInvoke calls a function whose results come one by one. A preview that cannot know them has
	// one unknown value. An error ends them.
	StreamInvoke(context.Context, abi.MonitorInvokeRequest) iter.Seq2[property.Value, error]

	// OpenEphemeral calls a function that opens an ephemeral value. The value is an output with a
	// dependency that stands for it, which all that is computed of it must keep. It is renewed until the
	// deployment ends, and then closed.
	OpenEphemeral(context.Context, abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error)

	// Foreign returns an asset or archive whose path or URL the program has from somebody else: a
	// provider, a function, another stack, or a file. It has its hash, and is read within the bounds of
	// [github.com/husk-dev/husk/engine/contents.Source]. named is the part of a URL that the program wrote itself, before the
	// foreign part.
	Foreign(ctx context.Context, v property.Value, named string) (property.Value, error)

	// OpenForeign begins to read a file whose path the program has from somebody else.
	OpenForeign(ctx context.Context, path string) (io.ReadCloser, error)
}

// Hook is called around steps. An error before a step refuses it; an error after it fails the deployment.
//
// Hooks run for creations, updates, deletions, and replacements of the resource that names them, in the
// order of their names. They do not run for a resource that stays as it is, is read, imported, or
// refreshed, or whose deletion leaves the object alone. Those after the step of a component run when its
// outputs are registered. Deletions run the hooks that the state names: the program must register them,
// and a destruction must run the program for that.
type Hook struct {
	// Name is unique among the hooks of a program.
	Name string
	Run  func(context.Context, Step) error
	// OnDryRun has the hook run in previews too.
	OnDryRun bool
	// IgnoreErrors makes a warning of the hook's error.
	IgnoreErrors bool
}

// Action is a function of a provider that runs around steps. Resources name it among their hooks, before or after
// their creation or update. It does what a hook does, but previews and plans have it, and the state does not.
//
// In a preview the provider checks the arguments, and changes nothing. An error before a step refuses it. After
// a step, the resource is recorded, and the deployment fails; the next one does not run the action again,
// unless it creates or updates the resource.
type Action struct {
	// Name is unique among the actions and hooks of a program.
	Name string
	// Function is the token of a function that the schema of its package calls an action.
	Function string
	// Call returns the arguments and options of the function for a step. Arguments may be ephemeral, and
	// in a preview unknown. The step has no resource if the action runs by itself.
	Call func(context.Context, Step) (FunctionCall, error)
}

// ActionError is the failure of an action.
type ActionError struct {
	Name string
	// Kind is when the action ran.
	Kind abi.HookKind
	Err  error
}

// Error names the action.
func (e *ActionError) Error() string {
	return fmt.Sprintf("the %s action %q failed: %v", e.Kind, e.Name, e.Err)
}

// Unwrap returns the cause.
func (e *ActionError) Unwrap() error { return e.Err }

// Step is the operation that a hook is called for.
type Step struct {
	Kind abi.HookKind
	// Old is the recorded resource, nil for creations, including the creation of a replacement.
	Old *state.Resource
	// New is the resource with its checked inputs, and after a step with its ID and outputs. It is nil
	// for deletions.
	New    *state.Resource
	DryRun bool
}

// Resource is New, or Old for deletions. It is nil for an action that runs by itself.
func (s Step) Resource() *state.Resource {
	if s.New != nil {
		return s.New
	}
	return s.Old
}

// ErrorHook decides whether a failed creation, update, or deletion is tried again. It may wait first. The
// step is tried again if one of its error hooks wants that; an error of a hook ends it. Error hooks do
// not run in previews, nor after a creation that made an object, which the next deployment updates, or that may
// have made one.
type ErrorHook struct {
	// Name is unique among the error hooks of a program.
	Name string
	Run  func(context.Context, Failure) (retry bool, err error)
}

// Failure is a step that failed.
type Failure struct {
	// Operation is create, update, or delete.
	Operation string
	// Old and New are as for a [Step] before it is taken.
	Old, New *state.Resource
	// Errors are the errors of all attempts, the newest first.
	Errors []error
}

// Identity is the part of a resource that a transform cannot change.
type Identity struct {
	Type   string
	Name   string
	Custom bool
	Parent urn.URN
}

// Declaration is the part of a resource that a transform can change.
type Declaration struct {
	// Inputs carry the resources that they come from as outputs.
	Inputs  property.Map
	Options abi.ResourceOptions
}

// ResourceTransform changes a registration before it counts. Each transform sees what
// those before it made of the declaration. An error refuses the registration.
type ResourceTransform func(context.Context, Identity, *Declaration) error

// FunctionCall is a call of a function: the parts that a transform can change, and the arguments of an action.
type FunctionCall struct {
	Args    property.Map
	Options abi.FunctionOptions
}

// InvokeTransform changes a call of the function with the token before it is made. An
// error refuses the call.
type InvokeTransform func(ctx context.Context, token string, call *FunctionCall) error
