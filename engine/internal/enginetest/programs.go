package enginetest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
)

// Chain registers a -> b -> c, where each takes the computed property of the
// one before. key is the input of a that may need a replacement.
func Chain(typ, key string) Program {
	return func(p *Run) error {
		a, err := p.Custom(typ, "a", Props("key", key))
		if err != nil {
			return err
		}
		b, err := p.Custom(typ, "b", Props("key", a.Out("made")))
		if err != nil {
			return err
		}
		c, err := p.Custom(Plain, "c", Props("from", b.Out("made")))
		if err != nil {
			return err
		}
		return p.Outputs(Props("made", c.Out("made")))
	}
}

// Empty registers nothing.
func Empty(*Run) error { return nil }

// One registers one resource.
func One(inputs property.Map, options ...func(*abi.ResourceOptions)) Program {
	return func(p *Run) error {
		_, err := p.Custom(Plain, "a", inputs, options...)
		return err
	}
}

// Pairs registers a -> b (b takes from a), and c on its own, with a key for each.
func Pairs(a, b, c string) Program {
	return func(p *Run) error {
		ra, errA := p.Custom(Strict, "a", Props("key", a))
		rb, errB := p.Custom(Plain, "b", Props("key", b, "from", ra.Out("made")))
		rc, errC := p.Custom(Plain, "c", Props("key", c))
		return errors.Join(errA, errB, errC, p.Outputs(Props("b", rb.Out("made"), "c", rc.Out("made"))))
	}
}

// Fan registers n resources that depend on nothing, at most 64 at once.
func Fan(n int) Program {
	return func(p *Run) error {
		var wg sync.WaitGroup
		slots := make(chan struct{}, 64)
		errs := make(chan error, n)
		for i := range n {
			slots <- struct{}{}
			wg.Go(func() {
				_, err := p.Custom(Plain, fmt.Sprintf("r%06d", i), Props("a", i, "b", "text", "c", true))
				errs <- err
				<-slots
			})
		}
		wg.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// Files registers a file for each name and path.
func Files(typ, mode string, namesAndPaths ...string) Program {
	return func(p *Run) error {
		var errs []error
		for i := 0; i < len(namesAndPaths); i += 2 {
			_, err := p.Custom(typ, namesAndPaths[i], Props("path", namesAndPaths[i+1], "mode", mode))
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
}
