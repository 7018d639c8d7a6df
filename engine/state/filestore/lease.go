package filestore

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/husk-dev/husk/engine/state"
)

// lease is a [state.Lease]. The operating system's lock of the lock file makes it exclusive. The
// file's contents, which are the holder's own, fence a holder whose lease was broken.
//
// A new holder writes its contents first and reads the state then. A write checks the contents
// before it begins and once it is durable: the next holder reads it, or it fails.
type lease struct {
	store *Store
	files files
	lock  Lock
	// contents are the contents of the lock file while the lease lasts.
	contents []byte
	token    uint64

	// loaded says that sequence and size are known.
	loaded bool
	// checkpoint is the stamp of the current checkpoint.
	checkpoint stampValue
	// sequence is the number of the last record, size the offset of the next frame.
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

var errReleased = errors.New("the lease was released")

// Lease implements [state.Store].
func (s *Store) Lease(ctx context.Context, name state.StackName, holder state.Holder) (_ state.Lease, err error) {
	if err := name.Validate(); err != nil {
		return nil, err
	}
	f := filesOf(name)
	// A name that is not a stack's leaves no files behind.
	if err := s.mustExist(f); err != nil && !s.intended(f) {
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
	if err := s.finishIntents(f); err != nil {
		return nil, err
	}
	if err := s.mustExist(f); err != nil {
		return nil, err // it was removed meanwhile
	}
	l := &lease{store: s, files: f, lock: lock}
	if l.token, l.contents, err = s.takeToken(f, lock, holder); errors.Is(err, errBroken) {
		err = &state.LockedError{Stack: name} // another breaks leases of the stack at this moment
	}
	if err != nil {
		return nil, err
	}
	if err := l.removeTemporary(); err != nil {
		return nil, err
	}
	return l, nil
}

// LeaseAndLoad implements [state.Store].
func (s *Store) LeaseAndLoad(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, *state.Contents, error) {
	return state.LeaseThenLoad(ctx, s, name, holder)
}

// removeTemporary removes what earlier leases wrote and can no longer publish.
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
		l.ended = state.Fenced(l.files.name)
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
		return state.OutOfSequence(l.files.name, sequence, want)
	}
	return nil
}

func (l *lease) Token() uint64 { return l.token }

// Load implements [state.Lease]. It cuts a torn record off the journal.
func (l *lease) Load(ctx context.Context) (*state.Contents, error) {
	if err := errors.Join(ctx.Err(), l.check()); err != nil {
		return nil, err
	}
	contents, at, err := l.store.read(ctx, l.files)
	if err != nil {
		return nil, err
	}
	l.checkpoint, l.size = at.checkpoint, at.journal.size
	if err := l.removeOldJournals(); err != nil {
		return nil, err
	}
	if at.journal.dropped != nil {
		if err := l.openJournal(); err != nil {
			return nil, err
		}
		if err := errors.Join(l.journal.Truncate(l.size), l.journal.Sync()); err != nil {
			return nil, l.store.writeError(l.journalFile(), err)
		}
	}
	l.sequence = contents.Sequence + uint64(len(contents.Records))
	l.loaded = true
	return contents, nil
}

func (l *lease) journalFile() string { return l.files.journal(l.checkpoint) }

// removeOldJournals removes the journals of earlier checkpoints that a crash left. One of a later
// checkpoint is an error: somebody has put an older checkpoint in place.
func (l *lease) removeOldJournals() error {
	s, f := l.store, l.files
	return s.journals(f, func(v stampValue) error {
		switch {
		case v == l.checkpoint:
			return nil
		case v.before(l.checkpoint):
			return s.remove(f.journal(v))
		}
		return s.corrupt(f.checkpoint, "it is older than the changes in "+s.fs.Path(f.journal(v)), s.remedy(f, f.checkpoint), nil)
	})
}

func (l *lease) Rename(ctx context.Context, to state.StackName, checkpoint []byte) error {
	if err := l.writable(ctx, l.sequence, l.sequence); err != nil {
		return err
	}
	from := l.files.name
	err := l.store.claim(ctx, to, checkpoint, func(_ files, v stampValue) error {
		return l.store.commit(intent{
			Publish: []publication{{Stack: to, Stamp: v, From: &from}},
			Remove:  []removal{{Stack: from, Token: l.token, Renamed: true}},
		}, l)
	})
	if err != nil {
		return err
	}
	l.ended = errReleased
	return nil
}

// Remove implements [state.Lease]. The files become the backup.
func (l *lease) Remove(ctx context.Context) error {
	if err := errors.Join(ctx.Err(), l.check()); err != nil {
		return err
	}
	if err := l.store.commit(intent{Remove: []removal{{Stack: l.files.name, Token: l.token}}}, l); err != nil {
		return err
	}
	l.ended = errReleased
	return nil
}

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
