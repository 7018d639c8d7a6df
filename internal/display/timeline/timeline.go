// Package timeline shows what a deployment spent its time on: what ran when, what it waited for, and what it cost in
// which provider. It draws an SVG, and a page with a table beside it.
//
// A timeline is made of the engine's events while they come: they have no times of their own.
package timeline

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/base/sorted"
	"github.com/husk-dev/husk/internal/display"
)

// Timeline is the course of a deployment until some moment. Times are since its beginning.
type Timeline struct {
	Operation string        `json:"operation"`
	Project   string        `json:"project"`
	Stack     string        `json:"stack"`
	DryRun    bool          `json:"dryRun"`
	Start     time.Time     `json:"start"`
	Took      time.Duration `json:"took"`
	// Result is "succeeded" or "failed", empty while it runs.
	Result string `json:"result,omitempty"`
	// Bars are sorted by their start.
	Bars []Bar `json:"bars"`
	// Unchanged counts the resources that needed nothing, which have no bars.
	Unchanged int                    `json:"unchanged,omitempty"`
	Providers []engine.ProviderCosts `json:"providers,omitempty"`
}

// Bar is a step, an action, or the preparation of a provider.
type Bar struct {
	URN urn.URN `json:"urn,omitempty"`
	// Subject and Did describe it, such as "tls:PrivateKey caKey" and "created".
	Subject string `json:"subject"`
	Did     string `json:"did"`
	Kind    Kind   `json:"kind"`
	// Provider is the package of the resource, or the provider that its program names.
	Provider string        `json:"provider,omitempty"`
	Start    time.Duration `json:"start"`
	End      time.Duration `json:"end"`
	Running  bool          `json:"running,omitempty"`
	Error    string        `json:"error,omitempty"`
	// Calls and InProvider are the calls of the provider and their time. They include the check and the comparison,
	// which come before the step.
	Calls      int           `json:"calls,omitempty"`
	InProvider time.Duration `json:"inProvider,omitempty"`
	// WaitedFor is the index of the last of the bars that had to end before this one, -1 for none.
	WaitedFor int `json:"waitedFor"`
	// Critical marks the chain of bars, each waiting for the one before, that ended last.
	Critical bool `json:"critical,omitempty"`

	op    engine.Op
	needs []urn.URN
}

// Kind is the colour of a bar. It repeats what Did says.
type Kind string

// The kinds.
const (
	KindCreate  Kind = "create"
	KindUpdate  Kind = "update"
	KindDelete  Kind = "delete"
	KindRead    Kind = "read"
	KindAction  Kind = "action"
	KindPrepare Kind = "prepare"
)

// Recorder makes a timeline from events. It is safe for concurrent use.
type Recorder struct {
	now func() time.Time

	mu       sync.Mutex
	timeline Timeline
	begun    bool
	running  map[string]int // the bars by their subjects
	bars     []Bar
}

// NewRecorder returns a recorder with a clock, nil for the machine's.
func NewRecorder(now func() time.Time) *Recorder {
	if now == nil {
		now = time.Now
	}
	r := &Recorder{now: now}
	r.reset()
	return r
}

func (r *Recorder) reset() {
	r.timeline, r.bars, r.running = Timeline{Start: r.now()}, nil, make(map[string]int)
}

