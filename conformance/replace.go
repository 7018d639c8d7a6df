package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/husk-dev/husk/abi/property"
)

// replacements creates the resource again after all other checks, and replaces it as an engine does:
// by a copy with the same inputs, as for a tainted resource, and by copies with another value of each
// property whose change replaces the resource or that is part of its identity.
func (l *life) replacements(ctx context.Context) {
	if !l.f.wants(ruleReplace) {
		return
	}
	var why error
	switch {
	case !l.deleted, l.f.failed(ruleDelete):
		why = errors.New("the created object still exists")
	case l.f.failed(ruleRead), l.f.results[ruleRead].Status == Skipped:
		why = errors.New("read does not work")
	case l.f.failed(ruleDiffReplace):
		why = errors.New("diff does not say what replaces the resource")
	case l.c.Inputs.Len() > 0 && l.c.Inputs.Equal(allSecret(l.c.Inputs)):
		why = inapplicable("secret inputs make no other resource")
	}
	if why != nil {
		l.f.report(ruleReplace, follows(why))
		return
	}
	old := *l
	old.id, old.state, old.checked = "", property.Map{}, l.first
	world := l.run.things(ctx)
	if err := old.make(ctx, l.first); err != nil {
		l.f.report(ruleReplace, follows(fmt.Errorf("recreating the deleted object: %s", reason(err))))
		return
	}
	outcome := old.replace(ctx, world, l.c.Inputs, "the same inputs")
	for _, name := range l.first.Keys() {
		blind := outcome == errCannotTell && l.run.options.Observe == nil
		if old.id == "" || blind || outcome != nil && !isSkip(outcome) {
			break
		}
		if l.f.replaced[name] || !old.asksForReplacement(ctx, name) {
			continue
		}
		l.f.replaced[name] = true
		raw, _ := old.changedRaw(name)
		l.f.report(ruleReplace, outcome)
		outcome = old.replace(ctx, world, raw, "another "+name)
	}
	l.f.report(ruleReplace, outcome)
	old.cleanUp(ctx)
}

func (l *life) make(ctx context.Context, inputs property.Map) error {
	response, err := l.main.Create(ctx, l.createRequest(inputs, false))
	if err == nil {
		l.id, l.state, l.checked = response.ID, response.State, inputs
	}
	return err
}

// asksForReplacement reports whether another value of a property replaces the resource.
func (l *life) asksForReplacement(ctx context.Context, name string) bool {
	news, why := l.changedInputs(ctx, name)
	if why != nil {
		return false
	}
	if slices.Contains(l.resource.Identity, name) {
		return true
	}
	d, err := l.diff(ctx, news)
	return err == nil && replaces(d)
}

// replace replaces the resource by a copy with other inputs and new defaults. It creates the copy
// before it deletes the old one, unless the schema or the diff asks for the other order. Afterwards l follows the copy; an empty
// ID means that there is none. world is the provider's world without the resource.
func (l *life) replace(ctx context.Context, world map[string]string, raw property.Map, what string) error {
	checked, err := l.check(ctx, l.main, raw, nil, otherSeed)
	if err != nil || len(checked.Failures) > 0 {
		return inapplicable("check refuses " + what + " for a replacement")
	}
	d, err := l.diff(ctx, checked.Inputs)
	if err != nil {
		return follows(fmt.Errorf("diff: %s", reason(err)))
	}
	old := *l
	deleteFirst := l.resource.DeletesFirst(l.diffRequest(checked.Inputs)) || d.DeleteBeforeReplace
	if deleteFirst {
		if err := old.remove(ctx); err != nil {
			return err
		}
		l.id = ""
	}
	before := l.run.things(ctx)
	if err := l.make(ctx, checked.Inputs); err != nil {
		if isFault(err) || deleteFirst {
			return refusal(err, "create in place of the deleted object, with "+what)
		}
		return refused("create refuses a second one with %s beside the first: %s; %s", what, reason(err), declareOrder)
	}
	made := l.run.things(ctx)
	if !deleteFirst {
		if err := old.remove(ctx); err != nil {
			return err
		}
	}
	outcome := l.stillThere(ctx)
	left := l.run.things(ctx)
	lost, _ := lostOf(before, made, left)
	if gone, kept := lostOf(world, made, left); lost == "" && !kept {
		lost = gone // the new copy is the same things over again
	}
	switch {
	case deleteFirst && outcome != nil && !isSkip(outcome):
		return fmt.Errorf("replacing it by one with %s, after the old copy was deleted: %w", what, outcome)
	case deleteFirst:
		return outcome
	case outcome != nil && !isSkip(outcome) && l.id == old.id:
		l.id = "" // it went with the old copy
		return fmt.Errorf("replacing it by one with %s: the new copy has the ID %q of the old one, and is deleted with it; %s", what, old.id, declareOrder)
	case outcome != nil && !isSkip(outcome):
		l.id = ""
		return fmt.Errorf("replacing it by one with %s: the new copy does not outlive the old one: %w; %s", what, outcome, declareOrder)
	case isSkip(outcome) && lost != "":
		l.id = ""
		return fmt.Errorf("replacing it by one with %s: the new copy has made %s, which deleting the old one removes; %s", what, lost, declareOrder)
	case outcome == nil && l.id == old.id:
		return fmt.Errorf("replacing it by one with %s: the new copy has the ID %q of the old one, by which the old one is deleted; %s", what, l.id, declareOrder)
	}
	return outcome
}

const declareOrder = "say in the schema by which inputs the object is known (identity), or deleteBeforeReplace, so that the old copy is deleted first"

func (l *life) remove(ctx context.Context) error {
	if err := l.main.Delete(ctx, l.deleteRequest()); err != nil {
		return follows(fmt.Errorf("deleting the old copy: %s", reason(err)))
	}
	return nil
}

// stillThere checks that read finds the copy as created. A *skip means that read cannot tell.
func (l *life) stillThere(ctx context.Context) error {
	if outcome := l.readOutcome(ctx, l.main, "create"); outcome != nil {
		return outcome
	}
	if l.gone == "" && l.makesUp(ctx) { // else read has not found the deleted object
		return errCannotTell
	}
	return nil
}

// things returns the observed objects of the provider's world by name; nil if there is nothing to see.
func (r *run) things(ctx context.Context) map[string]string {
	if r.options.Observe == nil {
		return nil
	}
	seen, err := r.options.Observe(ctx)
	if err != nil {
		return nil
	}
	return seen
}

// lostOf returns an object that was made or changed between before and made and is gone in left; empty
// for none. kept reports whether another such object is left.
func lostOf(before, made, left map[string]string) (lost string, kept bool) {
	for name, is := range made {
		if was, existed := before[name]; existed && was == is {
			continue
		}
		if _, exists := left[name]; exists {
			kept = true
		} else if lost == "" || name < lost {
			lost = name
		}
	}
	return lost, kept
}
