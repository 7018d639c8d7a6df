package checkedjson_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/base/checkedjson"
)

type object struct {
	Name  string `json:"name"`
	Count int    `json:"count,omitempty"`
}

func TestEveryAlteredByteIsAnError(t *testing.T) {
	want := object{"dev", 7}
	data, err := checkedjson.Marshal(want)
	require.NoError(t, err)
	require.Equal(t, `{"crc32c":"985f2d66","name":"dev","count":7}`, string(data))
	require.True(t, json.Valid(data))
	var got object
	checked, err := checkedjson.Unmarshal(data, &got)
	require.NoError(t, err)
	require.True(t, checked)
	require.Equal(t, want, got)
	for at := range data {
		altered := slices.Clone(data)
		for by := 1; by < 256; by++ {
			altered[at] = data[at] ^ byte(by)
			_, err := checkedjson.Unmarshal(altered, new(object))
			require.Error(t, err, "%s", altered)
		}
		_, err := checkedjson.Unmarshal(data[:at], new(object))
		require.Error(t, err, "cut at %d", at)
	}
}

func TestObjectsWithoutAChecksum(t *testing.T) {
	var got object
	checked, err := checkedjson.Unmarshal([]byte(" {\"name\": \"dev\"}\n"), &got)
	require.NoError(t, err)
	require.False(t, checked)
	require.Equal(t, object{Name: "dev"}, got)
	for _, bad := range []string{``, `[]`, `{"nam":"dev"}`, `{"name":"dev"} {}`, `{"name":7}`} {
		_, err := checkedjson.Unmarshal([]byte(bad), new(object))
		require.Error(t, err, bad)
	}
	for _, none := range []any{7, []string{"a"}, struct{}{}, nil} {
		_, err := checkedjson.Marshal(none)
		require.Error(t, err)
	}
}

// FuzzUnmarshal never panics, and what it says is checked is what Marshal writes.
func FuzzUnmarshal(f *testing.F) {
	data, _ := checkedjson.Marshal(object{"dev", 7})
	f.Add(data)
	f.Add([]byte(`{"name":"dev"}`))
	f.Add([]byte(`{"crc32c":"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v map[string]any
		if checked, err := checkedjson.Unmarshal(data, &v); err != nil || !checked {
			return
		}
		again := append([]byte("{"), data[len(`{"crc32c":"00000000",`):]...)
		var same map[string]any
		_, err := checkedjson.Unmarshal(again, &same)
		require.NoError(t, err)
		require.Equal(t, v, same)
	})
}
