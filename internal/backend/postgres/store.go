package postgres

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
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

// expiry is the end of a lease that is held now.
var expiry = fmt.Sprintf("clock_timestamp() + interval '%d seconds'", int(leaseTime.Seconds()))

// Store is a [state.Store].
type Store struct {
	db      *db
	updates backend.Updates
}

var _ backend.Resumer = (*Store)(nil)

func usable(ctx context.Context, name state.StackName) error {
	return cmp.Or(name.Validate(), ctx.Err())
}

// List implements [state.Store].
func (s *Store) List(ctx context.Context) ([]state.StackName, error) {
	rows, err := s.db.readBounded(ctx, func(most int64) statement {
		return listed("SELECT project, name FROM @stacks WHERE present", "project, name", "project, name", most)
	})
	if err != nil {
		return nil, err
	}
	var names []state.StackName
	for _, r := range rows {
		names = append(names, state.StackName{Project: r.text(0), Name: r.text(1)})
	}
	slices.SortFunc(names, func(a, b state.StackName) int { return cmp.Compare(a.String(), b.String()) })
	return names, nil
}

// Create implements [state.Store].
func (s *Store) Create(ctx context.Context, name state.StackName, checkpoint []byte) error {
	if err := usable(ctx, name); err != nil {
		return err
	}
	_, repeated, err := s.db.step(ctx, sql("SELECT @make($1, $2, $3)", name.Project, name.Name, checkpoint))
	if !isCode(err, codeExists) {
		return err
	}
	if repeated {
		// An earlier attempt may have made it.
		made, err := s.db.confirm(ctx, sql("SELECT id FROM @stacks WHERE project = $1 AND name = $2 AND present AND last = 0 AND checkpoint = $3",
			name.Project, name.Name, checkpoint))
		if err != nil || len(made) > 0 {
			return err
		}
	}
	return state.StackExists(name, s.db.place)
}

// Load implements [state.Store].
func (s *Store) Load(ctx context.Context, name state.StackName) (*state.Contents, error) {
	if err := usable(ctx, name); err != nil {
		return nil, err
	}
	found, err := s.load(ctx, name, "s.present AND s.project = $1 AND s.name = $2", name.Project, name.Name)
	if err == nil && found == nil {
		err = state.StackNotFound(name, s.db.place)
	}
	if err != nil {
		return nil, err
	}
	return &found.Contents, found.gap()
}

// loaded is the view of a stack in one statement, and so at one moment.
type loaded struct {
	state.Contents
	last, revision int64
}

// load returns the stack of a condition, nil if there is none.
func (s *Store) load(ctx context.Context, name state.StackName, where string, args ...any) (*loaded, error) {
	rows, err := s.db.readBounded(ctx, func(most int64) statement {
		fits := fmt.Sprintf("size <= $%d::bigint", len(args)+1)
		return sql(fmt.Sprintf(`
			WITH s AS (SELECT * FROM @stacks s WHERE %s),
				z AS (SELECT (coalesce(length(s.checkpoint), 0) + coalesce((SELECT sum(length(j.record) + %d) FROM @journal j WHERE j.stack = s.id), 0))::bigint AS size FROM s)
			SELECT size, 0::bigint, s.sequence, CASE WHEN %[3]s THEN s.checkpoint END, s.last, s.revision FROM s, z
			UNION ALL SELECT size, 1, j.sequence, j.record, 0, 0 FROM s, z, @journal j WHERE j.stack = s.id AND %[3]s
			ORDER BY 2, 3`, where, nameSize, fits), append(slices.Clone(args), most)...)
	})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return s.contents(name, rows), nil
}

