package watch

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settleTime is how long nothing may change before a change is over. Saving a file is several changes.
const settleTime = 200 * time.Millisecond

// ErrStopped is the error of a wait that was stopped.
var ErrStopped = errors.New("the watch was stopped")

// Wait returns the files that have changed, sorted, after they have settled. It returns none if the system
// lost count of the changes. The error is ErrStopped after stop is closed.
func (f *Files) Wait(stop <-chan struct{}) ([]string, error) {
	return wait(f.notify.Events, f.notify.Errors, f.changed, stop)
}

// wait is Wait for events. name returns the file of an event, empty to ignore it.
func wait(events <-chan fsnotify.Event, errs <-chan error, name func(fsnotify.Event) string, stop <-chan struct{}) ([]string, error) {
	changed := make(map[string]bool)
	var settled <-chan time.Time
	for {
		select {
		case <-stop:
			return nil, ErrStopped
		case <-settled:
			return slices.Sorted(maps.Keys(changed)), nil
		case e, ok := <-events:
			if !ok {
				return nil, ErrStopped
			}
			file := name(e)
			if file == "" {
				continue
			}
			changed[file] = true
		case err, ok := <-errs:
			if ok && !errors.Is(err, fsnotify.ErrEventOverflow) {
				return nil, err
			}
		}
		settled = time.After(settleTime)
	}
}
