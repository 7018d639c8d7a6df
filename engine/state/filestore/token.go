package filestore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/filelock"
)

type lockContents struct {
	Token uint64 `json:"token"`
	// ID differs between leases even if the token was lost.
	ID     string       `json:"id"`
	Holder state.Holder `json:"holder"`
}

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

// readLock returns the contents of the lock file.
func (s *Store) readLock(f files) (lockContents, error) { return s.readContents(f.lock) }

// readContents returns the contents of a lock file, zero if a crash or an error left only part of them.
func (s *Store) readContents(file string) (c lockContents, err error) {
	data, err := s.readFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil && json.Unmarshal(data, &c) != nil {
		c = lockContents{}
	}
	return c, err
}

const (
	// guardTime is short, because one that is paused while it takes a token must not keep a Break from ending its lease.
	guardTime  = 2 * time.Second
	guardPause = 2 * time.Millisecond
)

// guarded calls do while nobody else takes a token of the stack, so that the tokens of a Break and of a lease differ.
func (s *Store) guarded(f files, do func() error) error {
	for end := time.Now().Add(s.guardTime); ; time.Sleep(guardPause) {
		guard, err := s.fs.Lock(f.guard)
		if err == nil {
			err = do()
			return errors.Join(err, guard.Close())
		}
		if !errors.Is(err, ErrHeld) {
			return s.writeError(f.guard, err)
		}
		if time.Now().After(end) {
			return do()
		}
	}
}

// errBroken says that a lock file has lost its name.
var errBroken = errors.New("the lease was broken")

// takeToken writes a new token and its holder to a lock file whose lock is held. The error is errBroken if the file was
// replaced before.
func (s *Store) takeToken(f files, lock Lock, holder state.Holder) (token uint64, contents []byte, err error) {
	err = s.guarded(f, func() error {
		is, err := lock.Contents()
		if err == nil && is == nil {
			err = errBroken
		}
		if err == nil {
			token, contents, err = s.writeToken(f, holder)
		}
		return err
	})
	return token, contents, err
}

// writeToken writes a new token to the lock file and to the guard. An error while a file is replaced may leave nothing of
// it, so the first to be replaced is not the one with the last token.
func (s *Store) writeToken(f files, holder state.Holder) (token uint64, contents []byte, err error) {
	if token, err = s.nextToken(f); err != nil {
		return 0, nil, err
	}
	if contents, err = newLockContents(token, holder); err != nil {
		return 0, nil, err
	}
	locked, err := s.readLock(f)
	if err != nil {
		return 0, nil, err
	}
	guarded, err := s.readContents(f.guard)
	if err != nil {
		return 0, nil, err
	}
	order := []string{f.guard, f.lock}
	if locked.Token < guarded.Token {
		slices.Reverse(order)
	}
	for _, file := range order {
		if err := s.put(file, file == f.lock, contents); err != nil {
			return 0, nil, s.writeError(file, err)
		}
	}
	return token, contents, nil
}

func newLockContents(token uint64, holder state.Holder) ([]byte, error) {
	return json.Marshal(lockContents{Token: token, ID: rand.Text(), Holder: holder})
}

// nextToken returns a token larger than the tokens of all leases so far, even if the lock file is lost.
func (s *Store) nextToken(f files) (uint64, error) {
	locked, err := s.readLock(f)
	if err != nil {
		return 0, err
	}
	guarded, err := s.readContents(f.guard)
	if err != nil {
		return 0, err
	}
	last, err := s.lastToken(f)
	return max(locked.Token, guarded.Token, last) + 1, err
}

// lastToken returns the largest token in the stack's files. After a clean end, it reads the
// checkpoint's stamp only.
func (s *Store) lastToken(f files) (uint64, error) {
	was, err := s.stampOf(f)
	if err == nil && was.Token > 0 {
		there, err := s.exists(f.journal(was))
		if is, again := s.stampOf(f); err == nil && !there && again == nil && is == was {
			return was.Token, nil
		}
	}
	// The files may be damaged. Their names have tokens, too.
	last := was.Token
	for _, suffix := range []string{checkpointSuffix, removedSuffix} {
		backups, err := s.stampedFiles(f, f.backups, suffix)
		if err != nil {
			return 0, err
		}
		for _, backup := range backups {
			last = max(last, backup.stamp.Token)
		}
	}
	err = s.journals(f, func(v stampValue) error {
		data, err := s.readFile(f.journal(v))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		last = max(last, v.Token, parseJournal(data, v.Sequence).token)
		return err
	})
	return last, err
}

// Break implements [state.Store]. It replaces the lock file: the contents of the holder are gone,
// and its lock is of a file without a name.
func (s *Store) Break(ctx context.Context, name state.StackName) error {
	if err := s.prepare(ctx, name); err != nil {
		return err
	}
	f := filesOf(name)
	return s.guarded(f, func() error { return s.replaceLock(f) })
}

func (s *Store) replaceLock(f files) error {
	token, err := s.nextToken(f)
	if err != nil {
		return err
	}
	contents, err := newLockContents(token, state.Holder{})
	if err != nil {
		return err
	}
	temporary := f.lock + temporaryInfix + rand.Text() // several may break the lease at once
	if err := s.writeFile(temporary, contents); err != nil {
		return err
	}
	if err := s.publish(temporary, f.lock, f.locks); err != nil {
		return err
	}
	return s.remove(f.lock + filelock.HeldSuffix)
}
