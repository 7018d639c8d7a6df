package main_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/testkit/postgrestest"
	"github.com/husk-dev/husk/internal/workspace/bundle"
)

var (
	fleetTime   = flag.Duration("fleet", 10*time.Second, "how long TestFleet kills workers")
	fleetSize   = flag.Int("workers", 8, "how many workers TestFleet has")
	fleetStacks = flag.Int("stacks", 6, "how many stacks TestFleet updates at once")
	fleetSlow   = flag.Duration("slow", time.Second, "how long a creation takes at most in TestFleet")
	fleetPages  = flag.Duration("pages", 2*time.Second, "how long the balancer of TestFleet answers pages of its own at most")
	fleetClocks = flag.Duration("clocks", 0, "how far the clocks of TestFleet's servers are from the machine's, before or behind, if at all")
)

// Workers that are killed all the time forget no object that they made, and make none twice. Meanwhile their servers stop, are killed, and hang,
// what is between answers pages of its own, and the clocks of servers are apart: SQLite has one server, and PostgreSQL two, and is killed and hangs, too.
func TestFleet(t *testing.T) {
	program := ""
	if *fleetClocks > 0 {
		program = buildShifted(t)
	}
	t.Run("SQLite", func(t *testing.T) {
		s := newSite(t)
		s.program = program
		fleet(t, s, 1)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		s, p := newSite(t), postgrestest.Start(t)
		s.place, s.program = append(s.place, "--database", p.URL("postgres", 0)), program
		fleet(t, s, 2, func() string {
			p.Stop()
			p.Restart(t)
			return "databases killed"
		}, func() string {
			resume := p.Pause(t)
			time.Sleep(upTo(6 * time.Second))
			resume()
			return "databases paused"
		})
	})
}

// upTo returns a time that is not longer.
func upTo(longest time.Duration) time.Duration {
	return time.Duration(mathrand.Int64N(1 + int64(longest)))
}

// front starts servers of a site, with a balancer before them, and returns what disturbs both.
func (s *site) front(servers int) (disturb []func() (what string)) {
	t := s.t
	b := &balancer{shown: map[int]int{}}
	front := httptest.NewServer(b)
	t.Cleanup(front.Close)
	serve := func(at string) *exec.Cmd {
		clock := time.Duration(mathrand.IntN(3)-1) * *fleetClocks
		s.clock = fmt.Sprint(clockVariable, "=", int(clock.Seconds()))
		s.serve(at, "--lease", "3s")
		return s.serving
	}
	var serving []*exec.Cmd
	for range servers {
		serving = append(serving, serve("127.0.0.1:0"))
		at, err := url.Parse(s.url)
		require.NoError(t, err)
		b.servers = append(b.servers, at)
	}
	s.url = front.URL
	restart := func(signal syscall.Signal) {
		i := mathrand.IntN(servers)
		require.NoError(t, serving[i].Process.Signal(signal))
		_ = serving[i].Wait()
		serving[i] = serve(b.servers[i].Host)
		s.url = front.URL
	}
	return []func() string{
		func() string { restart(syscall.SIGTERM); return "servers restarted" },
		func() string { restart(syscall.SIGKILL); return "servers killed" },
		func() string {
			process := serving[mathrand.IntN(servers)].Process
			require.NoError(t, process.Signal(syscall.SIGSTOP))
			time.Sleep(upTo(6 * time.Second))
			require.NoError(t, process.Signal(syscall.SIGCONT))
			return "servers paused"
		},
		func() string {
			b.show(pages[mathrand.IntN(len(pages))])
			time.Sleep(upTo(*fleetPages))
			b.show(0)
			return "pages of the balancer"
		},
	}
}

