package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
)

// lease is a [state.Lease].
type lease struct {
	store *Store
	name  state.StackName
	// id tells the lease from all others.
	id           string
	stack, token int64
	// last is the sequence number of the last record, if loaded.
	last   int64
	loaded bool
	// resumed says that other processes may have taken steps of the lease before, and may take some at the same time. A step that
	// the state of revision does not come before any more is ErrRaced then.
	resumed  bool
	revision int64
	// ended is the error of all further steps.
	ended error

	stop    context.CancelFunc // of beat
	beating sync.WaitGroup
}

// beat extends the lease until it ends. That only keeps others from taking it: the token fences.
func (l *lease) beat(ctx context.Context) {
	ticks := time.NewTicker(beat)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		err := l.step(ctx, func(t *tx) error {
			_, err := t.exec("UPDATE stacks SET expires = ? WHERE id = ?", expiry(), l.stack)
			return err
		})
		if errors.Is(err, state.ErrFenced) {
			return // the next step says so
		}
	}
}

// step takes a step that changes something if the lease lasts.
func (l *lease) step(ctx context.Context, do func(*tx) error) error {
	return l.store.db.write(ctx, func(t *tx) error {
		if err := l.holds(t); err != nil {
			return err
		}
		return do(t)
	})
}

// holds returns an error if the lease was lost.
func (l *lease) holds(t *tx) error {
	var one int
	found, err := t.row("SELECT 1 FROM stacks WHERE id = ? AND token = ? AND lease = ?", []any{l.stack, l.token, l.id}, &one)
	if err == nil && !found {
		err = done{state.Fenced(l.name)}
	}
	if err != nil || !l.resumed {
		return err
	}
	var last, revision int64
	_, err = t.row("SELECT last, revision FROM stacks WHERE id = ?", []any{l.stack}, &last, &revision)
	if err == nil && (last != l.last || revision != l.revision) {
		err = done{backend.ErrRaced}
	}
	return err
}

func (l *lease) Token() uint64 { return uint64(l.token) }

func (l *lease) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return l.ended
}

// end has all further steps return an error, and returns it.
func (l *lease) end(err error) error {
	l.ended = err
	l.stop()
	return err
}

// change takes a step under the lease. Once it has begun, its outcome is found out.
func (l *lease) change(ctx context.Context, do func(*tx) error) error {
	if err := l.usable(ctx); err != nil {
		return err
	}
	err := l.step(context.WithoutCancel(ctx), do)
	if err == nil || errors.Is(err, state.ErrNoSpace) || errors.Is(err, state.ErrStackExists) || errors.Is(err, state.ErrSequence) {
		return err // a step that failed for these has changed nothing
	}
	return l.end(err)
}

func (l *lease) load(ctx context.Context) (found *loaded, err error) {
	if err := l.usable(ctx); err != nil {
		return nil, err
	}
	err = l.store.db.read(ctx, func(t *tx) error {
		if err := l.holds(t); err != nil {
			return err
		}
		found, err = l.store.load(t, l.name, l.stack)
		return err
	})
	if errors.Is(err, state.ErrFenced) {
		_ = l.end(err)
	}
	return found, err
}

func (l *lease) Load(ctx context.Context) (*state.Contents, error) {
	found, err := l.load(ctx)
	if err == nil {
		err = found.gap()
	}
	if err != nil {
		return nil, err
	}
	l.last, l.loaded = found.last, true
	return &found.Contents, nil
}

func (l *lease) Salvage(ctx context.Context) (*state.Contents, error) {
	found, err := l.load(ctx)
	if err != nil {
		return nil, err
	}
	return &found.Contents, nil
}

func (l *lease) Reserve(ctx context.Context) error { return l.usable(ctx) }

// follows returns an error if a record with the number, or a checkpoint after the last record, does not come next.
func (l *lease) follows(ctx context.Context, sequence uint64, step int64) error {
	if err := l.usable(ctx); err != nil {
		return err
	}
	if !l.loaded {
		return errors.New("the state was not loaded")
	}
	if want := l.last + step; int64(sequence) != want {
		return state.OutOfSequence(l.name, sequence, uint64(want))
	}
	return nil
}

