package timeline

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
)

var update = flag.Bool("update", false, "write the golden files")

// film is a recorder whose clock is set by the test.
type film struct {
	*Recorder
	now time.Time
}

func newFilm() *film {
	f := &film{now: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)}
	f.Recorder = NewRecorder(func() time.Time { return f.now })
	return f
}

// at records events at a time in milliseconds since the beginning.
func (f *film) at(ms int, events ...engine.Event) {
	f.now = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC).Add(time.Duration(ms) * time.Millisecond)
	for _, e := range events {
		f.Event(e)
	}
}

const thing = "lab:index/thing:Thing"

func of(name string) urn.URN { return urn.New("dev", "demo", "", thing, name) }

func step(op engine.Op, name string, needs ...string) engine.StepInfo {
	s := engine.StepInfo{Op: op, URN: of(name), Resource: thing, Name: name, Custom: true}
	for _, n := range needs {
		s.Dependencies = append(s.Dependencies, engine.Dependency{URN: of(n)})
	}
	return s
}

func begun(op engine.Op, name string, needs ...string) engine.Event {
	return engine.StepStarted{Step: step(op, name, needs...)}
}

func done(op engine.Op, name string, needs ...string) engine.Event {
	return engine.StepDone{Step: step(op, name, needs...), Cost: &engine.StepCost{Calls: 2, Microseconds: 1500}}
}

// updated is an update with everything that a timeline shows.
func updated() *film {
	f := newFilm()
	call := engine.ActionInfo{Name: "tell", Function: "lab:index/call:call", Event: "after-create", URN: of("late")}
	f.at(0, engine.Started{Operation: "up", Project: "demo", Stack: "dev"})
	f.at(700, engine.Preparing{Provider: "lab", Doing: "compiling", ElapsedMs: 600})
	f.at(1200, engine.Preparing{Provider: "lab", Doing: "compiling", ElapsedMs: 1100, Done: true})
	f.at(1300, begun(engine.OpCreate, "early"), begun(engine.OpUpdate, "other"), engine.StepStarted{Step: step(engine.OpSame, "kept")},
		engine.StepDone{Step: step(engine.OpSame, "kept")})
	f.at(2000, done(engine.OpUpdate, "other"))
	f.at(3300, done(engine.OpCreate, "early"), begun(engine.OpCreate, "late", "early", "other"), begun(engine.OpCreate, "<bad>\x1b[2J", "other"))
	f.at(3500, engine.StepFailed{Step: step(engine.OpCreate, "<bad>\x1b[2J", "other"), Error: "it is </svg> closed\nand shut"})
	f.at(4400, engine.ActionStarted{Action: call})
	f.at(4500, done(engine.OpCreate, "late", "early", "other"), engine.ActionDone{Action: call}, begun(engine.OpDelete, "old"))
	f.at(4800, done(engine.OpDelete, "old"), engine.ProviderCosts{Package: "lab", Methods: []engine.MethodCost{
		{Method: "create", Calls: 3, Failures: 1, Microseconds: 3_000_000, LongestMicroseconds: 2_000_000, Fuel: 1_234_567, BytesIn: 2048, BytesOut: 100},
	}}, engine.Summary{Result: "failed", DurationMs: 4800})
	return f
}

// waits returns what each bar waited for, those of the critical path with a star.
func waits(t *Timeline) (out []string) {
	for _, b := range t.Bars {
		text := b.Subject + " " + b.Did
		if b.WaitedFor >= 0 {
			text += " after " + t.Bars[b.WaitedFor].Subject
		}
		if b.Critical {
			text = "* " + text
		}
		out = append(out, text)
	}
	return out
}

