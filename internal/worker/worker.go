// Package worker runs operations on stacks for a server: it asks for runs, does each in a process of its own, and sends
// what that writes.
package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/atomicfile"
	"github.com/husk-dev/husk/internal/runapi"
)

// Options are those of [Run].
type Options struct {
	// Name is that of the worker, which no other has.
	Name   string
	Labels map[string]string
	// Slots is how many runs there are at once.
	Slots int
	// Dir has files of runs, and what is kept for the next.
	Dir string
	// Cache has compiled modules, which all runs share; empty for a directory in Dir.
	Cache string
	// Program is the husk program.
	Program string
	// Trusted runs all that projects say, with the rights of this process. Else their programs and providers get
	// nothing of this machine.
	Trusted bool
	// Limits are set for the providers of all runs, as flags --limit have them.
	Limits []string
	// Environment are the variables of this process that runs get, as NAME=VALUE, beside those that they need.
	Environment []string
	// Trace is where the spans of runs go, as the flag --trace has it; empty for nowhere.
	Trace string
	// Edge keeps the states of stacks in Dir. The worker takes only runs with the label [runapi.EdgeLabel] and its name, one at a
	// time, and repeats the last update of each stack, at the start and then each time, zero for no more.
	Edge  bool
	Every time.Duration
	// Say tells the user what happens.
	Say func(format string, args ...any)
}

// worker is one that runs.
type worker struct {
	Options
	client *runapi.Client
	// edge is nil unless the worker is one.
	edge *edge

	mu      sync.Mutex
	running int
}

const (
	// AskTime is how long a question for a run waits at the server.
	AskTime = 25 * time.Second
	// keepTime is how long the files of a project are kept for the next run with the same.
	keepTime = 30 * 24 * time.Hour
	// fetchTime is how long a worker tries to get the files of a project: the server may send those of others first.
	fetchTime = 2 * time.Minute
	// pause is between questions that fail.
	pause = 3 * time.Second
)

// Run takes runs until the context is done. Those that it has then stop after their current steps, and go on elsewhere.
// The second context, if it is done too, stops these steps.
func Run(ctx, kill context.Context, client *runapi.Client, o Options) error {
	if o.Cache == "" {
		o.Cache = filepath.Join(o.Dir, "cache")
	}
	w := &worker{Options: o, client: client}
	for _, dir := range []string{w.dir("runs"), w.dir("bundles"), o.Cache} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if o.Edge {
		var err error
		w.Slots, w.Labels = 1, maps.Clone(o.Labels)
		if w.Labels == nil {
			w.Labels = map[string]string{}
		}
		w.Labels[runapi.EdgeLabel] = o.Name
		if w.edge, err = newEdge(w); err != nil {
			return err
		}
	}
	// What a worker that died has left.
	if err := errors.Join(clear(w.dir("runs"), 0), clear(w.dir("bundles"), keepTime)); err != nil {
		return err
	}
	var all sync.WaitGroup
	failures := make(chan error, w.Slots)
	asking, stop := context.WithCancel(ctx)
	defer stop()
	if w.edge != nil {
		all.Go(func() { w.edge.repeat(ctx, kill) })
		all.Go(func() { w.edge.send(ctx) })
	}
	for range w.Slots {
		all.Go(func() {
			if err := w.take(asking, ctx, kill); err != nil {
				failures <- err
				stop()
			}
		})
	}
	all.Wait()
	select {
	case err := <-failures:
		return err
	default:
		return nil
	}
}

func (w *worker) dir(name string) string { return filepath.Join(w.Dir, name) }

// clear removes what is in a directory and has not been changed for a time.
func clear(dir string, old time.Duration) error {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if info, statErr := entry.Info(); statErr == nil && time.Since(info.ModTime()) >= old {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, entry.Name())))
		}
	}
	return err
}

