package watch

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Settle is how long nothing may change before a change is over: saving a file is
// several changes, and a checkout of a branch is many.
const Settle = 200 * time.Millisecond

// ErrStopped says that the wait for changes was ended.
var ErrStopped = errors.New("the watch was stopped")

// Waiter waits for changes of files.
type Waiter struct {
	Events <-chan fsnotify.Event
	Errors <-chan error
	// Name returns the file that an event is about, empty where it does not count.
	Name func(fsnotify.Event) string
	// After is time.After, or that of a test.
	After func(time.Duration) <-chan time.Time
}

// Waiter waits for changes of the files that are watched.
func (f *Files) Waiter() Waiter {
	return Waiter{Events: f.notify.Events, Errors: f.notify.Errors, Name: f.changed, After: time.After}
}

// Wait returns the files that have changed, sorted, once they have settled. They are
// none where the system has lost count of what changed. The error is ErrStopped once
// stop is closed.
func (w Waiter) Wait(stop <-chan struct{}) ([]string, error) {
	seen := make(map[string]bool)
	var settled <-chan time.Time
	for {
		select {
		case <-stop:
			return nil, ErrStopped
		case <-settled:
			return slices.Sorted(maps.Keys(seen)), nil
		case e, ok := <-w.Events:
			if !ok {
				return nil, ErrStopped
			}
			name := w.Name(e)
			if name == "" {
				continue
			}
			seen[name] = true
		case err, ok := <-w.Errors:
			if ok && !errors.Is(err, fsnotify.ErrEventOverflow) {
				return nil, err
			}
		}
		settled = w.After(Settle)
	}
}
