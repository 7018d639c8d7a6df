package sealed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
)

// store is a [state.Store].
type store struct{ s *Sealing }

func (t *store) List(ctx context.Context) ([]state.StackName, error) {
	return t.s.inner.State.List(ctx)
}

func (t *store) Break(ctx context.Context, name state.StackName) error {
	return t.s.inner.State.Break(ctx, name)
}

func (t *store) Create(ctx context.Context, name state.StackName, checkpoint []byte) error {
	next := &ring{}
	if t.s.mode == Full {
		var err error
		zero := uint64(0)
		if checkpoint, next, err = t.s.seal(ctx, name, nil, false, &zero, checkpoint); err != nil {
			return err
		}
	}
	err := t.s.inner.State.Create(ctx, name, checkpoint)
	if err == nil {
		t.s.learn(name, next)
	}
	return err
}

func (t *store) Load(ctx context.Context, name state.StackName) (*state.Contents, error) {
	c, err := t.s.inner.State.Load(ctx, name)
	if err != nil {
		return nil, err
	}
	r, err := t.s.open(ctx, name, c, true)
	if err == nil && c.Damage != nil {
		err = c.Damage
	}
	if err != nil {
		return nil, err
	}
	t.s.learn(name, r)
	return c, nil
}

func (t *store) Lease(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, error) {
	l, err := t.s.inner.State.Lease(ctx, name, holder)
	if err != nil {
		return nil, err
	}
	return &lease{Lease: l, s: t.s, name: name}, nil
}

func (t *store) Backups(ctx context.Context, name state.StackName) ([]state.BackupInfo, error) {
	return t.s.inner.State.Backups(ctx, name)
}

func (t *store) Backup(ctx context.Context, name state.StackName, id string) (*state.Contents, error) {
	c, err := t.s.inner.State.Backup(ctx, name, id)
	if err != nil {
		return nil, err
	}
	r, err := t.s.open(ctx, name, c, false)
	if err != nil {
		return nil, err
	}
	if r.sealed && t.s.known(name) == nil {
		t.s.learn(name, r) // the present state is damaged or gone, and its belongings may have these keys
	}
	return c, nil
}

func (t *store) LeaseAndLoad(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, *state.Contents, error) {
	inner, c, err := t.s.inner.State.LeaseAndLoad(ctx, name, holder)
	if err != nil {
		return nil, nil, err
	}
	l := &lease{Lease: inner, s: t.s, name: name}
	if err := l.read(ctx, c); err != nil {
		return nil, nil, errors.Join(err, l.Release(context.WithoutCancel(ctx)))
	}
	return l, c, nil
}

// line is an encrypted record of an update, which is JSON in one line.
type line struct {
	Sealed []byte `json:"huskSealed"`
}

const updatesName = "an update in the history"

func (t *store) History(ctx context.Context, name state.StackName) ([][]byte, error) {
	records, err := t.s.inner.State.History(ctx, name)
	read := make(map[string]sealedUpdate)
	for i, record := range records {
		var l line
		if err != nil || !bytes.Contains(record, []byte(`"`+member+`"`)) || json.Unmarshal(record, &l) != nil || l.Sealed == nil {
			continue
		}
		if records[i], err = t.s.openBlob(ctx, name, updatesName, l.Sealed); errors.Is(err, state.ErrCorrupt) {
			records[i], err = record, nil // as a record that is damaged in clear, it cannot be read and is left out
		} else if err == nil {
			read[string(records[i])] = sealedUpdate{keyIDOf(l.Sealed), record}
		}
	}
	if token := backend.Token(ctx); err == nil && token != 0 {
		t.s.mu.Lock()
		defer t.s.mu.Unlock()
		t.s.updates[name] = knownUpdates{token, read}
	}
	return records, err
}

func (t *store) SetHistory(ctx context.Context, name state.StackName, records [][]byte) error {
	out, err := t.s.sealUpdates(ctx, name, records)
	if err != nil {
		return err
	}
	return t.s.inner.State.SetHistory(ctx, name, out)
}

// knownUpdates are the updates that the holder of a lease with a token has read or encrypted, by their plain text.
type knownUpdates struct {
	token  uint64
	sealed map[string]sealedUpdate
}

// sealedUpdate is an update as it is kept, and the ID of the key that it is encrypted with.
type sealedUpdate struct {
	key  string
	line []byte
}

