package remote

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/printable"
)

// lease is a [state.Lease] that the server keeps.
type lease struct {
	client *client
	name   state.StackName
	// id is the secret that names it to the server.
	id    string
	token uint64
	// next is the sequence number of the next record, if loaded.
	next   uint64
	loaded bool
	// noSpace is why the server can set no space aside.
	noSpace error
	// reserved says that the next record begins an operation.
	reserved bool
	// ended is the error of all further steps.
	ended error

	stop    context.CancelFunc // of beat
	beating sync.WaitGroup
}

// Lease implements [state.Store].
func (s *store) Lease(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, error) {
	l, _, err := s.take(ctx, request{Stack: name, Holder: holder})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// LeaseAndLoad implements [state.Store].
func (s *store) LeaseAndLoad(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, *state.Contents, error) {
	l, out, err := s.take(ctx, request{Stack: name, Holder: holder, Load: true})
	if err != nil {
		return nil, nil, err
	}
	c, err := l.loadedFrom(out)
	if err != nil {
		return nil, nil, errors.Join(err, l.Release(ctx))
	}
	if out.Updates {
		s.updates.Keep(name, l.token, out.Records)
	}
	return l, c, nil
}

func (s *store) take(ctx context.Context, r request) (*lease, *answer, error) {
	name, id := r.Stack, rand.Text()
	r.Lease = id
	out, err := s.of(ctx, "lease", r)
	if err != nil {
		return nil, nil, err
	}
	l := &lease{client: s.client, name: name, id: id, token: out.Token}
	beating, stop := context.WithCancel(s.client.open)
	l.stop = stop
	l.beating.Go(func() { l.beat(beating) })
	return l, out, nil
}

// beat tells the server that the lease is still wanted, until it ends.
func (l *lease) beat(ctx context.Context) {
	ticks := time.NewTicker(beatTime)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if _, err := l.client.call(ctx, "beat", request{Stack: l.name, Lease: l.id}); errors.Is(err, state.ErrFenced) {
			return // the next step says so
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

// do sends a call under the lease.
func (l *lease) do(ctx context.Context, name string, r request) (*answer, error) {
	if err := l.usable(ctx); err != nil {
		return nil, err
	}
	r.Stack, r.Lease, r.Token = l.name, l.id, l.token
	out, err := l.client.of(ctx, name, r)
	if errors.Is(err, state.ErrFenced) {
		return nil, l.end(err)
	}
	return out, err
}

// change sends a call that changes something. Once it is on its way, its outcome is found out; if that cannot be, the
// lease takes no more.
func (l *lease) change(ctx context.Context, name string, r request) (*answer, error) {
	if err := l.usable(ctx); err != nil {
		return nil, err
	}
	out, err := l.do(context.WithoutCancel(ctx), name, r)
	var known *storeError
	switch {
	case err == nil, errors.Is(err, state.ErrSequence), errors.Is(err, state.ErrNoSpace), errors.Is(err, state.ErrStackExists),
		errors.Is(err, state.ErrStackName), l.ended != nil:
	case name == "append", !errors.As(err, &known):
		return nil, l.end(err)
	}
	return out, err
}

func (l *lease) Load(ctx context.Context) (*state.Contents, error) {
	out, err := l.do(ctx, "leased-load", request{})
	if err != nil {
		return nil, err
	}
	return l.loadedFrom(out)
}

// loadedFrom returns the contents of an answer, and expects the next record after them.
func (l *lease) loadedFrom(out *answer) (*state.Contents, error) {
	c, err := out.contents(nil)
	if err != nil {
		return nil, err
	}
	l.loaded, l.next, l.noSpace = true, c.Sequence+uint64(len(c.Records))+1, out.NoSpace.err()
	return c, nil
}

func (l *lease) Salvage(ctx context.Context) (*state.Contents, error) {
	out, err := l.do(ctx, "salvage", request{})
	return out.contents(err)
}

func (l *lease) Reset(ctx context.Context, checkpoint []byte) (aside []string, err error) {
	out, err := l.change(ctx, "reset", request{Content: checkpoint})
	if err != nil {
		return nil, err
	}
	l.loaded = false
	for i := range out.Names {
		out.Names[i] = printable.Line(out.Names[i])
	}
	return out.Names, nil
}

// Reserve implements [state.Lease]. The server sets space aside with each record, which saves a call.
func (l *lease) Reserve(ctx context.Context) error {
	if err := l.usable(ctx); err != nil {
		return err
	}
	l.reserved = true
	return l.noSpace
}

// follows returns an error if a record with the number does not come next.
func (l *lease) follows(sequence, want uint64) error {
	if !l.loaded {
		return errors.New("the state was not loaded")
	}
	if sequence != want {
		return state.OutOfSequence(l.name, sequence, want)
	}
	return nil
}

func (l *lease) Append(ctx context.Context, sequence uint64, record []byte) error {
	begins := l.reserved
	l.reserved = false
	if l.ended != nil && l.client.unrecorded != "" {
		return l.keep(sequence, record, begins)
	}
	if err := l.usable(ctx); err != nil {
		return err
	}
	if err := l.follows(sequence, l.next); err != nil {
		return err
	}
	out, err := l.change(ctx, "append", request{Sequence: sequence, Content: record})
	var space *state.NoSpaceError
	if err == nil || errors.As(err, &space) && space.Saved {
		l.next++
	}
	if err == nil {
		l.noSpace = out.NoSpace.err()
	}
	if l.ended != nil && l.client.unrecorded != "" {
		return l.keep(sequence, record, begins)
	}
	return err
}

// keep keeps a record on this machine that the server takes no more under this lease: what a step has made is known then. No
// further operation begins, and one that was about to has not.
func (l *lease) keep(sequence uint64, record []byte, begins bool) error {
	kept := &keptError{why: l.ended, NoSpaceError: &state.NoSpaceError{File: l.client.unrecorded, Cause: l.ended}}
	if begins {
		return kept
	}
	if err := l.follows(sequence, l.next); err != nil {
		return err
	}
	if err := (Unrecorded{l.name, l.token, sequence, record}).write(l.client.unrecorded); err != nil {
		return errors.Join(l.ended, err)
	}
	l.next++
	kept.Saved = true
	return kept
}

func (l *lease) Checkpoint(ctx context.Context, sequence uint64, checkpoint []byte) error {
	if err := l.usable(ctx); err != nil {
		return err
	}
	if err := l.follows(sequence, l.next-1); err != nil {
		return err
	}
	_, err := l.change(ctx, "checkpoint", request{Sequence: sequence, Content: checkpoint})
	return err
}

func (l *lease) CheckpointBoth(ctx context.Context, mine state.NextCheckpoint, other state.Lease, others state.NextCheckpoint) error {
	second, ok := other.(*lease)
	if !ok || second.client.url != l.client.url || second.name == l.name {
		return errors.New("the two leases are not of two stacks of one store")
	}
	for one, sequence := range map[*lease]uint64{l: mine.Sequence, second: others.Sequence} {
		if err := one.usable(ctx); err != nil {
			return err
		}
		if err := one.follows(sequence, one.next-1); err != nil {
			return err
		}
	}
	_, err := l.change(ctx, "checkpoint-both", request{
		Sequence: mine.Sequence, Content: mine.Checkpoint,
		Other: second.name, OtherLease: second.id, OtherToken: second.token, OtherSequence: others.Sequence, OtherContent: others.Checkpoint,
	})
	if l.ended != nil && !errors.Is(err, state.ErrFenced) {
		_ = second.end(err) // whether the step was taken is not known
	}
	return err
}

func (l *lease) Rename(ctx context.Context, to state.StackName, checkpoint []byte) error {
	if err := to.Validate(); err != nil {
		return err
	}
	_, err := l.change(ctx, "rename", request{Other: to, Content: checkpoint})
	return err
}

func (l *lease) Remove(ctx context.Context) error {
	_, err := l.change(ctx, "remove", request{})
	return err
}

func (l *lease) Release(ctx context.Context) error {
	_, err := l.release(ctx, "release", request{})
	return err
}

// end is the [backend.Backend.End] of the store.
func (s *store) end(ctx context.Context, of state.Lease, e backend.Ending) (missing []string, err error) {
	l, ok := of.(*lease)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	out, err := l.release(ctx, "release-with", request{Records: e.Updates, ID: e.Run, Content: e.Record, Modules: e.Modules})
	if err != nil {
		return nil, err
	}
	if out.Names, err = l.client.names(out.Names, moduleID); err != nil {
		return nil, err
	}
	if lost := out.NoRecord.err(); lost != nil {
		return out.Names, &backend.LostRecordError{Err: lost}
	}
	return out.Names, nil
}

func (l *lease) release(ctx context.Context, call string, r request) (*answer, error) {
	if l.ended == nil {
		l.ended = state.Fenced(l.name)
	}
	// Until the server has all, which may take longer than it keeps the lease of a silent client, there are signs of life.
	defer l.beating.Wait()
	defer l.stop()
	r.Stack, r.Lease, r.Token = l.name, l.id, l.token
	return l.client.of(context.WithoutCancel(ctx), call, r)
}
