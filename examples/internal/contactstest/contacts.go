// Package contactstest holds the provider contacts in any language to the contract, and to the same in Go.
package contactstest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/conformance"
	"github.com/husk-dev/husk/examples/contacts/provider"
	"github.com/husk-dev/husk/examples/internal/difftest"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/guest-sdk/guesttest"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// Contact is the token of the resource.
const Contact = "contacts:index:Contact"

// Opener opens a provider that may make requests to a URL.
type Opener = func(t testing.TB, lenient bool, url string) abi.Provider

// Service starts the service of the provider.
func Service(t testing.TB) (*guesttest.API, *guesttest.Collection) {
	api := guesttest.NewAPI(t)
	return api, api.Collection("/contacts")
}

func granted(t testing.TB, url string) host.Grants {
	var grants grant.Set
	one, err := grant.ParseFlag("http=" + url)
	require.NoError(t, err)
	require.NoError(t, grants.Add(one, grant.Place{}))
	return grants
}

// Open opens the provider of a module, which may make requests to a URL, and shakes hands with it.
func Open(t testing.TB, module *host.Module, name string, lenient bool, url string) *host.Provider {
	p, err := module.NewProvider(t.Context(), host.ProviderOptions{Name: name, Grants: granted(t, url), Instances: 1, Lenient: lenient})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	_, err = p.Handshake(t.Context(), abi.HandshakeRequest{Engine: "test", Features: abi.AllFeatures})
	require.NoError(t, err)
	return p
}

// OpenerOf returns the opener of a module of the provider.
func OpenerOf(module *host.Module) Opener {
	return func(t testing.TB, lenient bool, url string) abi.Provider {
		return Open(t, module, "contacts", lenient, url)
	}
}

// LoaderOf returns what opens the provider of a module for the engine, which has a component and its children served at once.
func LoaderOf(module *host.Module) func(t testing.TB, url string) abi.Provider {
	return func(t testing.TB, url string) abi.Provider {
		p, err := module.NewProvider(t.Context(), host.ProviderOptions{Name: "contacts", Grants: granted(t, url)})
		require.NoError(t, err)
		return p
	}
}

// Conformance holds the provider to the contract.
func Conformance(t *testing.T, open Opener) {
	api, _ := Service(t)
	report, err := conformance.Run(t.Context(), func(context.Context) (abi.Provider, error) { return open(t, true, api.URL), nil }, conformance.Options{
		Seed: 7, Config: pt.MapOf(pt.Object{"url": api.URL}),
	})
	require.NoError(t, err)
	ok := 0
	for _, r := range report.Results {
		require.NotEqual(t, conformance.Failed, r.Status, "%s of %s: %s", r.Check, r.Subject, r.Message)
		if r.Status == conformance.OK {
			ok++
		}
	}
	require.Greater(t, ok, 30)
}

// Faults requires that nothing is forgotten, whatever request of the life of a contact fails.
func Faults(t *testing.T, open Opener) {
	guesttest.Faults(t, Contact, guesttest.Lifecycle{
		Inputs: guesttest.Props{"name": "Ann", "address": guesttest.Props{"city": "Bern"}, "password": "correct horse"},
		State:  guesttest.Props{"label": "Ann (person)", "priority": 3},
		Changes: []guesttest.Change{
			{Inputs: guesttest.Props{"name": "Ann", "tags": []string{"friend"}}, Diff: []string{"address delete", "password delete", "tags add"}},
			{Inputs: guesttest.Props{"name": "Bob", "kind": "company"}, Diff: []string{"kind update", "name update-replace", "tags delete"}},
		},
		Import: true,
	}, func(t testing.TB) (*guesttest.Provider, *guesttest.API) {
		api, _ := Service(t)
		p := guesttest.Of(t, open(t, false, api.URL))
		p.Configure(guesttest.Props{"url": api.URL})
		return p, api
	})
}

// WithoutZeros leaves the zeros of Go out of the answers of a provider.
func WithoutZeros(p abi.Provider) abi.Provider {
	return difftest.Without{Provider: p, Names: []string{"password", "tags", "address"}}
}

// Module tests the built provider. adapt is that of [difftest.HostileOptions].
func Module(t *testing.T, wasm []byte, adapt func(abi.Provider) abi.Provider) {
	load := func(config host.Config) *host.Module {
		module, err := testmodule.Host(t, config).LoadBytes(t.Context(), wasm)
		require.NoError(t, err)
		return module
	}
	module := load(host.NewConfig())
	open := OpenerOf(module)

	t.Run("instances start from a snapshot", func(t *testing.T) {
		image, err := module.BaseImage(t.Context())
		require.NoError(t, err)
		require.True(t, image.Prepared, "%+v", image)
	})
	t.Run("it keeps to the contract", func(t *testing.T) { Conformance(t, open) })
	t.Run("whatever request of its life fails, nothing is forgotten", func(t *testing.T) { Faults(t, open) })
	t.Run("whatever the service answers or the engine asks, it refuses it or answers as the provider in Go does", func(t *testing.T) {
		difftest.Hostile(t, difftest.HostileOptions{
			Long: 200_000, Open: func(t testing.TB, url string) abi.Provider { return open(t, false, url) }, Adapt: adapt,
		})
	})
	t.Run("its teams are made as those of the provider in Go", func(t *testing.T) { Teams(t, open) })
	t.Run("the engine makes, changes, and removes a team", func(t *testing.T) { Deployed(t, LoaderOf(module)) })
	t.Run("it answers as the provider in Go does", func(t *testing.T) {
		ours, our := Service(t)
		theirs, their := Service(t)
		difftest.Compare(t, provider.New(), load, difftest.Options{
			Grants: granted(t, theirs.URL), Adapt: WithoutZeros,
			Native: pt.MapOf(pt.Object{"url": ours.URL}), Module: pt.MapOf(pt.Object{"url": theirs.URL}),
			Samples: map[string]property.Map{
				Contact:               pt.MapOf(pt.Object{"name": "Ann", "address": pt.Object{"city": "Bern"}, "password": "correct horse"}),
				"contacts:index:find": pt.MapOf(pt.Object{"tag": "friend"}),
			},
			Words: map[string][]any{
				"name": {"Ann", "Bob", "Zoë"}, "tag": {"friend", "family"}, "tags": {pt.List{"friend"}, pt.List{"family", "friend"}, pt.List{}},
				"address": {pt.Object{"city": "Bern", "street": "Aare 1"}, pt.Object{"city": ""}}, "password": {"correct horse", "short", "Ann (person)"},
			},
			IDs: []string{"1", "2", "none"},
			Begin: func() {
				for _, c := range []*guesttest.Collection{our, their} {
					for id := range c.Items() {
						c.Remove(id)
					}
				}
			},
		})
	})
}
