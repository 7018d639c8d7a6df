package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/internal/base/excerpt"
	"github.com/husk-dev/husk/internal/base/sorted"
	"github.com/husk-dev/husk/internal/property/fakevalue"
)

func (l *life) diffRequest(news property.Map, ignore ...string) abi.DiffRequest {
	return abi.DiffRequest{
		URN: urnOf(l.token), Name: resourceName, Type: l.token, ID: l.id,
		Olds: l.state, OldInputs: l.checked, News: news, IgnoreChanges: ignore,
	}
}

// diffs compares the resource with its own inputs, and with changed ones.
func (l *life) diffs(ctx context.Context) {
	names := []string{ruleDiffSelf, ruleDiffChange, ruleDiffReplace, ruleDiffConsistent, ruleDiffDeterministic, ruleDiffUnknowns, ruleDiffIgnore}
	if !l.f.wants(names...) {
		return
	}
	l.f.report(ruleDiffSelf, l.sameOutcome(ctx, l.diffRequest(l.checked), "the inputs that it was made from"))
	for _, name := range l.checked.Keys() {
		p := l.inputs.Property(name)
		if p == nil || p.WriteOnly { // another value of a write-only input alone is not a change
			continue
		}
		l.diffUnknown(ctx, name)
		news, why := l.changedInputs(ctx, name)
		if why != nil {
			continue
		}
		response, err := l.main.Diff(ctx, l.diffRequest(news))
		if err != nil {
			l.f.report(ruleDiffConsistent, mistake(err, "diff with another "+name))
			continue
		}
		l.f.report(ruleDiffConsistent, consistent(response))
		l.f.report(ruleDiffDeterministic, l.sameDiff(ctx, l.diffRequest(news), response))
		if response.Changes == abi.DiffChangesUnknown {
			continue
		}
		was, is, where := excerpt.Pair(property.Render(l.checked.Get(name)), property.Render(news.Get(name)))
		what := fmt.Sprintf("%s was %s and is now %s%s", name, was, is, excerpt.Where(where))
		if p.Replace {
			l.f.report(ruleDiffReplace, replaceOutcome(response, name, what))
		} else if l.state.Get(name).EqualContents(l.checked.Get(name)) {
			l.f.report(ruleDiffChange, changeOutcome(response, name, what))
		}
		l.diffIgnored(ctx, news, name)
	}
	l.f.rest(inapplicable("no input that it is about could be changed"), names...)
}

// changedInputs returns checked inputs with another value of one property. The error is a *skip if
// the provider accepts no other value.
func (l *life) changedInputs(ctx context.Context, name string) (property.Map, error) {
	raw, ok := l.changedRaw(name)
	if !ok {
		return raw, inapplicable("the schema allows no other " + name)
	}
	response, err := l.check(ctx, l.main, raw, &l.checked, seed)
	switch {
	case err != nil:
		return raw, refusal(err, "check with another "+name)
	case len(response.Failures) > 0:
		return raw, refused("check refuses %s as another %s: %s", raw.Get(name), name, failuresText(response.Failures))
	case response.Inputs.Get(name).EqualContents(l.checked.Get(name)):
		return raw, inapplicable("check makes no difference between one " + name + " and another")
	}
	return response.Inputs, nil
}

// changedRaw returns the inputs of the case, or else the checked inputs, with another value of one
// property. It reports whether the schema has another value.
func (l *life) changedRaw(name string) (property.Map, bool) {
	if l.inputs.Property(name) == nil {
		return property.Map{}, false
	}
	if raw, ok := fakevalue.Change(l.inputs, l.c.Inputs, name); ok {
		return raw, true
	}
	return fakevalue.Change(l.inputs, l.checked, name)
}

// sameOutcome checks that a diff finds nothing.
func (l *life) sameOutcome(ctx context.Context, request abi.DiffRequest, what string) error {
	response, err := l.main.Diff(ctx, request)
	if err != nil {
		return mistake(err, "diff")
	}
	if response.Changes == abi.DiffChangesUnknown && len(response.DetailedDiff) == 0 {
		return nil // the caller compares the inputs, which are the same
	}
	if response.Changes != abi.DiffChangesNone || len(response.DetailedDiff) > 0 {
		return fmt.Errorf("diff finds that the resource differs from %s: %s", what, diffText(response))
	}
	return nil
}

func diffText(d abi.DiffResponse) string {
	text := "changes " + d.Changes.String()
	for i, c := range d.DetailedDiff {
		if i == maxListed {
			return text + fmt.Sprintf(", and %d more", len(d.DetailedDiff)-i)
		}
		text += ", " + c.Path + " " + c.Kind.String()
	}
	if len(d.DetailedDiff) == 0 && len(d.ChangedKeys) > 0 {
		text += fmt.Sprintf(", changed keys %q", d.ChangedKeys)
	}
	return text
}

func isReplace(k abi.DiffKind) bool {
	return k == abi.DiffKindAddReplace || k == abi.DiffKindDeleteReplace || k == abi.DiffKindUpdateReplace
}

// replaces reports whether a diff asks for a replacement.
func replaces(d abi.DiffResponse) bool {
	return len(d.ReplaceKeys) > 0 ||
		slices.ContainsFunc(d.DetailedDiff, func(c abi.PropertyDiff) bool { return isReplace(c.Kind) })
}

