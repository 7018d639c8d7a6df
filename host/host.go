// Package host runs WebAssembly modules as providers, with the operator's grants and nothing else:
//
//	h, err := host.New(ctx, host.NewConfig().WithCacheDir(dir))
//	module, err := h.Load(ctx, "random.wasm")
//	provider, err := module.NewProvider(ctx, host.ProviderOptions{Name: "random"})
//	response, err := provider.Handshake(ctx, abi.HandshakeRequest{Engine: "husk"})
//
// Callers close a [Provider] before its [Host]. Answers are bounded, decoded strictly, and held to the
// contract. A crash fails one call, and the next one runs in another instance. Errors are *[abi.Error],
// with provider, version, and method.
package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/husk-dev/husk/host/internal/codecache"
	"github.com/husk-dev/husk/host/internal/guestcall"
	"github.com/husk-dev/husk/host/internal/image"
	"github.com/husk-dev/husk/host/internal/pool"
)

// Host runs modules. It is safe for concurrent use.
type Host struct {
	config  Config
	runtime wazero.Runtime
	// settings are the settings of runtime, without its cache. compiling has an element for each running compilation.
	settings  wazero.RuntimeConfig
	compiling chan struct{}
	imports   imports
	cache     *codecache.Cache
	// uncached is the reason why the configured cache cannot be used, nil otherwise.
	uncached error
	// own has the files that are in no grant, see ownFiles.
	own []string
	// ahead has all modules, nil if they are compiled.
	ahead  *codecache.Directory
	random io.Reader

	mu      sync.Mutex
	modules map[string]*loading // by digest
	closed  bool
	// working counts background work, and loads are the modules that are being loaded; stop ends both.
	working sync.WaitGroup
	loads   sync.WaitGroup
	stop    context.CancelCauseFunc
	stopped context.Context
	// open are the providers and policy packs that were not closed, and live counts all instances.
	open map[used]struct{}
	live sync.WaitGroup
	// abandoned counts the instances that something still uses after its call. They are not live.
	abandoned atomic.Int64
	// files counts the files that are open for guests.
	files    atomic.Int64
	counters counters
	budget   *pool.Budget
	idling   idling
	// buffers are the buffers that property values are encoded into.
	buffers guestcall.Buffers
	// empty is the image of memories that wazero lays out.
	empty *image.Image
}

// New makes a host. Close it when no provider of it is needed any more.
func New(ctx context.Context, config Config) (*Host, error) {
	config = config.withDefaults()
	if err := config.settings.Check(); err != nil {
		return nil, err
	}
	empty, err := newEmptyImage()
	if err != nil {
		return nil, err
	}
	config.interpreter = config.interpreter || !CompilerSupported()
	settings := wazero.NewRuntimeConfigCompiler()
	if config.interpreter {
		settings = wazero.NewRuntimeConfigInterpreter()
	}
	settings = settings.WithMemoryLimitPages(mostPages())
	h := &Host{config: config, settings: settings, compiling: make(chan struct{}, compilations()), modules: make(map[string]*loading), open: make(map[used]struct{}), random: rand.Reader}
	h.budget, h.empty = pool.NewBudget(config.limits.TotalMemory), empty
	h.stopped, h.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	if config.random != nil {
		h.random = &lockedReader{reader: config.random}
	}
	compiled, err := h.openCode()
	if err != nil {
		_ = empty.Close()
		return nil, err
	}
	if compiled != nil {
		settings = settings.WithCompilationCache(compiled)
	}
	h.runtime = wazero.NewRuntimeWithConfig(ctx, settings)
	h.own = h.ownFiles()
	return h, nil
}

// Uncached returns why the host keeps no machine code although its configuration names a cache: the disk is full or read-only.
// It is nil otherwise. Modules are compiled each time then.
func (h *Host) Uncached() error { return h.uncached }

// ownFiles returns the files that decide which machine code runs. No grant of a directory includes them.
func (h *Host) ownFiles() (all []string) {
	if dir := h.config.precompiled; dir != "" {
		all = append(all, dir)
	}
	if h.cache != nil {
		all = append(all, codecache.OwnFiles(h.config.cacheDir)...)
	}
	return all
}

// openCode opens where machine code comes from: nil if all modules are compiled.
func (h *Host) openCode() (_ wazero.CompilationCache, err error) {
	switch {
	case h.config.precompiled != "":
		if h.config.interpreter {
			return nil, errNoMachineCode
		}
		if h.ahead, err = openPrecompiled(h.config.precompiled); err != nil {
			return nil, err
		}
		return h.ahead.Compiled, nil
	case h.config.cacheDir != "" && !h.config.interpreter: // which has no machine code to keep
		if h.cache, err = codecache.Open(h.config.cacheDir); err == nil {
			return h.cache.Compiled, nil
		}
		err = fmt.Errorf("opening the cache of compiled modules: %w", err)
		if !codecache.Unwritable(err) {
			return nil, err
		}
		h.uncached = err
	}
	return nil, nil
}

