package yamlprogram

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/program"
)

func TestInvoke(t *testing.T) {
	text := `
resources:
  a: {type: cloud:Server, properties: {size: 1}}
  net: {type: "cloud:net:Network"}
  aws: {type: pulumi:providers:cloud, properties: {region: x}}
variables:
  image:
    fn::invoke:
      function: cloud:findImage
      arguments: {name: "${a.address}", latest: true}
      options: {dependsOn: ["${net}"], parent: "${net}", provider: "${aws}", version: 1.0.0}
outputs:
  image: ${image.id}
`
	monitor := &fakeMonitor{
		state: map[string]property.Map{"a": entries("address", property.Secret(property.String("x")))},
		invoke: func(abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
			return abi.MonitorInvokeResponse{Result: entries("id", "ami")}, nil
		},
	}
	require.NoError(t, load(t, text).Run(t.Context(), runContext(), monitor))
	net := urn.URN("urn:pulumi:dev::shop::cloud:net/network:Network::net")
	aws := urn.URN("urn:pulumi:dev::shop::pulumi:providers:cloud::aws")
	require.Equal(t, []abi.MonitorInvokeRequest{{
		Token:   "cloud:index/findImage:findImage",
		Args:    entries("name", property.Secret(property.String("x")), "latest", property.Bool(true)),
		Options: abi.FunctionOptions{Provider: string(aws) + "::aws-id", Version: "1.0.0", Parent: net, DependsOn: []urn.URN{aURN, net, aws}},
	}}, monitor.invoked)
	require.Equal(t, `{image: secret("ami")}`, showMap(*monitor.outputs), "a result of secrets is secret")

	for name, c := range map[string]struct {
		answer abi.MonitorInvokeResponse
		err    error
		want   string
	}{
		"refused argument": {
			answer: abi.MonitorInvokeResponse{Failures: []abi.CheckFailure{{Path: "latest", Reason: "must be false"}}},
			want:   `Husk.yaml:10:41: argument "latest" of cloud:findImage: must be false`,
		},
		"error": {
			err:  &abi.Error{Kind: abi.ErrorKindNotFound, Message: "no image", Path: "name", Provider: "cloud"},
			want: `Husk.yaml:10:19: cloud:findImage: cloud: name: no image`,
		},
		"error without a path": {
			err:  errors.New("no image"),
			want: `Husk.yaml:9:17: cloud:findImage: no image`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			monitor.invoke = func(abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) { return c.answer, c.err }
			require.ErrorContains(t, load(t, text).Run(t.Context(), runContext(), monitor), c.want)
		})
	}

	monitor.invoke = func(abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
		return abi.MonitorInvokeResponse{Unknown: true}, nil
	}
	require.NoError(t, load(t, text).Run(t.Context(), runContext(), monitor))
	require.Equal(t, `{image: secret(?)}`, showMap(*monitor.outputs))

	err := load(t, "variables:\n  x: {fn::invoke: {function: bare:index:f, return: ids}}\n").Run(t.Context(), runContext(), &fakeMonitor{
		invoke: func(abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
			return abi.MonitorInvokeResponse{Result: entries("id", "x")}, nil
		},
	})
	require.ErrorContains(t, err, `Husk.yaml:3:52: the result of bare:index:f has no property "ids"; did you mean "id"?`)
}

