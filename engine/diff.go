package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/listdiff"
)

// diff is the difference between a recorded resource and its goal.
type diff struct {
	changes             abi.DiffChanges
	replace             bool
	deleteBeforeReplace bool
	detailed            []abi.PropertyDiff
	// keys are the top-level properties whose change replaces the resource.
	keys []string
	// stable are the top-level properties that the provider is sure will not change.
	stable []string
	// reason explains a replacement or update that no property asks for.
	reason string
	// maybe says that a replacement is not certain: a preview does not know the configuration of a provider.
	maybe bool
	// ofState marks the difference of two states, which a refresh finds.
	ofState bool
}

func (d diff) changed() bool { return d.changes == abi.DiffChangesSome }

// replaceKeys names what causes a replacement, for messages.
func (d diff) replaceKeys() []string {
	var out []string
	for _, p := range d.detailed {
		if diffKinds[p.Kind].replaces {
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

// diffKinds says how each kind of difference is shown, and its kind if replaced or undone.
var diffKinds = map[abi.DiffKind]struct {
	name               string
	replaces           bool
	replacing, inverse abi.DiffKind
}{
	abi.DiffKindAdd:           {"add", false, abi.DiffKindAddReplace, abi.DiffKindDelete},
	abi.DiffKindAddReplace:    {"add", true, abi.DiffKindAddReplace, abi.DiffKindDelete},
	abi.DiffKindDelete:        {"delete", false, abi.DiffKindDeleteReplace, abi.DiffKindAdd},
	abi.DiffKindDeleteReplace: {"delete", true, abi.DiffKindDeleteReplace, abi.DiffKindAdd},
	abi.DiffKindUpdate:        {"update", false, abi.DiffKindUpdateReplace, abi.DiffKindUpdate},
	abi.DiffKindUpdateReplace: {"update", true, abi.DiffKindUpdateReplace, abi.DiffKindUpdate},
}

// diff returns the differences. The first that applies decides: a reason to replace the resource whatever its inputs are, a
// provider that cannot manage the old object, the inputs of a component, and the provider.
func (g *generator) diff(ctx context.Context, provider abi.Provider, old, n *state.Resource) (diff, error) {
	reason, err := g.mustReplace(old, n)
	if err != nil {
		return diff{}, err
	}
	if reason != "" {
		return diff{
			changes: abi.DiffChangesSome, replace: true, reason: reason,
			deleteBeforeReplace: old.Custom == n.Custom && g.mustDeleteFirst(ctx, provider, old, n),
		}, nil
	}
	changed, maybe, err := g.providerChanged(ctx, old, n)
	if err != nil {
		return diff{}, err
	}
	if changed {
		df := diff{changes: abi.DiffChangesSome, replace: true, keys: []string{"provider"}, reason: "its provider changed", maybe: maybe}
		if maybe {
			df.reason = "its provider may be replaced, whose settings are not known yet"
		}
		return df, nil
	}
	if (!n.Custom || g.LegacyDiff) && old.Inputs.Equal(n.Inputs) {
		return diff{changes: abi.DiffChangesNone}, nil
	}
	if !n.Custom {
		return diff{changes: abi.DiffChangesSome, detailed: inputDiff(old.Inputs, n.Inputs)}, nil
	}
	df, err := g.askProvider(ctx, provider, old, n.Inputs, n.IgnoreChanges)
	if err != nil {
		return diff{}, err
	}
	if df.replace && providers.IsType(n.Type) && g.previews() {
		s, err := g.registry.pendingSession(n.URN)
		if err != nil {
			return diff{}, err
		}
		if _, df.maybe, err = foresee(ctx, s, diffRequest(old, n.Inputs, n.IgnoreChanges)); err != nil {
			return diff{}, err
		}
		if df.maybe {
			df.reason = "unknown inputs may replace it: " + strings.Join(unknownKeys(old.Inputs, n.Inputs), ", ")
		}
	}
	return g.replaceOnChanges(old, n.ReplaceOnChanges, df), nil
}

// mustReplace returns why a resource is replaced whatever its inputs are, empty if it is not.
func (g *generator) mustReplace(old, n *state.Resource) (reason string, err error) {
	trigger, was := n.ReplacementTrigger, old.ReplacementTrigger
	if trigger.ContainsUnknowns() && !g.previews() {
		return "", errors.New("the replacement trigger is not known")
	}
	switch {
	case !was.IsNull() && !trigger.IsNull() && !was.EqualContents(trigger): // null means no trigger
		return "its replacement trigger changed", nil
	case old.Taint:
		return "it is tainted", nil
	case g.selection.Replaces(n.URN) && n.Type != urn.RootType && !providers.IsDefault(n.URN): // which are nobody's own
		return "its replacement was asked for", nil
	case old.Custom != n.Custom:
		return "it was a component, or is one now", nil
	case g.registrations.Replaced.Get(n.DeletedWith), old.DeletedWith == n.DeletedWith && g.isOfOldCopy(old, n.DeletedWith):
		return n.DeletedWith.Name() + ", which it is deleted with, is replaced", nil
	}
	for _, u := range n.ReplaceWith {
		if g.registrations.Replaced.Get(u) || slices.Contains(old.ReplaceWith, u) && g.isOfOldCopy(old, u) {
			return u.Name() + ", which it is replaced with, is replaced", nil
		}
	}
	return "", nil
}

// mustDeleteFirst reports whether the provider says that the old copy is in the way of the new one, for a
// resource that is replaced whatever its inputs are.
func (g *generator) mustDeleteFirst(ctx context.Context, provider abi.Provider, old, n *state.Resource) bool {
	if changed, _, err := g.providerChanged(ctx, old, n); !n.Custom || changed || err != nil {
		return false
	}
	resp, err := provider.Diff(ctx, diffRequest(old, n.Inputs, n.IgnoreChanges))
	return err == nil && resp.DeleteBeforeReplace
}

// errOutdated says that the provider compares a resource only after a read, since another version of it made the
// recorded state. It is an error for the user if that was just read.
var errOutdated = errors.New("the provider asks that the resource be read before it is compared, and it was just read: " +
	"this is a fault of the provider")

// askProvider calls Diff. It compares the inputs itself if the provider cannot. If the provider's own configuration is
// not known, it assumes an update, or that a change of inputs may replace the resource.
func (g *generator) askProvider(ctx context.Context, provider abi.Provider, old *state.Resource, inputs property.Map, ignore []string) (diff, error) {
	resp, err := provider.Diff(ctx, diffRequest(old, inputs, ignore))
	switch {
	case errors.Is(err, providers.ErrUnconfigured):
		detailed := inputDiff(old.Inputs, inputs)
		if len(detailed) > 0 { // a plan must allow for whatever the provider will say
			return diff{changes: abi.DiffChangesSome, detailed: detailed, replace: true, maybe: true,
				reason: "its provider's configuration is not known yet, so that it may be replaced"}, nil
		}
		g.warn(old.URN, "the provider's configuration is not known yet: assuming that the resource will be updated")
		return diff{changes: abi.DiffChangesSome, reason: "its provider's configuration is not known yet"}, nil
	case errors.Is(err, abi.ErrUnimplemented):
		resp = abi.DiffResponse{Changes: abi.DiffChangesUnknown}
	case err != nil:
		return diff{}, err
	}
	if resp.Changes == abi.DiffChangesOutdated {
		return diff{}, errOutdated
	}
	df := diffOf(resp, old.Inputs, inputs)
	if df.replace && !slices.ContainsFunc(df.detailed, func(p abi.PropertyDiff) bool { return diffKinds[p.Kind].replaces }) && len(old.InitErrors) > 0 {
		df.keys, df.reason = nil, unfinished
	}
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

func diffRequest(old *state.Resource, inputs property.Map, ignore []string) abi.DiffRequest {
	return abi.DiffRequest{
		URN: old.URN, Name: old.URN.Name(), Type: old.Type, ID: old.ID,
		Olds: old.Outputs, News: inputs, OldInputs: old.Inputs, IgnoreChanges: ignore,
	}
}

// diffOf returns the response to a comparison of old and new inputs. Its keys make a detailed diff if it has none.
func diffOf(resp abi.DiffResponse, old, new property.Map) diff {
	detailed := resp.DetailedDiff
	if !resp.HasDetailedDiff && len(detailed) == 0 {
		detailed = keysDiff(resp, old, new)
	}
	return diff{
		changes: resp.Changes, detailed: detailed,
		deleteBeforeReplace: resp.DeleteBeforeReplace, keys: resp.ReplaceKeys, stable: resp.StableKeys,
		replace: len(resp.ReplaceKeys) > 0 ||
			slices.ContainsFunc(resp.DetailedDiff, func(p abi.PropertyDiff) bool { return diffKinds[p.Kind].replaces }),
	}
}

// keysDiff details a diff of top-level keys by comparing the inputs.
func keysDiff(resp abi.DiffResponse, old, new property.Map) []abi.PropertyDiff {
	keys := slices.Clone(resp.ReplaceKeys)
	if resp.Changes != abi.DiffChangesNone {
		keys = append(keys, resp.ChangedKeys...)
	}
	slices.Sort(keys)
	var detailed []abi.PropertyDiff
	for _, key := range slices.Compact(keys) {
		parts := inputDiff(atKey(old, key), atKey(new, key))
		if len(parts) == 0 { // the provider found it in the state
			parts = []abi.PropertyDiff{{Path: property.Path{property.Key(key)}.String(), Kind: abi.DiffKindUpdate}}
		}
		for _, p := range parts {
			if slices.Contains(resp.ReplaceKeys, key) {
				p.Kind = diffKinds[p.Kind].replacing
			}
			detailed = append(detailed, p)
		}
	}
	return detailed
}

func atKey(m property.Map, key string) property.Map {
	if !m.Has(key) {
		return property.Map{}
	}
	return property.NewMap(property.Entry{Key: key, Value: m.Get(key)})
}

// inputDiff compares two property maps as a provider would.
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

// initErrorPath is the property that stands for a last creation or update that did not finish well
// in the list of properties that replace the resource. It is Pulumi's.
const initErrorPath = "#initerror"

// replaceOnChanges makes changes of the properties that the program lists replace the resource.
func (g *generator) replaceOnChanges(old *state.Resource, properties []string, df diff) diff {
	for _, text := range properties {
		pattern, err := property.ParsePath(text)
		if err != nil {
			g.warn(old.URN, "replaceOnChanges: %v", err)
			continue
		}
		if len(old.InitErrors) > 0 && pattern.Contains(property.Path{property.Key(initErrorPath)}) {
			df.changes, df.replace = abi.DiffChangesSome, true
			df.reason = unfinished
		}
		for i, p := range df.detailed {
			path, err := property.ParsePath(p.Path)
			if err == nil && (pattern.Contains(path) || path.Contains(pattern)) {
				df.detailed = slices.Clone(df.detailed)
				df.detailed[i].Kind = diffKinds[p.Kind].replacing
				df.replace = true
			}
		}
	}
	return df
}

// providerChanged reports whether the resource has another provider, which cannot manage the old object. It is not
// certain if a preview does not know the other provider's configuration.
func (g *generator) providerChanged(ctx context.Context, old, n *state.Resource) (changed, maybe bool, err error) {
	if old.Provider == n.Provider || !n.Custom || providers.IsType(n.Type) {
		return false, false, nil // some states have a provider for components, which means nothing
	}
	newURN, _, err := providers.SplitReference(n.Provider)
	if err != nil {
		return false, false, err
	}
	before := g.recorder.Provider(old.Provider)
	if before == nil {
		return true, false, nil
	}
	now, err := g.registry.lookup(ctx, n.Provider)
	if err != nil {
		return false, false, err
	}
	request := diffRequest(before, now.inputs, nil)
	request.URN, request.Name, request.Type = newURN, newURN.Name(), newURN.Type()
	resp, maybe, err := foresee(ctx, now.loaded, request)
	if err != nil {
		return false, false, fmt.Errorf("it is not known whether the provider %q can manage what %q has made, so nothing was changed: %w",
			newURN.Name(), before.URN.Name(), err)
	}
	return diffOf(resp, before.Inputs, now.inputs).replace, maybe, nil
}

// listChanges are the changes of the elements of lists, by the path of the list.
type listChanges map[string]*listChange

type listChange struct {
	path     property.Path
	old, new []property.Value
	changes  []int // indexes of the changes
	indexes  map[int]bool
	// gone and come are the elements of the old and the new list that the changes name. Others are not looked at: in a
	// set, they are the same wherever they are.
	gone, come []int
	mismatched bool // the changes are not all of the same pair of lists
	// adds, deletes, and updates say which kinds of changes there are.
	adds, deletes, updates bool
}

// isSet reports whether elements go and others come: lists that are compared index by index have either beyond the end of the other.
func (c *listChange) isSet() bool { return c.adds && c.deletes && !c.updates }

// add notes a change that is of an element of a list in both values.
func (l listChanges) add(change int, kind string, path property.Path, before, after property.Map) {
	i := slices.IndexFunc(path, func(s property.Segment) bool { _, ok := s.Index(); return ok })
	if i < 0 {
		return
	}
	list := path[:i]
	oldValue, _ := list.Get(property.Object(before))
	newValue, _ := list.Get(property.Object(after))
	old, wasList := oldValue.AsArray()
	n, isList := newValue.AsArray()
	if !wasList || !isList {
		return
	}
	c := l[list.String()]
	if c == nil {
		c = &listChange{path: list, old: old, new: n, indexes: map[int]bool{}}
		l[list.String()] = c
	}
	c.mismatched = c.mismatched || len(c.old) != len(old) || len(c.new) != len(n)
	index, _ := path[i].Index()
	c.indexes[index] = true
	isGone, isCome := len(path) > i+1 || kind != "add", len(path) > i+1 || kind != "delete"
	c.adds, c.deletes, c.updates = c.adds || !isGone, c.deletes || !isCome, c.updates || isGone && isCome
	c.mismatched = c.mismatched || isGone && !isCome && index >= len(old) || isCome && !isGone && index >= len(n)
	if isGone && index < len(old) {
		c.gone = insertIndex(c.gone, index)
	}
	if isCome && index < len(n) {
		c.come = insertIndex(c.come, index)
	}
	c.changes = append(c.changes, change)
}

// merge returns the changes. It lists changes of a list by the fate of each element if that is shorter: an element at the front
// changes all that follow it, by their indexes.
func (l listChanges) merge(all []PropertyChange) []PropertyChange {
	var merged []PropertyChange
	dropped := map[int]bool{}
	for _, c := range l {
		if c.mismatched || len(c.indexes) < 2 {
			continue
		}
		elements, replaces := c.elements(), false
		if len(elements) >= len(c.indexes) && !slices.ContainsFunc(elements, func(e PropertyChange) bool { return e.Kind == "move" }) {
			continue
		}
		for _, i := range c.changes {
			dropped[i] = true
			replaces = replaces || all[i].Replaces
		}
		for _, e := range elements {
			e.Replaces = replaces
			merged = append(merged, e)
		}
	}
	for i, c := range all {
		if !dropped[i] {
			merged = append(merged, c)
		}
	}
	return merged
}

// insertIndex inserts an index into a sorted list, unless it is there.
func insertIndex(list []int, index int) []int {
	at, has := slices.BinarySearch(list, index)
	if has {
		return list
	}
	return slices.Insert(list, at, index)
}

// everyIndex has the changes name all elements of a list that was compared index by index, as its other elements are the same
// where they are: one of these may be what an element that goes became. A set has them elsewhere.
func (c *listChange) everyIndex() {
	named := func(list []int, i int) bool {
		_, has := slices.BinarySearch(list, i)
		return has
	}
	for i := range max(len(c.old), len(c.new)) {
		gone, come := named(c.gone, i) || i >= len(c.old), named(c.come, i) || i >= len(c.new)
		if gone != come || !gone && !c.old[i].EqualContents(c.new[i]) {
			return
		}
	}
	c.gone, c.come = indexes(len(c.old)), indexes(len(c.new))
}

func indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// elements returns the change of each element that the changes name and that was not kept.
func (c *listChange) elements() []PropertyChange {
	var out []PropertyChange
	isSet := c.isSet()
	if !isSet {
		c.everyIndex()
	}
	same := func(i, j int) bool { return c.old[c.gone[i]].EqualContents(c.new[c.come[j]]) }
	at := func(i int) string { return c.path.Append(property.Index(i)).String() }
	for _, e := range listdiff.Compare(len(c.gone), len(c.come), same) {
		var was, is int
		var change PropertyChange
		if e.Old >= 0 {
			was = c.gone[e.Old]
			change.Path, change.Old = at(was), property.Render(c.old[was])
		}
		if e.New >= 0 {
			is = c.come[e.New]
			change.Path, change.New = at(is), property.Render(c.new[is])
		}
		if e.Kind == listdiff.Changed && (isSet || !slices.Contains(c.come, was) && !slices.Contains(c.gone, is)) { // one goes, another comes
			out = append(out, PropertyChange{Path: at(was), Kind: "delete", Old: change.Old}, PropertyChange{Path: at(is), Kind: "add", New: change.New})
			continue
		}
		switch e.Kind {
		case listdiff.Kept:
			continue
		case listdiff.Moved:
			change.Kind, change.From = "move", at(was)
		case listdiff.Changed:
			change.Kind = "update"
		case listdiff.Added:
			change.Kind = "add"
		case listdiff.Deleted:
			change.Kind = "delete"
		}
		out = append(out, change)
	}
	return out
}
