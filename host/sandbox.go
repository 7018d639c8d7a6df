package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/host/internal/capability"
	"github.com/husk-dev/husk/host/internal/guestcall"
	"github.com/husk-dev/husk/host/internal/image"
	"github.com/husk-dev/husk/host/internal/pool"
	"github.com/husk-dev/husk/host/internal/wasi"
	"github.com/husk-dev/husk/host/limit"
	"github.com/husk-dev/husk/internal/base/printable"
)

// sandbox is one use of a module, as a provider or as a policy pack.
type sandbox struct {
	module *Module
	// config is the host's, with the sandbox's own limits.
	config    *Config
	logger    *slog.Logger
	files     *wasi.FileSystem
	http      *capability.HTTPClient
	tcp       []TCPGrant
	store     abi.KV
	advice    capability.Advice
	resource  atomic.Pointer[urn.URN] // which configured it; nil before
	audit     func(AuditEvent)
	learn     func(provider string, used grant.Text)
	logRate   *guestcall.LogRate
	health    pool.Health
	counters  counters
	budget    *pool.Budget
	env       []string
	variables []string // the names of those in env that were granted
	expected  string
	identity  atomic.Pointer[identity]
	instances *pool.Pool[*instance]
	setup     setup
	// limited is set if instances start only to make an image.
	limited bool
	// imageBuilder is nil unless an instance starts to make an image.
	imageBuilder *imageBuilder
	// noSnapshotReasonLogged is done once the log says why instances start, and setupReasonLogged why they repeat the setup.
	noSnapshotReasonLogged, setupReasonLogged sync.Once
	// configured is the image of the sandbox as it is set up.
	configured configured

	mu      sync.Mutex
	running guestcall.Calls
	closed  bool
	// open counts the sandbox and its instances, which need the files and connections.
	open int
}

// identity is who answers, for messages.
type identity struct{ name, version string }

// WorldError is the error for a module of another world than the wanted one.
type WorldError struct {
	// Is is the module's world, and Wanted the world it was used as.
	Is, Wanted canon.World
}

func (e *WorldError) Error() string {
	return fmt.Sprintf("the module is a %s, and not a %s", e.Is, e.Wanted)
}

// init makes the sandbox. Nothing runs in it yet.
func (s *sandbox) init(ctx context.Context, m *Module, world canon.World, name string, grants Grants, limits map[string]uint64, logger *slog.Logger, instances int) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if m.World != world {
		return &WorldError{Is: m.World, Wanted: world}
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	if instances <= 0 {
		instances = DefaultInstances
	}
	config, err := m.host.config.ofProvider(limits)
	if err != nil {
		return fmt.Errorf("the limits of the %s %s: %w", world, name, err)
	}
	s.config = config
	env, variables, err := capability.Environment(grants)
	if err != nil {
		return fmt.Errorf("granting to the %s %s: %w", world, name, err)
	}
	files, err := capability.OpenFiles(grants, m.host.own)
	if err != nil {
		return fmt.Errorf("granting to the %s %s: %w", world, name, err)
	}
	s.module, s.logger, s.files, s.env, s.variables, s.expected = m, logger, files, env, variables, name
	s.advice = grants.GrantAdvice
	s.http = capability.NewHTTPClient(grants.HTTP, m.host.config.roots, s.advice)
	s.tcp, s.store = grants.TCP, grants.KV
	s.audit, s.learn = m.host.config.audit, m.host.config.learn
	s.open = 1
	s.budget = m.host.budget
	s.instances = pool.New[*instance](instances, config.limits.WaitingCalls, s.budget, &m.host.idling.count)
	s.logRate = guestcall.NewLogRate(config.limits.LogRate)
	s.health.Crashes, s.health.Window = config.limits.Crashes, config.crashWindow
	s.counters.whole = &m.host.counters
	s.identity.Store(&identity{name: name})
	if manifest := m.Manifest; manifest != nil {
		s.identity.Store(&identity{manifest.Name, manifest.Version})
	}
	return nil
}

