package programs_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
)

// Outputs are JSON whatever they are, and nothing of them is left out but secrets.
func TestOutputsAreWholeJSON(t *testing.T) {
	long := strings.Repeat("x", 1000)
	asset := property.AssetOf(property.Asset{Source: property.SourcePath, Path: long, Hash: strings.Repeat("2c", 32)})
	shown := engine.DisplayOutputs(property.MapOf(map[string]property.Value{
		"nan": property.Number(math.NaN()), "inf": property.Number(math.Inf(-1)), "n": property.Number(0.1),
		"asset": asset, "list": property.Array(property.String(long), asset),
		"output": property.OutputOf(property.Output{Value: property.Array(property.Number(1), property.Secret(property.String("word")))}),
		"secret": property.OutputOf(property.Output{Value: property.String("word"), Secret: true}),
		"object": property.Object(property.MapOf(map[string]property.Value{"u": property.Unknown})),
	}))
	text, err := json.Marshal(shown)
	require.NoError(t, err)
	whole := `asset(\"` + long + `\" ` + strings.Repeat("2c", 32) + `)`
	require.JSONEq(t, `{"nan":"NaN","inf":"-Inf","n":0.1,"asset":"`+whole+`","list":["`+long+`","`+whole+`"],
		"output":[1,"[secret]"],"secret":"[secret]","object":{"u":"[unknown]"}}`, string(text))
}
