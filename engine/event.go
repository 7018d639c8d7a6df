package engine

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/analysis"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/sorted"
)

// Op says what a step does to a resource. The names are Pulumi's.
type Op string

// The operations of steps.
const (
	OpSame                 Op = "same"
	OpCreate               Op = "create"
	OpUpdate               Op = "update"
	OpReplace              Op = "replace"            // the logical whole of the two that follow
	OpCreateReplacement    Op = "create-replacement" // the new copy
	OpDeleteReplaced       Op = "delete-replaced"    // the old copy
	OpDelete               Op = "delete"
	OpRead                 Op = "read"
	OpReadReplacement      Op = "read-replacement"
	OpDiscard              Op = "discard" // forget an external resource
	OpRefresh              Op = "refresh"
	OpImport               Op = "import"
	OpRemovePendingReplace Op = "remove-pending-replace"
	OpExtendParameterize   Op = "extend-parameterize" // a provider serves another package beside its own
)

// Event is one thing that happened in a deployment. Events never hold the
// plain text of a secret.
type Event interface {
	// Type is the event's name in JSON.
	Type() string
}

// Started is the first event of a deployment.
type Started struct {
	Operation string `json:"operation"` // preview, up, refresh, destroy
	Project   string `json:"project"`
	Stack     string `json:"stack"`
	DryRun    bool   `json:"dryRun"`
}

// Performed returns the event of the deployment that a preview shows.
func (e Started) Performed() Started {
	e.DryRun = false
	if e.Operation == operationPreview {
		e.Operation = operationUp
	}
	return e
}

// StepInfo describes a step.
type StepInfo struct {
	Op       Op      `json:"op"`
	URN      urn.URN `json:"urn"`
	Resource string  `json:"resourceType"`
	Name     string  `json:"name"`
	Parent   urn.URN `json:"parent,omitempty"`
	// ID is the resource's ID, empty while it has none.
	ID string `json:"id,omitempty"`
	// Custom is false for components.
	Custom bool `json:"custom"`
	// Provider is the resource's own, if the program names one.
	Provider urn.URN `json:"provider,omitempty"`
	// Dependencies are the resources that the resource depends on, sorted by URN.
	Dependencies []Dependency `json:"dependencies,omitempty"`
	// DefaultProvider marks providers that no program names; displays show only their updates.
	DefaultProvider bool `json:"defaultProvider,omitempty"`
	// Diff lists what differs, for updates and replacements.
	Diff []PropertyChange `json:"diff,omitempty"`
	// Inputs shows a new resource's inputs, or a deleted one's.
	Inputs []PropertyChange `json:"inputs,omitempty"`
	// DeleteBeforeReplace is the order of a replacement.
	DeleteBeforeReplace bool `json:"deleteBeforeReplace,omitempty"`
	// Reason says why a step without a difference in its properties is taken.
	Reason string `json:"reason,omitempty"`
}

// Dependency is a resource that another one depends on.
type Dependency struct {
	URN urn.URN `json:"urn"`
	// Properties are the inputs that use it. There are none for an option dependsOn alone.
	Properties []string `json:"properties,omitempty"`
}

// DependenciesOf returns the dependencies of a resource, sorted by URN.
func DependenciesOf(r *state.Resource) []Dependency {
	if len(r.Dependencies)+len(r.PropertyDependencies) == 0 {
		return nil
	}
	properties := make(map[urn.URN][]string, len(r.Dependencies))
	for _, u := range r.Dependencies {
		properties[u] = nil
	}
	for _, key := range slices.Sorted(maps.Keys(r.PropertyDependencies)) {
		for _, u := range r.PropertyDependencies[key] {
			if of := properties[u]; len(of) == 0 || of[len(of)-1] != key {
				properties[u] = append(of, key)
			}
		}
	}
	out := make([]Dependency, 0, len(properties))
	for _, u := range slices.Sorted(maps.Keys(properties)) {
		out = append(out, Dependency{u, properties[u]})
	}
	return out
}

