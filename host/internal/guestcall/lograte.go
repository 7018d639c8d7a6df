package guestcall

import (
	"sync"
	"time"
)

// LogRate bounds what all instances of a provider log, in bytes per second. After too much, nothing passes
// until there is a second's worth again, so that the log has few holes.
type LogRate struct {
	PerSecond int

	mu      sync.Mutex
	left    int
	since   time.Duration
	dry     bool
	dropped int
}

// burst is how many seconds' worth may be logged at once.
const burst = 4

// NewLogRate returns an unused rate.
func NewLogRate(perSecond int) *LogRate {
	return &LogRate{PerSecond: perSecond, left: burst * perSecond}
}

// Most is the size of the largest record that can pass, in bytes.
func (r *LogRate) Most() int { return burst * r.PerSecond }

// Take decides whether a record passes. dries is set for the first that does not, and dropped counts the bytes
// before the first that passes again.
func (r *LogRate) Take(now time.Duration, bytes int) (passes, dries bool, dropped int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if passed := now - r.since; passed >= burst*time.Second {
		r.left, r.since = burst*r.PerSecond, now
	} else if more := time.Duration(r.PerSecond) * passed / time.Second; more > 0 {
		r.left = min(r.left+int(more), burst*r.PerSecond)
		r.since += more * time.Second / time.Duration(r.PerSecond) // parts of a byte add up
	}
	if r.left < bytes || r.dry && r.left < r.PerSecond {
		dries = !r.dry
		r.dry = true
		r.dropped += bytes
		return false, dries, 0
	}
	r.left -= bytes
	dropped, r.dropped, r.dry = r.dropped, 0, false
	return true, false, dropped
}