func TestRead(t *testing.T) {
	text := `
resources:
  a: {type: cloud:Server, properties: {size: 1}}
  found:
    type: cloud:Server
    get:
      id: ${a.id}
      state: {image: "${a.address}"}
    options: {parent: "${a}"}
outputs:
  address: ${found.address}
  id: ${found.id}
  image: ${found.image}
`
	monitor := &fakeMonitor{state: map[string]property.Map{"a": entries("address", "x"), "found": entries("address", "y")}}
	require.NoError(t, load(t, text).Run(t.Context(), runContext(), monitor))
	require.Len(t, monitor.read, 1)
	read := monitor.read[0]
	require.Equal(t, "a-id", read.ID)
	require.Equal(t, "cloud:index/server:Server", read.Type)
	require.Equal(t, urn.URN(aURN), read.Parent)
	require.Equal(t, `{image: "x"}`, showMap(read.Properties))
	require.Equal(t, []urn.URN{aURN}, read.Options.Dependencies)
	require.Equal(t, "Husk.yaml:4:3", read.SourcePosition)
	require.Equal(t, `{address: "y", id: "a-id", image: null}`, showMap(*monitor.outputs))

	run := runContext()
	run.DryRun = true
	monitor = &fakeMonitor{dryRun: true}
	require.NoError(t, load(t, text).Run(t.Context(), run, monitor))
	require.Empty(t, monitor.read, "it is not known what to read")
	require.Equal(t, `{address: ?, id: ?, image: ?}`, showMap(*monitor.outputs))

	problem := abi.NewError(abi.ErrorKindNotFound, "no such server")
	monitor = &fakeMonitor{fail: map[string]error{"found": problem}, state: map[string]property.Map{"a": entries("address", "x")}}
	require.ErrorContains(t, load(t, text).Run(t.Context(), runContext(), monitor), `Husk.yaml:4:3: "found": no such server`)

	err := load(t, "resources:\n  found: {type: cloud:Server, get: {id: \"\"}}\n").Run(t.Context(), runContext(), &fakeMonitor{})
	require.ErrorContains(t, err, `Husk.yaml:3:41: the id of "found" is empty`)
}

// A stack uses outputs of another: through a resource, whose name may be computed, or
// the older function.
func TestStackReferences(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	_, err := s.Beside("base").Try(enginetest.Up, load(t, `
outputs:
  url: http://base
  key: {fn::secret: hunter2}
`))
	require.NoError(t, err)
	const text = `
resources:
  stash: {type: pulumi:Stash, properties: {input: base}}
  base:
    type: pulumi:pulumi:StackReference
    properties: {name: "${stash.output}"}
  server:
    type: cloud:Server
    properties: {size: 1, image: "${base.outputs.url}"}
outputs:
  names: ${base.secretOutputNames}
  key: ${base.outputs["key"]}
  older: {fn::stackReference: ["${stash.output}", key]}
`
	_, err = s.Try(enginetest.Preview, load(t, text))
	require.NoError(t, err)
	result, err := s.Try(enginetest.Up, load(t, text))
	require.NoError(t, err)
	hunter := property.Secret(property.String("hunter2"))
	require.Equal(t, entries("key", hunter, "names", property.Array(property.String("key")), "older", hunter), result.Outputs)
	require.Equal(t, property.String("http://base"), s.Resource("server").Inputs.Get("image"))
	base := s.Resource("base")
	require.True(t, base.External)
	require.Equal(t, "base", base.ID)
	require.Equal(t, []urn.URN{base.URN}, s.Resource("server").Dependencies)

	for program, want := range map[string]string{
		`outputs: {a: {fn::stackReference: [base, urls]}}`:             `fn::stackReference: the stack has no output "urls"; did you mean "url"?`,
		`outputs: {a: {fn::stackReference: [1, url]}}`:                 `fn::stackReference: the stack must be text, not a number`,
		`outputs: {a: {fn::stackReference: [base]}}`:                   `fn::stackReference takes a list of 2: [stack, output]`,
		`outputs: {a: {fn::stackReference: [bass, url]}}`:              `there is no stack "proj/bass"`,
		`resources: {a: {type: pulumi:pulumi:StackReference}}`:         `property "name" of "a": required property is missing; expected string`,
		`outputs: {a: {fn::invoke: {function: pulumi:pulumi:getRes}}}`: `the package "pulumi" has no function "pulumi:pulumi:getRes"`,
	} {
		_, err := s.Try(enginetest.Preview, load(t, program))
		require.ErrorContains(t, err, want)
	}
}

// A resource alone is a reference to it, with the version of its package.
func TestResourcesAsReferences(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	result, err := s.Try(enginetest.Up, load(t, `
resources:
  server: {type: cloud:Server, properties: {size: 1}}
outputs: {server: "${server}"}
`))
	require.NoError(t, err)
	server := s.Resource("server")
	got, _ := result.Outputs.Get("server").AsReference()
	require.Equal(t, property.ResourceReference{URN: string(server.URN), HasID: true, ID: server.ID, PackageVersion: "1.0.0"}, got)
	got, _ = s.Resource("proj-dev").Outputs.Get("server").AsReference()
	require.Equal(t, "1.0.0", got.PackageVersion, "as the state has it")
}