const (
	// closing is how long beyond their grace Close waits for guests, which mostly end within milliseconds.
	closing = time.Minute
	// abandoning is how long Close waits for modules that are being loaded, which mostly end at once.
	abandoning = 100 * time.Millisecond
)

// Close ends the host and all that was made with it. It waits until no guest runs, and then frees their code and memory.
// If the context ends before that, or if work for a guest was abandoned (see [Stats]), Close frees nothing. Close does not
// wait for a running compilation, which ends soon: what the host had is freed after it.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	if timer := h.idling.timer; timer != nil {
		timer.Stop()
	}
	open := slices.Collect(maps.Keys(h.open))
	h.mu.Unlock()
	h.stop(errClosedHost)
	var err error
	for _, made := range open {
		err = errors.Join(err, made.Close())
	}
	still := make(chan struct{})
	go func() {
		h.working.Wait()
		h.live.Wait()
		close(still)
	}()
	late := time.NewTimer(h.config.grace + closing)
	defer late.Stop()
	select {
	case <-still:
	case <-ctx.Done():
		return errors.Join(err, fmt.Errorf("waiting for guests to end: %w", context.Cause(ctx)))
	case <-late.C:
		return errors.Join(err, fmt.Errorf("guests have not ended %s after they were told to; what they use is not freed", h.config.grace+closing))
	}
	if h.abandoned.Load() > 0 { // it may write into a guest's memory yet
		return err
	}
	ended := make(chan struct{})
	go func() {
		h.loads.Wait()
		close(ended)
	}()
	soon := time.NewTimer(abandoning)
	defer soon.Stop()
	select {
	case <-ended:
		return errors.Join(err, h.free(ctx))
	case <-soon.C:
		go func() {
			<-ended
			_ = h.free(context.WithoutCancel(ctx)) // nobody is there to be told
		}()
		return err
	}
}

// free frees what modules have, when nothing uses it.
func (h *Host) free(ctx context.Context) error {
	for _, l := range h.modules {
		if l.module != nil {
			l.module.spares.close()
		}
	}
	err := h.runtime.Close(ctx)
	_ = h.empty.Close() // nothing is lost with it
	for _, l := range h.modules {
		if l.module != nil {
			l.module.images.close()
		}
	}
	if h.cache != nil {
		err = errors.Join(err, h.cache.Close(ctx))
	}
	if h.ahead != nil {
		err = errors.Join(err, h.ahead.Close(ctx))
	}
	return err
}

// background runs something that Close waits for. False: the host is closed.
func (h *Host) background(work func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.working.Go(work)
	}
	return !h.closed
}

// enter counts an instance as live. False: the host is closed.
func (h *Host) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.live.Add(1)
	}
	return !h.closed
}

// made registers u, which closes with the host.
func (h *Host) made(u used) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errClosedHost
	}
	h.open[u] = struct{}{}
	return nil
}

func (h *Host) closedOne(u used) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, u)
}

// lockedReader lets instances share a random source.
type lockedReader struct {
	mu     sync.Mutex
	reader io.Reader
}

func (r *lockedReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reader.Read(p)
}

// used is a provider or a policy pack.
type used interface {
	io.Closer
	// endStale ends the instances that were idle at the last call, and reports whether some are idle now.
	endStale() bool
}

// idling ends instances that are not needed. It costs nothing while none is idle.
type idling struct {
	count atomic.Int64
	armed atomic.Bool
	timer *time.Timer // guarded by Host.mu
	// crowded is set while some are being ended because they are too many.
	crowded atomic.Bool
}

// noteIdle is called when an instance has become idle.
func (h *Host) noteIdle() {
	i := &h.idling
	if i.count.Load() > int64(h.config.idleInstances) && i.crowded.CompareAndSwap(false, true) {
		h.background(func() {
			i.crowded.Store(false)
			h.endIdle()
		})
	}
	if i.armed.Load() || !i.armed.CompareAndSwap(false, true) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		i.timer = time.AfterFunc(h.config.idleTime, func() { h.background(h.endIdle) })
	}
}

// endIdle ends instances that were idle the last time, too.
func (h *Host) endIdle() {
	h.idling.armed.Store(false) // instances that become idle meanwhile are noted
	h.mu.Lock()
	open := slices.Collect(maps.Keys(h.open))
	h.mu.Unlock()
	left := false
	for _, u := range open {
		left = u.endStale() || left
	}
	if left {
		h.noteIdle()
	}
}

func (s *sandbox) endStale() bool {
	stale, left := s.instances.TakeStale()
	for _, i := range stale {
		i.Close()
	}
	return left
}
