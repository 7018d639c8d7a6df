package filestore

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
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
// The header's own checksum separates a frame that was cut short, whose header says
// how long it would have been, from one that was altered.
const (
	frameMagic      = "HJL1"
	frameHeaderSize = 32
	// maxRecordSize bounds a record, in bytes. A store's caller writes at most some MiB at once.
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

// parseFrame reads the frame at the start of data and returns its size, or the damage.
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
