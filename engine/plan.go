package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/internal/callbacks"
	"github.com/husk-dev/husk/engine/internal/providers"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/excerpt"
	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/base/jsonerror"
)

// Plan has the steps that an update would take, as a preview found them. An update with a plan does nothing else: see [Up].
type Plan struct {
	Project, Stack string
	Resources      map[urn.URN]*PlannedResource
}

// PlannedResource is the plan for one resource.
type PlannedResource struct {
	// Goal is the resource as the program registers it, with its checked inputs; components and the stack
	// have their outputs, too. Unknown parts may become anything. It is nil if the resource is not registered.
	Goal *state.Resource
	// Steps are in no order. Weaker steps will do, such as an update that changes nothing.
	Steps []Op
	// Unchecked says that the inputs of Goal are the program's own: the provider could not check them, since the preview
	// did not know its configuration.
	Unchecked bool
	// Seed is the seed of random parts of inputs.
	Seed []byte
	// Actions run before and after the steps, in this order.
	Actions []PlannedAction
}

// PlanError is a deviation of an update from its plan, before anything of the resource was changed.
type PlanError struct {
	URN urn.URN
	// Part is "step", an option by its name, or the path of a property, such as inputs.tags["a b"].
	Part string
	// Actual and Planned are whole, values as [property.Render] has them; secrets are masked.
	Actual, Planned string
}

// Error states the plan, and what to do.
func (e *PlanError) Error() string {
	actual, planned, at := excerpt.Pair(e.Actual, e.Planned)
	return fmt.Sprintf("%s deviates from the plan: its %s is %s, and %s was planned%s: husk preview --save-plan makes a new plan",
		e.URN, e.Part, actual, planned, excerpt.Where(at))
}

// none stands for a missing value in a [PlanError].
const none = "none"

// allows reports whether a step of the resource is planned, or a stronger one.
func (p *PlannedResource) allows(op Op) bool {
	if p == nil {
		return false
	}
	planned := func(ops ...Op) bool {
		return slices.ContainsFunc(ops, func(op Op) bool { return slices.Contains(p.Steps, op) })
	}
	switch op {
	case OpSame:
		return planned(OpSame, OpUpdate, OpCreate, OpCreateReplacement, OpImport)
	case OpUpdate:
		return planned(OpUpdate, OpCreateReplacement)
	case OpRead:
		return planned(OpRead, OpReadReplacement)
	case OpRemovePendingReplace: // which forgets what a step has deleted that was planned
		return planned(OpRemovePendingReplace, OpDeleteReplaced) || p.Goal == nil && planned(OpDelete)
	case OpDelete: // a deletion planned ahead of a replacement may come at the end, if the program lacks the resource
		return planned(OpDelete) || p.Goal == nil && planned(OpDeleteReplaced) && planned(OpRemovePendingReplace)
	case OpDeleteReplaced: // and the other way round
		return planned(OpDeleteReplaced) || p.Goal == nil && planned(OpDelete)
	default:
		return planned(op)
	}
}

// checkStep is a [PlanError] for a step that is not planned.
func (p *PlannedResource) checkStep(u urn.URN, op Op) error {
	if p.allows(op) {
		return nil
	}
	if p == nil {
		p = &PlannedResource{}
	}
	return &PlanError{URN: u, Part: "step", Actual: string(op), Planned: cmp.Or(join(p.Steps), none)}
}

// checkGoal compares the registered resource with the plan: a [PlanError] for each difference.
func (p *PlannedResource) checkGoal(n *state.Resource) error {
	if p == nil || p.Goal == nil {
		return &PlanError{URN: n.URN, Part: "registration", Actual: "new", Planned: none}
	}
	var errs []error
	check := func(part string, text func(*state.Resource) string, becomes func(planned, actual string) bool) {
		if is, was := text(n), text(p.Goal); is != was && (becomes == nil || !becomes(was, is)) {
			errs = append(errs, &PlanError{URN: n.URN, Part: part, Actual: cmp.Or(is, none), Planned: cmp.Or(was, none)})
		}
	}
	for _, part := range plannedParts {
		check(part.name, part.text, part.becomes)
	}
	for _, option := range recordedOptions {
		if option.text != nil {
			check(option.name, option.text, nil)
		}
	}
	return errors.Join(errors.Join(errs...),
		checkProperties(n.URN, "inputs", n.Inputs, p.Goal.Inputs),
		checkProperties(n.URN, "", triggerProperty(n), triggerProperty(p.Goal)))
}

