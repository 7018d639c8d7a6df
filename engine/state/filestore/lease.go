package filestore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/filelock"
)

// lease is a [state.Lease]. What makes it exclusive is the operating system's
// lock of the lock file. What fences a holder whose lease was broken is the
// file's contents: they are the holder's own for as long as the lease lasts.
//
// A new holder writes its contents first and reads the state then. A write
// checks the contents before it begins and once it is durable, so it either is
// in what the next holder reads, or fails.
type lease struct {
	store *Store
	files files
	lock  Lock
	// contents is what the lock file holds while the lease lasts.
	contents []byte
	token    uint64

	// loaded says that sequence and size are known.
	loaded bool
	// checkpoint is the stamp of the current checkpoint.
	checkpoint stampValue
	// sequence is that of the last record, size where the next frame goes.
	sequence uint64
	size     int64
	// frame is the space of the last frame, for the next one.
	frame []byte
	// journal is open for appending, nil before the first append.
	journal File
	// reserve says that the space for results is set aside.
	reserve bool
	// ended is the error of every write from now on.
	ended error
}

// lockContents is what a lock file holds.
type lockContents struct {
	Token uint64 `json:"token"`
	// ID tells leases apart even where the token was lost.
	ID     string       `json:"id"`
	Holder state.Holder `json:"holder"`
}

// errReleased says that a lease was used after its end.
var errReleased = errors.New("the lease was released")

// Lease implements [state.Store].
func (s *Store) Lease(ctx context.Context, name state.StackName, holder state.Holder) (_ state.Lease, err error) {
	if err := name.Validate(); err != nil {
		return nil, err
	}
	f := filesOf(name)
	// A name that is not a stack's leaves no files behind.
	if err := s.mustExist(f); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, name); err != nil {
		return nil, err
	}
	lock, err := s.lockOf(f)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	if err := s.mustExist(f); err != nil {
		return nil, err // it was removed meanwhile
	}
	l := &lease{store: s, files: f, lock: lock}
	if l.token, err = s.nextToken(f); err != nil {
		return nil, err
	}
	if l.contents, err = s.writeLock(f, l.token, holder); err != nil {
		return nil, err
	}
	if err := l.removeTemporary(); err != nil {
		return nil, err
	}
	return l, nil
}

func (s *Store) mustExist(f files) error {
	there, err := s.exists(f.checkpoint)
	if err == nil && !there {
		err = &state.StackError{Kind: state.ErrStackNotFound, Stack: f.name, Place: s.fs.Path("")}
	}
	return err
}

// lockOf takes the lock of a stack, or says who has it.
func (s *Store) lockOf(f files) (Lock, error) {
	lock, err := s.fs.Lock(f.lock)
	if errors.Is(err, ErrHeld) {
		held, _ := s.readLock(f) // who holds it is good to know, not needed
		return nil, &state.LockedError{Stack: f.name, Holder: held.Holder}
	}
	if err != nil {
		return nil, s.writeError(f.lock, err)
	}
	return lock, nil
}

// readLock returns the contents of a lock file, zero where it has none, or a
// crash left only part of them.
func (s *Store) readLock(f files) (c lockContents, err error) {
	data, err := s.readFile(f.lock)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil && json.Unmarshal(data, &c) != nil {
		c = lockContents{}
	}
	return c, err
}

// nextToken returns a token larger than those of all leases so far. Where the
// lock file was lost, the checkpoint and the journal still tell.
func (s *Store) nextToken(f files) (uint64, error) {
	c, err := s.readLock(f)
	if err != nil {
		return 0, err
	}
	last, err := s.lastToken(f)
	if errors.Is(err, state.ErrStackNotFound) {
		return c.Token + 1, nil
	}
	if err != nil {
		return 0, err
	}
	return max(c.Token, last) + 1, nil
}

