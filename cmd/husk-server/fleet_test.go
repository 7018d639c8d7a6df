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
	fleetTime = flag.Duration("fleet", 10*time.Second, "how long TestFleet kills workers")
	fleetSize = flag.Int("workers", 8, "how many workers TestFleet has")
	fleetSlow = flag.Duration("slow", time.Second, "how long a creation takes at most in TestFleet")
)

// Workers that are killed all the time forget no object that they made, and make none twice without a report. With SQLite, one server tries
// runs again on its own. With PostgreSQL, two servers stop, are killed, and hang, and their database is killed.
func TestFleet(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) { fleet(t, begin(t, "--lease", "3s", "--retry-pending"), nil) })
	t.Run("PostgreSQL", func(t *testing.T) {
		s, p, flags := newSite(t), postgrestest.Start(t), []string{"--lease", "3s"}
		s.place = append(s.place, "--database", p.URL("postgres", 0))
		b := &balancer{shown: map[int]int{}}
		var serving []*exec.Cmd
		for range 2 {
			s.serve("127.0.0.1:0", flags...)
			at, err := url.Parse(s.url)
			require.NoError(t, err)
			b.servers, serving = append(b.servers, at), append(serving, s.serving)
		}
		front := httptest.NewServer(b)
		t.Cleanup(front.Close)
		s.url = front.URL
		fleet(t, s, func() (what string) {
			i := mathrand.IntN(len(serving))
			signal := syscall.SIGTERM
			switch mathrand.IntN(5) {
			case 0:
				p.Stop()
				p.Restart(t)
				return "databases killed"
			case 1:
				require.NoError(t, serving[i].Process.Signal(syscall.SIGSTOP))
				time.Sleep(time.Duration(mathrand.Int64N(int64(6 * time.Second))))
				require.NoError(t, serving[i].Process.Signal(syscall.SIGCONT))
				return "servers paused"
			case 2:
				signal = syscall.SIGKILL
			}
			require.NoError(t, serving[i].Process.Signal(signal))
			_ = serving[i].Wait()
			s.serve(b.servers[i].Host, flags...)
			serving[i], s.url = s.serving, front.URL
			return "servers restarted"
		})
	})
}

// fleet has workers of a site update stacks while they are killed, and disturb is called.
func fleet(t *testing.T, s *site, disturb func() (what string)) {
	admin := s.login("acme", "ann", "admin")
	token := s.token("*", "fleet", "work")
	c := newCloud(t)
	c.hold = func(operation string) {
		if operation == "create" {
			time.Sleep(time.Duration(mathrand.Int64N(1 + int64(*fleetSlow))))
		}
	}
	client, err := runapi.NewClient(s.url, admin)
	require.NoError(t, err)
	backend, err := remote.Open(t.Context(), named.ByOperator(strings.Replace(s.url, "://", "://:"+admin+"@", 1), "the test"), t.TempDir())
	require.NoError(t, err)

	const stacks = 6
	resources := []string{"a", "b", "c", "d", "e"}
	var bundles [stacks][2]*bundle.Info
	for i := range stacks {
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
	var log sync.Map // of each run
	var mu sync.Mutex
	counts := map[string]int{}
	count := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		counts[what]++
	}
	finish := func(id string) (last runapi.Run) {
		var text strings.Builder
		require.NoError(t, client.Follow(t.Context(), id, 0, func(l *runapi.Line, r *runapi.Run) (bool, error) {
			if l != nil {
				text.WriteString(l.Text + "\n")
			}
			if r != nil {
				last = *r
				if r.State == runapi.Attention { // a worker that comes back may hand in what it has made, and later a person decides
					time.AfterFunc(10*time.Second, func() {
						if _, err := client.CallFor(t.Context(), 0, http.MethodPost, "/v1/runs/"+id+"/retry?pending", nil, nil); err == nil {
							count("decided by a person")
						}
					})
				}
			}
			return r == nil || !r.State.IsFinal(), nil
		}))
		log.Store(id, text.String())
		count(string(last.State))
		return last
	}

	flags := []string{"--trusted", "--slots", "1"}
	for w := range *fleetSize {
		s.worker(token, fmt.Sprint("w", w), flags...)
	}
	finish(ask(0, 0, "up")) // modules are compiled, and the cache of all has them

	stop, done := context.WithTimeout(t.Context(), *fleetTime)
	defer done()
	var asking sync.WaitGroup
	for i := range stacks {
		asking.Go(func() {
			for stop.Err() == nil {
				finish(ask(i, mathrand.IntN(2), "up"))
			}
		})
	}
	for ticks := 0; stop.Err() == nil; ticks++ {
		if disturb != nil && ticks%3 == 2 {
			count(disturb())
		}
		select {
		case <-stop.Done():
		case <-time.After(2 * time.Second):
			name := fmt.Sprint("w", mathrand.IntN(*fleetSize))
			if s.kill(name) {
				count("workers killed")
			}
			s.worker(token, name, flags...)
		}
	}
	asking.Wait()
	require.Positive(t, counts["workers killed"])

	// What each stack knows, once its last run has said what earlier ones left.
	recorded, begun := map[string]bool{}, map[string]int{}
	for i := range stacks {
		last := finish(ask(i, 0, "up"))
		require.Equal(t, runapi.Succeeded, last.State, "%v", last)
		snapshot, _, err := state.Load(t.Context(), backend.State, state.StackName{Project: "demo", Name: fmt.Sprint("s", i)}, nil)
		require.NoError(t, err)
		require.NoError(t, snapshot.Verify())
		for _, r := range snapshot.Resources() {
			if r.Type == "lab:index:Object" {
				require.NotContains(t, recorded, r.ID, "it is in two states")
				recorded[r.ID] = true
			}
		}
		for _, op := range snapshot.Operations() {
			if op.Type == state.OperationCreating {
				begun[fmt.Sprintf("s%d-%s", i, op.Resource.URN.Name())]++
			}
		}
	}
	var all strings.Builder
	log.Range(func(_, text any) bool {
		all.WriteString(text.(string))
		return true
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	unsure := 0
	for id, name := range c.objects {
		if recorded[id] {
			continue
		}
		unsure++
		resource, _, _ := strings.Cut(name, ".")
		require.Positive(t, begun[resource], "nothing knows of %s %s", name, id)
		begun[resource]--
		_, short, _ := strings.Cut(resource, "-")
		require.Contains(t, all.String(), "lab:Object "+short+": an earlier run was cut off while creating this resource")
	}
	for id := range recorded {
		require.Contains(t, c.objects, id, "an object is gone that a state has")
	}
	t.Logf("%v; %d objects made, %d there, %d of them reported as unsure", counts, c.made, len(c.objects), unsure)
}
