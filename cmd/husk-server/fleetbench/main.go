// Command fleetbench measures how many deployments a server and its workers do on this machine, and says by a model, which is
// calibrated by that, where the limits of larger fleets are. Run it with: go run -C cmd/husk-server ./fleetbench
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/cmd/husk-server/server"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/worker"
	"github.com/husk-dev/husk/internal/workspace/bundle"
)

func main() {
	var f fleet
	flag.IntVar(&f.stacks, "stacks", 1000, "how many stacks")
	flag.IntVar(&f.resources, "resources", 20, "how many resources each stack has")
	flag.IntVar(&f.workers, "workers", 8, "how many workers, of one slot each")
	flag.StringVar(&f.database, "database", "", "the URL of a PostgreSQL database (default: files of SQLite)")
	flag.Parse()
	if err := f.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

type fleet struct {
	stacks, resources, workers int
	database                   string

	dir, husk, project string
}

// measured has the times of a pass over all stacks.
type measured struct {
	elapsed     time.Duration
	waits, runs []time.Duration
	// server is the processor time of the server and of the workers' loops. processes is the processor time of the runs.
	server, processes time.Duration
}

func (f *fleet) run(ctx context.Context) (err error) {
	if f.dir, err = os.MkdirTemp("", "husk-fleet-*"); err != nil {
		return err
	}
	defer os.RemoveAll(f.dir)
	if err := f.build(); err != nil {
		return err
	}
	s, err := server.Open(ctx, server.Options{Dir: filepath.Join(f.dir, "server"), Database: f.database})
	if err != nil {
		return err
	}
	h := httptest.NewServer(s)
	defer func() {
		s.Stop()
		h.Close()
		_ = s.Close()
	}()
	tenant := "fleet_" + strings.ToLower(rand.Text()[:8])
	client, err := f.client(ctx, s, h.URL, tenant, runapi.Admin)
	if err != nil {
		return err
	}
	workers, err := f.client(ctx, s, h.URL, tenant, runapi.Work)
	if err != nil {
		return err
	}
	bundleInfo, err := f.prepare(ctx, client)
	if err != nil {
		return err
	}
	stop, end := context.WithCancel(ctx)
	var all sync.WaitGroup
	for i := range f.workers {
		all.Go(func() {
			err := worker.Run(stop, ctx, workers, worker.Options{
				Name: "w" + strconv.Itoa(i), Slots: 1, Dir: filepath.Join(f.dir, "worker"+strconv.Itoa(i)), Cache: filepath.Join(f.dir, "cache"),
				Program: f.husk, Say: func(string, ...any) {},
			})
			if err != nil {
				fmt.Fprintln(os.Stderr, "a worker ended:", err)
			}
		})
	}
	defer all.Wait()
	defer end()
	if _, err := f.pass(ctx, client, bundleInfo, 1, "up"); err != nil { // modules are compiled
		return err
	}
	peak, watched := watch(stop)
	fmt.Printf("%d stacks of %d resources, %d workers\n\n%-10s %12s %10s %10s %10s %10s %14s %14s\n", f.stacks, f.resources, f.workers,
		"", "runs/second", "wait p50", "wait p99", "run p50", "run p99", "server CPU/run", "process CPU")
	var last *measured
	for _, name := range []string{"first up", "unchanged", "destroy"} {
		operation := "up"
		if name == "destroy" {
			operation = "destroy"
		}
		m, err := f.pass(ctx, client, bundleInfo, f.stacks, operation)
		if err != nil {
			return err
		}
		fmt.Printf("%-10s %12.1f %10v %10v %10v %10v %14v %14v\n", name, float64(f.stacks)/m.elapsed.Seconds(), quantile(m.waits, .5), quantile(m.waits, .99),
			quantile(m.runs, .5), quantile(m.runs, .99), (m.server / time.Duration(f.stacks)).Round(10*time.Microsecond), (m.processes / time.Duration(f.stacks)).Round(10*time.Microsecond))
		if name == "unchanged" {
			last = m
		}
	}
	end()
	<-watched
	fmt.Printf("\nmost memory of the server, all workers, and their runs: %d MiB\n", *peak>>20)
	all.Wait()
	ask, err := askCost(ctx, workers)
	if err != nil {
		return err
	}
	model(last, f.stacks, ask)
	return nil
}

// askCost returns the processor's time of a question for a run when there is none.
func askCost(ctx context.Context, client *runapi.Client) (time.Duration, error) {
	const asks = 500
	began, _ := processorTime()
	for i := range asks {
		ask := runapi.Ask{Worker: "asking" + strconv.Itoa(i), Labels: map[string]string{runapi.EdgeLabel: strconv.Itoa(i)}, Slots: 1}
		if some, err := client.Call(ctx, http.MethodPost, "/v1/work/next", ask, nil); err != nil || some {
			return 0, fmt.Errorf("there is still a run for somebody: %w", err)
		}
	}
	end, _ := processorTime()
	return (end - began) / asks, nil
}

// build builds husk and the module of the programs.
func (f *fleet) build() error {
	f.husk = filepath.Join(f.dir, "husk")
	f.project = filepath.Join(f.dir, "project")
	if err := os.MkdirAll(f.project, 0o700); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"go", "build", "-C", "../..", "-o", f.husk, "./cmd/husk"},
		{f.husk, "provider", "build", "../../examples/providers/random", "-o", filepath.Join(f.project, "random.wasm")},
	} {
		cmd := exec.Command(args[0], args[1:]...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w\n%s", args, err, out)
		}
	}
	var text strings.Builder
	text.WriteString("name: fleet\nruntime: yaml\nplugins: {providers: [{name: random, path: random.wasm}]}\nresources:\n")
	for i := range f.resources {
		fmt.Fprintf(&text, "  r%d: {type: random:RandomPet, properties: {length: 2}}\n", i)
	}
	return os.WriteFile(filepath.Join(f.project, "Husk.yaml"), []byte(text.String()), 0o600)
}