// plannedParts are the parts that a plan compares, beside options and properties.
var plannedParts = []struct {
	name string
	text func(*state.Resource) string
	// becomes, if set, reports whether the actual value may differ from the planned one.
	becomes func(planned, actual string) bool
}{
	{name: "kind", text: kindOf},
	{"id", func(r *state.Resource) string {
		if r.External {
			return r.ID
		}
		return ""
	}, func(planned, _ string) bool { return planned == "" }},
	{"import", func(r *state.Resource) string { return r.ImportID }, func(_, actual string) bool { return actual == "" }}, // it is done
	{name: "parent", text: func(r *state.Resource) string { return string(r.Parent) }},
	{"provider", func(r *state.Resource) string { return r.Provider }, resolves},
	{name: "extension", text: func(r *state.Resource) string { return r.ExtensionRef }},
	{name: "dependencies", text: func(r *state.Resource) string { return join(slices.Sorted(slices.Values(r.Dependencies))) }},
}

func kindOf(r *state.Resource) string {
	switch {
	case !r.Custom:
		return "component"
	case r.External:
		return "read"
	default:
		return "resource"
	}
}

func triggerProperty(r *state.Resource) property.Map {
	return property.MapOf(map[string]property.Value{"replacementTrigger": r.ReplacementTrigger})
}

func resolves(planned, actual string) bool {
	was, id, err := providers.SplitReference(planned)
	is, _, err2 := providers.SplitReference(actual)
	return err == nil && err2 == nil && id == providers.UnknownID && was == is
}

// checkProperties compares properties with the planned ones.
func checkProperties(u urn.URN, in string, actual, planned property.Map) error {
	var errs []error
	for _, change := range property.Diff(planned, actual) {
		is, _ := change.Path.Get(property.Object(actual))
		was, _ := change.Path.Get(property.Object(planned))
		if becomes(was, is) {
			continue
		}
		path := change.Path
		if in != "" {
			path = append(property.Path{property.Key(in)}, path...)
		}
		errs = append(errs, &PlanError{URN: u, Part: path.String(), Actual: display(is), Planned: display(was)})
	}
	return errors.Join(errs...)
}

// becomes reports whether a planned value was not known, and may be the actual one.
func becomes(planned, actual property.Value) bool {
	planned = planned.Plain()
	if was, ok := planned.AsReference(); ok {
		is, ok := actual.Plain().AsReference()
		return ok && was.HasID && was.ID == "" && is.URN == was.URN
	}
	return planned.Kind() == property.KindUnknown
}

func display(v property.Value) string {
	if v.IsNull() {
		return none
	}
	return property.Render(v)
}

func join[S ~string](parts []S) string { return strings.Join(texts(parts), ", ") }

func texts[S ~string](parts []S) []string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = string(p)
	}
	return out
}

// planVersion is the version of the files that [Plan.Encode] writes.
const planVersion = 1

// planFile is a plan as JSON. Goals are in the JSON of an exported state, with its encryption of secrets.
type planFile struct {
	Version   int                             `json:"version"`
	Project   string                          `json:"project"`
	Stack     string                          `json:"stack"`
	Resources map[urn.URN]plannedResourceFile `json:"resources"`
	Goals     json.RawMessage                 `json:"goals"`
	// Arguments has the arguments of all actions as the inputs of resources, sorted by URN, then in their order.
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

type plannedResourceFile struct {
	Steps     []Op `json:"steps,omitempty"`
	Unchecked bool `json:"unchecked,omitempty"`
	// Seed is in base64.
	Seed    []byte              `json:"seed,omitempty"`
	Actions []plannedActionFile `json:"actions,omitempty"`
}

type plannedActionFile struct {
	Event    string `json:"event"`
	Name     string `json:"name"`
	Function string `json:"function"`
	Provider string `json:"provider,omitempty"`
}

// plannable are the steps that a plan can have.
var plannable = []Op{
	OpSame, OpCreate, OpUpdate, OpCreateReplacement, OpDeleteReplaced, OpDelete,
	OpRead, OpReadReplacement, OpDiscard, OpImport, OpRemovePendingReplace,
}

// Encode returns the plan as JSON, with its secrets encrypted as in the state of the codec.
func (p *Plan) Encode(ctx context.Context, codec *state.Codec) ([]byte, error) {
	file := planFile{Version: planVersion, Project: p.Project, Stack: p.Stack, Resources: make(map[urn.URN]plannedResourceFile)}
	var goals []*state.Resource
	var arguments []*state.Resource
	for _, u := range slices.Sorted(maps.Keys(p.Resources)) {
		r := p.Resources[u]
		planned := plannedResourceFile{Steps: r.Steps, Unchecked: r.Unchecked, Seed: r.Seed}
		for _, a := range r.Actions {
			planned.Actions = append(planned.Actions, plannedActionFile{a.Kind.String(), a.Name, a.Function, a.Provider})
			arguments = append(arguments, &state.Resource{URN: u, Type: a.Function, Inputs: a.Arguments})
		}
		file.Resources[u] = planned
		if r.Goal != nil {
			goals = append(goals, r.Goal)
		}
	}
	var err error
	if len(arguments) > 0 {
		if file.Arguments, err = codec.EncodeExport(ctx, state.NewSnapshot(arguments...), false); err != nil {
			return nil, fmt.Errorf("encode the plan: %w", err)
		}
	}
	if file.Goals, err = codec.EncodeExport(ctx, state.NewSnapshot(goals...), false); err != nil {
		return nil, fmt.Errorf("encode the plan: %w", err)
	}
	text, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the plan: %w", err)
	}
	return append(text, '\n'), nil
}

