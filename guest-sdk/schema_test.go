package guest_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/internal/metaschema"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestSchema(t *testing.T) {
	response, err := configured(t).GetSchema(t.Context(), abi.GetSchemaRequest{})
	require.NoError(t, err)
	var indented bytes.Buffer
	require.NoError(t, json.Indent(&indented, []byte(response.Schema), "", "  "))
	indented.WriteByte('\n')
	const golden = "testdata/zoo.schema.json"
	if *update {
		require.NoError(t, os.WriteFile(golden, indented.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), indented.String())

	require.NoError(t, metaschema.Validate([]byte(response.Schema)))
	parsed, err := schemajson.Parse([]byte(response.Schema))
	require.NoError(t, err)
	require.Equal(t, response.Schema, string(parsed.AppendJSON(nil)), "the host reads all of what the guest writes")
}

func TestSchemaRefuses(t *testing.T) {
	_, err := configured(t).GetSchema(t.Context(), abi.GetSchemaRequest{Version: 1})
	require.ErrorIs(t, err, abi.ErrInvalidArgument)
	_, err = configured(t).GetSchema(t.Context(), abi.GetSchemaRequest{SubpackageName: "x"})
	require.ErrorIs(t, err, abi.ErrNotFound)
}