// PropertyChange is one difference. Old and New are rendered by [property.Render]: whole, with
// secrets masked; the one that does not apply is empty.
type PropertyChange struct {
	Path string `json:"path"`
	Kind string `json:"kind"` // add, delete, update, move
	// From is the path that an element of a list had before a move.
	From     string `json:"from,omitempty"`
	Replaces bool   `json:"replaces,omitempty"`
	Old      string `json:"old,omitempty"`
	New      string `json:"new,omitempty"`
}

// StepStarted says that a step began.
type StepStarted struct {
	Step StepInfo `json:"step"`
}

// StepDone says that a step ended well.
type StepDone struct {
	Step       StepInfo  `json:"step"`
	DurationMs int64     `json:"durationMs"`
	Cost       *StepCost `json:"cost,omitempty"` // nil if no provider was called
}

// StepFailed says that a step failed, or that a resource never got as far as a step.
type StepFailed struct {
	Step       StepInfo `json:"step"`
	DurationMs int64    `json:"durationMs"`
	Error      string   `json:"error"`
	// Cost is nil if no provider was called.
	Cost *StepCost `json:"cost,omitempty"`
}

// ActionInfo describes an action of the program.
type ActionInfo struct {
	Name string `json:"name"`
	// Function is the token of the called function.
	Function string `json:"function"`
	// Event is when it runs: before-create, after-create, before-update, or after-update. It is empty for an
	// action that runs by itself.
	Event string `json:"event,omitempty"`
	// URN is the resource at whose step the action runs.
	URN       urn.URN          `json:"urn,omitempty"`
	Arguments []PropertyChange `json:"arguments,omitempty"`
}

// ActionStarted says that an action began, between the events of its step.
type ActionStarted struct {
	Action ActionInfo `json:"action"`
}

// ActionDone says that an action ended well, or in a preview that it will run.
type ActionDone struct {
	Action     ActionInfo `json:"action"`
	DurationMs int64      `json:"durationMs"`
}

// ActionFailed says that an action failed, or in a preview that its provider refuses it.
type ActionFailed struct {
	Action     ActionInfo `json:"action"`
	DurationMs int64      `json:"durationMs"`
	Error      string     `json:"error"`
}

// Diagnostic is a message for people.
type Diagnostic struct {
	Severity string  `json:"severity"` // debug, info, warning, error
	Message  string  `json:"message"`
	URN      urn.URN `json:"urn,omitempty"`
	Provider string  `json:"provider,omitempty"`
	// Ephemeral marks progress, replaced by the next such message.
	Ephemeral bool `json:"ephemeral,omitempty"`
	// Guest marks a message of a provider or policy pack: Provider is who, and all else is its word, also the URN.
	Guest bool `json:"guest,omitempty"`
}

// Preparing reports a provider or policy pack that takes longer than half a second to be ready, then and at the
// end. Loaders send it.
type Preparing struct {
	Provider string `json:"provider"`
	// Doing is the activity: fetching, building, compiling, or waiting for another process that compiles.
	Doing     string `json:"doing"`
	ElapsedMs int64  `json:"elapsedMs"`
	Done      bool   `json:"done,omitempty"`
	// Received and Size are the bytes of a download: those that have come, and all. They are 0 where they are not known. Events that
	// have them go between the first and the last.
	Received int64 `json:"received,omitempty"`
	Size     int64 `json:"size,omitempty"`
	// GivenUp says that it is over because the run was stopped.
	GivenUp bool `json:"givenUp,omitempty"`
}

// MoveSuggested says that a resource which is about to be deleted looks like a new one. If it was renamed or
// moved, an alias keeps it.
type MoveSuggested struct {
	From urn.URN `json:"from"`
	To   urn.URN `json:"to"`
}

// StackOutputs holds the outputs of the stack, rendered, secrets masked.
type StackOutputs struct {
	Outputs map[string]any `json:"outputs"`
	// Changes are the differences from the outputs that the stack had before, none if there was no stack.
	Changes []PropertyChange `json:"changed,omitempty"`
}