// sealUpdates returns a history as it is to be kept. An update that its holder has read stays as it was, so that the
// backend can tell it from a new one.
func (s *Sealing) sealUpdates(ctx context.Context, name state.StackName, records [][]byte) ([][]byte, error) {
	if err := state.CheckHistory(name, records); err != nil {
		return nil, err
	}
	s.mu.Lock()
	known := s.updates[name]
	s.mu.Unlock()
	if known.token != backend.Token(ctx) {
		known.sealed = nil
	}
	next := make(map[string]sealedUpdate)
	out := make([][]byte, len(records))
	for i, record := range records {
		text, err := s.sealBlob(ctx, name, updatesName, record)
		if err != nil {
			return nil, err
		}
		if out[i] = text; !bytes.HasPrefix(text, []byte(blobMark)) {
			continue
		}
		if was := known.sealed[string(record)]; was.key == keyIDOf(text) {
			out[i] = was.line
		} else if out[i], err = json.Marshal(line{text}); err != nil {
			return nil, err
		}
		next[string(record)] = sealedUpdate{keyIDOf(text), out[i]}
	}
	if known.sealed != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.updates[name] = knownUpdates{known.token, next}
	}
	return out, nil
}

// keyIDOf returns the ID of the key of data that sealBlob has encrypted and openBlob can decrypt.
func keyIDOf(sealed []byte) string { return string(sealed[len(blobMark):][:idSize]) }

// lease is a [state.Lease].
type lease struct {
	state.Lease
	s    *Sealing
	name state.StackName
	// ring has the keys of the present checkpoint, nil if they are unknown.
	ring *ring
}

// adopt takes the keys of the checkpoint that the lease has read or written.
func (l *lease) adopt(r *ring) {
	l.ring = r
	l.s.learn(l.name, r)
}

