package host

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/tetratelabs/wazero/experimental"

	"github.com/husk-dev/husk/host/internal/compiletime"
	"github.com/husk-dev/husk/host/limit"
)

// A module is loaded in the background, for all who ask for it. Nobody can interrupt wazero within a function, and neither the
// checks before it. So a cancelled caller stops waiting at once, and a host that closes does not wait either: the work ends with
// the next function, and then frees its resources. Nothing that it writes can be seen before it is whole.

// Work is the work that a load waits for.
type Work int

const (
	// Compiling is the work of this process on a module.
	Compiling Work = iota + 1
	// Awaiting is the work of another process on the same module, with the same cache.
	Awaiting
)

// OnWork returns a context for [Host.Load] and [Host.LoadBytes]. The load calls begin when it has to wait for work, and calls the
// returned function when the wait is over. A module that is precompiled or in the cache takes none.
func OnWork(ctx context.Context, begin func(Work) (over func())) context.Context {
	return context.WithValue(ctx, onWork{}, begin)
}

type onWork struct{}

// loading is a module that is being loaded; done is closed once module and err are set.
type loading struct {
	done   chan struct{}
	module *Module
	err    error
	// ctx is the context of the work, which end ends.
	ctx context.Context
	end context.CancelCauseFunc

	// Host.mu guards the following fields. awaited counts waiters, and changed is closed when there is other work.
	awaited int
	work    Work
	changed chan struct{}
}

// errGaveWay ends a compilation that nobody waits for.
var errGaveWay = errors.New("nobody waits for the module, and another one is to be compiled")

var errClosedHost = errors.New("the host is closed")

// load loads a module, from the file at path if there is one.
func (h *Host) load(ctx context.Context, path, digest string, from source) (*Module, error) {
	if admit := h.config.admission; admit != nil {
		if err := admit(path, digest); err != nil {
			return nil, h.config.Refused(path, err)
		}
	}
	l, err := h.join(ctx, digest, from)
	if err == nil {
		err = h.await(ctx, l)
	}
	if err != nil {
		return nil, h.config.Refused(path, err)
	}
	return l.module, nil
}

// join returns the loading of a module, which it begins if there is none. The caller calls await.
func (h *Host) join(ctx context.Context, digest string, from source) (*loading, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errClosedHost
	}
	l := h.modules[digest]
	if before := l; l == nil || l.ctx.Err() != nil { // which gave way, and will have no module
		l = &loading{done: make(chan struct{}), changed: make(chan struct{})}
		l.ctx, l.end = context.WithCancelCause(h.stopped)
		h.modules[digest] = l
		h.loads.Go(func() {
			if before != nil {
				<-before.done // it ends soon
			}
			h.compile(l, digest, from)
		})
	}
	l.awaited++
	return l, nil
}

