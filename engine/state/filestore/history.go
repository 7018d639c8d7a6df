package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/husk-dev/husk/engine/state"
)

var _ state.Archive = (*Store)(nil)

// history is the directory and the file of a stack's history: a record a line.
func history(name state.StackName) (dir, file string) {
	dir = path.Join("history", name.Project)
	return dir, path.Join(dir, name.Name+".jsonl")
}

// History implements [state.Archive].
func (s *Store) History(ctx context.Context, name state.StackName) ([][]byte, error) {
	if err := errors.Join(name.Validate(), ctx.Err()); err != nil {
		return nil, err
	}
	_, file := history(name)
	data, err := s.readFile(file)
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
	dir, file := history(name)
	if len(records) == 0 {
		return s.remove(file)
	}
	var text []byte
	for _, record := range records {
		if bytes.ContainsRune(record, '\n') {
			return fmt.Errorf("a record of the history of %s has more than one line", name)
		}
		text = append(append(text, record...), '\n')
	}
	if err := s.fs.MkdirAll(dir, dirPerm); err != nil {
		return s.writeError(dir, err)
	}
	scratch := filesOf(name).scratch()
	if err := s.writeFile(scratch, text); err != nil {
		return err
	}
	return s.publish(scratch, file, dir)
}
