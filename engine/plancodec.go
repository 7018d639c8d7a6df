package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/jsonerror"
)

// planVersion is that of the files that [Plan.Encode] writes.
const planVersion = 1

// planFile is a plan as JSON. Goals are resources in the JSON of an exported state, since
// they are of the same kind and have the same secrets.
type planFile struct {
	Version   int                             `json:"version"`
	Project   string                          `json:"project"`
	Stack     string                          `json:"stack"`
	Resources map[urn.URN]plannedResourceFile `json:"resources"`
	Goals     json.RawMessage                 `json:"goals"`
}

type plannedResourceFile struct {
	Steps []Op `json:"steps,omitempty"`
	// Seed is in base64.
	Seed []byte `json:"seed,omitempty"`
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
	for u, r := range p.Resources {
		file.Resources[u] = plannedResourceFile{Steps: r.Steps, Seed: r.Seed}
		if r.Goal != nil {
			goals = append(goals, r.Goal)
		}
	}
	slices.SortFunc(goals, func(a, b *state.Resource) int { return bytes.Compare([]byte(a.URN), []byte(b.URN)) })
	var err error
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
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("not a plan: %w", jsonerror.Explain(data, err))
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
		p.Resources[u] = &PlannedResource{Steps: r.Steps, Seed: r.Seed}
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
