package providers

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
)

// described is a provider that has a schema and keeps what it is configured with.
type described struct {
	abi.Unimplemented
	configured property.Map
	missing    []abi.MissingKey
}

func (*described) GetSchema(context.Context, abi.GetSchemaRequest) (abi.GetSchemaResponse, error) {
	return abi.GetSchemaResponse{Schema: `{"name": "p", "version": "1.0.0", "config": {"variables": {
		"text": {"type": "string"},
		"any": {"$ref": "pulumi.json#/Any"},
		"list": {"type": "array", "items": {"type": "string"}},
		"map": {"type": "object", "additionalProperties": {"type": "number"}, "secret": true},
		"either": {"oneOf": [{"type": "array", "items": {"type": "string"}}, {"type": "object", "additionalProperties": {"type": "string"}}]},
		"textOrList": {"oneOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]}
	}}}`}, nil
}

func (d *described) Configure(_ context.Context, req abi.ConfigureRequest) error {
	d.configured = req.Inputs
	if len(d.missing) > 0 {
		return &abi.Error{Kind: abi.ErrorKindInvalidArgument, Message: "not complete", MissingKeys: d.missing}
	}
	return nil
}

func opened(t *testing.T, p abi.Provider) *Session {
	s, err := Open(t.Context(), p, "p", nil, nil)
	require.NoError(t, err)
	return s
}

// JSON is read if the schema asks for a list or an object, and only then.
func TestNestedConfiguration(t *testing.T) {
	text := property.String
	for name, test := range map[string]struct{ given, want property.Value }{
		"list":       {text(` ["a", "b"]`), property.Array(text("a"), text("b"))},
		"map":        {property.Secret(text(`{"a": 1}`)), property.Secret(property.Object(property.NewMap(property.Entry{Key: "a", Value: property.Number(1)})))},
		"either":     {text(`["a"]`), property.Array(text("a"))},
		"text":       {text(`["a"]`), text(`["a"]`)},
		"any":        {text(`{}`), text(`{}`)},
		"textOrList": {text(`["a"]`), text(`["a"]`)},
		"undeclared": {text(`[]`), text(`[]`)},
	} {
		d := &described{}
		require.NoError(t, opened(t, d).Configure(t.Context(), abi.ConfigureRequest{Inputs: property.NewMap(property.Entry{Key: name, Value: test.given})}))
		require.Equal(t, test.want, d.configured.Get(name), name)
	}
	d := &described{}
	damaged := property.NewMap(property.Entry{Key: "list", Value: text("[")})
	require.NoError(t, opened(t, d).Configure(t.Context(), abi.ConfigureRequest{Inputs: damaged}))
	require.Equal(t, damaged, d.configured, "the provider says what is wrong with it")
}

// A default provider is configured with husk config, one of the program by the program.
func TestMissingKeys(t *testing.T) {
	d := &described{missing: []abi.MissingKey{{Name: "text", Description: "What is said."}, {Name: "map"}}}
	for u, want := range map[string]string{
		"urn:pulumi:dev::p::pulumi:providers:p::default_1_0_0": `provider p is missing required configuration:
  p:text  What is said.
    set it with: husk config set p:text <value>
  p:map
    set it with: husk config set --secret p:map <value>`,
		"urn:pulumi:dev::p::pulumi:providers:p::mine": `provider p is missing required configuration:
  p:text  What is said.
    give the provider "mine" the property text
  p:map
    give the provider "mine" the property map`,
	} {
		s := opened(t, d)
		err := s.Configure(t.Context(), abi.ConfigureRequest{URN: urn.URN(u), ID: "1"})
		require.Equal(t, want, abi.AsError(ExplainMissingKeys(urn.URN(u), s.ConfigSchema(t.Context()), err)).Message)
	}
}
