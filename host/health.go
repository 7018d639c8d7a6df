package host

import (
	"fmt"
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

// QuarantineError is a provider or policy pack that crashed too often to be called again.
// [Provider.Readmit] has it called again; so does making another one of its module.
type QuarantineError struct {
	// Crashes is how often it crashed within Window.
	Crashes int
	Window  time.Duration
	// Last is what the last crash was.
	Last string
	// Advice says how to have more crashes forgiven, see [Config.WithAdvice]; empty for what
	// this package offers.
	Advice string
}

func (e *QuarantineError) Error() string {
	advice := e.Advice
	if advice == "" {
		advice = "make it anew or Readmit it to try again"
	}
	return fmt.Sprintf("it crashed %d times within %s and is in quarantine, so that it is not called any more; %s; the last crash: %s",
		e.Crashes, e.Window, advice, e.Last)
}

// WithQuarantine sets how many crashes within a time put a provider in quarantine. See
// [DefaultQuarantineCrashes] and [DefaultQuarantineWindow].
func (c Config) WithQuarantine(crashes int, window time.Duration) Config {
	c.most.crashes, c.most.crashWindow = crashes, window
	return c
}

// health is how a provider or policy pack fares. A crash ends one call; many of them slow
// down how fast instances are started, and end the provider.
type health struct {
	crashes int
	window  time.Duration

	mu sync.Mutex
	// at are the times of the last crashes, oldest first, and row is how many there were
	// since the last success.
	at          []time.Duration
	row         int
	quarantined *QuarantineError
}

// well is a call that succeeded.
func (h *health) well() {
	h.mu.Lock()
	h.row = 0
	h.mu.Unlock()
}

// crashed is a call whose guest was lost.
func (h *health) crashed(now time.Duration, reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.row++
	h.at = append(h.at, now)
	if len(h.at) < h.crashes {
		return
	}
	h.at = h.at[len(h.at)-h.crashes:]
	if now-h.at[0] <= h.window && h.quarantined == nil {
		reason, _, _ = strings.Cut(reason, "\n")
		h.quarantined = &QuarantineError{Crashes: h.crashes, Window: h.window, Last: reason}
	}
}

// admit answers why calls are refused, nil if they are not.
func (h *health) admit() *QuarantineError {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.quarantined
}

// backoff is how long the next start of an instance has to wait.
func (h *health) backoff() time.Duration {
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

// readmit forgets all crashes.
func (h *health) readmit() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at, h.row, h.quarantined = nil, 0, nil
}

// Readmit ends a quarantine (see [QuarantineError]), and forgets the crashes that led to it.
func (s *sandbox) Readmit() { s.health.readmit() }
