package stackrun

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/runlog"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/workspace"
)

// record begins the record of the run, and has it receive the events of the engine and of providers. A run goes on without one:
// only the state counts.
func (r *Run) record(p *plugins.Options, o Options, stack string) {
	dir := o.Records
	if dir == "" {
		if o.Preview {
			return
		}
		dir = r.Workspace.RunsDir(stack)
		r.kept = true
	}
	begun := r.Workspace.Begun(o.Command)
	record, err := runlog.Begin(dir, runlog.Header{
		Kind: o.Command, Project: r.Workspace.Project.Name, Stack: stack, Start: begun.Start,
		User: begun.User, Host: begun.Host, PID: os.Getpid(), Version: Version(),
	}, runlog.Options{Secrets: p.Secrets, Instances: r.instances})
	if err != nil {
		p.Events(engine.Diagnostic{Severity: "warning", Message: err.Error()})
		return
	}
	r.Record, r.executed = record, o.Preview
	events, said, audit := r.Deployment.Events, p.Events, p.Audit
	r.Deployment.Events = func(e engine.Event) {
		record.Event(e)
		if events != nil {
			events(e)
		}
	}
	p.Events = func(e engine.Event) {
		record.Event(e)
		said(e)
	}
	p.Audit = func(u host.AuditEvent) {
		record.Use(u)
		if audit != nil {
			audit(u)
		}
	}
}

// instances samples the instances of providers.
func (r *Run) instances() []runlog.Instances {
	if p := r.sampled.Load(); p != nil {
		return p.Instances()
	}
	return nil
}

// release ends the lease of the stack, whose state was saved with an error or none, and the record of the run. An incomplete
// record does not fail the run.
func (r *Run) release(ctx context.Context, lease state.Lease, err error) error {
	ending := workspace.Ending{Update: r.update}
	if r.Plugins != nil {
		err = errors.Join(err, r.Plugins.Close(ctx))
		if r.update != nil {
			ending.Modules = r.Plugins.Used()
		}
	}
	if r.kept && r.Record != nil {
		ending.Run = r.Record.ID()
		ending.Record = func(failed error) ([]byte, error) { return r.Record.Content(r.end(errors.Join(err, failed))) }
	}
	failed, lost := r.Workspace.Release(ctx, lease, r.Deployment.Stack, ending)
	if r.Record == nil {
		return errors.Join(err, failed)
	}
	if ending.Run != "" && failed != nil && !errors.Is(failed, backend.ErrUnreachable) {
		// The kept record says that the run has ended well.
		var content []byte
		if content, lost = ending.Record(failed); lost == nil {
			lost = r.Workspace.KeepRun(r.Deployment.Stack, ending.Run, content)
		}
	}
	err = errors.Join(err, failed)
	if closed := r.Record.Close(r.end(err)); lost == nil { // the same line may be lost in both
		lost = closed
	}
	if lost != nil && r.Plugins != nil {
		r.Plugins.Diagnose(engine.Diagnostic{Severity: "warning", Message: lost.Error()})
	}
	return err
}

// end returns the end of a run that is closed with an error or none.
func (r *Run) end(err error) runlog.End { return r.Record.EndOf(r.executed, cmp.Or(r.failed, err)) }
