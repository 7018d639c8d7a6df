package yamlprogram

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
)

var _ engine.Program = (*Program)(nil)

// A program drives the real engine: what a preview tells is what an update does,
// a second update does nothing, and what is replaced takes what needs it along.
func TestEngine(t *testing.T) {
	const text = `
resources:
  aws:
    type: pulumi:providers:cloud
    properties: {region: here}
  net:
    type: cloud:net:Network
    properties: {cidr: CIDR}
    options: {provider: "${aws}"}
  server:
    type: cloud:Server
    properties:
      size: 1
      network: ${net.id}
      image: {fn::invoke: {function: cloud:findImage, arguments: {name: "${net.id}"}, return: id}}
  record:
    type: dns:Record
    properties:
      name: ${server.address}
      value: {fn::secret: hunter2}
outputs:
  address: ${server.address}
  note: ${record.value}
`
	cloud := enginetest.NewCloud()
	cloud.Types["cloud:index/server:Server"] = enginetest.Type{Computed: []string{"address"}, Replace: []string{"network"}}
	cloud.Types["cloud:net/network:Network"] = enginetest.Type{Replace: []string{"cidr"}}
	cloud.Types["dns:index:Record"] = enginetest.Type{}
	cloud.Invoke = func(request abi.InvokeRequest) (abi.InvokeResponse, error) {
		name, _ := request.Args.Get("name").AsString()
		return abi.InvokeResponse{Result: entries("id", "image for "+name)}, nil
	}
	s := enginetest.NewStack(t, cloud)
	up := func(text string) {
		t.Helper()
		_, err := s.Try(enginetest.Preview, load(t, text))
		require.NoError(t, err)
		previewed := s.Steps()
		result, err := s.Try(enginetest.Up, load(t, text))
		require.NoError(t, err)
		require.ElementsMatch(t, previewed, s.Steps())
		require.True(t, result.Outputs.Get("note").IsSecret())
	}
	one, two := strings.Replace(text, "CIDR", "10.0.0.0/8", 1), strings.Replace(text, "CIDR", "192.168.0.0/16", 1)

	up(one)
	require.Equal(t, []string{"create net", "create server", "create record"}, cloud.Calls())
	require.Equal(t, []urn.URN{s.Resource("net").URN}, s.Resource("server").Dependencies)
	image, _ := s.Resource("server").Inputs.Get("image").Plain().AsString()
	require.Equal(t, "image for net-1", image)
	require.Contains(t, s.Resource("net").Provider, "pulumi:providers:cloud::aws")

	up(one)
	require.Empty(t, cloud.Calls())

	up(two)
	require.Equal(t, []string{"create net", "create server", "update record", "delete server-2", "delete net-1"}, cloud.Calls())
	require.NotContains(t, property.Display(property.Object(s.Resource("record").Inputs)), "hunter2")

	cloud.Hook = func(call string) error {
		if call == "update server" {
			problem := abi.NewError(abi.ErrorKindInvalidArgument, "too large")
			problem.Path = "size"
			return problem
		}
		return nil
	}
	_, err := s.Try(enginetest.Up, load(t, strings.Replace(two, "size: 1", "size: 9", 1)))
	require.ErrorContains(t, err, `Husk.yaml:13:7: update cloud:index/server:Server "server": size: too large`)
	var step *engine.StepError
	require.True(t, errors.As(err, &step))
}

