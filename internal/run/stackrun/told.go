package stackrun

import (
	"sync"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/state"
)

// told keeps the events of a preview until it finds something to do. An execution that would only repeat the preview tells them again.
type told struct {
	// says receives the messages of plugins.
	says func(engine.Event)

	mu        sync.Mutex
	listening bool
	events    []toldEvent
	// before and after are the states of the step whose event comes next.
	before, after *state.Resource
}

// toldEvent is an event with the states of its step, if it has one. says is set for messages of plugins.
type toldEvent struct {
	event         engine.Event
	before, after *state.Resource
	says          bool
}

// listen returns the deployment of a preview whose events are kept.
func (t *told) listen(d engine.Deployment) engine.Deployment {
	if t == nil {
		return d
	}
	t.mu.Lock()
	t.listening, t.events = true, nil
	t.mu.Unlock()
	steps, events := d.Steps, d.Events
	if steps != nil {
		d.Steps = func(before, after *state.Resource) {
			t.before, t.after = before, after
			steps(before, after)
		}
	}
	d.Events = func(e engine.Event) {
		t.keep(toldEvent{e, t.before, t.after, false})
		t.before, t.after = nil, nil
		if events != nil {
			events(e)
		}
	}
	return d
}

// hear keeps a message of a plugin. Events of its preparation are not told again.
func (t *told) hear(e engine.Event) {
	if _, ok := e.(engine.Diagnostic); ok && t != nil {
		t.keep(toldEvent{event: e, says: true})
	}
}

func (t *told) keep(e toldEvent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if started, ok := e.event.(engine.StepStarted); ok && changes(started.Step.Op) {
		t.listening, t.events = false, nil
	}
	if t.listening {
		t.events = append(t.events, e)
	}
}

// changes reports whether an execution does something for a step.
func changes(op engine.Op) bool {
	return op != engine.OpSame && op != engine.OpRead && op != engine.OpRefresh
}

// end returns the kept events, nil if the preview found something to do, and keeps no more.
func (t *told) end() []toldEvent {
	t.mu.Lock()
	defer t.mu.Unlock()
	events := t.events
	t.listening, t.events = false, nil
	return events
}

// again tells the events of a preview as those of its execution.
func (t *told) again(events []toldEvent, d engine.Deployment) {
	for _, e := range events {
		if e.says {
			t.says(e.event)
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
