// Package sealed encrypts all that a backend keeps of a stack: checkpoints, the records of the journal, backups, the
// values of providers, and the records of runs and updates.
//
// A stack has data keys, which its secrets provider encrypts and which its checkpoint names. A checkpoint has a random
// mark, and each record of the journal is bound to the stack, to the mark of the checkpoint that it follows, and to its
// sequence number, so that none can take the place of another. Names of stacks, sequence numbers, times, sizes, holders
// of leases, and kept modules stay in clear.
package sealed

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
)

// Mode says what of a stack is encrypted.
type Mode string

// The modes.
const (
	// Keep leaves each stack as it is, and new ones in clear but for their secrets.
	Keep Mode = ""
	// Full encrypts all.
	Full Mode = "full"
	// Secrets encrypts only secrets.
	Secrets Mode = "secrets"
)

// Sealing encrypts and decrypts the data of a backend. It reads encrypted data in any mode. It is safe for concurrent use.
type Sealing struct {
	inner *backend.Backend
	keys  state.KeySource
	mode  Mode

	mu        sync.Mutex
	stacks    map[state.StackName]*ring
	providers map[string]secrets.Provider
	// opening are the stacks that stop being encrypted, and settled those all of whose belongings are encrypted.
	opening, settled map[state.StackName]bool
	updates          map[state.StackName]knownUpdates
}

// New returns the sealing of a backend. keys open and make secrets providers.
func New(b *backend.Backend, keys state.KeySource, mode Mode) *Sealing {
	return &Sealing{
		inner: b, keys: keys, mode: mode, stacks: make(map[state.StackName]*ring), providers: make(map[string]secrets.Provider),
		opening: make(map[state.StackName]bool), settled: make(map[state.StackName]bool), updates: make(map[state.StackName]knownUpdates),
	}
}

// Backend returns the backend whose content is encrypted and decrypted.
func (s *Sealing) Backend() *backend.Backend {
	b := *s.inner
	b.State, b.KV, b.History = &store{s}, kv{s}, history{s}
	if s.inner.End != nil {
		b.End = s.end
	}
	return &b
}

// Seals reports whether the data of a stack is encrypted, or will be from the next lease on. It needs no key.
func (s *Sealing) Seals(ctx context.Context, name state.StackName) (bool, error) {
	if s.mode == Full {
		return true, nil
	}
	return s.IsSealed(ctx, name)
}

// IsSealed reports whether the state of a stack is encrypted. It needs no key.
func (s *Sealing) IsSealed(ctx context.Context, name state.StackName) (bool, error) {
	if r := s.known(name); r != nil {
		return r.sealed, nil
	}
	c, err := s.inner.State.Load(ctx, name)
	if errors.Is(err, state.ErrStackNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	e := parse(c.Checkpoint)
	if e == nil {
		s.learn(name, &ring{})
	}
	return e != nil, nil
}

// Change brings a leased stack, and the data that belongs to it, to the encryption that the mode wants. It reports whether it
// changed anything. If it is interrupted, it can be called again.
func (s *Sealing) Change(ctx context.Context, st *state.Stack) (changed bool, err error) {
	name := st.Name()
	r := s.known(name)
	switch {
	case r == nil:
		return false, fmt.Errorf("the state of the stack %s was not read", name)
	case s.mode == Full && (!r.sealed || r.partly):
		if !r.sealed {
			if err := st.Replace(ctx, st.Snapshot()); err != nil {
				return false, err
			}
		}
		if err := s.rewrite(ctx, name); err != nil {
			return false, err
		}
		s.mark(s.settled, name)
	case s.mode == Secrets && r.sealed:
		if err := s.rewrite(ctx, name); err != nil {
			return false, err
		}
		s.mark(s.opening, name)
	default:
		return false, nil
	}
	return true, st.Replace(ctx, st.Snapshot())
}

func (s *Sealing) mark(set map[state.StackName]bool, name state.StackName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set[name] = true
}

// rewrite writes again what belongs to a stack.
func (s *Sealing) rewrite(ctx context.Context, name state.StackName) error {
	b := s.Backend()
	providers, err := b.KV.List(ctx, name)
	if err != nil {
		return err
	}
	for _, provider := range providers {
		content, version, err := b.KV.Load(ctx, name, provider)
		if err == nil {
			_, err = b.KV.Save(ctx, name, provider, content, version)
		}
		if err != nil {
			return err
		}
	}
	runs, err := b.History.List(ctx, name)
	if err != nil {
		return err
	}
	for _, id := range runs {
		content, err := b.History.Get(ctx, name, id)
		if err == nil {
			err = b.History.Put(ctx, name, id, content)
		}
		if err != nil {
			return err
		}
	}
	updates, err := b.State.History(ctx, name)
	if err != nil {
		return err
	}
	return b.State.SetHistory(ctx, name, updates)
}

// Use has secrets providers be opened by the keys, but for the open one, which is to encrypt from now on.
func (s *Sealing) Use(keys state.KeySource, next secrets.Provider) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = keys
	s.providers = map[string]secrets.Provider{named{next.Type(), next.State()}.identity(): next}
}

