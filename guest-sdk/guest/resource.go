package guest

import (
	"context"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// ResourceOf returns the type of resource with that token, for example
// random:index/randomPet:RandomPet, whose inputs and state are the fields of I and S.
// They are inferred from the implementation's Create method. The implementation may
// have further methods: [Reader], [Updater], [Deleter], [Checker], [Differ],
// [Previewer]. A method of one of these names that does not fit its interface is an
// error.
//
// An implementation is shared by all calls; in a native program they run in parallel.
func ResourceOf[I, S any](token string, implementation Creator[I, S], options ...Option) Resource {
	return typedResource(token, implementation, aboutOf(options))
}

// incomparable keeps the compiler from making functions that compare requests, of which
// there would be a dozen for each resource.
type incomparable [0]func()

// Creator is what every resource implements.
type Creator[I, S any] interface {
	// Create creates the resource and returns its ID and state. An error means that nothing
	// was created. An error with an ID means that the resource exists but is not healthy: its
	// state is saved, and the next deployment updates it.
	Create(ctx context.Context, request CreateRequest[I]) (CreateResponse[S], error)
}

// CreateRequest asks for a new resource.
type CreateRequest[I any] struct {
	_ incomparable

	URN  urn.URN
	Name string
	// Inputs are checked, complete with defaults, and known.
	Inputs I
	// Timeout is how long the user lets it take, 0 for as long as the provider finds
	// right. The context ends with it.
	Timeout time.Duration
}

// CreateResponse is a resource that was created.
type CreateResponse[S any] struct {
	_ incomparable

	// ID must not be empty.
	ID    string
	State S
}

// Reader is implemented by resources that can tell their actual state. Without it a
// refresh finds what is recorded, and nothing can be imported.
type Reader[I, S any] interface {
	// Read reads the resource with the request's ID. Where it does not exist (any more),
	// the error is [NotFound].
	Read(ctx context.Context, request ReadRequest[I, S]) (ReadResponse[I, S], error)
}

// ReadRequest asks for the actual state of a resource.
type ReadRequest[I, S any] struct {
	_ incomparable

	URN  urn.URN
	Name string
	ID   string
	// Inputs and State are the recorded ones; both are nil in an import, which knows the
	// ID alone.
	Inputs  *I
	State   *S
	Timeout time.Duration
}

// ReadResponse is the actual state of a resource.
type ReadResponse[I, S any] struct {
	_ incomparable

	// ID is the ID to record; empty for the request's own.
	ID string
	// Inputs are those that would give this state: what a program would have to say for
	// no change.
	Inputs I
	State  S
}

// Updater is implemented by resources that can be changed in place. Without it every
// change replaces the resource, and the schema says so.
type Updater[I, S any] interface {
	// Update changes the resource, whose ID stays. An error says that nothing has changed,
	// unless it is [InitFailed]: then the response's state is saved.
	Update(ctx context.Context, request UpdateRequest[I, S]) (UpdateResponse[S], error)
}

// UpdateRequest asks to change a resource.
type UpdateRequest[I, S any] struct {
	URN  urn.URN
	Name string
	ID   string
	// Inputs are the new ones: checked, complete with defaults, and known.
	Inputs I
	// OldInputs are those that State was made from.
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

// Deleter is implemented by resources that leave something behind to delete. Without
// it nothing happens.
type Deleter[S any] interface {
	// Delete deletes the resource. [NotFound] says that it was gone already.
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

// Checker is implemented by resources whose inputs have rules that tags cannot express,
// or defaults that depend on something.
type Checker[I any] interface {
	// Check looks at inputs whose types are right and whose defaults are applied. It may
	// set defaults of its own in them; it must be able to look at what it has set. An
	// input that is not known is zero and stays unknown, whatever Check sets.
	Check(ctx context.Context, request CheckRequest[I]) ([]CheckFailure, error)
}

// CheckFailure says what is wrong with the input at a path, for example
// {"tags.owner", "must not be empty"}.
type CheckFailure = abi.CheckFailure

// CheckRequest asks whether inputs are valid.
type CheckRequest[I any] struct {
	URN  urn.URN
	Name string
	// Inputs are the inputs; what Check changes in them becomes the resource's.
	Inputs *I
	// Olds are the inputs as last checked; nil if there are none.
	Olds *I
	// RandomSeed holds 32 bytes from which to draw defaults that are random, so that a
	// saved plan gives the same ones again.
	RandomSeed []byte
	// Autonaming is the name that the user's policy proposes; nil if there is none.
	Autonaming *abi.Autonaming

	inputs property.Map
}

// Known reports whether the input of that name is known as a whole.
func (r *CheckRequest[I]) Known(name string) bool {
	return !r.inputs.Get(name).ContainsUnknowns()
}

// Differ is implemented by resources whose changes the tags cannot tell.
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
	// Inputs are the new ones, checked; what is not known is zero.
	Inputs I
	// OldInputs are those that State was made from.
	OldInputs I
	State     S
	// Default is what the SDK finds: see [schema.Resource.Diff].
	Default DiffResponse

	inputs property.Map
}

// DiffResponse is what differs; [DiffResponse.DetailedDiff] alone may be changed, the
// keys and Changes follow from it.
type DiffResponse = abi.DiffResponse

// The kinds of changes in a detailed diff: whether something is new, gone, or not as it
// was, and whether that replaces the resource.
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
	// Preview computes the state that Create or Update would give, and changes nothing.
	// It is called only where all inputs are known.
	Preview(ctx context.Context, request PreviewRequest[I, S]) (PreviewResponse[S], error)
}

// PreviewRequest asks what a Create or Update would give.
type PreviewRequest[I, S any] struct {
	_ incomparable

	URN  urn.URN
	Name string
	// ID and State are those of the resource that would be updated; empty and nil where
	// one would be created.
	ID     string
	State  *S
	Inputs I
}

// PreviewResponse is what is known beforehand.
type PreviewResponse[S any] struct {
	State S
	// Known names the outputs in State that are sure to be as they are there. Outputs
	// with the name of an input have the input's value without being named.
	Known []string
}

// Lister is implemented by resources of which those that exist can be found, by whoever
// wants to import them.
type Lister interface {
	// List returns a page of the existing resources.
	List(ctx context.Context, request ListRequest) (ListResponse, error)
}

// ListRequest asks for resources that exist.
type ListRequest struct {
	_ incomparable

	// Query says which are wanted, in words that are up to the resource; often empty.
	Query property.Map
	// Limit is how many are wanted in all; 0 for all of them.
	Limit uint64
	// PageSize is the most that are wanted at once; 0 leaves it to the provider.
	PageSize uint64
	// ContinuationToken is that of the page before; empty for the first page.
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