// await waits for a loading and tells of its work, until the context ends. The work goes on for others, for the cache, and for
// later callers, as long as no other module waits for compilation.
func (h *Host) await(ctx context.Context, l *loading) error {
	begin, _ := ctx.Value(onWork{}).(func(Work) func())
	over := func() {}
	defer func() {
		over()
		h.mu.Lock()
		defer h.mu.Unlock()
		l.awaited--
	}()
	for told := Work(0); ; {
		h.mu.Lock()
		work, changed := l.work, l.changed
		h.mu.Unlock()
		if begin != nil && work != told {
			over()
			told, over = work, begin(work)
		}
		select {
		case <-l.done:
			return l.err
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// works says what a loading does from now on.
func (h *Host) works(l *loading, work Work) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l.work = work
	close(l.changed)
	l.changed = make(chan struct{})
}

// endUnawaited ends the loadings that nobody waits for.
func (h *Host) endUnawaited() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.modules {
		select {
		case <-l.done:
		default:
			if l.awaited == 0 {
				l.end(errGaveWay)
			}
		}
	}
}

// compile ends a loading. One that failed is forgotten, so that it can be tried again.
func (h *Host) compile(l *loading, digest string, from source) {
	defer close(l.done)
	module, err := h.prepare(l, digest, from)
	h.mu.Lock()
	defer h.mu.Unlock()
	if stopped := context.Cause(l.ctx); err == nil && stopped != nil { // the next loading has taken its place
		module.images.close()
		err = stopped
	}
	if err == nil {
		l.module = module
	} else if l.err = err; h.modules[digest] == l {
		delete(h.modules, digest)
	}
}

// prepare takes a module that is precompiled or installed, or makes it.
func (h *Host) prepare(l *loading, digest string, from source) (*Module, error) {
	var m *Module
	var err error
	if h.ahead != nil {
		m, err = h.precompiled(digest)
	} else if m = h.installed(digest, from); m == nil {
		m, err = h.buildAlone(l, digest, from)
	}
	if err == nil && m.Memory > h.config.memoryBytes() {
		return nil, &MemoryError{Needed: m.Memory, Limit: h.config.limits.Memory} // it was installed by a host with more
	}
	return m, err
}

// buildAlone builds a module, unless another process that has the cache does so: then that is waited for. A process that
// was killed is waited for no more, and one that does not go on no longer than its compilation may take.
func (h *Host) buildAlone(l *loading, digest string, from source) (*Module, error) {
	if h.cache != nil {
		release, waited := h.cache.Alone(l.ctx, h.recordName(digest), h.config.limits.CompileTime, func() { h.works(l, Awaiting) })
		defer release()
		if waited {
			if m := h.installed(digest, from); m != nil {
				return m, nil
			}
		}
	}
	h.works(l, Compiling)
	h.endUnawaited()
	return h.build(l.ctx, from)
}

// again returns a function that builds a module once, in the background, and waits for it until the context of its caller ends.
func (h *Host) again(from source, made func(*Module)) func(context.Context) (*Module, error) {
	var module *Module
	var err error
	done := make(chan struct{})
	begin := sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.closed {
			err = errClosedHost
			close(done)
			return
		}
		h.loads.Go(func() {
			defer close(done)
			if module, err = h.build(h.stopped, from); err == nil {
				made(module)
			}
		})
	})
	return func(ctx context.Context) (*Module, error) {
		begin()
		select {
		case <-done:
			return module, err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// build admits, meters, and compiles a module, and installs it for the next time.
func (h *Host) build(ctx context.Context, from source) (*Module, error) {
	select {
	case h.compiling <- struct{}{}:
		defer func() { <-h.compiling }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	wasm, err := from()
	if err != nil {
		return nil, err
	}
	defer limitMemory(len(wasm))()
	decoded, info, err := admit(wasm, h.config)
	if err != nil {
		return nil, err
	}
	withoutManifest(decoded)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	decoded, account := h.counting(decoded)
	metered, err := h.meter(decoded)
	if err != nil {
		return nil, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	m := h.newModule(info)
	m.images = newImages(decoded, account)
	return m, h.install(ctx, m, decoded, metered)
}

// bounded compiles within the time that a compilation may take.
func (h *Host) bounded(ctx context.Context, compile func(context.Context) error) error {
	most := h.config.limits.CompileTime
	exceeded := h.config.advised("", &limit.ExceededError{Limit: limit.CompileTime, Most: uint64(most)})
	ctx, end := compiletime.Bound(ctx, most, compileWorkers, exceeded)
	err := compile(experimental.WithCompilationWorkers(ctx, compileWorkers))
	switch stopped := context.Cause(ctx); {
	case end():
		return exceeded
	case err == nil:
		return nil
	case stopped != nil:
		return stopped
	}
	return fmt.Errorf("the module is invalid: %w", err)
}

// mostCompilations bounds the modules that are compiled at once. One of 5 MB takes some 130 MB.
const mostCompilations = 4

// compilations returns how many compilations the processors suffice for, at least two: workers do not do all of the work.
func compilations() int {
	return min(max(2, runtime.GOMAXPROCS(0)/compileWorkers), mostCompilations)
}
