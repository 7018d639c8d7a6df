package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/run/stackrun"
)

// answerTime is how long a plan waits for its answer. The stack is locked until then.
const answerTime = 15 * time.Minute

// deploy is a run that a page has begun.
type deploy struct {
	stop   chan struct{}
	halt   func() // closes stop
	answer chan bool

	mu      sync.Mutex
	waiting bool
}

// deploys are the runs of this console that have not ended.
type deploys struct {
	mu      sync.Mutex
	all     map[string]*deploy // by record
	stopped bool
	running sync.WaitGroup
}

func (d *deploys) get(id string) *deploy {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all[id]
}

func (d *deploys) has(id string) bool { return d.get(id) != nil }

// waits reports whether a run waits for an answer.
func (d *deploys) waits(id string) bool {
	one := d.get(id)
	if one == nil {
		return false
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	return one.waiting
}

func (d *deploys) fingerprint() string {
	d.mu.Lock()
	ids := make([]string, 0, len(d.all))
	for id := range d.all {
		ids = append(ids, id)
	}
	d.mu.Unlock()
	slices.Sort(ids)
	for i, id := range ids {
		ids[i] = fmt.Sprint(id, d.waits(id))
	}
	return strings.Join(ids, " ")
}

func (d *deploys) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	for _, one := range d.all {
		one.halt()
	}
}

func (d *deploys) wait() { d.running.Wait() }

// begin adds a run, unless the console ends.
func (d *deploys) begin(id string, one *deploy) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return errors.New("the console ends")
	}
	d.all[id] = one
	d.running.Add(1)
	return nil
}

func (d *deploys) end(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.all, id)
	d.running.Done()
}

// operation is an operation that a page can begin.
type operation struct {
	options stackrun.Options
	make    func(context.Context, *stackrun.Run) (engine.Operation, error)
}

var operations = map[string]operation{
	"preview": {stackrun.Options{Preview: true, Program: true, Replaces: true}, update},
	"up":      {stackrun.Options{Creates: true, Program: true, Replaces: true}, update},
	"refresh": {stackrun.Options{}, func(context.Context, *stackrun.Run) (engine.Operation, error) { return engine.Refresh{}, nil }},
	"destroy": {stackrun.Options{Deletes: true}, func(_ context.Context, r *stackrun.Run) (engine.Operation, error) {
		return engine.Destroy{RefreshFirst: r.Workspace.Project.Refresh}, nil
	}},
}

func update(ctx context.Context, r *stackrun.Run) (engine.Operation, error) {
	policies, err := r.Plugins.Policies(ctx, nil)
	return engine.Up{Program: r.Program, Policies: policies, RefreshFirst: r.Workspace.Project.Refresh}, err
}

// serveDeploy begins a run, and leads to its page.
func (s *Server) serveDeploy(w http.ResponseWriter, r *http.Request) {
	kind, stack := r.PostFormValue("operation"), r.PathValue("stack")
	o, known := operations[kind]
	if !known {
		s.writePage(w, r, http.StatusBadRequest, s.errorPage(fmt.Errorf("there is no operation %q", kind)))
		return
	}
	id, err := s.begin(s.options.Context, stack, kind, o)
	if err != nil {
		s.writePage(w, r, http.StatusConflict, s.errorPage(err))
		return
	}
	http.Redirect(w, r, "/stack/"+stack+"/runs/"+id, http.StatusSeeOther)
}

// begin opens the stack and begins a run, and returns its record.
func (s *Server) begin(ctx context.Context, stack, kind string, o operation) (id string, err error) {
	w, err := s.options.Workspace(ctx)
	if err != nil {
		return "", err
	}
	if stack, err = w.Stack(stack); err != nil {
		return "", err
	}
	options := o.options
	options.Command, options.Stack = kind, stack
	if options.Plugins, err = s.options.Plugins(); err != nil {
		return "", err
	}
	options.Events = func(engine.Event) {} // the record has them
	options.Plugins.Events, options.Plugins.Secrets = options.Events, s.options.Secrets
	if options.Preview {
		options.Records = s.previewsOf(w, stack)
	}
	options.Pulumi = s.options.Pulumi
	one := &deploy{stop: make(chan struct{}), answer: make(chan bool, 1)}
	one.halt = sync.OnceFunc(func() { close(one.stop) })
	options.Stop = one.stop
	run, err := stackrun.Open(ctx, w, options)
	if err != nil {
		return "", err
	}
	if run.Record == nil {
		return "", errors.Join(errors.New("the run cannot be recorded, and so not be shown: see whether the disk is full"), run.Close(ctx))
	}
	id = run.Record.ID()
	if err := s.deploys.begin(id, one); err != nil {
		return "", errors.Join(err, run.Close(ctx))
	}
	go func() {
		defer s.deploys.end(id)
		err := one.run(ctx, run, o)
		run.Fail(err)
		_ = run.Close(ctx) // the record has its error
	}()
	return id, nil
}

// run plans, waits for the answer, and executes the plan.
func (d *deploy) run(ctx context.Context, r *stackrun.Run, o operation) error {
	if !o.options.Program {
		if err := checkModules(ctx, r); err != nil {
			return err
		}
	}
	operation, err := o.make(ctx, r)
	if err != nil {
		return err
	}
	result, err := r.Preview(ctx, operation)
	if err != nil || o.options.Preview {
		return err
	}
	r.Record.Flush() // who is asked sees the whole plan
	if result.Changes.Total()+result.Actions > 0 && !d.ask() {
		return nil
	}
	select {
	case <-d.stop:
		return nil
	default:
	}
	_, err = r.ExecutePreviewed(ctx, operation, nil)
	return err
}

// ask waits for the answer of the user. No answer is a no.
func (d *deploy) ask() bool {
	d.setWaiting(true)
	defer d.setWaiting(false)
	timer := time.NewTimer(answerTime)
	defer timer.Stop()
	select {
	case yes := <-d.answer:
		return yes
	case <-d.stop:
	case <-timer.C:
	}
	return false
}

func (d *deploy) setWaiting(waiting bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = waiting
}

// checkModules refuses modules that only the state names, which a person confirms in a terminal.
func checkModules(ctx context.Context, r *stackrun.Run) error {
	untrusted, err := r.Plugins.Untrusted(ctx, r.RecordedModules())
	if err != nil || untrusted == nil {
		return err
	}
	return fmt.Errorf("%w; a terminal asks about them: run the command there", untrusted)
}

// serveAnswer answers the question of a run, or stops it.
func (s *Server) serveAnswer(w http.ResponseWriter, r *http.Request) {
	id, answer := r.PathValue("run"), r.PostFormValue("answer")
	one := s.deploys.get(id)
	switch {
	case one == nil:
		s.writePage(w, r, http.StatusConflict, s.errorPage(errors.New("this run has ended")))
		return
	case answer == "stop":
		one.halt()
	case answer == "yes" && !s.deploys.waits(id):
		s.writePage(w, r, http.StatusConflict, s.errorPage(errors.New("this run does not wait for an answer")))
		return
	default:
		select {
		case one.answer <- answer == "yes":
		default: // the first answer counts
		}
	}
	http.Redirect(w, r, "/stack/"+r.PathValue("stack")+"/runs/"+id, http.StatusSeeOther)
}
