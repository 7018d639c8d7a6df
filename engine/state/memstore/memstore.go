// Package memstore keeps the states of stacks in memory, for tests and for hosts
// that store states themselves.
package memstore

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/engine/state"
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
	// backups are the checkpoints before, kept counts those that there ever were, and
	// written is when the present one was written.
	backups  []backup
	kept     int
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
	names := make([]state.StackName, 0, len(s.stacks))
	for name := range s.stacks {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b state.StackName) int { return strings.Compare(a.String(), b.String()) })
	return names, ctx.Err()
}

// Create implements [state.Store].
func (s *Store) Create(ctx context.Context, name state.StackName, checkpoint []byte) error {
	if err := check(ctx, name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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
	if err := check(ctx, name); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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
	if err := check(ctx, name); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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

// Break implements [state.Store].
func (s *Store) Break(ctx context.Context, name state.StackName) error {
	if err := check(ctx, name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := s.find(name)
	if err != nil {
		return err
	}
	st.holder = nil
	return nil
}

func check(ctx context.Context, name state.StackName) error {
	if err := name.Validate(); err != nil {
		return err
	}
	return ctx.Err()
}

// lease is a [state.Lease]. It lasts while it is its stack's holder.
type lease struct {
	store  *Store
	name   state.StackName
	token  uint64
	holder state.Holder
}

// Token implements [state.Lease].
func (l *lease) Token() uint64 { return l.token }

// held returns the stack. The caller holds the store's lock.
func (l *lease) held(ctx context.Context) (*stack, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if st := l.store.stacks[l.name]; st != nil && st.holder == l {
		return st, nil
	}
	return nil, state.Fenced(l.name)
}

// Load implements [state.Lease].
func (l *lease) Load(ctx context.Context) (*state.Contents, error) {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if _, err := l.held(ctx); err != nil {
		return nil, err
	}
	return l.store.load(l.name)
}

// Append implements [state.Lease].
func (l *lease) Append(ctx context.Context, sequence uint64, record []byte) error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	st, err := l.held(ctx)
	if err != nil {
		return err
	}
	if want := st.last() + 1; sequence != want {
		return state.OutOfSequence(l.name, sequence, want)
	}
	st.records = append(st.records, bytes.Clone(record))
	return nil
}

// Reserve implements [state.Lease].
func (l *lease) Reserve(ctx context.Context) error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	_, err := l.held(ctx)
	return err
}

// Salvage implements [state.Lease]. Memory is never damaged.
func (l *lease) Salvage(ctx context.Context) (*state.Contents, error) { return l.Load(ctx) }

// Reset implements [state.Lease].
func (l *lease) Reset(ctx context.Context, checkpoint []byte) ([]string, error) {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	st, err := l.held(ctx)
	if err != nil {
		return nil, err
	}
	st.replace(state.NextCheckpoint{Sequence: st.last(), Checkpoint: checkpoint})
	return nil, nil
}

// last returns the sequence number of the last record.
func (st *stack) last() uint64 { return st.sequence + uint64(len(st.records)) }

// Checkpoint implements [state.Lease].
func (l *lease) Checkpoint(ctx context.Context, sequence uint64, checkpoint []byte) error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	next := state.NextCheckpoint{Sequence: sequence, Checkpoint: checkpoint}
	st, err := l.next(ctx, next)
	if err == nil {
		st.replace(next)
	}
	return err
}

// next returns the stack if it may be replaced. The caller holds the store's lock.
func (l *lease) next(ctx context.Context, next state.NextCheckpoint) (*stack, error) {
	st, err := l.held(ctx)
	if err != nil {
		return nil, err
	}
	if want := st.last(); next.Sequence != want {
		return nil, state.OutOfSequence(l.name, next.Sequence, want)
	}
	return st, nil
}

func (st *stack) replace(next state.NextCheckpoint) {
	st.keep()
	st.checkpoint, st.sequence, st.records = bytes.Clone(next.Checkpoint), next.Sequence, nil
	st.written = time.Now()
}

// CheckpointBoth implements [state.Lease].
func (l *lease) CheckpointBoth(ctx context.Context, mine state.NextCheckpoint, other state.Lease, others state.NextCheckpoint) error {
	o, ok := other.(*lease)
	if !ok || o.store != l.store || o == l {
		return errors.New("the two leases are not of two stacks of one store")
	}
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	first, err := l.next(ctx, mine)
	if err != nil {
		return err
	}
	second, err := o.next(ctx, others)
	if err != nil {
		return err
	}
	first.replace(mine)
	second.replace(others)
	return nil
}

// Rename implements [state.Lease].
func (l *lease) Rename(ctx context.Context, to state.StackName, checkpoint []byte) error {
	if err := to.Validate(); err != nil {
		return err
	}
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if _, err := l.held(ctx); err != nil {
		return err
	}
	if err := l.store.create(to, checkpoint); err != nil {
		return err
	}
	delete(l.store.stacks, l.name)
	if records, ok := l.store.history[l.name]; ok {
		l.store.history[to] = records
		delete(l.store.history, l.name)
	}
	return nil
}

// Remove implements [state.Lease].
func (l *lease) Remove(ctx context.Context) error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if _, err := l.held(ctx); err != nil {
		return err
	}
	delete(l.store.stacks, l.name)
	delete(l.store.history, l.name)
	return nil
}

// Release implements [state.Lease].
func (l *lease) Release(context.Context) error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if st := l.store.stacks[l.name]; st != nil && st.holder == l {
		st.holder = nil
	}
	return nil
}
