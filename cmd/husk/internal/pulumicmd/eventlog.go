package pulumicmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/pulumi/pulumigrpc"
)

// sink takes the events of a log, each a line of JSON.
type sink interface {
	Write(line []byte) (int, error)
	Close() error
}

// streamed is the beginning of the name of a log that is a service of this machine.
const streamed = "tcp://"

// openLog opens the file or service of a log.
func openLog(name string) (sink, error) {
	if address, is := strings.CutPrefix(name, streamed); is {
		return pulumigrpc.SendEvents(address)
	}
	return os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

// eventLog writes what happens in a deployment as the events of Pulumi's engine.
type eventLog struct {
	app *cli.App
	out sink
	// debug writes messages of every severity.
	debug bool

	mu       sync.Mutex
	failed   error // of writing
	sequence int
	config   map[string]string
	planning bool
	counts   counts // nil before the first run
	// early are the messages before it: the prelude is the first event.
	early []engine.Diagnostic
	told  failures
	stack *stepEvent // the event of the stack's outputs, nil if it is not due
	// before and after are the states of the next event, if that is one of a step.
	before, after *state.Resource
}

// The events, of which each has one member beside its number and time.
type (
	event struct {
		Sequence  int   `json:"sequence"`
		Timestamp int64 `json:"timestamp"`

		Cancel      *struct{}        `json:"cancelEvent,omitempty"`
		Prelude     *preludeEvent    `json:"preludeEvent,omitempty"`
		Diagnostic  *diagnosticEvent `json:"diagnosticEvent,omitempty"`
		ResourcePre *stepEvent       `json:"resourcePreEvent,omitempty"`
		ResOutputs  *stepEvent       `json:"resOutputsEvent,omitempty"`
		ResOpFailed *failedEvent     `json:"resOpFailedEvent,omitempty"`
		Policy      *policyEvent     `json:"policyEvent,omitempty"`
		Summary     *summaryEvent    `json:"summaryEvent,omitempty"`
	}
	preludeEvent struct {
		Config map[string]string `json:"config"`
	}
	diagnosticEvent struct {
		URN       string `json:"urn,omitempty"`
		Prefix    string `json:"prefix,omitempty"`
		Message   string `json:"message"`
		Color     string `json:"color"`
		Severity  string `json:"severity"`
		Ephemeral bool   `json:"ephemeral,omitempty"`
	}
	stepEvent struct {
		Metadata stepMetadata `json:"metadata"`
		Planning bool         `json:"planning,omitempty"`
	}
	failedEvent struct {
		Metadata stepMetadata `json:"metadata"`
		Status   int          `json:"status"`
		Steps    int          `json:"steps"`
	}
	stepMetadata struct {
		Op           engine.Op             `json:"op"`
		URN          string                `json:"urn"`
		Type         string                `json:"type"`
		Old          *recorded             `json:"old"`
		New          *recorded             `json:"new"`
		Keys         []string              `json:"keys,omitempty"`
		Diffs        []string              `json:"diffs,omitempty"`
		DetailedDiff map[string]difference `json:"detailedDiff"`
		Logical      bool                  `json:"logical,omitempty"`
		Provider     string                `json:"provider"`
	}
	policyEvent struct {
		ResourceURN          string `json:"resourceUrn,omitempty"`
		Message              string `json:"message"`
		Color                string `json:"color"`
		PolicyName           string `json:"policyName"`
		PolicyPackName       string `json:"policyPackName"`
		PolicyPackVersion    string `json:"policyPackVersion"`
		PolicyPackVersionTag string `json:"policyPackVersionTag"`
		EnforcementLevel     string `json:"enforcementLevel"`
	}
	summaryEvent struct {
		MaybeCorrupt    bool              `json:"maybeCorrupt"`
		DurationSeconds int               `json:"durationSeconds"`
		ResourceChanges counts            `json:"resourceChanges"`
		PolicyPacks     map[string]string `json:"PolicyPacks"`
		IsPreview       bool              `json:"isPreview"`
		Result          string            `json:"result"`
	}
)

// uncoloured says that the texts of events have no colours.
const uncoloured = "never"

// Begin implements [cli.Follower].
func (l *eventLog) Begin(config []abi.ConfigEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.config = shownConfig(config)
}

// shownConfig returns a configuration without its secrets.
func shownConfig(config []abi.ConfigEntry) map[string]string {
	shown := make(map[string]string, len(config))
	for _, e := range config {
		shown[e.Key] = e.Value
		if e.Secret {
			shown[e.Key] = redact.Mask
		}
	}
	return shown
}

// Step implements [cli.Follower].
func (l *eventLog) Step(before, after *state.Resource) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.before, l.after = before, after
}

