package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
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
	// id tells the lease from all others, and names its journal.
	id    string
	token uint64

	// mu guards the head, which signs of life write as well.
	mu   sync.Mutex
	head *current

	// last is the sequence number of the last record, and slot the number of its object.
	last, slot uint64
	// loaded says that last is known.
	loaded bool
	// ended is the error of all further steps.
	ended error
	// unreleased says that Release has failed to end the lease, which it tries again then.
	unreleased bool

	stop    context.CancelFunc // of beat
	beating sync.WaitGroup
}

// beat shows that the holder is alive. That only keeps others from taking the lease.
func (l *lease) beat(ctx context.Context) {
	ticks := time.NewTicker(beat)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		l.mu.Lock()
		err := l.store.write(ctx, l.head)
		l.mu.Unlock()
		if errors.Is(err, errCondition) {
			return // it was taken away, and the next step says so
		}
	}
}

func (l *lease) Token() uint64 { return l.token }

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

func (l *lease) load(ctx context.Context) (*state.Contents, error) {
	if err := l.usable(ctx); err != nil {
		return nil, err
	}
	c, err := l.store.read(ctx, l.name)
	if err != nil {
		return nil, err
	}
	if !c.heldBy(l) {
		return nil, l.fenced()
	}
	return l.store.load(ctx, c)
}

func (c *current) heldBy(l *lease) bool {
	return c.Body.Present && c.Body.Lease != nil && c.Body.Lease.ID == l.id
}

func (l *lease) Load(ctx context.Context) (*state.Contents, error) {
	out, err := l.load(ctx)
	if err != nil {
		return nil, err
	}
	if out.Damage != nil {
		return nil, out.Damage
	}
	j := l.journal()
	slots, err := l.store.slots(ctx, l.head.Body.directory(), j)
	if err != nil {
		return nil, err
	}
	l.slot = j.Slot
	if n := len(slots); n > 0 {
		l.slot = slots[n-1]
		end, err := l.store.b.get(ctx, slotKey(l.head.Body.directory(), l.id, l.slot))
		if err != nil {
			return nil, err
		}
		if bytes.Equal(end.content, []byte{sealMark}) {
			return nil, l.fenced() // a record behind the seal would be lost
		}
	}
	l.last, l.loaded = out.Sequence+uint64(len(out.Records)), true
	return out, nil
}

// journal returns the lease's journal.
func (l *lease) journal() journal {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.head.Body.Journals, func(j journal) bool { return j.Lease == l.id })
	if i < 0 {
		return journal{Lease: l.id}
	}
	return l.head.Body.Journals[i]
}

// Salvage implements [state.Lease].
func (l *lease) Salvage(ctx context.Context) (*state.Contents, error) { return l.load(ctx) }

func (l *lease) Reserve(ctx context.Context) error { return l.usable(ctx) }

func (l *lease) follows(ctx context.Context, sequence, step uint64) error {
	if err := l.usable(ctx); err != nil {
		return err
	}
	if !l.loaded {
		return errors.New("the state was not loaded")
	}
	if want := l.last + step; sequence != want {
		return state.OutOfSequence(l.name, sequence, want)
	}
	return nil
}

func (l *lease) Append(ctx context.Context, sequence uint64, record []byte) error {
	if err := l.follows(ctx, sequence, 1); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // once the record is on its way, its outcome is found out
	content := append([]byte{recordMark}, record...)
	key := slotKey(l.head.Body.directory(), l.id, l.slot+1)
	_, err := l.store.b.put(ctx, key, content, ifAbsent)
	if isFull := errors.Is(err, state.ErrNoSpace); isFull || errors.Is(err, errCondition) {
		is, readErr := l.store.b.get(ctx, key)
		switch {
		case isFull && errors.Is(readErr, fs.ErrNotExist):
			return err // the server has taken nothing
		case readErr != nil:
			return l.end(readErr)
		case !bytes.Equal(is.content, content):
			return l.fenced() // it is a seal
		}
		err = nil // an attempt whose answer was lost, or a proxy, has written it: nobody else writes to this journal
	}
	if err != nil {
		return l.end(err)
	}
	l.last, l.slot = sequence, l.slot+1
	return nil
}

