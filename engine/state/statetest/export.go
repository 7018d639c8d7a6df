package statetest

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
)

// Signature is the JSON of the key that marks special values.
const Signature = `"4dabf18193072939515e22adb298388d"`

// ExportOf returns an export with one resource that has the input v.
func ExportOf(v string) string {
	return `{"version":3,"deployment":{"secrets_providers":{"type":"b64"},"resources":[` +
		`{"urn":"urn:pulumi:dev::p::a:b:C::n","custom":false,"type":"a:b:C","inputs":{"v":` + v + `}}]}}`
}

// Decode reads an export whose secrets are those of B64.
func Decode(t testing.TB, data []byte) (*state.Snapshot, *state.Codec) {
	s, codec, err := state.Decode(t.Context(), data, OpenB64)
	require.NoError(t, err)
	return s, codec
}

// RequireSameJSON compares documents but for white space and the order of members.
func RequireSameJSON(t *testing.T, want, got []byte) {
	t.Helper()
	a, b := canonicalLines(t, want), canonicalLines(t, got)
	for i := range min(len(a), len(b)) {
		require.Equal(t, a[i], b[i], "line %d", i)
	}
	require.Len(t, b, len(a))
}

func canonicalLines(t *testing.T, doc []byte) []string {
	v := jsontext.Value(append([]byte(nil), doc...))
	require.NoError(t, v.Canonicalize(jsontext.CanonicalizeRawFloats(false)))
	require.NoError(t, v.Indent())
	return strings.Split(string(v), "\n")
}

// Export returns the JSON of a snapshot, its secrets encrypted with B64.
func Export(t testing.TB, s *state.Snapshot) string {
	out, err := state.NewCodec(B64("{}")).EncodeExport(t.Context(), s, false)
	require.NoError(t, err)
	return string(out)
}

// FullExport is an export with every field and every special value that the format knows.
//
//go:embed testdata/full.export.json
var FullExport []byte
