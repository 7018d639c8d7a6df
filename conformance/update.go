package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// updates updates the resource in place, with the updates of the case or with generated ones.
func (l *life) updates(ctx context.Context) {
	names := []string{ruleUpdate, ruleUpdateRead, ruleUpdateSettles}
	if l.c.Updates != nil {
		for i, u := range l.c.Updates {
			if why := l.writtenUpdate(ctx, u); why != nil {
				l.f.report(ruleExpectations, fmt.Errorf("update %d: %w", i+1, why))
				return
			}
		}
		l.f.rest(inapplicable("the case has no update in place"), names...)
		return
	}
	if !l.f.wants(append(names, rulePreviewEffects)...) {
		return
	}
	news, why := l.inPlace(ctx)
	if why == nil {
		l.update(ctx, news)
		return
	}
	l.f.report(ruleUpdate, why)
	l.f.rest(why, names...)
}

// writtenUpdate runs an update of the case. It fails if the outcome is not the expected one.
func (l *life) writtenUpdate(ctx context.Context, u Update) error {
	news, err := l.accepted(ctx, l.main, u.Inputs, &l.checked, seed, "check", "check refuses the inputs")
	if err != nil {
		return err
	}
	diff, err := l.diff(ctx, news)
	if err != nil {
		return mistake(err, "diff")
	}
	found := "none"
	switch {
	case replaces(diff):
		found = "replace"
	case l.updatesInPlace(diff, news):
		found = "update"
	}
	if u.Expect != "" {
		if u.Expect != found {
			return fmt.Errorf("expected %s, got %s: %s", u.Expect, found, diffText(diff))
		}
		l.f.report(ruleExpectations, nil)
	}
	if found == "update" {
		l.update(ctx, news)
	}
	return nil
}

// inPlace returns inputs for an update in place. It changes all inputs that can change without a
// replacement, or else the first of them. why is a *skip if there are none.
func (l *life) inPlace(ctx context.Context) (news property.Map, why error) {
	news, why = l.checked, inapplicable("no change that could be made updates the resource in place")
	accepted, found := false, false
	var first property.Map
	for _, name := range l.checked.Keys() {
		one, refusal := l.changedInputs(ctx, name)
		p := l.inputs.Property(name)
		if refusal != nil {
			if s, ok := errors.AsType[*skip](refusal); ok && s.why == wasRefused && !p.Replace && !accepted {
				why = refused("%s; give inputs to update it to in a file of cases", s)
			}
			continue
		}
		if !p.Replace && !accepted {
			// The reason of an earlier refusal no longer matters.
			accepted, why = true, inapplicable("no change that could be made updates the resource in place")
		}
		if !l.isUpdate(ctx, one) {
			continue
		}
		if !found {
			first, found = one, true
		}
		news = news.With(name, one.Get(name))
	}
	if !found {
		return news, why
	}
	response, err := l.check(ctx, l.main, news, &l.checked, seed)
	if err != nil || len(response.Failures) > 0 || !l.isUpdate(ctx, response.Inputs) {
		return first, nil
	}
	return response.Inputs, nil
}

// diff compares the resource with other inputs. If the provider has no Diff, the changes are unknown.
func (l *life) diff(ctx context.Context, news property.Map) (abi.DiffResponse, error) {
	response, err := l.main.Diff(ctx, l.diffRequest(news))
	if errors.Is(err, abi.ErrUnimplemented) {
		return abi.DiffResponse{Changes: abi.DiffChangesUnknown}, nil
	}
	return response, err
}

func (l *life) isUpdate(ctx context.Context, news property.Map) bool {
	d, err := l.diff(ctx, news)
	return err == nil && l.updatesInPlace(d, news)
}

// updatesInPlace reports whether a diff with other inputs leads to an update.
func (l *life) updatesInPlace(d abi.DiffResponse, news property.Map) bool {
	if replaces(d) {
		return false
	}
	return d.Changes == abi.DiffChangesSome || d.Changes == abi.DiffChangesUnknown && !l.checked.EqualContents(news)
}

func (l *life) updateRequest(news property.Map, preview bool) abi.UpdateRequest {
	return abi.UpdateRequest{
		URN: urnOf(l.token), Name: resourceName, Type: l.token, ID: l.id,
		Olds: l.state, OldInputs: l.checked, News: news, Preview: preview,
	}
}

func (l *life) update(ctx context.Context, news property.Map) {
	l.previewUpdate(ctx, news)
	response, err := l.main.Update(ctx, l.updateRequest(news, false))
	if err != nil {
		if e, ok := errors.AsType[*abi.Error](err); ok && e.InitFailure != nil && !isFault(err) {
			l.state, l.checked = e.InitFailure.State, news
		}
		outcome := refusal(err, "update")
		if errors.Is(err, abi.ErrUnimplemented) {
			outcome = errors.New("diff asks for an update in place, and update is not implemented by the provider")
		}
		l.f.report(ruleUpdate, outcome)
		l.f.rest(fmt.Errorf("update: %s", reason(err)), ruleUpdateRead, ruleUpdateSettles)
		return
	}
	l.state, l.checked = response.State, news
	l.f.report(ruleSecrets, l.secretsKept(response.State, "update"))
	outcome := l.updatedOutcome(ctx, response)
	l.f.report(ruleUpdate, outcome)
	if outcome != nil {
		l.f.rest(errors.New("update does not work"), ruleUpdateRead, ruleUpdateSettles)
		return
	}
	found := l.readOutcome(ctx, l.main, "update")
	if isSkip(found) { // read has an outcome of its own
		found = follows(found)
	}
	l.f.report(ruleUpdateRead, found)
	if l.f.failed(ruleDiffSelf) {
		l.f.rest(errors.New("diff finds differences where there are none"), ruleUpdateSettles)
		return
	}
	l.f.report(ruleUpdateSettles, l.sameOutcome(ctx, l.diffRequest(l.checked), "the inputs that it was updated to"))
}

func (l *life) updatedOutcome(ctx context.Context, response abi.UpdateResponse) error {
	if err := outputsFit(&l.resource.Outputs, response.State, "the state that update returns", false); err != nil {
		return err
	}
	r, err := l.main.Read(ctx, l.readRequest(&l.state, &l.checked))
	if err == nil && r.ID != l.id {
		return fmt.Errorf("after the update read returns the ID %q in place of %q: an update keeps the ID", r.ID, l.id)
	}
	return nil
}

func (l *life) previewUpdate(ctx context.Context, news property.Map) {
	if !l.f.wants(rulePreviewEffects) || !l.run.takes(abi.FeaturesPreview) {
		return
	}
	var err error
	effects := l.run.observed(ctx, func() {
		_, err = l.main.Update(ctx, l.updateRequest(news, true))
	})
	if err != nil {
		l.f.report(rulePreviewEffects, refusal(err, "the preview of update"))
		return
	}
	if effects != nil {
		l.f.report(rulePreviewEffects, fmt.Errorf("the preview of update %w", effects))
		return
	}
	outcome := l.readOutcome(ctx, l.main, "create")
	if outcome != nil && !isSkip(outcome) {
		l.f.report(rulePreviewEffects, fmt.Errorf("after the preview of update, what was there before is not: %w", outcome))
		return
	}
	l.f.report(rulePreviewEffects, nil)
}
