// Package runlog keeps a record of each deployment in a file, and reads it, also while the deployment runs.
//
// A record has a line of JSON for each entry: the header, the engine's events, samples of the instances of
// providers, uses of capabilities, and the end. It holds no secrets, and only its owner can read it. Package
// stackrun writes records; package console shows them.
package runlog

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
)

const (
	// maxRecord bounds a record: a deployment of some 10,000 changed resources, with its preview. Then only what
	// matters most is recorded, up to maxEssential more.
	maxRecord    = 16 << 20
	maxEssential = 1 << 20
	// keptRecords and keptBytes bound the records of a stack. The newest one is kept in any case.
	keptRecords = 50
	keptBytes   = 64 << 20
	// maxUses bounds the uses of capabilities that are told apart.
	maxUses = 2000
	// maxLine bounds a line; a longer one is left out.
	maxLine = 4 << 20
)

const suffix = ".jsonl"

// Header begins a record.
type Header struct {
	// Kind is the command, such as "up".
	Kind    string    `json:"kind"`
	Project string    `json:"project"`
	Stack   string    `json:"stack"`
	Start   time.Time `json:"start"`
	User    string    `json:"user,omitempty"`
	Host    string    `json:"host,omitempty"`
	PID     int       `json:"pid"`
	Version string    `json:"version,omitempty"`
}

// Result says how a deployment ended.
type Result string

// The results. A record without one is of a deployment that runs, or that was cut off.
const (
	Succeeded Result = "succeeded"
	Failed    Result = "failed"
	// Declined is a deployment that was only planned, because its user did not confirm.
	Declined Result = "not confirmed"
)

// End ends a record.
type End struct {
	Result Result `json:"result"`
	Error  string `json:"error,omitempty"`
	// Changes counts the steps taken, or the planned ones if none were taken.
	Changes engine.Changes `json:"changes"`
}

// Instances has the statistics of the instances of a provider or policy pack, and their current resources.
type Instances struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest"`
	// Policy marks a policy pack.
	Policy    bool   `json:"policy,omitempty"`
	Instances int    `json:"instances"`
	Memory    uint64 `json:"memory"`
	// Peak is the most memory that a sample found, in bytes.
	Peak     uint64            `json:"peak"`
	Calls    uint64            `json:"calls"`
	Fuel     uint64            `json:"fuel"`
	Started  uint64            `json:"started"`
	Dropped  uint64            `json:"dropped,omitempty"`
	Failures map[string]uint64 `json:"failures,omitempty"`
}

// Use counts the uses of a capability by a provider.
type Use struct {
	Provider string `json:"provider"`
	Version  string `json:"version,omitempty"`
	// Method is the one in whose call the capability was used first.
	Method     string `json:"method"`
	Capability string `json:"capability"`
	Target     string `json:"target"`
	Allowed    bool   `json:"allowed"`
	// Reason says why it was refused.
	Reason string `json:"reason,omitempty"`
	Count  int    `json:"count"`
}

// Entry is a line of a record after its header. One of the fields other than At is set.
type Entry struct {
	// At is the time since the start.
	At    time.Duration
	Event engine.Event
	// Uses are the uses that are new or have other counts than before.
	Uses      []Use
	Instances []Instances
	// Left marks where the record became too long: what follows lacks entries.
	Left bool
	End  *End
}

// The types of lines that are not events of the engine.
const (
	typeHeader    = "run"
	typeUses      = "capabilities"
	typeInstances = "instances"
	typeLeft      = "left-out"
	typeEnd       = "end"
)

// line is an entry in JSON.
type line struct {
	// At is in milliseconds.
	At   int64           `json:"at"`
	Type string          `json:"type"`
	Data json.RawMessage `json:"data,omitempty"`
}

// events decode the engine's events by their types.
var events = func() map[string]func([]byte) (engine.Event, error) {
	all := make(map[string]func([]byte) (engine.Event, error))
	event[engine.Started](all)
	event[engine.StepStarted](all)
	event[engine.StepDone](all)
	event[engine.StepFailed](all)
	event[engine.ActionStarted](all)
	event[engine.ActionDone](all)
	event[engine.ActionFailed](all)
	event[engine.Diagnostic](all)
	event[engine.Preparing](all)
	event[engine.MoveSuggested](all)
	event[engine.StackOutputs](all)
	event[engine.ProviderCosts](all)
	event[engine.Summary](all)
	event[engine.PolicyPackLoaded](all)
	event[engine.PolicyRemediated](all)
	event[engine.PolicyViolated](all)
	return all
}()

func event[E engine.Event](all map[string]func([]byte) (engine.Event, error)) {
	var zero E
	all[zero.Type()] = func(data []byte) (engine.Event, error) {
		var e E
		err := json.Unmarshal(data, &e)
		return e, err
	}
}

// decode reads a line. The entry is nil if the line is of a type that this version does not know.
func decode(text []byte) (*Entry, error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, err
	}
	e := &Entry{At: time.Duration(l.At) * time.Millisecond}
	var err error
	switch l.Type {
	case typeUses:
		err = json.Unmarshal(l.Data, &e.Uses)
	case typeInstances:
		err = json.Unmarshal(l.Data, &e.Instances)
	case typeEnd:
		err = json.Unmarshal(l.Data, &e.End)
	case typeLeft:
		e.Left = true
	default:
		read, known := events[l.Type]
		if !known {
			return nil, nil
		}
		e.Event, err = read(l.Data)
	}
	return e, err
}

// idPattern matches the names of records: the time of the start, the command, and the process.
var idPattern = lazyregexp.Regexp{Syntax: `^[0-9]{8}T[0-9]{6}\.[0-9]{3}Z-[a-z-]+-[0-9]+$`}

func idOf(h Header) string {
	return fmt.Sprintf("%s-%s-%d", h.Start.UTC().Format("20060102T150405.000Z"), h.Kind, h.PID)
}

// path returns the file of a record, and an error for a text that names none.
func path(dir, id string) (string, error) {
	if !idPattern.Get().MatchString(id) {
		return "", fmt.Errorf("there is no record %q: names are like 20261123T134500.000Z-up-4711", id)
	}
	return filepath.Join(dir, id+suffix), nil
}
