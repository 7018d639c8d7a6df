package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// planning holds an update to a plan, and makes the plan of a preview.
type planning struct {
	plan *Plan // to keep to, nil for none

	mu    sync.Mutex
	draft *Plan // of a preview, nil if nobody wants it
}

// newPlanning is for updates and their previews.
func newPlanning(d settings, dryRun bool) (*planning, error) {
	p := &planning{plan: d.Plan}
	if d.DraftPlan && dryRun {
		p.draft = &Plan{Project: d.Project, Stack: d.Stack, Resources: make(map[urn.URN]*PlannedResource)}
	}
	if p.plan != nil && (p.plan.Project != d.Project || p.plan.Stack != d.Stack) {
		return p, fmt.Errorf("the plan is of the stack %s/%s, and this one is %s/%s", p.plan.Project, p.plan.Stack, d.Project, d.Stack)
	}
	return p, nil
}

// drafted returns the draft's entry of a resource. The caller holds the lock.
func (p *planning) drafted(u urn.URN) *PlannedResource {
	r := p.draft.Resources[u]
	if r == nil {
		r = &PlannedResource{}
		p.draft.Resources[u] = r
	}
	return r
}

// seed returns what random parts of a resource's inputs are made from: the same in an
// update as in the preview that planned it.
func (p *planning) seed(u urn.URN) []byte {
	if p.plan != nil {
		if r := p.plan.Resources[u]; r != nil && len(r.Seed) > 0 {
			return r.Seed
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.draft != nil {
		if r := p.drafted(u); len(r.Seed) > 0 {
			return r.Seed
		}
	}
	seed := newSeed()
	if p.draft != nil {
		p.drafted(u).Seed = seed
	}
	return seed
}

// registration holds a registration to the plan: n is what it aims at, nil if it is
// not known. No step has been taken yet.
func (p *planning) registration(n *state.Resource, steps []*step) error {
	if n == nil {
		return nil
	}
	if p.plan != nil {
		if err := p.plan.Resources[n.URN].checkGoal(n); err != nil {
			return err
		}
		var errs []error
		for _, s := range steps {
			u := s.subject().URN
			errs = append(errs, p.plan.Resources[u].checkStep(u, s.op))
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.draft == nil {
		return nil
	}
	goal := clone(n) // the step fills in what it learns
	goal.Outputs = property.Map{}
	p.drafted(n.URN).Goal = goal
	for _, s := range steps {
		r := p.drafted(s.subject().URN)
		r.Steps = append(r.Steps, s.op)
	}
	return nil
}

// outputs holds the outputs of a component or of the stack to the plan.
func (p *planning) outputs(u urn.URN, outputs property.Map) error {
	if p.plan != nil {
		if r := p.plan.Resources[u]; r != nil && r.Goal != nil {
			if err := checkProperties(u, "outputs", outputs, r.Goal.Outputs); err != nil {
				return err
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.draft != nil {
		if r := p.drafted(u); r.Goal != nil {
			r.Goal.Outputs = outputs
		}
	}
	return nil
}

// deletions holds what is about to be deleted, after the program has ended, to the plan.
// What was to be deleted and is no longer there is as planned.
func (p *planning) deletions(d *deployment, condemned []*state.Resource) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	gone := make(map[urn.URN]bool)
	var errs []error
	for _, res := range condemned {
		op := deletion(res)
		gone[res.URN] = true
		if p.plan != nil {
			errs = append(errs, p.plan.Resources[res.URN].checkStep(res.URN, op))
		}
		if p.draft != nil {
			r := p.drafted(res.URN)
			r.Steps = append(r.Steps, op)
		}
	}
	if p.plan == nil {
		return nil
	}
	for _, u := range slices.Sorted(maps.Keys(p.plan.Resources)) {
		r := p.plan.Resources[u]
		switch {
		case gone[u]: // see above
		case r.Goal != nil && !d.registrations.IsRegistered(u):
			errs = append(errs, &PlanError{URN: u, Part: "registration", Actual: none, Planned: shown(join(r.Steps))})
		case r.Goal == nil && len(r.Steps) > 0 && d.recorder.Lookup(u) != nil && !d.registrations.DeletedEarly.Has(u):
			errs = append(errs, &PlanError{URN: u, Part: "step", Actual: none, Planned: join(r.Steps)})
		}
	}
	return errors.Join(errs...)
}
