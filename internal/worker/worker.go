// Package worker runs operations on stacks for a server: it asks for runs, does each in a process of its own, and sends
// what that writes.
package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/atomicfile"
	"github.com/husk-dev/husk/internal/base/otlp"
	"github.com/husk-dev/husk/internal/base/sorted"
	"github.com/husk-dev/husk/internal/workspace/bundle"
)

// Options are the options of [Run].
type Options struct {
	// Name is the worker's name, which must be unique.
	Name   string
	Labels map[string]string
	// Slots is how many runs there are at once.
	Slots int
	// Dir has files of runs, and files kept for the next runs.
	Dir string
	// Cache has compiled modules, each team's in a directory of its own, unless all are trusted; empty for a directory in Dir.
	Cache string
	// Program is the husk program.
	Program string
	// Trusted runs all that projects say, with the rights of this process. Else their programs and providers get
	// nothing of this machine.
	Trusted bool
	// Confinement says whether the processes of runs are confined.
	Confinement Confinement
	// Limits are set for the providers of all runs, as flags --limit have them.
	Limits []string
	// Environment are the variables of this process that runs get, as NAME=VALUE, beside the ones that they need.
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
	// confined says that the processes of runs are.
	confined bool
	// send takes the spans of runs; nil for none.
	send otlp.Send
	// left has something if there is something to hand in. told maps the name of a file to the last error about it that was said.
	left     chan struct{}
	told     map[string]string
	archives *archives

	mu      sync.Mutex
	running int
}

const (
	// AskTime is how long a question for a run waits at the server.
	AskTime = 25 * time.Second
	// keepTime is how long the files of a project are kept for the next run with the same.
	keepTime = 30 * 24 * time.Hour
	// keepBytes bounds them all: their projects choose how large they are, and how many there are.
	keepBytes = 1 << 30
	// fetchTime is how long a worker tries to get the files of a project: the server may send others' first.
	fetchTime = 2 * time.Minute
	// pause is between questions that fail.
	pause = 3 * time.Second
	// lastTime bounds how long a stopping worker tries to hand in its runs' unrecorded objects.
	lastTime = 5 * time.Second
)

// Run takes runs until the context is done. Those that it has then stop after their current steps, and go on elsewhere.
// The second context, if it is done too, stops these steps.
func Run(ctx, kill context.Context, client *runapi.Client, o Options) (err error) {
	if o.Cache == "" {
		o.Cache = filepath.Join(o.Dir, "cache")
	}
	w := &worker{Options: o, client: client, left: make(chan struct{}, 1)}
	w.archives = &archives{dir: w.dir("bundles"), bytes: archiveBytes, count: archiveCount}
	defer w.archives.close()
	if err := w.checkConfinement(); err != nil {
		return err
	}
	send, close, err := spans(o.Trace)
	if err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	defer func() { err = errors.Join(err, close()) }()
	w.send = send
	for _, dir := range []string{w.dir("runs"), w.dir("bundles"), w.dir("unrecorded"), w.dir("refused"), o.Cache} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if o.Edge {
		w.Slots, w.Labels = 1, maps.Clone(o.Labels)
		if w.Labels == nil {
			w.Labels = map[string]string{}
		}
		w.Labels[runapi.EdgeLabel] = o.Name
		if w.edge, err = newEdge(w); w.edge != nil {
			defer func() { err = errors.Join(err, w.edge.close()) }()
		}
		if err != nil {
			return err
		}
	}
	// Remains of a dead worker.
	_, clearing := w.clearRefused()
	if err := errors.Join(w.clearRuns(), clear(w.dir("bundles"), keepTime), clearing); err != nil {
		return err
	}
	var all sync.WaitGroup
	failures := make(chan error, w.Slots)
	asking, stop := context.WithCancel(ctx)
	defer stop()
	if w.edge != nil {
		all.Go(func() { w.edge.repeat(ctx, kill) })
		all.Go(func() { w.edge.send(ctx) })
	} else {
		all.Go(func() { w.handIn(asking) })
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
	if w.edge == nil { // the directory may end with the worker
		last, cancel := context.WithTimeout(kill, lastTime)
		defer cancel()
		w.handInAll(last)
	}
	select {
	case err := <-failures:
		return err
	default:
		return nil
	}
}

func (w *worker) dir(name string) string { return filepath.Join(w.Dir, name) }

// clear removes the entries of a directory that have not changed for a time.
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
		case errors.As(err, &refused) && refused.Status < 500 && !errors.Is(err, runapi.ErrUnreachable) && w.edge == nil:
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
			switch err := w.checkClaim(&claim); {
			case err != nil:
				w.refuse(asking, &claim, err)
			case w.edge != nil:
				w.edge.do(stop, kill, &claim)
			default:
				w.do(stop, kill, &claim)
			}
			w.count(-1)
		}
	}
	return nil
}