// take takes one run after the other.
func (w *worker) take(asking, stop, kill context.Context) error {
	silent := false
	for asking.Err() == nil {
		w.mu.Lock()
		ask := runapi.Ask{Worker: w.Name, Labels: w.Labels, Slots: w.Slots, Running: w.running, Seconds: int(AskTime.Seconds())}
		w.mu.Unlock()
		var claim runapi.Claim
		some, err := w.client.CallFor(asking, 0, http.MethodPost, "/v1/work/next", ask, &claim)
		var refused *runapi.StatusError
		switch {
		case asking.Err() != nil:
			return nil
		case errors.As(err, &refused) && refused.Status < 500 && w.edge == nil:
			return err
		case err != nil:
			if !silent {
				w.Say("%v; trying again", err)
				silent = true
			}
			wait := pause
			if refused != nil {
				wait = reportPause
			}
			select {
			case <-asking.Done():
			case <-time.After(wait):
			}
			continue
		}
		silent = false
		if some {
			w.count(1)
			if w.edge != nil {
				w.edge.do(stop, kill, &claim)
			} else {
				w.do(stop, kill, &claim)
			}
			w.count(-1)
		}
	}
	return nil
}

func (w *worker) count(by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running += by
}

// do does a run, and tells the server how it ended.
func (w *worker) do(stop, kill context.Context, claim *runapi.Claim) {
	w.Say("%s %s/%s for %s begins: run %s", claim.Operation, claim.Project, claim.Stack, claim.By, claim.ID)
	began := time.Now()
	j := newJournal(w.client.With(claim.Token), claim)
	ended := make(chan struct{})
	var sending sync.WaitGroup
	sending.Go(func() { j.send(ended) })
	end := w.attempt(stop, kill, claim, j).End
	close(ended)
	sending.Wait()
	select {
	case <-j.lost:
		w.Say("run %s goes on elsewhere: the server had not heard of this worker for too long", claim.ID)
		return
	default:
	}
	if _, err := j.client.Call(context.Background(), http.MethodPost, "/v1/work/end", end, nil); err != nil {
		w.Say("the end of the run %s could not be told: %v", claim.ID, err)
		return
	}
	w.Say("%s %s/%s %s after %v: run %s", claim.Operation, claim.Project, claim.Stack, end.Outcome, time.Since(began).Round(time.Millisecond), claim.ID)
}

// done is what became of a run.
type done struct {
	runapi.End
	// began reports whether its process has begun, changed whether an edge worker's run has changed something, and cancelled
	// whether its user has interrupted it.
	began, changed, cancelled bool
}

// attempt does a run in a directory of its own.
func (w *worker) attempt(stop, kill context.Context, claim *runapi.Claim, j *journal) done {
	fail := j.refuse
	dir, err := os.MkdirTemp(w.dir("runs"), claim.ID+"-")
	if err != nil {
		return fail(err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			slog.Warn("files of a run are left", "error", err)
		}
	}()
	files := filepath.Join(dir, "files")
	if err := w.unpack(stop, claim, j, files); err != nil {
		switch {
		case stop.Err() != nil:
			return done{End: runapi.End{Outcome: runapi.Queued}}
		case errors.Is(err, runapi.ErrUnreachable):
			return done{End: runapi.End{Outcome: runapi.Queued, Reason: err.Error()}}
		}
		return fail(err)
	}
	if err := checkProject(filepath.Join(files, filepath.FromSlash(claim.Directory)), claim.Project); err != nil {
		slog.Warn("a run was refused", "run", claim.ID, "by", claim.By, "project", claim.Project, "reason", err)
		return fail(err)
	}
	home := filepath.Join(dir, "home")
	p := &process{
		program: w.Program, files: files, home: home, config: filepath.Join(home, ".config"), cache: w.Cache,
		url: w.client.URL(), token: claim.Token, trusted: w.Trusted, limits: w.Limits, environment: w.Environment, trace: w.Trace,
	}
	if w.edge != nil {
		p.url, p.token, p.config, p.detailed = w.edge.stacksURL(), "", w.dir("config"), true
		if err := w.edge.create(stop, p, &claim.Run); err != nil {
			return fail(err)
		}
	}
	cmd, plan, err := p.command(&claim.Run, claim.Plan)
	if err != nil {
		return fail(err)
	}
	return w.wait(stop, kill, claim, j, cmd, plan)
}

// checkProject returns an error unless a directory has the project that the run was allowed for.
func checkProject(dir, name string) error {
	if program.FindFile(dir) == "" {
		return errors.New("the bundle has no project file where the run says")
	}
	p, err := program.LoadProject(dir)
	if err != nil {
		return err
	}
	if p.Name != name {
		return fmt.Errorf("the run is of the project %s, and its files are those of the project %s", name, p.Name)
	}
	return nil
}