// ProviderCosts is the cost of one provider's calls, at the end of a deployment.
type ProviderCosts struct {
	Package string `json:"package"`
	// URN is the provider resource, empty for a provider that was never configured.
	URN     urn.URN      `json:"urn,omitempty"`
	Methods []MethodCost `json:"methods"` // sorted by name
}

// Changes counts what a deployment did, or a preview would do.
type Changes struct {
	Create  int `json:"create"`
	Update  int `json:"update"`
	Replace int `json:"replace"`
	Delete  int `json:"delete"`
	Same    int `json:"same"`
	Read    int `json:"read"`
}

// Total counts the changes, which leaves out same and read.
func (c Changes) Total() int { return c.Create + c.Update + c.Replace + c.Delete }

// Summary is the last event.
type Summary struct {
	Result  string  `json:"result"` // succeeded or failed
	Changes Changes `json:"changes"`
	// Actions counts the actions that ran, or would run.
	Actions int `json:"actions,omitempty"`
	// Policies is nil if there are no policies.
	Policies   *PolicyCounts `json:"policies,omitempty"`
	DurationMs int64         `json:"durationMs"`
}

// The names of events in JSON.

func (Started) Type() string          { return "started" }
func (StepStarted) Type() string      { return "step-started" }
func (StepDone) Type() string         { return "step-done" }
func (StepFailed) Type() string       { return "step-failed" }
func (ActionStarted) Type() string    { return "action-started" }
func (ActionDone) Type() string       { return "action-done" }
func (ActionFailed) Type() string     { return "action-failed" }
func (Diagnostic) Type() string       { return "diagnostic" }
func (Preparing) Type() string        { return "preparing" }
func (MoveSuggested) Type() string    { return "move-suggested" }
func (StackOutputs) Type() string     { return "outputs" }
func (ProviderCosts) Type() string    { return "provider-costs" }
func (Summary) Type() string          { return "summary" }
func (PolicyPackLoaded) Type() string { return "policy-pack-loaded" }
func (PolicyRemediated) Type() string { return "policy-remediated" }
func (PolicyViolated) Type() string   { return "policy-violated" }

// count adds a finished step to the counts.
func (c *Changes) count(op Op) {
	switch op {
	case OpSame:
		c.Same++
	case OpCreate, OpImport:
		c.Create++
	case OpUpdate, OpRefresh:
		c.Update++
	case OpCreateReplacement, OpReadReplacement:
		c.Replace++
	case OpDelete:
		c.Delete++
	case OpRead:
		c.Read++
	}
}

// durationMs is the whole milliseconds since start.
func durationMs(start time.Time) int64 { return time.Since(start).Milliseconds() }

// DisplayOutputs returns outputs as JSON values, with "[secret]" for secrets and "[unknown]" for unknown values.
// A reference is an object with the URN and, of a resource that has one, the ID. Assets, archives, and numbers that are not
// finite are texts by [property.Render].
func DisplayOutputs(outputs property.Map) map[string]any {
	out := make(map[string]any, outputs.Len())
	for k, v := range outputs.All() {
		out[k] = maskedJSON(v)
	}
	return out
}

func maskedJSON(v property.Value) any {
	switch v.Kind() {
	case property.KindNull:
		return nil
	case property.KindBool:
		b, _ := v.AsBool()
		return b
	case property.KindNumber:
		f, _ := v.AsNumber()
		if math.IsNaN(f) || math.IsInf(f, 0) { // which JSON has no number for
			return property.Render(v)
		}
		return f
	case property.KindString:
		s, _ := v.AsString()
		return s
	case property.KindOutput:
		if o, _ := v.AsOutput(); !o.Secret {
			return maskedJSON(o.Value)
		}
		return "[secret]"
	case property.KindSecret:
		return "[secret]"
	case property.KindUnknown:
		return "[unknown]"
	case property.KindArray:
		elements, _ := v.AsArray()
		out := make([]any, len(elements))
		for i, e := range elements {
			out[i] = maskedJSON(e)
		}
		return out
	case property.KindObject:
		m, _ := v.AsObject()
		return DisplayOutputs(m)
	case property.KindResourceReference:
		r, _ := v.AsReference()
		out := map[string]any{"urn": r.URN}
		if r.HasID {
			out["id"] = cmp.Or(r.ID, "[unknown]")
		}
		return out
	default:
		return property.Render(v)
	}
}

