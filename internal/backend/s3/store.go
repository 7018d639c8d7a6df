package s3

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/intake"
)

// leaseTime is how long a lease lasts after the last sign of life of its holder, by the clock of the
// server, and beat the time between such signs.
const (
	leaseTime = 30 * time.Second
	beat      = leaseTime / 3
)

// Store is a [state.Store].
type Store struct {
	b *bucket

	mu sync.Mutex
	// held has this process's knowledge of stacks from its last leases.
	held map[state.StackName]held
}

// held is the part of a head that the holder of a lease knows without reading it.
type held struct {
	token     uint64
	directory string
	// history is the version of the history, if read is set, and updates are its records.
	history string
	read    bool
	updates [][]byte
	// asked says that the holder has asked for the updates, which are read anew if it does so again.
	asked bool
}

// heldBy returns the knowledge of a stack from the lease of a token.
func (s *Store) heldBy(name state.StackName, token uint64) (held, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, ok := s.held[name]
	return h, ok && token != 0 && h.token == token
}

func (s *Store) hold(name state.StackName, h held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[name] = h
}

// drop forgets the history that the holder of a token has read.
func (s *Store) drop(name state.StackName, token uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.held[name]; h.token == token {
		s.held[name] = held{token: token, directory: h.directory}
	}
}

// forget forgets a stack that is removed or has another name.
func (s *Store) forget(name state.StackName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, name)
	s.b.remember(&current{name: name})
}

func usable(ctx context.Context, name state.StackName) error {
	return cmp.Or(name.Validate(), ctx.Err())
}

