package metaschema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/testkit/metaschema"
)

func TestValidateAccepts(t *testing.T) {
	require.NoError(t, metaschema.Validate([]byte(`{
		"name": "x", "version": "v1.2.3-rc.1+b5", "meta": {"moduleFormat": "(.*)(?:/[^/]*)"},
		"config": {"variables": {"region": {"type": "string", "defaultInfo": {"environment": ["REGION"]}}}, "defaults": ["region"]},
		"types": {
			"x:index/t:T": {"type": "object", "properties": {
				"list": {"type": "array", "items": {"$ref": "#/types/x:index%2Fe:E"}},
				"map": {"type": "object", "plain": true},
				"either": {"oneOf": [{"type": "string"}, {"$ref": "pulumi.json#/Archive"}], "discriminator": {"propertyName": "kind"}}}},
			"x:index/e:E": {"type": "string", "enum": [{"name": "A", "value": "a"}]}},
		"resources": {"x:index:R": {"aliases": [{"type": "x:old:R"}], "methods": {"m": "x:index:R/m"}, "isComponent": true}},
		"functions": {"x:index:R/m": {"outputs": {"type": "string"}}, "x::g": {"outputs": {"properties": {"y": {"type": "number"}}}}},
		"parameterization": {"baseProvider": {"name": "base", "version": "1.0.0"}, "parameter": "eA=="}
	}`)))
}

func TestValidateRefuses(t *testing.T) {
	property := func(p string) string { return `{"name": "x", "config": {"variables": {"p": ` + p + `}}}` }
	for name, document := range map[string]string{
		"no name":                `{}`,
		"a name of other signs":  `{"name": "a:b"}`,
		"no version":             `{"name": "x", "version": "1.2"}`,
		"an unknown member":      `{"name": "x", "colour": "red"}`,
		"a token of two parts":   `{"name": "x", "resources": {"x:R": {}}}`,
		"no type":                property(`{"description": "nothing"}`),
		"an unknown type":        property(`{"type": "text"}`),
		"an array of nothing":    property(`{"type": "array"}`),
		"a union of one":         property(`{"oneOf": [{"type": "string"}]}`),
		"a default of many":      property(`{"type": "array", "items": {"type": "string"}, "default": []}`),
		"a scalar with elements": property(`{"type": "string", "items": {"type": "string"}}`),
		"a broken reference":     property(`{"$ref": "#/types/x:index:%zz"}`),
		"an enum of no values":   `{"name": "x", "types": {"x:i:E": {"type": "string", "enum": [{"name": "A"}]}}}`,
		"a parameter as text":    `{"name": "x", "parameterization": {"parameter": "?"}}`,
		"a base without version": `{"name": "x", "parameterization": {"baseProvider": {"name": "b"}}}`,
		"a method without token": `{"name": "x", "resources": {"x:i:R": {"methods": {"m": 1}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			require.Error(t, metaschema.Validate([]byte(document)))
		})
	}
}
