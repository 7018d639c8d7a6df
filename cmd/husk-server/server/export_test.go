package server

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"
)

// Take takes memory that a team may have, until the caller calls give.
func (s *Server) Take(team string, bytes int64) (give func()) {
	held := s.memory.Hold(team)
	if err := held.Add(bytes); err != nil {
		panic(err)
	}
	return held.End
}

// Exec changes the database.
func (s *Server) Exec(ctx context.Context, statement string, args ...any) error {
	return s.db.step(ctx, func(t *tx) error {
		_, err := t.exec(statement, args...)
		return err
	})
}

// Away has leases of runs and the time that is counted be as if the database had been away for a time, and its clock had gone on, or
// had been set back if the time is negative.
func (s *Server) Away(ctx context.Context, long time.Duration) error {
	return s.db.step(ctx, func(t *tx) error {
		for _, statement := range []string{"UPDATE husk_counted SET at = at - ?", "UPDATE husk_runs SET lease = lease - ? WHERE state = 'running'"} {
			if _, err := t.exec(statement, long.Milliseconds()); err != nil {
				return err
			}
		}
		return nil
	})
}

// Count returns the number that a query gives.
func (s *Server) Count(ctx context.Context, query string, args ...any) (n int, err error) {
	return n, s.db.step(ctx, func(t *tx) error { return t.row(query, args...).Scan(&n) })
}

// MakeEarlier makes the tables of an earlier version, the first of which is 1, and changes them.
func MakeEarlier(ctx context.Context, o Options, version int, statements ...string) error {
	all := changes
	changes, schemaVersion = all[:version], version
	defer func() { changes, schemaVersion = all, len(all) }()
	d, err := openDB(ctx, o.Database, o.Dir)
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if _, one := d.ExecContext(ctx, statement); one != nil {
			err = errors.Join(err, one)
		}
	}
	return errors.Join(err, d.Close())
}

// PruneAudit removes what the audit log does not keep.
func (s *Server) PruneAudit(ctx context.Context) error { return s.pruneAudit(ctx, time.Now()) }

// Prune removes what is old.
func (s *Server) Prune(ctx context.Context) error { return s.prune(ctx, time.Now()) }

// EndLater returns a function that ends the lease of the worker that has a run now, by the token of the run.
func (s *Server) EndLater(token string) func(context.Context) {
	var r *record
	if err := s.db.step(context.Background(), func(t *tx) (err error) {
		r, err = t.runWhere("token = ?", hashOf(token))
		return err
	}); err != nil {
		panic(err)
	}
	return func(ctx context.Context) { s.endLease(ctx, r) }
}

// Due sets the next time of a schedule to now, and adds its timer.
func (s *Server) Due(ctx context.Context, tenant, name string) error {
	return s.due(ctx, tenant, name, func(t *tx, args scheduleArgs, last string) error {
		return s.plan(ctx, t, args, time.Now(), last, "")
	})
}

// Begin does what a timer of a schedule does.
func (s *Server) Begin(ctx context.Context, tenant, name string) error {
	var timer scheduleArgs
	if err := s.due(ctx, tenant, name, func(t *tx, args scheduleArgs, _ string) error {
		timer = args
		_, err := t.exec("UPDATE husk_schedules SET next = ? WHERE tenant = ? AND name = ?", time.Now().UnixMilli(), tenant, name)
		return err
	}); err != nil {
		return err
	}
	return (&scheduler{s: s}).Work(ctx, &river.Job[scheduleArgs]{Args: timer})
}

func (s *Server) due(ctx context.Context, tenant, name string, do func(t *tx, args scheduleArgs, last string) error) error {
	return s.db.step(ctx, func(t *tx) error {
		args, last := scheduleArgs{Tenant: tenant, Name: name}, ""
		if err := t.row("SELECT version, last FROM husk_schedules WHERE tenant = ? AND name = ?", tenant, name).Scan(&args.Version, &last); err != nil {
			return err
		}
		return do(t, args, last)
	})
}