// DecodePlan reads what [Plan.Encode] wrote.
func DecodePlan(ctx context.Context, data []byte, open state.OpenSecrets) (*Plan, error) {
	var file planFile
	if err := intake.CheckJSON(data, &file, intake.Allowance); err != nil {
		return nil, fmt.Errorf("not a plan: %w", err)
	}
	if err := jsonerror.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("not a plan: %w", err)
	}
	if file.Version != planVersion {
		return nil, fmt.Errorf("the plan has version %d, and this version of husk reads %d: make it anew with husk preview --save-plan",
			file.Version, planVersion)
	}
	p := &Plan{Project: file.Project, Stack: file.Stack, Resources: make(map[urn.URN]*PlannedResource, len(file.Resources))}
	for u, r := range file.Resources {
		for _, op := range r.Steps {
			if !slices.Contains(plannable, op) {
				return nil, fmt.Errorf("not a plan: %s has the unknown step %q", u, op)
			}
		}
		p.Resources[u] = &PlannedResource{Steps: r.Steps, Unchecked: r.Unchecked, Seed: r.Seed}
	}
	if err := p.decodeActions(ctx, file, open); err != nil {
		return nil, fmt.Errorf("not a plan: %w", err)
	}
	goals, _, err := state.Decode(ctx, file.Goals, open)
	if err != nil {
		return nil, fmt.Errorf("not a plan: goals: %w", err)
	}
	for _, goal := range goals.Resources() {
		r := p.Resources[goal.URN]
		if r == nil || r.Goal != nil {
			return nil, fmt.Errorf("not a plan: %s has no steps, or more than one goal", goal.URN)
		}
		r.Goal = goal
	}
	return p, nil
}

// decodeActions reads the actions of all resources.
func (p *Plan) decodeActions(ctx context.Context, file planFile, open state.OpenSecrets) error {
	var arguments []*state.Resource
	if file.Arguments != nil {
		snapshot, _, err := state.Decode(ctx, file.Arguments, open)
		if err != nil {
			return fmt.Errorf("arguments: %w", err)
		}
		for _, of := range snapshot.Resources() {
			arguments = append(arguments, of)
		}
	}
	for _, u := range slices.Sorted(maps.Keys(file.Resources)) {
		for _, a := range file.Resources[u].Actions {
			kind, ok := callbacks.ActionKind(a.Event)
			if !ok {
				return fmt.Errorf("%s has an action at the unknown event %q", u, a.Event)
			}
			if len(arguments) == 0 || arguments[0].URN != u || arguments[0].Type != a.Function {
				return fmt.Errorf("%s has an action %q without arguments", u, a.Name)
			}
			p.Resources[u].Actions = append(p.Resources[u].Actions, PlannedAction{
				Kind: kind, Name: a.Name, Function: a.Function, Provider: a.Provider, Arguments: arguments[0].Inputs,
			})
			arguments = arguments[1:]
		}
	}
	if len(arguments) > 0 {
		return fmt.Errorf("arguments of %s without an action", arguments[0].URN)
	}
	return nil
}

// planning holds an update to a plan, and makes the plan of a preview.
type planning struct {
	plan *Plan // to keep to, nil for none

	mu    sync.Mutex
	draft *Plan // of a preview, nil if nobody wants it
}

