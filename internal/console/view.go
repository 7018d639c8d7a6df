package console

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/backend/runlog"
	"github.com/husk-dev/husk/internal/display"
	"github.com/husk-dev/husk/internal/display/timeline"
)

// view is the state of a run according to its record, which it follows.
type view struct {
	mu     sync.Mutex
	reader *runlog.Reader
	used   time.Time
	// at is the time of the entry that is being read, for the timeline.
	at time.Time

	start     time.Time
	phases    []*phase
	messages  []message
	packs     []engine.PolicyPackLoaded
	outputs   engine.StackOutputs
	costs     []engine.ProviderCosts
	instances []runlog.Instances
	uses      []runlog.Use
	left      bool
	end       *runlog.End
}

// phase is the preview of a run, or its execution.
type phase struct {
	engine.Started
	Rows    []*row
	Summary *engine.Summary
	byStep  map[string]*row
	line    *timeline.Recorder
}

// row is a step or an action.
type row struct {
	Subject string
	URN     urn.URN
	Op      engine.Op
	// Did names the operation in words.
	Did     string
	State   string // running, done, failed
	Began   time.Time
	Took    time.Duration
	Error   string
	Reason  string
	Changes []engine.PropertyChange
	Cost    *engine.StepCost
}

// message is a message of Husk or a provider.
type message struct{ Severity, Who, About, Text string }

// maxMessages bounds the messages of a page.
const maxMessages = 500

func newView(reader *runlog.Reader, start time.Time) *view {
	return &view{reader: reader, start: start}
}

// follow reads the additions to the record. The caller holds the lock.
func (v *view) follow() error {
	entries, err := v.reader.Next()
	for i := range entries {
		v.add(&entries[i])
	}
	v.at = time.Now()
	return err
}

func (v *view) add(e *runlog.Entry) {
	v.at = v.start.Add(e.At)
	switch {
	case e.Event != nil:
		v.event(e.Event)
	case e.Uses != nil:
		for _, u := range e.Uses {
			v.use(u)
		}
	case e.Instances != nil:
		v.instances = e.Instances
	case e.Left:
		v.left = true
	case e.End != nil:
		v.end = e.End
	}
}

// use replaces the count of a use, or adds the use.
func (v *view) use(u runlog.Use) {
	same := func(o runlog.Use) bool {
		return o.Provider == u.Provider && o.Capability == u.Capability && o.Target == u.Target && o.Allowed == u.Allowed
	}
	if i := slices.IndexFunc(v.uses, same); i >= 0 {
		v.uses[i].Count = u.Count
		return
	}
	v.uses = append(v.uses, u)
}

func (v *view) event(e engine.Event) {
	if started, ok := e.(engine.Started); ok {
		v.phases = append(v.phases, &phase{
			Started: started, byStep: make(map[string]*row), line: timeline.NewRecorder(func() time.Time { return v.at }),
		})
	}
	if len(v.phases) == 0 { // preparations come before the start
		v.phases = append(v.phases, &phase{byStep: make(map[string]*row), line: timeline.NewRecorder(func() time.Time { return v.at })})
	}
	p := v.phases[len(v.phases)-1]
	p.line.Event(e)
	switch e := e.(type) {
	case engine.StepStarted:
		p.begin(e.Step, v.at)
	case engine.StepDone:
		p.end(e.Step, v.at, e.DurationMs, e.Cost, "")
	case engine.StepFailed:
		p.end(e.Step, v.at, e.DurationMs, e.Cost, e.Error)
	case engine.ActionStarted:
		r := p.row("action "+string(e.Action.URN)+e.Action.Event+e.Action.Name, v.at)
		*r = row{Subject: display.Subject(e.Action.Function, e.Action.Name), Did: "action", State: "running", Began: v.at, Changes: e.Action.Arguments}
	case engine.ActionDone, engine.ActionFailed:
		p.endAction(e, v.at)
	case engine.Diagnostic:
		m := message{Severity: e.Severity, Who: e.Provider, Text: strings.TrimRight(e.Message, "\n")}
		if e.URN != "" {
			m.About = display.Subject(e.URN.Type(), e.URN.Name())
		}
		v.say(m)
	case engine.MoveSuggested:
		v.say(message{Severity: "info", Text: display.Subject(e.From.Type(), e.From.Name()) + " looks like the new " +
			display.Subject(e.To.Type(), e.To.Name()) + ": to keep it, give the new one the option aliases: [" + string(e.From) + "]"})
	case engine.PolicyViolated:
		m := message{Severity: "warning", Who: e.Pack + "/" + e.Policy, Text: e.Message}
		if e.Level == "mandatory" {
			m.Severity = "error"
		}
		if e.URN != "" {
			m.About = display.Subject(e.URN.Type(), e.URN.Name())
		}
		v.say(m)
	case engine.PolicyRemediated:
		v.say(message{Severity: "info", Who: e.Pack + "/" + e.Policy, About: display.Subject(e.URN.Type(), e.URN.Name()), Text: "corrected: " + e.Message})
	case engine.PolicyPackLoaded:
		v.packs = append(v.packs, e)
	case engine.StackOutputs:
		v.outputs = e
	case engine.ProviderCosts:
		v.costs = append(v.costs, e)
	case engine.Summary:
		p.Summary = &e
	}
	if _, ok := e.(engine.Started); ok {
		v.costs, v.outputs = nil, engine.StackOutputs{} // they belong to the preview
	}
}

