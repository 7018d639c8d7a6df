package filestore

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
)

// journalOf returns a journal of frames given as "token:sequence:record".
func journalOf(frames ...frame) []byte {
	var out []byte
	for _, f := range frames {
		out = appendFrame(out, f)
	}
	return out
}

func text(token, sequence uint64, record string) frame {
	return frame{sequence: sequence, token: token, record: []byte(record)}
}

func TestParseJournal(t *testing.T) {
	one, two, three := text(1, 6, "one"), text(1, 7, ""), text(1, 8, strings.Repeat("three", 1000))
	whole := journalOf(one, two, three)
	firstTwo := int64(len(journalOf(one, two)))
	flip := func(data []byte, at int) []byte {
		data = slices.Clone(data)
		data[at] ^= 1
		return data
	}
	cat := func(parts ...[]byte) []byte { return slices.Concat(parts...) }
	for name, test := range map[string]struct {
		data    []byte
		records []string // nil means corrupt
		size    int64
		dropped string // part of the reason
		offset  int64  // of the damage
	}{
		"empty": {nil, []string{}, 0, "", 0},
		"whole": {whole, []string{"one", "", string(three.record)}, int64(len(whole)), "", 0},
		"last record torn": {whole[:len(whole)-1], []string{"one", ""}, firstTwo,
			"it has 5031 of its 5032 bytes", firstTwo},
		"last header torn":          {whole[:firstTwo+20], []string{"one", ""}, firstTwo, "20 of the 32 bytes", firstTwo},
		"last record zeroed":        {cat(whole[:firstTwo], make([]byte, 500)), []string{"one", ""}, firstTwo, "header of a record does not match", firstTwo},
		"last record altered":       {flip(whole, len(whole)-1), []string{"one", ""}, firstTwo, "checksum does not match", firstTwo},
		"last header altered":       {flip(whole, int(firstTwo)+5), []string{"one", ""}, firstTwo, "header of a record does not match", firstTwo},
		"middle record altered":     {flip(whole, frameHeaderSize), nil, 0, "", 0},
		"middle header altered":     {flip(whole, len(journalOf(one))+9), nil, 0, "", int64(len(journalOf(one)))},
		"first size altered":        {flip(whole, 4), nil, 0, "", 0},
		"hole":                      {cat(journalOf(one), make([]byte, 40), journalOf(two)), nil, 0, "", int64(len(journalOf(one)))},
		"record missing":            {journalOf(one, three), nil, 0, "", int64(len(journalOf(one)))},
		"record twice":              {journalOf(one, one), nil, 0, "", int64(len(journalOf(one)))},
		"of another checkpoint":     {journalOf(text(1, 5, "zero"), one), nil, 0, "", 0},
		"next lease goes on":        {journalOf(one, text(2, 7, "TWO")), []string{"one", "TWO"}, int64(len(journalOf(one, text(2, 7, "TWO")))), "", 0},
		"next lease overtakes":      {journalOf(one, two, text(2, 7, "TWO")), []string{"one", "TWO"}, int64(len(journalOf(one, two, text(2, 7, "TWO")))), "", 0},
		"fenced writer comes after": {journalOf(one, text(2, 7, "TWO"), two, three), []string{"one", "TWO"}, int64(len(journalOf(one, text(2, 7, "TWO"), two, three))), "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			j, err := parseJournal(test.data, 5)
			if test.records == nil {
				var corrupt *state.CorruptError
				require.True(t, errors.As(err, &corrupt), "%v", err)
				require.Equal(t, test.offset, corrupt.Offset)
				require.ErrorIs(t, err, state.ErrCorrupt)
				return
			}
			require.NoError(t, err)
			got := []string{}
			for _, r := range j.records {
				got = append(got, string(r))
			}
			require.Equal(t, test.records, got)
			require.Equal(t, test.size, j.size)
			if test.dropped == "" {
				require.Nil(t, j.dropped)
				return
			}
			require.Contains(t, j.dropped.Reason, test.dropped)
			require.Equal(t, test.offset, j.dropped.Offset)
			require.Equal(t, int64(len(test.data))-test.offset, j.dropped.Size)
		})
	}
}

