package host

import (
	"io"
	"sync/atomic"
	"time"
)

// used is a provider or a policy pack.
type used interface {
	io.Closer
	// endStale ends the instances that were idle since it was called last, and tells
	// whether some are idle now.
	endStale() bool
}

// idling has instances ended that are not needed. A host in which none is idle does
// nothing for it.
type idling struct {
	// count is how many are idle.
	count atomic.Int64
	armed atomic.Bool
	timer *time.Timer // guarded by Host.mu
	// crowded is set while some are being ended because they are too many.
	crowded atomic.Bool
}

// noteIdle is called when an instance has become idle.
func (h *Host) noteIdle() {
	i := &h.idling
	if i.count.Load() > int64(h.config.idleInstances) && i.crowded.CompareAndSwap(false, true) {
		h.background(func() {
			i.crowded.Store(false)
			h.endIdle()
		})
	}
	if i.armed.Load() || !i.armed.CompareAndSwap(false, true) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		i.timer = time.AfterFunc(h.config.idleTime, func() { h.background(h.endIdle) })
	}
}

// endIdle ends instances that were idle the last time, too.
func (h *Host) endIdle() {
	h.idling.armed.Store(false) // those that become idle meanwhile are noted
	h.mu.Lock()
	open := make([]used, 0, len(h.open))
	for u := range h.open {
		open = append(open, u)
	}
	h.mu.Unlock()
	left := false
	for _, u := range open {
		left = u.endStale() || left
	}
	if left {
		h.noteIdle()
	}
}

func (s *sandbox) endStale() bool {
	stale, left := s.instances.TakeStale()
	for _, i := range stale {
		i.Close()
	}
	return left
}