// After a failure, a deployment that goes on does all that does not need what
// failed, deletes what the program no longer has, and keeps what was skipped.
func TestEngineContinuesOnError(t *testing.T) {
	const text = `
variables:
  found: {fn::invoke: {function: "cloud:findImage", arguments: {name: "${first.address}"}, return: id}}
resources:
  first: {type: "cloud:Server", properties: {size: SIZE}}
  second: {type: "cloud:Server", properties: {size: 1, image: "${found}"}}
  third: {type: "cloud:Server", properties: {size: 1, image: "${second.address}"}}
  other: {type: "cloud:Server", properties: {size: SIZE}}
outputs:
  address: ${third.address}
  size: ${other.size}
`
	const old = "  old: {type: \"cloud:Server\", properties: {size: 1}}\noutputs:"
	program := func(size, more string) *Program {
		return load(t, strings.ReplaceAll(strings.Replace(text, "outputs:", more, 1), "SIZE", size))
	}
	cloud := enginetest.NewCloud()
	cloud.Types["cloud:index/server:Server"] = enginetest.Type{Computed: []string{"address"}}
	cloud.Invoke = func(request abi.InvokeRequest) (abi.InvokeResponse, error) {
		return abi.InvokeResponse{Result: entries("id", "image")}, nil
	}
	s := enginetest.NewStack(t, cloud)
	s.Edit = func(d *enginetest.Deployment) { d.ContinueOnError = true }
	_, err := s.Try(enginetest.Up, program("1", old))
	require.NoError(t, err)
	cloud.Calls()
	cloud.Hook = func(call string) error {
		if call == "update first" {
			return errors.New("no luck")
		}
		return nil
	}
	result, err := s.Try(enginetest.Up, program("2", "outputs:"))
	require.ErrorContains(t, err, "no luck")
	calls := cloud.Calls()
	require.ElementsMatch(t, []string{"update first", "update other"}, calls[:2])
	require.Len(t, calls, 3)
	require.Contains(t, calls[2], "delete old")
	require.Len(t, cloud.IDs(), 4)
	require.Equal(t, property.Number(2), result.Outputs.Get("size"))
	require.Equal(t, property.KindString, result.Outputs.Get("address").Kind(), "what is not known now stays as it was")
}

const sites = `
components:
  Site:
    description: A server, and its name in the DNS.
    inputs:
      name: {type: string}
      size: {type: integer, default: 1}
      password: {type: string, secret: true, default: hunter2}
      tags: {type: object, default: {}}
    variables:
      label: ${name} on ${pulumi.stack}
    resources:
      server:
        type: cloud:Server
        name: ${name}-server
        properties: {size: "${size}", image: "${label}", tags: "${tags}", network: "${password}"}
      record:
        type: shop:Named
        name: ${name}
        properties: {name: "${name}", value: "${server.address}"}
    outputs:
      address: ${server.address}
      fqdn: ${record.fqdn}
      size: ${server.size}
      password: ${password}
  Named:
    inputs:
      name: {type: string}
      value: {type: string}
    resources:
      record:
        type: dns:Record
        name: ${name}-record
        properties: {name: "${name}.example.com", value: "${value}"}
    outputs:
      fqdn: ${record.name}
resources:
  aws: {type: pulumi:providers:cloud, properties: {region: here}}
  one:
    type: shop:Site
    properties: {name: one, size: "2", tags: {a: b}}
    options: {provider: "${aws}", protect: PROTECT}
  two:
    type: shop:index:Site
    properties: {name: "two", password: "${one.address}"}
    options: {dependsOn: ["${one}"]}
  last:
    type: dns:Record
    properties: {name: "${two.fqdn}", value: "${two.size}"}
    options: {dependsOn: "${two}"}
outputs:
  address: ${one.address}
  password: ${one.password}
`

func siteClouds() *enginetest.Cloud {
	cloud := enginetest.NewCloud()
	cloud.Types["cloud:index/server:Server"] = enginetest.Type{Computed: []string{"address"}}
	cloud.Types["dns:index:Record"] = enginetest.Type{}
	return cloud
}

