// Package backend keeps the stacks of a team in one place: their states, the modules that made their
// resources, the values of their providers, and the records of their runs.
//
// A URL names the place. [Files] is a directory; packages below this one are others.
package backend

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/named"
)

// Backend is a place of stacks.
type Backend struct {
	// Place names it for users, without passwords.
	Place string
	// Dir is the directory of modules and records of runs on this machine. In a backend of files these are
	// the truth, in another one copies.
	Dir string
	// Remote says that the files in Dir are copies.
	Remote bool
	// State keeps states, and the histories of updates.
	State   state.Store
	Modules Modules
	KV      KV
	History History
	// Keys encrypts the keys of stacks with one that the place keeps to itself. It is nil if the place has none, and an
	// error that is [errors.ErrUnsupported] says that it turns out to have none.
	Keys secrets.KeyService
	// End stores an ending and ends a lease of State, in fewer round trips than the calls that do so one after the other; nil if
	// the place has none to save. It returns the digests of modules that are not stored. After an error, a part may be undone.
	// [Backend.Release] then makes the single calls, which may repeat finished parts. The error is [errors.ErrUnsupported] if
	// nothing was tried, and a [LostRecordError] if only the record of the run is not stored.
	End func(ctx context.Context, l state.Lease, e Ending) (missing []string, err error)
	// Check tries, for husk login, that the place does what stacks need, by writing to it; nil if there is
	// nothing to try.
	Check func(ctx context.Context) error
	// Close ends connections, and the signs of life of leases; nil if there are none.
	Close func()
}

// Modules keeps the modules that made resources, by digest. A module is stored once for all stacks.
type Modules interface {
	// Has reports whether there is a module.
	Has(ctx context.Context, digest string) (bool, error)
	// Get returns a module, or fs.ErrNotExist. The caller checks its digest.
	Get(ctx context.Context, digest string) ([]byte, error)
	// Put stores a module, if it is not there yet, and protects it for some days from Collect.
	Put(ctx context.Context, digest string, content func() ([]byte, error)) error
	// Collect removes modules that are not in use. inUse is called if there may be any.
	Collect(ctx context.Context, inUse func() (map[string]bool, error)) error
}

// ErrChanged says that values were changed by another run after they were read.
var ErrChanged = errors.New("another run has changed the stored values meanwhile")

// KV keeps the values that the providers of a stack store, as one text for each provider. It goes with the
// stack when [state.Lease] renames or removes that.
type KV interface {
	// List returns the names of the providers that have stored something, sorted.
	List(ctx context.Context, stack state.StackName) ([]string, error)
	// Load returns a provider's stored values, and their version; none and "" if there are none.
	Load(ctx context.Context, stack state.StackName, provider string) (content []byte, version string, err error)
	// Save replaces what has the version, and returns the new one. The error is ErrChanged if it has
	// another version by now.
	Save(ctx context.Context, stack state.StackName, provider string, content []byte, version string) (next string, err error)
}

// History keeps the records of runs; the history of updates is in [state.Store]. It goes with the stack.
type History interface {
	// List returns the IDs of the records, sorted.
	List(ctx context.Context, stack state.StackName) ([]string, error)
	// Get returns a record, or fs.ErrNotExist.
	Get(ctx context.Context, stack state.StackName, id string) ([]byte, error)
	// Put stores a record, and removes the oldest ones if there are more than [KeptRecords].
	Put(ctx context.Context, stack state.StackName, id string, content []byte) error
}

// KeptRecords is how many records of runs a stack keeps.
const KeptRecords = 50

// Opener opens the backend of a URL. dir is for copies of files. Credentials of the environment and of this user's files are
// for a URL that the operator has named, and for no other.
type Opener func(ctx context.Context, at named.URL, dir string) (*Backend, error)

// Kind is a kind of backend.
type Kind struct {
	// Schemes are the schemes of its URLs.
	Schemes []string
	Open    Opener
}

// Scheme returns the scheme of a URL, "" if it has none.
func Scheme(url string) string {
	scheme, _, ok := strings.Cut(url, "://")
	if !ok {
		return ""
	}
	return scheme
}

// ErrUnreachable says that what keeps the stacks could be reached before, and then not for long.
var ErrUnreachable = errors.New("the stacks cannot be reached")

// Unreachable returns an error as [ErrUnreachable], with the same message.
func Unreachable(err error) error { return &unreachableError{err} }

type unreachableError struct{ err error }

func (e *unreachableError) Error() string   { return e.err.Error() }
func (e *unreachableError) Unwrap() []error { return []error{ErrUnreachable, e.err} }

// ErrNewerSchema says that a newer version of Husk has changed the layout of a place.
var ErrNewerSchema = errors.New("it was changed by a newer version of husk")

// NewerSchema returns the error of a place whose schema is newer than this version knows, and cannot be used by it.
func NewerSchema(place string, is, known int) error {
	return fmt.Errorf("the backend %s has version %d of its schema, and this husk knows versions up to %d: use a newer husk (%w)", place, is, known, ErrNewerSchema)
}

// NoModule returns the error for a module that is not there.
func NoModule(digest, place string) error {
	return fmt.Errorf("the module %s is not in %s: %w", digest, place, fs.ErrNotExist)
}
