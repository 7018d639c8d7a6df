package filestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/husk-dev/husk/engine/state"
)

// position is the result of read beside the contents.
type position struct {
	checkpoint stampValue
	journal    *journal
}

func (s *Store) read(ctx context.Context, f files) (*state.Contents, position, error) {
	contents, at, err := s.examine(ctx, f)
	if err == nil && contents.Damage != nil {
		return nil, position{}, contents.Damage
	}
	return contents, at, err
}

// examine is like read, but accepts a damaged journal.
func (s *Store) examine(ctx context.Context, f files) (*state.Contents, position, error) {
	for {
		contents, was, err := s.readCheckpoint(ctx, f)
		if err != nil {
			return nil, position{}, err
		}
		if _, _, stamped := parseStamp(contents.Checkpoint); !stamped {
			if err := s.checkForeign(f); err != nil {
				return nil, position{}, err
			}
		}
		data, err := s.readBounded(ctx, f.journal(was))
		if errors.Is(err, fs.ErrNotExist) {
			// There is no journal yet, or the next checkpoint has replaced it.
			is, err := s.stampOf(f)
			if errors.Is(err, fs.ErrNotExist) || err == nil && is != was {
				continue
			}
			if err != nil {
				return nil, position{}, fmt.Errorf("reading the stack %s: %w", f.name, err)
			}
		} else if err != nil {
			return nil, position{}, fmt.Errorf("reading the stack %s: %w", f.name, err)
		}
		return contents, position{was, s.follow(contents, data)}, nil
	}
}

// follow adds what a journal holds to the contents that it follows on.
func (s *Store) follow(contents *state.Contents, data []byte) *journal {
	j := parseJournal(data, contents.Sequence)
	if j.dropped != nil {
		j.dropped.File = contents.JournalFile
	}
	contents.Records, contents.Dropped, contents.Lost = j.records, j.dropped, j.lost
	if j.damage != "" {
		contents.Damage = &state.CorruptError{File: contents.JournalFile, Offset: j.size, Reason: j.damage, Journal: true, Remedy: contents.JournalRemedy}
	}
	return j
}

func (s *Store) corrupt(file, reason, remedy string, cause error) error {
	return &state.CorruptError{File: s.fs.Path(file), Offset: -1, Reason: reason, Remedy: remedy, Cause: cause}
}

// checkForeign refuses a checkpoint that another tool wrote while changes waited in a journal.
func (s *Store) checkForeign(f files) error {
	return s.journals(f, func(v stampValue) error {
		return s.corrupt(f.checkpoint, "another tool wrote it while changes were waiting in "+s.fs.Path(f.journal(v)),
			"restore the file, or move the journal away to give its changes up", nil)
	})
}

// journals calls do with the stamp of each checkpoint that has a journal, until an error.
func (s *Store) journals(f files, do func(stampValue) error) error {
	journals, err := s.stampedFiles(f, f.stacks, journalSuffix)
	for _, journal := range journals {
		if err == nil {
			err = do(journal.stamp)
		}
	}
	return err
}

func (s *Store) readCheckpoint(ctx context.Context, f files) (*state.Contents, stampValue, error) {
	contents, v, err := s.readStamped(ctx, f, f.checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, stampValue{}, s.notThere(f)
	}
	return contents, v, err
}

// readStamped reads a checkpoint or a backup. The error is fs.ErrNotExist if there is no such file.
func (s *Store) readStamped(ctx context.Context, f files, file string) (*state.Contents, stampValue, error) {
	checkpoint, err := s.readBounded(ctx, file)
	if errors.Is(err, syscall.EISDIR) {
		return nil, stampValue{}, s.corrupt(file, "it is not a file", "move it away, and run husk stack restore", err)
	}
	if err != nil {
		return nil, stampValue{}, fmt.Errorf("reading the stack %s: %w", f.name, err)
	}
	v, err := verify(checkpoint)
	contents := &state.Contents{
		CheckpointFile: s.fs.Path(file), CheckpointRemedy: checkpointRemedy, Checkpoint: checkpoint,
		JournalFile: s.fs.Path(f.journal(v)), JournalRemedy: journalRemedy, Sequence: v.Sequence,
	}
	if errors.Is(err, state.ErrUnsupported) {
		return nil, v, fmt.Errorf("reading the stack %s: %s: %w", f.name, contents.CheckpointFile, err)
	}
	if err != nil {
		remedy := s.remedy(f, file)
		if file == f.checkpoint && json.Valid(checkpoint) {
			remedy += "; if it was changed on purpose, husk stack import --force --file " + contents.CheckpointFile + " takes it as it is"
		}
		return nil, v, s.corrupt(file, "it is not as husk wrote it", remedy, err)
	}
	return contents, v, nil
}

