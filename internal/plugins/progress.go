package plugins

import (
	"context"
	"sync"
	"time"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/registry"
)

// slowAfter is the time after which the user sees a build or compilation.
const slowAfter = 500 * time.Millisecond

// tellEvery is the time between reports about a download.
const tellEvery = time.Second

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
	_, over = report.receiving(ctx, provider, doing)
	return over
}

// receiving is begin for a download, of which moved tells how much has come.
func (report progress) receiving(ctx context.Context, provider, doing string) (moved func(registry.Progress), over func()) {
	began := time.Now()
	var mu sync.Mutex
	var ended bool
	var reported time.Time
	tell := func(e engine.Preparing) {
		reported = time.Now()
		e.Provider, e.Doing, e.ElapsedMs = provider, doing, time.Since(began).Milliseconds()
		report(e)
	}
	timer := time.AfterFunc(slowAfter, func() {
		mu.Lock()
		defer mu.Unlock()
		if !ended {
			tell(engine.Preparing{})
		}
	})
	moved = func(p registry.Progress) {
		mu.Lock()
		defer mu.Unlock()
		if !p.Over && !ended && !reported.IsZero() && time.Since(reported) >= tellEvery {
			tell(engine.Preparing{Received: p.Moved, Size: p.Size})
		}
	}
	return moved, func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		if ended = true; !reported.IsZero() {
			tell(engine.Preparing{Done: true, GivenUp: ctx.Err() != nil})
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