// change takes a step that changes the head, and returns ErrFenced if the lease was lost.
func (l *lease) change(ctx context.Context, do func(*body) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := *l.head
	if err := do(&next.Body); err != nil {
		return err
	}
	err := l.store.write(ctx, &next)
	if errors.Is(err, errCondition) {
		return l.fenced()
	}
	if errors.Is(err, state.ErrNoSpace) {
		return err // the server has taken nothing
	}
	if err != nil {
		return l.end(err) // whether the step was taken is not known
	}
	l.head = &next
	return nil
}

// replace is a step that makes a checkpoint, which is written, the current one.
func (l *lease) replace(b *body, key string, sequence uint64, records bool) (gone []string) {
	gone = b.keep(records)
	b.Checkpoint, b.Sequence, b.Written = key, sequence, time.Now().UTC()
	b.Journals = []journal{{Lease: l.id, Slot: l.slot}}
	return gone
}

// clean removes objects that nobody needs. Objects that stay because of an error only take space.
func (l *lease) clean(ctx context.Context, keys []string, journals []journal) {
	for _, j := range journals {
		slots, err := l.store.slots(ctx, l.head.Body.directory(), j)
		if err != nil {
			continue
		}
		if j.Lease == l.id {
			slots = slices.DeleteFunc(slots, func(slot uint64) bool { return slot > l.slot })
		} else if len(slots) > 0 && !j.Closed {
			slots = slots[:len(slots)-1] // the seal stays, because its writer may come back
		}
		for _, slot := range slots {
			keys = append(keys, slotKey(l.head.Body.directory(), j.Lease, slot))
		}
	}
	_ = each(len(keys), func(i int) error { return l.store.b.remove(ctx, keys[i]) })
}

func (l *lease) Checkpoint(ctx context.Context, sequence uint64, checkpoint []byte) error {
	if err := l.follows(ctx, sequence, 0); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	journals := l.head.Body.Journals
	key, err := l.store.putCheckpoint(ctx, &l.head.Body, checkpoint)
	if err != nil {
		return err
	}
	var gone []string
	if err := l.change(ctx, func(b *body) error { gone = l.replace(b, key, sequence, false); return nil }); err != nil {
		return err
	}
	l.clean(ctx, gone, journals)
	return nil
}

func (l *lease) Reset(ctx context.Context, checkpoint []byte) ([]string, error) {
	if err := l.usable(ctx); err != nil {
		return nil, err
	}
	out, err := l.store.load(ctx, l.head)
	if err != nil && !errors.Is(err, state.ErrCorrupt) {
		return nil, err
	}
	sequence := l.head.Body.Sequence
	if out != nil {
		sequence += uint64(len(out.Records) + len(out.Lost))
	}
	slots, err := l.store.slots(ctx, l.head.Body.directory(), l.journal())
	if err != nil {
		return nil, err
	}
	l.slot = l.journal().Slot
	if n := len(slots); n > 0 {
		l.slot = slots[n-1]
	}
	key, err := l.store.putCheckpoint(ctx, &l.head.Body, checkpoint)
	if err != nil {
		return nil, err
	}
	err = l.change(context.WithoutCancel(ctx), func(b *body) error { l.replace(b, key, sequence, true); return nil })
	if err != nil {
		return nil, err
	}
	l.loaded = false
	backups := l.head.Body.Backups
	return []string{fmt.Sprintf("the backup %s of %s in %s", backups[len(backups)-1].ID, l.name, l.store.b.place)}, nil
}

// both takes a step that changes the heads of two stacks, both or none. other is read, and free or leased
// by this process.
func (s *Store) both(ctx context.Context, first, second *current, mine, others body) error {
	intent := rand.Text()
	was := [2]body{first.Body, second.Body}
	abort := func(err error) error {
		_, putErr := s.b.put(ctx, intentsDir+intent, []byte(aborted), ifAbsent)
		if putErr != nil && !errors.Is(putErr, errCondition) {
			return errors.Join(err, putErr)
		}
		first.Body, first.Pending = was[0], nil
		_ = s.write(ctx, first) // if it fails, the next holder does it
		return err
	}
	first.Pending = &pending{intent, mine}
	if err := s.write(ctx, first); err != nil {
		first.Pending = nil
		return err
	}
	second.Pending = &pending{intent, others}
	if err := s.write(ctx, second); err != nil {
		second.Pending = nil
		return abort(err)
	}
	_, err := s.b.put(ctx, intentsDir+intent, []byte(committed), ifAbsent)
	if errors.Is(err, errCondition) {
		is, readErr := s.b.get(ctx, intentsDir+intent)
		if err = readErr; err == nil && string(is.content) != committed {
			first.Pending, second.Pending = nil, nil
			return errCondition // another has taken a lease away
		}
	}
	if err != nil {
		return err
	}
	// The step is taken. The rest only makes it visible without the intent.
	first.Body, first.Pending = mine, nil
	second.Body, second.Pending = others, nil
	if s.write(ctx, first) == nil && s.write(ctx, second) == nil {
		_ = s.b.remove(ctx, intentsDir+intent)
		return nil
	}
	return errTaken
}

