package filestore

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/husk-dev/husk/engine/state"
)

func (l *lease) openJournal() error {
	if l.journal != nil {
		return nil
	}
	journal, err := l.store.fs.OpenFile(l.journalFile(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, filePerm)
	if err != nil {
		return l.store.writeError(l.journalFile(), err)
	}
	l.journal = journal
	return nil
}

// maxFrameSpace, in bytes, bounds the space of a frame that is kept for the next one.
const maxFrameSpace = 1 << 20

func (l *lease) Append(ctx context.Context, sequence uint64, record []byte) error {
	if err := l.writable(ctx, sequence, l.sequence+1); err != nil {
		return err
	}
	if len(record) > maxRecordSize {
		return fmt.Errorf("a journal record of %d bytes is too large, it may have %d", len(record), maxRecordSize)
	}
	data := appendFrame(l.frame[:0], frame{sequence: sequence, token: l.token, record: record})
	if cap(data) <= maxFrameSpace {
		l.frame = data
	}
	err := l.write(data)
	var full *state.NoSpaceError
	if errors.As(err, &full) && l.releaseReserve() {
		if err := l.write(data); err != nil {
			return err
		}
		full.Saved = true
	} else if err != nil {
		return err
	}
	if err := l.sync(); err != nil {
		l.ended = err // the contents of the disk are unknown now
		return err
	}
	if err := l.check(); err != nil {
		l.ended = err
		return err
	}
	l.sequence = sequence
	if err := l.measure(); err != nil {
		l.ended = err // this record is saved, and the next one cannot be
	}
	if full != nil {
		return full
	}
	return nil
}

// measure finds out how long the journal is. A holder whose lease was lost while it wrote may have left a record before the
// last one, which nobody reads.
func (l *lease) measure() error {
	info, err := l.journal.Stat()
	if err != nil {
		return fmt.Errorf("reading the size of the journal %s: %w", l.store.fs.Path(l.journalFile()), err)
	}
	l.size = info.Size()
	return nil
}

// write appends a frame, or leaves the journal as it is.
func (l *lease) write(data []byte) error {
	if err := l.openJournal(); err != nil {
		return err
	}
	_, err := l.journal.Write(data)
	if err == nil {
		return nil
	}
	err = l.store.writeError(l.journalFile(), err)
	if e := l.journal.Truncate(l.size); e != nil {
		// Another record behind this one would make it a damaged one, so this is not ErrNoSpace.
		l.ended = fmt.Errorf("the journal %s ends with part of a record: %w (after %v)", l.store.fs.Path(l.journalFile()), e, err)
		return l.ended
	}
	return err
}

// sync makes the last frame durable, and with the first one the journal's name.
func (l *lease) sync() error {
	err := l.journal.Sync()
	if err == nil && l.size == 0 {
		err = l.store.fs.SyncDir(l.files.stacks)
	}
	if err != nil {
		return fmt.Errorf("saving %s: the disk did not confirm it: %w", l.store.fs.Path(l.journalFile()), err)
	}
	return nil
}

func (l *lease) Checkpoint(ctx context.Context, sequence uint64, checkpoint []byte) error {
	if err := l.writable(ctx, sequence, l.sequence); err != nil {
		return err
	}
	return l.replace(stampValue{Sequence: sequence, Token: l.token}, checkpoint, func() error {
		return l.store.keepBackup(l.files, l.checkpoint, l.check)
	})
}

// replace puts the next checkpoint in the place of the current one. It calls keep before.
func (l *lease) replace(next stampValue, checkpoint []byte, keep func() error) error {
	if err := l.writeNext(next, checkpoint); err != nil {
		return err
	}
	if err := errors.Join(keep(), l.check()); err != nil {
		return errors.Join(err, l.store.remove(l.files.temporary(next.Token)))
	}
	if err := l.store.publishCheckpoint(l.files, next); err != nil {
		err = errors.Join(err, l.store.remove(l.files.temporary(next.Token)))
		if fenced := l.check(); fenced != nil {
			return fenced // the next holder removed the file
		}
		l.ended = err // which checkpoint is there, and so which journal counts, is not known
		return err
	}
	l.dropJournal(next)
	return nil
}

// writeNext writes the next checkpoint to its temporary file, in the reserve if need be.
func (l *lease) writeNext(next stampValue, checkpoint []byte) error {
	err := l.store.writeCheckpoint(l.files, next, checkpoint)
	if errors.Is(err, state.ErrNoSpace) && l.releaseReserve() {
		err = l.store.writeCheckpoint(l.files, next, checkpoint)
	}
	return err
}

func (l *lease) CheckpointBoth(ctx context.Context, mine state.NextCheckpoint, other state.Lease, others state.NextCheckpoint) error {
	o, ok := other.(*lease)
	if !ok || o.store != l.store || o == l {
		return errors.New("the two leases are not of two stacks of one store")
	}
	if err := errors.Join(l.writable(ctx, mine.Sequence, l.sequence), o.writable(ctx, others.Sequence, o.sequence)); err != nil {
		return err
	}
	myNext, othersNext := stampValue{mine.Sequence, l.token}, stampValue{others.Sequence, o.token}
	err := l.writeNext(myNext, mine.Checkpoint)
	if err == nil {
		err = o.writeNext(othersNext, others.Checkpoint)
	}
	if err != nil {
		return errors.Join(err, l.store.remove(l.files.temporary(l.token)))
	}
	err = l.store.commit(intent{Publish: []publication{{Stack: l.files.name, Stamp: myNext}, {Stack: o.files.name, Stamp: othersNext}}}, l, o)
	if err != nil {
		return err
	}
	l.dropJournal(myNext)
	o.dropJournal(othersNext)
	return nil
}

// dropJournal begins the next checkpoint's journal and removes the last. Failures do nothing.
func (l *lease) dropJournal(next stampValue) {
	last := l.journalFile()
	l.checkpoint = next
	if l.journalFile() == last {
		return // nothing happened between two checkpoints of one lease
	}
	if l.journal != nil {
		l.journal.Close() // all of it was synced
		l.journal = nil
	}
	_ = l.store.remove(last)
	l.size = 0
}
