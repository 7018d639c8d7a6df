package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// lockStack has other transactions wait that change which run of the stack of r is the first: each is to find what the one before has
// changed. It precedes locks of rows. SQLite has one writer at a time.
func (t *tx) lockStack(r *record) error {
	if !t.postgres {
		return nil
	}
	_, err := t.exec("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", r.tenant+"\n"+r.Project+"\n"+r.Stack)
	return err
}

// ready has the run of a condition be ready, if it is queued, its time has come, and it is the first of its stack, which is
// locked. The workers that can take it are woken once this is committed. A run that is ready but no longer the first is found by
// the index of ready runs, and not taken.
func (t *tx) ready(condition string, args ...any) error {
	var one wanted
	err := t.row("UPDATE husk_runs SET ready = "+t.now()+" WHERE "+condition+" AND state = 'queued' AND not_before <= "+t.now()+" AND "+firstOfStack+
		" RETURNING tenant, project, selector", args...).Scan(&one.tenant, &one.project, &one.selector)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	t.made = append(t.made, one)
	return err
}

// readyNext has the next run of the stack of r be ready.
func (t *tx) readyNext(r *record) error {
	return t.ready("number = (SELECT number FROM husk_runs WHERE tenant = ? AND project = ? AND stack = ? AND state IN ('queued', 'running', 'waiting') AND attention = 0 ORDER BY number LIMIT 1)",
		r.tenant, r.Project, r.Stack)
}

const (
	// lookAgain is how often a server looks for changes by the other servers of its database.
	lookAgain = time.Second
	// lookBack is how long before the last look what has committed since may have been made, and lookAt bounds the runs of one look.
	lookBack, lookAt = 2 * time.Second, int64(100)
)

// looked is the result of the last look.
type looked struct {
	// at is the time of the look, in milliseconds, and number the number of the last queued run that it read.
	at, number int64
	// runs are the states of the runs that somebody follows, by their IDs.
	runs map[string]string
}

