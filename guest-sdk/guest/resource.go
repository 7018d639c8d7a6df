package guest

import (
	"context"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// ResourceOf returns the type of resource with a token, for example random:index/randomPet:RandomPet.
// Its inputs and state are the fields of I and S, which are inferred from the Create method. The
// implementation may also be a [Reader], [Updater], [Deleter], [Checker], [Differ], [Previewer],
// [Lister], or [Exister]. A method with one of their names and other types is an error.
//
// All calls share the implementation; in a native program they run in parallel.
func ResourceOf[I, S any](token string, implementation Creator[I, S], options ...Option) Resource {
	return typedResource(token, implementation, aboutOf(options))
}

// incomparable keeps functions that compare requests out of modules: a dozen for each resource.
type incomparable [0]func()

// Creator is the interface of every resource.
type Creator[I, S any] interface {
	// Create creates the resource. An error means that nothing was created, unless the response
	// has an ID: then the resource exists but is not healthy. Its state is saved, and the next
	// deployment updates it.
	Create(ctx context.Context, request CreateRequest[I]) (CreateResponse[S], error)
}

// CreateRequest asks for a new resource.
type CreateRequest[I any] struct {
	_ incomparable

	URN  urn.URN
	Name string
	// Inputs are checked, complete with defaults, and known.
	Inputs I
	// Timeout is the user's timeout, after which the context ends; 0 for none.
	Timeout time.Duration
}

// CreateResponse is a resource that was created.
type CreateResponse[S any] struct {
	_ incomparable

	// ID must not be empty.
	ID    string
	State S
}

// Reader is implemented by resources that can be read. Without it a refresh finds the recorded
// state, and nothing can be imported.
type Reader[I, S any] interface {
	// Read reads the resource with an ID. The error is [NotFound], or wraps [ErrGone], if it does not exist.
	Read(ctx context.Context, request ReadRequest[I, S]) (ReadResponse[I, S], error)
}

// ReadRequest asks for the actual state of a resource.
type ReadRequest[I, S any] struct {
	_ incomparable

	URN  urn.URN
	Name string
	ID   string
	// Inputs and State are the recorded ones; nil in an import.
	Inputs  *I
	State   *S
	Timeout time.Duration
}

// ReadResponse is the actual state of a resource.
type ReadResponse[I, S any] struct {
	_ incomparable

	// ID is the ID to record; empty for the request's own.
	ID string
	// Inputs are the inputs of a program that changes nothing.
	Inputs I
	State  S
}

// Updater is implemented by resources that can change in place. Without it every change replaces
// the resource, as the schema says.
type Updater[I, S any] interface {
	// Update changes the resource, which keeps its ID. An error means that nothing has changed,
	// except for [InitFailed]: then the response's state is saved.
	Update(ctx context.Context, request UpdateRequest[I, S]) (UpdateResponse[S], error)
}

// UpdateRequest asks to change a resource.
type UpdateRequest[I, S any] struct {
	URN  urn.URN
	Name string
	ID   string
	// Inputs are the new ones: checked, complete with defaults, and known.
	Inputs I
	// OldInputs are the inputs that State was made from.
	OldInputs I
	// State is the recorded state.
	State S
	// IgnoreChanges are paths of properties that keep their old values in Inputs.
	IgnoreChanges []string
	Timeout       time.Duration
}

// UpdateResponse is a resource that was changed.
type UpdateResponse[S any] struct {
	_ incomparable

	State S
}

// Deleter is implemented by resources that must be deleted. Without it nothing happens.
type Deleter[S any] interface {
	// Delete deletes the resource. [NotFound] and [ErrGone] say that it does not exist, which is not a failure.
	Delete(ctx context.Context, request DeleteRequest[S]) error
}

// DeleteRequest asks to delete a resource.
type DeleteRequest[S any] struct {
	_ incomparable

	URN  urn.URN
	Name string
	ID   string
	// State is the recorded state.
	State   S
	Timeout time.Duration
}

// Checker is implemented by resources with rules or defaults that tags cannot express.
type Checker[I any] interface {
	// Check checks inputs of the right types, with the schema's defaults. It may set more
	// defaults, and must accept inputs that it has set. An unknown input is zero, and stays
	// unknown whatever Check sets.
	Check(ctx context.Context, request CheckRequest[I]) ([]CheckFailure, error)
}

// CheckFailure is a fault of the input at a path, for example {"tags.owner", "must not be empty"}.
type CheckFailure = abi.CheckFailure

// CheckRequest asks whether inputs are valid.
type CheckRequest[I any] struct {
	URN  urn.URN
	Name string
	// Inputs are the inputs; what Check changes in them becomes the resource's.
	Inputs *I
	// Olds are the inputs as last checked; nil if there are none.
	Olds *I
	// RandomSeed has 32 bytes for random defaults. A saved plan repeats them.
	RandomSeed []byte
	// Autonaming is the name that the user's policy proposes; nil if there is none.
	Autonaming *abi.Autonaming

	inputs property.Map
}

// Known reports whether the input of that name is known as a whole.
func (r *CheckRequest[I]) Known(name string) bool {
	return !r.inputs.Get(name).ContainsUnknowns()
}

// Differ is implemented by resources whose changes follow from more than tags.
type Differ[I, S any] interface {
	// Diff compares inputs with the recorded state. It usually returns request.Default, with
	// some changes removed or turned into replacements.
	Diff(ctx context.Context, request DiffRequest[I, S]) (DiffResponse, error)
}

// DiffRequest asks what differs.
type DiffRequest[I, S any] struct {
	URN  urn.URN
	Name string
	ID   string
	// Inputs are the new inputs, checked; unknown ones are zero.
	Inputs I
	// OldInputs are the inputs that State was made from.
	OldInputs I
	State     S
	// Default is the SDK's own answer: see [schema.Resource.Diff].
	Default DiffResponse

	inputs property.Map
}

// DiffResponse is a diff. An author changes only [DiffResponse.DetailedDiff]; the SDK computes the
// keys and Changes from it.
type DiffResponse = abi.DiffResponse

// The kinds of changes in a detailed diff.
const (
	Add           = abi.DiffKindAdd
	AddReplace    = abi.DiffKindAddReplace
	Delete        = abi.DiffKindDelete
	DeleteReplace = abi.DiffKindDeleteReplace
	Update        = abi.DiffKindUpdate
	UpdateReplace = abi.DiffKindUpdateReplace
)

// Known reports whether the input of that name is known as a whole.
func (r *DiffRequest[I, S]) Known(name string) bool {
	return !r.inputs.Get(name).ContainsUnknowns()
}

// Previewer is implemented by resources that can foretell outputs.
type Previewer[I, S any] interface {
	// Preview computes the state that Create or Update would return, and changes nothing. All
	// inputs are known.
	Preview(ctx context.Context, request PreviewRequest[I, S]) (PreviewResponse[S], error)
}

// PreviewRequest asks what a Create or Update would give.
type PreviewRequest[I, S any] struct {
	_ incomparable

	URN  urn.URN
	Name string
	// ID and State are of the resource to update; empty and nil for a creation.
	ID     string
	State  *S
	Inputs I
}

// PreviewResponse is the state as far as it is known beforehand.
type PreviewResponse[S any] struct {
	State S
	// Known names the outputs in State that are certain. Outputs with the name of an input
	// have the input's value without it.
	Known []string
}

// Exister is implemented by resources that can tell with less than a Read whether they exist. A refresh asks it if the
// resource is no [Reader].
type Exister interface {
	// Exists reports whether the resource with an ID exists.
	Exists(ctx context.Context, request ExistsRequest) (bool, error)
}

// ExistsRequest asks whether a resource exists.
type ExistsRequest struct {
	URN     urn.URN
	Name    string
	ID      string
	Timeout time.Duration
}

// Lister is implemented by resources that can be listed, for imports.
type Lister interface {
	// List returns a page of the existing resources.
	List(ctx context.Context, request ListRequest) (ListResponse, error)
}

// ListRequest asks for resources that exist.
type ListRequest struct {
	_ incomparable

	// Query selects resources, in a form that the type defines; often empty.
	Query property.Map
	// Limit is the number of resources in all; 0 for no limit.
	Limit uint64
	// PageSize is the most resources of a page; 0 for the provider's choice.
	PageSize uint64
	// ContinuationToken is the token of the page before; empty for the first page.
	ContinuationToken string
}

// ListResponse is a page of resources.
type ListResponse struct {
	_ incomparable

	Resources []ListedResource
	// ContinuationToken asks for the next page; empty on the last one.
	ContinuationToken string
}

// ListedResource is one that exists: an ID that can be imported, and a name for people.
type ListedResource = abi.ListedResource
