package stackrun

import (
	"sync"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/state"
)

// replay keeps the events of a preview until the preview finds something to do. An execution that would only repeat the preview plays them.
type replay struct {
	// says receives the messages of plugins.
	says func(engine.Event)

	mu        sync.Mutex
	listening bool
	events    []heldEvent
	// before and after are the states of the step whose event comes next.
	before, after *state.Resource
}

// heldEvent is an event with the states of its step, if it has one. says is set for messages of plugins.
type heldEvent struct {
	event         engine.Event
	before, after *state.Resource
	says          bool
}

// listen returns the deployment of a preview whose events are kept.
func (r *replay) listen(d engine.Deployment) engine.Deployment {
	if r == nil {
		return d
	}
	r.mu.Lock()
	r.listening, r.events = true, nil
	r.mu.Unlock()
	steps, events := d.Steps, d.Events
	if steps != nil {
		d.Steps = func(before, after *state.Resource) {
			r.before, r.after = before, after
			steps(before, after)
		}
	}
	d.Events = func(e engine.Event) {
		r.keep(heldEvent{e, r.before, r.after, false})
		r.before, r.after = nil, nil
		if events != nil {
			events(e)
		}
	}
	return d
}

// hear keeps a message of a plugin. Events of its preparation are not played.
func (r *replay) hear(e engine.Event) {
	if _, ok := e.(engine.Diagnostic); ok && r != nil {
		r.keep(heldEvent{event: e, says: true})
	}
}

func (r *replay) keep(e heldEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if started, ok := e.event.(engine.StepStarted); ok && changes(started.Step.Op) {
		r.listening, r.events = false, nil
	}
	if r.listening {
		r.events = append(r.events, e)
	}
}

// changes reports whether an execution does something for a step.
func changes(op engine.Op) bool {
	return op != engine.OpSame && op != engine.OpRead && op != engine.OpRefresh
}

// end returns the kept events, nil if the preview found something to do, and keeps no more.
func (r *replay) end() []heldEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events
	r.listening, r.events = false, nil
	return events
}

// play tells the events of a preview as those of its execution.
func (r *replay) play(events []heldEvent, d engine.Deployment) {
	for _, e := range events {
		if e.says {
			r.says(e.event)
			continue
		}
		if e.before != nil || e.after != nil {
			d.Steps(e.before, e.after)
		}
		if started, ok := e.event.(engine.Started); ok {
			e.event = started.Performed()
		}
		if d.Events != nil {
			d.Events(e.event)
		}
	}
}

func isClosed(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}
