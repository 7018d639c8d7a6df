package plugins

import (
	"sync"
	"time"

	"github.com/husk-dev/husk/engine"
)

// slowAfter is the time after which the user is told what is being built or compiled.
const slowAfter = 500 * time.Millisecond

// The values of [engine.Preparing.Doing].
const (
	building  = "building"
	compiling = "compiling"
	fetching  = "fetching"
)

// progress reports builds and compilations that take long.
type progress func(engine.Event)

// begin begins work on a provider. The caller calls over at its end.
func (report progress) begin(provider, doing string) (over func()) {
	began := time.Now()
	var mu sync.Mutex
	var reported, ended bool
	tell := func(done bool) {
		report(engine.Preparing{Provider: provider, Doing: doing, ElapsedMs: time.Since(began).Milliseconds(), Done: done})
	}
	timer := time.AfterFunc(slowAfter, func() {
		mu.Lock()
		defer mu.Unlock()
		if !ended {
			reported = true
			tell(false)
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		if ended = true; reported {
			tell(true)
		}
	}
}
