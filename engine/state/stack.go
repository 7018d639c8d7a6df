package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/husk-dev/husk/engine/secrets"
)

// KeySource opens the secrets providers of stacks; [secrets.Keys] is one.
type KeySource interface {
	// New returns a provider for a stack that has none yet.
	New(ctx context.Context) (secrets.Provider, error)
	// Open returns the provider that a state names.
	Open(ctx context.Context, typ string, state json.RawMessage) (secrets.Provider, error)
}

// ErrClosed says that a Stack was closed.
var ErrClosed = errors.New("the stack's state was closed")

// Stack is a stack's state while one run changes it. It holds the lease, the current snapshot, and
// the journal: what Append returned for is on disk. Close writes a checkpoint.
//
// A Stack is safe for concurrent use. One write and one sync make entries durable that are appended
// at the same time.
type Stack struct {
	name     StackName
	lease    Lease
	recovery Recovery

	nextSerial, nextOp atomic.Uint64
	codec              atomic.Pointer[Codec]

	// mu guards the queue of entries that wait to be written.
	mu    sync.Mutex
	queue []*waiting
	// draining says that a goroutine is writing the queue.
	draining bool
	// shared says that the last record held entries of several goroutines.
	shared bool
	closed bool

	// writing guards the fields below during a write. It is taken before mu.
	writing  sync.Mutex
	snapshot *Snapshot
	// sequence is the number of the last record.
	sequence uint64
	// record is the space of the last record, for the next one.
	record []byte
	// changed says that the journal has records that the checkpoint lacks.
	changed bool
	// failed is the error after which nothing more can be written.
	failed error
	// full is the error after which no more operations may begin.
	full error
}

// waiting are entries on their way to the journal, except the ones with an error. done is closed once all errors are set.
type waiting struct {
	entries []waitingEntry
	errs    []error // of each entry
	size    int     // of the texts, in bytes
	codec   *Codec
	done    chan struct{}
}

type waitingEntry struct {
	text   []byte
	sealed sealedEntry
}

// Recovery has the leftovers of an earlier run that opening a stack found.
type Recovery struct {
	// Records counts the records that no checkpoint held: the run was cut off. Nothing is lost.
	Records int
	// Dropped is a last record that was cut short; nil if there is none.
	Dropped *DroppedRecord
}

// Create makes a stack without resources, with a new secrets provider of keys.
func Create(ctx context.Context, store Store, name StackName, keys KeySource) error {
	if err := name.Validate(); err != nil {
		return err
	}
	provider, err := keys.New(ctx)
	if err != nil {
		return fmt.Errorf("creating the stack %s: %w", name, err)
	}
	s := NewSnapshot()
	s.Stack = name.Qualified()
	s.Manifest.Time = time.Now().UTC()
	checkpoint, err := NewCodec(provider).EncodeCheckpoint(ctx, s)
	if err != nil {
		return fmt.Errorf("creating the stack %s: %w", name, err)
	}
	return store.Create(ctx, name, checkpoint)
}

// Load reads a stack, which a run may be changing. A nil open keeps secrets sealed, see [Decode].
func Load(ctx context.Context, store Store, name StackName, open OpenSecrets) (*Snapshot, *Codec, error) {
	if err := name.Validate(); err != nil {
		return nil, nil, err
	}
	contents, err := store.Load(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	return contents.Decode(ctx, open)
}

// Open leases a stack and reads its state. A state without a secrets provider gets one of keys.
//
// The caller decides what becomes of pending operations, and ends them, see [Snapshot.Operations].
func Open(ctx context.Context, store Store, name StackName, keys KeySource, holder Holder) (_ *Stack, err error) {
	if err := name.Validate(); err != nil {
		return nil, err
	}
	lease, contents, err := store.LeaseAndLoad(ctx, name, holder)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
		}
	}()
	snapshot, codec, err := contents.Decode(ctx, keys.Open)
	if err != nil {
		return nil, err
	}
	s := &Stack{
		name:     name,
		lease:    lease,
		sequence: contents.Sequence + uint64(len(contents.Records)),
		changed:  len(contents.Records) > 0,
		recovery: Recovery{Records: len(contents.Records), Dropped: contents.Dropped},
	}
	return s.opened(ctx, snapshot, codec, keys)
}

// OpenCopy returns a stack with a state that [Load] has read. Its changes go to a lease of another store, in which a stack without
// a checkpoint has the name: those of a preview are forgotten.
func OpenCopy(ctx context.Context, lease Lease, name StackName, snapshot *Snapshot, codec *Codec, keys KeySource) (*Stack, error) {
	return (&Stack{name: name, lease: lease}).opened(ctx, snapshot, codec, keys)
}

