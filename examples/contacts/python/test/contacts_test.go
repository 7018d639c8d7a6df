// Package contacts_test holds the module of the provider in Python to the contract, and to the same in Go.
package contacts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/examples/internal/contactstest"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/build/langbuild"
	"github.com/husk-dev/husk/internal/testkit/pythontest"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

func TestMain(m *testing.M) { testmodule.Main(m) }

// environment makes a virtual environment with the SDK in a directory, as an author would, and with the engine where a checkout has it.
func environment(t testing.TB, dir string) {
	python := pythontest.Find(t)
	sdk, err := filepath.Abs("../../../../guest-sdk/python")
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(sdk, "husk_provider", "engine.wasm")); err != nil {
		contactstest.Run(t, sdk, filepath.Join(sdk, "engine", "build.sh"), "husk_provider")
	}
	source := t.TempDir() // in which pip builds
	require.NoError(t, os.CopyFS(filepath.Join(source, "husk_provider"), os.DirFS(filepath.Join(sdk, "husk_provider"))))
	text, err := os.ReadFile(filepath.Join(sdk, "pyproject.toml"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(source, "pyproject.toml"), text, 0o644))
	contactstest.Run(t, dir, python, "-m", "venv", ".venv")
	contactstest.Run(t, dir, filepath.Join(dir, ".venv", "bin", "pip"), "install", "--quiet", source)
}

// built builds the provider in a directory.
func built(t testing.TB, dir string) []byte {
	language := langbuild.Of(dir)
	require.NotNil(t, language)
	wasm, err := language.Build(t.Context(), langbuild.Source{Dir: dir, Root: dir})
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

func TestContacts(t *testing.T) { contactstest.Module(t, contacts(t), nil) }

// BenchmarkInstance has what the RATIONALE says of the size of a provider in Python and of its time.
func BenchmarkInstance(b *testing.B) { contactstest.Benchmark(b, contacts(b)) }

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
	open := func() *host.Provider { return contactstest.Open(t, module, "drawn", false, "http://127.0.0.1:1") }
	a, b := create(open()), create(open())
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
