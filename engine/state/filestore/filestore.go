// Package filestore keeps the states of stacks in files:
//
//	meta.json                           {"version": 1}
//	stacks/<project>/<name>.json        the checkpoint, which Pulumi reads too
//	stacks/<project>/<name>.*.journal   what happened since, while a run goes on
//	backups/<project>/<name>.*.json     a copy of the checkpoint, and those before it
//	backups/<project>/<name>.*.damaged* damaged files that were replaced
//	backups/<project>/<name>.*.removed  records that the stack was removed on purpose
//	history/<project>/<name>.jsonl      who changed it, when, and how, a line each
//	kv/<project>/<name>                 a directory that others fill; it is renamed and removed with the stack
//	runs/<project>/<name>               another such directory
//	locks/<project>/<name>.json         who holds the lease, or held it last
//	intents/*.json                      steps that change several of these, while they are under way
//
// A lease is an operating system's lock, so it ends with the process. Writing a
// checkpoint, it leaves at every moment one that is whole: the new one is written
// beside the old one, synced, and renamed over it. A journal record is synced
// before Append returns. Checkpoints and records have checksums: a file that was altered is an
// error, and never another state. [state.Stack] is the user of the package.
package filestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/sorted"
)

const (
	filePerm = 0o600 // states hold ciphertexts, and values that are not marked secret
	dirPerm  = 0o700

	metaFile = "meta.json"
	// layoutVersion is the version of the layout above.
	layoutVersion = 1
)

// Store is a [state.Store] of files.
type Store struct {
	fs FS
	// guardTime bounds the wait for others that take a token of a stack at the same moment.
	guardTime time.Duration
}

// New returns the store in a directory, which is made when the first stack is.
func New(directory string) *Store { return NewFS(dir(directory)) }

// NewFS returns the store in a file system.
func NewFS(fsys FS) *Store { return &Store{fs: fsys, guardTime: guardTime} }

// List implements [state.Store]. A project that cannot be read does not hide the others.
func (s *Store) List(ctx context.Context) ([]state.StackName, error) {
	if err := s.checkMeta(ctx); err != nil {
		return nil, err
	}
	s.finishAllIntents()
	found := make(map[state.StackName]bool)
	var errs []error
	// A stack whose checkpoint is gone is found by its other files.
	for _, kind := range []struct {
		dir  string
		name func(base string) (string, bool)
	}{
		{stacksDir, stackOf},
		{backupsDir, func(base string) (string, bool) { return ofStamped(base, checkpointSuffix) }},
		{historyDir, func(base string) (string, bool) { return strings.CutSuffix(base, historySuffix) }},
	} {
		errs = append(errs, s.namesIn(kind.dir, kind.name, func(name state.StackName) {
			if name.Validate() == nil {
				found[name] = true
			}
		}))
	}
	names := slices.Collect(maps.Keys(found))
	sorted.By(names, func(a, b state.StackName) int { return cmp.Compare(a.String(), b.String()) })
	var listed sync.Map
	names = slices.DeleteFunc(names, func(name state.StackName) bool {
		f := filesOf(name)
		f.listed = &listed
		return errors.Is(s.mustExist(f), state.ErrStackNotFound)
	})
	return names, errors.Join(errs...)
}

func stackOf(base string) (string, bool) {
	if name, ok := ofStamped(base, journalSuffix); ok {
		return name, true
	}
	return strings.CutSuffix(base, checkpointSuffix)
}

func ofStamped(base, suffix string) (string, bool) {
	name, _, ok := parseStamped(base, suffix)
	return name, ok
}

func (s *Store) namesIn(kind string, stack func(base string) (string, bool), found func(state.StackName)) error {
	projects, err := s.readDir(kind)
	if err != nil {
		return err
	}
	var errs []error
	for _, project := range projects {
		if !project.IsDir() {
			continue
		}
		entries, err := s.readDir(path.Join(kind, project.Name()))
		errs = append(errs, err)
		for _, entry := range entries {
			if name, ok := stack(entry.Name()); ok {
				found(state.StackName{Project: project.Name(), Name: name})
			}
		}
	}
	return errors.Join(errs...)
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
	return s.claim(ctx, name, checkpoint, func(f files, v stampValue) error {
		if err := s.publishCheckpoint(f, v); err != nil {
			return errors.Join(err, s.remove(f.temporary(v.Token)))
		}
		return nil
	})
}

// claim writes the first checkpoint of a new stack to its temporary file, and calls publish with
// the stack locked.
func (s *Store) claim(ctx context.Context, name state.StackName, checkpoint []byte, publish func(files, stampValue) error) (err error) {
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
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := errors.Join(s.finishIntents(f), s.mustNotExist(f)); err != nil {
		return err
	}
	if s.intended(f) {
		return fmt.Errorf("the stack %s was renamed, and what belonged to it is still under this name: use the renamed stack first", f.name)
	}
	// Its token differs from the token of a removed stack of the same name.
	token, _, err := s.takeToken(f, lock, state.Holder{})
	if err != nil {
		return err
	}
	v := stampValue{Token: token}
	if err := s.writeCheckpoint(f, v, checkpoint); err != nil {
		return err
	}
	return publish(f, v)
}

// writeCheckpoint writes the checkpoint that is to have the stamp to its temporary file.
func (s *Store) writeCheckpoint(f files, v stampValue, checkpoint []byte) error {
	stamped, err := stamp(checkpoint, v)
	if err != nil {
		return err
	}
	return s.writeFile(f.temporary(v.Token), stamped[:]...)
}

// publishCheckpoint makes the temporary file the checkpoint, and a copy of it a backup. After an
// error the temporary file is still there, or is the checkpoint.
func (s *Store) publishCheckpoint(f files, v stampValue) error {
	temporary := f.temporary(v.Token)
	// Copy first: under its name it could be the checkpoint of the next holder.
	twin := temporary + ".twin"
	data, err := s.readFile(temporary)
	copied := err == nil && s.put(twin, false, data) == nil
	if err := s.rename(temporary, f.checkpoint, f.stacks); err != nil {
		return errors.Join(err, s.remove(twin))
	}
	if !copied || s.fs.Rename(twin, f.backup(v)) != nil {
		_ = s.remove(twin) // the checkpoint counts, and it is there
	}
	return nil
}

// publish gives a file that is whole its name, or removes it.
func (s *Store) publish(temporary, name, directory string) error {
	if err := s.rename(temporary, name, directory); err != nil {
		return errors.Join(err, s.remove(temporary))
	}
	return nil
}

func (s *Store) rename(from, to, directory string) error {
	err := s.fs.Rename(from, to)
	if err == nil {
		err = s.fs.SyncDir(directory)
	}
	if err != nil {
		return s.writeError(to, err)
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
	s.finishAllIntents()
	f := filesOf(name)
	f.listed = state.Listed(ctx)
	contents, _, err := s.read(ctx, f)
	if err != nil && f.listed != nil {
		f.listed = nil // the files may have changed since they were listed
		contents, _, err = s.read(ctx, f)
	}
	return contents, err
}
