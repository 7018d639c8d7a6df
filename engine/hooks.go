package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/callback"
	"github.com/husk-dev/husk/engine/internal/callbacks"
	"github.com/husk-dev/husk/engine/internal/record"
	"github.com/husk-dev/husk/engine/state"
)

// maxAttempts bounds the attempts at a step that error hooks retry. It is Pulumi's.
const maxAttempts = 100

// RegisterHook makes a hook known under its name.
func (m *monitor) RegisterHook(h callback.Hook) error { return m.d.hooks.Add(h) }

// RegisterErrorHook makes an error hook known under its name.
func (m *monitor) RegisterErrorHook(h callback.ErrorHook) error { return m.d.hooks.AddError(h) }

// hooksOf returns the operation of a step that hooks are for, and the kinds before and after it. The operation
// is empty if no hooks run.
func (o *objects) hooksOf(s *step) (operation string, before, after abi.HookKind) {
	switch s.op {
	case OpCreate, OpCreateReplacement:
		return "create", abi.HookKindBeforeCreate, abi.HookKindAfterCreate
	case OpUpdate:
		return "update", abi.HookKindBeforeUpdate, abi.HookKindAfterUpdate
	case OpDelete, OpDeleteReplaced:
		if old := s.old; !old.External && !o.options(old).RetainOnDelete && !old.PendingReplacement && !o.protects(s) {
			return "delete", abi.HookKindBeforeDelete, abi.HookKindAfterDelete
		}
	}
	return "", 0, 0
}

// hookStep returns a step as a hook sees it, which may do with it what it likes.
func (a *applier) hookStep(kind abi.HookKind, old, new *state.Resource) callback.Step {
	seen := callback.Step{Kind: kind, DryRun: a.previews()}
	if old != nil && kind != abi.HookKindBeforeCreate && kind != abi.HookKindAfterCreate {
		seen.Old = clone(old)
	}
	if new != nil {
		seen.New = clone(new)
	}
	return seen
}

// applyWithHooks applies a step between its hooks. It reports whether the step itself was taken, whatever the
// hook after it returned.
func (a *applier) applyWithHooks(ctx context.Context, s *step) (taken bool, err error) {
	operation, before, after := a.hooksOf(s)
	apply := a.applierOf(s)
	if operation == "" || len(s.subject().ResourceHooks) == 0 && !a.hooks.Bound.Has(s.subject().URN) {
		err = apply(ctx, s)
		return err == nil, err
	}
	if err := a.runHooks(ctx, before, s.old, s.new); err != nil {
		return false, err
	}
	if err := a.applyWithRetries(ctx, s, apply, operation, before); err != nil {
		return false, err
	}
	if s.new != nil && !s.new.Custom {
		a.hooks.Awaiting.Set(s.new.URN, callbacks.ComponentStep{After: after, Old: s.old, New: s.new})
		return true, nil
	}
	return true, a.runHooks(ctx, after, s.old, s.new)
}

// runHooks runs the hooks and actions of a step, one after the other up to the first that fails.
func (a *applier) runHooks(ctx context.Context, kind abi.HookKind, old, new *state.Resource) error {
	subject := new
	if new == nil {
		subject = old
	}
	for _, name := range a.hooks.Names(subject, kind, hookKey(kind)) {
		if action, ok := a.hooks.Actions.Lookup(name); ok {
			if err := a.runAction(ctx, action, a.hookStep(kind, old, new)); err != nil {
				if (kind == abi.HookKindAfterCreate || kind == abi.HookKindAfterUpdate) && !a.previews() {
					err = fmt.Errorf("%w\nthe resource is done and recorded; husk action %s runs the action again", err, name)
				}
				return &callback.ActionError{Name: name, Kind: kind, Err: err}
			}
			continue
		}
		hook, ok := a.hooks.Steps.Lookup(name)
		if !ok {
			return fmt.Errorf("the %s hook %q is not registered", kind, name)
		}
		if !hook.OnDryRun && a.previews() {
			continue
		}
		err := hook.Run(ctx, a.hookStep(kind, old, new))
		switch {
		case err != nil && hook.IgnoreErrors:
			a.warn(subject.URN, "the %s hook %q failed: %v", kind, name, err)
		case err != nil:
			return fmt.Errorf("the %s hook %q failed: %w", kind, name, err)
		}
	}
	return nil
}

