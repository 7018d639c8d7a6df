package state_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/state"
)

// hidden is the hideDiff of the one resource of an export.
func hidden(t *testing.T, export []byte) string {
	t.Helper()
	var document struct {
		Deployment struct {
			Resources []struct {
				HideDiff json.RawMessage `json:"hideDiff"`
			} `json:"resources"`
		} `json:"deployment"`
	}
	require.NoError(t, json.Unmarshal(export, &document), "%s", export)
	return string(document.Deployment.Resources[0].HideDiff)
}

func hiding(hideDiff string) []byte {
	return []byte(`{"version":3,"deployment":{"secrets_providers":{"type":"b64"},"resources":[{"urn":"u", "type":"t",
		"hideDiff": ` + hideDiff + `, "later": "x", "inputs": {"s": {` + Signature + `:"1b47061264138c4ac30d75fd1eb44270","ciphertext":"Nw=="}}}]}}`)
}

// Pulumi writes paths as text, in its own syntax. Older versions wrote arrays, which it does
// not read: they become text, also where the rest of the resource stays as it was written.
func TestPathsOfHideDiffAreText(t *testing.T) {
	for _, c := range []struct{ read, written string }{
		{`["tags.env","list[0]","[\"*\"]"]`, `["tags.env","list[0]","[\"*\"]"]`},
		{`[["tags","env"],["list",0],["*"]]`, `["tags.env","list[0]","[\"*\"]"]`},
		{`[["a b","c\"d","e\\f"],["$g"],[""]]`, `["[\"a b\"][\"c\\\"d\"][\"e\\f\"]","[\"$g\"]","[\"\"]"]`},
		{`["a.*","b[*].c","d-e.[0]"]`, `["a[\"*\"]","b[\"*\"].c","[\"d-e\"][0]"]`},
		{`[]`, ``},
	} {
		for _, open := range []state.OpenSecrets{OpenB64, nil} {
			s, codec, err := state.Decode(t.Context(), hiding(c.read), open)
			require.NoError(t, err)
			kept, err := codec.EncodeExport(t.Context(), s, false)
			require.NoError(t, err)
			if strings.Contains(c.read, `[[`) {
				require.JSONEq(t, c.written, hidden(t, kept))
			} else {
				require.JSONEq(t, c.read, hidden(t, kept), "as it was read")
			}
			require.Contains(t, string(kept), `"later":"x"`)
			require.Contains(t, string(kept), "Nw==", "a secret that nobody has opened")
		}
		s, codec := Decode(t, hiding(c.read))
		s.ForgetJSON()
		written, err := codec.EncodeExport(t.Context(), s, false)
		require.NoError(t, err)
		require.Equal(t, c.written, hidden(t, written))
	}
}

// There is no text for a key that ends in a backslash: the state keeps it as an array.
func TestAPathWithoutText(t *testing.T) {
	for _, key := range []string{`a\`, `\`, `"\`, `a"\`} {
		paths := []property.Path{{property.Key(key), property.Key("b")}, {property.Key("c")}}
		export, err := state.NewCodec(nil).EncodeExport(t.Context(), state.NewSnapshot(&state.Resource{URN: "u", Type: "t", HideDiff: paths}), false)
		require.NoError(t, err)
		quoted, err := json.Marshal([]any{[]string{key, "b"}, "c"})
		require.NoError(t, err)
		require.JSONEq(t, string(quoted), hidden(t, export))
		s, _ := Decode(t, export)
		require.Equal(t, paths, Resources(s)[0].HideDiff)
	}
}

func TestPathsOfHideDiffThatCannotBeRead(t *testing.T) {
	for _, c := range []struct{ path, reason string }{
		{`".a"`, "a path starts with a name or a bracket"},
		{`"a."`, `a name or a bracket must follow \".\"`},
		{`"a[x]"`, "an index (0, 1, ...)"},
		{`"a[-1]"`, "an index (0, 1, ...)"},
		{`"a[0"`, `\"]\" is missing`},
		{`"a[\"b"`, "the closing quote"},
		{`"a[\"b\"x"`, `\"]\" must follow the closing quote`},
		{`[-1]`, "expected an integer"},
		{`{}`, "expected an array"},
	} {
		_, _, err := state.Decode(t.Context(), hiding("["+c.path+"]"), OpenB64)
		var decode *state.DecodeError
		require.ErrorAs(t, err, &decode, c.path)
		require.ErrorContains(t, err, strings.ReplaceAll(c.reason, `\"`, `"`), c.path)
		require.Contains(t, decode.Pointer, "/deployment/resources/0/hideDiff/0", c.path)
	}
}

// Nothing is written for what is empty, and a manifest without a version has no magic: with
// one, Pulumi takes the state for damaged.
func TestNothingEmptyIsAdded(t *testing.T) {
	export, err := state.NewCodec(nil).EncodeExport(t.Context(), state.NewSnapshot(&state.Resource{
		URN: "u", Type: "t", StackTrace: []state.StackFrame{{}}, CustomTimeouts: &state.CustomTimeouts{},
	}), false)
	require.NoError(t, err)
	require.JSONEq(t, `{"version":3,"deployment":{"manifest":{"time":"0001-01-01T00:00:00Z","magic":"","version":""},
		"resources":[{"urn":"u","custom":false,"type":"t","stackTrace":[{}]}]}}`, string(export))
}
