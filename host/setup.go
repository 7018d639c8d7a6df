package host

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
)

// setup is what sets an instance up. It only grows, except where a
// step is done again in another way: then instances of the older generation are of
// no use any more.
type setup struct {
	// changing serializes the calls that change the setup.
	changing sync.Mutex

	mu    sync.Mutex
	state setupState
}

// setupState is the setup at one moment. Its steps are not changed.
type setupState struct {
	generation int
	steps      []setupStep
}

// setupStep is one call that every instance gets.
type setupStep struct {
	method abi.Method
	// once is false for a step that adds to earlier ones of its method.
	once bool
	do   func(context.Context, *canon.Guest) error
	// assets are those that the step was passed, which its repetitions get too.
	assets abi.AssetOpener
	// deferral is nil for a step that was done before it became one.
	deferral *deferral
}

func (s *setup) current() setupState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

func (s *setup) set(state setupState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = state
}

// with returns the setup with one more step, or with that step in place of an earlier
// one, and the index of the step.
func (s setupState) with(step setupStep) (setupState, int) {
	steps := slices.Clone(s.steps)
	if step.once {
		at := slices.IndexFunc(steps, func(other setupStep) bool { return other.once && other.method == step.method })
		if at >= 0 {
			steps[at] = step
			return setupState{s.generation + 1, steps}, at
		}
	}
	return setupState{s.generation, append(steps, step)}, len(steps)
}

// establish does a step of the setup in one instance and, once it has succeeded,
// keeps it for all others.
func establish[Q, R any](ctx context.Context, s *sandbox, method abi.Method, once bool, request Q,
	do func(*canon.Guest, context.Context, Q) (R, error),
) (response R, err error) {
	s.setup.changing.Lock()
	defer s.setup.changing.Unlock()
	step := setupStep{method: method, once: once, assets: abi.AssetsFrom(ctx)}
	step.do = func(ctx context.Context, guest *canon.Guest) error {
		_, err := do(guest, ctx, request)
		return err
	}
	state, at := s.setup.current().with(step)
	if len(state.steps) > maxSetup {
		return response, s.fail(method, abi.ErrorKindInvalidArgument,
			fmt.Sprintf("it was set up %d times already", maxSetup))
	}
	for {
		// The instance gets what came before the step, and nothing else.
		i, err := s.takeWith(ctx, method, setupState{state.generation, state.steps[:at]})
		if err != nil {
			return response, err
		}
		err = i.run(ctx, method, func(ctx context.Context) error {
			response, err = do(i.guest, ctx, request)
			return err
		})
		if err != nil {
			var none R
			response = none
			i.spoiled = true // it may be set up in part
		} else {
			i.applied = at + 1
			s.setup.set(state)
		}
		s.put(i)
		if err != errPart {
			return response, err
		}
	}
}
