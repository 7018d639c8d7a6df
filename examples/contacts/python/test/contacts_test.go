// Package contacts_test holds the module of the provider in Python to the contract, and to the same in Go.
package contacts_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/conformance"
	"github.com/husk-dev/husk/examples/contacts/provider"
	"github.com/husk-dev/husk/examples/internal/difftest"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/guest-sdk/guesttest"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/build/langbuild"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

func TestMain(m *testing.M) { testmodule.Main(m) }

const contact = "contacts:index:Contact"

// environment makes a virtual environment with the SDK in a directory, as an author would, and with the engine where a checkout has it.
func environment(t testing.TB, dir string) {
	python, err := exec.LookPath("python3")
	if err != nil || exec.CommandContext(t.Context(), python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))").Run() != nil {
		t.Skip("there is no Python 3.11")
	}
	sdk, err := filepath.Abs("../../../../guest-sdk/python")
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(sdk, "husk_provider", "engine.wasm")); err != nil {
		run(t, sdk, filepath.Join(sdk, "engine", "build.sh"), "husk_provider")
	}
	source := t.TempDir() // in which pip builds
	require.NoError(t, os.CopyFS(filepath.Join(source, "husk_provider"), os.DirFS(filepath.Join(sdk, "husk_provider"))))
	text, err := os.ReadFile(filepath.Join(sdk, "pyproject.toml"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(source, "pyproject.toml"), text, 0o644))
	run(t, dir, python, "-m", "venv", ".venv")
	run(t, dir, filepath.Join(dir, ".venv", "bin", "pip"), "install", "--quiet", source)
}

func run(t testing.TB, dir, name string, args ...string) string {
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", name, out)
	return string(out)
}

// built builds the provider in a directory.
func built(t testing.TB, dir string) []byte {
	language := langbuild.Of(dir)
	require.NotNil(t, language)
	wasm, err := language.Build(t.Context(), dir, nil)
	require.NoError(t, err)
	return wasm
}

