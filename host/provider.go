package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host/internal/wasi"
)

// ProviderOptions says how a module is used by one configuration.
type ProviderOptions struct {
	// Name is the package that the caller expects, for messages until the module has
	// told its own.
	Name string
	// Grants is what the provider may use.
	Grants Grants
	// Logger takes what the provider logs and prints; nil drops it. See [LogProvider]
	// for the attributes of the records.
	Logger *slog.Logger
	// Instances bounds how many calls run at once; 0 is [DefaultInstances].
	Instances int
	// Lenient passes on answers that do not fit the provider's schema, and diffs that
	// cannot be. It is for tests of providers, which tell their authors more.
	Lenient bool
}

// Provider is one configuration of a module. It is an [abi.Provider], safe for
// concurrent use: each call runs in an instance of its own, of which there are as
// many as there are calls at once, up to a bound. Instances start when they are
// needed. What sets a provider up (Handshake, Parameterize, Configure) is kept, and
// repeated in each instance before it serves anything else.
//
// A monitor that is in the context of Call or Construct (see [abi.WithMonitor]) is
// what the guest gets; so are the assets in the context of any method (see
// [abi.WithAssets]).
type Provider struct {
	module    *Module
	logger    *slog.Logger
	files     *wasi.FileSystem
	http      *httpClient
	env       []string
	expected  string
	identity  atomic.Pointer[identity]
	instances *pool
	setup     setup
	streams   streams
	lenient   bool
	declared  declarations
	// knowsNoSecrets says that the handshake offered secrets, and that the module did not
	// take them.
	knowsNoSecrets atomic.Bool

	mu      sync.Mutex
	running map[*running]struct{}
	closed  bool
	// open counts what still needs the files and connections: the provider itself, and
	// its instances.
	open int
}

var (
	_ abi.Provider = (*Provider)(nil)
	_ io.Closer    = (*Provider)(nil)
)

// identity is who answers, for messages.
type identity struct{ name, version string }

// errClosed is a provider that is used after Close.
var errClosed = errors.New("the provider is closed")

// NewProvider makes a configuration of the module. Nothing of it runs yet. Errors are
// about the options: a granted directory that is missing, for example.
func (m *Module) NewProvider(ctx context.Context, options ProviderOptions) (*Provider, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.Instances <= 0 {
		options.Instances = DefaultInstances
	}
	env, err := options.Grants.environment()
	if err != nil {
		return nil, fmt.Errorf("granting to the provider %s: %w", options.Name, err)
	}
	files, err := wasi.OpenFileSystem(options.Grants.mounts())
	if err != nil {
		return nil, fmt.Errorf("granting to the provider %s: %w", options.Name, err)
	}
	p := &Provider{
		module: m, logger: options.Logger, files: files, env: env, expected: options.Name,
		http:    newHTTPClient(options.Grants.HTTP, nil),
		running: make(map[*running]struct{}), open: 1, lenient: options.Lenient,
	}
	p.declared.own = m.declared
	p.instances = newPool(options.Instances)
	p.identity.Store(&identity{name: options.Name})
	if manifest := m.Manifest; manifest != nil {
		p.identity.Store(&identity{manifest.Name, manifest.Version})
	}
	return p, nil
}

// Digest is the SHA-256 of the provider's module.
func (p *Provider) Digest() string { return p.module.Digest }

// Module is the module that the provider is a configuration of.
func (p *Provider) Module() *Module { return p.module }

// Close ends the provider: calls that are running are stopped, and fail.
func (p *Provider) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	for r := range p.running {
		r.end(errClosed)
	}
	p.mu.Unlock()
	for _, i := range p.instances.close() {
		i.close()
	}
	for _, s := range p.streams.takeAll() {
		s.close()
	}
	p.release()
	return nil
}

func (p *Provider) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// acquire and release count what uses the files and connections.
func (p *Provider) acquire() {
	p.mu.Lock()
	p.open++
	p.mu.Unlock()
}

func (p *Provider) release() {
	p.mu.Lock()
	p.open--
	last := p.open == 0
	p.mu.Unlock()
	if last {
		p.files.Close()
		p.http.close()
	}
}

// call runs one method in an instance.
func call[Q, R any](ctx context.Context, p *Provider, method string, request Q,
	do func(abi.Provider, context.Context, Q) (R, error),
) (response R, err error) {
	i, err := p.take(ctx, method)
	if err != nil {
		return response, err
	}
	defer p.put(i)
	err = i.run(ctx, method, func(ctx context.Context) error {
		response, err = do(i.guest, ctx, request)
		return err
	})
	if err != nil {
		var none R
		return none, err
	}
	return response, nil
}

// take answers an instance that is set up and that the caller has to itself.
func (p *Provider) take(ctx context.Context, method string) (*instance, error) {
	return p.takeWith(ctx, method, p.setup.current())
}

// takeWith answers an instance that is set up like that.
func (p *Provider) takeWith(ctx context.Context, method string, state setupState) (*instance, error) {
	if ctx.Err() != nil {
		return nil, p.cancelled(method, context.Cause(ctx))
	}
	i, err := p.instances.take(ctx)
	switch {
	case errors.Is(err, errClosed):
		return nil, p.fail(method, abi.ErrorKindUnavailable, errClosed.Error())
	case err != nil:
		return nil, p.cancelled(method, err)
	}
	i, err = p.ready(ctx, i, state)
	if err != nil {
		p.instances.leave()
		return nil, err
	}
	return i, nil
}

// ready brings an instance to a state of the setup. It starts one where it has none, or
// one that is set up in another way or further.
func (p *Provider) ready(ctx context.Context, i *instance, state setupState) (*instance, error) {
	if i != nil && (i.generation != state.generation || i.applied > len(state.steps)) {
		i.close()
		i = nil
	}
	if i == nil {
		var err error
		if i, err = p.start(ctx); err != nil {
			return nil, err
		}
		i.generation = state.generation
	}
	for i.applied < len(state.steps) {
		step := state.steps[i.applied]
		if err := i.replay(ctx, step); err != nil {
			i.close()
			return nil, err
		}
		i.applied++
	}
	return i, nil
}

// put gives an instance back, and discards it where it must not be used again.
func (p *Provider) put(i *instance) {
	if i.usable() && p.instances.put(i) {
		return
	}
	i.close()
	p.instances.leave()
}

// Cancel stops what the provider is doing: calls that are running learn of it, and
// idle instances release what they hold. The provider can be used again afterwards.
func (p *Provider) Cancel(ctx context.Context) error {
	p.mu.Lock()
	for r := range p.running {
		r.cancel(errCancelled)
	}
	p.mu.Unlock()
	var failures []error
	for _, i := range p.instances.takeIdle() {
		err := i.run(ctx, "cancel", func(ctx context.Context) error { return i.guest.Cancel(ctx) })
		if err != nil && !errors.Is(err, abi.ErrUnimplemented) {
			failures = append(failures, err)
		}
		i.close()
	}
	return errors.Join(failures...)
}

// errCancelled is the cause of a call's end after [Provider.Cancel].
var errCancelled = errors.New("the provider was cancelled")