// introduce makes the texts of a handshake safe to print, and compares them with the manifest.
func (s *sandbox) introduce(name, version, sdk *string) error {
	*name, *version, *sdk = printable.Line(*name), printable.Line(*version), printable.Line(*sdk)
	if m := s.module.Manifest; m != nil && (m.Name != *name || m.Version != *version) {
		return s.breach(abi.MethodHandshake, fmt.Errorf("its manifest says %s %s, but it calls itself %s %s: build it again with `husk provider build`",
			m.Name, m.Version, *name, *version))
	}
	if *name != "" {
		s.identity.Store(&identity{*name, *version})
	}
	return nil
}

// configuredAs is the provider resource that it was configured for, empty before that.
func (s *sandbox) configuredAs() urn.URN {
	if u := s.resource.Load(); u != nil {
		return *u
	}
	return ""
}

// Digest is the SHA-256 of the module.
func (s *sandbox) Digest() string { return s.module.Digest }

// Module is the module that this is a use of.
func (s *sandbox) Module() *Module { return s.module }

// end stops running calls, and refuses others. It returns false if it was called before. The caller releases
// the sandbox.
func (s *sandbox) end() bool {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return false
	}
	s.closed = true
	for r := range s.running.All() {
		r.End(pool.ErrClosed)
	}
	s.mu.Unlock()
	for _, i := range s.instances.Close() {
		i.Close()
	}
	return true
}

// endUse ends the use of a module that has the sandbox, unless that was done before.
func (s *sandbox) endUse(of used) error {
	if s.end() {
		s.release()
		s.module.host.closedOne(of)
	}
	return nil
}

func (s *sandbox) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// acquire and release count what uses the files and connections. False: it is closed.
func (s *sandbox) acquire() bool {
	if !s.module.host.enter() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		s.module.host.live.Done()
		return false
	}
	s.open++
	return true
}

func (s *sandbox) release() {
	s.mu.Lock()
	s.open--
	last := s.open == 0
	s.mu.Unlock()
	if last {
		s.configured.close()
		s.files.Close()
		s.http.Close()
	}
}

// call runs one method in an instance.
func call[Q, R any](ctx context.Context, s *sandbox, method abi.Method, request Q,
	do func(*canon.Guest, context.Context, Q) (R, error),
) (response R, err error) {
	err = s.serve(ctx, method, func(ctx context.Context, guest *canon.Guest) error {
		response, err = do(guest, ctx, request)
		return err
	})
	if err != nil {
		var none R
		return none, err
	}
	return response, nil
}

// serve has an instance serve a call.
func (s *sandbox) serve(ctx context.Context, method abi.Method, do func(context.Context, *canon.Guest) error) error {
	i, err := s.take(ctx, method)
	if err != nil {
		return err
	}
	defer s.put(i)
	return i.run(ctx, method, do)
}

// take returns an instance that is set up and that the caller has to itself.
func (s *sandbox) take(ctx context.Context, method abi.Method) (*instance, error) {
	return s.takeWith(ctx, method, s.setup.current())
}

// takeWith returns an instance that is set up like that.
func (s *sandbox) takeWith(ctx context.Context, method abi.Method, state setupState) (*instance, error) {
	if ctx.Err() != nil {
		return nil, s.cancelled(method, context.Cause(ctx))
	}
	if quarantine := s.health.Quarantine(); quarantine != nil {
		s.counters.failed(FailureQuarantine)
		return nil, s.refuse(method, &QuarantineError{Crashes: quarantine.Crashes, Window: quarantine.Window, Last: quarantine.Last})
	}
	i, err := s.instances.Take(ctx)
	switch {
	case errors.Is(err, pool.ErrClosed):
		return nil, s.gone(method)
	case errors.Is(err, pool.ErrCrowded):
		return nil, s.refuse(method, &limit.ExceededError{Limit: limit.WaitingCalls, Most: uint64(s.config.limits.WaitingCalls)})
	case err != nil:
		return nil, s.cancelled(method, err)
	}
	i, err = s.ready(ctx, method, i, state)
	if err != nil {
		s.instances.Leave()
		return nil, err
	}
	return i, nil
}