// A function may return one value that is no mapping. On the wire, it is the only value of one.
func TestFunctionsThatReturnOneValue(t *testing.T) {
	p := load(t, `
variables:
  newest: {fn::cloud:newest: {}}
  zones: {fn::invoke: {function: cloud:zones}}
outputs:
  newest: ${newest}
  named: {fn::invoke: {function: cloud:newest, return: value}}
  zone: ${zones[1]}
  zones: {fn::length: "${zones}"}
  labels: {fn::cloud:labels: {}}
`)
	values := map[string]property.Map{
		"cloud:index/newest:newest": entries("value", property.Secret(property.String("ami-1"))),
		"cloud:index/labels:labels": entries("result", property.Object(entries("a", "b"))),
		"cloud:index/zones:zones":   entries("value", property.Array(property.String("a"), property.String("b"))),
	}
	monitor := &fakeMonitor{invoke: func(req abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
		return abi.MonitorInvokeResponse{Result: values[req.Token]}, nil
	}}
	require.NoError(t, p.Run(t.Context(), runContext(), monitor))
	require.Equal(t, `{labels: {a: "b"}, named: secret("ami-1"), newest: secret("ami-1"), zone: "b", zones: 2}`, showMap(*monitor.outputs))

	values["cloud:index/labels:labels"] = entries("a", "b")
	require.NoError(t, p.Run(t.Context(), runContext(), monitor))
	require.Equal(t, `{a: "b"}`, show(monitor.outputs.Get("labels")), "also without another mapping around it")

	values["cloud:index/newest:newest"] = property.Map{}
	require.ErrorContains(t, p.Run(t.Context(), runContext(), monitor), `Husk.yaml:3:12: the result of cloud:newest must be one value, and has 0`)

	p = load(t, "variables: {newest: {fn::cloud:newest: {}}}\noutputs: {a: '${newest.id}'}\n")
	require.ErrorContains(t, p.Run(t.Context(), runContext(), monitor), `${newest} is of type string, which has no parts`)
}

// What a component refers to is asked for, and inputs that are secret by the schema become secrets.
func TestReferencesOfComponents(t *testing.T) {
	const inner = "urn:pulumi:dev::shop::cloud:index:Site$cloud:index/server:Server::inner"
	p := load(t, `
resources:
  site: {type: cloud:Site}
  a: {type: cloud:Server, properties: {size: 1, image: "${site.url.image}", token: {a: b}}}
outputs:
  urn: ${site.url.urn}
  id: ${site.url.id}
  none: ${site.url.none}
`)
	monitor := &fakeMonitor{
		state: map[string]property.Map{"site": entries("url", property.Reference(property.ResourceReference{URN: inner, HasID: true, ID: "1"}))},
		invoke: func(req abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
			require.Equal(t, "pulumi:pulumi:getResource", req.Token)
			require.Equal(t, `{urn: "`+inner+`"}`, showMap(req.Args))
			return abi.MonitorInvokeResponse{Result: entries("urn", inner, "id", "1", "state", property.Object(entries("image", "x")))}, nil
		},
	}
	// The type of url is not known, as that of a property that may be any resource.
	p.schemas = withoutSite{p.schemas}
	require.NoError(t, p.Run(t.Context(), runContext(), monitor))
	require.Equal(t, `<inner site>"x"`, show(monitor.request(t, "a").Inputs.Get("image")))
	require.Equal(t, `secret({a: "b"})`, show(monitor.request(t, "a").Inputs.Get("token")))
	require.Equal(t, `{id: "1", none: null, urn: "`+inner+`"}`, showMap(*monitor.outputs))

	monitor.invoke = func(abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
		return abi.MonitorInvokeResponse{}, errors.New("no such resource")
	}
	require.ErrorContains(t, p.Run(t.Context(), runContext(), monitor), "${site.url} is a resource whose properties are not known: no such resource")
}

// withoutSite is the schemas of others, in which a site's url may be anything.
type withoutSite struct{ Schemas }

func (s withoutSite) Package(ctx context.Context, pkg program.Package) (*schema.Package, error) {
	p, err := s.Schemas.Package(ctx, pkg)
	if err == nil && p != nil {
		if r := p.Resource("cloud:index:Site"); r != nil {
			r.Outputs.Property("url").Type = nil
		}
	}
	return p, err
}
