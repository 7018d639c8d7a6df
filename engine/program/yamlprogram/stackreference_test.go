package yamlprogram

import (
	"testing"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/stretchr/testify/require"
)

// A stack uses outputs of another: through a resource, whose name may be computed, or
// the older function.
func TestStackReferences(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	_, err := s.Beside("base").Try(engine.Up, load(t, `
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
	_, err = s.Try(engine.Preview, load(t, text))
	require.NoError(t, err)
	result, err := s.Try(engine.Up, load(t, text))
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
		_, err := s.Try(engine.Preview, load(t, program))
		require.ErrorContains(t, err, want)
	}
}

// A resource alone is a reference to it, with the version of its package.
func TestResourcesAsReferences(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	result, err := s.Try(engine.Up, load(t, `
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
