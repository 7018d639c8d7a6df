package server

import (
	"context"
	"net/http"
	"os"
	"time"

	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/workspace/bundle"
)

func (s *Server) hasBundle(ctx context.Context, c *caller, digest string) error {
	if err := c.require(runapi.Preview, ""); err != nil {
		return err
	}
	return s.db.step(ctx, func(t *tx) error {
		// One that is used again is not removed before its run is queued.
		n, err := t.exec("UPDATE husk_bundles SET made = ? WHERE tenant = ? AND digest = ?", millis(t.Now()), c.tenant, digest)
		if err == nil && n == 0 {
			err = refusef(http.StatusNotFound, "the bundle is not here")
		}
		return err
	})
}

// hasBundle returns an error unless a team has sent a bundle.
func (t *tx) hasBundle(tenant, digest string) error {
	var n int
	err := t.row("SELECT count(*) FROM husk_bundles WHERE tenant = ? AND digest = ?", tenant, digest).Scan(&n)
	if err == nil && n == 0 {
		err = refusef(http.StatusConflict, "the bundle %s is not here: send it first", digest)
	}
	return err
}

// putBundle stores the files of a project. Whether there is room for them is known before they are sent.
func (s *Server) putBundle(w http.ResponseWriter, r *http.Request, c *caller) (any, error) {
	if err := c.require(runapi.Preview, ""); err != nil {
		return nil, err
	}
	digest, said := r.PathValue("digest"), r.ContentLength
	if err := s.room(r.Context(), c.tenant, max(said, 0)); err != nil {
		return nil, err
	}
	content, _, done, err := s.body(w, r, c, bundle.MaxBytes)
	if err != nil {
		return nil, err
	}
	defer done()
	if is := backend.Digest(content); is != digest {
		return nil, refusef(http.StatusBadRequest, "the bundle has the digest %s, and was sent as %s", is, digest)
	}
	if said < 0 {
		if err := s.room(r.Context(), c.tenant, int64(len(content))); err != nil {
			return nil, err
		}
	}
	const copies = 2 // of the database
	if err := intake.Room(r.Context(), copies*int64(len(content))); err != nil {
		return nil, err
	}
	return nil, s.db.step(r.Context(), func(t *tx) error { return t.addBundle(c.tenant, digest, content) })
}

// addBundle stores a bundle of a team, unless it has that.
func (t *tx) addBundle(tenant, digest string, content []byte) error {
	_, err := t.exec("INSERT INTO husk_bundles (tenant, digest, made, size) VALUES (?, ?, ?, ?) ON CONFLICT (tenant, digest) DO UPDATE SET made = excluded.made",
		tenant, digest, millis(t.Now()), len(content))
	if err == nil {
		_, err = t.exec("INSERT INTO husk_contents (tenant, digest, content) VALUES (?, ?, ?) ON CONFLICT (tenant, digest) DO NOTHING", tenant, digest, content)
	}
	return err
}

// sendBundle sends the bundle of a run to the worker that does the run.
func (s *Server) sendBundle(w http.ResponseWriter, r *http.Request, c *caller) error {
	if err := c.isRun(); err != nil {
		return err
	}
	var size int64
	if err := s.db.step(r.Context(), func(t *tx) error {
		return t.row("SELECT size FROM husk_bundles WHERE tenant = ? AND digest = ?", c.tenant, c.run.Bundle).Scan(&size)
	}); err != nil {
		return err
	}
	done, err := s.going.begin(c, size)
	if err != nil {
		return err
	}
	defer done()
	const copies = 2 // one is the database's
	var content []byte
	if err := s.db.step(r.Context(), func(t *tx) (err error) {
		content, err = t.content(copies, "content", "husk_contents WHERE tenant = ? AND digest = ?", c.tenant, c.run.Bundle)
		return err
	}); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/gzip")
	deadlines := http.NewResponseController(w)
	_ = deadlines.SetWriteDeadline(time.Now().Add(timeFor(size)))
	_, _ = w.Write(content) // a worker that is gone asks again
	_ = deadlines.Flush()
	_ = deadlines.SetWriteDeadline(time.Time{})
	return nil
}

// usedTime is how long the known size of a tenant's data counts as up to date.
const usedTime = 5 * time.Second

// size is how many bytes a tenant keeps, and when they were counted.
type size struct {
	bytes int64
	at    time.Time
}