func (l *lease) Append(ctx context.Context, sequence uint64, record []byte) error {
	if l.resumed && int64(sequence) == l.last {
		return l.change(ctx, func(t *tx) error { return l.appended(t, sequence, record) })
	}
	if err := l.follows(ctx, sequence, 1); err != nil {
		return err
	}
	err := l.change(ctx, func(t *tx) error {
		follows, err := t.exec("UPDATE stacks SET last = ?2, expires = ?3 WHERE id = ?1 AND last = ?2 - 1", l.stack, int64(sequence), expiry())
		if err == nil && follows == 0 {
			err = fmt.Errorf("somebody has changed its tables: the journal of the stack %s is not at sequence number %d; refresh the stack before the next update", l.name, l.last)
		}
		if err == nil {
			_, err = t.exec("INSERT INTO journal VALUES (?, ?, ?)", l.stack, int64(sequence), blob(record))
		}
		return err
	})
	if err == nil {
		l.last = int64(sequence)
	}
	return err
}

// appended returns an error unless an attempt whose answer was lost has appended a record as the last one.
func (l *lease) appended(t *tx, sequence uint64, record []byte) error {
	var is []byte
	found, err := t.row("SELECT record FROM journal WHERE stack = ? AND sequence = ?", []any{l.stack, int64(sequence)}, &is)
	if err == nil && (!found || !bytes.Equal(is, record)) {
		err = done{state.OutOfSequence(l.name, sequence, sequence+1)}
	}
	return err
}

// keep makes the checkpoint a backup, and removes the oldest ones. With records, the journal's records follow it; the journal is
// empty afterwards.
func (l *lease) keep(t *tx, records bool) error {
	statements := []string{
		"INSERT INTO backups SELECT id, revision, content, sequence, written FROM stacks JOIN checkpoints ON stack = id WHERE id = ?1",
		fmt.Sprintf("DELETE FROM backups WHERE stack = ?1 AND number <= (SELECT number FROM backups WHERE stack = ?1 ORDER BY number DESC LIMIT 1 OFFSET %d)", state.KeptBackups),
	}
	if records {
		statements = append(statements, `INSERT INTO backup_records SELECT j.stack, s.revision, j.sequence, j.record
			FROM journal j JOIN stacks s ON s.id = j.stack WHERE j.stack = ?1`)
	}
	return l.all(t, append(statements, "DELETE FROM journal WHERE stack = ?1", "UPDATE stacks SET revision = revision + 1 WHERE id = ?1")...)
}

// all executes statements about the stack.
func (l *lease) all(t *tx, statements ...string) error {
	for _, statement := range statements {
		if _, err := t.exec(statement, l.stack); err != nil {
			return err
		}
	}
	return nil
}

// replace writes a new checkpoint, which holds the effects of all records.
func (l *lease) replace(t *tx, checkpoint []byte, records bool) error {
	if err := l.keep(t, records); err != nil {
		return err
	}
	if err := t.putCheckpoint(l.stack, checkpoint); err != nil {
		return err
	}
	_, err := t.exec("UPDATE stacks SET sequence = last, written = ?2, expires = ?3 WHERE id = ?1", l.stack, now(), expiry())
	return err
}

func (l *lease) Checkpoint(ctx context.Context, sequence uint64, checkpoint []byte) error {
	if err := l.follows(ctx, sequence, 0); err != nil {
		return err
	}
	return l.change(ctx, func(t *tx) error { return l.replace(t, checkpoint, false) })
}