func (f *fleet) client(ctx context.Context, s *server.Server, url, tenant string, role runapi.Role) (*runapi.Client, error) {
	token, err := s.IssueToken(ctx, runapi.Token{Tenant: tenant, Name: string(role), Role: role})
	if err != nil {
		return nil, err
	}
	return runapi.NewClient(url, token.Secret)
}

// prepare sends the project, and makes the stacks.
func (f *fleet) prepare(ctx context.Context, client *runapi.Client) (*bundle.Info, error) {
	p, err := program.LoadProject(ctx, projectroot.New(f.project, projectroot.Trusted))
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer
	info, err := bundle.Pack(&content, p, nil)
	if err != nil {
		return nil, err
	}
	if err := client.SendBundle(ctx, info.Digest, content.Bytes()); err != nil {
		return nil, err
	}
	first := exec.Command(f.husk, "stack", "init", "s0", "-C", f.project)
	first.Env = append(os.Environ(), "HUSK_BACKEND_URL="+client.URL(), remote.TokenVariable+"="+client.Token(), "HUSK_CACHE_DIR="+filepath.Join(f.dir, "cache"), "HUSK_COPIES_DIR="+filepath.Join(f.dir, "copies"))
	if out, err := first.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("husk stack init: %w\n%s", err, out)
	}
	stacks, err := remote.Open(ctx, named.ByOperator(strings.Replace(client.URL(), "://", "://:"+client.Token()+"@", 1), "a flag"), f.dir)
	if err != nil {
		return nil, err
	}
	c, err := stacks.State.Load(ctx, state.StackName{Project: "fleet", Name: "s0"})
	if err != nil {
		return nil, err
	}
	for i := 1; i < f.stacks; i++ {
		name := "s" + strconv.Itoa(i)
		// In an empty state, only the name itself names the stack.
		checkpoint := bytes.ReplaceAll(c.Checkpoint, []byte(`"s0"`), []byte(strconv.Quote(name)))
		checkpoint = bytes.ReplaceAll(checkpoint, []byte("/s0\""), []byte("/"+name+"\""))
		if err := stacks.State.Create(ctx, state.StackName{Project: "fleet", Name: name}, checkpoint); err != nil {
			return nil, err
		}
	}
	return info, nil
}

// pass queues a run of each stack, and waits for all.
func (f *fleet) pass(ctx context.Context, client *runapi.Client, info *bundle.Info, stacks int, operation string) (*measured, error) {
	began := time.Now()
	own, children := processorTime()
	ids := make([]string, stacks)
	for i := range ids {
		ids[i] = rand.Text()
		n := runapi.NewRun{ID: ids[i], Project: "fleet", Stack: "s" + strconv.Itoa(i), Operation: operation, Bundle: info.Digest}
		if _, err := client.Call(ctx, http.MethodPost, "/v1/runs", n, nil); err != nil {
			return nil, err
		}
	}
	m := &measured{}
	for _, id := range ids {
		var run runapi.Run
		for {
			if _, err := client.Call(ctx, http.MethodGet, "/v1/runs/"+id, nil, &run); err != nil {
				return nil, err
			}
			if run.State.IsFinal() {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if run.State != runapi.Succeeded {
			return nil, fmt.Errorf("the run %s of %s has %s: %s", run.ID, run.Stack, run.State, run.Reason)
		}
		m.waits, m.runs = append(m.waits, run.Began.Sub(run.Made)), append(m.runs, run.Ended.Sub(run.Began))
	}
	ownEnd, childrenEnd := processorTime()
	m.elapsed, m.server, m.processes = time.Since(began), ownEnd-own, childrenEnd-children
	slices.Sort(m.waits)
	slices.Sort(m.runs)
	return m, nil
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[int(q*float64(len(sorted)-1))].Round(time.Millisecond)
}