// contents returns the contents in rows: the first has the number 0, the sequence number, the checkpoint, the number of the last
// record, and the revision; the others, in order, 1, a sequence number, and a record.
func (s *Store) contents(name state.StackName, rows []row) *loaded {
	first := rows[0]
	out := &loaded{last: first.int(3), revision: first.int(4)}
	out.CheckpointFile = fmt.Sprintf("the checkpoint of %s in %s", name, s.db.place)
	out.JournalFile = fmt.Sprintf("the journal of %s in %s", name, s.db.place)
	out.CheckpointRemedy = "husk stack restore restores an earlier state"
	out.JournalRemedy = "husk state repair --journal keeps the records before the damage"
	out.Checkpoint, out.Sequence = first[2], uint64(first.int(1))
	for _, r := range rows[1:] {
		want := out.Sequence + uint64(len(out.Records)) + 1
		if is := uint64(r.int(1)); out.Damage != nil || is != want {
			out.Lost = append(out.Lost, state.LostRecord{Sequence: is, Record: r[2]})
			out.missing(want)
			continue
		}
		out.Records = append(out.Records, r[2])
	}
	if want := out.Sequence + uint64(len(out.Records)); out.Damage == nil && want != uint64(out.last) {
		out.missing(want + 1)
	}
	return out
}

// missing says that a record is gone: somebody has changed the table, or the server has lost it.
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
	l, _, err := s.take(ctx, name, holder, rand.Text(), false)
	if err != nil {
		return nil, err
	}
	l.keep(ctx)
	return l, nil
}

// LeaseAndLoad implements [state.Store].
func (s *Store) LeaseAndLoad(ctx context.Context, name state.StackName, holder state.Holder) (state.Lease, *state.Contents, error) {
	l, c, err := s.taken(ctx, name, holder, rand.Text(), true)
	if err != nil {
		return nil, nil, err
	}
	l.keep(ctx)
	return l, c, nil
}

// taken takes the lease, and loads the state if that is asked for.
func (s *Store) taken(ctx context.Context, name state.StackName, holder state.Holder, id string, load bool) (*lease, *state.Contents, error) {
	l, found, err := s.take(ctx, name, holder, id, load)
	if err != nil || !load {
		return l, nil, err
	}
	if err := found.gap(); err != nil {
		return nil, nil, errors.Join(err, l.drop(ctx))
	}
	l.last, l.loaded = found.last, true
	return l, &found.Contents, nil
}

// LeaseAs implements [backend.Resumer].
func (s *Store) LeaseAs(ctx context.Context, name state.StackName, holder state.Holder, key backend.LeaseKey, load bool) (state.Lease, *state.Contents, error) {
	rows, err := s.db.read(ctx, sql("SELECT count(*) FROM @stacks WHERE lease IS NOT NULL AND starts_with(lease, $1)", key.LeasesOf()))
	if err == nil && rows[0].int(0) >= backend.MaxLeases {
		err = backend.ErrManyLeases
	}
	if err != nil {
		return nil, nil, err
	}
	l, c, err := s.taken(ctx, name, holder, key.String(), load)
	if err != nil {
		return nil, nil, err
	}
	return l, c, nil
}

// Resume implements [backend.Resumer].
func (s *Store) Resume(ctx context.Context, name state.StackName, key backend.LeaseKey) (state.Lease, error) {
	rows, err := s.db.read(ctx, sql("SELECT id, token, revision, last FROM @stacks WHERE project = $1 AND name = $2 AND lease = $3", name.Project, name.Name, key.String()))
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, state.Fenced(name)
	}
	r := rows[0]
	return &lease{store: s, name: name, id: key.String(), stack: r.int(0), token: r.int(1), revision: r.int(2), last: r.int(3), loaded: true, resumed: true, stop: func() {}}, nil
}

// Extend implements [backend.Resumer].
func (s *Store) Extend(ctx context.Context, name state.StackName, key backend.LeaseKey) error {
	rows, _, err := s.db.step(ctx, sql("UPDATE @stacks SET expires = "+expiry+" WHERE project = $1 AND name = $2 AND lease = $3 RETURNING id", name.Project, name.Name, key.String()))
	if err == nil && len(rows) == 0 {
		err = state.Fenced(name)
	}
	return err
}

// Continue implements [backend.Resumer].
func (s *Store) Continue(ctx context.Context, name state.StackName, token, sequence uint64, records [][]byte) error {
	missing, err := s.missing(ctx, name, token, sequence, records)
	if err != nil || len(missing) == 0 {
		return err
	}
	var statements []statement
	for i, record := range missing {
		statements = append(statements, sql(`
			WITH held AS (UPDATE @stacks SET last = $4::bigint WHERE project = $1 AND name = $2 AND present AND token = $3 AND last = $4::bigint - 1 RETURNING id)
			INSERT INTO @journal SELECT id, $4::bigint, $5 FROM held`, name.Project, name.Name, token, sequence+uint64(len(records)-len(missing)+i), record))
	}
	if _, _, err := s.db.step(ctx, statements...); err != nil {
		return err
	}
	missing, err = s.missing(ctx, name, token, sequence, records)
	if err == nil && len(missing) > 0 {
		err = backend.ErrRaced
	}
	return err
}

