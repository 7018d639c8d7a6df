package display

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
)

// site is a component, and of is a resource in it, or in the stack for an empty parent.
var site = engine.StepInfo{Op: engine.OpCreate, URN: urn.New("dev", "demo", "", "site:index:Site", "web"), Resource: "site:index:Site", Name: "web"}

func of(op engine.Op, name string, parent urn.URN, needs ...engine.StepInfo) engine.StepInfo {
	s := step(op, name)
	s.Parent = parent
	s.URN = urn.New("dev", "demo", parent, s.Resource, name)
	for _, n := range needs {
		s.Dependencies = append(s.Dependencies, engine.Dependency{URN: n.URN})
	}
	return s
}

// planOf returns the plan of a preview that found some steps.
func planOf(operation string, steps ...engine.StepInfo) *Plan {
	p := &Plan{}
	p.Event(engine.Started{Operation: operation, DryRun: true})
	for _, s := range steps {
		p.Event(engine.StepStarted{Step: s})
		p.Event(engine.StepDone{Step: s})
	}
	p.Event(engine.Summary{})
	p.Event(engine.Started{Operation: operation})
	p.Event(engine.StepDone{Step: of(engine.OpCreate, "of the execution", "")})
	return p
}

// executed is the display of the execution of a plan, on a terminal of a size.
func executed(p *Plan, columns, rows int) *shown {
	s := &shown{}
	s.Text = newText(&screen{out: &s.out, size: func() (int, int) { return columns, rows }}, NewOutput(&s.errs, nil), Options{Plan: p})
	s.Event(started)
	return s
}

func (s *shown) begin(steps ...engine.StepInfo) {
	for _, one := range steps {
		s.Event(engine.StepStarted{Step: one})
	}
}

func (s *shown) finish(steps ...engine.StepInfo) {
	for _, one := range steps {
		s.Event(engine.StepDone{Step: one})
	}
}

// seen returns what is on the terminal after so many seconds, without the first line.
func (s *shown) seen(t *testing.T, seconds int) string {
	s.at(time.Now().Add(time.Duration(seconds) * time.Second))
	_, below, _ := strings.Cut(onTerminal(t, s.out.String()), "\n")
	return below
}

var (
	key0  = of(engine.OpCreate, "key", "")
	cert  = of(engine.OpCreate, "cert", site.URN, key0)
	page  = of(engine.OpUpdate, "page", site.URN, key0, cert)
	after = of(engine.OpCreate, "after", "", site)
	old   = of(engine.OpDelete, "old", "")
	same  = of(engine.OpSame, "same", "")
)

func TestTheTreeOfWhatRunsAndWaits(t *testing.T) {
	s := executed(planOf("up", same, key0, site, cert, page, after, old), 80, 24)
	s.begin(key0)
	require.Equal(t, `  +  lab:Thing key                            creating… 12s
  +  site:Site web                            is next
  ├─ +  lab:Thing cert                        waits for lab:Thing key
  └─ ~  lab:Thing page                        waits for lab:Thing key, 1 more
  +  lab:Thing after                          waits for site:Site web
  -  lab:Thing old                            waits for the end of the program
  0 of 6 done, 1 running, 5 waiting
`, s.seen(t, 12))

	s.begin(site)
	s.finish(site, key0)
	s.begin(cert)
	require.Equal(t, `  +  site:Site web                            created
  +  lab:Thing key                            created
  +  site:Site web                            0 of 2 done
  ├─ +  lab:Thing cert                        creating… 72s
  └─ ~  lab:Thing page                        waits for lab:Thing cert
  +  lab:Thing after                          waits for site:Site web
  -  lab:Thing old                            waits for the end of the program
  2 of 6 done, 1 running, 3 waiting
`, strings.Replace(s.seen(t, 72), "1m12s", "72s", 1))

	s.Event(engine.StepFailed{Step: cert})
	s.begin(page)
	s.finish(page)
	s.begin(after)
	s.finish(after)
	require.Contains(t, s.seen(t, 72), `  -  lab:Thing old                            is next
  4 of 6 done, 1 failed, 0 running, 1 waiting
`)
	s.begin(old)
	s.finish(old)
	s.Event(engine.Summary{Changes: engine.Changes{Create: 3}})
	s.Close(nil)
	require.True(t, strings.HasSuffix(onTerminal(t, s.out.String()), "  -  lab:Thing old                            deleted\n\nDone in 0.0s: 3 created, 1 failed.\n"))
}

