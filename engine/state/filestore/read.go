package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/husk-dev/husk/engine/state"
)

// found is what read finds beside the contents.
type found struct {
	checkpoint stampValue
	journal    *journal
}

// read reads a stack's checkpoint and journal.
func (s *Store) read(f files) (*state.Contents, found, error) {
	for {
		contents, was, err := s.readCheckpoint(f)
		if err != nil {
			return nil, found{}, err
		}
		if was.Token == 0 {
			if err := s.checkForeign(f, contents); err != nil {
				return nil, found{}, err
			}
		}
		data, err := s.readFile(f.journal(was))
		if errors.Is(err, fs.ErrNotExist) {
			// There is no journal yet, or the next checkpoint has replaced it.
			is, err := s.stampOf(f)
			if errors.Is(err, fs.ErrNotExist) || err == nil && is != was {
				continue
			}
			if err != nil {
				return nil, found{}, fmt.Errorf("reading the stack %s: %w", f.name, err)
			}
		} else if err != nil {
			return nil, found{}, fmt.Errorf("reading the stack %s: %w", f.name, err)
		}
		j := parseJournal(data, was.Sequence)
		if j.damage != "" {
			return nil, found{}, &state.CorruptError{File: contents.JournalFile, Offset: j.size, Reason: j.damage, Remedy: contents.Remedy}
		}
		if j.dropped != nil {
			j.dropped.File = contents.JournalFile
		}
		contents.Records, contents.Dropped = j.records, j.dropped
		return contents, found{checkpoint: was, journal: j}, nil
	}
}

// checkForeign refuses a checkpoint that another tool wrote while a journal of
// changes was waiting, which it does not hold.
func (s *Store) checkForeign(f files, contents *state.Contents) error {
	return s.journals(f, func(v stampValue) error {
		return &state.CorruptError{File: contents.CheckpointFile, Offset: -1,
			Reason: "another tool wrote it while changes were waiting in " + s.fs.Path(f.journal(v)),
			Remedy: "restore the file, or move the journal away to give its changes up"}
	})
}

// journals calls do with the stamp of each checkpoint that has a journal, until an error.
func (s *Store) journals(f files, do func(stampValue) error) error {
	entries, err := s.readDir(f.stacks)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if v, ok := f.parse(entry.Name(), journalSuffix); ok {
			if err := do(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// readCheckpoint reads a stack's checkpoint.
func (s *Store) readCheckpoint(f files) (*state.Contents, stampValue, error) {
	checkpoint, err := s.readFile(f.checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, stampValue{}, &state.StackError{Kind: state.ErrStackNotFound, Stack: f.name, Place: s.fs.Path("")}
	}
	if err != nil {
		return nil, stampValue{}, fmt.Errorf("reading the stack %s: %w", f.name, err)
	}
	contents := &state.Contents{CheckpointFile: s.fs.Path(f.checkpoint), Checkpoint: checkpoint, Remedy: s.remedy(f)}
	was, err := verify(checkpoint)
	if err != nil {
		return nil, was, &state.CorruptError{File: contents.CheckpointFile, Offset: -1,
			Reason: "it is not as husk wrote it", Remedy: contents.Remedy, Cause: err}
	}
	contents.Sequence = was.Sequence
	contents.JournalFile = s.fs.Path(f.journal(was))
	return contents, was, nil
}

// remedy says what to do where a stack's files are damaged.
func (s *Store) remedy(f files) string {
	kept, err := s.backupsOf(f)
	if err != nil || len(kept) == 0 {
		return "restore it from a backup"
	}
	return fmt.Sprintf("restore it from a backup; the checkpoint before the last one is %s, copy it to %s to go back to it",
		s.fs.Path(f.backup(kept[0].stamp)), s.fs.Path(f.checkpoint))
}

// stampOf returns the stamp of a stack's checkpoint. It does not verify the rest of the file.
func (s *Store) stampOf(f files) (stampValue, error) {
	file, err := s.fs.OpenFile(f.checkpoint, os.O_RDONLY, 0)
	if err != nil {
		return stampValue{}, err
	}
	v, _, err := readStamp(file)
	return v, errors.Join(err, file.Close())
}

// mustExist returns an error if there is no such stack.
func (s *Store) mustExist(f files) error {
	there, err := s.exists(f.checkpoint)
	if err == nil && !there {
		err = &state.StackError{Kind: state.ErrStackNotFound, Stack: f.name, Place: s.fs.Path("")}
	}
	return err
}

// mustNotExist returns an error if there is such a stack.
func (s *Store) mustNotExist(f files) error {
	there, err := s.exists(f.checkpoint)
	if err == nil && there {
		err = &state.StackError{Kind: state.ErrStackExists, Stack: f.name, Place: s.fs.Path("")}
	}
	return err
}