// opened has the stack begin with a state. A state without a secrets provider gets one of keys.
func (s *Stack) opened(ctx context.Context, snapshot *Snapshot, codec *Codec, keys KeySource) (*Stack, error) {
	s.codec.Store(codec)
	s.adopt(snapshot)
	if codec.Secrets() == nil {
		provider, err := keys.New(ctx)
		if err != nil {
			return nil, fmt.Errorf("opening the stack %s: %w", s.name, err)
		}
		if err := s.ChangeSecrets(ctx, provider); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Decode reads the checkpoint and applies the records. If open is nil, secrets stay sealed.
func (c *Contents) Decode(ctx context.Context, open OpenSecrets) (*Snapshot, *Codec, error) {
	snapshot, codec, err := Decode(ctx, c.Checkpoint, open)
	if err != nil {
		return nil, nil, damaged(&CorruptError{File: c.CheckpointFile, Remedy: c.CheckpointRemedy}, err)
	}
	for i, record := range c.Records {
		entries, err := codec.decodeRecord(ctx, record)
		for _, entry := range entries {
			if err == nil {
				_, err = snapshot.apply(entry)
			}
		}
		if err != nil {
			err = fmt.Errorf("record %d: %w", c.Sequence+uint64(i)+1, err)
			return nil, nil, damaged(&CorruptError{File: c.JournalFile, Journal: true, Remedy: c.JournalRemedy}, err)
		}
	}
	return snapshot, codec, nil
}

// damaged returns the error of contents that cannot be read. The reason may be another than damage:
// a key, a version, or the context.
func damaged(e *CorruptError, err error) error {
	for _, other := range []error{
		secrets.ErrWrongKey, secrets.ErrNoKey, secrets.ErrUnknownProvider,
		ErrUnsupported, context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, other) {
			return fmt.Errorf("reading %s: %w", e.File, err)
		}
	}
	e.Offset, e.Reason, e.Cause = -1, "it cannot be read", err
	return e
}

func (s *Stack) adopt(snapshot *Snapshot) {
	s.snapshot = snapshot
	s.nextSerial.Store(uint64(snapshot.nextSerial))
	s.nextOp.Store(uint64(snapshot.nextOp))
}

// Name returns the stack's name.
func (s *Stack) Name() StackName { return s.name }

// Token returns the fencing token of the stack's lease, see [Lease.Token].
func (s *Stack) Token() uint64 { return s.lease.Token() }

// Recovery returns the leftovers of an earlier run that Open found.
func (s *Stack) Recovery() Recovery { return s.recovery }

// Snapshot returns a copy of the current snapshot: the durable state.
func (s *Stack) Snapshot() *Snapshot {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.snapshot.Clone()
}

// Len returns the number of resources.
func (s *Stack) Len() int {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.snapshot.Len()
}

// Codec returns the codec that writes the stack's state, for exports.
func (s *Stack) Codec() *Codec { return s.codec.Load() }

// NextSerial returns a serial for a new resource. It never returns one twice.
func (s *Stack) NextSerial() Serial { return Serial(s.nextSerial.Add(1) - 1) }

// NextOp returns a number for a new operation. It never returns one twice.
func (s *Stack) NextOp() OpID { return OpID(s.nextOp.Add(1) - 1) }

// Replace makes the snapshot the stack's state, under its name and secrets provider. Serials and
// operations are numbered anew.
func (s *Stack) Replace(ctx context.Context, snapshot *Snapshot) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.rewrite(ctx, snapshot, s.Codec())
}

// Rename makes the snapshot the state of a stack of another name, and removes this one, in one
// step. Nothing can be written afterwards. ErrStackExists says that the name is taken.
func (s *Stack) Rename(ctx context.Context, to StackName, snapshot *Snapshot) error {
	if err := to.Validate(); err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	next := snapshot.Clone()
	next.Stack = to.Qualified()
	text, err := s.Codec().EncodeCheckpoint(ctx, next)
	if err == nil {
		err = s.lease.Rename(ctx, to, text)
	}
	if err != nil {
		return fmt.Errorf("renaming the stack %s: %w", s.name, err)
	}
	s.changed, s.failed = false, ErrClosed
	return nil
}

