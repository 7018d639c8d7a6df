package filestore

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
		lost    string // numbers and records
	}{
		"empty": {records: []string{}},
		"whole": {data: whole, records: []string{"one", "", string(three.record)}, size: int64(len(whole))},
		"last record torn": {data: whole[:len(whole)-1], records: []string{"one", ""}, size: firstTwo,
			dropped: "it has 5031 of its 5032 bytes", offset: firstTwo},
		"last header torn": {data: whole[:firstTwo+20], records: []string{"one", ""}, size: firstTwo,
			dropped: "20 of the 32 bytes", offset: firstTwo},
		"last record zeroed": {data: cat(whole[:firstTwo], make([]byte, 500)), records: []string{"one", ""}, size: firstTwo,
			dropped: "header of a record does not match", offset: firstTwo},
		"a sector of the last record zeroed": {data: cat(whole[:1024], make([]byte, 512), whole[1536:]), records: []string{"one", ""}, size: firstTwo,
			dropped: "checksum does not match", offset: firstTwo},
		"the end of the last record zeroed": {data: cat(whole[:4096], make([]byte, len(whole)-4096)), records: []string{"one", ""}, size: firstTwo,
			dropped: "checksum does not match", offset: firstTwo},
		"last record altered":   {data: flip(whole, len(whole)-1), offset: firstTwo, lost: "8 ?"},
		"last header altered":   {data: flip(whole, int(firstTwo)+5), offset: firstTwo, lost: "8 ?"},
		"zeros within a sector": {data: cat(whole[:1025], make([]byte, 511), whole[1536:]), offset: firstTwo, lost: "8 ?"},
		"middle record altered": {data: flip(journalOf(one, text(1, 7, "two"), text(1, 8, "three")), len(journalOf(one))+frameHeaderSize),
			offset: int64(len(journalOf(one))), lost: "7 ?, 8 three"},
		"middle header altered": {data: flip(journalOf(one, text(1, 7, "two"), text(1, 8, "three")), len(journalOf(one))+9),
			offset: int64(len(journalOf(one))), lost: "7 ?, 8 three"},
		"first size altered":    {data: flip(journalOf(one, two), 4), lost: "6 ?, 7 "},
		"hole":                  {data: cat(journalOf(one), make([]byte, 40), journalOf(two)), offset: int64(len(journalOf(one))), lost: "7 "},
		"record missing":        {data: journalOf(one, text(1, 8, "three")), offset: int64(len(journalOf(one))), lost: "7 ?, 8 three"},
		"record twice":          {data: journalOf(one, one), offset: int64(len(journalOf(one))), lost: "6 one"},
		"of another checkpoint": {data: journalOf(text(1, 5, "zero"), one), lost: "5 zero, 6 one"},
		"two places": {data: flip(flip(journalOf(one, text(1, 7, "two"), text(1, 8, "three"), text(1, 9, "four")), frameHeaderSize), len(journalOf(one, text(1, 7, "two")))+1),
			lost: "6 ?, 7 two, 8 ?, 9 four"},
		"next lease goes on": {data: journalOf(one, text(2, 7, "TWO")), records: []string{"one", "TWO"}, size: int64(len(journalOf(one, text(2, 7, "TWO"))))},
		"next lease overtakes": {data: journalOf(one, two, text(2, 7, "TWO")), records: []string{"one", "TWO"},
			size: int64(len(journalOf(one, two, text(2, 7, "TWO"))))},
		"fenced writer comes after": {data: journalOf(one, text(2, 7, "TWO"), two, three), records: []string{"one", "TWO"},
			size: int64(len(journalOf(one, text(2, 7, "TWO"), two, three)))},
		"fenced writer's record lost": {data: flip(journalOf(one, text(2, 7, "TWO"), text(1, 8, "late"), text(2, 8, "THREE")), len(journalOf(one))+frameHeaderSize),
			offset: int64(len(journalOf(one))), lost: "7 ?, 8 THREE"},
	} {
		t.Run(name, func(t *testing.T) {
			j := parseJournal(test.data, 5)
			var lost []string
			for _, l := range j.lost {
				text := "?"
				if l.Record != nil {
					text = string(l.Record)
				}
				lost = append(lost, fmt.Sprint(l.Sequence, " ", text))
			}
			require.Equal(t, test.lost, strings.Join(lost, ", "))
			require.Equal(t, test.lost != "", j.damage != "")
			if test.lost != "" {
				require.Equal(t, test.offset, j.size)
				require.Nil(t, j.dropped)
				return
			}
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

// Every cut of a journal drops the last record at most, which was never confirmed then. Every byte
// that was altered, to whatever it is, is told.
func TestEveryCutAndEveryAlteredByte(t *testing.T) {
	t.Parallel()
	frames := []frame{text(1, 1, "one"), text(1, 2, strings.Repeat("two", 300)), text(2, 3, "three")}
	whole := journalOf(frames...)
	altered := slices.Clone(whole)
	for at := range whole {
		j := parseJournal(whole[:at], 0)
		require.Empty(t, j.damage, "cut at %d", at)
		require.LessOrEqual(t, j.size, int64(at))
		require.Equal(t, j.size != int64(at), j.dropped != nil)
		for by := 1; by < 256; by++ {
			altered[at] = whole[at] ^ byte(by)
			require.NotEmpty(t, parseJournal(altered, 0).damage, "byte %d altered by %#x", at, by)
		}
		altered[at] = whole[at]
	}
}

func TestHugeRecordSizeIsNotTrusted(t *testing.T) {
	data := journalOf(text(1, 1, "one"))
	binary.LittleEndian.PutUint32(data[4:], 1<<31)
	binary.LittleEndian.PutUint32(data[28:], crc32.Checksum(data[:28], crcTable))
	require.Contains(t, parseJournal(data, 0).damage, "claims")
}

// FuzzParseJournal never panics, and what it accepts is what was written.
func FuzzParseJournal(f *testing.F) {
	f.Add(journalOf(text(1, 1, "one"), text(1, 2, "two")))
	f.Add(journalOf(text(1, 1, "one"), text(2, 1, "ONE"), text(1, 2, "late")))
	f.Add(journalOf(text(1, 1, "one"))[:30])
	f.Fuzz(func(t *testing.T, data []byte) {
		j := parseJournal(data, 0)
		require.LessOrEqual(t, j.size, int64(len(data)))
		if j.damage != "" {
			require.NotEmpty(t, j.lost)
			require.Nil(t, j.dropped)
		}
		whole := parseJournal(data[:j.size], 0)
		require.Empty(t, whole.damage)
		require.Nil(t, whole.dropped, "the journal is whole once the torn record is cut off")
		require.Equal(t, len(j.records), len(whole.records))
		next := parseJournal(appendFrame(slices.Clone(data[:j.size]), frame{sequence: uint64(len(j.records)) + 1, token: whole.token, record: []byte("next")}), 0)
		require.Empty(t, next.damage)
		require.Equal(t, "next", string(next.records[len(j.records)]))
	})
}
