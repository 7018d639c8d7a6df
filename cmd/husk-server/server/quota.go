package server

import (
	"context"
	"net/http"
	"os"
	"time"
)

// usedTime is how long the size of what a tenant keeps is taken as known.
const usedTime = 5 * time.Second

// size is what a tenant keeps, in bytes, at a time.
type size struct {
	bytes int64
	at    time.Time
}

// room returns an error if a tenant may not keep more bytes. What is under way goes on: a run must be able to record what it
// has done, so that only new bundles, modules, and stacks are
// refused, and reports of runs that are over.
func (s *Server) room(ctx context.Context, tenant string, bytes int64) error {
	if s.options.Quota == 0 {
		return nil
	}
	used, err := s.used(ctx, tenant)
	if err != nil {
		return err
	}
	if used+bytes > s.options.Quota {
		// No status that clients try again after.
		return refusef(http.StatusForbidden, "the team %s keeps %d MiB of states, modules, bundles, and logs, and may keep %d MiB: who runs the server sets --quota", tenant, used>>20, s.options.Quota>>20)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes[tenant] = size{used + bytes, s.sizes[tenant].at}
	return nil
}

// used returns how many bytes a tenant keeps.
func (s *Server) used(ctx context.Context, tenant string) (int64, error) {
	s.mu.Lock()
	known := s.sizes[tenant]
	s.mu.Unlock()
	if time.Since(known.at) < usedTime {
		return known.bytes, nil
	}
	var bundles, logs, states int64
	err := s.db.step(ctx, func(t *tx) error {
		if err := t.row("SELECT COALESCE(SUM(LENGTH(content)), 0) FROM husk_bundles WHERE tenant = ?", tenant).Scan(&bundles); err != nil {
			return err
		}
		if err := t.row("SELECT COALESCE(SUM(logged + LENGTH(request) + COALESCE(LENGTH(plan), 0)), 0) FROM husk_runs WHERE tenant = ?", tenant).Scan(&logs); err != nil || !t.postgres {
			return err
		}
		return t.row("SELECT COALESCE(SUM(pg_total_relation_size(c.oid)), 0) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"+
			" WHERE n.nspname = ? AND c.relkind = 'r'", stateSchema(tenant)).Scan(&states)
	})
	if err != nil {
		return 0, err
	}
	if !s.db.postgres {
		for _, suffix := range []string{"", "-wal"} { // what is not yet in the file, too
			if info, err := os.Stat(s.stateFile(tenant) + suffix); err == nil {
				states += info.Size()
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes[tenant] = size{bundles + logs + states, time.Now()}
	return bundles + logs + states, nil
}
