package yamlprogram

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
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
