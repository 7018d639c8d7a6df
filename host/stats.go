package host

import (
	"maps"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host/internal/guestcall"
	"github.com/husk-dev/husk/host/limit"
)

// Failure is the cause of a failed call, for [Stats]: a name below, or the name of a limit, such as fuel. Names are stable.
type Failure string

const (
	// FailureError is an error that the provider answered.
	FailureError Failure = "error"
	// FailureTrap is a crash of the guest's code, FailureExit an end of its own.
	FailureTrap Failure = "trap"
	FailureExit Failure = "exit"
	// FailureBreach is an answer that breaks the contract, or a request that cannot be passed.
	FailureBreach Failure = "breach"
	// FailureCancelled is a call that its caller ended.
	FailureCancelled Failure = "cancelled"
	// FailureQuarantine is a call that was refused, as there were too many crashes.
	FailureQuarantine Failure = "quarantine"
)

// lost reports whether the guest is lost, so that the outcome of its work is unknown.
func (f Failure) lost() bool {
	switch limit.Limit(f) {
	case limit.Time, limit.Fuel, limit.HostCalls, limit.RandomBytes, limit.Memory, limit.TotalMemory, limit.TableElements, limit.OpenFiles, limit.TotalFiles, limit.Stack, limit.StackDepth:
		return true
	}
	return f == FailureTrap || f == FailureExit
}

// Stats counts the work of a provider, a policy pack, or a host, and its current resources.
type Stats struct {
	// Calls reached an instance: starts of instances and repetitions of their setup too.
	Calls uint64
	// Failures are calls that failed, by the reason.
	Failures map[Failure]uint64
	// Methods has the cost of the calls of each method, by its WIT name.
	Methods map[string]MethodStats
	// Started counts started instances, and Dropped the faulty ones.
	Started, Dropped uint64
	// Abandoned counts work of the host for a guest that did not end with the call: a disk, or a function of
	// the program did not answer. The instance counts below until it does.
	Abandoned uint64
	// Instances is how many there are, and Memory the size of their memories in bytes.
	Instances int
	Memory    uint64
}

// MethodStats is the cost of the calls of a method. Those that failed count as well.
type MethodStats struct {
	Calls uint64
	// BySchema is how many more the host answered by the provider's schema, without a guest.
	BySchema uint64
	// Fuel is the work of the guest, in units as for [Config.WithFuel].
	Fuel uint64
	// BytesIn and BytesOut are the sizes of property values that were passed to the guest, and by it.
	BytesIn, BytesOut uint64
}

// counters are running statistics, which add to the whole's.
type counters struct {
	whole *counters

	mu    sync.Mutex
	stats Stats // without Methods
	// methods becomes Stats.Methods. It is searched faster than a map, because few methods are called.
	methods []countedMethod
}

type countedMethod struct {
	name  abi.Method
	stats MethodStats
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

// cost counts a call that has ended, and its cost.
func (c *counters) cost(method abi.Method, fuel uint64, t *guestcall.CallBuffers) {
	in, out := t.In.Swap(0), t.Out.Swap(0)
	for ; c != nil; c = c.whole {
		c.mu.Lock()
		c.stats.Calls++
		m := c.method(method)
		m.Calls++
		m.Fuel += fuel
		m.BytesIn += in
		m.BytesOut += out
		c.mu.Unlock()
	}
}

// answeredBySchema counts a call that no guest has served.
func (c *counters) answeredBySchema(method abi.Method) {
	for ; c != nil; c = c.whole {
		c.mu.Lock()
		c.method(method).BySchema++
		c.mu.Unlock()
	}
}

// method returns the cost of the calls of a method. The caller holds the lock.
func (c *counters) method(name abi.Method) *MethodStats {
	for i := range c.methods {
		if m := &c.methods[i]; m.name == name {
			return &m.stats
		}
	}
	c.methods = append(c.methods, countedMethod{name: name})
	return &c.methods[len(c.methods)-1].stats
}

func (c *counters) read() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	stats := c.stats
	stats.Failures = maps.Clone(stats.Failures)
	if len(c.methods) > 0 {
		stats.Methods = make(map[string]MethodStats, len(c.methods))
	}
	for _, m := range c.methods {
		stats.Methods[string(m.name)] = m.stats
	}
	return stats
}

// Stats returns the statistics of the instances.
func (s *sandbox) Stats() Stats {
	stats := s.counters.read()
	stats.Memory = s.budget.Held(s.instances)
	return stats
}

// Stats returns the statistics of all providers and policy packs of the host, including closed ones.
func (h *Host) Stats() Stats {
	stats := h.counters.read()
	stats.Memory = h.budget.Used()
	return stats
}
