// Package filestore keeps the states of stacks in files:
//
//	meta.json                          {"version": 1}
//	stacks/<project>/<name>.json       the checkpoint, which Pulumi reads too
//	stacks/<project>/<name>.journal    what happened since, while a run goes on
//	backups/<project>/<name>.json      the checkpoint before the last one
//	locks/<project>/<name>.json        who holds the lease, or held it last
//
// A lease is an operating system's lock, so it ends with the process. Writing a
// checkpoint, it leaves at every moment one that is whole: the new one is written
// beside the old one, synced, and renamed over it. A journal record is synced
// before Append returns. [state.Stack] is the user of the package.
package filestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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

	// heldSuffix is that of the file that is the lock on systems without locks.
	heldSuffix = ".held"
)

// Store is a [state.Store] of files.
type Store struct {
	fs FS
}

// New returns the store in a directory, which is made when the first stack is.
func New(directory string) *Store { return &Store{dir(directory)} }

// NewFS returns the store in a file system.
func NewFS(fsys FS) *Store { return &Store{fsys} }

// files are the paths of a stack's files.
type files struct {
	name state.StackName

	stacks, checkpoint, journal string
	backups, backup, oldJournal string
	locks, lock                 string
}

func filesOf(name state.StackName) files {
	f := files{
		name:    name,
		stacks:  path.Join("stacks", name.Project),
		backups: path.Join("backups", name.Project),
		locks:   path.Join("locks", name.Project),
	}
	f.checkpoint = path.Join(f.stacks, name.Name+".json")
	f.journal = path.Join(f.stacks, name.Name+".journal")
	f.backup = path.Join(f.backups, name.Name+".json")
	f.oldJournal = path.Join(f.backups, name.Name+".journal")
	f.lock = path.Join(f.locks, name.Name+".json")
	return f
}

// temporary is the file that the lease with the token writes its checkpoint to.
func (f files) temporary(token uint64) string {
	return fmt.Sprintf("%s%s%d", f.checkpoint, temporaryInfix, token)
}

const temporaryInfix = ".tmp"

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
	lock, err := s.lockOf(f)
	if err != nil {
		return err
	}
	return errors.Join(s.create(f, checkpoint), lock.Close())
}

// create makes a stack. The caller holds its lock.
func (s *Store) create(f files, checkpoint []byte) error {
	switch there, err := s.exists(f.checkpoint); {
	case err != nil:
		return err
	case there:
		return &state.StackError{Kind: state.ErrStackExists, Stack: f.name, Place: s.fs.Path("")}
	}
	// A crash while a stack of the name was removed may have left its journal.
	if err := s.remove(f.journal); err != nil {
		return err
	}
	token, err := s.largestToken(f)
	if err != nil {
		return err
	}
	stamped, err := stamp(checkpoint, stampValue{Sequence: 0, Token: token})
	if err != nil {
		return err
	}
	temporary := f.temporary(token)
	if err := s.writeFile(temporary, stamped); err != nil {
		return err
	}
	return s.publish(temporary, f.checkpoint, f.stacks)
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

// read reads a stack's checkpoint and journal. It reads the journal first: a
// checkpoint that replaces both in between holds all of what was read.
func (s *Store) read(f files) (*state.Contents, *journal, error) {
	journalData, err := s.readFile(f.journal)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("reading the stack %s: %w", f.name, err)
	}
	checkpoint, err := s.readFile(f.checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, &state.StackError{Kind: state.ErrStackNotFound, Stack: f.name, Place: s.fs.Path("")}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the stack %s: %w", f.name, err)
	}
	contents := &state.Contents{
		CheckpointFile: s.fs.Path(f.checkpoint),
		JournalFile:    s.fs.Path(f.journal),
		Checkpoint:     checkpoint,
		Remedy:         s.remedy(f),
	}
	st, err := readStamp(checkpoint)
	if err != nil {
		return nil, nil, &state.CorruptError{File: contents.CheckpointFile, Offset: -1,
			Reason: "it is not the JSON of a state", Remedy: contents.Remedy, Cause: err}
	}
	if st == nil {
		if len(journalData) > 0 {
			return nil, nil, &state.CorruptError{File: contents.CheckpointFile, Offset: -1,
				Reason: "another tool wrote it while a journal of changes was waiting, which it does not hold",
				Remedy: "restore the file, or move the journal " + contents.JournalFile + " away to give its changes up"}
		}
		st = new(stampValue)
	}
	j, err := parseJournal(journalData, st.Sequence)
	var corrupt *state.CorruptError
	if errors.As(err, &corrupt) {
		corrupt.File, corrupt.Remedy = contents.JournalFile, contents.Remedy
	}
	if err != nil {
		return nil, nil, err
	}
	if j.dropped != nil {
		j.dropped.File = contents.JournalFile
	}
	j.token = max(j.token, st.Token)
	contents.Sequence, contents.Records, contents.Dropped = st.Sequence, j.records, j.dropped
	return contents, j, nil
}

