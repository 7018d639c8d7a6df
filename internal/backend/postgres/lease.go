package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
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
	// revision is the stack's revision after the last step of this lease.
	revision int64
	// last is the sequence number of the last record, -1 before Load.
	last int64
	// loaded says that last is known.
	loaded bool
	// resumed says that other processes may have taken steps of the lease before, and may take some at the same time.
	resumed bool
	// ended is the error of all further steps.
	ended error

	stop    context.CancelFunc // of beat
	beating sync.WaitGroup
}

// keep has the lease last as long as this process, or until it ends.
func (l *lease) keep(ctx context.Context) {
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	l.beating.Go(func() { l.beat(beating) })
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
		rows, _, err := l.store.db.step(ctx, sql("UPDATE @stacks SET expires = "+expiry+" WHERE id = $1 AND token = $2 AND lease IS NOT NULL RETURNING id", l.stack, l.token))
		if err == nil && len(rows) == 0 {
			return // it was taken away, and the next step says so
		}
	}
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

func (l *lease) fenced() error { return l.end(state.Fenced(l.name)) }

func (l *lease) load(ctx context.Context) (*loaded, error) {
	if err := l.usable(ctx); err != nil {
		return nil, err
	}
	found, err := l.store.load(ctx, l.name, "s.id = $1 AND s.token = $2 AND s.lease IS NOT NULL", l.stack, l.token)
	if err == nil && found == nil {
		err = l.fenced()
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

// Salvage implements [state.Lease]. The database vouches for its data, so only records can be missing.
func (l *lease) Salvage(ctx context.Context) (*state.Contents, error) {
	found, err := l.load(ctx)
	if err != nil {
		return nil, err
	}
	return &found.Contents, nil
}

func (l *lease) Reserve(ctx context.Context) error { return l.usable(ctx) }

func (l *lease) Append(ctx context.Context, sequence uint64, record []byte) error {
	if l.resumed && int64(sequence) == l.last {
		return l.whyNot(ctx, true, sequence, record) // the answer to an earlier attempt was lost
	}
	if err := l.follows(ctx, sequence, 1); err != nil {
		return err
	}
	// Once the record is on its way, its outcome is found out.
	ctx = context.WithoutCancel(ctx)
	rows, repeated, err := l.store.db.step(ctx, sql(`
		WITH held AS (UPDATE @stacks SET last = $3::bigint, expires = `+expiry+`
			WHERE id = $1 AND token = $2 AND lease IS NOT NULL AND last = $3::bigint - 1 RETURNING id)
		INSERT INTO @journal SELECT id, $3::bigint, $4 FROM held RETURNING sequence`, l.stack, l.token, int64(sequence), record))
	if errors.Is(err, state.ErrNoSpace) {
		return err // the server has taken nothing
	}
	if err != nil {
		return l.end(err)
	}
	if len(rows) == 0 {
		if err := l.whyNot(ctx, repeated || l.resumed, sequence, record); err != nil {
			return err
		}
	}
	l.last = int64(sequence)
	return nil
}

// whyNot says why a record was not appended: nil if an attempt whose answer was lost has appended it.
func (l *lease) whyNot(ctx context.Context, repeated bool, sequence uint64, record []byte) error {
	rows, err := l.store.db.confirm(ctx, sql(`SELECT s.token = $2 AND s.lease IS NOT NULL, s.last, j.record
		FROM @stacks s LEFT JOIN @journal j ON j.stack = s.id AND j.sequence = $3 WHERE s.id = $1`, l.stack, l.token, int64(sequence)))
	switch {
	case err != nil:
		return l.end(err)
	case len(rows) == 0 || !rows[0].isTrue(0):
		return l.fenced()
	case repeated && rows[0].int(1) == int64(sequence) && rows[0][2] != nil && bytes.Equal(rows[0][2], record):
		return nil
	case l.resumed:
		return state.OutOfSequence(l.name, sequence, uint64(rows[0].int(1))+1)
	}
	return l.end(fmt.Errorf("the backend %s has lost records, or somebody has changed its tables: the journal of the stack %s was at sequence number %d, and is at %d; "+
		"refresh the stack before the next update, and have the server confirm a commit only after its replica has it", l.store.db.place, l.name, l.last, rows[0].int(1)))
}

// follows returns an error if a record with the number, or a checkpoint after the last record, does not
// come next.
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

// change takes a step under the lease, and others under theirs, which are held in one order so that no
// two steps wait for each other.
func (l *lease) change(ctx context.Context, statements []statement, others ...*lease) error {
	all := append([]*lease{l}, others...)
	slices.SortFunc(all, func(a, b *lease) int { return int(a.stack - b.stack) })
	var whole []statement
	for _, one := range all {
		whole = append(whole, sql("SELECT @hold($1, $2, $3)", one.stack, one.token, one.revision))
	}
	for _, one := range all {
		if one.resumed { // a record that another process has appended meanwhile does not make a new revision
			whole = append(whole, sql("SELECT @hold($1, $2, CASE WHEN last = $4 THEN $3 ELSE -1 END) FROM @stacks WHERE id = $1", one.stack, one.token, one.revision, one.last))
		}
	}
	whole = append(whole, statements...)
	for _, one := range all {
		whole = append(whole, sql("UPDATE @stacks SET revision = revision + 1 WHERE id = $1", one.stack))
	}
	ctx = context.WithoutCancel(ctx)
	_, repeated, err := l.store.db.step(ctx, whole...)
	if isCode(err, codeFenced, codeRevision) && repeated {
		err = l.wasTaken(ctx, err)
	}
	switch {
	case err == nil:
		for _, one := range all {
			one.revision++
		}
		return nil
	case isCode(err, codeExists), errors.Is(err, state.ErrNoSpace):
		return err // the server has taken nothing
	case isCode(err, codeRevision) && l.resumed:
		return backend.ErrRaced
	case isCode(err, codeFenced, codeRevision):
		for _, one := range others {
			if one.lost(ctx) {
				return one.fenced()
			}
		}
		return l.fenced()
	}
	for _, one := range all {
		_ = one.end(err) // whether the step was taken is not known
	}
	return err
}

// wasTaken returns nil if an attempt whose answer was lost has taken the step, which was refused again. A step that
// leaves the stack keeps its lease, and Break, which also makes a revision, ends it.
func (l *lease) wasTaken(ctx context.Context, refused error) error {
	rows, err := l.store.db.confirm(ctx, sql("SELECT token = $2 AND revision = $3 AND (lease IS NOT NULL OR NOT present) FROM @stacks WHERE id = $1", l.stack, l.token, l.revision+1))
	if err != nil {
		return err
	}
	if len(rows) == 1 && rows[0].isTrue(0) {
		return nil
	}
	return refused
}

// lost reports whether the lease is known to be lost.
func (l *lease) lost(ctx context.Context) bool {
	rows, err := l.store.db.read(ctx, sql("SELECT id FROM @stacks WHERE id = $1 AND token = $2 AND lease IS NOT NULL", l.stack, l.token))
	return err == nil && len(rows) == 0
}

// backup makes the checkpoint a backup, and removes the oldest ones. With records, the journal's records follow it; the journal
// is empty afterwards.
func (l *lease) backup(records bool) []statement {
	out := []statement{
		sql("INSERT INTO @backups SELECT id, revision, checkpoint, sequence, written FROM @stacks WHERE id = $1", l.stack),
		sql(`DELETE FROM @backups WHERE stack = $1 AND number <= (SELECT number FROM @backups WHERE stack = $1 ORDER BY number DESC OFFSET $2 LIMIT 1)`,
			l.stack, state.KeptBackups),
	}
	if records {
		out = append(out, sql(`INSERT INTO @backup_records SELECT j.stack, s.revision, j.sequence, j.record
			FROM @journal j JOIN @stacks s ON s.id = j.stack WHERE j.stack = $1`, l.stack))
	}
	return append(out, sql("DELETE FROM @journal WHERE stack = $1", l.stack))
}

// replace is a new checkpoint, which holds the effects of all records.
func (l *lease) replace(checkpoint []byte, records bool) []statement {
	return append(l.backup(records), sql("UPDATE @stacks SET checkpoint = $2, sequence = last, written = clock_timestamp(), expires = "+expiry+" WHERE id = $1", l.stack, checkpoint))
}

func (l *lease) Checkpoint(ctx context.Context, sequence uint64, checkpoint []byte) error {
	if err := l.follows(ctx, sequence, 0); err != nil {
		return err
	}
	return l.change(ctx, l.replace(checkpoint, false))
}

func (l *lease) CheckpointBoth(ctx context.Context, mine state.NextCheckpoint, other state.Lease, others state.NextCheckpoint) error {
	o, ok := other.(*lease)
	if !ok || o.store.db != l.store.db || o.stack == l.stack {
		return errOtherStore
	}
	if err := errors.Join(l.follows(ctx, mine.Sequence, 0), o.follows(ctx, others.Sequence, 0)); err != nil {
		return err
	}
	return l.change(ctx, append(l.replace(mine.Checkpoint, false), o.replace(others.Checkpoint, false)...), o)
}

func (l *lease) Reset(ctx context.Context, checkpoint []byte) (aside []string, err error) {
	if err := l.usable(ctx); err != nil {
		return nil, err
	}
	// Records that the table has beyond the last one are of nobody; the next ones come after them.
	highest := sql("UPDATE @stacks SET last = greatest(last, (SELECT max(sequence) FROM @journal WHERE stack = $1)) WHERE id = $1", l.stack)
	number := l.revision
	if err := l.change(ctx, append([]statement{highest}, l.replace(checkpoint, true)...)); err != nil {
		return nil, err
	}
	l.loaded = false
	return []string{fmt.Sprintf("the backup %d of %s in %s", number, l.name, l.store.db.place)}, nil
}

// removal are the statements that leave of the stack its backups and its token.
func (l *lease) removal() []statement {
	return append(l.backup(true), sql("UPDATE @stacks SET present = false, checkpoint = NULL, lease = NULL, holder = NULL, expires = NULL WHERE id = $1", l.stack))
}

// belongings are the tables of data that belongs to a stack.
var belongings = []string{"@history", "@kv", "@runs"}

func (l *lease) Rename(ctx context.Context, to state.StackName, checkpoint []byte) error {
	if err := to.Validate(); err != nil {
		return err
	}
	if err := l.usable(ctx); err != nil {
		return err
	}
	statements := []statement{sql("SELECT @make($1, $2, $3)", to.Project, to.Name, checkpoint)}
	for _, table := range belongings {
		statements = append(statements, sql("UPDATE "+table+" SET stack = (SELECT id FROM @stacks WHERE project = $2 AND name = $3) WHERE stack = $1", l.stack, to.Project, to.Name))
	}
	err := l.change(ctx, append(statements, l.removal()...))
	if isCode(err, codeExists) {
		return state.StackExists(to, l.store.db.place)
	}
	if err == nil {
		_ = l.fenced()
	}
	return err
}

func (l *lease) Remove(ctx context.Context) error {
	if err := l.usable(ctx); err != nil {
		return err
	}
	var statements []statement
	for _, table := range belongings {
		statements = append(statements, sql("DELETE FROM "+table+" WHERE stack = $1", l.stack))
	}
	err := l.change(ctx, append(statements, l.removal()...))
	if err == nil {
		_ = l.fenced()
	}
	return err
}

// Release implements [state.Lease]. If the server cannot be reached, the lease ends by itself.
func (l *lease) Release(ctx context.Context) error {
	l.forget(ctx)
	_ = l.fenced()
	l.beating.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
	defer cancel()
	_, _, err := l.store.db.step(ctx, l.releasing())
	return l.notReleased(err)
}

// drop ends a lease that could not be used. Another attempt takes it again.
func (l *lease) drop(ctx context.Context) error {
	_ = l.fenced()
	_, _, err := l.store.db.step(context.WithoutCancel(ctx), sql("UPDATE @stacks SET lease = NULL, holder = NULL, expires = NULL WHERE id = $1 AND token = $2 AND lease = $3", l.stack, l.token, l.id))
	return l.notReleased(err)
}

// forget forgets the history that was read with the lease, if nobody has asked for it.
func (l *lease) forget(ctx context.Context) {
	_, _ = l.store.updates.Take(backend.WithToken(ctx, l.Token()), l.name)
}

// releasing ends the lease, unless it has ended, and leaves its name so that it is not taken again.
func (l *lease) releasing() statement {
	return sql("UPDATE @stacks SET lease = NULL, holder = $3, expires = NULL WHERE id = $1 AND token = $2 AND lease = $3", l.stack, l.token, l.id)
}

func (l *lease) notReleased(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("releasing the lock of the stack %s, which otherwise ends after %s: %w", l.name, leaseTime, err)
}

// end is the [backend.Backend.End] of the store: all is one step. As for each call alone, it is the token that fences the
// history, and nothing fences the record of the run.
func (s *Store) end(ctx context.Context, of state.Lease, e backend.Ending) (missing []string, err error) {
	l, ok := of.(*lease)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	if err := state.CheckHistory(l.name, e.Updates); err != nil {
		return nil, err
	}
	l.forget(ctx)
	_ = l.fenced()
	l.beating.Wait()
	ctx = context.WithoutCancel(ctx)
	statements := []statement{l.releasing(), touch(e.Modules), stored(e.Modules)}
	if e.Run != "" {
		statements = append(statements, putRun(l.name, e.Run, e.Record)...)
	}
	if len(e.Updates) > 0 {
		statements = append(statements, setHistory(l.name, e.Updates, uint64(l.token)))
	}
	results, repeated, err := l.store.db.send(ctx, ifRepeated, statements)
	if err != nil {
		return nil, l.notReleased(err)
	}
	if len(e.Updates) > 0 && len(last(results)) == 0 {
		var rows []row
		if repeated {
			// An attempt whose answer was lost may have stored it, before another run has taken the lease.
			rows, err = l.store.db.confirm(ctx, sql("SELECT stack FROM @history WHERE stack = $1 AND position($2 IN records) > 0", l.stack, e.Updates[len(e.Updates)-1]))
		}
		if err == nil && len(rows) == 0 {
			err = state.Fenced(l.name)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, digest := range e.Modules {
		if !slices.ContainsFunc(results[2], func(r row) bool { return r.text(0) == digest }) {
			missing = append(missing, digest)
		}
	}
	return missing, nil
}