// ReplaceBoth is Replace for two stacks of one store, in one step.
func ReplaceBoth(ctx context.Context, first *Stack, ofFirst *Snapshot, second *Stack, ofSecond *Snapshot) error {
	first.writing.Lock()
	defer first.writing.Unlock()
	second.writing.Lock()
	defer second.writing.Unlock()
	ofFirst, mine, err := first.next(ctx, ofFirst, first.Codec())
	if err != nil {
		return err
	}
	ofSecond, others, err := second.next(ctx, ofSecond, second.Codec())
	if err != nil {
		return err
	}
	if err := first.lease.CheckpointBoth(ctx, mine, second.lease, others); err != nil {
		return fmt.Errorf("saving the stacks %s and %s: %w", first.name, second.name, err)
	}
	first.setCurrent(ofFirst, first.Codec())
	second.setCurrent(ofSecond, second.Codec())
	return nil
}

// ChangeSecrets encrypts the secrets with another provider. It numbers anew, like Replace.
func (s *Stack) ChangeSecrets(ctx context.Context, provider secrets.Provider) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.rewrite(ctx, s.snapshot, NewCodec(provider))
}

// rewrite writes the snapshot and makes it and the codec the current ones.
func (s *Stack) rewrite(ctx context.Context, snapshot *Snapshot, codec *Codec) error {
	snapshot, next, err := s.next(ctx, snapshot, codec)
	if err != nil {
		return err
	}
	if err := s.lease.Checkpoint(ctx, next.Sequence, next.Checkpoint); err != nil {
		return fmt.Errorf("saving the stack %s: %w", s.name, err)
	}
	s.setCurrent(snapshot, codec)
	return nil
}

// next returns the snapshot under the stack's name, and its checkpoint.
func (s *Stack) next(ctx context.Context, snapshot *Snapshot, codec *Codec) (*Snapshot, NextCheckpoint, error) {
	if err := s.usable(); err != nil {
		return nil, NextCheckpoint{}, err
	}
	snapshot = snapshot.Clone()
	snapshot.Stack = s.snapshot.Stack
	text, err := codec.EncodeCheckpoint(ctx, snapshot)
	if err != nil {
		return nil, NextCheckpoint{}, fmt.Errorf("saving the stack %s: %w", s.name, err)
	}
	return snapshot, NextCheckpoint{Sequence: s.sequence, Checkpoint: text}, nil
}

// setCurrent makes the snapshot and the codec, whose checkpoint was written, the current ones.
func (s *Stack) setCurrent(snapshot *Snapshot, codec *Codec) {
	s.changed = false
	s.codec.Store(codec)
	s.adopt(snapshot.renumbered(codec))
}

// renumbered returns the snapshot as the codec's checkpoint reads.
func (s *Snapshot) renumbered(c *Codec) *Snapshot {
	out := s.Clone()
	out.Secrets = c.secrets
	out.slots, out.nextSerial = map[Serial]slot{}, 0
	for _, v := range s.ordered() {
		out.add(v)
	}
	out.operations, out.nextOp = map[OpID]slot{}, 0
	for _, op := range slices.Sorted(maps.Keys(s.operations)) {
		out.addOperation(s.operations[op])
	}
	return out
}

// Close writes a checkpoint, if anything changed, and ends the lease. Later entries are refused. If
// the checkpoint cannot be written, the journal keeps all changes for the next run.
func (s *Stack) Close(ctx context.Context) error {
	return s.CloseWith(ctx, func(l Lease, err error) error {
		return errors.Join(err, l.Release(context.WithoutCancel(ctx)))
	})
}

// CloseWith is Close, and release ends the lease. It gets the error of the checkpoint, and CloseWith returns its result. If
// the stack is closed already, it is not called.
func (s *Stack) CloseWith(ctx context.Context, release func(l Lease, err error) error) error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	return release(s.lease, s.finish(ctx))
}

// finish writes what waits, and a checkpoint if anything changed. Nothing comes after it.
func (s *Stack) finish(ctx context.Context) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	for s.writeQueue() {
	}
	if !s.changed || s.failed != nil {
		return nil
	}
	text, err := s.Codec().EncodeCheckpoint(ctx, s.snapshot)
	if err == nil {
		err = s.lease.Checkpoint(ctx, s.sequence, text)
	}
	if err != nil {
		err = fmt.Errorf("writing the state of the stack %s in full (its journal holds every change, and the next run continues from there): %w", s.name, err)
	}
	return err
}

// usable returns why nothing can be written, nil if it can.
func (s *Stack) usable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	return s.failed
}
