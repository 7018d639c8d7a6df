package server

import (
	"maps"
	"slices"
	"sync"
)

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
