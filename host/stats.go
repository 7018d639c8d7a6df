package host

import (
	"maps"
	"sync"
)

// Failure says why a call failed, for [Stats]. The names are stable; beside these they are
// those of the limits that were exceeded, such as fuel.
type Failure string

const (
	// FailureError is an error that the provider answered.
	FailureError Failure = "error"
	// FailureTrap is a crash of the guest's code, FailureExit an end of its own.
	FailureTrap Failure = "trap"
	FailureExit Failure = "exit"
	// FailureBreach is an answer that is not what the contract asks for, or a request that
	// cannot be passed.
	FailureBreach Failure = "breach"
	// FailureCancelled is a call that its caller ended.
	FailureCancelled Failure = "cancelled"
	// FailureQuarantine is a call that was refused, as there were too many crashes.
	FailureQuarantine Failure = "quarantine"
)

// lost tells whether the guest is lost, and what became of its work is not known.
func (f Failure) lost() bool {
	switch Limit(f) {
	case LimitTime, LimitFuel, LimitHostCalls, LimitRandom, LimitMemory, LimitTotalMemory:
		return true
	}
	return f == FailureTrap || f == FailureExit
}

// Stats is what a provider, a policy pack, or all of a host have done, and what they have
// now.
type Stats struct {
	// Calls are those that reached an instance, the starts of instances and the
	// repetitions of their setup among them.
	Calls uint64
	// Failures are calls that failed, by the reason.
	Failures map[Failure]uint64
	// Started is how many instances were started, and Dropped how many of them were
	// discarded, as something went wrong in them.
	Started, Dropped uint64
	// Instances is how many there are, and Memory the size of their memories in bytes.
	Instances int
	Memory    uint64
}

// counters are statistics that are being counted. They are counted in the whole's, too.
type counters struct {
	whole *counters

	mu    sync.Mutex
	stats Stats
}

func (c *counters) count(change func(*Stats)) {
	for ; c != nil; c = c.whole {
		c.mu.Lock()
		change(&c.stats)
		c.mu.Unlock()
	}
}

func (c *counters) failed(reason Failure) {
	c.count(func(s *Stats) {
		if s.Failures == nil {
			s.Failures = make(map[Failure]uint64)
		}
		s.Failures[reason]++
	})
}

func (c *counters) read() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	stats := c.stats
	stats.Failures = maps.Clone(stats.Failures)
	return stats
}

// Stats tells what the instances have done.
func (s *sandbox) Stats() Stats {
	stats := s.counters.read()
	stats.Memory = s.budget.of(s)
	return stats
}

// Stats tells what all providers and policy packs of the host have done, those that were
// closed among them.
func (h *Host) Stats() Stats {
	stats := h.counters.read()
	stats.Memory = h.budget.of(nil)
	return stats
}
