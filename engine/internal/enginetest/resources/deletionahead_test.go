package resources_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
)

// TestStoppedBetweenDeletions: what was begun while the deletion before it was being
// recorded is neither deleted nor left behind as cut off.
func TestStoppedBetweenDeletions(t *testing.T) {
	s := enginetest.NewStack(t, enginetest.NewCloud())
	s.Up(func(p *enginetest.Run) error {
		first, err := p.Custom(enginetest.Plain, "first", enginetest.Props("a", 1))
		if err != nil {
			return err
		}
		second, err := p.Custom(enginetest.Plain, "second", property.MapOf(map[string]property.Value{"a": first.Out("a")}))
		if err != nil {
			return err
		}
		_, err = p.Custom(enginetest.Plain, "third", property.MapOf(map[string]property.Value{"a": second.Out("a")}))
		return err
	})
	stop := make(chan struct{})
	once := sync.OnceFunc(func() { close(stop) })
	s.Edit = func(d *enginetest.Deployment) {
		d.Stop = stop
		seen := d.Events
		d.Events = func(e engine.Event) {
			if done, ok := e.(engine.StepDone); ok && done.Step.Op == engine.OpDelete {
				once()
			}
			seen(e)
		}
	}
	_, err := s.Try(enginetest.Destroy, nil)
	require.ErrorIs(t, err, engine.ErrStopped)
	require.Nil(t, s.Resource("third"))
	require.NotNil(t, s.Resource("second"))
	require.NotNil(t, s.Resource("first"))
	for _, pending := range s.Snapshot().Operations() {
		require.Fail(t, "an operation is left behind", "%s %s", pending.Type, pending.Resource.URN)
	}
}

// TestWritesOfAChainOfDeletions: each deletion is begun by the write that ends the one before.
func TestWritesOfAChainOfDeletions(t *testing.T) {
	writes := func(size int) int {
		for n := 1; ; n++ {
			s := enginetest.NewStack(t, enginetest.NewCloud())
			s.Up(func(p *enginetest.Run) error {
				inputs := enginetest.Props("a", 1)
				for i := range size {
					res, err := p.Custom(enginetest.Plain, fmt.Sprint(i), inputs)
					if err != nil {
						return err
					}
					inputs = property.MapOf(map[string]property.Value{"a": res.Out("a")})
				}
				return nil
			})
			if !s.CrashAt(n, false, enginetest.Destroy, nil) {
				return n - 1
			}
		}
	}
	require.Equal(t, writes(1)+4, writes(5))
}
