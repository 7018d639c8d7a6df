package worker

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/atomicfile"
	"github.com/husk-dev/husk/internal/base/filelock"
	"github.com/husk-dev/husk/internal/workspace"
)

const (
	// patience is how long an edge worker tries to tell the server something before it goes on without it.
	patience = 5 * time.Second
	// maxReports bounds the reports that wait for a connection: the oldest are dropped.
	maxReports = 1000
	// reportPause is between attempts to send reports, and to ask again after the server has refused the worker.
	reportPause = 15 * time.Second
)

// edge keeps the states of its stacks on this machine. It does one run at a time: the runs that the server has for it, and the
// last update of each stack again, which needs no connection. The server hears of these when it can be reached.
//
// Its directory has:
//
//	stacks/     the states, as a backend of files
//	config/     the key of their secrets
//	desired/    the last update of each stack, as PROJECT@STACK.json
//	reports/    runs that the server has not heard of, as JSON, the oldest first by name
//	approved/   approved runs that have begun, by their IDs
//	bundles/    the files of projects, by digest
//	lock        held by the worker that has the directory
type edge struct {
	*worker
	// turn is held by the run that there is.
	turn sync.Mutex
	// wake has something if there is a report to send.
	wake chan struct{}
	// refusal is the server's last refusal of a report.
	refusal string
	// locked is the file whose lock says that the directory is in use.
	locked *os.File
	unlock func() error
}

// newEdge returns the edge worker, which is to be closed also if there is an error, unless it is nil.
func newEdge(w *worker) (*edge, error) {
	e := &edge{worker: w, wake: make(chan struct{}, 1)}
	for _, name := range []string{"stacks", "config", "desired", "reports", "approved"} {
		if err := os.MkdirAll(w.dir(name), 0o700); err != nil {
			return nil, err
		}
	}
	if err := e.lock(); err != nil {
		return nil, err
	}
	if err := clear(w.dir("approved"), keepTime); err != nil {
		return e, err
	}
	if err := e.checkToken(); err != nil {
		return e, err
	}
	// Without a connection nothing could replace the files of a project that are in use.
	all, err := e.desired()
	for _, run := range all {
		kept := e.bundle(run.Bundle)
		if now := time.Now(); err == nil {
			if err = os.Chtimes(kept, now, now); errors.Is(err, fs.ErrNotExist) {
				err = nil // the run says so
			}
		}
	}
	return e, err
}

// lock makes the directory this worker's. The lock ends with the process.
func (e *edge) lock() error {
	file, err := os.OpenFile(e.dir("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if e.unlock, err = filelock.Try(file); err != nil {
		err = errors.Join(err, file.Close())
		if errors.Is(err, filelock.ErrHeld) {
			return fmt.Errorf("another edge worker has the directory %s: give each one its own with --dir", e.Dir)
		}
		return err
	}
	e.locked = file
	return nil
}

// close lets another worker have the directory.
func (e *edge) close() error { return errors.Join(e.unlock(), e.locked.Close()) }

// checkToken returns an error for a token that is not for an edge worker, if the server can be reached: it checks each
// question anyway.
func (e *edge) checkToken() error {
	var who runapi.Who
	_, err := e.client.CallFor(context.Background(), 0, http.MethodGet, "/v1/whoami", nil, &who)
	var refused *runapi.StatusError
	switch {
	case errors.As(err, &refused) && refused.Status < 500:
		return err
	case err == nil && who.Tenant == "*":
		return fmt.Errorf("the token %s is for the runs of all teams, and an edge worker keeps the states of one: issue it a token of its team", who.Name)
	}
	return nil
}

// stacksURL is the URL of the backend of the stacks.
func (e *edge) stacksURL() string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(e.dir("stacks"))}).String()
}

// do does a run of the server. If the connection is lost meanwhile, it ends nevertheless, because no other worker has the
// state, and is reported.
func (e *edge) do(stop, kill context.Context, claim *runapi.Claim) {
	e.Say("%s %s/%s for %s begins: run %s", claim.Operation, claim.Project, claim.Stack, claim.By, claim.ID)
	j := newJournal(e.client.With(claim.Token), claim)
	j.kept = &kept{}
	ended := make(chan struct{})
	var sending sync.WaitGroup
	sending.Go(func() { j.send(ended) }) // the server hears of it also while it waits for its turn
	e.turn.Lock()
	defer e.turn.Unlock()
	run := claim.Run
	run.Began = time.Now()
	done := e.approved(stop, kill, claim, j)
	end := done.End
	close(ended)
	sending.Wait()
	if err := e.remember(claim, done); err != nil {
		e.Say("what the stack %s/%s is to be like is not noted: %v", claim.Project, claim.Stack, err)
	}
	of := ""
	if !j.isLost() && j.sent() {
		if _, err := j.client.CallFor(context.Background(), patience, http.MethodPost, "/v1/work/end", end, nil); err == nil {
			e.say(&run, end, "")
			return
		}
		of = run.ID // the server may have got it
	}
	if end.Outcome == runapi.Queued || claim.Previewing {
		e.say(&run, end, "; the server will have it done again")
		return
	}
	e.say(&run, end, "; it is reported later")
	run.Message = strings.TrimSpace("the run " + claim.ID + ", which ended without a connection. " + run.Message)
	e.report(run, end, of, j.kept)
}