// checkClaim returns an error for an invalid run, before anything is done with it: its names become file names here, and its
// options flags.
func (w *worker) checkClaim(claim *runapi.Claim) error {
	err := claim.Check()
	if err == nil && w.edge == nil && claim.Team == "" {
		err = errors.New("it is of no team")
	}
	if err != nil {
		return fmt.Errorf("the server has sent what this version of husk does not take for a run: %w", err)
	}
	return nil
}

// refuse tells the server that a run is none for this worker.
func (w *worker) refuse(ctx context.Context, claim *runapi.Claim, why error) {
	w.Say("%v", why)
	_, err := w.client.With(claim.Token).CallFor(ctx, 0, http.MethodPost, "/v1/work/end", runapi.End{Outcome: runapi.Failed, Reason: why.Error()}, nil)
	if err != nil {
		select { // it may send another
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
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
		w.Say("run %s goes on elsewhere: %v", claim.ID, j.why)
		return
	default:
	}
	if _, err := j.client.Call(context.Background(), http.MethodPost, "/v1/work/end", end, nil); err != nil {
		w.Say("the end of the run %s could not be told: %v", claim.ID, err)
		return
	}
	w.Say("%s %s/%s %s after %v: run %s", claim.Operation, claim.Project, claim.Stack, end.Outcome, time.Since(began).Round(time.Millisecond), claim.ID)
}

// done is the outcome of a run.
type done struct {
	runapi.End
	// began reports whether its process has begun, changed whether an edge worker's run has changed something, and cancelled
	// whether its user has interrupted it.
	began, changed, cancelled bool
}

// attempt does a run in a directory of its own.
func (w *worker) attempt(stop, kill context.Context, claim *runapi.Claim, j *journal) done {
	fail := j.refuse
	if err := w.checkLeft(claim); err != nil {
		w.Say("%v", err)
		return done{End: runapi.End{Outcome: runapi.Queued, Reason: err.Error()}} // another worker may have room
	}
	dir, endDir, err := w.runDir(ownedBy(claim))
	if err != nil {
		return fail(err)
	}
	remove := true
	defer func() {
		if err := endDir(remove); err != nil {
			slog.Warn("files of a run are left", "error", err)
		}
	}()
	files, home := filepath.Join(dir, "files"), filepath.Join(dir, "home")
	if err := w.unpack(stop, claim, j, files); err != nil {
		switch {
		case stop.Err() != nil:
			return done{End: runapi.End{Outcome: runapi.Queued}}
		case errors.Is(err, runapi.ErrUnreachable):
			return done{End: runapi.End{Outcome: runapi.Queued, Reason: err.Error()}}
		}
		return fail(err)
	}
	cache := w.cacheOf(claim.Team)
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return fail(err)
	}
	p := &process{
		program: w.Program, project: claim.Project, dir: dir, files: files, home: home, config: filepath.Join(home, ".config"), cache: cache,
		url: w.stacksOf(claim), trusted: w.Trusted, confined: w.confined, limits: w.Limits, environment: w.Environment,
		withheld: claim.Withheld,
		// The lease of the run, which is three beats, and as long again until the run was given to another worker.
		patience: time.Duration(6 * claim.BeatSeconds * float64(time.Second)),
	}
	if w.send != nil {
		p.trace = filepath.Join(home, spansFile)
	}
	if w.edge != nil {
		if len(claim.Variables) > 0 {
			return fail(errors.New("the run has variables of its own, and an edge worker repeats runs without the server, which has their key: give the variables to the worker with its flag --env"))
		}
		p.url, p.config, p.detailed = w.edge.stacksURL(), w.dir("config"), true
		p.kept = []string{w.dir("stacks"), w.dir("config")}
	}
	// The worker writes the run's files before the run's process begins, which could put links in their place.
	cmd, plan, err := p.command(&claim.Run, claim.Plan)
	if err != nil {
		return fail(err)
	}
	if w.edge != nil {
		if err := w.edge.create(stop, p, &claim.Run); err != nil {
			return fail(err)
		}
	}
	d := w.wait(stop, kill, claim, j, p, cmd, plan)
	if err := w.sendSpans(home); err != nil {
		slog.Warn("spans of a run are lost", "run", claim.ID, "error", err)
	}
	unrecorded, err := w.keepUnrecorded(ownedBy(claim), home)
	if err != nil {
		unrecorded, remove = true, false
		w.Say("what the run %s has made, and could not record, stays in %s until a worker begins with this directory: %v", claim.ID, dir, err)
	}
	if unrecorded {
		d.End = runapi.End{Outcome: runapi.Queued, Reason: unrecordedReason}
	}
	return d
}