// known returns the keys that were last read of a stack, nil if none were.
func (s *Sealing) known(name state.StackName) *ring {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stacks[name]
}

func (s *Sealing) learn(name state.StackName, r *ring) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stacks[name] = r
}

// provider opens a secrets provider once: deriving its key takes a while.
func (s *Sealing) provider(ctx context.Context, named named) (secrets.Provider, error) {
	s.mu.Lock()
	p := s.providers[named.identity()]
	s.mu.Unlock()
	if p != nil {
		return p, nil
	}
	s.mu.Lock()
	keys := s.keys
	s.mu.Unlock()
	p, err := keys.Open(ctx, named.Type, named.State)
	if err == nil {
		s.mu.Lock()
		s.providers[named.identity()] = p
		s.mu.Unlock()
	}
	return p, err
}

// seals reports whether a next checkpoint of a stack is to be encrypted.
func (s *Sealing) seals(name state.StackName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.stacks[name]
	return s.mode == Full || r != nil && r.sealed && !s.opening[name]
}

// seal encrypts a checkpoint of a stack that has the keys of a ring, nil for none, and returns the ring that it names.
func (s *Sealing) seal(ctx context.Context, name state.StackName, from *ring, partly bool, sequence *uint64, checkpoint []byte) ([]byte, *ring, error) {
	next := from.copy()
	provider, err := s.namedBy(ctx, checkpoint, next)
	if err != nil {
		return nil, nil, fmt.Errorf("encrypting the state of the stack %s: %w", name, err)
	}
	is := named{provider.Type(), provider.State()}
	if next.current == "" || next.provider.identity() != is.identity() {
		next.add(newKey())
		next.wrapped = make(map[string]string)
	}
	for id, k := range next.keys {
		if next.wrapped[id] != "" {
			continue
		}
		if next.wrapped[id], err = provider.Encrypt(ctx, base64.StdEncoding.EncodeToString(k.raw)); err != nil {
			return nil, nil, fmt.Errorf("encrypting the state of the stack %s: %w", name, err)
		}
	}
	next.sealed, next.partly, next.provider, next.mark = true, partly, is, newMark()
	e := envelope{Format: format, Provider: is, Key: next.current, Keys: next.wrapped, Mark: next.mark, Sequence: sequence, Partly: partly}
	text, err := e.seal(name, next.keys[next.current], checkpoint)
	return text, next, err
}

// namedBy returns the secrets provider that a checkpoint names, or else the ring's, or else a new one.
func (s *Sealing) namedBy(ctx context.Context, checkpoint []byte, r *ring) (secrets.Provider, error) {
	if n, ok := providerOf(checkpoint); ok {
		return s.provider(ctx, n)
	}
	if r.provider.Type != "" {
		return s.provider(ctx, r.provider)
	}
	return s.keys.New(ctx)
}

// unwrap decrypts the keys that a checkpoint names.
func (s *Sealing) unwrap(ctx context.Context, e *envelope) (*ring, error) {
	if e.Format > format {
		return nil, fmt.Errorf("%w: the encryption of the state has version %d, and this husk reads %d: use a newer husk", state.ErrUnsupported, e.Format, format)
	}
	p, err := s.provider(ctx, e.Provider)
	if err != nil {
		return nil, err
	}
	r := &ring{sealed: true, partly: e.Partly, provider: e.Provider, mark: e.Mark, current: e.Key, wrapped: e.Keys, keys: make(map[string]key)}
	for id, wrapped := range e.Keys {
		text, err := p.Decrypt(ctx, wrapped)
		if err != nil {
			return nil, err
		}
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(raw) != keySize {
			return nil, fmt.Errorf("a key of the state is damaged: %w", secrets.ErrCiphertext)
		}
		if k := keyOf(raw); k.id == id {
			r.keys[id] = k
		}
	}
	if _, ok := r.keys[r.current]; !ok {
		return nil, fmt.Errorf("the state lacks its key: %w", secrets.ErrCiphertext)
	}
	return r, nil
}

// notDamage are the reasons for which a state cannot be decrypted although it may be whole.
var notDamage = []error{secrets.ErrWrongKey, secrets.ErrNoKey, secrets.ErrUnknownProvider, state.ErrUnsupported, context.Canceled, context.DeadlineExceeded}