// checkpointRemedy does not depend on existing backups: [Store.remedy] would list the backups of all stacks for each state.
const checkpointRemedy = "husk stack restore --list lists the earlier states, and husk stack restore goes back to one"

const journalRemedy = "husk state repair --journal keeps all records before it, and lists the others"

// remedy returns what to do about a damaged file. It lists the backups of the project.
func (s *Store) remedy(f files, file string) string {
	if file != f.checkpoint {
		return "husk stack restore --list lists the other earlier states"
	}
	backups, err := s.backupsOf(f)
	if err != nil || len(backups) == 0 {
		return "there is no earlier state: bring the file back from a copy of your own, or forget the stack with husk stack rm --force"
	}
	return "husk stack restore goes back to an earlier state, and husk stack restore --list lists them"
}

// stampOf returns the stamp of a stack's checkpoint. It does not verify the rest of the file.
func (s *Store) stampOf(f files) (stampValue, error) { return s.stampIn(f.checkpoint) }

func (s *Store) stampIn(checkpoint string) (stampValue, error) {
	file, err := s.fs.OpenFile(checkpoint, os.O_RDONLY, 0)
	if err != nil {
		return stampValue{}, err
	}
	head, err := io.ReadAll(io.LimitReader(file, maxStamp))
	v, _, ok := parseStamp(head)
	if err == nil && !ok {
		var rest []byte
		rest, err = io.ReadAll(file)
		if err == nil {
			err = checkUnstamped(append(head, rest...))
		}
		v = stampValue{}
	}
	return v, errors.Join(err, file.Close())
}

// mustExist returns nil if there is such a stack, damaged or not.
func (s *Store) mustExist(f files) error {
	if there, err := s.exists(f.checkpoint); there || err != nil {
		return err
	}
	if err := s.notThere(f); !errors.Is(err, state.ErrCorrupt) {
		return err
	}
	return nil
}

// mustNotExist returns an error if there is such a stack, even if its checkpoint is gone.
func (s *Store) mustNotExist(f files) error {
	there, err := s.exists(f.checkpoint)
	if err != nil {
		return err
	}
	if there {
		return state.StackExists(f.name, s.fs.Path(""))
	}
	if err := s.notThere(f); !errors.Is(err, state.ErrStackNotFound) {
		return err
	}
	return nil
}

// notThere returns the error of a stack that has no checkpoint: there is none, or it is lost.
func (s *Store) notThere(f files) error {
	left, err := s.remains(f)
	switch {
	case err != nil:
		return err
	case left == "":
		return state.StackNotFound(f.name, s.fs.Path(""))
	}
	return s.corrupt(f.checkpoint, "the file is gone, though nobody removed the stack: "+s.fs.Path(left)+" is there", s.remedy(f, f.checkpoint), nil)
}

// remains returns a file that shows that a stack without a checkpoint is lost: one that is younger
// than the last removal. It is empty if the stack never was, or was removed.
func (s *Store) remains(f files) (left string, err error) {
	backups, err := s.backupsOf(f)
	if err != nil {
		return "", err
	}
	var youngest stampValue
	if len(backups) > 0 {
		youngest = backups[0].stamp
		left = f.backup(youngest)
	}
	err = s.journals(f, func(v stampValue) error {
		if left == "" || !v.before(youngest) {
			left, youngest = f.journal(v), v
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	// A removal is recorded before files move, so the record is read after they are.
	removals, err := s.stampedFiles(f, f.backups, removedSuffix)
	if err != nil {
		return "", err
	}
	for _, removal := range removals {
		if youngest.Token <= removal.stamp.Token {
			return "", nil
		}
	}
	if left == "" {
		there, err := s.exists(f.history)
		if there {
			left = f.history
		}
		return left, err
	}
	return left, nil
}
