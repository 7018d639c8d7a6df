package yamlprogram

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/program"
)

// petstore uses a package that a provider becomes by a parameter in every way.
const petstore = `
plugins:
  providers:
    - {name: openapi, path: openapi.wasm}
    - {name: dns, path: dns.wasm}
packages:
  petstore:
    source: openapi
    version: 1.2.3
    parameters: [./petstore.json, big]
  dns: dns@2.0.0
  unused: {source: openapi, parameters: [./unused.json]}
resources:
  server: {type: pulumi:providers:petstore, properties: {host: example.com}}
  pet: {type: petstore:Pet, properties: {name: Rex}}
  mine: {type: petstore:Pet, properties: {name: Tom}, options: {provider: "${server}"}}
  read: {type: petstore:Pet, get: {id: "7"}}
  record: {type: dns:Record, properties: {name: "${pet.name}"}}
outputs:
  found: {fn::invoke: {function: petstore:findPet, arguments: {name: "${pet.name}"}, return: id}}
`

// What is used of a package with parameters is registered once, before anything
// else, and all that belongs to it refers to that.
func TestPackages(t *testing.T) {
	monitor := &fakeMonitor{invoke: func(abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
		return abi.MonitorInvokeResponse{Result: entries("id", "7")}, nil
	}}
	require.NoError(t, load(t, petstore).Run(t.Context(), runContext(), monitor))
	require.Equal(t, []abi.RegisterPackageRequest{{
		Name: "openapi", Version: "1.2.3",
		Parameters: &abi.Parameters{Case: abi.ParametersCaseArgs, Args: []string{"./petstore.json", "big"}},
	}}, monitor.packages)
	for _, name := range []string{"server", "pet", "mine"} {
		options := monitor.request(t, name).Options
		require.Equal(t, "ref-1", options.PackageRef, name)
		require.Empty(t, options.Version, "the reference says it")
	}
	require.Equal(t, "ref-1", monitor.read[0].Options.PackageRef)
	require.Equal(t, "ref-1", monitor.invoked[0].Options.PackageRef)
	record := monitor.request(t, "record").Options
	require.Empty(t, record.PackageRef)
	require.Equal(t, "2.0.0", record.Version, "a declared version counts where a resource gives none")
}

// A package that cannot be registered is told where it is declared, before
// anything is made.
func TestPackagesRefused(t *testing.T) {
	for name, c := range map[string]struct {
		monitor *fakeMonitor
		want    string
	}{
		"refused parameters": {&fakeMonitor{fail: map[string]error{"openapi": abi.NewError(abi.ErrorKindInvalidArgument, "petstore.json:\nnot OpenAPI")}}, `
Husk.yaml:7:3: the package "petstore" cannot be used: petstore.json:
    7 |   petstore:
      |   ^
  not OpenAPI`},
		"another name": {&fakeMonitor{packageName: "pets"}, `
Husk.yaml:7:3: with these parameters, the provider "openapi" is the package "pets", not "petstore"
    7 |   petstore:
      |   ^
  declare the package by that name, or correct its parameters`},
	} {
		t.Run(name, func(t *testing.T) {
			err := load(t, petstore).Run(t.Context(), runContext(), c.monitor)
			require.EqualError(t, err, strings.TrimPrefix(c.want, "\n"))
			require.Empty(t, c.monitor.registered)
		})
	}
}

// The engine runs a package with parameters, and destroys it without the program.
func TestPackagesInEngine(t *testing.T) {
	cloud := enginetest.NewCloud()
	cloud.Types["petstore:index:Pet"] = enginetest.Type{}
	text := strings.ReplaceAll(petstore, "[./petstore.json, big]", "[petstore]")
	text = strings.ReplaceAll(text, "  read: {type: petstore:Pet, get: {id: \"7\"}}\n", "")
	cloud.Invoke = func(abi.InvokeRequest) (abi.InvokeResponse, error) {
		return abi.InvokeResponse{Result: entries("id", "7")}, nil
	}
	s := enginetest.NewStack(t, cloud)
	for _, want := range []engine.Changes{{Create: 5}, {Same: 5}} {
		result, err := s.Try(enginetest.Up, load(t, text))
		require.NoError(t, err)
		require.Equal(t, want, result.Changes)
	}
	require.Contains(t, s.Resource("pet").Provider, "pulumi:providers:petstore::default_2_0_0::")
	require.Contains(t, s.Resource("mine").Provider, "pulumi:providers:petstore::server::")
	cloud.Parameters()
	s.Destroy()
	require.Zero(t, cloud.Objects())
	require.Contains(t, cloud.Parameters(), `["petstore"]`)
}

