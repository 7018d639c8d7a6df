package resources_test

import (
	"fmt"
	"testing"

	"github.com/husk-dev/husk/engine/internal/enginetest"
)

// BenchmarkUp is a first update and an update without changes, in memory.
func BenchmarkUp(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("first/%d", n), func(b *testing.B) {
			for b.Loop() {
				enginetest.NewStack(b, enginetest.NewCloud()).Up(fan(n))
			}
		})
		b.Run(fmt.Sprintf("same/%d", n), func(b *testing.B) {
			s := enginetest.NewStack(b, enginetest.NewCloud())
			s.Up(fan(n))
			for b.Loop() {
				s.Up(fan(n))
			}
		})
	}
}