func (l *lease) Load(ctx context.Context) (*state.Contents, error) {
	c, err := l.Lease.Load(ctx)
	if err == nil {
		err = l.read(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// read decrypts what the lease has loaded.
func (l *lease) read(ctx context.Context, c *state.Contents) error {
	r, err := l.s.open(ctx, l.name, c, true)
	if err == nil && c.Damage != nil {
		err = c.Damage
	}
	if err != nil {
		l.ring = nil
		return err
	}
	l.adopt(r)
	return nil
}

func (l *lease) Salvage(ctx context.Context) (*state.Contents, error) {
	c, err := l.Lease.Salvage(ctx)
	if err != nil {
		return nil, err
	}
	r, err := l.s.open(ctx, l.name, c, true)
	if err == nil && !r.sealed && c.CheckpointDamage != nil {
		r = nil // whether the state was encrypted is not known
	}
	var damage *state.CorruptError
	switch {
	case errors.As(err, &damage):
		if c.CheckpointDamage == nil {
			c.CheckpointDamage = damage
		}
		var lost []state.LostRecord
		for i, record := range c.Records {
			if r == nil {
				record = nil // it is encrypted with a key that is gone
			}
			lost = append(lost, state.LostRecord{Sequence: c.Sequence + uint64(i) + 1, Record: record})
		}
		c.Records, c.Lost = nil, append(lost, c.Lost...)
	case err != nil:
		return nil, err
	}
	if r != nil {
		l.adopt(r)
	}
	return c, nil
}

func (l *lease) Append(ctx context.Context, sequence uint64, record []byte) error {
	if l.ring != nil && l.ring.sealed {
		record = l.ring.keys[l.ring.current].seal(record, recordData(l.name, l.ring.mark, sequence))
	}
	return l.Lease.Append(ctx, sequence, record)
}

// next returns a checkpoint as it is to be kept, and the ring that it names. belongings says that what belongs to the
// stack may be in clear, if it was until now.
func (l *lease) next(ctx context.Context, name state.StackName, sequence *uint64, checkpoint []byte, belongings bool) ([]byte, *ring, error) {
	if !l.s.seals(l.name) {
		return checkpoint, &ring{}, nil
	}
	l.s.mu.Lock()
	settled := l.s.settled[l.name]
	l.s.mu.Unlock()
	partly := belongings && !settled && (l.ring == nil || !l.ring.sealed || l.ring.partly)
	return l.s.seal(ctx, name, l.ring, partly, sequence, checkpoint)
}

func (l *lease) Checkpoint(ctx context.Context, sequence uint64, checkpoint []byte) error {
	text, r, err := l.next(ctx, l.name, &sequence, checkpoint, true)
	if err != nil {
		return err
	}
	if err := l.Lease.Checkpoint(ctx, sequence, text); err != nil {
		return err
	}
	l.adopt(r)
	return nil
}

func (l *lease) CheckpointBoth(ctx context.Context, mine state.NextCheckpoint, other state.Lease, others state.NextCheckpoint) error {
	o, ok := other.(*lease)
	if !ok || o.s != l.s {
		return errors.New("the two leases are not of two stacks of one store")
	}
	var first, second *ring
	var err error
	if mine.Checkpoint, first, err = l.next(ctx, l.name, &mine.Sequence, mine.Checkpoint, true); err != nil {
		return err
	}
	if others.Checkpoint, second, err = o.next(ctx, o.name, &others.Sequence, others.Checkpoint, true); err != nil {
		return err
	}
	if err := l.Lease.CheckpointBoth(ctx, mine, o.Lease, others); err != nil {
		return err
	}
	l.adopt(first)
	o.adopt(second)
	return nil
}

func (l *lease) Reset(ctx context.Context, checkpoint []byte) ([]string, error) {
	if l.ring == nil { // what belongs to the stack is encrypted with its keys
		if _, err := l.Salvage(ctx); err != nil && !errors.Is(err, state.ErrCorrupt) {
			return nil, err
		}
	}
	if l.ring == nil {
		l.ring = l.s.known(l.name)
	}
	text, r, err := l.next(ctx, l.name, nil, checkpoint, true)
	if err != nil {
		return nil, err
	}
	aside, err := l.Lease.Reset(ctx, text)
	if err == nil {
		l.adopt(r)
	}
	return aside, err
}

func (l *lease) Rename(ctx context.Context, to state.StackName, checkpoint []byte) error {
	zero := uint64(0)
	text, r, err := l.next(ctx, to, &zero, checkpoint, true)
	if err != nil {
		return err
	}
	if err := l.Lease.Rename(ctx, to, text); err != nil {
		return err
	}
	l.s.learn(to, r)
	l.forget()
	return nil
}

func (l *lease) Remove(ctx context.Context) error {
	err := l.Lease.Remove(ctx)
	if err == nil {
		l.forget()
	}
	return err
}

// end is the [backend.Backend.End] of a backend that has one.
func (s *Sealing) end(ctx context.Context, of state.Lease, e backend.Ending) (missing []string, err error) {
	l, ok := of.(*lease)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	if e.Updates, err = s.sealUpdates(backend.WithToken(ctx, l.Token()), l.name, e.Updates); err == nil && e.Run != "" {
		e.Record, err = s.sealBlob(ctx, l.name, runName(e.Run), e.Record)
	}
	if err != nil {
		return nil, err
	}
	return s.inner.End(ctx, l.Lease, e)
}

// forget forgets a stack that has gone.
func (l *lease) forget() {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	delete(l.s.stacks, l.name)
	delete(l.s.opening, l.name)
	delete(l.s.settled, l.name)
	delete(l.s.updates, l.name)
}

// kv is a [backend.KV].
type kv struct{ s *Sealing }

func kvName(provider string) string { return "what the provider " + provider + " stores" }

func (k kv) List(ctx context.Context, stack state.StackName) ([]string, error) {
	return k.s.inner.KV.List(ctx, stack)
}

func (k kv) Load(ctx context.Context, stack state.StackName, provider string) ([]byte, string, error) {
	content, version, err := k.s.inner.KV.Load(ctx, stack, provider)
	if err == nil && content != nil {
		content, err = k.s.openBlob(ctx, stack, kvName(provider), content)
	}
	return content, version, err
}

func (k kv) Save(ctx context.Context, stack state.StackName, provider string, content []byte, version string) (string, error) {
	sealed, err := k.s.sealBlob(ctx, stack, kvName(provider), content)
	if err != nil {
		return "", err
	}
	return k.s.inner.KV.Save(ctx, stack, provider, sealed, version)
}

// history is a [backend.History].
type history struct{ s *Sealing }

func runName(id string) string { return "the record of the run " + id }

func (h history) List(ctx context.Context, stack state.StackName) ([]string, error) {
	return h.s.inner.History.List(ctx, stack)
}

func (h history) Get(ctx context.Context, stack state.StackName, id string) ([]byte, error) {
	content, err := h.s.inner.History.Get(ctx, stack, id)
	if err != nil {
		return nil, err
	}
	return h.s.openBlob(ctx, stack, runName(id), content)
}

func (h history) Put(ctx context.Context, stack state.StackName, id string, content []byte) error {
	sealed, err := h.s.sealBlob(ctx, stack, runName(id), content)
	if err != nil {
		return err
	}
	return h.s.inner.History.Put(ctx, stack, id, sealed)
}
