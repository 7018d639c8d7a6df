// Package contacts_test holds the provider in TypeScript to the contract, and to the same in Go.
package contacts_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
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
	"github.com/husk-dev/husk/internal/build/jsbuild"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

func TestMain(m *testing.M) { testmodule.Main(m) }

const contact = "contacts:index:Contact"

// built builds the provider as its author would, with npm's packages, and with the engine where a checkout has it.
func built(t testing.TB) []byte {
	for _, program := range []string{"npm", "pip"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	const sdk = "../../../../guest-sdk/js"
	if _, err := os.Stat(filepath.Join(sdk, "engine.wasm")); err != nil {
		run(t, sdk, "engine/build.sh", ".")
	}
	run(t, "..", "npm", "install", "--no-audit", "--no-fund")
	wasm, err := jsbuild.Build(t.Context(), "..")
	require.NoError(t, err)
	return wasm
}

func run(t testing.TB, dir, name string, args ...string) {
	cmd := exec.CommandContext(t.Context(), name, args...)
	if filepath.Base(name) != name {
		cmd.Path = filepath.Join(dir, name)
	}
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", name, out)
}

func granted(t testing.TB, url string) host.Grants {
	var grants grant.Set
	one, err := grant.ParseFlag("http=" + url)
	require.NoError(t, err)
	require.NoError(t, grants.Add(one, grant.Place{}))
	return grants
}

func open(t testing.TB, module *host.Module, lenient bool, url string) *host.Provider {
	p, err := module.NewProvider(t.Context(), host.ProviderOptions{Name: "contacts", Grants: granted(t, url), Instances: 1, Lenient: lenient})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	_, err = p.Handshake(t.Context(), abi.HandshakeRequest{Engine: "test", Features: abi.AllFeatures})
	require.NoError(t, err)
	return p
}

func service(t testing.TB) (*guesttest.API, *guesttest.Collection) {
	api := guesttest.NewAPI(t)
	return api, api.Collection("/contacts")
}

func TestContacts(t *testing.T) {
	wasm := built(t)
	load := func(config host.Config) *host.Module {
		module, err := testmodule.Host(t, config).LoadBytes(t.Context(), wasm)
		require.NoError(t, err)
		return module
	}
	module := load(host.NewConfig())

	t.Run("its types fit", func(t *testing.T) { run(t, "..", "npm", "run", "--silent", "check") })

	t.Run("instances start from a snapshot", func(t *testing.T) {
		image, err := module.BaseImage(t.Context())
		require.NoError(t, err)
		require.True(t, image.Prepared, "%+v", image)
	})

	t.Run("it keeps to the contract", func(t *testing.T) {
		api, _ := service(t)
		report, err := conformance.Run(t.Context(), func(context.Context) (abi.Provider, error) { return open(t, module, true, api.URL), nil }, conformance.Options{
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
	})

	t.Run("whatever request of its life fails, nothing is forgotten", func(t *testing.T) {
		guesttest.Faults(t, contact, guesttest.Lifecycle{
			Inputs: guesttest.Props{"name": "Ann", "address": guesttest.Props{"city": "Bern"}, "password": "correct horse"},
			State:  guesttest.Props{"label": "Ann (person)", "priority": 3},
			Changes: []guesttest.Change{
				{Inputs: guesttest.Props{"name": "Ann", "tags": []string{"friend"}}, Diff: []string{"address delete", "password delete", "tags add"}},
				{Inputs: guesttest.Props{"name": "Bob", "kind": "company"}, Diff: []string{"kind update", "name update-replace", "tags delete"}},
			},
			Import: true,
		}, func(t testing.TB) (*guesttest.Provider, *guesttest.API) {
			api, _ := service(t)
			p := guesttest.Of(t, open(t, module, false, api.URL))
			p.Configure(guesttest.Props{"url": api.URL})
			return p, api
		})
	})

	t.Run("whatever the service answers or the engine asks, it refuses it or answers as the provider in Go does", func(t *testing.T) {
		difftest.Hostile(t, difftest.HostileOptions{
			Long: 200_000, Open: func(t testing.TB, url string) abi.Provider { return open(t, module, false, url) },
			Adapt: func(p abi.Provider) abi.Provider {
				return difftest.Without{Provider: p, Names: []string{"password", "tags", "address"}}
			},
		})
	})

	t.Run("it answers as the provider in Go does", func(t *testing.T) {
		ours, our := service(t)
		theirs, their := service(t)
		difftest.Compare(t, provider.New(), load, difftest.Options{
			Grants: granted(t, theirs.URL), Adapt: func(p abi.Provider) abi.Provider {
				return difftest.Without{Provider: p, Names: []string{"password", "tags", "address"}}
			},
			Native: pt.MapOf(pt.Object{"url": ours.URL}), Module: pt.MapOf(pt.Object{"url": theirs.URL}),
			Samples: map[string]property.Map{
				contact:               pt.MapOf(pt.Object{"name": "Ann", "address": pt.Object{"city": "Bern"}, "password": "correct horse"}),
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