// errTaken says that a step of two heads was taken, and that their versions are not known.
var errTaken = errors.New("the step was taken, and the lock may be lost: the next command finds it done")

func (l *lease) CheckpointBoth(ctx context.Context, mine state.NextCheckpoint, other state.Lease, others state.NextCheckpoint) error {
	o, ok := other.(*lease)
	if !ok || o.store.b != l.store.b || o.name == l.name {
		return errors.New("the two leases are not of two stacks of one store")
	}
	if err := errors.Join(l.follows(ctx, mine.Sequence, 0), o.follows(ctx, others.Sequence, 0)); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	first, second := l, o
	if o.name.String() < l.name.String() {
		first, second, mine, others = o, l, others, mine
	}
	first.mu.Lock()
	defer first.mu.Unlock()
	second.mu.Lock()
	defer second.mu.Unlock()
	var next [2]body
	for i, x := range []*lease{first, second} {
		n := []state.NextCheckpoint{mine, others}[i]
		key, err := l.store.putCheckpoint(ctx, &x.head.Body, n.Checkpoint)
		if err != nil {
			return err
		}
		next[i] = x.head.Body
		x.replace(&next[i], key, n.Sequence, false)
	}
	err := l.store.both(ctx, first.head, second.head, next[0], next[1])
	if err == nil {
		return nil
	}
	fenced := errors.Is(err, errCondition)
	for _, x := range []*lease{first, second} {
		c, readErr := l.store.read(ctx, x.name)
		switch {
		case readErr == nil && fenced && c.heldBy(x) && c.Pending == nil:
			x.head = c // nothing has changed
		case fenced:
			err = x.fenced()
		default:
			_ = x.end(err) // whether the step was taken is not known
		}
	}
	if errors.Is(err, errCondition) {
		err = errors.New("another command has used the stacks meanwhile: run this one again")
	}
	return err
}

// removed returns the rest of a removed stack: its backups and its token.
func (b body) removed() body {
	b.keep(true)
	return body{ID: b.ID, Token: b.Token, Backups: b.Backups, Changes: b.Changes}
}