// Event records an event. The timeline covers the last deployment that started.
func (r *Recorder) Event(e engine.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.now().Sub(r.timeline.Start)
	switch e := e.(type) {
	case engine.Started:
		if r.begun {
			r.reset()
		}
		r.begun = true
		t := &r.timeline
		t.Operation, t.Project, t.Stack, t.DryRun = e.Operation, e.Project, e.Stack, e.DryRun
	case engine.StepStarted:
		if !e.Step.DefaultProvider {
			r.begin(stepKey(e.Step), r.stepBar(e.Step, at))
		}
	case engine.StepDone:
		r.endStep(e.Step, at, e.Cost, "")
	case engine.StepFailed:
		r.endStep(e.Step, at, e.Cost, e.Error)
	case engine.ActionStarted:
		r.begin(actionKey(e.Action), actionBar(e.Action, at))
	case engine.ActionDone:
		r.end(actionKey(e.Action), actionBar(e.Action, at), at)
	case engine.ActionFailed:
		bar := actionBar(e.Action, at)
		bar.Error = e.Error
		r.end(actionKey(e.Action), bar, at)
	case engine.Preparing:
		elapsed := min(at, time.Duration(e.ElapsedMs)*time.Millisecond)
		key := "preparing " + e.Doing + " " + e.Provider
		bar := Bar{Subject: display.Escape(e.Provider), Did: e.Doing, Kind: KindPrepare, Provider: display.Escape(e.Provider), Start: at - elapsed}
		switch {
		case e.Done:
			r.end(key, bar, at)
		case e.Received == 0: // else it has begun
			r.begin(key, bar)
		}
	case engine.ProviderCosts:
		r.timeline.Providers = append(r.timeline.Providers, e)
	case engine.Summary:
		r.timeline.Result, r.timeline.Took = e.Result, at
	}
}

func stepKey(s engine.StepInfo) string {
	return "step " + string(s.URN) + " " + s.Resource + " " + s.Name
}

func actionKey(a engine.ActionInfo) string {
	return "action " + string(a.URN) + " " + a.Event + " " + a.Function + " " + a.Name
}

func (r *Recorder) stepBar(s engine.StepInfo, at time.Duration) Bar {
	bar := Bar{
		URN: s.URN, Subject: display.Subject(s.Resource, s.Name), Did: display.Done(s.Op, r.timeline.DryRun, false), Kind: kindOf(s.Op),
		Start: at, op: s.Op,
	}
	if s.Custom {
		bar.Provider, _, _ = strings.Cut(s.Resource, ":")
		if s.Provider != "" {
			bar.Provider += " " + s.Provider.Name()
		}
		bar.Provider = display.Escape(bar.Provider)
	}
	for _, d := range s.Dependencies {
		bar.needs = append(bar.needs, d.URN)
	}
	for _, u := range []urn.URN{s.Parent, s.Provider} {
		if u != "" {
			bar.needs = append(bar.needs, u)
		}
	}
	return bar
}

func kindOf(op engine.Op) Kind {
	switch op {
	case engine.OpCreate, engine.OpImport, engine.OpCreateReplacement:
		return KindCreate
	case engine.OpDelete, engine.OpDeleteReplaced, engine.OpDiscard, engine.OpRemovePendingReplace:
		return KindDelete
	case engine.OpUpdate, engine.OpReplace:
		return KindUpdate
	}
	return KindRead
}

func actionBar(a engine.ActionInfo, at time.Duration) Bar {
	bar := Bar{Subject: display.Subject(a.Function, a.Name), Did: "run", Kind: KindAction, Start: at}
	bar.Provider, _, _ = strings.Cut(a.Function, ":")
	bar.Provider = display.Escape(bar.Provider)
	if a.URN != "" && strings.HasPrefix(a.Event, "after-") {
		bar.needs = []urn.URN{a.URN}
	}
	return bar
}

func (r *Recorder) begin(key string, bar Bar) {
	bar.Running = true
	r.running[key] = len(r.bars)
	r.bars = append(r.bars, bar)
}

// end ends a bar, which keeps its start. One that never began has no length.
func (r *Recorder) end(key string, bar Bar, at time.Duration) {
	bar.End = at
	if i, ok := r.running[key]; ok {
		delete(r.running, key)
		bar.Start = r.bars[i].Start
		r.bars[i] = bar
		return
	}
	r.bars = append(r.bars, bar)
}