func (l *lease) CheckpointBoth(ctx context.Context, mine state.NextCheckpoint, other state.Lease, others state.NextCheckpoint) error {
	o, ok := other.(*lease)
	if !ok || o.store.db != l.store.db || o.stack == l.stack {
		return errors.New("the two leases are not of two stacks of one store")
	}
	if err := errors.Join(l.follows(ctx, mine.Sequence, 0), o.follows(ctx, others.Sequence, 0)); err != nil {
		return err
	}
	var othersLost error
	err := l.change(ctx, func(t *tx) error {
		if othersLost = o.holds(t); othersLost != nil {
			return othersLost
		}
		return errors.Join(l.replace(t, mine.Checkpoint, false), o.replace(t, others.Checkpoint, false))
	})
	switch {
	case othersLost != nil && errors.Is(err, state.ErrFenced):
		_ = o.end(err)
	case l.ended != nil && !errors.Is(err, state.ErrFenced):
		_ = o.end(err)
	}
	return err
}

func (l *lease) Reset(ctx context.Context, checkpoint []byte) (aside []string, err error) {
	var number int64
	err = l.change(ctx, func(t *tx) error {
		if _, err := t.row("SELECT revision FROM stacks WHERE id = ?", []any{l.stack}, &number); err != nil {
			return err
		}
		// Records that the table has beyond the last one are of nobody; the next ones come after them.
		if err := l.all(t, "UPDATE stacks SET last = max(last, coalesce((SELECT max(sequence) FROM journal WHERE stack = ?1), 0)) WHERE id = ?1"); err != nil {
			return err
		}
		return l.replace(t, checkpoint, true)
	})
	if err != nil {
		return nil, err
	}
	l.loaded = false
	return []string{fmt.Sprintf("the backup %d of %s in %s", number, l.name, l.store.db.file)}, nil
}

// retire leaves of the stack its backups and its token.
func (l *lease) retire(t *tx) error {
	if err := l.keep(t, true); err != nil {
		return err
	}
	return l.all(t, "DELETE FROM checkpoints WHERE stack = ?1", "UPDATE stacks SET present = 0, lease = NULL, holder = NULL, expires = NULL WHERE id = ?1")
}

// belongings are the tables of data that belongs to a stack.
var belongings = []string{"history", "kv", "runs"}

func (l *lease) Rename(ctx context.Context, to state.StackName, checkpoint []byte) error {
	if err := to.Validate(); err != nil {
		return err
	}
	err := l.change(ctx, func(t *tx) error {
		id, err := l.store.create(t, to, checkpoint)
		if err != nil {
			return err
		}
		for _, table := range belongings {
			if _, err := t.exec("UPDATE "+table+" SET stack = ? WHERE stack = ?", id, l.stack); err != nil {
				return err
			}
		}
		return l.retire(t)
	})
	if err == nil {
		_ = l.end(state.Fenced(l.name))
	}
	return err
}

func (l *lease) Remove(ctx context.Context) error {
	err := l.change(ctx, func(t *tx) error {
		for _, table := range belongings {
			if err := l.all(t, "DELETE FROM "+table+" WHERE stack = ?1"); err != nil {
				return err
			}
		}
		return l.retire(t)
	})
	if err == nil {
		_ = l.end(state.Fenced(l.name))
	}
	return err
}

func (l *lease) Release(ctx context.Context) error {
	_ = l.end(state.Fenced(l.name))
	l.beating.Wait()
	return l.store.db.write(context.WithoutCancel(ctx), func(t *tx) error {
		_, err := t.exec("UPDATE stacks SET lease = NULL, holder = ?3, expires = NULL WHERE id = ?1 AND token = ?2 AND lease = ?3", l.stack, l.token, l.id) // its name stays, so that it is not taken again
		return err
	})
}

// drop ends a lease that could not be used. Another attempt takes it again.
func (l *lease) drop(ctx context.Context) error {
	_ = l.end(state.Fenced(l.name))
	return l.store.db.write(context.WithoutCancel(ctx), func(t *tx) error {
		_, err := t.exec("UPDATE stacks SET lease = NULL, holder = NULL, expires = NULL WHERE id = ? AND token = ? AND lease = ?", l.stack, l.token, l.id)
		return err
	})
}
