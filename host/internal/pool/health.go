package pool

import (
	"strings"
	"sync"
	"time"
)

const (
	// firstBackoff is how long the start of an instance waits after a crash, mostBackoff how
	// long after many: each crash without a success in between doubles it.
	firstBackoff = 10 * time.Millisecond
	mostBackoff  = time.Second
)

// Quarantine is why a provider or policy pack is not called any more.
type Quarantine struct {
	// Crashes is how often it crashed within Window.
	Crashes int
	Window  time.Duration
	// Last is the last crash.
	Last string
}

// Health is how a provider or policy pack fares. A crash ends one call; many of them slow
// down how fast instances are started, and end the provider.
type Health struct {
	// Crashes within Window put it in quarantine.
	Crashes int
	Window  time.Duration

	mu sync.Mutex
	// at are the times of the last crashes, oldest first, and row is how many there were
	// since the last success.
	at          []time.Duration
	row         int
	quarantined *Quarantine
}

// Succeeded notes a call that succeeded.
func (h *Health) Succeeded() {
	h.mu.Lock()
	h.row = 0
	h.mu.Unlock()
}

// Crashed notes a call whose guest was lost.
func (h *Health) Crashed(now time.Duration, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.row++
	h.at = append(h.at, now)
	if len(h.at) < h.Crashes {
		return
	}
	h.at = h.at[len(h.at)-h.Crashes:]
	if now-h.at[0] <= h.Window && h.quarantined == nil {
		reason, _, _ = strings.Cut(reason, "\n")
		h.quarantined = &Quarantine{Crashes: h.Crashes, Window: h.Window, Last: reason}
	}
}

// Quarantine returns why calls are refused, nil if they are not.
func (h *Health) Quarantine() *Quarantine {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.quarantined
}

// Backoff returns how long the next start of an instance has to wait.
func (h *Health) Backoff() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.row == 0 {
		return 0
	}
	wait := firstBackoff
	for range h.row - 1 {
		if wait = min(2*wait, mostBackoff); wait == mostBackoff {
			break
		}
	}
	return wait
}

// Readmit forgets all crashes.
func (h *Health) Readmit() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at, h.row, h.quarantined = nil, 0, nil
}
