package state_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
)

func TestApply(t *testing.T) {
	s := state.NewSnapshot(Provider(), Custom("x"))
	require.NoError(t, s.Apply(EveryChange()))
	require.Equal(t, []string{"default", "new"}, Names(Resources(s)))
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
	require.Equal(t, `{"a": 1}`, string(s.Extensions))
}

func TestApplyIsAllOrNothing(t *testing.T) {
	for name, bad := range map[string]state.Change{
		"begin twice":           state.BeginOperation{Op: 7, Type: state.OperationCreating, Resource: Custom("x")},
		"begin of nothing":      state.BeginOperation{Op: 99, Type: state.OperationCreating},
		"begin of no type":      state.BeginOperation{Op: 99, Resource: Custom("x")},
		"begin out of range":    state.BeginOperation{Op: 1 << 60, Type: state.OperationCreating, Resource: Custom("x")},
		"end without beginning": state.EndOperation{Op: 8},
		"put nothing":           state.PutResource{Serial: 3},
		"put out of range":      state.PutResource{Serial: 1 << 60, Resource: Custom("x")},
		"remove twice":          state.RemoveResource{Serial: 1},
		"not JSON":              state.SetExtensions{Value: json.RawMessage(`{`)},
	} {
		t.Run(name, func(t *testing.T) {
			s := state.NewSnapshot(Provider(), Custom("x"))
			before := Export(t, s)
			err := s.Apply(append(EveryChange(), bad))
			var e *state.EntryError
			require.True(t, errors.As(err, &e), "%v", err)
			require.Equal(t, len(EveryChange()), e.Change)
			require.Equal(t, before, Export(t, s))
			require.NoError(t, s.Apply(EveryChange()), "nothing of the failed entry is left")
		})
	}
}

func TestRecordsHoldEveryChange(t *testing.T) {
	codec := state.NewCodec(B64("{}"))
	record, err := codec.EncodeRecord(EveryChange(), state.Entry{}, state.Entry{state.EndOperation{Op: 7}})
	require.NoError(t, err)
	require.NotContains(t, string(record), "hunter2")
	require.NotContains(t, string(record), "\n")

	entries, err := codec.DecodeRecord(record)
	require.NoError(t, err)
	require.Len(t, entries, 3)
	want, got := state.NewSnapshot(Provider(), Custom("x")), state.NewSnapshot(Provider(), Custom("x"))
	require.NoError(t, want.Apply(EveryChange()))
	require.NoError(t, got.Apply(entries[0]))
	require.Equal(t, Export(t, want), Export(t, got))
	require.NoError(t, got.Apply(entries[2]))
}

func TestBadRecordsAreRefused(t *testing.T) {
	codec := state.NewCodec(B64("{}"))
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
