package filestore

import (
	"bytes"
	"fmt"

	"github.com/husk-dev/husk/engine/state"
)

type journal struct {
	// records are those after the checkpoint's sequence number, in order, up to the damage.
	records [][]byte
	// size is where the next frame goes, in bytes: after the last whole one.
	size int64
	// token is the largest fencing token.
	token uint64
	// dropped is a last frame that was cut short.
	dropped *state.DroppedRecord
	// damage describes the fault behind the records, empty if there is none.
	damage string
	// lost are the records from the damage on.
	lost []state.LostRecord
}

// parseJournal reads a journal that follows a checkpoint. It ignores frames of a writer that was fenced: frames of a lease older
// than one before, and frames whose number a newer lease has used again.
func parseJournal(data []byte, sequence uint64) *journal {
	j := new(journal)
	first := sequence + 1
	for j.size < int64(len(data)) {
		rest := data[j.size:]
		f, size, damage := parseFrame(rest)
		at := 0
		if damage != "" {
			at = nextFrame(rest)
		}
		next := first + uint64(len(j.records))
		switch {
		case at > 0:
			j.lose(fmt.Sprintf("a record is damaged (%s), and others follow at byte %d", damage, j.size+int64(at)), next, rest)
			return j
		case damage != "" && !torn(rest, j.size):
			j.lose(fmt.Sprintf("the last record is damaged (%s), and it was written to its end", damage), next, rest)
			return j
		case damage != "":
			j.dropped = &state.DroppedRecord{Offset: j.size, Size: int64(len(rest)), Reason: damage}
			return j
		case f.token < j.token:
		case f.sequence == next:
			j.records = append(j.records, f.record)
		case first <= f.sequence && f.sequence < next && f.token > j.token:
			j.records = append(j.records[:f.sequence-first], f.record)
		default:
			j.lose(fmt.Sprintf("the record with number %d stands where %d belongs", f.sequence, next), next, rest)
			return j
		}
		j.token = max(j.token, f.token)
		j.size += int64(size)
	}
	return j
}

// lose notes the damage at the start of rest, and the records that are lost. next is the number of
// the first. Records that are missing between others are damaged, too.
func (j *journal) lose(damage string, next uint64, rest []byte) {
	j.damage = damage
	unreadable := func(before uint64) {
		for ; next < before && len(j.lost) < maxLost; next++ {
			j.lost = append(j.lost, state.LostRecord{Sequence: next})
		}
	}
	for len(rest) > 0 {
		header, wrong := parseHeader(rest)
		if wrong != "" {
			at := nextFrame(rest)
			if at == 0 {
				break
			}
			rest = rest[at:]
			continue
		}
		f, size, wrong := parseFrame(rest)
		if wrong != "" {
			size = frameHeaderSize // the next frame is looked for from here on
		}
		if header.token >= j.token {
			j.token = header.token
			unreadable(header.sequence)
			j.lost = append(j.lost, state.LostRecord{Sequence: header.sequence, Record: f.record})
			next = max(next, header.sequence+1)
		}
		rest = rest[size:]
	}
	if len(j.lost) == 0 {
		j.lost = []state.LostRecord{{Sequence: next}}
	}
}

// maxLost bounds the list of lost records. A header with a wrong number could make it endless.
const maxLost = 1000

// nextFrame returns the offset of the next header of a frame in data, 0 if there is none.
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

// sectorSize is the size in bytes of the unit that disks write as a whole.
const sectorSize = 512

// torn reports whether the damaged last frame is the rest of an append that was cut short: the beginning of a frame, or sectors
// of zeros. Such a frame was never confirmed. Any other frame may have been confirmed, and was altered later. offset is the
// frame's offset in its file.
//
// One alteration looks like a torn frame: the last byte is alone in its sector, and became zero.
func torn(frame []byte, offset int64) bool {
	if len(frame) < frameHeaderSize {
		return true
	}
	if header, damage := parseHeader(frame); damage == "" && frameHeaderSize+int64(header.size) > int64(len(frame)) {
		return true
	}
	for len(frame) > 0 {
		sector := frame[:min(int64(len(frame)), sectorSize-offset%sectorSize)]
		if len(bytes.Trim(sector, "\x00")) == 0 {
			return true
		}
		frame = frame[len(sector):]
		offset += int64(len(sector))
	}
	return false
}