// room returns an error if a tenant may not keep more bytes. Runs go on, because a run must be able to record its steps: only new
// bundles, modules, and stacks are refused, and reports of ended runs.
func (s *Server) room(ctx context.Context, tenant string, bytes int64) error {
	return s.roomWithin(ctx, tenant, bytes, s.options.Quota)
}

// roomForStranger is room for files of somebody without a token: nobody fills the quota of a team with changes from forks.
func (s *Server) roomForStranger(ctx context.Context, tenant string, bytes int64) error {
	const part = 2
	return s.roomWithin(ctx, tenant, bytes, s.options.Quota/part)
}

// roomWithin is [Server.room] with a bound of its own.
func (s *Server) roomWithin(ctx context.Context, tenant string, bytes, most int64) error {
	if err := s.countSize(ctx, tenant); err != nil {
		return err
	}
	return s.takeRoom(tenant, bytes, most)
}

// takeRoom adds bytes to the known size of a tenant, or returns an error if the sum exceeds most. Without a quota, it does nothing.
func (s *Server) takeRoom(tenant string, bytes, most int64) error {
	if s.options.Quota == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	used := s.sizes[tenant]
	if used.bytes+bytes > most {
		// No status that clients try again after.
		return refusef(http.StatusForbidden, "the team %s keeps %d MiB of states, modules, bundles, runs, logs, and entries of the audit log, and may keep %d MiB:"+
			" who runs the server sets --quota", tenant, used.bytes>>20, s.options.Quota>>20)
	}
	used.bytes += bytes
	s.sizes[tenant] = used
	return nil
}

// roomForRequest is room for a request that leaves a run, a schedule, or an entry of the audit log.
func (s *Server) roomForRequest(ctx context.Context, tenant string, bytes int) error {
	if err := s.countSize(ctx, tenant); err != nil {
		return err
	}
	return s.takeRequest(tenant, bytes)
}

// takeRequest is [Server.takeRoom] for a request. Small ones have more room than all else, so that a team without room can remove something.
func (s *Server) takeRequest(tenant string, bytes int) error {
	const reserve, rows = 16, 2 // the part of the quota, and what is written besides: the run or schedule, and the entry
	most := s.options.Quota
	if bytes <= smallRequest {
		most += most / reserve
	}
	return s.takeRoom(tenant, int64(bytes+rows*smallRow), most)
}

// countSize counts how many bytes a tenant keeps, unless it has been counted lately or there is no quota.
func (s *Server) countSize(ctx context.Context, tenant string) error {
	if s.options.Quota == 0 {
		return nil
	}
	s.mu.Lock()
	known := s.sizes[tenant]
	s.mu.Unlock()
	if time.Since(known.at) < usedTime {
		return nil
	}
	var bundles, runs, states int64
	err := s.db.step(ctx, func(t *tx) error {
		if err := t.row("SELECT COALESCE(SUM(size), 0) FROM husk_bundles WHERE tenant = ?", tenant).Scan(&bundles); err != nil {
			return err
		}
		if err := t.row("SELECT (SELECT COALESCE(SUM(bytes), 0) FROM husk_kept WHERE tenant = ?)"+
			" + (SELECT COALESCE(SUM(? + logged + octet_length(request) - kept), 0) FROM husk_runs WHERE tenant = ? AND state = 'running')"+
			" + (SELECT COALESCE(SUM(octet_length(content)), 0) FROM husk_plans JOIN husk_runs r ON r.id = run WHERE r.tenant = ?)"+
			" + (SELECT COALESCE(SUM(octet_length(run)), 0) FROM husk_schedules WHERE tenant = ?)",
			tenant, smallRow, tenant, tenant, tenant).Scan(&runs); err != nil || !t.postgres {
			return err
		}
		return t.row("SELECT COALESCE(SUM(pg_total_relation_size(c.oid)), 0) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"+
			" WHERE n.nspname = ? AND c.relkind = 'r'", stateSchema(tenant)).Scan(&states)
	})
	if err != nil {
		return err
	}
	if !s.db.postgres {
		for _, suffix := range []string{"", "-wal"} { // SQLite writes changes there first
			if info, err := os.Stat(s.stateFile(tenant) + suffix); err == nil {
				states += info.Size()
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes[tenant] = size{bundles + runs + states, time.Now()}
	return nil
}