func replaceOutcome(d abi.DiffResponse, name, what string) error {
	found := slices.Contains(d.ReplaceKeys, name)
	if d.HasDetailedDiff {
		found = slices.ContainsFunc(d.DetailedDiff, func(c abi.PropertyDiff) bool {
			return isReplace(c.Kind) && startsWith(c.Path, name)
		})
	}
	if !found {
		return fmt.Errorf("%s, which by the schema replaces the resource, and diff says: %s", what, diffText(d))
	}
	return nil
}

func changeOutcome(d abi.DiffResponse, name, what string) error {
	found := slices.Contains(d.ChangedKeys, name) || slices.Contains(d.ReplaceKeys, name)
	if d.HasDetailedDiff {
		found = slices.ContainsFunc(d.DetailedDiff, func(c abi.PropertyDiff) bool { return startsWith(c.Path, name) })
	}
	if d.Changes != abi.DiffChangesSome || !found {
		return fmt.Errorf("%s, and diff says: %s", what, diffText(d))
	}
	return nil
}

// consistent checks that the parts of a diff agree.
func consistent(d abi.DiffResponse) error {
	if !d.HasDetailedDiff {
		if len(d.DetailedDiff) > 0 {
			return fmt.Errorf("has-detailed-diff is false, and there is a detailed diff: %s", diffText(d))
		}
		if d.Changes == abi.DiffChangesNone && len(d.ChangedKeys)+len(d.ReplaceKeys) > 0 {
			return fmt.Errorf("changes is none, and the keys %q changed", slices.Concat(d.ChangedKeys, d.ReplaceKeys))
		}
		return nil
	}
	if some := len(d.DetailedDiff) > 0; d.Changes != abi.DiffChangesUnknown && some != (d.Changes == abi.DiffChangesSome) {
		return fmt.Errorf("changes is %s, and the detailed diff has %d entries", d.Changes, len(d.DetailedDiff))
	}
	var changedKeys, replaceKeys []string
	seen := map[string]bool{}
	for _, c := range d.DetailedDiff {
		path, err := property.ParsePath(c.Path)
		if err != nil {
			return fmt.Errorf("the path of a difference cannot be read: %w", err)
		}
		if len(path) == 0 || path.IsPattern() {
			return fmt.Errorf("%q is not the path of a property", c.Path)
		}
		if seen[path.String()] {
			return fmt.Errorf("the path %s is there twice", path)
		}
		seen[path.String()] = true
		key, _ := path[0].Key()
		changedKeys = append(changedKeys, key)
		if isReplace(c.Kind) {
			replaceKeys = append(replaceKeys, key)
		}
	}
	if len(d.ChangedKeys) > 0 && !sameKeys(changedKeys, d.ChangedKeys) {
		return fmt.Errorf("the changed keys are %q, but the detailed diff has %q", d.ChangedKeys, changedKeys)
	}
	if len(d.ReplaceKeys) > 0 && !sameKeys(replaceKeys, d.ReplaceKeys) {
		return fmt.Errorf("the replace keys are %q, but the detailed diff has %q", d.ReplaceKeys, replaceKeys)
	}
	return nil
}

func sameKeys(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

// sameDiff checks that the same request gets the same response.
func (l *life) sameDiff(ctx context.Context, request abi.DiffRequest, first abi.DiffResponse) error {
	for _, at := range []*session{l.main, l.other} {
		response, err := at.Diff(ctx, request)
		if err != nil {
			return mistake(err, "the same diff again")
		}
		if one, next := fmt.Sprint(ordered(first)), fmt.Sprint(ordered(response)); one != next {
			return fmt.Errorf("one response is %s, the next %s", diffText(first), diffText(response))
		}
	}
	return nil
}

// ordered returns a diff with sorted lists, because their order has no meaning.
func ordered(d abi.DiffResponse) abi.DiffResponse {
	d.DetailedDiff = slices.Clone(d.DetailedDiff)
	sorted.By(d.DetailedDiff, func(a, b abi.PropertyDiff) int { return strings.Compare(a.Path, b.Path) })
	for _, keys := range []*[]string{&d.ChangedKeys, &d.ReplaceKeys, &d.StableKeys} {
		*keys = slices.Sorted(slices.Values(*keys))
	}
	return d
}

// diffUnknown checks the diff with an unknown input.
func (l *life) diffUnknown(ctx context.Context, name string) {
	if !l.run.takes(abi.FeaturesPreview) {
		l.f.report(ruleDiffUnknowns, errPreviews)
		return
	}
	response, err := l.main.Diff(ctx, l.diffRequest(l.checked.With(name, property.Unknown)))
	switch {
	case err != nil:
		l.f.report(ruleDiffUnknowns, mistake(err, fmt.Sprintf("diff with %s not known", name)))
	case response.Changes == abi.DiffChangesNone:
		l.f.report(ruleDiffUnknowns, fmt.Errorf("%s was %s and is not known now, and diff says: %s", name, l.checked.Get(name), diffText(response)))
	default:
		l.f.report(ruleDiffUnknowns, nil)
	}
}

// diffIgnored checks the diff with a changed input that is ignored.
func (l *life) diffIgnored(ctx context.Context, news property.Map, name string) {
	path := property.Path{property.Key(name)}.String()
	response, err := l.main.Diff(ctx, l.diffRequest(news, path))
	if err != nil {
		l.f.report(ruleDiffIgnore, mistake(err, "diff that ignores "+path))
		return
	}
	if slices.ContainsFunc(response.DetailedDiff, func(c abi.PropertyDiff) bool { return startsWith(c.Path, name) }) {
		l.f.report(ruleDiffIgnore, fmt.Errorf("%s is to be ignored, and diff says: %s", path, diffText(response)))
		return
	}
	l.f.report(ruleDiffIgnore, nil)
}
