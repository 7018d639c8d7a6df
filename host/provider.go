package host

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
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
	// Limits are those that are the provider's own, by name and in the unit of each: see
	// package limit. All others are the host's.
	Limits map[string]uint64
	// Instances bounds how many calls run at once; 0 is [DefaultInstances].
	Instances int
	// Lenient passes on answers that do not fit the provider's schema, and diffs that
	// cannot be. It is for tests of providers, which tell their authors more.
	Lenient bool
	// AskGuest has the guest asked for what the host would answer by the provider's schema,
	// where that says that the answer follows from it alone. It makes no difference to what is
	// answered.
	AskGuest bool
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
	sandbox
	calls
	streams  streams
	lenient  bool
	askGuest bool
	packages packageSchemas
	// isConfigured is set once Configure has succeeded.
	isConfigured atomic.Bool
	// knowsNoSecrets says that the handshake offered secrets, and that the module did not
	// take them.
	knowsNoSecrets atomic.Bool
}

// calls are the methods of a provider, each of which is one call of [Provider.serve].
type calls = abi.Provider

var (
	_ abi.Provider = (*Provider)(nil)
	_ io.Closer    = (*Provider)(nil)
)

// NewProvider makes a configuration of the module. Nothing of it runs yet. Errors are
// about the options: a granted directory that is missing, for example.
func (m *Module) NewProvider(ctx context.Context, options ProviderOptions) (*Provider, error) {
	p := &Provider{lenient: options.Lenient, askGuest: options.AskGuest}
	p.calls = abi.Intercept(abi.Unimplemented{}, p.serve)
	p.packages.own = m.declared
	err := p.init(ctx, m, canon.WorldProvider, options.Name, options.Grants, options.Limits, options.Logger, options.Instances)
	if err != nil {
		return nil, err
	}
	if err := m.host.made(p); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close ends the provider: calls that are running are stopped, and fail.
func (p *Provider) Close() error {
	if p.end() {
		for _, s := range p.streams.takeAll() {
			s.close()
		}
		p.release()
		p.module.host.closedOne(p)
	}
	return nil
}

// Cancel stops what the provider is doing: calls that are running learn of it, and
// idle instances release what they hold. The provider can be used again afterwards.
func (p *Provider) Cancel(ctx context.Context) error {
	return p.cancelAll(ctx, (*canon.Guest).Cancel)
}
