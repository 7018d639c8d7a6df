package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
)

// diff is what differs between a recorded resource and its goal.
type diff struct {
	changes             abi.DiffChanges
	replace             bool
	deleteBeforeReplace bool
	detailed            []abi.PropertyDiff
	// keys are the top-level properties whose change replaces the resource.
	keys []string
	// reason explains a replacement or update that no property asks for.
	reason string
	// ofState marks the difference of two states, which a refresh finds.
	ofState bool
}

func (d diff) some() bool { return d.changes == abi.DiffChangesSome }

// replaceKeys names what causes a replacement, for messages.
func (d diff) replaceKeys() []string {
	var out []string
	for _, p := range d.detailed {
		if replaces(p.Kind) {
			out = append(out, p.Path)
		}
	}
	if len(out) == 0 {
		out = d.keys
	}
	if len(out) == 0 {
		out = []string{d.reason}
	}
	return out
}

func replaces(k abi.DiffKind) bool {
	return k == abi.DiffKindAddReplace || k == abi.DiffKindDeleteReplace || k == abi.DiffKindUpdateReplace
}

func asReplacement(k abi.DiffKind) abi.DiffKind {
	switch k {
	case abi.DiffKindAdd:
		return abi.DiffKindAddReplace
	case abi.DiffKindDelete:
		return abi.DiffKindDeleteReplace
	case abi.DiffKindUpdate:
		return abi.DiffKindUpdateReplace
	default:
		return k
	}
}

// diff finds what differs. The first that applies decides: a replacement
// trigger, a provider that cannot manage what the old one made, and then the
// comparison of a component's inputs or the answer of the provider.
func (g *generator) diff(ctx context.Context, gl *goal, provider abi.Provider, old, n *state.Resource) (diff, error) {
	if g.triggered(old, n) {
		return diff{changes: abi.DiffChangesSome, replace: true, reason: "its replacement trigger changed"}, nil
	}
	if !gl.custom {
		return componentDiff(old, n), nil
	}
	changed, err := g.providerChanged(ctx, old, n)
	if err != nil {
		return diff{}, err
	}
	if changed {
		return diff{changes: abi.DiffChangesSome, replace: true, keys: []string{"provider"}, reason: "its provider changed"}, nil
	}
	df, err := g.askProvider(ctx, provider, old, n.Inputs, gl.options.IgnoreChanges)
	if err != nil {
		return diff{}, err
	}
	return g.replaceOnChanges(gl, df), nil
}

// triggered compares replacement triggers; null on either side is no trigger.
func (g *generator) triggered(old, n *state.Resource) bool {
	a, b := old.ReplacementTrigger, n.ReplacementTrigger
	return !a.IsNull() && !b.IsNull() && !a.EqualContents(b)
}

func componentDiff(old, n *state.Resource) diff {
	if old.Inputs.Equal(n.Inputs) {
		return diff{changes: abi.DiffChangesNone}
	}
	return diff{changes: abi.DiffChangesSome, detailed: inputDiff(old.Inputs, n.Inputs)}
}

// askProvider calls Diff. Where the provider cannot tell whether something
// changed, the inputs are compared; where it cannot answer because its own
// configuration is not known, an update is assumed.
func (g *generator) askProvider(ctx context.Context, provider abi.Provider, old *state.Resource, inputs property.Map, ignore []string) (diff, error) {
	resp, err := provider.Diff(ctx, abi.DiffRequest{
		URN: old.URN, Name: old.URN.Name(), Type: old.Type, ID: old.ID,
		Olds: old.Outputs, News: inputs, OldInputs: old.Inputs, IgnoreChanges: ignore,
	})
	switch {
	case errors.Is(err, errUnconfigured):
		g.d.warn(old.URN, "the provider's configuration is not known yet: assuming that the resource will be updated")
		return diff{changes: abi.DiffChangesSome, detailed: inputDiff(old.Inputs, inputs),
			reason: "its provider's configuration is not known yet"}, nil
	case errors.Is(err, abi.ErrUnimplemented):
		resp = abi.DiffResponse{Changes: abi.DiffChangesUnknown}
	case err != nil:
		return diff{}, err
	}
	df := diff{
		changes: resp.Changes, detailed: resp.DetailedDiff,
		deleteBeforeReplace: resp.DeleteBeforeReplace, keys: resp.ReplaceKeys,
	}
	df.replace = len(resp.ReplaceKeys) > 0 || slices.ContainsFunc(resp.DetailedDiff, func(p abi.PropertyDiff) bool { return replaces(p.Kind) })
	switch {
	case len(df.detailed) > 0 || df.replace:
		df.changes = abi.DiffChangesSome
	case df.changes == abi.DiffChangesUnknown:
		df.detailed = inputDiff(old.Inputs.Unwrap(), inputs.Unwrap())
		df.changes = abi.DiffChangesNone
		if len(df.detailed) > 0 {
			df.changes = abi.DiffChangesSome
		}
	case df.changes == abi.DiffChangesSome:
		df.detailed = inputDiff(old.Inputs, inputs)
	}
	return df, nil
}