// applyWithRetries applies a step until it succeeds, or its error hooks no longer want that.
func (a *applier) applyWithRetries(ctx context.Context, s *step, apply func(context.Context, *step) error, what string, before abi.HookKind) error {
	names := s.subject().ResourceHooks[hookKey(abi.HookKindOnError)]
	if len(names) == 0 || a.previews() {
		return apply(ctx, s)
	}
	var goal *state.Resource
	if s.new != nil {
		goal = clone(s.new)
	}
	seen := a.hookStep(before, s.old, s.new)
	failure := callback.Failure{Operation: what, Old: seen.Old, New: seen.New}
	var overtaken []record.Operation // begun by earlier attempts, with who knows what effect
	for {
		s.began = record.Operation{}
		err := apply(ctx, s)
		if err == nil {
			return a.recorder.Record(ctx, record.End(overtaken...))
		}
		if s.creates() && s.new.ID != "" {
			return err // the object is there, and another attempt would make it twice
		}
		failure.Errors = slices.Insert(failure.Errors, 0, err)
		if len(failure.Errors) == maxAttempts {
			return fmt.Errorf("given up after %d attempts: %w", maxAttempts, err)
		}
		retry, hookErr := a.askErrorHooks(ctx, s.subject().URN, names, failure)
		if hookErr != nil {
			return errors.Join(err, hookErr)
		}
		if !retry || s.creates() && outcomeUnknown(err) || a.failures.stopped() || ctx.Err() != nil {
			return err
		}
		a.warn(s.subject().URN, "retrying %s due to on-error hook request: attempt %d of %d failed: %v", what, len(failure.Errors), maxAttempts, err)
		if outcomeUnknown(err) {
			overtaken = append(overtaken, s.began) // the next attempt ends in the same state, whatever this one did
		}
		if what == "update" {
			s.old = a.recorder.Lookup(s.new.URN) // with the changes of this attempt
		}
		if s.new != nil {
			s.new = clone(goal)
		}
	}
}

// askErrorHooks asks all error hooks of a step whether it is tried again.
func (a *applier) askErrorHooks(ctx context.Context, u urn.URN, names []string, failure callback.Failure) (retry bool, err error) {
	for _, name := range names {
		hook, ok := a.hooks.Errors.Lookup(name)
		if !ok { // a deletion without the program that made the resource
			a.warn(u, "the error hook %q is not registered, so the step is not tried again", name)
			continue
		}
		failure.Errors = slices.Clone(failure.Errors)
		wants, err := hook.Run(ctx, failure)
		if err != nil {
			return false, fmt.Errorf("the error hook %q failed: %w", name, err)
		}
		retry = retry || wants
	}
	return retry, nil
}

// finishComponent runs the hooks that waited for the outputs of a component.
func (a *applier) finishComponent(ctx context.Context, u urn.URN) error {
	s, ok := a.hooks.Awaiting.Remove(u)
	if !ok {
		return nil
	}
	err := a.runHooks(ctx, s.After, s.Old, a.recorder.Lookup(u))
	if err != nil {
		a.diagnose("error", u, "%v", err)
		a.failures.add(err)
	}
	return err
}

// checkDeleteHooks refuses to delete resources with unregistered delete hooks, before any deletion.
func (o *objects) checkDeleteHooks(resources []*state.Resource) error {
	var missing []string
	for _, res := range resources {
		if operation, _, _ := o.hooksOf(&step{op: OpDelete, old: res}); operation == "" {
			continue
		}
		for _, kind := range []abi.HookKind{abi.HookKindBeforeDelete, abi.HookKindAfterDelete} {
			for _, name := range res.ResourceHooks[hookKey(kind)] {
				if !o.hooks.Steps.Has(name) {
					missing = append(missing, fmt.Sprintf("\n  %s: the %s hook %q", res.URN, kind, name))
				}
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return errors.New("nothing was deleted, since hooks are not registered that resources want to be deleted with: " +
		"have the program register them until these resources are gone; husk destroy runs the program only with --run-program:" +
		strings.Join(missing, ""))
}
