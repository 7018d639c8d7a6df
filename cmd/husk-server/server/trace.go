package server

import (
	"github.com/husk-dev/husk/internal/runapi"
	"github.com/husk-dev/husk/internal/trace"
)

// traceRun records a run that has ended, within the span that asked for it. Its worker's spans are within this one.
func (s *Server) traceRun(r *record) {
	if s.options.Trace == nil {
		return
	}
	failure := ""
	if r.State != runapi.Succeeded {
		failure = string(r.State)
	}
	id, parent := r.Span()
	s.options.Trace.Record(id, parent, "run "+r.Operation, r.Made, r.Ended, failure,
		trace.Attribute{Key: "husk.run", Value: r.ID}, trace.Attribute{Key: "husk.team", Value: r.tenant},
		trace.Attribute{Key: "husk.project", Value: r.Project}, trace.Attribute{Key: "husk.stack", Value: r.Stack},
		trace.Attribute{Key: "husk.state", Value: string(r.State)}, trace.Attribute{Key: "husk.worker", Value: r.Worker},
		trace.Attribute{Key: "husk.attempts", Value: r.Attempt})
}

// traceWait records how long a run has waited for its first worker.
func (s *Server) traceWait(r *runapi.Run) {
	if s.options.Trace == nil {
		return
	}
	parent, _ := r.Span()
	s.options.Trace.Record(trace.IDOf("husk wait "+r.ID, parent), parent, "wait", r.Made, r.Began, "")
}
