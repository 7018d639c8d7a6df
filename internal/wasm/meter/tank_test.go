package meter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero/api"
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
			now := time.Now()
			tank.Begin(1<<40, now)
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
	now := time.Now()
	tank.Begin(firstQuantum+10, now)
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

	tank.Begin(5, now)
	granted, err = tank.Refill(0, now)
	require.NoError(t, err, "the next call has its own")
	require.EqualValues(t, 5, granted)
}

// gauge is the fuel of an instance.
type gauge struct {
	api.MutableGlobal
	left uint64
}

func (g *gauge) Get() uint64  { return g.left }
func (g *gauge) Set(v uint64) { g.left = v }

// A call begins with fuel, none of which is left to the next one, and none beyond its limit.
func TestACallBeginsWithFuel(t *testing.T) {
	fuel := &gauge{left: 3}
	tank, now := Tank{fuel: fuel}, time.Now()
	tank.Begin(1<<40, now)
	require.EqualValues(t, firstQuantum, fuel.left)
	require.Zero(t, tank.Used())
	fuel.left -= 7
	require.EqualValues(t, 7, tank.Used())

	tank.Begin(5, now)
	require.EqualValues(t, 5, fuel.left)
	require.Zero(t, tank.Used())
	granted, err := tank.Refill(-1, now)
	require.Equal(t, &SpentError{5}, err)
	require.Zero(t, granted)
	require.EqualValues(t, 6, tank.used)
}