// A package that extends a provider is served by that provider, by the default one or
// by one of the program.
func TestExtensionInEngine(t *testing.T) {
	const program = `
plugins:
  providers: [{name: dns, path: dns.wasm}]
packages:
  petstore: {source: dns, extension: [petstore]}
resources:
  server: {type: pulumi:providers:dns}
  standard: {type: pulumi:providers:dns, defaultProvider: true}
  record: {type: dns:Record, properties: {name: a}}
  pet: {type: petstore:Pet, properties: {name: Rex}}
  mine: {type: petstore:Pet, properties: {name: Tom}, options: {provider: "${server}"}}
`
	s := enginetest.NewStack(t, enginetest.NewCloud())
	for _, want := range []engine.Changes{{Create: 6}, {Same: 6}} {
		result, err := s.Try(enginetest.Up, load(t, program))
		require.NoError(t, err)
		require.Equal(t, want, result.Changes)
	}
	require.Contains(t, s.Resource("record").Provider, "pulumi:providers:dns::standard::")
	require.Equal(t, s.Resource("record").Provider, s.Resource("pet").Provider)
	require.Contains(t, s.Resource("mine").Provider, "pulumi:providers:dns::server::")
	require.NotEmpty(t, s.Resource("pet").ExtensionRef)
	s.Destroy()
	require.Zero(t, s.Cloud.Objects())

	_, err := s.Try(enginetest.Up, load(t, strings.Replace(program, "pulumi:providers:dns", "pulumi:providers:petstore", 1)))
	require.ErrorContains(t, err, `the package "petstore" has no provider of its own: it extends the provider "dns", which serves it`)
	monitor := &fakeMonitor{packageName: "pets"}
	err = load(t, program).Run(t.Context(), runContext(), monitor)
	require.ErrorContains(t, err, `with this extension, the provider "dns" serves the package "pets", not "petstore"`)
}

// backwards fails for the packages that are asked for, the last one first.
type backwards struct {
	// after says which package has to fail before one does.
	after map[string]string
	mu    sync.Mutex
	done  map[string]chan struct{}
	asked []string
}

func (b *backwards) failed(name string) chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done[name] == nil {
		b.done[name] = make(chan struct{})
	}
	return b.done[name]
}

func (b *backwards) Package(_ context.Context, pkg program.Package) (*schema.Package, error) {
	if other := b.after[pkg.Name]; other != "" {
		<-b.failed(other)
	}
	b.mu.Lock()
	b.asked = append(b.asked, pkg.Name+"@"+pkg.Version)
	b.mu.Unlock()
	close(b.failed(pkg.Name))
	return nil, errors.New("no " + pkg.Name)
}

// Packages are asked for at once, and what is wrong with them is told in the order of the
// program.
func TestPackagesAreFetchedAtOnce(t *testing.T) {
	p := load(t, `
plugins:
  providers:
    - {name: one, path: one.wasm}
    - {name: two, path: two.wasm}
    - {name: three, path: three.wasm}
    - {name: four, path: four.wasm}
    - {name: unused, path: unused.wasm}
resources:
  first: {type: one:Thing}
  again: {type: one:Thing}
  second: {type: pulumi:providers:two, options: {version: 2.0.0}}
  none: {type: three}
variables:
  found: {fn::invoke: {function: three:find, arguments: {of: {fn::invoke: {function: four:find}}}}}
`)
	schemas := &backwards{after: map[string]string{"one": "two", "two": "three", "three": "four"}, done: map[string]chan struct{}{}}
	p.schemas = schemas
	found, err := p.Check(t.Context(), runContext())
	require.NoError(t, err)
	require.Equal(t, []string{"four@", "three@", "two@2.0.0", "one@"}, schemas.asked, "each is asked for once")
	var summaries []string
	for _, d := range found {
		summaries = append(summaries, d.Summary)
	}
	require.Equal(t, []string{
		`the package "one" cannot be used: no one`,
		`the package "two" cannot be used: no two`,
		`"three" is not a type: it must have the form <package>:<name> or <package>:<module>:<name>`,
		`the package "three" cannot be used: no three`,
		`the package "four" cannot be used: no four`,
	}, summaries)
}
