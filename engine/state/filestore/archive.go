package filestore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/sorted"
)

// stampedFile is a file of a stack whose name has a stamp.
type stampedFile struct {
	stamp stampValue
	entry fs.DirEntry
}

// stampedFiles returns the stack's files in a directory that end with the suffix.
func (s *Store) stampedFiles(f files, directory, suffix string) ([]stampedFile, error) {
	key := directory + "/*" + suffix
	if f.listed != nil {
		if ofAll, ok := f.listed.Load(key); ok {
			return slices.Clone(ofAll.(map[string][]stampedFile)[f.name.Name]), nil
		}
	}
	entries, err := s.readDir(directory)
	ofAll := make(map[string][]stampedFile)
	for _, entry := range entries {
		if name, v, ok := parseStamped(entry.Name(), suffix); ok && (name == f.name.Name || f.listed != nil) {
			ofAll[name] = append(ofAll[name], stampedFile{v, entry})
		}
	}
	if f.listed != nil && err == nil {
		f.listed.Store(key, ofAll)
	}
	return slices.Clone(ofAll[f.name.Name]), err
}

// backupsOf returns the backups of a stack, the newest first, including the copy of the current checkpoint.
func (s *Store) backupsOf(f files) ([]stampedFile, error) {
	backups, err := s.stampedFiles(f, f.backups, checkpointSuffix)
	sorted.By(backups, func(a, b stampedFile) int {
		return cmp.Or(cmp.Compare(b.stamp.Token, a.stamp.Token), cmp.Compare(b.stamp.Sequence, a.stamp.Sequence))
	})
	return backups, err
}

// Backups implements [state.Store].
func (s *Store) Backups(ctx context.Context, name state.StackName) ([]state.BackupInfo, error) {
	if err := errors.Join(name.Validate(), ctx.Err()); err != nil {
		return nil, err
	}
	s.finishAllIntents()
	f := filesOf(name)
	backups, err := s.backupsOf(f)
	if err != nil {
		return nil, err
	}
	if _, current, err := s.readStamped(ctx, f, f.checkpoint); err == nil {
		backups = slices.DeleteFunc(backups, func(b stampedFile) bool { return b.stamp == current })
	}
	var out []state.BackupInfo
	for _, b := range backups[:min(len(backups), state.KeptBackups)] {
		info := state.BackupInfo{ID: b.stamp.id()}
		if file, err := b.entry.Info(); err == nil {
			info.Written = file.ModTime()
		}
		out = append(out, info)
	}
	return out, nil
}

// Backup implements [state.Store].
func (s *Store) Backup(ctx context.Context, name state.StackName, id string) (*state.Contents, error) {
	if err := errors.Join(name.Validate(), ctx.Err()); err != nil {
		return nil, err
	}
	v, ok := parseID(id)
	if !ok {
		return nil, fmt.Errorf("the stack %s: %w: %q", name, state.ErrNoBackup, id)
	}
	f := filesOf(name)
	contents, is, err := s.readStamped(ctx, f, f.backup(v))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the stack %s: %w: %s", name, state.ErrNoBackup, id)
	}
	if err != nil {
		return nil, err
	}
	if is != v {
		return nil, s.corrupt(f.backup(v), "it holds the checkpoint "+is.id(), s.remedy(f, f.backup(v)), nil)
	}
	if _, current, err := s.readStamped(ctx, f, f.checkpoint); err == nil && !current.before(v) {
		return contents, nil // the records are in a later checkpoint
	}
	// The checkpoint was lost, or the stack was removed. Its journal still follows on the backup.
	for _, file := range []string{f.journal(v), f.removedJournal(v)} {
		data, err := s.readBounded(ctx, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		contents.JournalFile = s.fs.Path(file)
		s.follow(contents, data)
		break
	}
	return contents, nil
}

// keepBackup keeps the checkpoint that is about to be replaced, and removes the oldest backups.
// check returns the error of a holder whose lease was broken.
func (s *Store) keepBackup(f files, v stampValue, check func() error) error {
	if err := s.makeBackup(f, v, check); err != nil {
		return err
	}
	backups, err := s.backupsOf(f)
	for _, old := range backups[min(len(backups), state.KeptBackups):] {
		err = errors.Join(err, s.remove(f.backup(old.stamp)))
	}
	return err
}

// makeBackup makes the file of the checkpoint a backup. A loss of power may have spoiled the copy
// that publishCheckpoint made.
func (s *Store) makeBackup(f files, v stampValue, check func() error) error {
	scratch := f.scratch()
	if s.fs.Link(f.checkpoint, scratch) != nil { // not every file system has links
		if _, is, err := s.readStamped(context.Background(), f, f.backup(v)); err == nil && is == v {
			return nil
		}
		data, err := s.readFile(f.checkpoint)
		if err == nil {
			err = s.writeFile(scratch, data)
		}
		if err != nil {
			return err
		}
	}
	if is, err := s.stampIn(scratch); err != nil || is != v {
		return errors.Join(check(), s.remove(scratch)) // it is the checkpoint of the next holder
	}
	if err := s.fs.Rename(scratch, f.backup(v)); err != nil {
		return errors.Join(s.writeError(f.backup(v), err), s.remove(scratch))
	}
	return s.remove(scratch) // it stays if both are names of one file
}

// aside keeps a file that is about to be replaced under another name, which it returns.
func (s *Store) aside(file, as string) (string, error) {
	err := s.fs.Link(file, as)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	} else if err != nil {
		var data []byte
		if data, err = s.readFile(file); err == nil {
			err = s.writeFile(as, data)
		}
	}
	if err != nil {
		return "", s.writeError(as, err)
	}
	return s.fs.Path(as), nil
}

// History implements [state.Store].
func (s *Store) History(ctx context.Context, name state.StackName) ([][]byte, error) {
	if err := errors.Join(name.Validate(), ctx.Err()); err != nil {
		return nil, err
	}
	data, err := s.readBounded(ctx, filesOf(name).history)
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

// SetHistory implements [state.Store].
func (s *Store) SetHistory(ctx context.Context, name state.StackName, records [][]byte) error {
	if err := errors.Join(name.Validate(), ctx.Err(), state.CheckHistory(name, records)); err != nil {
		return err
	}
	f := filesOf(name)
	if len(records) == 0 {
		return s.remove(f.history)
	}
	var text []byte
	for _, record := range records {
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