// newPlanning is for updates and their previews.
func newPlanning(d settings, dryRun bool) (*planning, error) {
	p := &planning{plan: d.Plan}
	if d.DraftPlan && dryRun {
		p.draft = &Plan{Project: d.Project, Stack: d.Stack, Resources: make(map[urn.URN]*PlannedResource)}
	}
	if p.plan != nil && (p.plan.Project != d.Project || p.plan.Stack != d.Stack) {
		return p, fmt.Errorf("the plan is for the stack %s/%s, not for %s/%s", p.plan.Project, p.plan.Stack, d.Project, d.Stack)
	}
	return p, nil
}

// drafts reports whether a plan is made.
func (p *planning) drafts() bool { return p.draft != nil }

// drafted returns the draft's entry of a resource. The caller holds the lock.
func (p *planning) drafted(u urn.URN) *PlannedResource {
	r := p.draft.Resources[u]
	if r == nil {
		r = &PlannedResource{}
		p.draft.Resources[u] = r
	}
	return r
}

// seed returns the seed of random parts of a resource's inputs: the same in an update as in the preview
// that planned it.
func (p *planning) seed(u urn.URN) []byte {
	if p.plan != nil {
		if r := p.plan.Resources[u]; r != nil && len(r.Seed) > 0 {
			return r.Seed
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.draft != nil {
		if r := p.drafted(u); len(r.Seed) > 0 {
			return r.Seed
		}
	}
	seed := newSeed()
	if p.draft != nil {
		p.drafted(u).Seed = seed
	}
	return seed
}

// registration holds a registration and its steps to the plan. No step was taken yet. n is its goal, nil if that is not known,
// and inputs are the program's.
func (p *planning) registration(d *deployment, n *state.Resource, inputs property.Map, steps []*step) error {
	if n == nil {
		return nil
	}
	steps = withAlong(steps)
	if p.plan != nil {
		actual := n
		if r := p.plan.Resources[n.URN]; r != nil && r.Unchecked {
			actual = clone(n)
			actual.Inputs = inputs
		}
		if err := p.plan.Resources[n.URN].checkGoal(actual); err != nil {
			return err
		}
		var errs []error
		for _, s := range steps {
			u := s.subject().URN
			errs = append(errs, p.plan.Resources[u].checkStep(u, s.op))
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.draft == nil {
		return nil
	}
	goal := clone(n) // the step fills in its findings
	goal.Outputs = property.Map{}
	if unchecked, ok := d.registrations.Unchecked.Lookup(n.URN); ok {
		goal.Inputs, p.drafted(n.URN).Unchecked = unchecked, true
	}
	p.drafted(n.URN).Goal = goal
	for _, s := range steps {
		r := p.drafted(s.subject().URN)
		r.Steps = append(r.Steps, s.op)
	}
	return nil
}

// withAlong returns steps, and the steps that go along with them.
func withAlong(steps []*step) []*step {
	var out []*step
	for _, s := range steps {
		out = append(append(out, s.along...), s)
	}
	return out
}

// outputs holds the outputs of a component or of the stack to the plan.
func (p *planning) outputs(u urn.URN, outputs property.Map) error {
	if p.plan != nil {
		if r := p.plan.Resources[u]; r != nil && r.Goal != nil {
			if err := checkProperties(u, "outputs", outputs, r.Goal.Outputs); err != nil {
				return err
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.draft != nil {
		if r := p.drafted(u); r.Goal != nil {
			r.Goal.Outputs = outputs
		}
	}
	return nil
}

// deletions holds the deletions after the program to the plan. A planned deletion of a resource that is already gone does not
// deviate.
func (p *planning) deletions(d *deployment, going []*state.Resource) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	gone := make(map[urn.URN]bool)
	var errs []error
	for _, res := range going {
		op := deletion(res)
		gone[res.URN] = true
		if p.plan != nil {
			errs = append(errs, p.plan.Resources[res.URN].checkStep(res.URN, op))
		}
		if p.draft != nil {
			r := p.drafted(res.URN)
			r.Steps = append(r.Steps, op)
		}
	}
	if p.plan == nil {
		return nil
	}
	for _, u := range slices.Sorted(maps.Keys(p.plan.Resources)) {
		r := p.plan.Resources[u]
		switch {
		case gone[u]: // see above
		case r.Goal != nil && !d.registrations.IsRegistered(u):
			errs = append(errs, &PlanError{URN: u, Part: "registration", Actual: none, Planned: cmp.Or(join(r.Steps), none)})
		case r.Goal == nil && len(r.Steps) > 0 && d.recorder.Lookup(u) != nil && !d.registrations.DeletedEarly.Has(u):
			errs = append(errs, &PlanError{URN: u, Part: "step", Actual: none, Planned: join(r.Steps)})
		}
	}
	return errors.Join(errs...)
}
