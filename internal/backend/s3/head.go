package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
)

// format is the version of heads. It rises when an older version of Husk would misread them.
const format = 1

// head is the content of a stack's head.
type head struct {
	Format int  `json:"format"`
	Body   body `json:"body"`
	// Pending replaces Body if its intent was committed.
	Pending *pending `json:"pending,omitempty"`
}

// pending is a part of a step that changes two heads. The step is taken when the object of its intent says
// so, which is written once.
type pending struct {
	Intent string `json:"intent"`
	Body   body   `json:"body"`
}

const (
	intentsDir = "intents/"
	committed  = "commit"
	aborted    = "abort"
)

// body is the contents of a stack's head.
type body struct {
	// Present is false for a stack that was removed, whose backups and token stay.
	Present bool `json:"present"`
	// ID names the directory of the stack's objects. A renamed stack keeps it.
	ID    string     `json:"id"`
	Token uint64     `json:"token"`
	Lease *leaseInfo `json:"lease,omitempty"`
	// Checkpoint is the key of the checkpoint.
	Checkpoint string    `json:"checkpoint,omitempty"`
	Sequence   uint64    `json:"sequence"`
	Written    time.Time `json:"written"`
	// Journals have the records after the checkpoint, in order.
	Journals []journal `json:"journals,omitempty"`
	Backups  []backup  `json:"backups,omitempty"`
	// Changes counts the checkpoints that were replaced.
	Changes uint64 `json:"changes"`
}

type leaseInfo struct {
	ID     string       `json:"id"`
	Holder state.Holder `json:"holder"`
}

// journal has the records of one lease, from the one after Slot on.
type journal struct {
	Lease string `json:"lease"`
	Slot  uint64 `json:"slot"`
	// Closed says that its writer has ended it: it needs no seal. End is the slot of its last record then, 0 if an older
	// version of Husk has ended it.
	Closed bool   `json:"closed,omitempty"`
	End    uint64 `json:"end,omitempty"`
}

type backup struct {
	ID         string    `json:"id"`
	Checkpoint string    `json:"checkpoint"`
	Sequence   uint64    `json:"sequence"`
	Written    time.Time `json:"written"`
	// Directory and Journals have the records that follow, and are in no later checkpoint.
	Directory string    `json:"directory,omitempty"`
	Journals  []journal `json:"journals,omitempty"`
}

const stacksDir, headSuffix = "stacks/", ".json"

func headKey(name state.StackName) string {
	return stacksDir + name.Project + "/" + name.Name + headSuffix
}

// directory returns the directory of the stack's objects.
func (b *body) directory() string { return "data/" + b.ID + "/" }

// current is a head that was read.
type current struct {
	head
	name    state.StackName
	version string // ifAbsent if there is none
	// silence is the time since the last sign of life of the holder, by the clock of the server.
	silence time.Duration
}

// read reads a head. A pending step counts if it was committed.
func (s *Store) read(ctx context.Context, name state.StackName) (*current, error) {
	o, err := s.b.get(ctx, headKey(name))
	if errors.Is(err, fs.ErrNotExist) {
		return &current{name: name, version: ifAbsent}, nil
	}
	if err != nil {
		return nil, err
	}
	c := &current{name: name, version: o.version, silence: o.now.Sub(o.modified)}
	if err := json.Unmarshal(o.content, &c.head); err != nil {
		return nil, &state.CorruptError{File: s.b.place + "/" + headKey(name), Offset: -1, Reason: "it cannot be read", Cause: err,
			Remedy: "restore an earlier version of the object, if the bucket keeps versions"}
	}
	if c.Format > format {
		return nil, backend.NewerSchema(s.b.place, c.Format, format)
	}
	if c.Pending != nil {
		decided, err := s.b.get(ctx, intentsDir+c.Pending.Intent)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err == nil && string(decided.content) == committed {
			c.Body, c.Pending = c.Pending.Body, nil
		}
	}
	return c, nil
}

// settle has a pending step that was not committed never be.
func (s *Store) settle(ctx context.Context, c *current) (*current, error) {
	if c.Pending == nil {
		return c, nil
	}
	if _, err := s.b.put(ctx, intentsDir+c.Pending.Intent, []byte(aborted), ifAbsent); err != nil && !errors.Is(err, errCondition) {
		return nil, err
	}
	c, err := s.read(ctx, c.name)
	if err == nil {
		c.Pending = nil // it was aborted, or is part of the body
	}
	return c, err
}

// write replaces a head that was read. The error is errCondition if it was changed meanwhile.
func (s *Store) write(ctx context.Context, c *current) error {
	c.Format = format
	text, err := json.Marshal(c.head)
	if err != nil {
		return err
	}
	version, err := s.b.put(ctx, headKey(c.name), text, c.version)
	if errors.Is(err, errCondition) || errors.Is(err, state.ErrNoSpace) {
		// An attempt whose answer was lost may have written it, or a proxy that has sent it twice. No two writers write
		// the same text: it has the ID of their lease, of a new checkpoint, or of an intent.
		is, readErr := s.b.get(ctx, headKey(c.name))
		switch {
		case readErr == nil && bytes.Equal(is.content, text):
			version, err = is.version, nil
		case readErr != nil && !errors.Is(readErr, fs.ErrNotExist):
			err = readErr
		}
	}
	if err == nil {
		c.version = version
	}
	return err
}

// change reads a head, has do change it, and writes it, until nobody has changed it meanwhile.
func (s *Store) change(ctx context.Context, name state.StackName, do func(*current) error) (*current, error) {
	for {
		c, err := s.read(ctx, name)
		if err == nil {
			c, err = s.settle(ctx, c)
		}
		if err == nil {
			err = do(c)
		}
		if err == nil {
			err = s.write(ctx, c)
		}
		if !errors.Is(err, errCondition) {
			return c, err
		}
	}
}

// putCheckpoint writes a checkpoint under a new key.
func (s *Store) putCheckpoint(ctx context.Context, b *body, checkpoint []byte) (key string, err error) {
	key = path.Join(b.directory()+"checkpoints", rand.Text())
	if _, err = s.b.put(ctx, key, checkpoint, ifAbsent); errors.Is(err, errCondition) {
		err = nil // the key is new, so an attempt whose answer was lost has written it
	}
	return key, err
}

// keep makes the checkpoint a backup, with records if they are in no later checkpoint. It returns the keys
// of backups that are no longer kept.
func (b *body) keep(records bool) (gone []string) {
	b.Changes++
	kept := backup{ID: fmt.Sprint(b.Changes), Checkpoint: b.Checkpoint, Sequence: b.Sequence, Written: b.Written}
	if records {
		kept.Directory, kept.Journals = b.directory(), b.Journals
	}
	b.Backups = append(b.Backups, kept)
	for len(b.Backups) > state.KeptBackups {
		gone = append(gone, b.Backups[0].Checkpoint)
		b.Backups = b.Backups[1:]
	}
	b.Backups = append([]backup(nil), b.Backups...)
	return gone
}