// missing returns which records are to be appended.
func (s *Store) missing(ctx context.Context, name state.StackName, token, sequence uint64, records [][]byte) ([][]byte, error) {
	if err := usable(ctx, name); err != nil {
		return nil, err
	}
	rows, err := s.db.confirm(ctx, sql(`SELECT s.token, s.last, j.sequence, j.record
		FROM @stacks s LEFT JOIN @journal j ON j.stack = s.id AND j.sequence BETWEEN $3 AND $4 WHERE s.project = $1 AND s.name = $2 AND s.present`,
		name.Project, name.Name, sequence, sequence+uint64(len(records))))
	if err == nil && len(rows) == 0 {
		err = state.StackNotFound(name, s.db.place)
	}
	if err != nil {
		return nil, err
	}
	tail := backend.Tail{Token: uint64(rows[0].int(0)), Last: uint64(rows[0].int(1)), Records: make(map[uint64][]byte)}
	for _, r := range rows {
		if r[2] != nil {
			tail.Records[uint64(r.int(2))] = r[3]
		}
	}
	return tail.Missing(name, token, sequence, records)
}

// EndLeases implements [backend.Resumer].
func (s *Store) EndLeases(ctx context.Context, owner string, stack state.StackName) error {
	which, args := "", []any{backend.LeasesOf(owner)}
	if stack != (state.StackName{}) {
		which, args = " AND project = $2 AND name = $3", append(args, stack.Project, stack.Name)
	}
	_, _, err := s.db.step(ctx, sql("UPDATE @stacks SET lease = NULL, holder = NULL, expires = NULL, revision = revision + 1 WHERE starts_with(lease, $1)"+which, args...))
	return err
}

// take takes the lease, and reads what the stack has in the same transaction if that is asked for: it holds the row of
// the stack, without which nobody changes anything.
func (s *Store) take(ctx context.Context, name state.StackName, holder state.Holder, id string, load bool) (*lease, *loaded, error) {
	if err := usable(ctx, name); err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(holder)
	if err != nil {
		return nil, nil, err
	}
	most := int64(math.MaxInt64)
	if load && intake.IsBounded(ctx) {
		most = firstRoom
		if err := intake.Room(ctx, most); err != nil {
			return nil, nil, err
		}
	}
	// Taking the lease again is for an attempt whose answer was lost. One that arrives after the lease was released finds its name.
	rows, _, err := s.db.step(ctx,
		sql(`UPDATE @stacks SET token = token + CASE WHEN lease = $3 THEN 0 ELSE 1 END, revision = revision + CASE WHEN lease = $3 THEN 0 ELSE 1 END,
				lease = $3, holder = CASE WHEN lease = $3 THEN holder ELSE $4 END, expires = `+expiry+`
			WHERE project = $1 AND name = $2 AND present
				AND (lease = $3 OR lease IS NULL AND holder IS DISTINCT FROM $3 OR expires < clock_timestamp())`, name.Project, name.Name, id, string(text)),
		sql(fmt.Sprintf(`WITH s AS (SELECT *, coalesce(lease = $3, false) AS mine FROM @stacks WHERE project = $1 AND name = $2 AND present),
				z AS (SELECT (coalesce(length(s.checkpoint), 0) + coalesce((SELECT sum(length(j.record) + %d) FROM @journal j WHERE j.stack = s.id), 0)
					+ coalesce((SELECT length(h.records) FROM @history h WHERE h.stack = s.id), 0))::bigint AS size FROM s),
				l AS (SELECT size, s.mine AND $4::boolean AND size <= $5::bigint AS loads FROM s, z)
			SELECT 0::bigint, s.sequence, CASE WHEN loads THEN s.checkpoint END, s.last, s.revision, s.id, s.token, s.mine, s.holder, size FROM s, l
			UNION ALL SELECT 1, j.sequence, j.record, 0, 0, 0, 0, true, NULL, 0 FROM l, s, @journal j WHERE j.stack = s.id AND loads
			UNION ALL SELECT 2, 0, h.records, 0, 0, 0, 0, true, NULL, 0 FROM l, s, @history h WHERE h.stack = s.id AND loads
			ORDER BY 1, 2`, nameSize), name.Project, name.Name, id, load, most))
	if err != nil {
		return nil, nil, err
	}
	if len(rows) == 0 {
		return nil, nil, state.StackNotFound(name, s.db.place)
	}
	r := rows[0]
	if !r.isTrue(7) && string(r[8]) == id {
		return nil, nil, state.Fenced(name)
	}
	if !r.isTrue(7) {
		locked := &state.LockedError{Stack: name}
		_ = json.Unmarshal(r[8], &locked.Holder) // what cannot be read is not known
		return nil, nil, locked
	}
	l := &lease{store: s, name: name, id: id, stack: r.int(5), token: r.int(6), revision: r.int(4), stop: func() {}}
	if !load {
		return l, nil, nil
	}
	if bytes := r.int(9); bytes > most {
		found, err := l.load(ctx) // once there is room for it; the history is read when somebody asks for that
		if err != nil {
			return nil, nil, errors.Join(err, l.drop(ctx))
		}
		return l, found, nil
	}
	var updates [][]byte
	if last := rows[len(rows)-1]; last.int(0) == 2 {
		updates, rows = bytes.Split(last[2], []byte("\n")), rows[:len(rows)-1]
	}
	s.updates.Keep(name, l.Token(), updates)
	return l, s.contents(name, rows), nil
}

