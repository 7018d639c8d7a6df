package server

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/husk-dev/husk/internal/backend/runapi"
)

// status returns what the server does, for a tenant or for all.
func (s *Server) status(ctx context.Context, tenant string) (*runapi.Status, error) {
	const lately = time.Hour
	now := time.Now()
	out := &runapi.Status{
		Version: s.options.Version, Database: "sqlite", Last: map[runapi.State]int{}, Workers: []runapi.WorkerStatus{}, Waits: map[string]runapi.Wait{},
	}
	if s.db.postgres {
		out.Database = "postgres"
	}
	all := 0
	if tenant == everyTenant {
		all = 1
	}
	err := s.db.step(ctx, func(t *tx) error {
		var err error
		if out.Runs, out.Oldest, err = t.queue(tenant, all); err != nil {
			return err
		}
		const eachRun = 32 // two numbers, in lists that grow
		if err := t.room("SELECT ? * count(*) FROM husk_runs WHERE ended > ? AND (tenant = ? OR 1 = ?)", eachRun, millis(now.Add(-lately)), tenant, all); err != nil {
			return err
		}
		var waits, times []float64
		err = t.rows(func(scan func(...any) error) error {
			var state runapi.State
			var made, began, ended int64
			if err := scan(&state, &made, &began, &ended); err != nil {
				return err
			}
			out.Last[state]++
			if began > 0 {
				waits, times = append(waits, float64(began-made)/1000), append(times, float64(ended-began)/1000)
			}
			return nil
		}, "SELECT state, made, began, ended FROM husk_runs WHERE ended > ? AND (tenant = ? OR 1 = ?)", millis(now.Add(-lately)), tenant, all)
		if err != nil {
			return err
		}
		out.Waits["queued"], out.Waits["running"] = quantiles(waits), quantiles(times)
		if err := t.room("SELECT COALESCE(SUM(octet_length(name) + octet_length(labels) + ?), 0) FROM husk_workers WHERE seen > ? AND (tenant = ? OR tenant = '*' OR 1 = ?)",
			smallRow, millis(now.Add(-present)), tenant, all); err != nil {
			return err
		}
		return t.rows(func(scan func(...any) error) error {
			var w runapi.WorkerStatus
			var labels string
			var seen int64
			if err := scan(&w.Name, &labels, &w.Slots, &w.Running, &seen); err != nil {
				return err
			}
			w.Seen = timeOf(seen)
			out.Workers = append(out.Workers, w)
			return json.Unmarshal([]byte(labels), &out.Workers[len(out.Workers)-1].Labels)
		}, "SELECT name, labels, slots, running, seen FROM husk_workers WHERE seen > ? AND (tenant = ? OR tenant = '*' OR 1 = ?) ORDER BY name", millis(now.Add(-present)), tenant, all)
	})
	return out, err
}

func quantiles(all []float64) runapi.Wait {
	if len(all) == 0 {
		return runapi.Wait{}
	}
	slices.Sort(all)
	at := func(q float64) float64 { return all[int(q*float64(len(all)-1))] }
	return runapi.Wait{Median: at(.5), P99: at(.99)}
}
