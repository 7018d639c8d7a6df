package display

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
)

// Options say how text is shown.
type Options struct {
	// Diff shows what differs in each resource.
	Diff bool
	// LogLevel is the least severity of messages that are shown, one of [LogLevels]; empty for info.
	LogLevel string
	// Timings shows at the end the cost of provider calls, and the slowest steps.
	Timings bool
	// Plan has the steps that a preview found for this execution, nil without a preview. A terminal shows the steps that
	// have not begun, each with the ones that it waits for.
	Plan *Plan
}

// LogLevels are the severities of messages, the least first.
var LogLevels = []string{"debug", "info", "warning", "error"}

// Text shows events to people: a line for each resource that changed, and errors and counts at the end. On a terminal, running
// and waiting steps are a tree of live lines below. Events do not wait for the terminal: their output is collected, and written
// ten times a second.
type Text struct {
	options Options
	style   Style
	// errs receives the errors at the end.
	errs *Output

	// drawing is held while something is written on the screen. It is taken before mu.
	drawing sync.Mutex

	mu     sync.Mutex
	screen *screen
	// unwritten are lines for the screen that are to stay.
	unwritten strings.Builder
	started   engine.Started
	running   map[urn.URN]*running // those that change something
	progress  *progress
	status    string // progress, until the next
	// preparing are the preparations that take a while.
	preparing map[string]*wait
	// acting has the start of each running action, and after the lines of actions that ran after a step.
	acting  map[string]time.Time
	after   map[urn.URN][]string
	told    bool // a line was shown below the first one
	failed  []engine.StepFailed
	packs   []engine.PolicyPackLoaded
	outputs *engine.StackOutputs
	summary *engine.Summary
	timings timings

	stop    chan struct{}
	ticking sync.WaitGroup
}

type running struct {
	step  engine.StepInfo
	since time.Time
	// told is the time of the last line about it, for displays without live lines.
	told time.Time
}

const (
	// redrawEvery is the time between drawings of the live lines.
	redrawEvery = 100 * time.Millisecond
	// worthTelling is the least time of a step that is shown.
	worthTelling = 100 * time.Millisecond
	// tellEvery is the time between lines about a running step, without live lines.
	tellEvery = 10 * time.Second
)

// NewText returns a display on an output, which writes the errors at the end to another one.
func NewText(out, errs *Output, o Options) *Text {
	t := newText(newScreen(out), errs, o)
	t.style = out.Style()
	t.ticking.Go(t.tick)
	return t
}

func newText(s *screen, errs *Output, o Options) *Text {
	return &Text{
		options: o, errs: errs, screen: s,
		running: make(map[urn.URN]*running), preparing: make(map[string]*wait), stop: make(chan struct{}),
		acting: make(map[string]time.Time), after: make(map[urn.URN][]string), progress: newProgress(o.Plan),
	}
}

func (t *Text) tick() {
	ticker := time.NewTicker(redrawEvery)
	defer ticker.Stop()
	for {
		select {
		case <-t.stop:
			return
		case now := <-ticker.C:
			t.at(now)
		}
	}
}

// at shows how long steps have been running, and the pending output.
func (t *Text) at(now time.Time) {
	if t.screen.size == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.remind(now)
		return
	}
	t.drawing.Lock()
	defer t.drawing.Unlock()
	t.mu.Lock()
	text, live := t.unwritten.String(), t.live(now)
	t.unwritten.Reset()
	t.mu.Unlock() // a slow terminal does not hold up the events
	if text != "" {
		t.screen.print(text, live)
	} else {
		t.screen.refresh(live)
	}
}