// Break implements [state.Store].
func (s *Store) Break(ctx context.Context, name state.StackName) error {
	token, err := s.Held(ctx, name)
	if err != nil || token == 0 {
		return err
	}
	// An attempt whose connection was lost may arrive when the next one has been answered, and must not break a lease that was
	// taken since.
	return s.BreakHeld(ctx, name, token)
}

// Held implements [backend.Resumer].
func (s *Store) Held(ctx context.Context, name state.StackName) (token uint64, err error) {
	if err := usable(ctx, name); err != nil {
		return 0, err
	}
	rows, err := s.db.read(ctx, sql("SELECT CASE WHEN lease IS NULL THEN 0 ELSE token END FROM @stacks WHERE project = $1 AND name = $2 AND present", name.Project, name.Name))
	if err == nil && len(rows) == 0 {
		err = state.StackNotFound(name, s.db.place)
	}
	if err != nil {
		return 0, err
	}
	return uint64(rows[0].int(0)), nil
}

// BreakHeld implements [backend.Resumer].
func (s *Store) BreakHeld(ctx context.Context, name state.StackName, token uint64) error {
	if err := usable(ctx, name); err != nil {
		return err
	}
	_, _, err := s.db.step(ctx, sql(`UPDATE @stacks SET lease = NULL, holder = NULL, expires = NULL, revision = revision + 1
		WHERE project = $1 AND name = $2 AND token = $3 AND lease IS NOT NULL`, name.Project, name.Name, int64(token)))
	return err
}

// Backups implements [state.Store].
func (s *Store) Backups(ctx context.Context, name state.StackName) ([]state.BackupInfo, error) {
	if err := usable(ctx, name); err != nil {
		return nil, err
	}
	rows, err := s.db.read(ctx, sql(`SELECT b.number, (extract(epoch FROM b.written) * 1000000)::bigint
		FROM @backups b JOIN @stacks s ON s.id = b.stack WHERE s.project = $1 AND s.name = $2 ORDER BY 1 DESC`, name.Project, name.Name))
	if err != nil {
		return nil, err
	}
	var out []state.BackupInfo
	for _, r := range rows {
		out = append(out, state.BackupInfo{ID: strconv.FormatInt(r.int(0), 10), Written: r.time(1)})
	}
	return out, nil
}