// look has runs be ready whose time has come. With a database that several servers share it also tells who waits what others have changed:
// one transaction for all of them, because PgBouncer passes on no notifications.
func (s *Server) look() {
	ctx, stop := s.untilClosed(context.Background())
	defer stop()
	last := &looked{}
	for failing := false; ; {
		next, err := s.lookOnce(ctx, last)
		if err != nil && !failing && ctx.Err() == nil {
			slog.Warn("the queue cannot be read", "error", err)
		}
		if failing = err != nil; failing || s.db.postgres {
			next = min(next, lookAgain)
		}
		timer := time.NewTimer(next)
		select {
		case <-timer.C:
		case <-s.db.postponed:
		case <-s.closing:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// lookOnce looks once, and returns how long it is until the time of the next run comes.
func (s *Server) lookOnce(ctx context.Context, last *looked) (next time.Duration, err error) {
	const seldom = time.Hour
	var first []*record
	err = s.db.step(ctx, func(t *tx) error {
		first = nil
		if err := t.rows(func(scan func(...any) error) error {
			r := &record{}
			first = append(first, r)
			return scan(&r.ID, &r.tenant, &r.Project, &r.Stack)
		}, "SELECT id, tenant, project, stack FROM husk_runs WHERE state = 'queued' AND not_before > 0 AND not_before <= "+t.now()+" ORDER BY not_before LIMIT ?", lookAt); err != nil {
			return err
		}
		var left sql.NullInt64
		if err := t.row("SELECT min(not_before) - " + t.now() + " FROM husk_runs WHERE state = 'queued' AND not_before > 0").Scan(&left); err != nil {
			return err
		}
		if next = seldom; left.Valid {
			next = max(time.Duration(left.Int64)*time.Millisecond, 0)
		}
		if !t.postgres {
			return nil
		}
		if err := s.lookElsewhere(t, last); err != nil {
			return err
		}
		more, err := t.leftQueued(last)
		first = append(first, more...)
		return err
	})
	for _, r := range first {
		if err != nil {
			break
		}
		err = s.db.step(ctx, func(t *tx) error {
			if err := t.lockStack(r); err != nil {
				return err
			}
			if _, err := t.exec("UPDATE husk_runs SET not_before = 0 WHERE id = ? AND state = 'queued' AND not_before > 0 AND not_before <= "+t.now(), r.ID); err != nil {
				return err
			}
			return t.ready("id = ? AND ready = 0", r.ID) // another server may have done it
		})
	}
	return next, err
}

// lookElsewhere tells who waits what other servers have changed.
func (s *Server) lookElsewhere(t *tx, last *looked) error {
	if !s.db.ready.nobody() {
		if err := t.rows(func(scan func(...any) error) error {
			var one wanted
			err := scan(&one.tenant, &one.project, &one.selector)
			if err == nil {
				s.db.ready.wake(one) // none is kept: there may be many
			}
			return err
		}, "SELECT DISTINCT tenant, project, selector FROM husk_runs WHERE state = 'queued' AND ready > 0 AND ready >= ?", last.at-lookBack.Milliseconds()); err != nil {
			return err
		}
	}
	if err := t.row("SELECT " + t.now()).Scan(&last.at); err != nil {
		return err
	}
	is := make(map[string]string)
	names := s.changed.names()
	if err := t.those(func(scan func(...any) error) error {
		var id, state, worker string
		var attempt int
		var lines int64
		err := scan(&id, &state, &worker, &attempt, &lines)
		is[id] = fmt.Sprint(state, worker, attempt, lines)
		return err
	}, names, "SELECT id, "+stateColumn+", worker, attempt, lines FROM husk_runs WHERE id"); err != nil {
		return err
	}
	for _, id := range names {
		if was, ok := last.runs[id]; !ok || was != is[id] {
			s.changed.tell(id)
		}
	}
	last.runs = is
	valid := make(map[string]bool)
	names = s.revoked.names()
	if err := t.those(func(scan func(...any) error) error {
		var hash string
		err := scan(&hash)
		valid[hash] = true
		return err
	}, names, "SELECT hash FROM husk_tokens WHERE hash"); err != nil {
		return err
	}
	for _, hash := range names {
		if !valid[hash] {
			s.revoked.tell(hash)
		}
	}
	return nil
}

// leftQueued returns the runs among the next ones in the queue that could be ready and are not. Servers of an earlier version, while
// there are some, leave such.
func (t *tx) leftQueued(last *looked) (left []*record, err error) {
	n := int64(0)
	if err := t.rows(func(scan func(...any) error) error {
		r, could := &record{}, 0
		n++
		err := scan(&last.number, &r.ID, &r.tenant, &r.Project, &r.Stack, &could)
		if could == 1 {
			left = append(left, r)
		}
		return err
	}, "SELECT number, id, tenant, project, stack, CASE WHEN not_before <= "+t.now()+" AND "+firstOfStack+" THEN 1 ELSE 0 END"+
		" FROM husk_runs WHERE state = 'queued' AND ready = 0 AND number > ? ORDER BY number LIMIT ?", last.number, lookAt); err != nil {
		return nil, err
	}
	if n < lookAt {
		last.number = 0 // from the first one on
	}
	return left, nil
}

// those calls do for each row of a query that ends with a column, whose values are among some.
func (t *tx) those(do func(scan func(...any) error) error, values []string, query string) error {
	if len(values) == 0 {
		return nil
	}
	list, arg, err := t.list(values)
	if err != nil {
		return err
	}
	return t.rows(do, query+list, arg)
}

// wanted is a run that is ready, as far as it decides which workers may take it.
type wanted struct{ tenant, project, selector string }

// waiters are the workers that wait for a run.
type waiters struct {
	mu      sync.Mutex
	waiting map[chan struct{}]func(wanted) bool
}

// wait returns a channel that receives something after a run is ready that the caller wants, until the caller calls stop.
func (w *waiters) wait(wants func(wanted) bool) (woken <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting == nil {
		w.waiting = make(map[chan struct{}]func(wanted) bool)
	}
	w.waiting[c] = wants
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.waiting, c)
	}
}

// wake wakes everybody who wants a run.
func (w *waiters) wake(what wanted) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c, wants := range w.waiting {
		if wants(what) {
			signal(c)
		}
	}
}

// wants reports whether anybody waits who wants a run.
func (w *waiters) wants(what wanted) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, wants := range w.waiting {
		if wants(what) {
			return true
		}
	}
	return false
}

// wakeAll wakes everybody.
func (w *waiters) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.waiting {
		signal(c)
	}
}

func (w *waiters) nobody() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.waiting) == 0
}

// signal has a channel with room for one receive something, unless it has that already.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// news wakes who waits until something with a name changes.
type news struct {
	mu      sync.Mutex
	waiting map[string]map[chan struct{}]bool
}

// wait returns a channel that receives something after what has the name has changed, until the caller calls stop.
func (n *news) wait(name string) (changed <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waiting == nil {
		n.waiting = make(map[string]map[chan struct{}]bool)
	}
	if n.waiting[name] == nil {
		n.waiting[name] = make(map[chan struct{}]bool)
	}
	n.waiting[name][c] = true
	return c, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if delete(n.waiting[name], c); len(n.waiting[name]) == 0 {
			delete(n.waiting, name)
		}
	}
}

// tell says that what has the name has changed.
func (n *news) tell(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.waiting[name] {
		signal(c)
	}
}

// names returns the names whose changes somebody waits for.
func (n *news) names() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Keys(n.waiting))
}
