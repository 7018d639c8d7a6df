package compiletime

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// machine is one whose clocks are set by hand.
type machine struct {
	passed, used time.Duration
	unknown      bool
}

func (m *machine) meter(limit time.Duration) *meter {
	begin := time.Unix(0, 0)
	out := &meter{
		limit: limit, workers: 2, others: 1,
		processor: func() (time.Duration, bool) { return m.used, !m.unknown }, now: func() time.Time { return begin.Add(m.passed) },
	}
	out.begin()
	return out
}

// A module of 23 s of processor time compiles on a machine where that takes 4 minutes.
func TestALoadedMachineChargesNothing(t *testing.T) {
	var m machine
	c := m.meter(30 * time.Second)
	for range 240 {
		m.passed += time.Second
		m.used += 23 * time.Second / 240
		require.False(t, c.step(1))
	}
}

func TestWhatIsTakenIsCharged(t *testing.T) {
	steps := func(m *machine, limit, passed, used time.Duration, running int) (n int) {
		c := m.meter(limit)
		for n = 1; n < 10_000; n++ {
			m.passed += passed
			m.used += used
			if c.step(running) {
				return n
			}
		}
		return n
	}
	const limit = 10 * time.Second
	require.Equal(t, 6, steps(&machine{}, limit, time.Second, 2*time.Second, 1), "both workers")
	require.Equal(t, 11, steps(&machine{}, limit, time.Second, 2*time.Second, 2), "of two compilations")
	require.Equal(t, 6, steps(&machine{}, limit, time.Second, 64*time.Second, 1), "guests of the process use the rest")
	require.Equal(t, 11, steps(&machine{unknown: true}, limit, time.Second, 0, 1), "where it is not known")
	require.Equal(t, 101, steps(&machine{}, limit, time.Second, 0, 1), "one that hangs")
}

func TestBound(t *testing.T) {
	cause := errors.New("too long")
	ctx, end := Bound(t.Context(), time.Nanosecond, 2, cause)
	<-ctx.Done()
	require.ErrorIs(t, context.Cause(ctx), cause)
	require.True(t, end())
	ctx, end = Bound(t.Context(), time.Hour, 2, cause)
	require.NoError(t, ctx.Err())
	require.False(t, end())
	require.Zero(t, change(0))
}
