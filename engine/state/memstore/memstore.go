// Package memstore keeps the states of stacks in memory, for tests and for hosts that save states.
package memstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/sorted"
)

// Store is a [state.Store] in memory. The zero Store is empty.
type Store struct {
	mu     sync.Mutex
	stacks map[state.StackName]*stack
	// tokens are the last fencing tokens, also of stacks that were removed.
	tokens map[state.StackName]uint64
	// history holds records of updates.
	history map[state.StackName][][]byte
}

type stack struct {
	checkpoint []byte
	// backups are the checkpoints before, and replaced counts all that there ever were.
	backups  []backup
	replaced int
	written  time.Time
	sequence uint64
	records  [][]byte
	holder   *lease
}

const place = "memory"

// List implements [state.Store].
func (s *Store) List(ctx context.Context) ([]state.StackName, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := slices.Collect(maps.Keys(s.stacks))
	sorted.By(names, func(a, b state.StackName) int { return strings.Compare(a.String(), b.String()) })
	return names, ctx.Err()
}

// Create implements [state.Store].
func (s *Store) Create(ctx context.Context, name state.StackName, checkpoint []byte) error {
	unlock, err := s.lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	return s.create(name, checkpoint)
}

func (s *Store) create(name state.StackName, checkpoint []byte) error {
	if _, ok := s.stacks[name]; ok {
		return state.StackExists(name, place)
	}
	if s.stacks == nil {
		s.stacks, s.tokens = map[state.StackName]*stack{}, map[state.StackName]uint64{}
	}
	s.stacks[name] = &stack{checkpoint: bytes.Clone(checkpoint)}
	return nil
}

