package engine_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/husk-dev/husk/engine/internal/enginetest"
)

// fan registers n resources that depend on nothing, at most 64 at once.
func fan(n int) enginetest.Program {
	return func(p *enginetest.Run) error {
		var wg sync.WaitGroup
		slots := make(chan struct{}, 64)
		errs := make(chan error, n)
		for i := range n {
			slots <- struct{}{}
			wg.Go(func() {
				_, err := p.Custom(plain, fmt.Sprintf("r%06d", i), props("a", i, "b", "text", "c", true))
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

// BenchmarkUp is a first update and an update without changes, in memory.
func BenchmarkUp(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("first/%d", n), func(b *testing.B) {
			for b.Loop() {
				enginetest.NewStack(b, newCloud()).Up(fan(n))
			}
		})
		b.Run(fmt.Sprintf("same/%d", n), func(b *testing.B) {
			s := enginetest.NewStack(b, newCloud())
			s.Up(fan(n))
			for b.Loop() {
				s.Up(fan(n))
			}
		})
	}
}
