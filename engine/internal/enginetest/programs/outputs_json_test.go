package programs_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
)

// An output that is a resource is an object that programs can read.
func TestOutputsAreJSON(t *testing.T) {
	reference := func(hasID bool, id string) property.Value {
		return property.Reference(property.ResourceReference{URN: "urn:pulumi:dev::shop::a:b:C::x", HasID: hasID, ID: id})
	}
	text, err := json.Marshal(engine.DisplayOutputs(property.MapOf(map[string]property.Value{
		"bucket": reference(true, "b-1"), "later": reference(true, ""), "component": reference(false, ""),
		"hidden": property.Secret(reference(true, "b-2")), "count": property.Number(2),
	})))
	require.NoError(t, err)
	require.JSONEq(t, `{
		"bucket": {"urn": "urn:pulumi:dev::shop::a:b:C::x", "id": "b-1"},
		"later": {"urn": "urn:pulumi:dev::shop::a:b:C::x", "id": "[unknown]"},
		"component": {"urn": "urn:pulumi:dev::shop::a:b:C::x"},
		"hidden": "[secret]", "count": 2
	}`, string(text))
}