// lasting are the options of an update that its repetition has as well: which resources it is for, above all. Others are
// about that one run, such as what it replaces.
var lasting = []string{"target", "target-dependents", "exclude", "exclude-dependents", "exclude-protected", "parallel", "run-program",
	"installed", "trust-module", "continue-on-error", "ignore-protect", "legacy-diff"}

// repeated returns the options of an update that its repetition has.
func repeated(options []string) (kept []string) {
	for _, option := range options {
		name, value, _ := strings.Cut(strings.TrimPrefix(option, "--"), "=")
		switch {
		case name == "target-replace":
			kept = append(kept, "--target="+value)
		case slices.Contains(lasting, name):
			kept = append(kept, option)
		}
	}
	return kept
}

// desiredFile returns where the last update of a stack is noted. Names have no "@".
func (e *edge) desiredFile(stack state.StackName) string {
	return filepath.Join(e.dir("desired"), stack.Project+"@"+stack.Name+".json")
}

// desired is an update that is repeated.
type desired struct {
	runapi.NewRun
	// ApprovedBy and Plan belong to an approved update: its repetitions do nothing else either.
	ApprovedBy string `json:"approvedBy,omitempty"`
	Plan       []byte `json:"plan,omitempty"`
}

// remember notes the update to repeat from now on. A failed update is repeated. After a cancelled one, the earlier note stays. It
// also stays after a failed approved update, because that may have been about to do something else. After a destruction nothing
// is repeated, even if it failed or was cancelled, because that would make deleted objects again.
func (e *edge) remember(claim *runapi.Claim, done done) error {
	stack := state.StackName{Project: claim.Project, Name: claim.Stack}
	if err := stack.Validate(); err != nil {
		return err
	}
	file := e.desiredFile(stack)
	switch {
	case claim.Previewing || !claim.Changes() || !done.began:
		return nil
	case claim.Operation == "destroy":
		if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	case claim.Operation != "up" || done.cancelled || claim.ApprovedBy != "" && done.Outcome != runapi.Succeeded:
		return nil
	}
	wanted := desired{claim.NewRun, claim.ApprovedBy, claim.Plan}
	wanted.Options = repeated(claim.Options)
	wanted.ID, wanted.Message, wanted.Approval, wanted.JSON, wanted.Colour = "", "", false, false, false
	text, err := json.Marshal(wanted)
	if err != nil {
		return err
	}
	return atomicfile.Write(file, text, 0o600)
}

// desired returns the last update of each stack, by the names of their files.
func (e *edge) desired() (all map[string]desired, err error) {
	all = make(map[string]desired)
	entries, err := os.ReadDir(e.dir("desired"))
	for _, entry := range entries {
		var run desired
		text, readErr := os.ReadFile(filepath.Join(e.dir("desired"), entry.Name()))
		if readErr == nil {
			readErr = json.Unmarshal(text, &run)
		}
		if readErr != nil {
			err = errors.Join(err, fmt.Errorf("what the stack of %s is to be like is not known: %w", entry.Name(), readErr))
			continue
		}
		all[entry.Name()] = run
	}
	return all, err
}

// repeat does the last update of each stack again: at once, as this machine may have been off, and then each time.
func (e *edge) repeat(stop, kill context.Context) {
	for {
		all, err := e.desired()
		if err != nil {
			e.Say("%v", err)
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			e.again(stop, kill, name)
		}
		if e.Every <= 0 {
			return
		}
		select {
		case <-stop.Done():
			return
		case <-time.After(e.Every):
		}
	}
}

// again does an update again, and reports it unless nothing was to be done.
func (e *edge) again(stop, kill context.Context, name string) {
	e.turn.Lock()
	defer e.turn.Unlock()
	// Another run may have had its turn meanwhile.
	all, _ := e.desired() // it was told
	wanted, ok := all[name]
	if !ok || stop.Err() != nil {
		return
	}
	now := time.Now()
	wanted.Options = append(wanted.Options, "--refresh=true")
	claim := &runapi.Claim{Next: 1, Plan: wanted.Plan, Run: runapi.Run{NewRun: wanted.NewRun, ApprovedBy: wanted.ApprovedBy, Worker: e.Name, Attempt: 1, Made: now, Began: now}}
	claim.ID = rand.Text()
	j := newJournal(nil, claim)
	j.kept = &kept{}
	done := e.attempt(stop, kill, claim, j)
	if end := done.End; end.Outcome != runapi.Queued && (end.Outcome != runapi.Succeeded || done.changed) {
		e.say(&claim.Run, end, "")
		claim.Message = "repeated by the worker on its own"
		e.report(claim.Run, end, "", j.kept)
	}
}

