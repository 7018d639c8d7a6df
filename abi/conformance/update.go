package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// updates changes the resource in place: as the case says, or by itself.
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
	if news, found := l.inPlace(ctx); found {
		l.update(ctx, news)
		return
	}
	l.f.rest(inapplicable("no change that could be made updates the resource in place"), names...)
}

// writtenUpdate does what a case says. The error is that it does not come to what is
// expected.
func (l *life) writtenUpdate(ctx context.Context, u Update) error {
	response, err := l.check(ctx, l.main, u.Inputs, &l.checked, seed)
	if err != nil {
		return mistake(err, "check")
	}
	if len(response.Failures) > 0 {
		return fmt.Errorf("check refuses the inputs: %s", failuresText(response.Failures))
	}
	diff, err := ask(ctx, l.main, abi.Provider.Diff, l.diffRequest(response.Inputs))
	if err != nil {
		return mistake(err, "diff")
	}
	found := "none"
	switch {
	case replaces(diff):
		found = "replace"
	case diff.Changes == abi.DiffChangesSome,
		diff.Changes == abi.DiffChangesUnknown && !l.checked.EqualContents(response.Inputs):
		found = "update"
	}
	if u.Expect != "" {
		if u.Expect != found {
			return fmt.Errorf("it is to be %s, and is %s: %s", u.Expect, found, diffText(diff))
		}
		l.f.report(ruleExpectations, nil)
	}
	if found == "update" {
		l.update(ctx, response.Inputs)
	}
	return nil
}

// inPlace changes as many inputs as an update in place takes: all that can be changed
// without a replacement, or else the first of them.
func (l *life) inPlace(ctx context.Context) (news property.Map, found bool) {
	news = l.checked
	var first property.Map
	for _, name := range l.checked.Keys() {
		one, ok := l.changedInputs(ctx, name)
		if !ok || !l.isUpdate(ctx, one) {
			continue
		}
		if !found {
			first, found = one, true
		}
		news = news.With(name, one.Get(name))
	}
	if !found {
		return news, false
	}
	response, err := l.check(ctx, l.main, news, &l.checked, seed)
	if err != nil || len(response.Failures) > 0 || !l.isUpdate(ctx, response.Inputs) {
		return first, true
	}
	return response.Inputs, true
}

func (l *life) isUpdate(ctx context.Context, news property.Map) bool {
	d, err := ask(ctx, l.main, abi.Provider.Diff, l.diffRequest(news))
	return err == nil && d.Changes != abi.DiffChangesNone && !replaces(d)
}

func (l *life) updateRequest(news property.Map, preview bool) abi.UpdateRequest {
	return abi.UpdateRequest{
		URN: urnOf(l.token), Name: resourceName, Type: l.token, ID: l.id,
		Olds: l.state, OldInputs: l.checked, News: news, Preview: preview,
	}
}

// update foretells an update, does it, and holds what follows from it.
func (l *life) update(ctx context.Context, news property.Map) {
	l.previewUpdate(ctx, news)
	response, err := ask(ctx, l.main, abi.Provider.Update, l.updateRequest(news, false))
	if err != nil {
		if e, ok := errors.AsType[*abi.Error](err); ok && e.InitFailure != nil && !isFault(err) {
			l.state, l.checked = e.InitFailure.State, news
		}
		l.f.report(ruleUpdate, refusal(err, "update"))
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
	l.f.report(ruleUpdateRead, l.readOutcome(ctx, l.main, "update"))
	if l.f.failed(ruleDiffSelf) {
		l.f.rest(errors.New("diff finds differences where there are none"), ruleUpdateSettles)
		return
	}
	l.f.report(ruleUpdateSettles, l.sameOutcome(ctx, l.diffRequest(l.checked), "the inputs that it was updated to"))
}

func (l *life) updatedOutcome(ctx context.Context, response abi.UpdateResponse) error {
	if err := outputsFit(&l.resource.Outputs, response.State, "the state that update answers", false); err != nil {
		return err
	}
	r, err := ask(ctx, l.main, abi.Provider.Read, l.readRequest(&l.state, &l.checked))
	if err == nil && r.ID != l.id {
		return fmt.Errorf("after the update read answers the ID %q in place of %q: an update keeps the ID", r.ID, l.id)
	}
	return nil
}

// previewUpdate foretells an update, and holds that nothing came of it.
func (l *life) previewUpdate(ctx context.Context, news property.Map) {
	if !l.f.wants(rulePreviewEffects) || !l.run.takes(abi.FeaturesPreview) {
		return
	}
	var err error
	effects := l.run.observed(ctx, func() {
		_, err = ask(ctx, l.main, abi.Provider.Update, l.updateRequest(news, true))
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
