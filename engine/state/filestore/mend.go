package filestore

import (
	"context"
	"errors"
	"io/fs"

	"github.com/husk-dev/husk/engine/state"
)

func (l *lease) Salvage(ctx context.Context) (*state.Contents, error) {
	if err := errors.Join(ctx.Err(), l.check()); err != nil {
		return nil, err
	}
	s, f := l.store, l.files
	contents, _, err := s.examine(context.Background(), f)
	var damage *state.CorruptError
	if !errors.As(err, &damage) {
		return contents, err
	}
	contents = &state.Contents{CheckpointFile: s.fs.Path(f.checkpoint), CheckpointDamage: damage}
	if contents.Checkpoint, err = s.readFile(f.checkpoint); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	err = s.journals(f, func(v stampValue) error {
		data, err := s.readFile(f.journal(v))
		j := parseJournal(data, v.Sequence)
		for i, record := range j.records {
			contents.Lost = append(contents.Lost, state.LostRecord{Sequence: v.Sequence + uint64(i) + 1, Record: record})
		}
		contents.Lost = append(contents.Lost, j.lost...)
		return err
	})
	return contents, err
}

func (l *lease) Reset(ctx context.Context, checkpoint []byte) (aside []string, err error) {
	if err := errors.Join(ctx.Err(), l.check()); err != nil {
		return nil, err
	}
	next := stampValue{Token: l.token}
	if l.checkpoint.Token == l.token {
		next.Sequence = l.checkpoint.Sequence + 1
	}
	if err := l.replace(next, checkpoint, func() error { aside, err = l.putAside(); return err }); err != nil {
		return aside, err
	}
	l.loaded = false
	return aside, l.removeOldJournals()
}

// putAside keeps an intact checkpoint as a backup, and damaged files under unread names.
func (l *lease) putAside() (aside []string, err error) {
	s, f := l.store, l.files
	keep := func(file, as string) error {
		name, err := s.aside(file, as)
		if err == nil {
			aside = append(aside, name)
		}
		return err
	}
	_, v, err := s.readStamped(context.Background(), f, f.checkpoint)
	switch {
	case err == nil:
		err = s.keepBackup(f, v, l.check)
	case errors.Is(err, state.ErrCorrupt):
		err = keep(f.checkpoint, f.damaged(l.token, checkpointSuffix))
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err != nil {
		return nil, err
	}
	err = s.journals(f, func(v stampValue) error {
		return keep(f.journal(v), f.damaged(l.token, "."+v.id()+journalSuffix))
	})
	if err == nil {
		err = s.fs.SyncDir(f.backups)
	}
	return aside, err
}
