package memstore

import (
	"bytes"
	"context"
	"fmt"

	"github.com/husk-dev/husk/engine/state"
)

var _ state.Archive = (*Store)(nil)

// Backup implements [state.Archive].
func (s *Store) Backup(ctx context.Context, name state.StackName) ([]byte, error) {
	if err := check(ctx, name); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.stacks[name]; st != nil && st.backup != nil {
		return bytes.Clone(st.backup), nil
	}
	return nil, fmt.Errorf("the stack %s: %w", name, state.ErrNoBackup)
}

// History implements [state.Archive].
func (s *Store) History(ctx context.Context, name state.StackName) ([][]byte, error) {
	if err := check(ctx, name); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return cloned(s.history[name]), nil
}

// SetHistory implements [state.Archive].
func (s *Store) SetHistory(ctx context.Context, name state.StackName, records [][]byte) error {
	if err := check(ctx, name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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
