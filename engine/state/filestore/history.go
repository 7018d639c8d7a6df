package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/husk-dev/husk/engine/state"
)

var _ state.Archive = (*Store)(nil)

// History implements [state.Archive].
func (s *Store) History(ctx context.Context, name state.StackName) ([][]byte, error) {
	if err := errors.Join(name.Validate(), ctx.Err()); err != nil {
		return nil, err
	}
	data, err := s.readFile(filesOf(name).history)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var records [][]byte
	for line := range bytes.Lines(data) {
		if record := bytes.TrimSpace(line); len(record) > 0 {
			records = append(records, record)
		}
	}
	return records, nil
}

// SetHistory implements [state.Archive].
func (s *Store) SetHistory(ctx context.Context, name state.StackName, records [][]byte) error {
	if err := errors.Join(name.Validate(), ctx.Err()); err != nil {
		return err
	}
	f := filesOf(name)
	if len(records) == 0 {
		return s.remove(f.history)
	}
	var text []byte
	for _, record := range records {
		if bytes.ContainsRune(record, '\n') {
			return fmt.Errorf("a record of the history of %s has more than one line", name)
		}
		text = append(append(text, record...), '\n')
	}
	if err := s.fs.MkdirAll(f.histories, dirPerm); err != nil {
		return s.writeError(f.histories, err)
	}
	scratch := f.scratch()
	if err := s.writeFile(scratch, text); err != nil {
		return err
	}
	return s.publish(scratch, f.history, f.histories)
}