// Backup implements [state.Store].
func (s *Store) Backup(ctx context.Context, name state.StackName, id string) (*state.Contents, error) {
	if err := usable(ctx, name); err != nil {
		return nil, err
	}
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil || strconv.FormatInt(number, 10) != id {
		return nil, fmt.Errorf("the stack %s: %w: %q", name, state.ErrNoBackup, id)
	}
	rows, err := s.db.readBounded(ctx, func(most int64) statement {
		return sql(fmt.Sprintf(`
			WITH b AS (SELECT b.* FROM @backups b JOIN @stacks s ON s.id = b.stack WHERE s.project = $1 AND s.name = $2 AND b.number = $3),
				z AS (SELECT (length(b.checkpoint) + coalesce((SELECT sum(length(r.record) + %d) FROM @backup_records r WHERE r.stack = b.stack AND r.number = b.number), 0))::bigint AS size FROM b)
			SELECT size, 0::bigint, sequence, CASE WHEN size <= $4::bigint THEN checkpoint END FROM b, z
			UNION ALL SELECT size, 1, r.sequence, r.record FROM b, z, @backup_records r WHERE r.stack = b.stack AND r.number = b.number AND size <= $4::bigint
			ORDER BY 2, 3`, nameSize), name.Project, name.Name, number, most)
	})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("the stack %s: %w: %q", name, state.ErrNoBackup, id)
	}
	out := &state.Contents{
		CheckpointFile: fmt.Sprintf("the backup %s of %s in %s", id, name, s.db.place),
		JournalFile:    fmt.Sprintf("the records after the backup %s of %s in %s", id, name, s.db.place),
		Checkpoint:     rows[0][2], Sequence: uint64(rows[0].int(1)),
	}
	for _, r := range rows[1:] {
		want := out.Sequence + uint64(len(out.Records)) + 1
		if is := uint64(r.int(1)); out.Damage != nil || is != want {
			if out.Damage == nil {
				out.Damage = &state.CorruptError{File: out.JournalFile, Offset: -1, Journal: true, Reason: fmt.Sprintf("record %d is missing", want)}
			}
			out.Lost = append(out.Lost, state.LostRecord{Sequence: is, Record: r[2]})
			continue
		}
		out.Records = append(out.Records, r[2])
	}
	return out, nil
}

// History implements [state.Store].
func (s *Store) History(ctx context.Context, name state.StackName) ([][]byte, error) {
	if err := usable(ctx, name); err != nil {
		return nil, err
	}
	if records, ok := s.updates.Take(ctx, name); ok {
		return records, nil
	}
	rows, err := s.db.readBounded(ctx, one("h.records", "", "@history h JOIN @stacks s ON s.id = h.stack WHERE s.project = $1 AND s.name = $2", name.Project, name.Name))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return bytes.Split(rows[0][0], []byte("\n")), nil
}

// SetHistory implements [state.Store].
func (s *Store) SetHistory(ctx context.Context, name state.StackName, records [][]byte) error {
	if err := usable(ctx, name); err != nil {
		return err
	}
	if err := state.CheckHistory(name, records); err != nil {
		return err
	}
	_, _ = s.updates.Take(ctx, name) // the data read is out of date now
	token := backend.Token(ctx)
	change := setHistory(name, records, token)
	if len(records) == 0 {
		change = sql(`WITH s AS (SELECT id FROM @stacks WHERE project = $1 AND name = $2 AND `+fencedBy("$3")+`),
			gone AS (DELETE FROM @history h USING s WHERE h.stack = s.id) SELECT id FROM s`, name.Project, name.Name, token)
	}
	rows, _, err := s.db.step(ctx, holding(name, token), change)
	if err == nil && len(rows) == 0 {
		err = s.db.fenced(ctx, name, token)
		if err == nil && len(records) > 0 {
			err = state.StackNotFound(name, s.db.place)
		}
	}
	return err
}

// setHistory replaces the history of a stack, and returns a row unless there was a later lease than the one of the token,
// which is 0 for none.
func setHistory(name state.StackName, records [][]byte, token uint64) statement {
	return sql(`INSERT INTO @history SELECT id, $3 FROM @stacks WHERE project = $1 AND name = $2 AND present AND `+fencedBy("$4")+`
		ON CONFLICT (stack) DO UPDATE SET records = excluded.records RETURNING stack`, name.Project, name.Name, bytes.Join(records, []byte("\n")), token)
}

// errOtherStore refuses a step of leases that are not of two stacks of one database.
var errOtherStore = errors.New("the two leases are not of two stacks of one store")