// Event implements [Display].
func (t *Text) Event(e engine.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.options.Timings {
		t.timings.note(e)
	}
	switch e := e.(type) {
	case engine.Started:
		t.started = e
		words := operations[e.Operation]
		doing := words.doing
		if e.DryRun {
			doing = words.previewing
		}
		t.print(t.style.Strong(doing+" "+Escape(e.Project+"/"+e.Stack)) + "\n")
	case engine.StepStarted:
		t.status = ""
		if !e.Step.DefaultProvider {
			if e.Step.Op != engine.OpSame {
				now := time.Now()
				t.running[key(e.Step)] = &running{step: e.Step, since: now, told: now}
			}
			t.progress.begin(e.Step)
		}
	case engine.StepDone:
		t.progress.end(e.Step, false)
		t.showStep(e)
		t.tellActions(e.Step)
	case engine.StepFailed:
		delete(t.running, key(e.Step))
		t.progress.end(e.Step, true)
		t.failed = append(t.failed, e)
		what := subject(e.Step.Resource, e.Step.Name)
		t.tell("  " + t.style.bad("!  "+pad(what)+" failed") + "\n")
	case engine.ActionStarted:
		t.startAction(e.Action)
	case engine.ActionDone:
		t.showAction(e)
	case engine.ActionFailed:
		t.showFailedAction(e)
	case engine.Diagnostic:
		t.diagnostic(e)
	case engine.Preparing:
		t.showPreparing(e, time.Now())
	case engine.MoveSuggested:
		t.showMove(e)
	case engine.PolicyPackLoaded:
		t.packs = append(t.packs, e)
	case engine.PolicyRemediated:
		t.showCorrection(e)
	case engine.PolicyViolated:
		t.showViolation(e)
	case engine.StackOutputs:
		t.outputs = &e
	case engine.Summary:
		t.summary = &e
	}
}

// showMove suggests that a deleted resource is a created one, and how to keep it.
func (t *Text) showMove(e engine.MoveSuggested) {
	from, to := subject(e.From.Type(), e.From.Name()), subject(e.To.Type(), e.To.Name())
	t.tell("  " + t.style.note("moved? ") + from + " looks like the new " + to +
		": to keep it, give the new one the option\n    aliases: [" + Escape(string(e.From)) + "]\n")
}

// key identifies a running step. A resource has one running step at most.
func key(s engine.StepInfo) urn.URN {
	if s.URN == "" {
		return urn.URN(s.Resource + " " + s.Name)
	}
	return s.URN
}

// Interrupt shows that the user asked to stop, until the end.
func (t *Text) Interrupt(message string) {
	t.mu.Lock()
	t.print(t.style.warning(message) + "\n")
	t.mu.Unlock()
	if t.screen.size != nil {
		t.at(time.Now())
	}
}

// print writes lines above the live lines: on a terminal with the next drawing of these, until the end.
func (t *Text) print(text string) {
	select {
	case <-t.stop:
	default:
		if t.screen.size != nil {
			t.unwritten.WriteString(text)
			return
		}
	}
	t.screen.print(t.unwritten.String()+text, nil)
	t.unwritten.Reset()
}

// tell writes lines about the deployment's course.
func (t *Text) tell(text string) {
	t.told = true
	t.print(text)
}

func (t *Text) showStep(e engine.StepDone) {
	r := t.running[key(e.Step)]
	delete(t.running, key(e.Step))
	op := e.Step.Op
	if quiet(op) || e.Step.DefaultProvider && op != engine.OpUpdate {
		return
	}
	refreshed := r != nil && r.step.Op == engine.OpRefresh
	words := wordsOf(op, refreshed)
	what := words.done
	if t.started.DryRun {
		what = words.planned
	}
	style := t.style
	line := "  " + words.paint(style, fmt.Sprintf("%-2s ", words.symbol)) + pad(subject(e.Step.Resource, e.Step.Name)) +
		" " + words.paint(style, what)
	if why := reasonOf(e.Step); why != "" {
		line += " " + style.faint(why)
	}
	line += t.took(e.DurationMs)
	if t.options.Diff {
		line += "\n" + differences(style, e.Step)
	}
	t.tell(strings.TrimRight(line, "\n") + "\n")
}

// took returns the end of a line about something that took a while.
// It is empty in previews, where it would be the time that the provider took to plan.
func (t *Text) took(ms int64) string {
	if t.started.DryRun || ms < worthTelling.Milliseconds() {
		return ""
	}
	return " " + t.style.faint("("+milliseconds(ms)+")")
}

// subjectWidth is the width of the column of resources, in characters.
const subjectWidth = 40

func pad(text string) string { return fmt.Sprintf("%-*s", subjectWidth, text) }

