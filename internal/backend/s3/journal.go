package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/husk-dev/husk/engine/state"
)

// An object of a journal begins with one of these bytes.
const (
	recordMark = 'r'
	sealMark   = 's'
)

const slotDigits = 12

func slotKey(dir, lease string, slot uint64) string {
	return fmt.Sprintf("%sjournal/%s/%0*d", dir, lease, slotDigits, slot)
}

// slots returns the numbers of the objects of a journal after its beginning, in order.
func (s *Store) slots(ctx context.Context, dir string, j journal) ([]uint64, error) {
	keys, err := s.b.list(ctx, dir+"journal/"+j.Lease+"/")
	var out []uint64
	for _, key := range keys {
		// An object before the beginning is of a record that is in the checkpoint.
		if slot, err := strconv.ParseUint(key, 10, 64); err == nil && slot > j.Slot {
			out = append(out, slot)
		}
	}
	return out, err
}

// seal has the journal take no more records.
func (s *Store) seal(ctx context.Context, dir string, j journal) error {
	for {
		slots, err := s.slots(ctx, dir, j)
		if err != nil {
			return err
		}
		next := j.Slot + 1
		if n := len(slots); n > 0 {
			last, err := s.b.get(ctx, slotKey(dir, j.Lease, slots[n-1]))
			if err != nil {
				return err
			}
			if bytes.Equal(last.content, []byte{sealMark}) {
				return nil
			}
			next = slots[n-1] + 1
		}
		_, err = s.b.put(ctx, slotKey(dir, j.Lease, next), []byte{sealMark}, ifAbsent)
		if !errors.Is(err, errCondition) {
			return err
		}
		// Its writer was faster, or this seal is there already.
	}
}

// errAgain says that objects were removed while they were read: a later head names others.
var errAgain = errors.New("the state has changed")

// contents reads a checkpoint and its records.
func (s *Store) contents(ctx context.Context, name state.StackName, dir, checkpoint string, sequence uint64, journals []journal) (*state.Contents, error) {
	out := &state.Contents{
		CheckpointFile:   s.b.place + "/" + checkpoint,
		JournalFile:      s.b.place + "/" + dir + "journal",
		CheckpointRemedy: "husk stack restore restores an earlier state",
		JournalRemedy:    "husk state repair --journal keeps the records before the damage",
		Sequence:         sequence,
	}
	o, err := s.b.get(ctx, checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return out, errAgain
	}
	if err != nil {
		return nil, err
	}
	out.Checkpoint = o.content
	missing := func() {
		out.Damage = &state.CorruptError{File: out.JournalFile, Offset: -1, Journal: true, Remedy: out.JournalRemedy,
			Reason: fmt.Sprintf("record %d of the stack %s is missing", out.Sequence+uint64(len(out.Records))+1, name)}
	}
	open := false // an earlier journal had no end when it was read
	for _, j := range journals {
		slots, err := s.slots(ctx, dir, j)
		if err != nil {
			return nil, err
		}
		if open && len(slots) > 0 {
			return out, errAgain // it was sealed since then, perhaps after another record
		}
		sealed := false
		found := make([][]byte, len(slots))
		err = each(len(slots), func(i int) error {
			o, err := s.b.get(ctx, slotKey(dir, j.Lease, slots[i]))
			if err == nil {
				found[i] = o.content
			}
			return err
		})
		if errors.Is(err, fs.ErrNotExist) {
			return out, errAgain
		}
		if err != nil {
			return nil, err
		}
		for i, content := range found {
			isRecord := len(content) > 0 && content[0] == recordMark
			if out.Damage == nil && slots[i] == j.Slot+uint64(i)+1 && bytes.Equal(content, []byte{sealMark}) {
				sealed = true
				break
			}
			if out.Damage == nil && (slots[i] != j.Slot+uint64(i)+1 || !isRecord) {
				missing()
			}
			if out.Damage == nil {
				out.Records = append(out.Records, content[1:])
			} else if isRecord {
				out.Lost = append(out.Lost, state.LostRecord{Sequence: out.Sequence + uint64(len(out.Records)+len(out.Lost)) + 1, Record: content[1:]})
			}
		}
		if out.Damage == nil && j.Slot+uint64(len(found)) < j.End {
			missing()
		}
		open = open || !sealed && !j.Closed
	}
	return out, nil
}

// load reads the contents that a head names, or of a later head if a new checkpoint has replaced them meanwhile: the objects of
// the former journal are removed one by one.
func (s *Store) load(ctx context.Context, c *current) (*state.Contents, error) {
	const attempts = 20
	for try := 0; ; try++ {
		out, err := s.contents(ctx, c.name, c.Body.directory(), c.Body.Checkpoint, c.Body.Sequence, c.Body.Journals)
		if err != nil && !errors.Is(err, errAgain) {
			return nil, err
		}
		next, readErr := s.read(ctx, c.name)
		if readErr != nil {
			return nil, readErr
		}
		if !next.Body.Present {
			return nil, state.StackNotFound(c.name, s.b.place)
		}
		if next.Body.Checkpoint == c.Body.Checkpoint {
			if err == nil && (out.Damage == nil || try > 0) {
				return out, nil
			}
			if try >= attempts || err != nil && next.version == c.version && try > 0 {
				return nil, &state.CorruptError{File: out.CheckpointFile, Offset: -1, Reason: "the object is gone, or one of its journal", Remedy: out.CheckpointRemedy}
			}
		}
		c = next
	}
}
