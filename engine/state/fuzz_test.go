package state_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
)

// FuzzDecode reads anything without a panic; what it reads it writes, and reads
// again as the same state, both from the JSON it kept and from the fields.
func FuzzDecode(f *testing.F) {
	f.Add(FullExport)
	f.Add([]byte(`{"version":3,"checkpoint":{"stack":"s","latest":{"resources":[{"urn":"u","type":"t","inputs":{"a":[1,null]}}]}}}`))
	f.Add([]byte(ExportOf(`{` + Signature + `:"1b47061264138c4ac30d75fd1eb44270","ciphertext":"Nw=="}`)))
	f.Add([]byte(ExportOf(`{` + Signature + `:"c44067f5952c0a294b673a41bacd8c17","text":""}`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, codec, err := state.Decode(t.Context(), data, OpenB64)
		if err != nil {
			return
		}
		_ = s.Verify()
		kept, err := codec.EncodeExport(t.Context(), s, false)
		if err != nil {
			require.Empty(t, s.Secrets.Type, "%v", err) // a plaintext secret, and no provider
			return
		}
		s.ForgetJSON()
		written, err := codec.EncodeExport(t.Context(), s, false)
		require.NoError(t, err)
		for _, doc := range [][]byte{kept, written} {
			again, codec, err := state.Decode(t.Context(), doc, OpenB64)
			require.NoError(t, err, "%s", doc)
			again.ForgetJSON()
			out, err := codec.EncodeExport(t.Context(), again, false)
			require.NoError(t, err)
			require.Equal(t, string(written), string(out))
		}
	})
}

// FuzzDecodeRecord reads anything without a panic, and what it reads is written
// and read as the same.
func FuzzDecodeRecord(f *testing.F) {
	codec := state.NewCodec(B64("{}"))
	record, err := codec.EncodeRecord(EveryChange())
	require.NoError(f, err)
	f.Add(record)
	f.Add([]byte(`[[{"end":{"op":1}},{"remove":{"serial":3}}],[]]`))
	f.Add([]byte(`[[{"metadata":null}]]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		codec := state.NewCodec(B64("{}"))
		entries, err := codec.DecodeRecord(data)
		if err != nil {
			return
		}
		record, err := codec.EncodeRecord(entries...)
		require.NoError(t, err)
		again, err := codec.DecodeRecord(record)
		require.NoError(t, err)
		second, err := codec.EncodeRecord(again...)
		require.NoError(t, err)
		require.Equal(t, string(record), string(second))
	})
}