// What a component is made of is registered under it, once for each use. A preview tells it all, and nothing changes
// the second time.
func TestComponents(t *testing.T) {
	cloud := siteClouds()
	s := enginetest.NewStack(t, cloud)
	text := strings.Replace(sites, "PROTECT", "false", 1)
	for i := range 2 {
		_, err := s.Try(enginetest.Preview, load(t, text))
		require.NoError(t, err)
		previewed := s.Steps()
		result, err := s.Try(enginetest.Up, load(t, text))
		require.NoError(t, err)
		require.ElementsMatch(t, previewed, s.Steps())
		require.True(t, result.Outputs.Get("password").IsSecret())
		calls := cloud.Calls()
		if i > 0 {
			require.Empty(t, calls)
			continue
		}
		require.Equal(t, []string{
			"create one-server", "create one-record", "create two-server", "create two-record", "create last",
		}, calls)
	}
	one, server, record := s.Resource("one"), s.Resource("one-server"), s.Resource("one-record")
	require.Equal(t, "shop:index:Site", one.Type)
	require.False(t, one.Custom)
	require.Equal(t, one.URN, server.Parent)
	require.Contains(t, string(record.URN), "::shop:index:Site$shop:index:Named$dns:index:Record::one-record")
	require.Equal(t, `{apiVersion: "v1", image: "one on dev", network: secret("hunter2"), size: 2, tags: {a: "b"}}`, showMap(server.Inputs))
	require.Contains(t, server.Provider, "::aws::", "its component's provider")
	require.NotContains(t, s.Resource("two-server").Provider, "::aws::")
	require.Equal(t, []urn.URN{server.URN}, record.Dependencies)
	require.ElementsMatch(t, []urn.URN{one.URN, server.URN}, s.Resource("two-server").Dependencies, "what an output of a component was computed from")
	require.Equal(t, `"one.example.com"`, show(one.Outputs.Get("fqdn")))
	require.Equal(t, "1", func() string { v, _ := s.Resource("last").Inputs.Get("value").AsString(); return v }(), "converted")
	require.Contains(t, s.Resource("last").Dependencies, s.Resource("two-server").URN, "what is in the component it depends on")

	// What is protected by its component cannot be deleted.
	_, err := s.Try(enginetest.Up, load(t, strings.Replace(sites, "PROTECT", "true", 1)))
	require.NoError(t, err)
	_, err = s.Try(enginetest.Destroy, load(t, text))
	require.ErrorContains(t, err, "the resource is protected")
	_, err = s.Try(enginetest.Up, load(t, text))
	require.NoError(t, err)
	cloud.Calls()
	_, err = s.Try(enginetest.Destroy, load(t, text))
	require.NoError(t, err)
	require.Len(t, cloud.Calls(), 5)
	require.Empty(t, cloud.IDs())
}

// A function that a component calls is that of the provider that the component was given, in each form of the option.
func TestFunctionsUseTheProviderOfTheirComponent(t *testing.T) {
	for _, option := range []string{`providers: ["${aws}"]`, `providers: {cloud: "${aws}"}`, `provider: "${aws}"`} {
		cloud := siteClouds()
		cloud.Invoke = func(abi.InvokeRequest) (abi.InvokeResponse, error) {
			return abi.InvokeResponse{Result: entries("id", "ami")}, nil
		}
		s := enginetest.NewStack(t, cloud)
		s.Config = []abi.ConfigEntry{{Key: "pulumi:disable-default-providers", Value: `["*"]`}}
		program := `
components:
  Inner:
    variables: {image: {"fn::cloud:findImage": {name: x, latest: true}}}
    resources: {server: {type: cloud:Server, properties: {size: 1, image: "${image.id}"}}}
    outputs: {image: "${server.image}"}
  Outer:
    resources: {in: {type: shop:Inner}}
    outputs: {image: "${in.image}"}
resources:
  aws: {type: pulumi:providers:cloud, properties: {region: x}}
  out: {type: shop:Outer, options: {OPTION}}
outputs: {image: "${out.image}"}
`
		for _, run := range []enginetest.Operation{enginetest.Preview, enginetest.Up} {
			_, err := s.Try(run, load(t, strings.Replace(program, "OPTION", option, 1)))
			require.NoError(t, err, option)
		}
		require.Contains(t, s.Resource("server").Provider, "::aws::", option)
		_, err := s.Try(enginetest.Preview, load(t, strings.Replace(program, "OPTION", "", 1)))
		require.ErrorContains(t, err, "default provider", "else there is none")
	}
}