// remedy says what to do where a stack's files are damaged.
func (s *Store) remedy(f files) string {
	if there, err := s.exists(f.backup); !there || err != nil {
		return "restore it from a backup"
	}
	return fmt.Sprintf("restore it from a backup; the checkpoint before the last one is %s (to go back to it, copy it to %s and move %s away)",
		s.fs.Path(f.backup), s.fs.Path(f.checkpoint), s.fs.Path(f.journal))
}

// prepare checks the name and makes the directories of a stack.
func (s *Store) prepare(ctx context.Context, name state.StackName) error {
	if err := name.Validate(); err != nil {
		return err
	}
	if err := s.checkMeta(ctx); err != nil {
		return err
	}
	f := filesOf(name)
	for _, d := range []string{f.stacks, f.backups, f.locks} {
		if _, err := s.fs.ReadDir(d); err == nil {
			continue
		}
		if err := s.fs.MkdirAll(d, dirPerm); err != nil {
			return s.writeError(d, err)
		}
		if err := errors.Join(s.fs.SyncDir(path.Dir(d)), s.fs.SyncDir(".")); err != nil {
			return s.writeError(d, err)
		}
	}
	if there, err := s.exists(metaFile); there || err != nil {
		return err
	}
	meta := fmt.Appendf(nil, "{\"version\":%d}\n", layoutVersion)
	if err := s.writeFile(metaFile+temporaryInfix, meta); err != nil {
		return err
	}
	return s.publish(metaFile+temporaryInfix, metaFile, ".")
}

// checkMeta refuses a directory with another layout.
func (s *Store) checkMeta(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	data, err := s.readFile(metaFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var meta struct{ Version int }
	if err := json.Unmarshal(data, &meta); err != nil {
		return &state.CorruptError{File: s.fs.Path(metaFile), Offset: -1, Reason: "it is not JSON",
			Remedy: fmt.Sprintf(`write {"version":%d} to it`, layoutVersion), Cause: err}
	}
	if meta.Version != layoutVersion {
		return fmt.Errorf("%s has the layout %d and this husk knows %d: use a newer husk: %w",
			s.fs.Path(""), meta.Version, layoutVersion, state.ErrUnsupported)
	}
	return nil
}

func (s *Store) exists(name string) (bool, error) {
	f, err := s.fs.OpenFile(name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, f.Close()
}

func (s *Store) readFile(name string) ([]byte, error) {
	f, err := s.fs.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	return data, errors.Join(err, f.Close())
}

// writeFile writes a new file and makes its contents durable, not its name. It
// leaves no part of one behind.
func (s *Store) writeFile(name string, data []byte) error {
	f, err := s.fs.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, filePerm)
	if err != nil {
		return s.writeError(name, err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(s.writeError(name, err), s.remove(name))
	}
	return nil
}

// remove removes a file that may not be there.
func (s *Store) remove(name string) error {
	if err := s.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing %s: %w", s.fs.Path(name), err)
	}
	return nil
}

// writeError returns the error of writing a file.
func (s *Store) writeError(name string, err error) error {
	if noSpace(err) {
		return &state.NoSpaceError{File: s.fs.Path(name), Cause: err}
	}
	return fmt.Errorf("writing %s: %w", s.fs.Path(name), err)
}