// say adds a message, unless the same was said before: a preview and its execution say much twice.
func (v *view) say(m message) {
	if len(v.messages) < maxMessages && !slices.Contains(v.messages, m) {
		v.messages = append(v.messages, m)
	}
}

func (p *phase) row(key string, at time.Time) *row {
	r := p.byStep[key]
	if r == nil {
		r = &row{Began: at}
		p.byStep[key] = r
		p.Rows = append(p.Rows, r)
	}
	return r
}

// stepKey identifies the row of a step. The old copy of a replaced resource has a row of its own.
func stepKey(s engine.StepInfo) string {
	key := string(s.URN) + " " + s.Resource + " " + s.Name
	if s.Op == engine.OpDeleteReplaced {
		key += " replaced"
	}
	return key
}

// begin adds the row of a step. Default providers have none.
func (p *phase) begin(s engine.StepInfo, at time.Time) {
	if s.DefaultProvider {
		return
	}
	r := p.row(stepKey(s), at)
	*r = row{
		Subject: display.Subject(s.Resource, s.Name), URN: s.URN, Op: s.Op, State: "running", Began: at,
		Did: display.Done(s.Op, true, false), Reason: s.Reason, Changes: slices.Concat(s.Diff, s.Inputs),
	}
}

// end ends the row of a step. A step of the same resource that began before is the first half of a replacement.
func (p *phase) end(s engine.StepInfo, at time.Time, ms int64, cost *engine.StepCost, failure string) {
	if s.DefaultProvider && failure == "" {
		return
	}
	r := p.row(stepKey(s), at)
	before := *r
	*r = row{
		Subject: display.Subject(s.Resource, s.Name), URN: s.URN, Op: s.Op, State: "done", Began: before.Began,
		Did: display.Done(s.Op, p.DryRun, before.Op == engine.OpRefresh), Took: time.Duration(ms) * time.Millisecond,
		Reason: s.Reason, Changes: slices.Concat(s.Diff, s.Inputs), Cost: cost, Error: failure,
	}
	if len(r.Changes) == 0 {
		r.Changes = before.Changes
	}
	if failure != "" {
		r.State, r.Did = "failed", "failed"
	}
}

func (p *phase) endAction(e engine.Event, at time.Time) {
	done, ok := e.(engine.ActionDone)
	if failed, bad := e.(engine.ActionFailed); bad {
		done = engine.ActionDone{Action: failed.Action, DurationMs: failed.DurationMs}
		r := p.row("action "+string(done.Action.URN)+done.Action.Event+done.Action.Name, at)
		*r = row{Subject: display.Subject(done.Action.Function, done.Action.Name), Did: "failed", State: "failed", Error: failed.Error}
		return
	}
	if ok {
		r := p.row("action "+string(done.Action.URN)+done.Action.Event+done.Action.Name, at)
		did := "ran"
		if p.DryRun {
			did = "will run"
		}
		*r = row{
			Subject: display.Subject(done.Action.Function, done.Action.Name), Did: did, State: "done",
			Took: time.Duration(done.DurationMs) * time.Millisecond, Changes: done.Action.Arguments,
		}
	}
}

// Running counts the steps that go on.
func (p *phase) Running() int { return p.count("running") }

// Finished counts the steps that ended well.
func (p *phase) Finished() int { return p.count("done") }

// Wrong counts the steps that failed.
func (p *phase) Wrong() int { return p.count("failed") }

func (p *phase) count(state string) int {
	n := 0
	for _, r := range p.Rows {
		if r.State == state {
			n++
		}
	}
	return n
}

// views are those in use, by record.
type views struct {
	mu  sync.Mutex
	all map[string]*view
}

// maxViews bounds the views in memory: each has its record, of at most 17 MB.
const maxViews = 8

// get returns the view of a record, up to date and locked.
func (c *views) get(dir string, record *runlog.Record) (*view, error) {
	c.mu.Lock()
	v := c.all[record.ID]
	if v == nil {
		reader, err := runlog.Open(dir, record.ID)
		if err != nil {
			c.mu.Unlock()
			return nil, err
		}
		v = newView(reader, record.Start)
		if c.all == nil {
			c.all = make(map[string]*view)
		}
		c.all[record.ID] = v
		c.forgetOldest()
	}
	v.used = time.Now()
	c.mu.Unlock()
	v.mu.Lock()
	if err := v.follow(); err != nil {
		v.mu.Unlock()
		return nil, err
	}
	return v, nil
}

// forgetOldest forgets the view that was not used for the longest time if there are too many. The caller holds the
// lock.
func (c *views) forgetOldest() {
	if len(c.all) <= maxViews {
		return
	}
	oldest := ""
	for id, v := range c.all {
		if !v.used.IsZero() && (oldest == "" || v.used.Before(c.all[oldest].used)) {
			oldest = id
		}
	}
	v := c.all[oldest]
	delete(c.all, oldest)
	v.mu.Lock()
	defer v.mu.Unlock()
	_ = v.reader.Close() // it was only read
}

func (c *views) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range c.all {
		_ = v.reader.Close()
	}
	c.all = nil
}
