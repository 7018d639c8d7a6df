package display

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine"
)

// What is made ready is shown with the time that it takes, each by itself, for as long as it
// takes; where there are no live lines, at its begin and at its end.
func TestWhatIsMadeReady(t *testing.T) {
	compiling := func(provider string, elapsed int64, done bool) engine.Preparing {
		return engine.Preparing{Provider: provider, Doing: "compiling", ElapsedMs: elapsed, Done: done}
	}
	s := newShown(func() (int, int) { return 80, 24 }, started)
	now := time.Now()
	s.showPreparing(compiling("tls", 500, false), now)
	s.showPreparing(compiling("random\x1b", 500, false), now.Add(time.Second))
	s.at(now.Add(2 * time.Second))
	require.Equal(t, "Updating demo/dev\n  compiling random\\x1b… 1.5s\n  compiling tls… 2.5s\n", onTerminal(t, s.out.String()))
	s.showPreparing(compiling("tls", 2600, true), now.Add(2*time.Second))
	s.at(now.Add(2 * time.Second))
	require.Equal(t, "Updating demo/dev\n  compiling random\\x1b… 1.5s\n", onTerminal(t, s.out.String()))
	s.showPreparing(compiling("random\x1b", 1700, true), now.Add(2*time.Second))
	s.at(now.Add(2 * time.Second))
	require.Equal(t, "Updating demo/dev\n", onTerminal(t, s.out.String()))

	s = newShown(nil, started, compiling("tls", 500, false), compiling("tls", 2600, true))
	require.Equal(t, "Updating demo/dev\n  compiling tls…\n  compiling tls took 2.6s\n", s.out.String())

	var out bytes.Buffer
	NewJSON(NewOutput(&out, nil)).Event(compiling("tls", 500, false))
	require.Equal(t, `{"type":"preparing","provider":"tls","doing":"compiling","elapsedMs":500}`+"\n", out.String())
}
