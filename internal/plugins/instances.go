package plugins

import (
	"maps"
	"slices"

	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/backend/runlog"
)

// user is a provider or policy pack that has instances.
type user struct {
	module *Module
	policy bool
	stats  func() host.Stats
}

func (p *Plugins) addUser(u user) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users = append(p.users, u)
}

// Instances returns the statistics of each module's providers and policy packs since [Open], sorted by name.
func (p *Plugins) Instances() []runlog.Instances {
	p.mu.Lock()
	users := slices.Clone(p.users)
	p.mu.Unlock()
	sums := make(map[string]*runlog.Instances)
	for _, u := range users {
		digest := u.module.Info().Digest
		key := u.module.Name + " " + digest
		sum := sums[key]
		if sum == nil {
			sum = &runlog.Instances{Name: u.module.Name, Version: u.module.Version, Digest: digest, Policy: u.policy}
			sums[key] = sum
		}
		s := u.stats()
		sum.Instances += s.Instances
		sum.Memory += s.Memory
		sum.Calls += s.Calls
		sum.Started += s.Started
		sum.Dropped += s.Dropped
		for _, m := range s.Methods {
			sum.Fuel += m.Fuel
		}
		for reason, n := range s.Failures {
			if sum.Failures == nil {
				sum.Failures = make(map[string]uint64)
			}
			sum.Failures[string(reason)] += n
		}
	}
	out := make([]runlog.Instances, 0, len(sums))
	for _, key := range slices.Sorted(maps.Keys(sums)) {
		out = append(out, *sums[key])
	}
	return out
}
