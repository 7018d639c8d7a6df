package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend"
)

// leaseTime is how long a lease lasts after the last sign of life of its holder, and beat the time between such signs.
const (
	leaseTime = 30 * time.Second
	beat      = leaseTime / 3
)

// now and expiry are moments for the tables.
func now() int64    { return time.Now().UnixMicro() }
func expiry() int64 { return time.Now().Add(leaseTime).UnixMicro() }

// Store is a [state.Store].
type Store struct{ db *db }

var _ backend.Resumer = (*Store)(nil)

func usable(ctx context.Context, name state.StackName) error {
	return cmp.Or(name.Validate(), ctx.Err())
}

// nameSize is the size of each of many names besides its text, in bytes.
const nameSize = 64

// List implements [state.Store].
func (s *Store) List(ctx context.Context) (names []state.StackName, err error) {
	err = s.db.read(ctx, func(t *tx) error {
		if err := t.room("SELECT COALESCE(SUM(octet_length(project) + octet_length(name) + ?), 0) FROM stacks WHERE present", nameSize); err != nil {
			return err
		}
		return t.rows("SELECT project, name FROM stacks WHERE present", nil, func(scan func(...any) error) error {
			var n state.StackName
			err := scan(&n.Project, &n.Name)
			names = append(names, n)
			return err
		})
	})
	slices.SortFunc(names, func(a, b state.StackName) int { return cmp.Compare(a.String(), b.String()) })
	return names, err
}

// create makes a stack, and returns its ID.
func (s *Store) create(t *tx, name state.StackName, checkpoint []byte) (id int64, err error) {
	made, err := t.row(`INSERT INTO stacks AS s (project, name, present, written) VALUES (?1, ?2, 1, ?3)
		ON CONFLICT (project, name) DO UPDATE SET present = 1, written = excluded.written,
			sequence = 0, last = 0, lease = NULL, holder = NULL, expires = NULL, revision = s.revision + 1
		WHERE NOT s.present RETURNING id`, []any{name.Project, name.Name, now()}, &id)
	if err == nil && !made {
		err = done{state.StackExists(name, s.db.file)}
	}
	if err != nil {
		return 0, err
	}
	return id, t.putCheckpoint(id, checkpoint)
}

// putCheckpoint replaces the checkpoint of a stack.
func (t *tx) putCheckpoint(stack int64, checkpoint []byte) error {
	_, err := t.exec("INSERT INTO checkpoints VALUES (?, ?) ON CONFLICT (stack) DO UPDATE SET content = excluded.content", stack, blob(checkpoint))
	return err
}

// blob returns a text that is never NULL.
func blob(text []byte) []byte {
	if text == nil {
		return []byte{}
	}
	return text
}

// Create implements [state.Store].
func (s *Store) Create(ctx context.Context, name state.StackName, checkpoint []byte) error {
	if err := usable(ctx, name); err != nil {
		return err
	}
	return s.db.write(ctx, func(t *tx) error {
		_, err := s.create(t, name, checkpoint)
		return err
	})
}

// stack returns the ID of a stack that is there.
func (s *Store) stack(t *tx, name state.StackName) (id int64, err error) {
	found, err := t.row("SELECT id FROM stacks WHERE project = ? AND name = ? AND present", []any{name.Project, name.Name}, &id)
	if err == nil && !found {
		err = done{state.StackNotFound(name, s.db.file)}
	}
	return id, err
}

