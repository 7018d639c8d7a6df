package engine

import (
	"errors"
	"fmt"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
)

// ErrStopped answers registrations that come after the deployment was stopped,
// by a failure or by the user. It says nothing that was not said before.
var ErrStopped = abi.NewError(abi.ErrorKindCancelled, "the deployment was stopped")

// errProtected is why a resource is not deleted.
var errProtected = errors.New("the resource is protected: set its protect option to false, run husk up, and then delete it")

// skipped answers a registration that needs a resource that failed, in a run that
// goes on without it.
type skipped struct{ of urn.URN }

func (e *skipped) Error() string {
	return fmt.Sprintf("skipped, since %s %q failed", e.of.Type(), e.of.Name())
}

// failures holds what went wrong in a run, and whether the run goes on.
type failures struct {
	asked <-chan struct{} // closed by the user
	stop  chan struct{}   // closed by a failure
	once  sync.Once
	// tolerant says that a failure does not stop the run: a preview goes on to report all that
	// would go wrong, and the user may want to go on without what failed.
	tolerant bool

	mu   sync.Mutex
	errs []error
}

func newFailures(asked <-chan struct{}, tolerant bool) *failures {
	return &failures{asked: asked, stop: make(chan struct{}), tolerant: tolerant}
}

// add records a failure, and lets running steps finish and no others start, unless the run is
// tolerant. A protected resource that is not deleted stops nothing: that is what its
// protection is for.
func (f *failures) add(err error) {
	f.mu.Lock()
	f.errs = append(f.errs, err)
	f.mu.Unlock()
	if !f.tolerant && !errors.Is(err, errProtected) {
		f.once.Do(func() { close(f.stop) })
	}
}

// all returns the failures so far.
func (f *failures) all() []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.errs
}

// stopped reports whether no more steps start, because of a failure or the user.
func (f *failures) stopped() bool {
	select {
	case <-f.stop:
		return true
	case <-f.asked:
		return true
	default:
		return false
	}
}