func contacts(t testing.TB) []byte {
	dir := t.TempDir()
	for _, name := range []string{"pyproject.toml", "provider.py"} {
		text, err := os.ReadFile(filepath.Join("..", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
	environment(t, dir)
	return built(t, dir)
}

func granted(t testing.TB, url string) host.Grants {
	var grants grant.Set
	one, err := grant.ParseFlag("http=" + url)
	require.NoError(t, err)
	require.NoError(t, grants.Add(one, grant.Place{}))
	return grants
}

func open(t testing.TB, module *host.Module, name string, lenient bool, url string) *host.Provider {
	p, err := module.NewProvider(t.Context(), host.ProviderOptions{Name: name, Grants: granted(t, url), Instances: 1, Lenient: lenient})
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
	wasm := contacts(t)
	load := func(config host.Config) *host.Module {
		module, err := testmodule.Host(t, config).LoadBytes(t.Context(), wasm)
		require.NoError(t, err)
		return module
	}
	module := load(host.NewConfig())

	t.Run("instances start from a snapshot", func(t *testing.T) {
		image, err := module.BaseImage(t.Context())
		require.NoError(t, err)
		require.True(t, image.Prepared, "%+v", image)
	})

	t.Run("it keeps to the contract", func(t *testing.T) {
		api, _ := service(t)
		report, err := conformance.Run(t.Context(), func(context.Context) (abi.Provider, error) { return open(t, module, "contacts", true, api.URL), nil }, conformance.Options{
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
			p := guesttest.Of(t, open(t, module, "contacts", false, api.URL))
			p.Configure(guesttest.Props{"url": api.URL})
			return p, api
		})
	})

	t.Run("whatever the service answers or the engine asks, it refuses it or answers as the provider in Go does", func(t *testing.T) {
		difftest.Hostile(t, difftest.HostileOptions{
			Long: 200_000, Open: func(t testing.TB, url string) abi.Provider { return open(t, module, "contacts", false, url) },
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

// drawn is a provider that tells of the interpreter.
const drawn = `
import base64, csv, datetime, decimal, email.message, hashlib, http.client, importlib.metadata, importlib.resources, json, logging, random
import re, secrets, socket, time, urllib.parse, uuid, xml.etree.ElementTree
from dataclasses import dataclass
from husk_provider import Created, CreateRequest, Provider, Resource
import words

provider = Provider("drawn", "1.0.0")
{first}

@dataclass(kw_only=True)
class Inputs:
    name: str = ""

@dataclass(kw_only=True)
class State(Inputs):
    numbers: list[str]
    now: int
    text: str

@provider.resource("drawn:index:Thing")
class Thing(Resource[Inputs, State]):
    def create(self, request: CreateRequest[Inputs]) -> Created[State]:
        time.sleep(0.001)
        try:
            socket.create_connection(("example.com", 80))
        except OSError as e:
            refused = str(e)
        numbers = [str(random.random()), str(uuid.uuid4()), secrets.token_hex(8)]
        said = [importlib.resources.files(words).joinpath("words.txt").read_text(), hashlib.sha256(b"").hexdigest()[:6], str(decimal.Decimal(1) / 7)[:6], refused]
        return Created("1", State(name=request.inputs.name, numbers=numbers, now=int(time.time()), text=" ".join(said)))
`

// Each instance has random numbers and a clock of its own, although they begin with one memory, and Python's library is there.
func TestTheInterpreter(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	environment(t, dir)
	write("pyproject.toml", "[project]\nname = 'drawn'\ndependencies = []\n")
	write("words/__init__.py", "")
	write("words/words.txt", "some words")
	load := func(first string) *host.Module {
		write("provider.py", strings.Replace(drawn, "{first}", first, 1))
		module, err := testmodule.Host(t, host.NewConfig()).LoadBytes(t.Context(), built(t, dir))
		require.NoError(t, err)
		return module
	}
	create := func(p *host.Provider) property.Map {
		created, err := p.Create(t.Context(), abi.CreateRequest{URN: urn.New("dev", "test", "", "drawn:index:Thing", "it"), Type: "drawn:index:Thing"})
		require.NoError(t, err)
		return created.State
	}
	module := load("")
	image, err := module.BaseImage(t.Context())
	require.NoError(t, err)
	require.True(t, image.Prepared, "%+v", image)
	a, b := create(open(t, module, "drawn", false, "http://127.0.0.1:1")), create(open(t, module, "drawn", false, "http://127.0.0.1:1"))
	as, _ := a.Get("numbers").AsArray()
	bs, _ := b.Get("numbers").AsArray()
	require.Len(t, as, 3)
	for i := range as {
		require.NotEqual(t, as[i], bs[i])
	}
	now, _ := a.Get("now").AsNumber()
	require.Greater(t, now, 1.7e9)
	text, _ := a.Get("text").AsString()
	require.Contains(t, text, "some words e3b0c4 0.1428 ")
	require.Contains(t, text, "a provider has no sockets: use husk_provider.http")

	// What the author's code draws or reads when it is imported is each instance's own, and so is its start.
	for first, reason := range map[string]string{"random.random()": "takes random numbers", "secrets.token_hex()": "takes random numbers", "time.time()": "reads the clock"} {
		image, err := load(first).BaseImage(t.Context())
		require.NoError(t, err)
		require.False(t, image.Prepared, first)
		require.Contains(t, image.Reason, reason)
	}

	// What fails when it is imported is said with its place.
	p, err := load("1 / 0").NewProvider(t.Context(), host.ProviderOptions{Name: "drawn", Instances: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	_, err = p.Handshake(t.Context(), abi.HandshakeRequest{Engine: "test", Features: abi.AllFeatures})
	require.ErrorContains(t, err, "ZeroDivisionError: division by zero")
	require.ErrorContains(t, err, "/husk/provider.py\", line ")
}