func (r *Recorder) endStep(s engine.StepInfo, at time.Duration, cost *engine.StepCost, failure string) {
	if s.DefaultProvider {
		return
	}
	bar := r.stepBar(s, at)
	if i, ok := r.running[stepKey(s)]; ok && r.bars[i].op == engine.OpRefresh {
		bar.Did, bar.Kind = display.Done(s.Op, r.timeline.DryRun, true), KindRead
	}
	bar.Error = failure
	if failure != "" {
		bar.Did = "failed"
	}
	if cost != nil {
		bar.Calls, bar.InProvider = cost.Calls, time.Duration(cost.Microseconds)*time.Microsecond
	}
	r.end(stepKey(s), bar, at)
}

// Timeline returns the record so far.
func (r *Recorder) Timeline() *Timeline {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.timeline
	t.Providers = slices.Clone(t.Providers)
	if t.Result == "" {
		t.Took = r.now().Sub(t.Start)
	}
	for _, bar := range r.bars {
		if bar.Running {
			bar.End = t.Took
		}
		if bar.op == engine.OpSame && bar.Calls == 0 && bar.Error == "" && !bar.Running {
			t.Unchanged++
			continue
		}
		t.Bars = append(t.Bars, bar)
	}
	sorted.By(t.Bars, func(a, b Bar) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.Subject, b.Subject))
	})
	t.link()
	return &t
}

// link finds what each bar waited for, and the chain that ended last.
func (t *Timeline) link() {
	made, deleted := make(map[urn.URN][]int), make(map[urn.URN][]int) // bars of resources, and deletions of their dependents
	prepared := make(map[string][]int)
	var others []int // that are not deletions
	for i := range t.Bars {
		b := &t.Bars[i]
		b.WaitedFor = -1
		if b.Kind == KindDelete {
			for _, u := range b.needs {
				deleted[u] = append(deleted[u], i)
			}
			continue
		}
		others = append(others, i)
		if b.Kind == KindPrepare {
			prepared[b.Provider] = append(prepared[b.Provider], i)
		} else if b.URN != "" {
			made[b.URN] = append(made[b.URN], i)
		}
	}
	last := -1
	for i := range t.Bars {
		b := &t.Bars[i]
		wait := func(candidates []int) {
			for _, k := range candidates {
				if k != i && !t.Bars[k].Running && t.Bars[k].End <= b.Start && (b.WaitedFor < 0 || t.Bars[k].End > t.Bars[b.WaitedFor].End) {
					b.WaitedFor = k
				}
			}
		}
		if b.Kind == KindDelete {
			wait(deleted[b.URN])
			if b.WaitedFor < 0 && b.op == engine.OpDelete && t.Operation != "destroy" {
				wait(others) // what the program did not register is known at its end
			}
		} else {
			pkg, _, _ := strings.Cut(b.Provider, " ")
			wait(prepared[pkg])
			for _, u := range b.needs {
				wait(made[u])
			}
		}
		if last < 0 || b.End > t.Bars[last].End {
			last = i
		}
	}
	for i := last; i >= 0 && !t.Bars[i].Critical; i = t.Bars[i].WaitedFor {
		t.Bars[i].Critical = true
	}
}

// Title names the deployment.
func (t *Timeline) Title() string {
	return display.Escape(strings.TrimSpace(t.Operation + " of " + t.Project + "/" + t.Stack))
}

// maxBars bounds the bars that are drawn: a page with more is slow, and nobody reads them.
const maxBars = 1000

// longest returns the indexes of the bars that are drawn, in their order: the longest, and the critical ones.
func (t *Timeline) longest() []int {
	all := make([]int, len(t.Bars))
	for i := range all {
		all[i] = i
	}
	if len(all) <= maxBars {
		return all
	}
	rank := func(i int) time.Duration {
		if b := t.Bars[i]; !b.Critical && b.Error == "" {
			return b.End - b.Start
		}
		return t.Took + 1
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(rank(b), rank(a)) })
	all = all[:maxBars]
	slices.Sort(all)
	return all
}