// open decrypts a stack's contents in place, and returns its keys. If the checkpoint was altered, the error is ErrCorrupt, and
// the keys are returned if they are intact. Altered records are in Damage.
func (s *Sealing) open(ctx context.Context, name state.StackName, c *state.Contents, isPresent bool) (*ring, error) {
	e := parse(c.Checkpoint)
	if e == nil {
		return &ring{}, nil
	}
	corrupt := func(reason string, cause error) error {
		return &state.CorruptError{File: c.CheckpointFile, Offset: -1, Reason: reason, Remedy: c.CheckpointRemedy, Cause: cause}
	}
	r, err := s.unwrap(ctx, e)
	for _, other := range notDamage {
		if errors.Is(err, other) {
			return nil, fmt.Errorf("the state of the stack %s is encrypted: %w", name, err)
		}
	}
	switch {
	case errors.Is(err, secrets.ErrCiphertext):
		return nil, corrupt("its keys cannot be decrypted", err)
	case err != nil:
		return nil, fmt.Errorf("the state of the stack %s is encrypted: %w", name, err)
	}
	s.openRecords(name, c, r)
	text, err := e.open(name, r.keys[r.current])
	if err != nil {
		return r, corrupt("it was altered, or belongs to another stack", nil)
	}
	if isPresent && e.Sequence != nil && *e.Sequence != c.Sequence {
		return r, corrupt(fmt.Sprintf("it was written with the sequence number %d, and is in the place of number %d", *e.Sequence, c.Sequence), nil)
	}
	c.Checkpoint = text
	return r, nil
}

// openRecords decrypts the records that follow on a checkpoint with a mark. From the first that was altered on, they are
// lost.
func (s *Sealing) openRecords(name state.StackName, c *state.Contents, r *ring) {
	var lost []state.LostRecord
	k := r.keys[r.current]
	records := c.Records
	for i, record := range records {
		sequence := c.Sequence + uint64(i) + 1
		text, err := k.open(record, recordData(name, r.mark, sequence))
		if err != nil && c.Damage == nil || err != nil && lost == nil {
			c.Damage = &state.CorruptError{
				File: c.JournalFile, Offset: -1, Journal: true, Remedy: c.JournalRemedy,
				Reason: fmt.Sprintf("record %d was altered, or is not the one that was written there", sequence),
			}
			c.Records = records[:i]
			lost = []state.LostRecord{}
		}
		switch {
		case lost != nil && err != nil:
			lost = append(lost, state.LostRecord{Sequence: sequence})
		case lost != nil:
			lost = append(lost, state.LostRecord{Sequence: sequence, Record: text})
		default:
			records[i] = text
		}
	}
	for _, l := range c.Lost {
		if text, err := k.open(l.Record, recordData(name, r.mark, l.Sequence)); err == nil {
			l.Record = text
		} else {
			l.Record = nil
		}
		lost = append(lost, l)
	}
	if lost != nil {
		c.Lost = lost
	}
}

// ringOf returns the keys of a stack, which are empty if it is not encrypted.
func (s *Sealing) ringOf(ctx context.Context, name state.StackName) (*ring, error) {
	if r := s.known(name); r != nil {
		return r, nil
	}
	return s.readRing(ctx, name)
}

func (s *Sealing) readRing(ctx context.Context, name state.StackName) (*ring, error) {
	c, err := s.inner.State.Load(ctx, name)
	if errors.Is(err, state.ErrStackNotFound) {
		return &ring{}, nil
	}
	if err != nil {
		return nil, err
	}
	r := &ring{}
	if e := parse(c.Checkpoint); e != nil {
		if r, err = s.unwrap(ctx, e); err != nil {
			return nil, fmt.Errorf("the state of the stack %s is encrypted: %w", name, err)
		}
	}
	s.learn(name, r)
	return r, nil
}

// sealBlob encrypts what belongs to a stack, if that is encrypted.
func (s *Sealing) sealBlob(ctx context.Context, name state.StackName, what string, content []byte) ([]byte, error) {
	r, err := s.ringOf(ctx, name)
	if err != nil || !r.sealed || s.mode == Secrets {
		return content, err
	}
	k := r.keys[r.current]
	return append(append([]byte(blobMark), k.id...), k.seal(content, blobData(what))...), nil
}

// openBlob decrypts what sealBlob returned.
func (s *Sealing) openBlob(ctx context.Context, name state.StackName, what string, content []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(content, []byte(blobMark))
	if !ok {
		return content, nil
	}
	fail := func(reason string) error {
		return &state.CorruptError{File: what + " of the stack " + name.String() + " in " + s.inner.Place, Offset: -1, Reason: reason,
			Remedy: "restore it from a backup of the backend, or remove it"}
	}
	if len(rest) < idSize {
		return nil, fail("it is cut short")
	}
	r, err := s.ringOf(ctx, name)
	if err != nil {
		return nil, err
	}
	k, ok := r.keys[string(rest[:idSize])]
	if !ok { // another process may have changed the keys
		if r, err = s.readRing(ctx, name); err != nil {
			return nil, err
		}
		if k, ok = r.keys[string(rest[:idSize])]; !ok {
			return nil, fail("it is encrypted with a key that the stack does not have")
		}
	}
	text, err := k.open(rest[idSize:], blobData(what))
	if err != nil {
		return nil, fail("it was altered, or is not the one that was written there")
	}
	return text, nil
}

// named names a secrets provider.
type named struct {
	Type  string          `json:"type"`
	State json.RawMessage `json:"state,omitempty"`
}

func (n named) identity() string {
	var compact bytes.Buffer
	if json.Compact(&compact, n.State) != nil {
		return n.Type + " " + string(n.State)
	}
	return n.Type + " " + compact.String()
}