func (e *edge) say(run *runapi.Run, end runapi.End, more string) {
	e.Say("%s %s/%s %s after %v: run %s%s", run.Operation, run.Project, run.Stack, end.Outcome, time.Since(run.Began).Round(time.Millisecond), run.ID, more)
}

// create creates a stack that is not there yet.
func (e *edge) create(ctx context.Context, p *process, run *runapi.Run) error {
	b, err := workspace.OpenURL(ctx, e.stacksURL(), workspace.Options{})
	if err != nil {
		return err
	}
	if b.Close != nil {
		defer b.Close()
	}
	stacks, err := b.State.List(ctx)
	if err != nil || slices.Contains(stacks, state.StackName{Project: run.Project, Name: run.Stack}) {
		return err
	}
	cmd, err := p.husk(run, "stack", "init", run.Stack)
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the stack could not be created: %s", bytes.TrimSpace(out))
	}
	return nil
}

// report notes a run for the server. of is the ID of the server's run whose end it is, if the server may know it.
func (e *edge) report(run runapi.Run, end runapi.End, of string, k *kept) {
	run.ID, run.State, run.Reason, run.Worker = rand.Text(), end.Outcome, short(end.Reason), e.Name
	run.Ended = run.Began.Add(time.Since(run.Began)) // also if the clock was set meanwhile
	run.Message = short(run.Message)
	text, err := json.Marshal(runapi.Report{Run: run, Lines: k.lines, Of: of})
	var name string
	if err == nil {
		name, err = e.reportName(run.ID)
	}
	if err == nil {
		err = atomicfile.Write(filepath.Join(e.dir("reports"), name), text, 0o600)
	}
	if err != nil {
		e.Say("the run %s of %s/%s cannot be reported: %v", run.ID, run.Project, run.Stack, err)
	}
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// short returns a text as the server takes it.
func short(text string) string {
	if len(text) > runapi.MaxMessage {
		const more = "…"
		text = strings.ToValidUTF8(text[:runapi.MaxMessage-len(more)], "") + more
	}
	return text
}

// reportName returns the name of the next report, which sorts after the existing ones, even if the clock was set back.
func (e *edge) reportName(id string) (string, error) {
	number := time.Now().UnixNano()
	entries, err := os.ReadDir(e.dir("reports"))
	for _, entry := range entries {
		before, _, _ := strings.Cut(entry.Name(), "-")
		if n, err := strconv.ParseInt(before, 10, 64); err == nil && n >= number {
			number = n + 1
		}
	}
	return fmt.Sprintf("%020d-%s.json", number, id), err
}

// send sends reports until the worker stops.
func (e *edge) send(stop context.Context) {
	for {
		e.sendAll(stop)
		select {
		case <-stop.Done():
			return
		case <-e.wake:
		case <-time.After(reportPause):
		}
	}
}

// sendAll sends the reports that there are, until one cannot be sent.
func (e *edge) sendAll(ctx context.Context) {
	entries, err := os.ReadDir(e.dir("reports"))
	if err != nil {
		slog.Warn("reports cannot be read", "error", err)
	}
	if more := len(entries) - maxReports; more > 0 {
		slog.Warn("reports are dropped, because there was no connection for long", "count", more)
		for _, entry := range entries[:more] {
			_ = os.Remove(filepath.Join(e.dir("reports"), entry.Name())) // the next time, else
		}
		entries = entries[more:]
	}
	for _, entry := range entries {
		file := filepath.Join(e.dir("reports"), entry.Name())
		text, err := os.ReadFile(file)
		if err == nil {
			_, err = e.client.Send(ctx, 0, http.MethodPost, "/v1/work/report", "application/json", text)
		}
		var refused *runapi.StatusError
		switch {
		case errors.As(err, &refused) && refused.Status == http.StatusBadRequest:
			e.Say("the server does not take the report %s: %v", entry.Name(), err) // nor will it later
		case err != nil:
			if refused != nil && e.refusal != err.Error() {
				e.refusal = err.Error()
				e.Say("reports wait: %v", err)
			}
			return
		}
		if err := os.Remove(file); err != nil {
			slog.Warn("a report is left", "error", err) // the server knows that it has it
			return
		}
	}
}

// kept is the log of a run, for a report.
type kept struct {
	lines []runapi.Line
	size  int
}

// add adds a line, up to 1 MiB of all.
func (k *kept) add(stream, text string) {
	const most, each = 1 << 20, 64
	if k.size > most {
		return
	}
	if k.size += len(text) + each; k.size > most {
		stream, text = runapi.Worker, "What follows was not kept."
	}
	k.lines = append(k.lines, runapi.Line{Number: int64(len(k.lines)) + 1, Stream: stream, Time: time.Now().UTC(), Text: text})
}
