package plugins

import (
	"sync"
	"time"

	"github.com/husk-dev/husk/engine"
)

// slowAfter is how long building or loading takes before the user is told what
// is being waited for.
const slowAfter = 500 * time.Millisecond

// The words for what is done, see [engine.Preparing].
const (
	building  = "building"
	compiling = "compiling"
)

// progress tells of work that is not over soon.
type progress struct {
	tell func(engine.Preparing)
	now  func() time.Time
	// after calls a function after a time, unless it is stopped before.
	after func(time.Duration, func()) (stop func())
}

func afterwards(d time.Duration, f func()) (stop func()) {
	timer := time.AfterFunc(d, f)
	return func() { timer.Stop() }
}

// begin begins work on a provider. The caller calls over at its end.
func (p progress) begin(provider, doing string) (over func()) {
	began := p.now()
	var mu sync.Mutex
	var told, ended bool
	tell := func(done bool) {
		p.tell(engine.Preparing{Provider: provider, Doing: doing, ElapsedMs: p.now().Sub(began).Milliseconds(), Done: done})
	}
	stop := p.after(slowAfter, func() {
		mu.Lock()
		defer mu.Unlock()
		if !ended {
			told = true
			tell(false)
		}
	})
	return func() {
		stop()
		mu.Lock()
		defer mu.Unlock()
		if ended = true; told {
			tell(true)
		}
	}
}
