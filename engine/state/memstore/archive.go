package memstore

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/husk-dev/husk/engine/state"
)

var _ state.Archive = (*Store)(nil)

// backup is a checkpoint that was replaced.
type backup struct {
	info state.BackupInfo
	data []byte
}

// keep keeps the checkpoint that is about to be replaced.
func (st *stack) keep() {
	st.kept++
	st.backups = append(st.backups, backup{state.BackupInfo{ID: strconv.Itoa(st.kept), Written: st.written}, st.checkpoint})
	st.backups = st.backups[max(0, len(st.backups)-state.KeptBackups):]
}

// Backups implements [state.Archive].
func (s *Store) Backups(ctx context.Context, name state.StackName) ([]state.BackupInfo, error) {
	if err := check(ctx, name); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []state.BackupInfo
	if st := s.stacks[name]; st != nil {
		for _, b := range slices.Backward(st.backups) {
			out = append(out, b.info)
		}
	}
	return out, nil
}

// Backup implements [state.Archive].
func (s *Store) Backup(ctx context.Context, name state.StackName, id string) (*state.Contents, error) {
	if err := check(ctx, name); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.stacks[name]; st != nil {
		for _, b := range st.backups {
			if b.info.ID == id {
				return &state.Contents{CheckpointFile: "the backup " + id + " of " + name.String(), Checkpoint: bytes.Clone(b.data)}, nil
			}
		}
	}
	return nil, fmt.Errorf("the stack %s: %w: %q", name, state.ErrNoBackup, id)
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
