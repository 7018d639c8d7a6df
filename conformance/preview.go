package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

var errPreviews = inapplicable("the provider does not take previews; the host computes them")

// previews tests previews of create. They come last, because an object that a preview makes by
// mistake would disturb the other checks.
func (l *life) previews(ctx context.Context) {
	names := []string{rulePreviewEffects, rulePreviewAgrees, rulePreviewUnknowns}
	if !l.run.takes(abi.FeaturesPreview) {
		l.f.rest(errPreviews, names...)
		return
	}
	if l.f.wants(rulePreviewEffects, rulePreviewAgrees) {
		l.preview(ctx)
	}
	l.f.try(rulePreviewUnknowns, func() error { return l.previewUnknowns(ctx) })
}

func (l *life) preview(ctx context.Context) {
	var response abi.CreateResponse
	var err error
	effects := l.run.observed(ctx, func() {
		response, err = l.main.Create(ctx, l.createRequest(l.first, true))
	})
	if err != nil {
		l.f.report(rulePreviewEffects, refusal(err, "the preview of create"))
		return
	}
	if l.made != nil {
		wrong := foretoldWrong(response.State, *l.made)
		l.f.report(rulePreviewAgrees, differences(wrong, response.State, *l.made, "the preview", "the state"))
	}
	if l.gone != "" {
		l.id = l.gone
		if found := l.goneOutcome(ctx); found != nil && !isSkip(found) {
			l.f.report(rulePreviewEffects, errors.New("after a preview of create, read finds the resource that was deleted before"))
			l.cleanUp(ctx)
			return
		}
		l.id = ""
	}
	switch {
	case effects != nil:
		l.f.report(rulePreviewEffects, fmt.Errorf("the preview of create %w", effects))
	case l.gone != "" || l.run.options.Observe != nil:
		l.f.report(rulePreviewEffects, nil)
	default:
		l.f.report(rulePreviewEffects, unseen("nobody can see: read does not tell what exists, and nothing is granted that could change"))
	}
}

// previewUnknowns tests previews of create, with each input in turn unknown.
func (l *life) previewUnknowns(ctx context.Context) error {
	if l.first.Len() == 0 {
		return errNoInputs
	}
	for _, name := range l.first.Keys() {
		for _, path := range unknownPaths(name, l.first.Get(name)) {
			response, err := l.main.Create(ctx, l.createRequest(withUnknown(l.first, path), true))
			if err != nil {
				return mistake(err, fmt.Sprintf("the preview of create with %s not known", path))
			}
			in, out := l.inputs.Property(name), l.resource.Outputs.Property(name)
			told, found := path.Get(property.Object(response.State))
			if in == nil || out == nil || !in.Type.Equal(out.Type) || !found || told.Plain().IsNull() || told.ContainsUnknowns() {
				continue
			}
			return fmt.Errorf("the input %s is not known, and the preview of create returns the output as %s", path, told)
		}
	}
	return nil
}

// foretoldWrong returns the differences between the known values of a preview and the state.
func foretoldWrong(foretold, state property.Map) []property.Change {
	var wrong []property.Change
	for _, c := range property.DiffContents(foretold, state) {
		told, ok := c.Path.Get(property.Object(foretold))
		if ok && !told.ContainsUnknowns() && c.Kind != property.ChangeAdd {
			wrong = append(wrong, c)
		}
	}
	return wrong
}

// observed runs do, and returns the changes of the provider's world as an error. It returns nil for
// no change, and if nothing can be observed.
func (r *run) observed(ctx context.Context, do func()) error {
	if r.options.Observe == nil {
		do()
		return nil
	}
	before, err := r.options.Observe(ctx)
	do()
	after, afterErr := r.options.Observe(ctx)
	if err = errors.Join(err, afterErr); err != nil {
		return fmt.Errorf("cannot be observed: %w", err)
	}
	var changes []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		switch was, existed := before[name]; {
		case !existed:
			changes = append(changes, "made "+name)
		case was != after[name]:
			changes = append(changes, "changed "+name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, exists := after[name]; !exists {
			changes = append(changes, "removed "+name)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	return errors.New(strings.Join(changes, ", "))
}
