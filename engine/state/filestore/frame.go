package filestore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/husk-dev/husk/engine/state"
)

// A journal is a sequence of frames, one for each record:
//
//	 0  magic "HJL1"
//	 4  size of the record, in bytes
//	 8  sequence number
//	16  fencing token of the lease it was written under
//	24  CRC-32C of the record
//	28  CRC-32C of the 28 bytes before
//	32  the record
//
// All numbers are little-endian. A frame is appended by one write and synced
// before the next one is, so that a crash can damage the last one only.
//
// The header's own checksum tells a frame that was cut short, whose header says
// how long it would have been, from one that was altered.
const (
	frameMagic      = "HJL1"
	frameHeaderSize = 32
	// maxRecordSize bounds a record, in bytes, so that its size fits the header. A
	// store's caller writes at most some MiB at once.
	maxRecordSize = 1 << 30
)

var crcTable = crc32.MakeTable(crc32.Castagnoli)

type frame struct {
	sequence, token uint64
	record          []byte
}

func appendFrame(dst []byte, f frame) []byte {
	start := len(dst)
	dst = append(dst, frameMagic...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(f.record)))
	dst = binary.LittleEndian.AppendUint64(dst, f.sequence)
	dst = binary.LittleEndian.AppendUint64(dst, f.token)
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(f.record, crcTable))
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], crcTable))
	return append(dst, f.record...)
}

// parseFrame reads the frame at the start of data and returns its size, or what
// is wrong with it.
func parseFrame(data []byte) (f frame, size int, damage string) {
	header, damage := parseHeader(data)
	if damage != "" {
		return frame{}, 0, damage
	}
	size = frameHeaderSize + int(header.size)
	if size > len(data) {
		return frame{}, 0, fmt.Sprintf("it has %d of its %d bytes", len(data), size)
	}
	record := data[frameHeaderSize:size:size]
	if crc32.Checksum(record, crcTable) != header.crc {
		return frame{}, 0, "its checksum does not match"
	}
	return frame{sequence: header.sequence, token: header.token, record: record}, size, ""
}

type frameHeader struct {
	size, crc       uint32
	sequence, token uint64
}

func parseHeader(data []byte) (h frameHeader, damage string) {
	if len(data) < frameHeaderSize {
		return h, fmt.Sprintf("it has %d of the %d bytes of a record's header", len(data), frameHeaderSize)
	}
	if string(data[:4]) != frameMagic || crc32.Checksum(data[:28], crcTable) != binary.LittleEndian.Uint32(data[28:]) {
		return h, "the header of a record does not match its checksum"
	}
	h = frameHeader{
		size:     binary.LittleEndian.Uint32(data[4:]),
		sequence: binary.LittleEndian.Uint64(data[8:]),
		token:    binary.LittleEndian.Uint64(data[16:]),
		crc:      binary.LittleEndian.Uint32(data[24:]),
	}
	if h.size > maxRecordSize {
		return h, fmt.Sprintf("a record claims %d bytes and may have %d", h.size, maxRecordSize)
	}
	return h, ""
}

// journal is what a journal's file holds.
type journal struct {
	// records are those after the checkpoint's sequence number, in order.
	records [][]byte
	// size is where the next frame goes, in bytes: after the last whole one.
	size int64
	// token is the largest fencing token.
	token uint64
	// dropped is a last frame that was cut short.
	dropped *state.DroppedRecord
}

// parseJournal reads a journal that follows a checkpoint. The error is a
// *state.CorruptError without its file.
//
// Frames written under an older lease than one before them are passed over, and
// so are those that a newer lease's frame of the same number follows: their
// writer was fenced, and was told so.
func parseJournal(data []byte, sequence uint64) (*journal, error) {
	j := new(journal)
	first := sequence + 1
	for j.size < int64(len(data)) {
		rest := data[j.size:]
		f, size, damage := parseFrame(rest)
		if damage != "" {
			if at := nextFrame(rest); at > 0 {
				return nil, &state.CorruptError{Offset: j.size,
					Reason: fmt.Sprintf("a record is damaged (%s), and whole ones follow at byte %d", damage, j.size+int64(at))}
			}
			j.dropped = &state.DroppedRecord{Offset: j.size, Size: int64(len(rest)), Reason: damage}
			break
		}
		next := first + uint64(len(j.records))
		switch {
		case f.token < j.token:
		case f.sequence == next:
			j.records = append(j.records, f.record)
		case first <= f.sequence && f.sequence < next && f.token > j.token:
			j.records = append(j.records[:f.sequence-first], f.record)
		default:
			return nil, &state.CorruptError{Offset: j.size,
				Reason: fmt.Sprintf("the record with number %d stands where %d belongs", f.sequence, next)}
		}
		j.token = max(j.token, f.token)
		j.size += int64(size)
	}
	return j, nil
}

// nextFrame returns the offset of the first header of a frame behind the start
// of data, 0 where there is none.
func nextFrame(data []byte) int {
	for at := 1; ; {
		i := bytes.Index(data[at:], []byte(frameMagic))
		if i < 0 {
			return 0
		}
		at += i
		if _, damage := parseHeader(data[at:]); damage == "" {
			return at
		}
		at++
	}
}