// inputDiff is the difference of two bags of inputs as a provider would tell it.
func inputDiff(old, new property.Map) []abi.PropertyDiff {
	var out []abi.PropertyDiff
	for _, c := range property.Diff(old, new) {
		kind := abi.DiffKindUpdate
		switch c.Kind {
		case property.ChangeAdd:
			kind = abi.DiffKindAdd
		case property.ChangeDelete:
			kind = abi.DiffKindDelete
		}
		out = append(out, abi.PropertyDiff{Path: c.Path.String(), Kind: kind, InputDiff: true})
	}
	return out
}

// replaceOnChanges makes changes of the properties that the program lists
// replace the resource.
func (g *generator) replaceOnChanges(gl *goal, df diff) diff {
	for _, text := range gl.options.ReplaceOnChanges {
		pattern, err := property.ParsePath(text)
		if err != nil {
			g.d.warn(gl.urn, "replaceOnChanges: %v", err)
			continue
		}
		for i, p := range df.detailed {
			path, err := property.ParsePath(p.Path)
			if err == nil && (pattern.Contains(path) || path.Contains(pattern)) {
				df.detailed = slices.Clone(df.detailed)
				df.detailed[i].Kind = asReplacement(p.Kind)
				df.replace = true
			}
		}
	}
	return df
}

// providerChanged reports whether the resource's provider is another one, and
// not able to manage what the old one made.
func (g *generator) providerChanged(ctx context.Context, old, n *state.Resource) (bool, error) {
	if old.Provider == n.Provider || isProviderType(n.Type) || old.Provider == "" {
		return false, nil
	}
	oldURN, _, err := splitReference(old.Provider)
	if err != nil {
		return false, err
	}
	newURN, _, err := splitReference(n.Provider)
	if err != nil {
		return false, err
	}
	g.mu.Lock()
	renamed := g.matched[oldURN] == newURN && oldURN != newURN
	g.mu.Unlock()
	if renamed {
		return false, nil
	}
	before := g.d.recorder.provider(old.Provider)
	if before == nil {
		return true, nil // nothing tells what the old one was
	}
	provider, err := g.d.registry.get(ctx, n.Provider)
	if err != nil {
		return false, err
	}
	inputs, err := g.d.registry.inputsOf(ctx, n.Provider)
	if err != nil {
		return false, err
	}
	resp, err := diffConfig(ctx, provider, abi.DiffRequest{
		URN: newURN, Name: newURN.Name(), Type: newURN.Type(), ID: before.ID,
		Olds: before.Outputs, News: inputs, OldInputs: before.Inputs,
	})
	if err != nil {
		return true, nil // it cannot tell
	}
	return len(resp.ReplaceKeys) > 0 || slices.ContainsFunc(resp.DetailedDiff, func(p abi.PropertyDiff) bool { return replaces(p.Kind) }), nil
}

// dependsOn calls f with every resource that res cannot exist without.
func dependsOn(res *state.Resource, f func(urn.URN)) {
	if ref, _, err := splitReference(res.Provider); err == nil {
		f(ref)
	}
	if res.Parent != "" {
		f(res.Parent)
	}
	for _, u := range res.Dependencies {
		f(u)
	}
	for _, deps := range res.PropertyDependencies {
		for _, u := range deps {
			f(u)
		}
	}
	if res.DeletedWith != "" {
		f(res.DeletedWith)
	}
	for _, u := range res.ReplaceWith {
		f(u)
	}
}