func (t *Text) diagnostic(d engine.Diagnostic) {
	if slices.Index(LogLevels, cmp.Or(d.Severity, "info")) < slices.Index(LogLevels, cmp.Or(t.options.LogLevel, "info")) {
		return // the JSON has it
	}
	if d.Ephemeral {
		t.status = Escape(d.Message)
		if d.Guest {
			t.status = t.speaker(d) + t.status
		}
		if t.screen.size == nil {
			t.print("  " + t.status + "\n")
		}
		return
	}
	style := t.style
	var label string
	switch d.Severity {
	case "debug":
		label = style.faint("debug: ")
	case "warning":
		label = style.warning("warning: ")
	case "error":
		label = style.bad("error: ")
	}
	if d.Guest {
		t.tell(t.guestMessage(d, label))
		return
	}
	switch {
	case d.URN != "":
		label += style.Strong(subject(d.URN.Type(), d.URN.Name())) + ": "
	case d.Provider != "":
		label += style.Strong(Escape(d.Provider)) + ": "
	}
	message := EscapeLines(strings.TrimRight(d.Message, "\n"))
	t.tell("  " + label + strings.ReplaceAll(message, "\n", "\n    ") + "\n")
}

// speaker begins each line of a provider's or policy pack's message: no line passes for one of husk.
func (t *Text) speaker(d engine.Diagnostic) string {
	return t.style.Strong(Escape(d.Provider)) + " " + t.style.faint("|") + " "
}

// guestMessage returns the lines of a message from a provider or policy pack.
func (t *Text) guestMessage(d engine.Diagnostic, label string) string {
	if d.URN != "" {
		label += subject(d.URN.Type(), d.URN.Name()) + ": "
	}
	var b strings.Builder
	for line := range strings.SplitSeq(EscapeLines(strings.TrimRight(d.Message, "\n")), "\n") {
		b.WriteString(strings.TrimRight("  "+t.speaker(d)+label+line, " ") + "\n")
		label = ""
	}
	return b.String()
}

// showPreparing shows preparations while they run. Without live lines, it writes a line at the beginning, and
// one with the duration at the end.
func (t *Text) showPreparing(e engine.Preparing, now time.Time) {
	what, elapsed := e.Doing+" "+Escape(e.Provider), time.Duration(e.ElapsedMs)*time.Millisecond
	line := what + "…"
	if w := t.preparing[what]; w != nil && !e.Done {
		w.done, w.size = e.Received, e.Size
		return
	}
	if e.Done {
		delete(t.preparing, what)
		line = what + " took " + duration(elapsed)
	} else {
		t.preparing[what] = &wait{what: what, began: now.Add(-elapsed)}
	}
	if t.screen.size == nil && !e.GivenUp {
		t.print("  " + line + "\n")
	}
}

// live returns the live lines: the tree of running and waiting steps, actions, preparations, and the last progress.
func (t *Text) live(now time.Time) []string {
	columns, rows := t.screen.size()
	lines := t.liveTree(now, columns, mostLive(rows))
	add := func(text string) { lines = append(lines, "  "+text) }
	for _, what := range slices.Sorted(maps.Keys(t.acting)) {
		add(t.style.note(actionSymbol) + cutLine(what+" … "+duration(now.Sub(t.acting[what])), columns-5))
	}
	for _, what := range slices.Sorted(maps.Keys(t.preparing)) {
		add(t.style.faint(cutLine(t.preparing[what].text(now), columns-2)))
	}
	if t.status != "" && len(lines) == 0 {
		add(t.style.faint(t.status))
	}
	return lines
}

// longest returns the running steps, the longest first.
func (t *Text) longest() []*running {
	return slices.SortedFunc(maps.Values(t.running), func(a, b *running) int {
		return cmp.Or(a.since.Compare(b.since), strings.Compare(string(key(a.step)), string(key(b.step))))
	})
}

// doing says what a running step does. A preview reads, and plans whatever else an update would do.
func (t *Text) doing(op engine.Op) string {
	running := wordsOf(op, false).running
	if t.started.DryRun && running != "reading" {
		return "planning"
	}
	return running
}

func (t *Text) still(r *running, now time.Time) string {
	words := wordsOf(r.step.Op, false)
	style := t.style
	return words.paint(style, fmt.Sprintf("%-2s ", words.symbol)) + pad(subject(r.step.Resource, r.step.Name)) +
		" " + words.paint(style, t.doing(r.step.Op)+"…") + " " + style.faint(duration(now.Sub(r.since)))
}

// remind writes lines about steps that have been running for long, without live lines.
func (t *Text) remind(now time.Time) {
	for _, r := range t.longest() {
		if now.Sub(r.told) >= tellEvery {
			r.told = now
			t.tell("  " + t.still(r, now) + "\n")
		}
	}
}