func TestWhatWaitedForWhat(t *testing.T) {
	line := updated().Timeline()
	require.Equal(t, []string{
		"* lab compiling",
		"lab:Thing other updated after lab",
		"* lab:Thing early created after lab",
		`lab:Thing <bad>\x1b[2J failed after lab:Thing other`,
		"* lab:Thing late created after lab:Thing early",
		"lab:call tell run after lab",
		"* lab:Thing old deleted after lab:Thing late",
	}, waits(line))
	require.Equal(t, 1, line.Unchanged)
	require.Equal(t, 4800*time.Millisecond, line.Took)
	require.Equal(t, 100*time.Millisecond, line.Bars[0].Start)
}

// A resource is deleted after those that depend on it, and the critical path leads back through them.
func TestDeletionsWaitForDependents(t *testing.T) {
	f := newFilm()
	f.at(0, engine.Started{Operation: "destroy"}, begun(engine.OpDelete, "top", "middle"))
	f.at(10, done(engine.OpDelete, "top", "middle"), begun(engine.OpDelete, "middle", "base"), begun(engine.OpDelete, "else"))
	f.at(30, done(engine.OpDelete, "middle", "base"), done(engine.OpDelete, "else"), begun(engine.OpDelete, "base"))
	f.at(50, done(engine.OpDelete, "base"))
	require.Equal(t, []string{
		"* lab:Thing top deleted", "lab:Thing else deleted",
		"* lab:Thing middle deleted after lab:Thing top", "* lab:Thing base deleted after lab:Thing middle",
	}, waits(f.Timeline()))
}

// A run that goes on has bars that go on, and a preview before it is not part of it.
func TestARunThatGoesOn(t *testing.T) {
	f := newFilm()
	f.at(0, engine.Started{Operation: "preview"}, begun(engine.OpCreate, "one"), done(engine.OpCreate, "one"), engine.Summary{})
	f.at(5000, engine.Started{Operation: "up"}, begun(engine.OpRefresh, "one"))
	f.at(6000, done(engine.OpUpdate, "one"), begun(engine.OpCreate, "two"))
	f.at(8000)
	line := f.Timeline()
	require.Equal(t, []string{"lab:Thing one drifted", "* lab:Thing two created"}, waits(line))
	require.True(t, line.Bars[1].Running)
	require.Equal(t, 3*time.Second, line.Bars[1].End)
	require.Contains(t, line.summary(), "running for 3s")
}

func TestFormats(t *testing.T) {
	for _, name := range []string{"up.svg", "up.html"} {
		var b strings.Builder
		require.NoError(t, updated().Timeline().Write(&b, name))
		golden := filepath.Join("testdata", name)
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), b.String())
		// Nothing is loaded from elsewhere, and nothing of strangers is markup.
		for _, word := range []string{"<script", "href=", "src=", "@import", "<bad>", "\x1b"} {
			require.NotContains(t, b.String(), word)
		}
	}
	for name, ok := range map[string]bool{"a.svg": true, "b/c.HTML": true, "x.htm": true, "x.png": false, "timeline": false} {
		require.Equal(t, ok, CheckName(name) == nil, name)
	}
}

// Ten thousand steps make a file that a browser opens: the longest are drawn, and the others are counted.
func TestTenThousandSteps(t *testing.T) {
	f := newFilm()
	f.at(0, engine.Started{Operation: "up"})
	for i := range 10_000 {
		f.at(i, begun(engine.OpCreate, fmt.Sprint(i)))
		f.at(i+i%100, done(engine.OpCreate, fmt.Sprint(i)))
	}
	f.at(10_000, engine.Summary{Result: "succeeded"})
	var svg, page strings.Builder
	require.NoError(t, f.Timeline().WriteSVG(&svg, SVGOptions{}))
	require.NoError(t, f.Timeline().WriteHTML(&page))
	require.Equal(t, maxBars, strings.Count(svg.String(), `<g class="bar `))
	require.Contains(t, page.String(), "10000 steps (the 9000 shortest are left out)")
	require.Less(t, page.Len(), 1<<20)
	for d := xml.NewDecoder(strings.NewReader(svg.String())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
	}
}