// Load implements [state.Store].
func (s *Store) Load(ctx context.Context, name state.StackName) (*state.Contents, error) {
	unlock, err := s.lock(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return s.load(name)
}

func (s *Store) load(name state.StackName) (*state.Contents, error) {
	st, err := s.find(name)
	if err != nil {
		return nil, err
	}
	contents := &state.Contents{
		CheckpointFile: "the state of " + name.String(),
		JournalFile:    "the journal of " + name.String(),
		Checkpoint:     bytes.Clone(st.checkpoint),
		Sequence:       st.sequence,
	}
	for _, record := range st.records {
		contents.Records = append(contents.Records, bytes.Clone(record))
	}
	return contents, nil
}

func (s *Store) find(name state.StackName) (*stack, error) {
	if st, ok := s.stacks[name]; ok {
		return st, nil
	}
	return nil, state.StackNotFound(name, place)
}

// Lease implements [state.Store].
func (s *Store) Lease(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, error) {
	unlock, err := s.lock(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	st, err := s.find(name)
	if err != nil {
		return nil, err
	}
	if st.holder != nil {
		return nil, &state.LockedError{Stack: name, Holder: st.holder.holder}
	}
	s.tokens[name]++
	st.holder = &lease{store: s, name: name, token: s.tokens[name], holder: holder}
	return st.holder, nil
}

// LeaseAndLoad implements [state.Store].
func (s *Store) LeaseAndLoad(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, *state.Contents, error) {
	return state.LeaseThenLoad(ctx, s, name, holder)
}

// Break implements [state.Store].
func (s *Store) Break(ctx context.Context, name state.StackName) error {
	unlock, err := s.lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	st, err := s.find(name)
	if err != nil {
		return err
	}
	st.holder = nil
	return nil
}

// lock checks the name and the context, and takes the store's lock.
func (s *Store) lock(ctx context.Context, name state.StackName) (unlock func(), err error) {
	if err := errors.Join(name.Validate(), ctx.Err()); err != nil {
		return nil, err
	}
	s.mu.Lock()
	return s.mu.Unlock, nil
}

// lease is a [state.Lease]. It lasts while it is its stack's holder.
type lease struct {
	store  *Store
	name   state.StackName
	token  uint64
	holder state.Holder
}

func (l *lease) Token() uint64 { return l.token }

// held calls do with the stack, if the lease lasts, under the store's lock.
func (l *lease) held(ctx context.Context, do func(*stack) error) error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	st, err := l.stack(ctx)
	if err != nil {
		return err
	}
	return do(st)
}

// stack returns the stack, if the lease lasts. The caller holds the store's lock.
func (l *lease) stack(ctx context.Context) (*stack, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if st := l.store.stacks[l.name]; st != nil && st.holder == l {
		return st, nil
	}
	return nil, state.Fenced(l.name)
}

func (l *lease) Load(ctx context.Context) (contents *state.Contents, err error) {
	err = l.held(ctx, func(*stack) error {
		contents, err = l.store.load(l.name)
		return err
	})
	return contents, err
}

func (l *lease) Append(ctx context.Context, sequence uint64, record []byte) error {
	return l.held(ctx, func(st *stack) error {
		if want := st.last() + 1; sequence != want {
			return state.OutOfSequence(l.name, sequence, want)
		}
		st.records = append(st.records, bytes.Clone(record))
		return nil
	})
}

func (l *lease) Reserve(ctx context.Context) error {
	return l.held(ctx, func(*stack) error { return nil })
}

// Salvage implements [state.Lease]. Memory is never damaged.
func (l *lease) Salvage(ctx context.Context) (*state.Contents, error) { return l.Load(ctx) }

func (l *lease) Reset(ctx context.Context, checkpoint []byte) ([]string, error) {
	return nil, l.held(ctx, func(st *stack) error {
		st.replace(state.NextCheckpoint{Sequence: st.last(), Checkpoint: checkpoint})
		return nil
	})
}

func (st *stack) last() uint64 { return st.sequence + uint64(len(st.records)) }

func (l *lease) Checkpoint(ctx context.Context, sequence uint64, checkpoint []byte) error {
	next := state.NextCheckpoint{Sequence: sequence, Checkpoint: checkpoint}
	return l.held(ctx, func(st *stack) error {
		if err := l.follows(st, next); err != nil {
			return err
		}
		st.replace(next)
		return nil
	})
}

func (l *lease) follows(st *stack, next state.NextCheckpoint) error {
	if want := st.last(); next.Sequence != want {
		return state.OutOfSequence(l.name, next.Sequence, want)
	}
	return nil
}

func (st *stack) replace(next state.NextCheckpoint) {
	st.keep()
	st.checkpoint, st.sequence, st.records = bytes.Clone(next.Checkpoint), next.Sequence, nil
	st.written = time.Now()
}

func (l *lease) CheckpointBoth(ctx context.Context, mine state.NextCheckpoint, other state.Lease, others state.NextCheckpoint) error {
	o, ok := other.(*lease)
	if !ok || o.store != l.store || o == l {
		return errors.New("the two leases are not of two stacks of one store")
	}
	return l.held(ctx, func(first *stack) error {
		second, err := o.stack(ctx)
		if err != nil {
			return err
		}
		if err := errors.Join(l.follows(first, mine), o.follows(second, others)); err != nil {
			return err
		}
		first.replace(mine)
		second.replace(others)
		return nil
	})
}

func (l *lease) Rename(ctx context.Context, to state.StackName, checkpoint []byte) error {
	if err := to.Validate(); err != nil {
		return err
	}
	return l.held(ctx, func(*stack) error {
		if err := l.store.create(to, checkpoint); err != nil {
			return err
		}
		delete(l.store.stacks, l.name)
		if records, ok := l.store.history[l.name]; ok {
			l.store.history[to] = records
			delete(l.store.history, l.name)
		}
		return nil
	})
}

func (l *lease) Remove(ctx context.Context) error {
	return l.held(ctx, func(*stack) error {
		delete(l.store.stacks, l.name)
		delete(l.store.history, l.name)
		return nil
	})
}

func (l *lease) Release(context.Context) error {
	_ = l.held(context.Background(), func(st *stack) error { st.holder = nil; return nil }) // if it lasts
	return nil
}

type backup struct {
	info state.BackupInfo
	data []byte
}

func (st *stack) keep() {
	st.replaced++
	st.backups = append(st.backups, backup{state.BackupInfo{ID: strconv.Itoa(st.replaced), Written: st.written}, st.checkpoint})
	st.backups = st.backups[max(0, len(st.backups)-state.KeptBackups):]
}

// Backups implements [state.Store].
func (s *Store) Backups(ctx context.Context, name state.StackName) ([]state.BackupInfo, error) {
	unlock, err := s.lock(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var out []state.BackupInfo
	if st := s.stacks[name]; st != nil {
		for _, b := range slices.Backward(st.backups) {
			out = append(out, b.info)
		}
	}
	return out, nil
}

// Backup implements [state.Store].
func (s *Store) Backup(ctx context.Context, name state.StackName, id string) (*state.Contents, error) {
	unlock, err := s.lock(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if st := s.stacks[name]; st != nil {
		for _, b := range st.backups {
			if b.info.ID == id {
				return &state.Contents{CheckpointFile: "the backup " + id + " of " + name.String(), Checkpoint: bytes.Clone(b.data)}, nil
			}
		}
	}
	return nil, fmt.Errorf("the stack %s: %w: %q", name, state.ErrNoBackup, id)
}

// History implements [state.Store].
func (s *Store) History(ctx context.Context, name state.StackName) ([][]byte, error) {
	unlock, err := s.lock(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return cloned(s.history[name]), nil
}

// SetHistory implements [state.Store].
func (s *Store) SetHistory(ctx context.Context, name state.StackName, records [][]byte) error {
	unlock, err := s.lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	if s.history == nil {
		s.history = make(map[state.StackName][][]byte)
	}
	s.history[name] = cloned(records)
	return nil
}

func cloned(records [][]byte) [][]byte {
	var out [][]byte
	for _, r := range records {
		out = append(out, bytes.Clone(r))
	}
	return out
}