// List implements [state.Store].
func (s *Store) List(ctx context.Context) ([]state.StackName, error) {
	keys, err := s.b.list(ctx, stacksDir)
	if err != nil {
		return nil, err
	}
	present := make([]bool, len(keys))
	names := make([]state.StackName, len(keys))
	err = each(len(keys), func(i int) error {
		project, file, _ := strings.Cut(keys[i], "/")
		name, isHead := strings.CutSuffix(file, headSuffix)
		names[i] = state.StackName{Project: project, Name: name}
		if !isHead || names[i].Validate() != nil {
			return nil
		}
		c, err := s.read(ctx, names[i])
		present[i] = err == nil && c.Body.Present || errors.Is(err, state.ErrCorrupt)
		if errors.Is(err, state.ErrCorrupt) {
			err = nil // it does not hide the others
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var out []state.StackName
	for i, is := range present {
		if is {
			out = append(out, names[i])
		}
	}
	slices.SortFunc(out, func(a, b state.StackName) int { return cmp.Compare(a.String(), b.String()) })
	return out, nil
}

// make turns the head of a missing stack into the head of a new one.
func (c *current) make(id, checkpoint string) {
	b := &c.Body
	*b = body{Present: true, ID: id, Token: b.Token, Backups: b.Backups, Changes: b.Changes, Checkpoint: checkpoint, Written: time.Now().UTC()}
}

// Create implements [state.Store].
func (s *Store) Create(ctx context.Context, name state.StackName, checkpoint []byte) error {
	if err := s.writable(ctx, name); err != nil {
		return err
	}
	key, id := "", rand.Text()
	_, err := s.change(ctx, name, func(c *current) (err error) {
		if c.Body.Present {
			return state.StackExists(name, s.b.place)
		}
		c.make(id, "")
		if key == "" {
			key, err = s.putCheckpoint(ctx, &c.Body, checkpoint)
		}
		c.Body.Checkpoint = key
		return err
	})
	return err
}

// find reads the head of a stack that must be there.
func (s *Store) find(ctx context.Context, name state.StackName) (*current, error) {
	c, err := s.read(ctx, name)
	if err == nil && !c.Body.Present {
		err = state.StackNotFound(name, s.b.place)
	}
	return c, err
}

// fenced returns an error if there was another lease since the one of a token, which is 0 for none. It tells a run that
// goes on after its lease was lost, and not one whose lease is lost at this moment.
func (c *current) fenced(token uint64) error {
	if token != 0 && token != c.Body.Token {
		return state.Fenced(c.name)
	}
	return nil
}

// Load implements [state.Store].
func (s *Store) Load(ctx context.Context, name state.StackName) (*state.Contents, error) {
	if err := usable(ctx, name); err != nil {
		return nil, err
	}
	c, err := s.find(ctx, name)
	if err != nil {
		return nil, err
	}
	out, err := s.load(ctx, c)
	if err == nil && out.Damage != nil {
		return nil, out.Damage
	}
	return out, err
}

// Lease implements [state.Store].
func (s *Store) Lease(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, error) {
	if err := s.writable(ctx, name); err != nil {
		return nil, err
	}
	id := rand.Text()
	var before []journal
	c, err := s.change(ctx, name, func(c *current) error {
		if c.Body.Lease == nil || c.Body.Lease.ID != id {
			before = c.Body.Journals
		}
		return s.take(c, id, holder)
	})
	if err != nil {
		return nil, err
	}
	for _, j := range before {
		if !j.Closed {
			if err := s.seal(ctx, c.Body.directory(), j); err != nil {
				return nil, err
			}
		}
	}
	return s.begin(ctx, c, id), nil
}

// take puts a lease into a head, if no other lasts.
func (s *Store) take(c *current, id string, holder state.Holder) error {
	b := &c.Body
	switch {
	case !b.Present:
		return state.StackNotFound(c.name, s.b.place)
	case b.Lease != nil && b.Lease.ID != id && c.silence < leaseTime:
		return &state.LockedError{Stack: c.name, Holder: b.Lease.Holder}
	case b.Lease == nil || b.Lease.ID != id: // unless an attempt whose answer was lost has taken it
		b.Token++
		b.Lease = &leaseInfo{ID: id, Holder: holder}
		b.Journals = append(slices.Clone(b.Journals), journal{Lease: id})
	}
	return nil
}

// begin returns the lease that a head, which is written, has.
func (s *Store) begin(ctx context.Context, c *current, id string) *lease {
	l := &lease{store: s, name: c.name, id: id, token: c.Body.Token, head: c}
	s.hold(c.name, held{token: l.token, directory: c.Body.directory()})
	beating, stop := context.WithCancel(intake.WithoutRoom(context.WithoutCancel(ctx)))
	l.stop = stop
	l.beating.Go(func() { l.beat(beating) })
	return l
}

// LeaseAndLoad implements [state.Store]. If all earlier holders have ended their journals, nothing that the head names
// changes any more, so it is read while the lease is being written: if the head is as before then, so is the state. If
// the lease is lost at once, objects may be removed before they are read; the end of each journal shows that.
func (s *Store) LeaseAndLoad(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, *state.Contents, error) {
	if err := s.writable(ctx, name); err != nil {
		return nil, nil, err
	}
	id := rand.Text()
	// The head is probably as this machine has left it. If it is not, the write of the lease is refused, and the head has
	// been read meanwhile.
	c := s.b.remembered(name)
	isGuess := c != nil
	var err error
	for {
		if c == nil {
			c, err = s.read(ctx, name)
		}
		if err == nil {
			c, err = s.settle(ctx, c)
		}
		if err != nil {
			return nil, nil, err
		}
		if c.Body.isOpen(id) {
			return s.leaseThenLoad(ctx, name, holder)
		}
		was := c.Body
		if err := s.take(c, id, holder); err != nil {
			return nil, nil, err
		}
		var out *state.Contents
		var readErr, isErr error
		var is *current // nil if it has to be read
		h := held{directory: was.directory()}
		var reading sync.WaitGroup
		reading.Go(func() {
			out, readErr = s.contents(ctx, name, was.directory(), was.Checkpoint, was.Sequence, was.Journals)
		})
		reading.Go(func() { _ = s.readHistory(ctx, &h) }) // if it cannot be read, whoever needs it finds out why
		if isGuess {
			reading.Go(func() { is, isErr = s.read(ctx, name) })
		}
		err = s.write(ctx, c)
		reading.Wait()
		if errors.Is(err, errCondition) {
			c, err, isGuess = is, isErr, false
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		l := s.begin(ctx, c, id)
		h.token = l.token
		s.hold(name, h)
		if readErr != nil || out.Damage != nil {
			out, readErr = l.Load(ctx) // which tells damage from a false alarm
		}
		if readErr != nil {
			return nil, nil, errors.Join(readErr, l.Release(ctx))
		}
		l.last, l.loaded = out.Sequence+uint64(len(out.Records)), true
		return l, out, nil
	}
}

// isOpen reports whether a journal may get records of another lease than the one with the ID, or may have some that were not
// seen.
func (b *body) isOpen(id string) bool {
	return slices.ContainsFunc(b.Journals, func(j journal) bool { return j.End == 0 && j.Lease != id })
}

func (s *Store) leaseThenLoad(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, *state.Contents, error) {
	l, err := s.Lease(ctx, name, holder)
	if err != nil {
		return nil, nil, err
	}
	out, err := l.Load(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, l.Release(ctx))
	}
	return l, out, nil
}

// Break implements [state.Store].
func (s *Store) Break(ctx context.Context, name state.StackName) error {
	if err := s.writable(ctx, name); err != nil {
		return err
	}
	c, err := s.change(ctx, name, func(c *current) error {
		if !c.Body.Present {
			return state.StackNotFound(name, s.b.place)
		}
		c.Body.Lease = nil
		return nil
	})
	if err != nil {
		return err
	}
	for _, j := range c.Body.Journals {
		if !j.Closed {
			if err := s.seal(ctx, c.Body.directory(), j); err != nil {
				return err
			}
		}
	}
	return nil
}

// Backups implements [state.Store].
func (s *Store) Backups(ctx context.Context, name state.StackName) ([]state.BackupInfo, error) {
	if err := usable(ctx, name); err != nil {
		return nil, err
	}
	c, err := s.read(ctx, name)
	if err != nil {
		return nil, err
	}
	var out []state.BackupInfo
	for _, b := range slices.Backward(c.Body.Backups) {
		out = append(out, state.BackupInfo{ID: b.ID, Written: b.Written})
	}
	return out, nil
}

// Backup implements [state.Store].
func (s *Store) Backup(ctx context.Context, name state.StackName, id string) (*state.Contents, error) {
	if err := usable(ctx, name); err != nil {
		return nil, err
	}
	c, err := s.read(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, b := range c.Body.Backups {
		if b.ID != id {
			continue
		}
		out, err := s.contents(ctx, name, b.Directory, b.Checkpoint, b.Sequence, b.Journals)
		if errors.Is(err, errAgain) {
			err = &state.CorruptError{File: out.CheckpointFile, Offset: -1, Reason: "the object is gone"}
		}
		return out, err
	}
	return nil, fmt.Errorf("the stack %s: %w: %q", name, state.ErrNoBackup, id)
}

const historyFile = "history.jsonl"

// History implements [state.Store].
func (s *Store) History(ctx context.Context, name state.StackName) ([][]byte, error) {
	if err := usable(ctx, name); err != nil {
		return nil, err
	}
	h, isHeld := s.heldBy(name, backend.Token(ctx))
	if !isHeld {
		dir, err := s.below(ctx, name, "")
		if err != nil || dir == "" {
			return nil, err
		}
		h.directory = dir
	}
	if !h.read || h.asked {
		if err := s.readHistory(ctx, &h); err != nil {
			return nil, err
		}
	}
	if isHeld {
		h.asked = true
		s.hold(name, h)
	}
	return slices.Clone(h.updates), nil
}

// readHistory reads the history in a directory.
func (s *Store) readHistory(ctx context.Context, h *held) error {
	o, err := s.b.get(ctx, h.directory+historyFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		h.history, h.updates = ifAbsent, nil
	case err != nil:
		return err
	default:
		h.history, h.updates = o.version, bytes.Split(o.content, []byte("\n"))
	}
	h.read = true
	return nil
}

// SetHistory implements [state.Store].
func (s *Store) SetHistory(ctx context.Context, name state.StackName, records [][]byte) error {
	if err := usable(ctx, name); err != nil {
		return err
	}
	if err := state.CheckHistory(name, records); err != nil {
		return err
	}
	h, ok := s.heldBy(name, backend.Token(ctx))
	ok = ok && h.read && len(records) > 0
	if ok {
		version, err := s.b.put(ctx, h.directory+historyFile, bytes.Join(records, []byte("\n")), h.history)
		if err == nil {
			h.history, h.updates, h.asked = version, records, true
			s.hold(name, h)
		}
		if !errors.Is(err, errCondition) {
			return err
		}
		// The lease was lost, or its former holder has written once more, or the answer to an attempt was lost.
	}
	c, err := s.find(ctx, name)
	if err == nil {
		err = c.fenced(backend.Token(ctx))
	}
	if err != nil {
		return err
	}
	if len(records) == 0 {
		return s.b.remove(ctx, c.Body.directory()+historyFile)
	}
	if ok {
		if added, is := since(h.updates, records); is {
			return s.addUpdates(ctx, h, records, added)
		}
	}
	_, err = s.b.put(ctx, c.Body.directory()+historyFile, bytes.Join(records, []byte("\n")), unconditional)
	return err
}

// since returns the records that follow the former ones. The oldest of these may be gone.
func since(former, records [][]byte) (added [][]byte, ok bool) {
	if len(former) == 0 {
		return records, true
	}
	last := former[len(former)-1]
	i := slices.IndexFunc(records, func(r []byte) bool { return bytes.Equal(r, last) })
	return records[i+1:], i >= 0
}

// addUpdates replaces a history that was read by one with more records. If another holder has changed it since, they are added to
// that holder's records.
func (s *Store) addUpdates(ctx context.Context, h held, records, added [][]byte) error {
	for {
		_, err := s.b.put(ctx, h.directory+historyFile, bytes.Join(records, []byte("\n")), h.history)
		if !errors.Is(err, errCondition) {
			return err
		}
		if err := s.readHistory(ctx, &h); err != nil {
			return err
		}
		// An attempt whose answer was lost may have stored them.
		added = slices.DeleteFunc(slices.Clone(added), func(a []byte) bool {
			return slices.ContainsFunc(h.updates, func(u []byte) bool { return bytes.Equal(a, u) })
		})
		if len(added) == 0 {
			return nil
		}
		records = slices.Concat(h.updates, added) // the next run drops the oldest ones
	}
}
