package wasi_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/host/internal/wasi"
)

func TestOnlyGrantedVariablesAreSeen(t *testing.T) {
	t.Setenv("HUSK_TEST_SECRET", "secret")
	script(t, wasi.Config{Env: []string{"REGION=eu"}},
		"env|REGION", "eu",
		"env|HUSK_TEST_SECRET", "ok",
		"env|PATH", "ok",
	)
}

// stoppedClock stands at one moment; sleeping moves it, and never takes time.
type stoppedClock struct {
	wall    time.Time
	elapsed time.Duration
}

func (c *stoppedClock) Now() time.Time         { return c.wall }
func (c *stoppedClock) Elapsed() time.Duration { return c.elapsed }

func (c *stoppedClock) Sleep(_ context.Context, d time.Duration) error {
	c.wall, c.elapsed = c.wall.Add(d), c.elapsed+d
	return nil
}

func TestTheClockCanBeReplaced(t *testing.T) {
	clock := &stoppedClock{wall: time.Date(2020, 2, 2, 2, 2, 2, 20, time.UTC), elapsed: time.Second}
	script(t, wasi.Config{Clock: clock},
		"now", "2020-02-02T02:02:02.00000002Z",
		"sleep|48h", "48h0m0s",
		"now", "2020-02-04T02:02:02.00000002Z",
	)
}

func TestRandomnessIsFreshUnlessReplaced(t *testing.T) {
	first, _ := run(t, t.Context(), wasi.Config{}, "rand|8", "rand|200000")
	second, _ := run(t, t.Context(), wasi.Config{}, "rand|8", "rand|200000")
	require.Len(t, first[0], 16)
	require.NotEqual(t, first[0], first[1])
	require.NotEqual(t, first[0], second[0])

	script(t, wasi.Config{Random: constant(7)}, "rand|8", "0707070707070707", "rand|200000", "0707070707070707")
}

// constant is an endless source of one byte.
type constant byte

func (c constant) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(c)
	}
	return len(p), nil
}

func TestAFailedRandomSourceIsNoRandomness(t *testing.T) {
	_, err := run(t, t.Context(), wasi.Config{
		Random: bytes.NewReader(make([]byte, 1024)), Stderr: func([]byte) {},
	}, "rand|4096")
	require.Error(t, err)
}

// sleepingClock is the system's, and tells when a guest begins to sleep.
type sleepingClock struct {
	wasi.Clock
	asleep chan time.Duration
}

func (c sleepingClock) Sleep(ctx context.Context, d time.Duration) error {
	c.asleep <- d
	return c.Clock.Sleep(ctx, d)
}

func TestASleepingGuestEndsWithItsContext(t *testing.T) {
	stop := errors.New("stopped by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	clock := sleepingClock{wasi.SystemClock(), make(chan time.Duration)}
	go func() {
		for d := range clock.asleep {
			if d > time.Hour {
				cancel(stop)
			}
		}
	}()
	lines, err := run(t, ctx, wasi.Config{Clock: clock}, "now", "sleep|1000h", "now")
	close(clock.asleep)
	require.ErrorIs(t, err, stop)
	require.Len(t, lines, 1)
}

func TestAnExitIsNeverTakenForAnEndedContext(t *testing.T) {
	// These are the codes that wazero gives to a cancelled context and a deadline.
	for _, code := range []string{"1", "0xffffffff", "0xefffffff"} {
		_, err := run(t, t.Context(), wasi.Config{}, "exit|"+code)
		var exit *wasi.ExitError
		require.ErrorAs(t, err, &exit)
		require.NotErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
	}
}

func TestOutputBecomesBoundedLines(t *testing.T) {
	var lines []string
	split := wasi.Lines{Emit: func(line string) { lines = append(lines, line) }}
	for _, piece := range []string{"one\ntw", "o\r\n\nthree", strings.Repeat("x", 20000), "\nlast"} {
		split.Write([]byte(piece))
	}
	split.Flush()
	split.Flush()
	require.Equal(t, []string{"one", "two", ""}, lines[:3])
	require.Equal(t, "three"+strings.Repeat("x", 20000), strings.Join(lines[3:6], ""))
	for _, line := range lines {
		require.LessOrEqual(t, len(line), 8192)
	}
	require.Equal(t, []string{"last"}, lines[6:])
}

func TestStandardErrorIsSeparate(t *testing.T) {
	var stderr bytes.Buffer
	_, err := run(t, t.Context(), wasi.Config{Stderr: func(p []byte) { stderr.Write(p) }},
		"stderr|abc|1000000", "panic|it broke")
	require.Error(t, err)
	require.True(t, strings.HasPrefix(stderr.String(), strings.Repeat("abc", 1000000)+"panic: it broke"))
}