// PolicyPackLoaded says which policies a pack brings to a deployment, and how they are
// enforced.
type PolicyPackLoaded struct {
	Name     string       `json:"name"`
	Version  string       `json:"version"`
	Policies []PolicyInfo `json:"policies"`
}

// PolicyInfo describes a policy.
type PolicyInfo struct {
	Name        string `json:"name"`
	Level       string `json:"level"` // advisory, mandatory, remediate, disabled
	Description string `json:"description,omitempty"`
}

// PolicyRemediated says that a policy corrected the inputs of a resource.
type PolicyRemediated struct {
	analysis.Source
	URN     urn.URN          `json:"urn"`
	Message string           `json:"message,omitempty"`
	Changes []PropertyChange `json:"changes"`
}

// PolicyViolated says that a resource, or the stack, is not as a policy wants it.
type PolicyViolated struct {
	analysis.Source
	Level string `json:"level"` // advisory or mandatory
	// URN is empty for the stack.
	URN     urn.URN `json:"urn,omitempty"`
	Path    string  `json:"path,omitempty"`
	Message string  `json:"message"`
}

// PolicyCounts counts what policies did in a deployment.
type PolicyCounts struct {
	Packs      int `json:"packs"`
	Mandatory  int `json:"mandatory"`
	Advisory   int `json:"advisory"`
	Remediated int `json:"remediated"`
}

// count adds an event to the counts, which begin with the first pack.
func (c *PolicyCounts) count(e Event) *PolicyCounts {
	switch e := e.(type) {
	case PolicyPackLoaded:
		if c == nil {
			c = &PolicyCounts{}
		}
		c.Packs++
	case PolicyRemediated:
		c.Remediated++
	case PolicyViolated:
		if e.Level == "mandatory" {
			c.Mandatory++
		} else {
			c.Advisory++
		}
	}
	return c
}

// IsDefaultProvider reports whether a resource is a provider that no program names.
func IsDefaultProvider(u urn.URN) bool { return providers.IsDefault(u) }

// info describes a step for events.
func (s *step) info() StepInfo {
	res := s.subject()
	i := StepInfo{
		Op: s.op, URN: res.URN, Resource: res.Type, Name: res.URN.Name(), Parent: res.Parent,
		ID: providers.ShownID(res.ID), Custom: res.Custom, DefaultProvider: providers.IsDefault(res.URN),
		DeleteBeforeReplace: s.diff.deleteBeforeReplace, Reason: s.diff.reason, Dependencies: DependenciesOf(res),
	}
	if s.result != "" {
		i.Op = s.result
	}
	if provider, _, err := providers.SplitReference(res.Provider); err == nil && !providers.IsDefault(provider) {
		i.Provider = provider
	}
	switch i.Op {
	case OpUpdate, OpCreateReplacement:
		if s.old != nil {
			i.Diff = changesOf(s.diff, s.old, res)
		}
	case OpCreate, OpImport:
		i.Inputs = s.inputLines("add")
	case OpDelete:
		i.Inputs = s.inputLines("delete")
	}
	return i
}

// inputLines shows all inputs of a resource that comes or goes.
func (s *step) inputLines(kind string) []PropertyChange {
	inputs := s.subject().Inputs
	if s.lines == nil || !inputs.Is(s.shown) {
		s.lines, s.shown = inputLines(inputs, kind), inputs
	}
	return s.lines
}

func inputLines(inputs property.Map, kind string) []PropertyChange {
	out := slices.Grow([]PropertyChange(nil), inputs.Len())
	for _, k := range inputs.Keys() {
		if strings.HasPrefix(k, "__") {
			continue
		}
		c := PropertyChange{Path: property.Path{property.Key(k)}.String(), Kind: kind}
		if shown := property.Render(inputs.Get(k)); kind == "add" {
			c.New = shown
		} else {
			c.Old = shown
		}
		out = append(out, c)
	}
	return out
}