// What depends on a resource is deleted before it.
func TestDeletionsWaitForDependents(t *testing.T) {
	gone := func(s engine.StepInfo) engine.StepInfo { s.Op = engine.OpDelete; return s }
	s := executed(planOf("destroy", gone(page), gone(cert), gone(key0)), 80, 24)
	s.begin(gone(page))
	require.Equal(t, `  -  lab:Thing page                           deleting… 3.0s
  -  lab:Thing cert                           waits for lab:Thing page
  -  lab:Thing key                            waits for lab:Thing page, 1 more
  0 of 3 done, 1 running, 2 waiting
`, s.seen(t, 3))
	s.finish(gone(page))
	require.Contains(t, s.seen(t, 3), "  -  lab:Thing cert                           is next\n  -  lab:Thing key                            waits for lab:Thing cert\n")
	s.Close(nil)
}

// A wide terminal shows providers, and the whole of long names.
func TestAWideTerminal(t *testing.T) {
	long := of(engine.OpCreate, "a-name-that-is-so-long-that-it-needs-cutting", site.URN, key0)
	long.Resource, long.Provider = "aws:elasticloadbalancing/targetGroup:TargetGroup", "urn:pulumi:dev::demo::pulumi:providers:aws::east"
	wide := executed(planOf("up", site, key0, long), 200, 50)
	wide.begin(site, key0)
	require.Equal(t, `  +  site:Site web                                                                      creating… 3.0s
  └─ +  aws:elasti… a-name-that-is-so-long-that-it-needs-cutting aws east               waits for lab:Thing key
`, strings.Join(strings.SplitAfter(wide.seen(t, 3), "\n")[:2], ""))
	narrow := executed(planOf("up", site, key0, long), 80, 24)
	narrow.begin(site, key0)
	require.Contains(t, narrow.seen(t, 3), "  └─ +  aws:elast… a-name-that-is-so-long-th… waits for lab:Thing key by east\n")
	wide.Close(nil)
	narrow.Close(nil)
}

// No line is longer than the terminal is wide, whatever the names and the size.
func TestNoLineIsTooLong(t *testing.T) {
	odd := of(engine.OpCreate, "名前が長い資源の名前が長い資源の名前が長い資源", site.URN)
	accents := of(engine.OpCreate, strings.Repeat("e\u0301", 60), site.URN, odd)
	for columns := 1; columns < 220; columns += 3 {
		s := executed(planOf("up", site, odd, accents, key0), columns, 24)
		s.begin(site, odd, key0)
		for _, line := range strings.Split(s.seen(t, 3), "\n") {
			require.LessOrEqual(t, lineWidth(line), max(columns, 10), "%d columns: %q", columns, line)
		}
		s.Close(nil)
	}
}

// With more resources than lines, what runs has them first, and the last line counts all.
func TestManyResources(t *testing.T) {
	var steps []engine.StepInfo
	for i := range 10_000 {
		steps = append(steps, of(engine.OpCreate, fmt.Sprintf("thing%d", i), ""))
	}
	s := executed(planOf("up", steps...), 80, 24)
	s.begin(steps[:20]...)
	s.finish(steps[:5]...)
	seen := strings.Split(s.seen(t, 3), "\n")
	live := seen[5:]
	require.Len(t, live, leastLive+1)
	require.Contains(t, live[0], "lab:Thing thing5 ")
	require.Equal(t, []string{"  5 of 10000 done, 15 running, 9980 waiting", ""}, live[leastLive-1:])
	s.Close(nil)
}

// A terminal that takes nothing, as after Ctrl-S, does not hold up the deployment; nothing is lost.
func TestASlowTerminalHoldsUpNothing(t *testing.T) {
	blocked := &blockedWriter{entered: make(chan struct{}, 1), release: make(chan struct{})}
	s := newText(&screen{out: blocked, size: func() (int, int) { return 80, 24 }}, NewOutput(&bytes.Buffer{}, nil), Options{})
	s.Event(started)
	s.ticking.Go(func() { s.at(time.Now()) })
	<-blocked.entered
	for i := range 10_000 {
		one := of(engine.OpCreate, fmt.Sprintf("thing%d", i), "")
		s.Event(engine.StepStarted{Step: one})
		s.Event(engine.StepDone{Step: one})
	}
	close(blocked.release)
	s.Close(nil)
	require.Equal(t, 10_000, strings.Count(blocked.written.String(), " created\n"))
}

// blockedWriter is an output whose reader waits.
type blockedWriter struct {
	entered, release chan struct{}
	written          bytes.Buffer
}

func (w *blockedWriter) Write(text []byte) (int, error) {
	select {
	case w.entered <- struct{}{}:
	default:
	}
	<-w.release
	return w.written.Write(text)
}
