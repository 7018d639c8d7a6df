// Package filestore keeps the states of stacks in files:
//
//	meta.json                          {"version": 1}
//	stacks/<project>/<name>.json       the checkpoint, which Pulumi reads too
//	stacks/<project>/<name>.*.journal  what happened since, while a run goes on
//	backups/<project>/<name>.*.json    the checkpoints before it, so many of them
//	history/<project>/<name>.jsonl     who changed it, when, and how, a line each
//	locks/<project>/<name>.json        who holds the lease, or held it last
//
// A lease is an operating system's lock, so it ends with the process. Writing a
// checkpoint, it leaves at every moment one that is whole: the new one is written
// beside the old one, synced, and renamed over it. A journal record is synced
// before Append returns. Checkpoints and records have checksums: a file that was altered is an
// error, and never another state. [state.Stack] is the user of the package.
package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/husk-dev/husk/engine/state"
)

const (
	filePerm = 0o600 // states hold ciphertexts, and what is not marked secret
	dirPerm  = 0o700

	metaFile = "meta.json"
	// layoutVersion is that of the layout above.
	layoutVersion = 1
)

// Store is a [state.Store] of files.
type Store struct {
	fs FS
}

// New returns the store in a directory, which is made when the first stack is.
func New(directory string) *Store { return &Store{dir(directory)} }

// NewFS returns the store in a file system.
func NewFS(fsys FS) *Store { return &Store{fsys} }

// List implements [state.Store].
func (s *Store) List(ctx context.Context) ([]state.StackName, error) {
	if err := s.checkMeta(ctx); err != nil {
		return nil, err
	}
	projects, err := s.readDir("stacks")
	if err != nil {
		return nil, err
	}
	var names []state.StackName
	for _, project := range projects {
		if !project.IsDir() {
			continue
		}
		entries, err := s.readDir(path.Join("stacks", project.Name()))
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			base, ok := strings.CutSuffix(entry.Name(), ".json")
			name := state.StackName{Project: project.Name(), Name: base}
			if ok && name.Validate() == nil {
				names = append(names, name)
			}
		}
	}
	slices.SortFunc(names, func(a, b state.StackName) int { return strings.Compare(a.String(), b.String()) })
	return names, nil
}

func (s *Store) readDir(name string) ([]fs.DirEntry, error) {
	entries, err := s.fs.ReadDir(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// Create implements [state.Store].
func (s *Store) Create(ctx context.Context, name state.StackName, checkpoint []byte) error {
	if err := s.prepare(ctx, name); err != nil {
		return err
	}
	f := filesOf(name)
	if err := s.mustNotExist(f); err != nil {
		return err // not that it is locked
	}
	lock, err := s.lockOf(f)
	if err != nil {
		return err
	}
	return errors.Join(s.create(f, checkpoint), lock.Close())
}

// create makes a stack. The caller holds its lock.
func (s *Store) create(f files, checkpoint []byte) error {
	if err := s.mustNotExist(f); err != nil {
		return err
	}
	// A token of its own tells the stack from one of the name that was removed.
	token, err := s.nextToken(f)
	if err != nil {
		return err
	}
	if _, err := s.writeLock(f, token, state.Holder{}); err != nil {
		return err
	}
	stamped, err := stamp(checkpoint, stampValue{Sequence: 0, Token: token})
	if err != nil {
		return err
	}
	temporary := f.temporary(token)
	if err := s.writeFile(temporary, stamped[:]...); err != nil {
		return err
	}
	return s.publish(temporary, f.checkpoint, f.stacks)
}

func (s *Store) mustNotExist(f files) error {
	there, err := s.exists(f.checkpoint)
	if err == nil && there {
		err = &state.StackError{Kind: state.ErrStackExists, Stack: f.name, Place: s.fs.Path("")}
	}
	return err
}

// publish gives a file that is whole its name.
func (s *Store) publish(temporary, name, directory string) error {
	if err := s.fs.Rename(temporary, name); err != nil {
		return errors.Join(s.writeError(name, err), s.remove(temporary))
	}
	if err := s.fs.SyncDir(directory); err != nil {
		return s.writeError(name, err)
	}
	return nil
}

// Load implements [state.Store].
func (s *Store) Load(ctx context.Context, name state.StackName) (*state.Contents, error) {
	if err := name.Validate(); err != nil {
		return nil, err
	}
	if err := s.checkMeta(ctx); err != nil {
		return nil, err
	}
	contents, _, err := s.read(filesOf(name))
	return contents, err
}

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
	entries, err := s.readDir(f.stacks)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if v, ok := f.journalOf(entry.Name()); ok {
			return &state.CorruptError{File: contents.CheckpointFile, Offset: -1,
				Reason: "another tool wrote it while changes were waiting in " + s.fs.Path(f.journal(v)),
				Remedy: "restore the file, or move the journal away to give its changes up"}
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
	contents := &state.Contents{CheckpointFile: s.fs.Path(f.checkpoint), Checkpoint: checkpoint}
	was, err := verify(checkpoint)
	if err != nil {
		return nil, was, &state.CorruptError{File: contents.CheckpointFile, Offset: -1,
			Reason: "it is not as husk wrote it", Remedy: s.remedy(f), Cause: err}
	}
	contents.Sequence = was.Sequence
	contents.JournalFile = s.fs.Path(f.journal(was))
	contents.Remedy = s.remedy(f)
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
