package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/record"
	"github.com/husk-dev/husk/engine/state"
)

func (d *deployment) applyUpdate(ctx context.Context, s *step) error {
	n := s.new
	now := d.now()
	n.ID, n.Created, n.Modified, n.ImportID = s.old.ID, s.old.Created, now, s.old.ImportID
	if !n.Custom {
		n.Outputs = s.old.Outputs
		return d.recorder.Record(ctx, record.Replace(s.old, n))
	}
	old := whileUpdated(s.old, n)
	var meanwhile, undone record.Change
	if old != s.old {
		meanwhile, undone = record.Replace(s.old, old), record.Replace(old, s.old)
	}
	op, err := d.recorder.Begin(ctx, state.OperationUpdating, n, meanwhile)
	if err != nil {
		return err
	}
	s.began = op
	resp, err := s.provider.Update(ctx, abi.UpdateRequest{
		URN: n.URN, Name: n.URN.Name(), Type: n.Type, ID: n.ID,
		Olds: s.old.Outputs, News: n.Inputs, OldInputs: s.old.Inputs,
		IgnoreChanges: n.IgnoreChanges, Timeout: timeouts(n).Update, Preview: d.dryRun,
	})
	n.RefreshBeforeUpdate = resp.RefreshBeforeUpdate
	outputs, err := d.finishCall(ctx, s, undone.Ending(op), n.ID, resp.State, err)
	if err != nil && outputs == nil {
		return err
	}
	if n.ID != s.old.ID {
		err = errors.Join(err, fmt.Errorf("provider changed the resource's ID from %q to %q in an update", s.old.ID, n.ID))
		n.ID = s.old.ID
	}
	n.Outputs = *outputs
	if recordErr := d.recorder.Record(ctx, record.Replace(old, n).Ending(op)); recordErr != nil {
		return errors.Join(err, fmt.Errorf("the resource was updated, but could not be recorded: %w", recordErr))
	}
	return err
}

// whileUpdated is how a resource is recorded while an update is under way, which makes it n:
// as it was, but needing all that it needed before and will need. So a run that is cut off
// leaves a state that tells everything that the object may use, and nothing of that is
// deleted before it. An object that may have another owner now does not go with one of
// them: it is deleted, and replaced where they are. It is old itself where nothing is added.
func whileUpdated(old, n *state.Resource) *state.Resource {
	m := clone(old)
	m.Dependencies = union(old.Dependencies, n.Dependencies)
	m.PropertyDependencies = maps.Clone(old.PropertyDependencies)
	for key, deps := range n.PropertyDependencies {
		if m.PropertyDependencies == nil {
			m.PropertyDependencies = make(map[string][]urn.URN)
		}
		m.PropertyDependencies[key] = union(m.PropertyDependencies[key], deps)
	}
	m.ReplaceWith = union(old.ReplaceWith, n.ReplaceWith)
	if old.DeletedWith != n.DeletedWith {
		m.DeletedWith = ""
		for _, owner := range []urn.URN{old.DeletedWith, n.DeletedWith} {
			if owner != "" {
				m.ReplaceWith = union(m.ReplaceWith, []urn.URN{owner})
			}
		}
	}
	if durablyDifferent(old, m) {
		return m
	}
	return old
}

// union is a with what b has besides.
func union(a, b []urn.URN) []urn.URN {
	if slices.Equal(a, b) {
		return a
	}
	in := make(map[urn.URN]bool, len(a))
	for _, u := range a {
		in[u] = true
	}
	out := slices.Clip(a)
	for _, u := range b {
		if !in[u] {
			out = append(out, u)
		}
	}
	return out
}