// lastToken returns the largest token in the checkpoint and the journal. Where all is as
// the last lease left it, which is without a journal, it reads no more than the stamp.
func (s *Store) lastToken(f files) (uint64, error) {
	if was, err := s.stampOf(f); err == nil && was.Token > 0 {
		there, err := s.exists(f.journal(was))
		if is, again := s.stampOf(f); err == nil && !there && again == nil && is == was {
			return was.Token, nil
		}
	}
	_, at, err := s.read(f)
	if err != nil {
		return 0, err
	}
	return max(at.checkpoint.Token, at.journal.token), nil
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

// writeLock writes the contents of a lock file whose lock is held, and returns them.
func (s *Store) writeLock(f files, token uint64, holder state.Holder) ([]byte, error) {
	contents, err := json.Marshal(lockContents{Token: token, ID: rand.Text(), Holder: holder})
	if err != nil {
		return nil, err
	}
	return contents, s.overwrite(f.lock, contents)
}

// overwrite replaces the contents of a file and leaves it the same file, whose
// lock is held.
func (s *Store) overwrite(name string, data []byte) error {
	f, err := s.fs.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, filePerm)
	if err != nil {
		return s.writeError(name, err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return s.writeError(name, err)
	}
	return nil
}

// Break implements [state.Store]. It puts another file in the lock file's place:
// the holder finds that its contents are gone, and the lock it has is of a file
// without a name.
func (s *Store) Break(ctx context.Context, name state.StackName) error {
	if err := s.prepare(ctx, name); err != nil {
		return err
	}
	f := filesOf(name)
	token, err := s.nextToken(f)
	if err != nil {
		return err
	}
	data, err := json.Marshal(lockContents{Token: token, ID: rand.Text()})
	if err != nil {
		return err
	}
	temporary := f.lock + temporaryInfix + rand.Text() // several may break the lease at once
	if err := s.writeFile(temporary, data); err != nil {
		return err
	}
	if err := s.publish(temporary, f.lock, f.locks); err != nil {
		return err
	}
	return s.remove(f.lock + filelock.HeldSuffix)
}

// removeTemporary removes what earlier leases wrote and did not publish. One of
// them that was paused before it did cannot do it any more.
func (l *lease) removeTemporary() error {
	entries, err := l.store.fs.ReadDir(l.files.stacks)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := path.Join(l.files.stacks, entry.Name())
		if strings.HasPrefix(name, l.files.checkpoint+temporaryInfix) {
			if err := l.store.remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// check returns the error of a lease that has ended, nil while it lasts.
func (l *lease) check() error {
	if l.ended != nil {
		return l.ended
	}
	data, err := l.lock.Contents()
	if err != nil {
		return fmt.Errorf("checking the lock of the stack %s: %w", l.files.name, err)
	}
	if string(data) != string(l.contents) {
		l.ended = &state.FencedError{Stack: l.files.name, Token: l.token}
	}
	return l.ended
}

// writable returns the error of a write that may not be.
func (l *lease) writable(ctx context.Context, sequence, want uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !l.loaded {
		return errors.New("the lease was not loaded before the first write")
	}
	if err := l.check(); err != nil {
		return err
	}
	if sequence != want {
		return &state.SequenceError{Stack: l.files.name, Got: sequence, Want: want}
	}
	return nil
}

// Token implements [state.Lease].
func (l *lease) Token() uint64 { return l.token }

// Load implements [state.Lease]. It cuts a torn record off the journal, so that
// the next one does not follow on it.
func (l *lease) Load(ctx context.Context) (*state.Contents, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	contents, at, err := l.store.read(l.files)
	if err != nil {
		return nil, err
	}
	l.checkpoint, l.size = at.checkpoint, at.journal.size
	if at.journal.dropped != nil {
		if err := l.openJournal(); err != nil {
			return nil, err
		}
		if err := errors.Join(l.journal.Truncate(l.size), l.journal.Sync()); err != nil {
			return nil, l.store.writeError(l.journalFile(), err)
		}
	}
	if err := l.removeOldJournals(); err != nil {
		return nil, err
	}
	l.sequence = contents.Sequence + uint64(len(contents.Records))
	l.loaded = true
	return contents, nil
}

func (l *lease) journalFile() string { return l.files.journal(l.checkpoint) }

// removeOldJournals removes the journals of earlier checkpoints, which a crash
// left behind.
func (l *lease) removeOldJournals() error {
	entries, err := l.store.fs.ReadDir(l.files.stacks)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if v, ok := l.files.journalOf(entry.Name()); ok && v.before(l.checkpoint) {
			if err := l.store.remove(l.files.journal(v)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Rename implements [state.Lease].
func (l *lease) Rename(ctx context.Context, to state.StackName, checkpoint []byte) error {
	if err := l.writable(ctx, l.sequence, l.sequence); err != nil {
		return err
	}
	if err := l.store.Create(ctx, to, checkpoint); err != nil {
		return err
	}
	return l.Remove(ctx)
}

// Remove implements [state.Lease]. The files become the backup.
func (l *lease) Remove(ctx context.Context) error {
	if err := l.writable(ctx, l.sequence, l.sequence); err != nil {
		return err
	}
	s, f := l.store, l.files
	l.ended = errReleased
	if err := s.fs.Rename(f.checkpoint, f.backup(l.checkpoint)); err != nil {
		return fmt.Errorf("removing the stack %s: %w", f.name, err)
	}
	backup := path.Join(f.backups, path.Base(l.journalFile()))
	if err := s.fs.Rename(l.journalFile(), backup); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the journal of the stack %s: %w", f.name, err)
	}
	return errors.Join(s.fs.SyncDir(f.backups), s.fs.SyncDir(f.stacks))
}

// Release implements [state.Lease].
func (l *lease) Release(context.Context) error {
	if l.lock == nil {
		return nil
	}
	var err error
	if l.journal != nil {
		err = l.journal.Close()
		l.journal = nil
	}
	l.releaseReserve()
	if l.ended == nil {
		l.ended = errReleased
	}
	err = errors.Join(err, l.lock.Close())
	l.lock = nil
	if err != nil {
		return fmt.Errorf("releasing the stack %s: %w", l.files.name, err)
	}
	return nil
}