// Every cut of a journal drops the last record at most; every altered byte but in
// the last record is told.
func TestEveryCutAndEveryAlteredByte(t *testing.T) {
	frames := []frame{text(1, 1, "one"), text(1, 2, "two"), text(2, 3, "three")}
	whole := journalOf(frames...)
	lastAt := len(journalOf(frames[:2]...))
	for cut := range whole {
		j, err := parseJournal(whole[:cut], 0)
		require.NoError(t, err, "cut at %d", cut)
		require.LessOrEqual(t, j.size, int64(cut))
		require.Equal(t, j.size != int64(cut), j.dropped != nil)
		altered := slices.Clone(whole)
		altered[cut] ^= 0x80
		j, err = parseJournal(altered, 0)
		if cut < lastAt {
			require.ErrorIs(t, err, state.ErrCorrupt, "byte %d", cut)
		} else {
			require.NoError(t, err)
			require.Len(t, j.records, 2)
			require.NotNil(t, j.dropped)
		}
	}
}

func TestHugeRecordSizeIsNotTrusted(t *testing.T) {
	data := journalOf(text(1, 1, "one"))
	binary.LittleEndian.PutUint32(data[4:], 1<<31)
	binary.LittleEndian.PutUint32(data[28:], crc32.Checksum(data[:28], crcTable))
	j, err := parseJournal(data, 0)
	require.NoError(t, err)
	require.Contains(t, j.dropped.Reason, "claims")
}

func TestStamp(t *testing.T) {
	for checkpoint, want := range map[string]string{
		`{}`:                `{"husk":{"sequence":7,"token":3}}`,
		` {}`:               "",
		`[]`:                "",
		"{\n\"version\":3}": "{\"husk\":{\"sequence\":7,\"token\":3},\n\"version\":3}",
	} {
		parts, err := stamp([]byte(checkpoint), stampValue{7, 3})
		if want == "" {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want, string(parts[0])+string(parts[1]))
		v, err := readStamp(strings.NewReader(want))
		require.NoError(t, err)
		require.Equal(t, stampValue{7, 3}, v)
	}
	for doc, want := range map[string]stampValue{
		`{"version":3}`: {},
		`{"checkpoint":{"husk":1},"husk":{"token":3,"sequence":7},"version":3}`: {7, 3},
	} {
		v, err := readStamp(strings.NewReader(doc))
		require.NoError(t, err)
		require.Equal(t, want, v)
	}
	for _, bad := range []string{``, `[]`, `{`, `{"version":`, `{"husk":7}`, `{"husk":{"sequence":-1}}`, `{"husk":{"token":18446744073709551615}}`} {
		_, err := readStamp(strings.NewReader(bad))
		require.Error(t, err, bad)
	}
}

// FuzzParseJournal never panics, and what it accepts is what was written.
func FuzzParseJournal(f *testing.F) {
	f.Add(journalOf(text(1, 1, "one"), text(1, 2, "two")))
	f.Add(journalOf(text(1, 1, "one"), text(2, 1, "ONE"), text(1, 2, "late")))
	f.Add(journalOf(text(1, 1, "one"))[:30])
	f.Fuzz(func(t *testing.T, data []byte) {
		j, err := parseJournal(data, 0)
		if err != nil {
			require.ErrorIs(t, err, state.ErrCorrupt)
			return
		}
		require.LessOrEqual(t, j.size, int64(len(data)))
		whole, err := parseJournal(data[:j.size], 0)
		require.NoError(t, err)
		require.Nil(t, whole.dropped, "the journal is whole once the torn record is cut off")
		require.Equal(t, len(j.records), len(whole.records))
		next, err := parseJournal(appendFrame(slices.Clone(data[:j.size]), frame{sequence: uint64(len(j.records)) + 1, token: j.token, record: []byte("next")}), 0)
		require.NoError(t, err)
		require.Equal(t, "next", string(next.records[len(j.records)]))
	})
}
