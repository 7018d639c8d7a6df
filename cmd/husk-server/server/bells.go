package server

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// bells wake who waits for something.
type bells[T any] struct {
	mu      sync.Mutex
	waiting map[chan struct{}]func(T) bool
}

// wait returns a channel that receives something after what the caller wants has happened, until the caller calls stop.
func (b *bells[T]) wait(wants func(T) bool) (rung <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == nil {
		b.waiting = make(map[chan struct{}]func(T) bool)
	}
	b.waiting[c] = wants
	return c, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.waiting, c)
	}
}

// ring wakes everybody who waits for what has happened.
func (b *bells[T]) ring(what T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c, wants := range b.waiting {
		if wants(what) {
			select {
			case c <- struct{}{}:
			default: // it was rung already
			}
		}
	}
}

func (b *bells[T]) nobody() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting) == 0
}

// wanted is a queued run, as far as it decides which workers may take it.
type wanted struct{ tenant, project, selector string }

func wantedOf(r *record) wanted { return wanted{r.tenant, r.Project, r.selector} }

// look polls the database for all waiting workers: for runs that another server has queued, and for runs whose time has come.
func (s *Server) look() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		select {
		case <-s.closing:
			stop() // what is read is not waited for
		case <-ctx.Done():
		}
	}()
	ticks := time.NewTicker(lookAgain)
	defer ticks.Stop()
	for {
		select {
		case <-s.closing:
			return
		case <-ticks.C:
		}
		if s.queued.nobody() {
			continue
		}
		err := s.db.step(ctx, func(t *tx) error {
			return t.rows(func(scan func(...any) error) error {
				var one wanted
				err := scan(&one.tenant, &one.project, &one.selector)
				if err == nil {
					s.queued.ring(one) // none is kept: there may be many
				}
				return err
			}, "SELECT DISTINCT tenant, project, selector FROM husk_runs WHERE state = 'queued' AND not_before <= "+t.now()+" AND "+firstOfStack)
		})
		if err != nil && ctx.Err() == nil {
			slog.Warn("the queue cannot be read", "error", err)
		}
	}
}
