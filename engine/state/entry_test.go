package state_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/state"
)

func export(t testing.TB, s *state.Snapshot) string {
	out, err := state.NewCodec(b64{"{}"}).EncodeExport(t.Context(), s, false)
	require.NoError(t, err)
	return string(out)
}

// everyChange is an entry with each kind of change, for a snapshot of two.
func everyChange() state.Entry {
	secret := changed(custom("new"), func(r *state.Resource) {
		r.Inputs = property.MapOf(map[string]property.Value{"s": property.Secret(property.String("hunter2"))})
	})
	return state.Entry{
		state.BeginOperation{Op: 7, Type: state.OperationCreating, Resource: secret},
		state.BeginOperation{Op: 8, Type: state.OperationDeleting, Resource: custom("x")},
		state.EndOperation{Op: 8},
		state.PutResource{Serial: 12, Resource: secret},
		state.PutResource{Serial: 0, Resource: changed(provider(), func(r *state.Resource) { r.Protect = true })},
		state.RemoveResource{Serial: 1},
		state.SetManifest{Manifest: state.Manifest{Time: time.Unix(1e9, 0).UTC(), Version: "v1", Plugins: []state.Plugin{{Name: "a", Type: "resource"}}}},
		state.SetMetadata{Value: jsontext.Value(`{"a": 1}`)},
		state.SetSnippets{Value: jsontext.Value(`[]`)},
		state.SetExtensions{Value: jsontext.Value(`{}`)},
		state.SetExtensions{},
	}
}

func TestApply(t *testing.T) {
	s := state.NewSnapshot(provider(), custom("x"))
	require.NoError(t, s.Apply(everyChange()))
	require.Equal(t, []string{"default", "new"}, names(resources(s)))
	r, ok := s.Resource(12)
	require.True(t, ok)
	require.Equal(t, "new", r.ID)
	_, ok = s.Resource(1)
	require.False(t, ok)
	r, _ = s.Resource(0)
	require.True(t, r.Protect)
	for op, pending := range s.Operations() {
		require.EqualValues(t, 7, op)
		require.Equal(t, state.OperationCreating, pending.Type)
	}
	require.Equal(t, "v1", s.Manifest.Version)
	require.Equal(t, `{"a": 1}`, string(s.Metadata))
	require.Equal(t, `[]`, string(s.Snippets))
	require.Nil(t, s.Extensions)
}

func TestApplyIsAllOrNothing(t *testing.T) {
	for name, bad := range map[string]state.Change{
		"begin twice":           state.BeginOperation{Op: 7, Type: state.OperationCreating, Resource: custom("x")},
		"begin of nothing":      state.BeginOperation{Op: 99, Type: state.OperationCreating},
		"begin of no type":      state.BeginOperation{Op: 99, Resource: custom("x")},
		"begin out of range":    state.BeginOperation{Op: 1 << 60, Type: state.OperationCreating, Resource: custom("x")},
		"end without beginning": state.EndOperation{Op: 8},
		"put nothing":           state.PutResource{Serial: 3},
		"put out of range":      state.PutResource{Serial: 1 << 60, Resource: custom("x")},
		"remove twice":          state.RemoveResource{Serial: 1},
		"not JSON":              state.SetMetadata{Value: jsontext.Value(`{`)},
	} {
		t.Run(name, func(t *testing.T) {
			s := state.NewSnapshot(provider(), custom("x"))
			before := export(t, s)
			err := s.Apply(append(everyChange(), bad))
			var e *state.EntryError
			require.True(t, errors.As(err, &e), "%v", err)
			require.Equal(t, len(everyChange()), e.Change)
			require.Equal(t, before, export(t, s))
			require.NoError(t, s.Apply(everyChange()), "nothing of the failed entry is left")
		})
	}
}

func TestRecordsHoldEveryChange(t *testing.T) {
	codec := state.NewCodec(b64{"{}"})
	record, err := codec.EncodeRecord(everyChange(), state.Entry{}, state.Entry{state.EndOperation{Op: 7}})
	require.NoError(t, err)
	require.NotContains(t, string(record), "hunter2")
	require.NotContains(t, string(record), "\n")

	entries, err := codec.DecodeRecord(record)
	require.NoError(t, err)
	require.Len(t, entries, 3)
	want, got := state.NewSnapshot(provider(), custom("x")), state.NewSnapshot(provider(), custom("x"))
	require.NoError(t, want.Apply(everyChange()))
	require.NoError(t, got.Apply(entries[0]))
	require.Equal(t, export(t, want), export(t, got))
	require.NoError(t, got.Apply(entries[2]))
}

func TestBadRecordsAreRefused(t *testing.T) {
	codec := state.NewCodec(b64{"{}"})
	for name, record := range map[string]string{
		"not JSON":         `[[`,
		"not an array":     `{}`,
		"empty change":     `[[{}]]`,
		"two changes":      `[[{"end":{"op":1},"remove":{"serial":1}}]]`,
		"unknown change":   `[[{"explode":{}}]]`,
		"put no serial":    `[[{"put":{"resource":{"urn":"u","type":"t"}}}]]`,
		"put no resource":  `[[{"put":{"serial":1}}]]`,
		"put null":         `[[{"put":null}]]`,
		"begin no op":      `[[{"begin":{"type":"creating","resource":{"urn":"u","type":"t"}}}]]`,
		"begin odd type":   `[[{"begin":{"op":1,"type":"x","resource":{"urn":"u","type":"t"}}}]]`,
		"end null":         `[[{"end":null}]]`,
		"remove negative":  `[[{"remove":{"serial":-1}}]]`,
		"remove fraction":  `[[{"remove":{"serial":1.5}}]]`,
		"remove too large": `[[{"remove":{"serial":9007199254740992}}]]`,
		"unknown member":   `[[{"remove":{"serial":1,"really":true}}]]`,
		"more behind":      `[] []`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := codec.DecodeRecord([]byte(record))
			var e *state.DecodeError
			require.True(t, errors.As(err, &e), "%v", err)
		})
	}
}