// A failure within a component is told where the component has it.
func TestComponentsThatFail(t *testing.T) {
	cloud := siteClouds()
	cloud.Hook = func(call string) error {
		if call == "create one-server" {
			return errors.New("no luck")
		}
		return nil
	}
	s := enginetest.NewStack(t, cloud)
	text := strings.Replace(sites, "PROTECT", "false", 1)
	_, err := s.Try(enginetest.Up, load(t, text))
	require.ErrorContains(t, err, `Husk.yaml:13:7: "server": create cloud:index/server:Server "one-server": no luck`)
	require.Empty(t, cloud.IDs())

	s.Edit = func(d *enginetest.Deployment) { d.ContinueOnError = true }
	more := strings.Replace(text, "resources:\n  aws:", "resources:\n  free: {type: dns:Record, properties: {name: a, value: b}}\n  aws:", 1)
	_, err = s.Try(enginetest.Up, load(t, more))
	require.ErrorContains(t, err, "no luck")
	require.Len(t, cloud.IDs(), 1, "only what needs nothing that failed")

	// The names of resources must be known.
	bad := strings.Replace(text, `properties: {name: "two", `, `properties: {name: "${one.address}", `, 1)
	cloud.Hook = nil
	_, err = s.Try(enginetest.Preview, load(t, bad))
	require.ErrorContains(t, err, `Husk.yaml:15:15: the name of "server" must be known before the deployment`)
	_, err = s.Try(enginetest.Preview, load(t, strings.Replace(text, `name: "two", `, `name: {fn::secret: two}, `, 1)))
	require.ErrorContains(t, err, `Husk.yaml:15:15: the name of "server" must not be secret`)
}

// Components that are made of others are many with few lines.
func TestComponentsWithoutEnd(t *testing.T) {
	var b strings.Builder
	b.WriteString("resources: {top: {type: shop:C0, properties: {n: a}}}\ncomponents:\n")
	for i := range 20 {
		b.WriteString(strings.NewReplacer("THIS", fmt.Sprint("C", i), "NEXT", fmt.Sprint("C", i+1)).Replace(`  THIS:
    inputs: {n: {type: string}}
    resources:
      l: {type: "shop:NEXT", name: "${n}l", properties: {n: "${n}l"}}
      r: {type: "shop:NEXT", name: "${n}r", properties: {n: "${n}r"}}
`))
	}
	b.WriteString("  C20: {inputs: {n: {type: string}}}\n")
	monitor := &fakeMonitor{}
	err := load(t, b.String()).Run(t.Context(), runContext(), monitor)
	require.ErrorContains(t, err, "the program makes more than 10000 components")
	require.LessOrEqual(t, len(monitor.registered), maxComponents+1)
}

// A package of components is a directory. Files are relative to it.
func TestPackagesOfComponents(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("web/PulumiPlugin.yaml", "name: web\nruntime: yaml\nversion: 1.2.0\ncomponents: {Page: {resources: {server: {type: cloud:Server, "+
		"properties: {size: 1, image: {fn::readFile: title.txt}, files: {a: {fn::fileAsset: title.txt}}}}}, outputs: {title: \"${server.image}\"}}}\n")
	write("web/more.yaml", "components: {Other: {resources: {inner: {type: web:Page}}, outputs: {title: \"${inner.title}\"}}}\n")
	write("web/title.txt", "a title")
	write("app/Husk.yaml", "name: shop\npackages: {web: ../web}\nresources: {page: {type: web:Other}}\noutputs: {title: \"${page.title}\"}\n")
	p, err := program.LoadProject(t.Context(), projectroot.New(filepath.Join(dir, "app"), projectroot.Trusted))
	require.NoError(t, err)
	monitor := &fakeMonitor{}
	require.NoError(t, New(p, schemaFiles{}).Run(t.Context(), runContext(), monitor))
	require.Equal(t, `{title: "a title"}`, showMap(*monitor.outputs))
	server := monitor.request(t, "server")
	require.Equal(t, `{a: asset(../web/title.txt)}`, show(server.Inputs.Get("files")))
	require.Equal(t, "../web/more.yaml:1:34", monitor.request(t, "inner").SourcePosition)
}
