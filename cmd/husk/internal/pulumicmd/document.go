package pulumicmd

import (
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/engine/state"
)

// document collects what a deployment does, and writes it at the end as one document, as pulumi preview --json does.
type document struct {
	app *cli.App

	mu            sync.Mutex
	failed        error
	told          failures
	before, after *state.Resource
	digest        struct {
		Config        map[string]string `json:"config,omitempty"`
		Steps         []digestStep      `json:"steps,omitempty"`
		Diagnostics   []digestMessage   `json:"diagnostics,omitempty"`
		Duration      time.Duration     `json:"duration,omitempty"` // in nanoseconds
		ChangeSummary counts            `json:"changeSummary,omitempty"`
	}
}

type digestStep struct {
	Op             engine.Op             `json:"op"`
	URN            string                `json:"urn"`
	Provider       string                `json:"provider,omitempty"`
	OldState       json.RawMessage       `json:"oldState,omitempty"`
	NewState       json.RawMessage       `json:"newState,omitempty"`
	DiffReasons    []string              `json:"diffReasons,omitempty"`
	ReplaceReasons []string              `json:"replaceReasons,omitempty"`
	DetailedDiff   map[string]difference `json:"detailedDiff"`
}

type digestMessage struct {
	URN      string `json:"urn,omitempty"`
	Message  string `json:"message,omitempty"`
	Severity string `json:"severity,omitempty"`
}

// Begin implements [cli.Follower].
func (d *document) Begin(config []abi.ConfigEntry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.digest.Config = shownConfig(config)
}

// Step implements [cli.Follower].
func (d *document) Step(before, after *state.Resource) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before, d.after = before, after
}

// Event implements [cli.Follower].
func (d *document) Event(e engine.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch e := e.(type) {
	case engine.Started: // the document is about the last of preview and execution
		d.digest.Steps, d.digest.ChangeSummary = nil, make(counts)
	case engine.Diagnostic:
		if !e.Ephemeral && e.Severity != "debug" {
			d.digest.Diagnostics = append(d.digest.Diagnostics, digestMessage{string(e.URN), e.Message, e.Severity})
		}
	case engine.StepFailed:
		d.told = append(d.told, e.Error)
		d.digest.Diagnostics = append(d.digest.Diagnostics, digestMessage{string(e.Step.URN), e.Error, "error"})
	case engine.StepDone:
		d.step(e.Step)
	case engine.Summary:
		d.digest.Duration = time.Duration(e.DurationMs) * time.Millisecond
	}
}

func (d *document) step(step engine.StepInfo) {
	before, after := d.before, d.after
	op := step.Op
	if op == engine.OpCreateReplacement {
		op = engine.OpReplace // the steps that it is made of are not shown
	}
	if step.DefaultProvider || !isLogical(op) {
		return
	}
	d.digest.ChangeSummary[op]++
	if op == engine.OpSame && step.Resource != urn.RootType && (before == nil || after == nil || before.Protect == after.Protect) {
		return
	}
	changed := differencesOf(step.Diff)
	s := digestStep{
		Op: op, URN: string(step.URN), Provider: providerOf(before, after), DiffReasons: changed.all, ReplaceReasons: changed.replacing,
		DetailedDiff: changed.detailed(func(kind string) difference { return difference{Kind: kind} }),
	}
	var err, more error
	if s.OldState, err = encode(withoutSecrets(before)); err == nil {
		s.NewState, more = encode(withoutSecrets(after))
	}
	d.failed = errors.Join(d.failed, err, more)
	d.digest.Steps = append(d.digest.Steps, s)
}

// withoutSecrets returns a resource in which texts stand for secrets.
func withoutSecrets(r *state.Resource) *state.Resource {
	if r == nil {
		return nil
	}
	shown := *r
	shown.Inputs, shown.Outputs = r.Inputs.Transform(hideSecret), r.Outputs.Transform(hideSecret)
	return &shown
}

func hideSecret(v property.Value) property.Value {
	switch v.Kind() {
	case property.KindSecret:
		return property.String(redact.Mask)
	case property.KindOutput:
		o, _ := v.AsOutput()
		if o.Secret {
			return property.String(redact.Mask)
		}
		return o.Value
	}
	return v
}

// Close implements [cli.Follower].
func (d *document) Close(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, other := range d.told.others(d.app, err) {
		d.digest.Diagnostics = append(d.digest.Diagnostics, digestMessage{"", other.Message, other.Severity})
	}
	if err = errors.Join(d.failed, d.app.WriteJSONBy(d.digest, "    ")); err != nil {
		d.app.Say("warning: the document is not complete: %v", err)
	}
}