// Event implements [cli.Follower].
func (l *eventLog) Event(e engine.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e := e.(type) {
	case engine.Started:
		l.planning, l.counts = e.DryRun, make(counts)
		l.write(event{Prelude: &preludeEvent{Config: l.config}})
		l.tellEarly()
	case engine.Diagnostic:
		switch {
		case e.Severity == "debug" && !l.debug:
		case l.counts == nil:
			l.early = append(l.early, e)
		default:
			l.diagnose(e)
		}
	case engine.StepStarted:
		l.each(e.Step, func(m stepMetadata) { l.write(event{ResourcePre: &stepEvent{m, l.planning}}) })
	case engine.StepDone:
		l.each(e.Step, func(m stepMetadata) {
			if m.Logical {
				l.counts[m.Op]++
			}
			if m.Type == urn.RootType && m.New != nil {
				l.stack = &stepEvent{m, l.planning} // until its outputs are known
				return
			}
			l.write(event{ResOutputs: &stepEvent{m, l.planning}})
		})
	case engine.StackOutputs:
		if l.stack != nil {
			l.stack.Metadata.New.Outputs, _ = json.Marshal(e.Outputs) // which are JSON
		}
	case engine.StepFailed:
		l.told = append(l.told, e.Error)
		l.diagnose(engine.Diagnostic{Severity: "error", URN: e.Step.URN, Message: e.Error})
		l.each(e.Step, func(m stepMetadata) { l.write(event{ResOpFailed: &failedEvent{Metadata: m}}) })
	case engine.PolicyViolated:
		l.write(event{Policy: &policyEvent{
			ResourceURN: string(e.URN), Message: e.Message, Color: uncoloured, PolicyName: e.Policy, PolicyPackName: e.Pack,
			PolicyPackVersion: e.Version, PolicyPackVersionTag: e.Version, EnforcementLevel: e.Level,
		}})
	case engine.Summary:
		if l.stack != nil {
			l.write(event{ResOutputs: l.stack})
			l.stack = nil
		}
		l.write(event{Summary: &summaryEvent{
			DurationSeconds: int(e.DurationMs / 1000), ResourceChanges: l.counts, PolicyPacks: map[string]string{},
			IsPreview: l.planning, Result: e.Result,
		}})
	}
}

func (l *eventLog) tellEarly() {
	for _, d := range l.early {
		l.diagnose(d)
	}
	l.early = nil
}

func (l *eventLog) diagnose(d engine.Diagnostic) {
	l.write(event{Diagnostic: &diagnosticEvent{
		URN: string(d.URN), Prefix: d.Severity + ": ", Message: d.Message + "\n", Color: uncoloured, Severity: d.Severity, Ephemeral: d.Ephemeral,
	}})
}

// each calls do with the metadata of a step: twice for a replacement, because Pulumi also has events of the whole one. Default
// providers have no events.
func (l *eventLog) each(step engine.StepInfo, do func(stepMetadata)) {
	before, after := l.before, l.after
	l.before, l.after = nil, nil
	if step.DefaultProvider {
		return
	}
	changed := differencesOf(step.Diff)
	m := stepMetadata{
		Op: step.Op, URN: string(step.URN), Type: step.Resource, Keys: changed.replacing, Diffs: changed.all,
		Logical: isLogical(step.Op), Provider: providerOf(before, after),
		DetailedDiff: changed.detailed(func(kind string) difference { return difference{DiffKind: kind} }),
	}
	var err, more error
	if m.Old, err = tell(before); err == nil {
		m.New, more = tell(after)
	}
	if l.failed == nil {
		l.failed = errors.Join(err, more)
	}
	do(m)
	if step.Op == engine.OpCreateReplacement {
		m.Op, m.Logical = engine.OpReplace, true
		do(m)
	}
}

// providerOf returns the provider of a step's resource.
func providerOf(before, after *state.Resource) string {
	switch {
	case after != nil:
		return after.Provider
	case before != nil:
		return before.Provider
	}
	return ""
}

// Close implements [cli.Follower]. A log that is not complete is no failure of what was done.
func (l *eventLog) Close(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tellEarly()
	for _, d := range l.told.others(l.app, err) {
		l.diagnose(d)
	}
	l.write(event{Cancel: &struct{}{}}) // which is what readers wait for
	if err = errors.Join(l.failed, l.out.Close()); err != nil {
		l.app.Say("warning: the log of events is not complete: %v", err)
	}
}

func (l *eventLog) write(e event) {
	e.Sequence, e.Timestamp = l.sequence, time.Now().Unix()
	l.sequence++
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(e)
	if err == nil {
		_, err = l.out.Write(l.app.Secrets.InJSON(line.Bytes()))
	}
	if err != nil && l.failed == nil {
		l.failed = fmt.Errorf("writing an event: %w", err)
	}
}
