package display

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/testkit/terminaltest"
)

// onPTY is a display on a terminal that a person could look at. Without its ticker, tests say when it is drawn.
func onPTY(t *testing.T, x *terminaltest.Terminal, p *Plan) *Text {
	out := NewOutput(x.TTY, nil)
	s := newText(newScreen(out), NewOutput(&bytes.Buffer{}, nil), Options{Plan: p})
	s.style = out.Style()
	s.Event(started)
	return s
}

// Whatever a terminal's size, and when it changes, the tree is below what is done, and nothing is left of earlier drawings.
func TestATerminalIsResizedWhileTheRunGoesOn(t *testing.T) {
	x := terminaltest.New(t, 200, 20)
	s := onPTY(t, x, planOf("up", key0, site, cert, page, after))
	now := time.Now()
	s.Event(engine.StepStarted{Step: key0})
	s.at(now.Add(3 * time.Second))
	x.AwaitText(t, "0 of 5 done, 1 running, 4 waiting")
	require.Equal(t, `Updating demo/dev
  +  lab:Thing key                                               lab                    creating… 3.0s
  +  site:Site web                                                                      is next
  ├─ +  lab:Thing cert                                           lab                    waits for lab:Thing key
  └─ ~  lab:Thing page                                           lab                    waits for lab:Thing key, 1 more
  +  lab:Thing after                                             lab                    waits for site:Site web
  0 of 5 done, 1 running, 4 waiting`, x.Screen())

	x.Resize(t, 80, 20)
	s.Event(engine.StepStarted{Step: site})
	s.Event(engine.StepDone{Step: site})
	s.at(now.Add(4 * time.Second))
	x.AwaitText(t, "1 of 5 done, 1 running, 3 waiting")
	require.Equal(t, `Updating demo/dev
  +  site:Site web                            created
  +  lab:Thing key                            creating… 4.0s
  +  site:Site web                            0 of 2 done
  ├─ +  lab:Thing cert                        waits for lab:Thing key
  └─ ~  lab:Thing page                        waits for lab:Thing key, 1 more
  +  lab:Thing after                          waits for site:Site web
  1 of 5 done, 1 running, 3 waiting`, x.Screen())

	x.Resize(t, 40, 7)
	s.at(now.Add(5 * time.Second))
	x.AwaitText(t, "5.0s")
	require.Equal(t, `  +  lab:Thing key       creating… 5.0s
  +  site:Site web       0 of 2 done
  ├─ +  lab:Thing cert   waits for lab:…
  └─ ~  lab:Thing page   waits for lab:…
  1 of 5 done, 1 running, 3 waiting`, x.Screen())

	x.Resize(t, 120, 24)
	s.Event(engine.Summary{})
	s.Close(nil)
	require.NotContains(t, x.AwaitText(t, "Done in "), "waits for", "live lines go at the end")
}

// A terminal that wraps lines anew when it becomes narrower has nothing of the earlier drawing, either.
func TestATerminalThatWrapsLines(t *testing.T) {
	size := 100
	s := newShown(func() (int, int) { return size, 24 }, started)
	s.screen.wraps = true
	s.Event(engine.StepStarted{Step: step(engine.OpCreate, "one")})
	s.Event(engine.StepStarted{Step: step(engine.OpUpdate, "two")})
	s.at(time.Now().Add(3 * time.Second))
	wrapped := onTerminal(t, s.out.String())
	size = 40
	var rows strings.Builder
	for line := range strings.Lines(wrapped) {
		for line = strings.TrimSuffix(line, "\n"); len([]rune(line)) > size; line = string([]rune(line)[size:]) {
			rows.WriteString(string([]rune(line)[:size]) + "\n")
		}
		rows.WriteString(line + "\n")
	}
	s.out.Reset()
	s.at(time.Now().Add(4 * time.Second))
	require.Equal(t, `Updating demo/dev
  +  lab:Thing one       creating… 4.0s
  ~  lab:Thing two       updating… 4.0s
`, onTerminal(t, rows.String()+s.out.String()))
	s.Close(nil)
}

// Services that collect the output of a terminal get no live lines, nor do terminals that cannot have them.
func TestWhereLiveLinesAreDrawn(t *testing.T) {
	for _, c := range []struct {
		name, value string
		live        bool
	}{{"CI", "", true}, {"CI", "false", true}, {"CI", "true", false}, {"CI", "1", false}, {"TERM", "dumb", false}, {"NO_COLOR", "1", true}} {
		x := terminaltest.New(t, 80, 24)
		t.Setenv(c.name, c.value)
		require.Equal(t, c.live, newScreen(NewOutput(x.TTY, nil)).size != nil, "%s=%s", c.name, c.value)
	}
}

// The flag decides about colours, then NO_COLOR, then CLICOLOR_FORCE, and then whether a person reads the output.
func TestWhenThereAreColours(t *testing.T) {
	for _, c := range []struct {
		colour                  string
		noColour, force, term   string
		onTerminal, onPipe, err bool
	}{
		{onTerminal: true},
		{colour: "auto", onTerminal: true},
		{colour: "always", noColour: "1", term: "dumb", onTerminal: true, onPipe: true},
		{colour: "never", force: "1"},
		{noColour: "1", force: "1"},
		{force: "1", onTerminal: true, onPipe: true},
		{force: "0", onTerminal: true},
		{term: "dumb"},
		{colour: "sometimes", err: true},
	} {
		x := terminaltest.New(t, 80, 24)
		t.Setenv("NO_COLOR", c.noColour)
		t.Setenv("CLICOLOR_FORCE", c.force)
		if c.term != "" {
			t.Setenv("TERM", c.term)
		}
		terminal, pipe := NewOutput(x.TTY, nil), NewOutput(&bytes.Buffer{}, nil)
		err := errors.Join(terminal.SetColour(c.colour), pipe.SetColour(c.colour))
		require.Equal(t, c.err, err != nil)
		if err == nil {
			require.Equal(t, c.onTerminal, terminal.Style().Colour, "%+v", c)
			require.Equal(t, c.onPipe, pipe.Style().Colour, "%+v", c)
		}
	}
}