// cacheOf returns the directory of the code that the runs of a team compile. A run that writes code for others must be of the
// same team. Trusted runs can write anything anyway, and an edge worker's runs are of one team.
func (w *worker) cacheOf(team string) string {
	if w.Trusted || w.edge != nil {
		return w.Cache
	}
	return filepath.Join(w.Cache, "teams", team)
}

// stacksOf returns the URL of the server's stacks, with the token of a run.
func (w *worker) stacksOf(claim *runapi.Claim) string {
	u, err := url.Parse(w.client.URL())
	if err != nil {
		return w.client.URL() // which says so
	}
	u.User = url.UserPassword("", claim.Token)
	return u.String()
}

// unpack makes the files of a run. The bundle is kept for the next run with it, as it was sent and, while this worker lives, decompressed.
func (w *worker) unpack(ctx context.Context, claim *runapi.Claim, j *journal, dir string) error {
	archive, err := w.archives.take(claim.Bundle, func(to io.Writer) (int64, error) { return w.decompress(ctx, claim, j, to) })
	if err != nil {
		return err
	}
	defer w.archives.give(archive)
	now := time.Now()
	err = os.Chtimes(w.bundle(claim.Bundle), now, now) // the most recently used ones stay
	if errors.Is(err, fs.ErrNotExist) {
		_, err = w.decompress(ctx, claim, j, io.Discard) // the next process needs it
	}
	if err != nil {
		return err
	}
	return bundle.Extract(archive.read(), dir)
}

// decompress decompresses the bundle of a run, and keeps it.
func (w *worker) decompress(ctx context.Context, claim *runapi.Claim, j *journal, to io.Writer) (int64, error) {
	kept := w.bundle(claim.Bundle)
	content, err := os.ReadFile(kept)
	if err == nil && digestOf(content) == claim.Bundle {
		return bundle.Decompress(to, bytes.NewReader(content), claim.Bundle)
	}
	if j.client == nil {
		return 0, errors.New("the files of the project are not here any more: ask for the run again")
	}
	if content, err = j.client.Send(ctx, fetchTime, http.MethodGet, "/v1/work/bundle", "", nil); err != nil {
		return 0, fmt.Errorf("the files of the project: %w", err)
	}
	size, err := bundle.Decompress(to, bytes.NewReader(content), claim.Bundle)
	if err != nil {
		return 0, err
	}
	if err := atomicfile.Write(kept, content, 0o600); err != nil {
		return 0, err
	}
	return size, w.forgetBundles(keepBytes)
}