// fleet has workers of a site update stacks while they are killed and paused, and its servers and more are disturbed.
func fleet(t *testing.T, s *site, servers int, more ...func() (what string)) {
	disturb := append(s.front(servers), more...)
	admin := s.login("acme", "ann", "admin")
	token := s.token("*", "fleet", "work")
	c := newCloud(t)
	c.hold = func(operation string) {
		if operation == "create" {
			time.Sleep(upTo(*fleetSlow))
		}
	}
	client, err := runapi.NewClient(s.url, admin)
	require.NoError(t, err)
	backend, err := remote.Open(t.Context(), named.ByOperator(strings.Replace(s.url, "://", "://:"+admin+"@", 1), "the test"), t.TempDir())
	require.NoError(t, err)
	defer backend.Close()

	resources := []string{"a", "b", "c", "d", "e"}
	bundles := make([][2]*bundle.Info, *fleetStacks)
	for i := range bundles {
		s.done("ann", "stack", "init", fmt.Sprint("s", i), "-C", s.project(map[string]string{"Husk.yaml": s.objects(c)}))
		for v := range bundles[i] {
			var names strings.Builder
			for _, r := range resources {
				// Another name makes another object of it, before the old one is deleted.
				fmt.Fprintf(&names, "  %s: {type: lab:Object, properties: {address: %q, name: s%d-%s.%d, size: 1}}\n", r, c.address, i, r, v)
			}
			dir := s.project(map[string]string{"Husk.yaml": s.objects(c) + names.String()})
			p, err := program.LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
			require.NoError(t, err)
			var content bytes.Buffer
			bundles[i][v], err = bundle.Pack(&content, p, nil)
			require.NoError(t, err)
			require.NoError(t, client.SendBundle(t.Context(), bundles[i][v].Digest, content.Bytes()))
		}
	}
	ask := func(stack, version int, operation string, options ...string) string {
		n := runapi.NewRun{ID: rand.Text(), Project: "demo", Stack: fmt.Sprint("s", stack), Operation: operation, Options: options, Bundle: bundles[stack][version].Digest}
		_, err := client.Call(t.Context(), http.MethodPost, "/v1/runs", n, nil)
		require.NoError(t, err)
		return n.ID
	}
	var mu sync.Mutex
	counts := map[string]int{}
	count := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		counts[what]++
	}
	look := func(stack int) *state.Snapshot {
		snapshot, _, err := state.Load(t.Context(), backend.State, state.StackName{Project: "demo", Name: fmt.Sprint("s", stack)}, nil)
		require.NoError(t, err)
		return snapshot
	}
	var finish func(stack int, id string) runapi.Run
	var settling sync.Map // runs by ID
	// settle does what a person does: they look for what may have been created, and tell the stack, and then the run goes on. A worker
	// that comes back may have handed it in meanwhile.
	settle := func(stack int, id string) {
		if _, is := settling.LoadOrStore(id, true); is {
			return
		}
		defer settling.Delete(id)
		for needs := (runapi.Run{}); ; {
			if _, err := client.Call(t.Context(), http.MethodGet, "/v1/runs/"+id, nil, &needs); err == nil && needs.State != runapi.Attention || t.Context().Err() != nil {
				return
			}
			options, snapshot := []string{"--clear-pending-creates"}, look(stack)
			for _, op := range snapshot.Operations() {
				if op.Type != state.OperationCreating {
					continue
				}
				name, _ := op.Resource.Inputs.Get("name").AsString()
				require.Eventually(t, func() bool { return !c.isCreating(name) }, 2*time.Minute, 100*time.Millisecond)
				if found := c.find(name, snapshot); len(found) > 0 {
					assert.Len(t, found, 1, "%s was made twice", name)
					options = append(options, fmt.Sprintf("--adopt-pending-creates=%s=%s/%s/%s", op.Resource.URN, c.address, name, found[0]))
				}
			}
			if last := finish(stack, ask(stack, 0, "refresh", options...)); last.State != runapi.Succeeded {
				continue
			}
			if _, err := client.Call(t.Context(), http.MethodPost, "/v1/runs/"+id+"/retry", nil, nil); err == nil {
				count("decided by a person")
			}
		}
	}
	finish = func(stack int, id string) (last runapi.Run) {
		var text strings.Builder
		require.NoError(t, client.Follow(t.Context(), id, 0, func(l *runapi.Line, r *runapi.Run) (bool, error) {
			if l != nil {
				text.WriteString(l.Text + "\n")
			}
			if r != nil {
				last = *r
				if r.State == runapi.Attention {
					time.AfterFunc(10*time.Second, func() { settle(stack, id) })
				}
			}
			return r == nil || !r.State.IsFinal(), nil
		}))
		count(last.Operation + " " + string(last.State))
		if last.State == runapi.Failed {
			t.Logf("%s of s%d failed: %s\n%s", last.Operation, stack, last.Reason, &text)
		}
		if last.State != runapi.Succeeded && last.Operation == "up" {
			assert.Contains(t, last.Reason, "workers were lost with the run", "%s: %s", id, &text)
		}
		return last
	}

	flags := []string{"--trusted", "--slots", "1"}
	for w := range *fleetSize {
		s.worker(token, fmt.Sprint("w", w), flags...)
	}
	finish(0, ask(0, 0, "up")) // modules are compiled, and the cache of all has them
	_, err = client.Call(t.Context(), http.MethodPut, "/v1/schedules/ticks", runapi.Schedule{Name: "ticks", Cron: "* * * * *",
		Run: runapi.NewRun{Project: "demo", Stack: "s0", Operation: "preview", Bundle: bundles[0][0].Digest}}, nil)
	require.NoError(t, err)

	began := time.Now()
	stop, done := context.WithTimeout(t.Context(), *fleetTime)
	defer done()
	var asking, disturbing sync.WaitGroup
	for i := range bundles {
		asking.Go(func() {
			for stop.Err() == nil {
				finish(i, ask(i, mathrand.IntN(2), "up"))
			}
		})
	}
	disturbing.Go(func() {
		for stop.Err() == nil {
			select {
			case <-stop.Done():
			case <-time.After(upTo(8 * time.Second)):
				count(disturb[mathrand.IntN(len(disturb))]())
			}
		}
	})
	for n := 1; stop.Err() == nil; n++ {
		select {
		case <-stop.Done():
		case <-time.After(2 * time.Second):
			name := fmt.Sprint("w", mathrand.IntN(*fleetSize))
			if n%4 == 0 {
				s.signal(name, syscall.SIGSTOP)
				time.Sleep(upTo(6 * time.Second))
				s.signal(name, syscall.SIGCONT)
				count("workers paused")
				continue
			}
			if s.kill(name) {
				count("workers killed")
			}
			s.worker(token, name, flags...)
		}
	}
	disturbing.Wait()
	asking.Wait()
	require.Positive(t, counts["workers killed"])
	_, err = client.Call(t.Context(), http.MethodDelete, "/v1/schedules/ticks", nil, nil)
	require.NoError(t, err)
	var all []runapi.Run
	_, err = client.Call(t.Context(), http.MethodGet, "/v1/runs?limit=1000&project=demo&stack=s0", nil, &all)
	require.NoError(t, err)
	ticks := map[time.Time]bool{}
	for _, run := range all {
		// The time of SQLite is its server's.
		if minute := run.Made.Truncate(time.Minute); run.Operation == "preview" && (servers > 1 || *fleetClocks == 0) {
			require.NotContains(t, ticks, minute, "the schedule has begun two runs")
			require.WithinRange(t, run.Made, began.Add(-time.Second), time.Now().Add(time.Second))
			ticks[minute] = true
		}
	}
	if servers > 1 && *fleetTime > 5*time.Minute {
		require.NotEmpty(t, ticks)
	}

	// What each stack knows, once its last run has said what earlier ones left.
	recorded := map[string]bool{}
	for i := range bundles {
		last := finish(i, ask(i, 0, "up"))
		require.Equal(t, runapi.Succeeded, last.State, "%v", last)
		snapshot := look(i)
		require.NoError(t, snapshot.Verify())
		for _, op := range snapshot.Operations() {
			require.NotEqual(t, state.OperationCreating, op.Type, "nobody has settled %s", op.Resource.URN)
		}
		for _, r := range snapshot.Resources() {
			if r.Type == "lab:index:Object" {
				require.NotContains(t, recorded, r.ID, "it is in two states")
				recorded[r.ID] = true
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, name := range c.objects {
		require.Contains(t, recorded, id, "nothing knows of %s", name)
	}
	for id := range recorded {
		require.Contains(t, c.objects, id, "an object is gone that a state has")
	}
	t.Logf("%v; %d objects made, %d there; %d runs of the schedule", counts, c.made, len(c.objects), len(ticks))
}

// isCreating reports whether the cloud is about to make an object of a name.
func (c *cloud) isCreating(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begun[name] > 0
}

// find returns the objects of a name that a state does not have.
func (c *cloud) find(name string, in *state.Snapshot) (found []string) {
	known := map[string]bool{}
	for _, r := range in.Resources() {
		known[r.ID] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, is := range c.objects {
		if is == name && !known[id] {
			found = append(found, id)
		}
	}
	return found
}