// unpack makes the files of a run. The bundle is kept for the next run with it.
func (w *worker) unpack(ctx context.Context, claim *runapi.Claim, j *journal, dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	kept := w.bundle(claim.Bundle)
	content, err := os.ReadFile(kept)
	if err != nil || digestOf(content) != claim.Bundle {
		if j.client == nil {
			return errors.New("the files of the project are not here any more: ask for the run again")
		}
		if content, err = j.client.Send(ctx, fetchTime, http.MethodGet, "/v1/work/bundle", "", nil); err != nil {
			return fmt.Errorf("the files of the project: %w", err)
		}
	}
	if err := unpack(content, claim.Bundle, dir); err != nil {
		return err
	}
	return atomicfile.Write(kept, content, 0o600)
}

// bundle returns the file of a bundle that is kept.
func (w *worker) bundle(digest string) string {
	return filepath.Join(w.dir("bundles"), strings.TrimPrefix(digest, "sha256:"))
}

// changesCode is the exit code of an operation with changes, with its flag --detailed-exitcode.
const changesCode = 2

// busyCode is the exit code of a run whose stack another one has, or has taken from it, or whose server was gone for long.
const busyCode = 3

// busyReason is why such a run is to be tried again.
const busyReason = "another run has the lock of the stack, or the server that kept it for this one has ended"

// wait waits for the process of a run, and passes interrupts on.
func (w *worker) wait(stop, kill context.Context, claim *runapi.Claim, j *journal, cmd *exec.Cmd, plan string) done {
	out, errs := j.lines(runapi.Out), j.lines(runapi.Err)
	cmd.Stdout, cmd.Stderr = out, errs
	// What it has started and left may keep its output open.
	const outputTime = 10 * time.Second
	cmd.WaitDelay = outputTime
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return done{End: runapi.End{Outcome: runapi.Failed, Reason: err.Error()}}
	}
	d := done{began: true}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stopping, killing, lost := stop.Done(), kill.Done(), (<-chan struct{})(j.lost)
	if w.edge != nil {
		lost = nil // no other worker has the state
	}
	interrupts := 0
	interrupt := func(wanted int) {
		for ; interrupts < wanted; interrupts++ {
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				_ = cmd.Process.Kill() // there are no interrupts here, or it has ended
			}
			const between = 100 * time.Millisecond // two at once are one
			time.Sleep(between)
		}
	}
	for {
		select {
		case err := <-ended:
			out.end()
			errs.end()
			if errors.Is(err, exec.ErrWaitDelay) {
				err = nil // the process itself has succeeded
			}
			var exit *exec.ExitError
			if d.changed = w.edge != nil && errors.As(err, &exit) && exit.ExitCode() == changesCode; d.changed {
				err = nil
			}
			d.End = outcome(claim, err, stop.Err() != nil && !d.cancelled, plan)
			d.cancelled = d.cancelled && d.Outcome != runapi.Succeeded
			return d
		case n := <-j.cancel:
			d.cancelled = true
			interrupt(n)
		case <-lost:
			lost = nil
			killAll(cmd) // its state is not its own any more
		case <-stopping:
			stopping = nil
			interrupt(1)
		case <-killing:
			killing = nil
			interrupt(2)
		}
	}
}

// outcome says how a run ended.
func outcome(claim *runapi.Claim, err error, stopped bool, plan string) runapi.End {
	var exit *exec.ExitError
	switch {
	case err == nil:
		end := runapi.End{Outcome: runapi.Succeeded}
		if plan != "" && claim.Previewing {
			if end.Plan, err = os.ReadFile(plan); err != nil {
				return runapi.End{Outcome: runapi.Failed, Reason: err.Error()}
			}
		}
		return end
	case stopped:
		return runapi.End{Outcome: runapi.Queued}
	case errors.As(err, &exit) && exit.ExitCode() == busyCode:
		return runapi.End{Outcome: runapi.Queued, Reason: busyReason}
	case errors.As(err, &exit) && exit.Exited():
		return runapi.End{Outcome: runapi.Failed}
	}
	return runapi.End{Outcome: runapi.Failed, Reason: "the process of the run ended: " + err.Error()}
}