// forgetBundles removes bundles that are kept until they have no more bytes than most: the least recently used ones first.
// Bundles that an edge worker repeats stay, because it may have no connection to fetch them.
func (w *worker) forgetBundles(most int64) error {
	needed := map[string]bool{}
	if w.edge != nil {
		all, err := w.edge.desired()
		if err != nil {
			return nil // the next run says so, and all stay
		}
		for _, run := range all {
			needed[filepath.Base(w.bundle(run.Bundle))] = true
		}
	}
	w.mu.Lock() // another run of this worker may forget them, too
	defer w.mu.Unlock()
	entries, err := os.ReadDir(w.dir("bundles"))
	if err != nil {
		return err
	}
	var kept []fs.FileInfo
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			kept = append(kept, info)
		}
	}
	sorted.By(kept, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	var sum int64
	for i, info := range kept {
		sum += info.Size()
		if i == 0 || sum <= most || needed[info.Name()] || strings.HasPrefix(info.Name(), atomicfile.Unfinished) {
			continue
		}
		sum -= info.Size()
		if err := os.Remove(filepath.Join(w.dir("bundles"), info.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
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

// pendingCode is the exit code of an update that has done nothing, because it is not known what an earlier run has created.
const pendingCode = 4

// killTime is how long the process of a run may take after it was told to stop its steps: a module that it runs, or whoever has
// taken it over, may not heed that, and would have its place for ever.
var killTime = 30 * time.Second

// outputTime is how long the orphaned children of a run may keep its output open.
var outputTime = 10 * time.Second

// lostTime is how long a run that was taken from the worker may take to end its steps: longer than a call of a project that is not
// trusted.
const lostTime = time.Hour

// wait waits for the process of a run, and passes interrupts on.
func (w *worker) wait(stop, kill context.Context, claim *runapi.Claim, j *journal, p *process, cmd *exec.Cmd, plan string) done {
	out, errs := j.lines(runapi.Out), j.lines(runapi.Err)
	cmd.Stdout, cmd.Stderr = out, errs
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
	var overdue <-chan time.Time
	interrupt := func(wanted int) {
		if wanted > 1 && interrupts < wanted {
			overdue = time.After(killTime)
		}
		for ; interrupts < wanted; interrupts++ {
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				_ = cmd.Process.Kill() // the system has no interrupts, or it has ended
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
			if lost == nil && w.edge == nil {
				killAll(cmd) // what it has started goes with it
			}
			if errors.Is(err, exec.ErrWaitDelay) {
				err = nil // the process itself has succeeded
			}
			var exit *exec.ExitError
			if d.changed = w.edge != nil && errors.As(err, &exit) && exit.ExitCode() == changesCode; d.changed {
				err = nil
			}
			d.End = outcome(claim, err, stop.Err() != nil && !d.cancelled, interrupts > 1, p, plan)
			d.cancelled = d.cancelled && d.Outcome != runapi.Succeeded
			return d
		case n := <-j.cancel:
			d.cancelled = true
			interrupt(n)
		case <-lost:
			lost = nil
			interrupt(1) // its running steps finish, and their results are handed in
			if overdue == nil {
				overdue = time.After(lostTime)
			}
		case <-overdue:
			killAll(cmd)
		case <-stopping:
			stopping = nil
			interrupt(1)
		case <-killing:
			killing = nil
			interrupt(2)
		}
	}
}

// killedReason is why a run goes on elsewhere whose steps were not let end.
const killedReason = "the worker was stopped before the steps of the run had ended"

// outcome says how a run ended.
func outcome(claim *runapi.Claim, err error, stopped, killed bool, p *process, plan string) runapi.End {
	var exit *exec.ExitError
	switch {
	case err == nil:
		end := runapi.End{Outcome: runapi.Succeeded}
		if plan != "" && claim.Previewing {
			if end.Plan, err = p.readPlan(plan); err != nil {
				return runapi.End{Outcome: runapi.Failed, Reason: err.Error()}
			}
		}
		return end
	case errors.As(err, &exit) && exit.ExitCode() == pendingCode && claim.StopOnPending:
		return runapi.End{Outcome: runapi.Attention, Reason: runapi.UnsettledReason}
	case errors.As(err, &exit) && exit.ExitCode() == busyCode:
		return runapi.End{Outcome: runapi.Queued, Reason: busyReason}
	case stopped && killed:
		return runapi.End{Outcome: runapi.Queued, Reason: killedReason}
	case stopped:
		return runapi.End{Outcome: runapi.Queued}
	case errors.As(err, &exit) && exit.Exited():
		return runapi.End{Outcome: runapi.Failed}
	}
	end := runapi.End{Outcome: runapi.Failed, Reason: "the process of the run ended: " + err.Error()}
	if exit != nil && claim.Token != "" && claim.Changes() && !claim.Previewing { // and no repetition, of which nobody else hears
		// A signal has ended it, perhaps in the middle of a creation, as if its worker had died.
		end.Outcome = runapi.Queued
	}
	return end
}