func (l *lease) Rename(ctx context.Context, to state.StackName, checkpoint []byte) error {
	if err := to.Validate(); err != nil {
		return err
	}
	if err := l.usable(ctx); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	target, err := l.store.read(ctx, to)
	if err == nil {
		target, err = l.store.settle(ctx, target)
	}
	if err != nil {
		return err
	}
	if target.Body.Present {
		return state.StackExists(to, l.store.b.place)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key, err := l.store.putCheckpoint(ctx, &l.head.Body, checkpoint)
	if err != nil {
		return err
	}
	renamed := *target
	renamed.make(l.head.Body.ID, key)
	err = l.store.both(ctx, l.head, target, l.head.Body.removed(), renamed.Body)
	switch {
	case err == nil, errors.Is(err, errTaken):
		l.store.forget(l.name)
		_ = l.fenced()
		return nil
	case errors.Is(err, errCondition):
		c, readErr := l.store.read(ctx, l.name)
		if readErr == nil && c.heldBy(l) && c.Pending == nil {
			l.head = c
			return state.StackExists(to, l.store.b.place) // somebody has made it meanwhile
		}
		return l.fenced()
	}
	return l.end(err)
}

func (l *lease) Remove(ctx context.Context) error {
	if err := l.usable(ctx); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	dir := l.head.Body.directory()
	if err := l.change(ctx, func(b *body) error { *b = b.removed(); return nil }); err != nil {
		return err
	}
	l.store.forget(l.name)
	_ = l.fenced()
	keys := []string{dir + historyFile}
	for _, part := range []string{kvDir, runsDir} {
		found, err := l.store.b.list(ctx, dir+part)
		if err != nil {
			return nil // a new stack of the name has a directory of its own
		}
		for _, key := range found {
			keys = append(keys, dir+part+key)
		}
	}
	_ = each(len(keys), func(i int) error { return l.store.b.remove(ctx, keys[i]) })
	return nil
}

// Release implements [state.Lease]. If the server cannot be reached, the lease ends by itself.
func (l *lease) Release(ctx context.Context) error {
	_, err := l.release(ctx)
	return err
}

// release is Release, and reports whether the lease is known to have been lost.
func (l *lease) release(ctx context.Context) (lost bool, err error) {
	wasEnded := l.ended
	_ = l.fenced()
	l.beating.Wait()
	if errors.Is(wasEnded, state.ErrFenced) && !l.unreleased {
		return true, nil
	}
	defer func() { l.unreleased = err != nil }()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
	defer cancel()
	isOthers := false // if the lease is not in the head, another has taken it away
	if wasEnded == nil && l.head.Pending == nil {
		// The head is as this lease has left it, unless the lease was taken away, or an attempt of a sign of life came late.
		next := *l.head
		next.Body.release(l, true)
		err := l.store.write(ctx, &next)
		if err == nil {
			l.store.b.remember(&next)
			return false, nil
		}
		isOthers = errors.Is(err, errCondition) && !errors.Is(err, errMaybeWritten)
	}
	c, err := l.store.read(ctx, l.name)
	if err == nil && c.heldBy(l) {
		c, err = l.store.settle(ctx, c)
	}
	switch {
	case err != nil:
	case c.heldBy(l):
		c.Body.release(l, wasEnded == nil)
		err = l.store.write(ctx, c)
	default:
		// Whoever releases a lease closes its journal, and whoever takes it away does not. The next checkpoint replaces both.
		lost = isOthers || slices.ContainsFunc(c.Body.Journals, func(j journal) bool { return j.Lease == l.id && !j.Closed })
	}
	if errors.Is(err, errCondition) {
		return true, nil
	}
	if err != nil {
		err = fmt.Errorf("releasing the lock of the stack %s, which otherwise ends after %s: %w", l.name, leaseTime, err)
	}
	return lost, err
}

// spareRecords is how many surplus records of runs may gather before end removes the oldest, which takes a round trip.
const spareRecords = 10

// end is the [backend.Backend.End] of the store. It writes all at the same time: the update is added to the history, whatever
// the next holder has made of that, and nothing fences the record of the run.
func (s *Store) end(ctx context.Context, of state.Lease, e backend.Ending) (missing []string, err error) {
	l, ok := of.(*lease)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	h, held := l.store.heldBy(l.name, l.token)
	if l.ended != nil || !held || len(e.Updates) > 0 && !h.read {
		return nil, errors.ErrUnsupported
	}
	if err := state.CheckHistory(l.name, e.Updates); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	parts := []func() error{func() error {
		lost, err := l.release(ctx)
		if lost {
			err = errors.Join(err, state.Fenced(l.name))
		}
		return err
	}}
	if len(e.Updates) > 0 {
		added := e.Updates[len(e.Updates)-1:]
		parts = append(parts, func() error { return l.store.addUpdates(ctx, h, e.Updates, added) })
	}
	if e.Run != "" {
		parts = append(parts, func() error { return l.store.putRun(ctx, h.directory+runsDir, e.Run, e.Record, spareRecords) })
	}
	has := make([]bool, len(e.Modules))
	for i, digest := range e.Modules {
		parts = append(parts, func() (err error) {
			has[i], err = modules{l.store.b}.Has(ctx, digest)
			return err
		})
	}
	if err := each(len(parts), func(i int) error { return parts[i]() }); err != nil {
		return nil, err // later calls need the data read
	}
	l.store.drop(l.name, l.token)
	for i, digest := range e.Modules {
		if !has[i] {
			missing = append(missing, digest)
		}
	}
	return missing, nil
}

// release ends a lease in a body. closed says that no record of it is on its way: after an error, one may be. Without records,
// its journal is of no use then.
func (b *body) release(l *lease, closed bool) {
	b.Lease = nil
	b.Journals = slices.Clone(b.Journals)
	if !closed {
		return
	}
	b.Journals = slices.DeleteFunc(b.Journals, func(j journal) bool { return j.Lease == l.id && j.Slot == l.slot })
	for i, j := range b.Journals {
		if j.Lease == l.id {
			b.Journals[i].Closed, b.Journals[i].End = true, l.slot
		}
	}
}
