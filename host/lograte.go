package host

import (
	"sync"
	"time"
)

// logRate bounds what all instances of a provider log, in bytes per second. Where too much
// came, nothing passes until there is a second's worth again, so that what is left has no
// hole at every other line.
type logRate struct {
	perSecond int

	mu      sync.Mutex
	left    int
	since   time.Duration
	dry     bool
	dropped int
}

// burst is how many seconds' worth may be logged at once.
const burst = 4

func newLogRate(perSecond int) *logRate {
	return &logRate{perSecond: perSecond, left: burst * perSecond}
}

// most is the size of the largest record that can pass, in bytes.
func (r *logRate) most() int { return burst * r.perSecond }

// take decides whether a record of so many bytes passes. It is the first one to be dropped
// if dries is set, and after dropped bytes the first one to pass again.
func (r *logRate) take(now time.Duration, bytes int) (passes, dries bool, dropped int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if passed := now - r.since; passed >= burst*time.Second {
		r.left, r.since = burst*r.perSecond, now
	} else if more := time.Duration(r.perSecond) * passed / time.Second; more > 0 {
		r.left = min(r.left+int(more), burst*r.perSecond)
		r.since += more * time.Second / time.Duration(r.perSecond) // parts of a byte add up
	}
	if r.left < bytes || r.dry && r.left < r.perSecond {
		dries = !r.dry
		r.dry = true
		r.dropped += bytes
		return false, dries, 0
	}
	r.left -= bytes
	dropped, r.dropped, r.dry = r.dropped, 0, false
	return true, false, dropped
}
