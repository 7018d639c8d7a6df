package statetest_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/statetest"
)

// Extensions are written as Pulumi writes them, and what a newer version says of one
// is kept.
func TestExtensions(t *testing.T) {
	newer := json.RawMessage(`{"name":"old","version":"1.0.0","value":"eA==","more":true}`)
	cats := state.Extension{Name: "cats", Version: "2.0.0", Value: []byte{0, 255}}
	text, err := cats.Encode()
	require.NoError(t, err)
	all, err := state.EncodeExtensions(map[string]json.RawMessage{"b": text, "a": newer})
	require.NoError(t, err)
	require.Equal(t, `{"a":`+string(newer)+`,"b":{"name":"cats","version":"2.0.0","value":"AP8="}}`, string(all))

	got, err := state.DecodeExtensions(all)
	require.NoError(t, err)
	require.Equal(t, string(newer), string(got["a"]))
	again, err := state.DecodeExtension(got["b"])
	require.NoError(t, err)
	require.Equal(t, cats, again)

	none, err := state.EncodeExtensions(nil)
	require.NoError(t, err)
	require.Nil(t, none)
	for _, damaged := range []string{`[]`, `1`, `{"a":`} {
		_, err = state.DecodeExtensions(json.RawMessage(damaged))
		require.ErrorContains(t, err, "the extensions of the state are damaged")
	}
	_, err = state.DecodeExtension(json.RawMessage(`{"value":"?"}`))
	require.ErrorContains(t, err, "an extension of the state is damaged")
}

func TestVerifyExtensions(t *testing.T) {
	extended := statetest.Changed(statetest.Custom("x"), func(r *state.Resource) { r.ExtensionRef = "a" })
	for extensions, want := range map[string][]state.ProblemKind{
		`{"a":{"name":"cats","version":"1.0.0","value":""}}`: nil,
		`{}`: {state.ProblemExtension},
		`[]`: {state.ProblemExtension},
		``:   {state.ProblemExtension},
	} {
		s := state.NewSnapshot(statetest.Provider(), extended)
		if extensions != "" {
			s.Extensions = json.RawMessage(extensions)
		}
		var got []state.ProblemKind
		if err := s.Verify(); err != nil {
			for _, p := range err.(*state.IntegrityError).Problems {
				got = append(got, p.Kind)
			}
		}
		require.Equal(t, want, got, extensions)
	}
}
