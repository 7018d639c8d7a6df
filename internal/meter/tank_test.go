package meter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheQuantumLastsForASlice(t *testing.T) {
	for name, c := range map[string]struct {
		lasts time.Duration // how long a unit takes
		want  int64         // the quantum in the end
	}{
		"cheap":          {time.Nanosecond / 10, mostQuantum}, // 0: takes no time that can be measured
		"a nanosecond":   {time.Nanosecond, firstQuantum},
		"expensive":      {10 * time.Nanosecond, leastQuantum * 2},
		"very expensive": {time.Microsecond, leastQuantum},
	} {
		t.Run(name, func(t *testing.T) {
			var tank Tank
			tank.Begin(1 << 40)
			now := time.Now()
			granted := int64(0)
			for range 20 {
				now = now.Add(time.Duration(granted) * c.lasts)
				var err error
				granted, err = tank.Refill(0, now)
				require.NoError(t, err)
				tank.filled = now // as the test's clock says
			}
			require.Equal(t, c.want, granted)
		})
	}
}

func TestATankIsNeverOverdrawn(t *testing.T) {
	var tank Tank
	tank.Begin(firstQuantum + 10)
	now := time.Now()
	granted, err := tank.Refill(0, now)
	require.NoError(t, err)
	require.EqualValues(t, firstQuantum, granted)
	granted, err = tank.Refill(-4, now)
	require.NoError(t, err)
	require.EqualValues(t, 6, granted)
	granted, err = tank.Refill(0, now)
	require.NoError(t, err, "all was used, and no more")
	require.Zero(t, granted)
	_, err = tank.Refill(-1, now)
	var spent *SpentError
	require.ErrorAs(t, err, &spent)
	require.Equal(t, &SpentError{firstQuantum + 10}, spent)

	tank.Begin(5)
	granted, err = tank.Refill(0, now)
	require.NoError(t, err, "the next call has its own")
	require.EqualValues(t, 5, granted)
}
