package plugins

import (
	"context"
	"sync"
	"time"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/host"
)

// slowAfter is the time after which the user sees a build or compilation.
const slowAfter = 500 * time.Millisecond

// The values of [engine.Preparing.Doing].
const (
	building  = "building"
	compiling = "compiling"
	fetching  = "fetching"
	// awaiting is of a module that is in the cache once the other process has compiled it.
	awaiting = "waiting for another process that compiles"
)

// progress reports builds and compilations that take long.
type progress func(engine.Event)

// begin begins work on a provider. The caller calls over at its end, or when the context has ended.
func (report progress) begin(ctx context.Context, provider, doing string) (over func()) {
	began := time.Now()
	var mu sync.Mutex
	var reported, ended bool
	tell := func(done bool) {
		report(engine.Preparing{
			Provider: provider, Doing: doing, ElapsedMs: time.Since(began).Milliseconds(), Done: done, GivenUp: done && ctx.Err() != nil,
		})
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

// loading returns a context for the host to load a module in, which reports what the load waits for: nothing if the module
// is in the cache.
func (report progress) loading(ctx context.Context, provider string) context.Context {
	return host.OnWork(ctx, func(work host.Work) (over func()) {
		doing := compiling
		if work == host.Awaiting {
			doing = awaiting
		}
		return report.begin(ctx, provider, doing)
	})
}
