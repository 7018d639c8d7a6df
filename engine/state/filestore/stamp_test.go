package filestore

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStamp(t *testing.T) {
	for checkpoint, want := range map[string]string{
		`{}`:                `{"husk":{"sequence":7,"token":3,"crc32c":"CHECKSUM"}}`,
		` {}`:               "",
		`[]`:                "",
		"{\n\"version\":3}": "{\"husk\":{\"sequence\":7,\"token\":3,\"crc32c\":\"CHECKSUM\"},\n\"version\":3}",
	} {
		parts, err := stamp([]byte(checkpoint), stampValue{7, 3})
		if want == "" {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err)
		stamped := string(parts[0]) + string(parts[1])
		v, checksum, ok := parseStamp([]byte(stamped))
		require.True(t, ok)
		require.Equal(t, stampValue{7, 3}, v)
		require.Equal(t, strings.Replace(want, "CHECKSUM", checksum, 1), stamped)
		v, err = verify([]byte(stamped))
		require.NoError(t, err)
		require.Equal(t, stampValue{7, 3}, v)
	}
}

// What other tools write has no stamp, and is read as it is.
func TestFilesOfOtherTools(t *testing.T) {
	for _, doc := range []string{
		`{"version":3}`,
		`{"checkpoint":{"husk":1},"version":3}`,
		`{"version":3,"checkpoint":{"sequence":1,"token":2}}`,
		`{"version":3,"other":{"a":1}}`,
	} {
		v, err := verify([]byte(doc))
		require.NoError(t, err, doc)
		require.Zero(t, v)
	}
	for _, bad := range []string{
		``, `[]`, `{`, `{"version":`, `{"husk":7}`, `{"husk":{}}`, `{"husk":{"sequence":-1,"token":3}}`,
		`{"husk":{"sequence":1,"token":18446744073709551615}}`, `{"husk":{"sequence":1,"token":2,"more":3}}`,
		`{"husk":{"sequence":1,"token":2,"crc32c":"1"}}`, `{"husk":{"sequence":1,"token":2,"crc32c":1}}`,
		`{"version":3,"husj":{"sequence":1,"token":2}}`,
		`{"husk":{"sequence":7,"token":3} "version":3}`, `{"husk":{"sequence":7,"token":3},"version":3`, `{"husk": {"sequence":7,"token":3}}`, `{"checkpoint":{"husk":1},"husk":{"token":3,"sequence":7},"version":3}`,
		`{"husk":{"sequence":9007199254740993,"token":3,"crc32c":"00000000"}}`,
	} {
		_, err := verify([]byte(bad))
		require.Error(t, err, bad)
	}
}

// A file with a checksum that another program has written in another way is not taken as it is,
// even if the state in it is the same.
func TestStampIsWrittenInOneWay(t *testing.T) {
	parts, err := stamp([]byte(`{"version":3}`), stampValue{7, 3})
	require.NoError(t, err)
	stamped := string(parts[0]) + string(parts[1])
	for _, other := range []string{
		strings.Replace(stamped, `{"husk"`, `{ "husk"`, 1),
		strings.Replace(stamped, `"husk"`, `"\u0068usk"`, 1),
		strings.Replace(stamped, `"sequence":7,"token":3`, `"token":3,"sequence":7`, 1),
		`{"version":3,` + strings.TrimSuffix(strings.TrimPrefix(stamped, "{"), `,"version":3}`) + "}",
		stamped + "\n",
	} {
		_, err := verify([]byte(other))
		require.Error(t, err, other)
	}
}

// Every byte of a checkpoint that is altered, to whatever it is, is told: within the state, within
// the stamp, and within the stamp's name, without which a file has no checksum.
func TestEveryAlteredByteOfACheckpoint(t *testing.T) {
	parts, err := stamp([]byte(`{"version":3,"checkpoint":{"stack":"organization/proj/dev","latest":{"resources":[{"urn":"urn:pulumi:dev::proj::a:b:C::x","type":"a:b:C"}]}}}`+"\n"),
		stampValue{12, 3})
	require.NoError(t, err)
	whole := slices.Concat(parts[0], parts[1])
	altered := slices.Clone(whole)
	for at := range whole {
		for by := 1; by < 256; by++ {
			altered[at] = whole[at] ^ byte(by)
			_, err := verify(altered)
			require.Error(t, err, "byte %d altered by %#x: %s", at, by, altered)
		}
		altered[at] = whole[at]
		_, err := verify(whole[:at])
		require.Error(t, err, "cut at %d", at)
	}
}

// FuzzVerify never panics, and what it accepts with a checksum is what stamp writes.
func FuzzVerify(f *testing.F) {
	parts, _ := stamp([]byte(`{"version":3}`), stampValue{7, 3})
	f.Add(slices.Concat(parts[0], parts[1]))
	f.Add([]byte(`{"version":3,"checkpoint":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, checksum, ok := parseStamp(data)
		if _, err := verify(data); err != nil || !ok {
			return
		}
		if checksum == "" {
			return // the former form, which nothing writes
		}
		rest := data[len(v.head(checksum)):]
		again, err := stamp(append([]byte("{"), bytes.TrimPrefix(rest, []byte(","))...), v)
		require.NoError(t, err)
		require.Equal(t, string(data), string(again[0])+string(again[1]))
	})
}
