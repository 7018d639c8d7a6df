package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/base/nospace"
)

func (s *Store) exists(name string) (bool, error) {
	f, err := s.fs.OpenFile(name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, f.Close()
}

func (s *Store) readFile(name string) ([]byte, error) {
	return s.readBounded(context.Background(), name)
}

// readBounded is readFile for callers that may have to ask for room: see [intake.WithRoom].
func (s *Store) readBounded(ctx context.Context, name string) ([]byte, error) {
	f, err := s.fs.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	var data bytes.Buffer
	if info, err := f.Stat(); err == nil {
		if err := intake.Room(ctx, info.Size()); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		data.Grow(int(info.Size()) + bytes.MinRead) // read without moving earlier data
	}
	_, err = data.ReadFrom(f)
	return data.Bytes(), errors.Join(err, f.Close())
}

// put writes a file in place. Its contents are durable if sync is set; a new name is not.
func (s *Store) put(name string, sync bool, parts ...[]byte) error {
	f, err := s.fs.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, filePerm)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err == nil {
			_, err = f.Write(part)
		}
	}
	if err == nil && sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// writeFile writes a file with durable contents, or no part of it. A new name is not durable.
func (s *Store) writeFile(name string, parts ...[]byte) error {
	if err := s.put(name, true, parts...); err != nil {
		return errors.Join(s.writeError(name, err), s.remove(name))
	}
	return nil
}

// remove removes a file that may not be there.
func (s *Store) remove(name string) error {
	if err := s.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s.writeError(name, err)
	}
	return nil
}

func (s *Store) writeError(name string, err error) error {
	if nospace.Is(err) {
		return &state.NoSpaceError{File: s.fs.Path(name), Cause: err}
	}
	return fmt.Errorf("writing %s: %w", s.fs.Path(name), err)
}