// ready brings an instance to a state of the setup. It starts one for nil, or if that is impossible.
func (s *sandbox) ready(ctx context.Context, method abi.Method, i *instance, state setupState) (*instance, error) {
	if i != nil && (i.generation != state.generation || i.applied > len(state.steps)) {
		i.Close()
		i = nil
	}
	fresh := i == nil
	if fresh {
		var err error
		if i, err = s.startFor(ctx, state); err != nil {
			return nil, err
		}
	}
	repeats := false
	for n, step := range state.steps {
		first := step.first()
		if n == i.applied {
			i.replaying = !first
			err := i.run(abi.WithAssets(ctx, step.assets), step.method, step.do)
			i.replaying = false
			if err != nil {
				i.Close()
				if first {
					err = late(err, method)
				}
				return nil, err
			}
			i.applied++
		}
		if first {
			step.lazyStep.done.Store(true)
		}
		repeats = repeats || !first
	}
	if fresh && repeats && i.usable() {
		if err := s.configured.keep(i); err != nil {
			s.setupReasonLogged.Do(func() {
				s.debug(ctx, "each instance is set up by itself, and does not begin with an image of its setup: "+err.Error())
			})
		}
	}
	return i, nil
}

// startFor makes an instance that is on the way to a state of the setup.
func (s *sandbox) startFor(ctx context.Context, state setupState) (*instance, error) {
	if err := s.waitAfterCrash(ctx); err != nil {
		return nil, err
	}
	s.module.fetch.Do(func() {
		h := s.module.host
		h.background(func() { _, _ = s.module.code(h.stopped) }) // who needs it gets the error, too
	})
	from, applied := s.configured.find(state)
	if from != nil {
		i, err := s.startFrom(ctx, from)
		switch {
		case err == nil:
			i.generation, i.applied = state.generation, applied
			return i, nil
		case !errors.Is(err, image.ErrClosed): // another setup has taken its place
			return nil, err
		}
	}
	i, err := s.start(ctx)
	if err == nil {
		i.generation = state.generation
	}
	return i, err
}

// waitAfterCrash keeps instances that crash from being started as fast as they do.
func (s *sandbox) waitAfterCrash(ctx context.Context) error {
	wait := s.health.Backoff()
	if wait == 0 {
		return nil
	}
	if err := s.module.host.config.clock.Sleep(ctx, wait); err != nil {
		return s.cancelled(limit.MethodStart, err)
	}
	return nil
}

// ended counts how a call has ended.
func (s *sandbox) ended(method abi.Method, why Failure, err error) {
	switch {
	case err == nil:
		if method != limit.MethodStart {
			s.health.Succeeded()
		}
		return
	case why.lost():
		s.health.Crashed(s.module.host.config.clock.Elapsed(), err.Error())
	}
	s.counters.failed(why)
}

// put gives an instance back, and discards it if it must not be used again.
func (s *sandbox) put(i *instance) {
	if i.usable() && s.instances.Put(i) {
		s.module.host.noteIdle()
		return
	}
	i.Close()
	s.instances.Leave()
}

// cancelAll tells running calls to stop, and has idle instances release what they hold.
func (s *sandbox) cancelAll(ctx context.Context, do func(*canon.Guest, context.Context) error) error {
	s.mu.Lock()
	for r := range s.running.All() {
		r.Cancel(errCancelled)
	}
	s.mu.Unlock()
	idle := s.instances.TakeIdle()
	failures := make([]error, len(idle))
	var all sync.WaitGroup // a slow one does not delay the others
	for n, i := range idle {
		all.Go(func() {
			s.instances.Begin()
			defer s.instances.End()
			defer i.Close()
			err := i.run(ctx, abi.MethodCancel, func(ctx context.Context, guest *canon.Guest) error { return do(guest, ctx) })
			if !errors.Is(err, abi.ErrUnimplemented) {
				failures[n] = err
			}
		})
	}
	all.Wait()
	return errors.Join(failures...)
}

// errCancelled is the cause of a call's end after Cancel.
var errCancelled = errors.New("it was cancelled")
