package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/internal/record"
	"github.com/husk-dev/husk/engine/state"
)

func (a *applier) applyUpdate(ctx context.Context, s *step) error {
	n := s.new
	now := a.now()
	n.ID, n.Created, n.Modified, n.ImportID = s.old.ID, s.old.Created, now, s.old.ImportID
	if !n.Custom {
		n.Outputs = s.old.Outputs
		return a.recorder.Record(ctx, record.Replace(s.old, n))
	}
	old := whileUpdated(s.old, n)
	var meanwhile, undone record.Change
	if old != s.old {
		meanwhile, undone = record.Replace(s.old, old), record.Replace(old, s.old)
	}
	op, err := a.recorder.Begin(ctx, state.OperationUpdating, n, meanwhile)
	if err != nil {
		return err
	}
	s.began = op
	resp, err := s.provider.Update(ctx, abi.UpdateRequest{
		URN: n.URN, Name: n.URN.Name(), Type: n.Type, ID: n.ID,
		Olds: s.old.Outputs, News: n.Inputs, OldInputs: s.old.Inputs,
		IgnoreChanges: n.IgnoreChanges, Timeout: timeouts(n).Update, Preview: a.previews(),
	})
	n.RefreshBeforeUpdate = resp.RefreshBeforeUpdate
	known := resp.State
	if err != nil && !a.previews() {
		known = s.old.Outputs
	}
	outputs, err := a.finishCall(ctx, s, op, undone.Ending(op), n.ID, known, err)
	if err != nil && outputs == nil {
		return err
	}
	if n.ID != s.old.ID {
		err = errors.Join(err, fmt.Errorf("provider changed the resource's ID from %q to %q in an update", s.old.ID, n.ID))
		n.ID = s.old.ID
	}
	n.Outputs = *outputs
	if recordErr := a.recorder.Record(ctx, record.Replace(old, n).Ending(op)); recordErr != nil {
		return errors.Join(err, fmt.Errorf("the resource was updated, but could not be recorded: %w", recordErr))
	}
	return err
}

// whileUpdated returns how a resource is recorded during its update to n: as it was, but needing all that it
// needed before and will need. A run that is cut off then leaves a state that names everything that the
// object may use, and nothing of that is deleted before it. An object whose owner may have changed is deleted
// by itself, and replaced with either owner. It is old itself if nothing is added.
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

// union returns a with the elements that only b has.
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

// stableOutputs adds to the outputs of a previewed update the ones that the provider is sure not to change.
func stableOutputs(s *step, outputs property.Map) property.Map {
	if s.op != OpUpdate || s.old == nil {
		return outputs
	}
	for _, key := range s.diff.stable {
		if !outputs.Has(key) && s.old.Outputs.Has(key) {
			outputs = outputs.With(key, s.old.Outputs.Get(key))
		}
	}
	return outputs
}

// previewOutputs adds to previewed outputs an unknown for each property of the schema that the provider left
// out. An optional input that was not given, or that the resource did not have before, stays away.
func (a *applier) previewOutputs(ctx context.Context, n *state.Resource, outputs property.Map) property.Map {
	if providers.IsType(n.Type) {
		return outputs
	}
	provider, err := a.providerOf(ctx, n)
	if err != nil {
		return outputs
	}
	res := a.describedBy(ctx, n, provider)
	if res == nil {
		return outputs
	}
	old := a.recorder.Lookup(n.URN)
	for _, p := range res.Outputs.Properties {
		if outputs.Has(p.Name) {
			continue
		}
		isInput := res.Inputs.Property(p.Name) != nil
		switch {
		case isInput && !n.Inputs.Has(p.Name):
		case n.ID != "" && old != nil && !old.Outputs.Has(p.Name):
		default:
			outputs = outputs.With(p.Name, property.Unknown)
		}
	}
	return outputs
}

// describedBy returns the schema of a resource's type, nil if there is none.
func (a *applier) describedBy(ctx context.Context, n *state.Resource, provider abi.Provider) *schema.Resource {
	var extension state.Extension
	if n.ExtensionRef != "" {
		var err error
		if extension, err = a.recorder.Extensions.Get(n.ExtensionRef); err != nil {
			return nil
		}
	}
	pkg := a.schemas.Package(ctx, providers.PackageOf(n.Type), extension, provider)
	if pkg == nil {
		return nil
	}
	return pkg.Resource(n.Type)
}