// Load implements [state.Store].
func (s *Store) Load(ctx context.Context, name state.StackName) (*state.Contents, error) {
	if err := usable(ctx, name); err != nil {
		return nil, err
	}
	var found *loaded
	err := s.db.read(ctx, func(t *tx) error {
		id, err := s.stack(t, name)
		if err == nil {
			found, err = s.load(t, name, id)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &found.Contents, found.gap()
}

// loaded is the view of a stack at one moment.
type loaded struct {
	state.Contents
	last int64
}

// load returns a stack.
func (s *Store) load(t *tx, name state.StackName, id int64) (*loaded, error) {
	out := new(loaded)
	out.CheckpointFile = fmt.Sprintf("the checkpoint of %s in %s", name, s.db.file)
	out.JournalFile = fmt.Sprintf("the journal of %s in %s", name, s.db.file)
	out.CheckpointRemedy = "husk stack restore restores an earlier state"
	out.JournalRemedy = "husk state repair --journal keeps the records before the damage"
	if err := t.room("SELECT COALESCE((SELECT octet_length(content) FROM checkpoints WHERE stack = ?1), 0) + (SELECT COALESCE(SUM(octet_length(record) + ?2), 0) FROM journal WHERE stack = ?1)", id, nameSize); err != nil {
		return nil, err
	}
	if _, err := t.row("SELECT (SELECT content FROM checkpoints WHERE stack = ?1), sequence, last FROM stacks WHERE id = ?1", []any{id}, &out.Checkpoint, &out.Sequence, &out.last); err != nil {
		return nil, err
	}
	if err := out.follow(t, "SELECT sequence, record FROM journal WHERE stack = ? ORDER BY 1", id); err != nil {
		return nil, err
	}
	if want := out.Sequence + uint64(len(out.Records)); out.Damage == nil && want != uint64(out.last) {
		out.missing(want + 1)
	}
	return out, nil
}

// follow reads the records after a checkpoint.
func (l *loaded) follow(t *tx, query string, args ...any) error {
	return t.rows(query, args, func(scan func(...any) error) error {
		var sequence uint64
		var record []byte
		if err := scan(&sequence, &record); err != nil {
			return err
		}
		want := l.Sequence + uint64(len(l.Records)) + 1
		if l.Damage != nil || sequence != want {
			l.Lost = append(l.Lost, state.LostRecord{Sequence: sequence, Record: record})
			l.missing(want)
			return nil
		}
		l.Records = append(l.Records, record)
		return nil
	})
}

// missing says that a record is gone: somebody has changed the table.
func (l *loaded) missing(sequence uint64) {
	if l.Damage == nil {
		l.Damage = &state.CorruptError{File: l.JournalFile, Offset: -1, Journal: true, Remedy: l.JournalRemedy, Reason: fmt.Sprintf("record %d is missing", sequence)}
	}
}

// gap returns the damage as an error, and removes it from the contents, because a Load returns none.
func (l *loaded) gap() error {
	if damage := l.Damage; damage != nil {
		l.Damage, l.Lost = nil, nil
		return damage
	}
	return nil
}

// Lease implements [state.Store].
func (s *Store) Lease(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, error) {
	l, err := s.take(ctx, name, holder, rand.Text())
	if err != nil {
		return nil, err
	}
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	l.beating.Go(func() { l.beat(beating) })
	return l, nil
}

func (s *Store) take(ctx context.Context, name state.StackName, holder state.Holder, id string) (*lease, error) {
	if err := usable(ctx, name); err != nil {
		return nil, err
	}
	text, err := json.Marshal(holder)
	if err != nil {
		return nil, err
	}
	l := &lease{store: s, name: name, id: id, stop: func() {}}
	err = s.db.write(ctx, func(t *tx) error {
		// Taking the lease again is for an attempt whose answer was lost.
		taken, err := t.row(`UPDATE stacks SET token = token + (lease IS NOT ?3), lease = ?3, holder = CASE WHEN lease = ?3 THEN holder ELSE ?4 END, expires = ?5
			WHERE project = ?1 AND name = ?2 AND present AND (lease = ?3 OR lease IS NULL AND holder IS NOT ?3 OR expires < ?6) RETURNING id, token`,
			[]any{name.Project, name.Name, l.id, string(text), expiry(), now()}, &l.stack, &l.token)
		if err != nil || taken {
			return err
		}
		stack, err := s.stack(t, name)
		if err != nil {
			return err
		}
		var by string
		if _, err := t.row("SELECT coalesce(holder, '') FROM stacks WHERE id = ?", []any{stack}, &by); err != nil {
			return err
		}
		if by == id {
			return done{state.Fenced(name)}
		}
		locked := &state.LockedError{Stack: name}
		_ = json.Unmarshal([]byte(by), &locked.Holder) // what cannot be read is not known
		return done{locked}
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// LeaseAndLoad implements [state.Store].
func (s *Store) LeaseAndLoad(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, *state.Contents, error) {
	return state.LeaseThenLoad(ctx, s, name, holder)
}

// LeaseAs implements [backend.Resumer].
func (s *Store) LeaseAs(ctx context.Context, name state.StackName, holder state.Holder, key backend.LeaseKey, load bool) (state.Lease, *state.Contents, error) {
	err := s.db.read(ctx, func(t *tx) error {
		var n int
		_, err := t.row("SELECT count(*) FROM stacks WHERE lease IS NOT NULL AND substr(lease, 1, length(?1)) = ?1", []any{key.LeasesOf()}, &n)
		if err == nil && n >= backend.MaxLeases {
			err = done{backend.ErrManyLeases}
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	l, err := s.take(ctx, name, holder, key.String())
	if err != nil {
		return nil, nil, err
	}
	if !load {
		return l, nil, nil
	}
	c, err := l.Load(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, l.drop(ctx))
	}
	return l, c, nil
}

// Resume implements [backend.Resumer].
func (s *Store) Resume(ctx context.Context, name state.StackName, key backend.LeaseKey) (state.Lease, error) {
	l := &lease{store: s, name: name, id: key.String(), loaded: true, resumed: true, stop: func() {}}
	err := s.db.read(ctx, func(t *tx) error {
		found, err := t.row("SELECT id, token, last, revision FROM stacks WHERE project = ? AND name = ? AND lease = ?", []any{name.Project, name.Name, l.id}, &l.stack, &l.token, &l.last, &l.revision)
		if err == nil && !found {
			err = done{state.Fenced(name)}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Extend implements [backend.Resumer].
func (s *Store) Extend(ctx context.Context, name state.StackName, key backend.LeaseKey) error {
	return s.db.write(ctx, func(t *tx) error {
		has, err := t.exec("UPDATE stacks SET expires = ? WHERE project = ? AND name = ? AND lease = ?", expiry(), name.Project, name.Name, key.String())
		if err == nil && has == 0 {
			err = done{state.Fenced(name)}
		}
		return err
	})
}

// Continue implements [backend.Resumer].
func (s *Store) Continue(ctx context.Context, name state.StackName, token, sequence uint64, records [][]byte) error {
	if err := usable(ctx, name); err != nil {
		return err
	}
	return s.db.write(ctx, func(t *tx) error {
		id, err := s.stack(t, name)
		if err != nil {
			return err
		}
		tail := backend.Tail{Records: make(map[uint64][]byte)}
		if _, err := t.row("SELECT token, last FROM stacks WHERE id = ?", []any{id}, &tail.Token, &tail.Last); err != nil {
			return err
		}
		if err := t.rows("SELECT sequence, record FROM journal WHERE stack = ? AND sequence BETWEEN ? AND ?", []any{id, int64(sequence), int64(sequence) + int64(len(records))},
			func(scan func(...any) error) error {
				var number uint64
				var record []byte
				err := scan(&number, &record)
				tail.Records[number] = record
				return err
			}); err != nil {
			return err
		}
		missing, err := tail.Missing(name, token, sequence, records)
		if err != nil {
			return done{err}
		}
		for _, record := range missing {
			tail.Last++
			if _, err := t.exec("INSERT INTO journal VALUES (?, ?, ?)", id, int64(tail.Last), blob(record)); err != nil {
				return err
			}
		}
		_, err = t.exec("UPDATE stacks SET last = ? WHERE id = ?", int64(tail.Last), id)
		return err
	})
}

// EndLeases implements [backend.Resumer].
func (s *Store) EndLeases(ctx context.Context, owner string, stack state.StackName) error {
	which, args := "", []any{backend.LeasesOf(owner)}
	if stack != (state.StackName{}) {
		which, args = " AND project = ?2 AND name = ?3", append(args, stack.Project, stack.Name)
	}
	return s.db.write(ctx, func(t *tx) error {
		_, err := t.exec("UPDATE stacks SET lease = NULL, holder = NULL, expires = NULL WHERE substr(lease, 1, length(?1)) = ?1"+which, args...)
		return err
	})
}

// Break implements [state.Store].
func (s *Store) Break(ctx context.Context, name state.StackName) error {
	return s.BreakHeld(ctx, name, 0)
}

// BreakHeld implements [backend.Resumer].
func (s *Store) BreakHeld(ctx context.Context, name state.StackName, token uint64) error {
	if err := usable(ctx, name); err != nil {
		return err
	}
	return s.db.write(ctx, func(t *tx) error {
		id, err := s.stack(t, name)
		if err == nil {
			_, err = t.exec("UPDATE stacks SET lease = NULL, holder = NULL, expires = NULL WHERE id = ?1 AND (?2 = 0 OR token = ?2)", id, int64(token))
		}
		return err
	})
}

// Held implements [backend.Resumer].
func (s *Store) Held(ctx context.Context, name state.StackName) (token uint64, err error) {
	if err := usable(ctx, name); err != nil {
		return 0, err
	}
	err = s.db.read(ctx, func(t *tx) error {
		id, err := s.stack(t, name)
		if err == nil {
			_, err = t.row("SELECT token FROM stacks WHERE id = ? AND lease IS NOT NULL", []any{id}, &token)
		}
		return err
	})
	return token, err
}

// Backups implements [state.Store].
func (s *Store) Backups(ctx context.Context, name state.StackName) (out []state.BackupInfo, err error) {
	if err := usable(ctx, name); err != nil {
		return nil, err
	}
	err = s.db.read(ctx, func(t *tx) error {
		return t.rows("SELECT b.number, b.written FROM backups b JOIN stacks s ON s.id = b.stack WHERE s.project = ? AND s.name = ? ORDER BY 1 DESC",
			[]any{name.Project, name.Name}, func(scan func(...any) error) error {
				var number int64
				var written *int64
				if err := scan(&number, &written); err != nil {
					return err
				}
				info := state.BackupInfo{ID: strconv.FormatInt(number, 10)}
				if written != nil {
					info.Written = time.UnixMicro(*written).UTC()
				}
				out = append(out, info)
				return nil
			})
	})
	return out, err
}

// Backup implements [state.Store].
func (s *Store) Backup(ctx context.Context, name state.StackName, id string) (*state.Contents, error) {
	if err := usable(ctx, name); err != nil {
		return nil, err
	}
	none := fmt.Errorf("the stack %s: %w: %q", name, state.ErrNoBackup, id)
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil || strconv.FormatInt(number, 10) != id {
		return nil, none
	}
	out := new(loaded)
	out.CheckpointFile = fmt.Sprintf("the backup %s of %s in %s", id, name, s.db.file)
	out.JournalFile = fmt.Sprintf("the records after the backup %s of %s in %s", id, name, s.db.file)
	err = s.db.read(ctx, func(t *tx) error {
		if err := t.room(`SELECT octet_length(b.checkpoint) + (SELECT COALESCE(SUM(octet_length(r.record) + ?4), 0) FROM backup_records r WHERE r.stack = b.stack AND r.number = b.number)
			FROM backups b JOIN stacks s ON s.id = b.stack WHERE s.project = ?1 AND s.name = ?2 AND b.number = ?3`, name.Project, name.Name, number, nameSize); err != nil {
			return err
		}
		var stack int64
		found, err := t.row(`SELECT b.stack, b.sequence, b.checkpoint FROM backups b JOIN stacks s ON s.id = b.stack
			WHERE s.project = ? AND s.name = ? AND b.number = ?`, []any{name.Project, name.Name, number}, &stack, &out.Sequence, &out.Checkpoint)
		if err != nil {
			return err
		}
		if !found {
			return done{none}
		}
		return out.follow(t, "SELECT sequence, record FROM backup_records WHERE stack = ? AND number = ? ORDER BY 1", stack, number)
	})
	if err != nil {
		return nil, err
	}
	return &out.Contents, nil
}

// History implements [state.Store].
func (s *Store) History(ctx context.Context, name state.StackName) (records [][]byte, err error) {
	if err := usable(ctx, name); err != nil {
		return nil, err
	}
	err = s.db.read(ctx, func(t *tx) error {
		if err := t.room("SELECT octet_length(h.records) FROM history h JOIN stacks s ON s.id = h.stack WHERE s.project = ? AND s.name = ?", name.Project, name.Name); err != nil {
			return err
		}
		var text []byte
		found, err := t.row("SELECT h.records FROM history h JOIN stacks s ON s.id = h.stack WHERE s.project = ? AND s.name = ?", []any{name.Project, name.Name}, &text)
		if found {
			records = bytes.Split(text, []byte("\n"))
		}
		return err
	})
	return records, err
}

// SetHistory implements [state.Store].
func (s *Store) SetHistory(ctx context.Context, name state.StackName, records [][]byte) error {
	if err := usable(ctx, name); err != nil {
		return err
	}
	if err := state.CheckHistory(name, records); err != nil {
		return err
	}
	return s.db.write(ctx, func(t *tx) error {
		if err := t.fenced(name, backend.Token(ctx)); err != nil {
			return err
		}
		if len(records) == 0 {
			_, err := t.exec("DELETE FROM history WHERE stack = (SELECT id FROM stacks WHERE project = ? AND name = ?)", name.Project, name.Name)
			return err
		}
		id, err := s.stack(t, name)
		if err == nil {
			_, err = t.exec("INSERT INTO history VALUES (?, ?) ON CONFLICT (stack) DO UPDATE SET records = excluded.records", id, bytes.Join(records, []byte("\n")))
		}
		return err
	})
}