// changesOf renders a difference for people: sorted, with secrets masked, without hidden properties.
func changesOf(df diff, old, n *state.Resource) []PropertyChange {
	var out []PropertyChange
	lists := listChanges{}
	for _, p := range df.detailed {
		path, err := property.ParsePath(p.Path)
		if err != nil {
			path = property.Path{property.Key(p.Path)}
		}
		if slices.ContainsFunc(n.HideDiff, func(hidden property.Path) bool { return hidden.Contains(path) }) {
			continue
		}
		before, after := old.Outputs, n.Inputs
		switch {
		case df.ofState:
			before, after = propertiesAt(path, old), propertiesAt(path, n)
		case p.InputDiff:
			before = old.Inputs
		}
		c := PropertyChange{
			Path: p.Path, Kind: diffKinds[p.Kind].name, Replaces: diffKinds[p.Kind].replaces,
			Old: showAt(before, path), New: showAt(after, path),
		}
		if c.New == "" && !n.Outputs.Is(old.Outputs) { // a default, which the planned state tells, or the one that was made
			c.New = showAt(n.Outputs, path)
		}
		switch c.Kind {
		case "add":
			if isGone(path, before, after) {
				out = append(out, PropertyChange{Path: c.Path, Kind: "delete", Replaces: c.Replaces, Old: c.Old})
				lists.add(len(out)-1, "delete", path, before, after)
			}
			c.Old = ""
		case "delete":
			if df.ofState && isGone(path, after, before) { // where an update would add an element
				out = append(out, PropertyChange{Path: c.Path, Kind: "add", New: c.New})
				lists.add(len(out)-1, "add", path, before, after)
			}
			c.New = ""
		default:
			if c.New == "" {
				c.New = property.Render(property.Unknown) // the provider computes it
			}
		}
		out = append(out, c)
		lists.add(len(out)-1, c.Kind, path, before, after)
	}
	out = lists.merge(out)
	sorted.By(out, func(a, b PropertyChange) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(b.Kind, a.Kind)) // what goes, before what comes
	})
	return out
}

// isGone reports whether there is an element at a path before, and none of its contents in the list after: where an element of a
// set is added at the same index, which providers say with one entry of a diff.
func isGone(path property.Path, before, after property.Map) bool {
	last := len(path) - 1
	if last < 0 {
		return false
	}
	if _, isElement := path[last].Index(); !isElement {
		return false
	}
	was, ok := path.Get(property.Object(before))
	if !ok {
		return false
	}
	list, _ := path[:last].Get(property.Object(after))
	elements, isList := list.Plain().AsArray()
	return isList && !slices.ContainsFunc(elements, was.EqualContents)
}

// outputChanges returns the differences between the outputs of a stack, none if it did not exist before.
func outputChanges(before *state.Resource, outputs property.Map) []PropertyChange {
	if before == nil {
		return nil
	}
	return changesOf(diff{detailed: inputDiff(before.Outputs, outputs)}, &state.Resource{Inputs: before.Outputs}, &state.Resource{Inputs: outputs})
}

// propertiesAt returns the properties of a resource that have something at the path.
func propertiesAt(path property.Path, res *state.Resource) property.Map {
	if _, ok := path.Get(property.Object(res.Outputs)); ok {
		return res.Outputs
	}
	return res.Inputs
}

// showAt renders the value at a path, empty if there is none. A part of a secret is as secret as the whole.
func showAt(m property.Map, path property.Path) string {
	v, ok := path.Get(property.Object(m))
	if !ok {
		return ""
	}
	return property.Render(v)
}

// stepEnd returns the event of a step that ended, with an error if it failed.
func stepEnd(info StepInfo, start time.Time, cost *StepCost, err error) Event {
	if err != nil {
		return StepFailed{Step: info, DurationMs: durationMs(start), Error: err.Error(), Cost: cost}
	}
	return StepDone{Step: info, DurationMs: durationMs(start), Cost: cost}
}
