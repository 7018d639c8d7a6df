package host

import (
	"context"
	"sync"
)

// A module whose schema says so shakes hands with all its users alike. So the second
// configuration of it, and those after it, begin with the image of an instance that has
// done that. Nothing in the image is of any user: the instance was granted nothing, and
// learned what the engine is and understands.

// greeting is the image of a module after a handshake.
type greeting struct {
	mu sync.Mutex
	// of is the first handshake that a configuration has needed; nil before. Engines do not
	// change theirs.
	of *saidHandshake
	// image is nil where there is none; it was tried if made is set.
	image *snapshot
	made  bool
}

// greeted is an image for an instance that begins with the first step of a setup done. It is
// nil where the instance has to do the step itself.
func (s *sandbox) greeted(ctx context.Context, state setupState) *snapshot {
	if len(state.steps) == 0 || state.steps[0].greets == nil {
		return nil
	}
	base := s.baseImage(ctx)
	if base == nil {
		return nil
	}
	step := state.steps[0]
	g := &s.module.images.greeting
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.of == nil: // most modules have one configuration, which needs none
		g.of = step.greets
		return nil
	case g.of.Request != step.greets.Request:
		return nil
	case !g.made && step.first():
		g.image, _ = s.module.makeGreeted(ctx, base, step.greets) // it is only slower without
		g.made = g.image != nil || ctx.Err() == nil
	}
	return s.fitting(g.image)
}

// makeGreeted has an instance shake hands, as configurations were told that it does.
func (m *Module) makeGreeted(ctx context.Context, base *snapshot, greets *saidHandshake) (*snapshot, error) {
	return m.donated(ctx, base, func(i *instance) error {
		return i.run(ctx, "handshake", func(ctx context.Context) error { return greets.repeat(ctx, i.guest) })
	})
}
