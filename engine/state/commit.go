package state

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
)

// maxRecordSize, in bytes, bounds a group of entries in one record. A larger entry is alone.
const maxRecordSize = 16 << 20

// maxRecordSpace, in bytes, bounds the space that is reused for the next record.
const maxRecordSpace = 1 << 20

// Append applies the entry to the snapshot and makes it durable. If it returns nil, every later run
// knows of the entry. If it returns an error, the entry has no effect in this run; after the error
// of a failing disk, a later run may see it. An entry that does not fit the snapshot is an
// *EntryError. If the disk has no room for the result of an operation, an entry that begins one is
// ErrNoSpace; others are taken as long as they can be saved.
//
// The context ends only the wait before the entry is on its way to the disk. Record a completed operation with a context that is
// not cancelled.
func (s *Stack) Append(ctx context.Context, entry Entry) error {
	return s.AppendAll(ctx, entry)[0]
}

// AppendAll appends entries, each as Append does, by one sync, and returns the error of each. One
// may be refused while those after it are not.
func (s *Stack) AppendAll(ctx context.Context, entries ...Entry) []error {
	w := &waiting{entries: make([]waitingEntry, len(entries)), errs: make([]error, len(entries)), codec: s.Codec(), done: make(chan struct{})}
	for i, entry := range entries {
		if w.errs[i] = ctx.Err(); w.errs[i] == nil {
			w.entries[i].text, w.entries[i].sealed, w.errs[i] = w.codec.encodeEntry(ctx, entry)
		}
		w.size += len(w.entries[i].text)
	}
	if w.size == 0 {
		return w.errs // none could be encoded
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		w.refuse(ErrClosed)
		return w.errs
	}
	s.queue = append(s.queue, w)
	begin, yield := !s.draining, s.shared
	s.draining = true
	s.mu.Unlock()
	if begin && s.writeNext(yield) {
		go func() {
			for s.writeNext(true) {
			}
		}()
	}
	<-w.done
	return w.errs
}

func (w *waiting) refuse(err error) {
	for i := range w.errs {
		if w.errs[i] == nil {
			w.errs[i] = err
		}
	}
}

// writeNext writes the entries that wait, and reports whether others came meanwhile. Entries gather
// while a record is on its way to the disk. Whoever appends the first of them writes it, which
// leaves a chain of steps to one goroutine.
func (s *Stack) writeNext(yield bool) bool {
	if yield {
		// Goroutines whose entries were just written run now, and append their next entries to this
		// record. Without such goroutines yield is false, because yielding would wake another thread.
		runtime.Gosched()
	}
	s.writing.Lock()
	s.writeQueue()
	s.writing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = len(s.queue) > 0
	return s.draining
}

// writeQueue writes one record of the entries that wait, and reports whether there were any. The
// caller holds s.writing.
func (s *Stack) writeQueue() bool {
	group := s.takeGroup()
	if len(group) == 0 {
		return false
	}
	record := append(s.record[:0], '[')
	var accepted []*error
	var undos []func()
	defer func() {
		for _, w := range group {
			close(w.done)
		}
	}()
	for _, w := range group {
		for i, e := range w.entries {
			if w.errs[i] != nil {
				continue
			}
			undo, err := s.accept(w.codec, e.sealed)
			if err != nil {
				w.errs[i] = err
				continue
			}
			if len(accepted) > 0 {
				record = append(record, ',')
			}
			record = append(record, e.text...)
			accepted = append(accepted, &w.errs[i])
			undos = append(undos, undo)
		}
	}
	if len(accepted) == 0 {
		return true
	}
	record = append(record, ']')
	if cap(record) <= maxRecordSpace {
		s.record = record
	}
	if err := s.write(record); err != nil {
		for _, undo := range slices.Backward(undos) {
			undo()
		}
		for _, refused := range accepted {
			*refused = err
		}
	}
	return true
}

func (s *Stack) takeGroup() []*waiting {
	s.mu.Lock()
	defer s.mu.Unlock()
	size, n := 0, 0
	for n < len(s.queue) && (n == 0 || size+s.queue[n].size <= maxRecordSize) {
		size += s.queue[n].size
		n++
	}
	group := s.queue[:n:n]
	s.queue = s.queue[n:]
	s.shared = n > 1
	return group
}

// accept applies an entry of the codec to the snapshot and returns a function that undoes it.
func (s *Stack) accept(codec *Codec, entry sealedEntry) (undo func(), err error) {
	switch {
	case s.failed != nil:
		return nil, s.failed
	case s.full != nil && entry.begins():
		return nil, s.full
	case codec != s.Codec():
		return nil, errSecretsChanged
	}
	if entry.begins() {
		// The operation's effect cannot be undone, so there must be room to record it.
		if err := s.lease.Reserve(context.Background()); err != nil {
			return nil, fmt.Errorf("beginning an operation whose result might not be saved: %w", err)
		}
	}
	return s.snapshot.apply(entry)
}

// errSecretsChanged refuses an entry that was encrypted before a ChangeSecrets.
var errSecretsChanged = errors.New("the stack's secrets provider was changed while the entry was appended")

func (e sealedEntry) begins() bool {
	return slices.ContainsFunc(e.changes, func(c Change) bool {
		_, ok := c.(BeginOperation)
		return ok
	})
}

func (s *Stack) write(record []byte) error {
	// The group has entries of other callers, so no one's context ends it.
	err := s.lease.Append(context.Background(), s.sequence+1, record)
	var full *NoSpaceError
	switch {
	case err == nil:
	case errors.As(err, &full):
		s.full = err
		if !full.Saved {
			return err
		}
	default:
		s.failed = err
		return err
	}
	s.sequence++
	s.changed = true
	return nil
}
