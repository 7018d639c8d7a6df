package model_test

import (
	"errors"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
	"github.com/husk-dev/husk/engine/state"
)

// narrow reports whether the act is about some of the resources.
func (a act) narrow() bool { return len(a.Targets)+len(a.Excludes) > 0 }

func (a act) selection() engine.Selection {
	patterns := func(names []string) (out []engine.Pattern) {
		for _, name := range names {
			out = append(out, engine.Pattern("**::"+name))
		}
		return out
	}
	return engine.Selection{
		Targets: patterns(a.Targets), TargetDependents: a.Dependents && len(a.Targets) > 0,
		Excludes: patterns(a.Excludes), ExcludeDependents: a.Dependents && len(a.Excludes) > 0,
	}
}

// narrowed does an act on some of the resources. A preview tells what is done, and
// whether the selection lacks something, which is all that can be wrong with it. What is
// not selected stays.
func (m *model) narrowed(a act, program enginetest.Program) {
	previews := map[string]enginetest.Operation{"up": enginetest.Preview, "refresh": enginetest.PreviewRefresh, "destroy": enginetest.PreviewDestroy}
	operations := map[string]enginetest.Operation{"up": enginetest.Up, "refresh": enginetest.Refresh, "destroy": enginetest.Destroy}
	before := m.Snapshot()
	m.also(func(d *enginetest.Deployment) { d.DraftPlan = true })
	result, foreseen := m.Try(previews[a.Do], program)
	planned := m.Steps()
	if result.Plan != nil {
		plan, _ := m.Reread(result.Plan)
		m.also(func(d *enginetest.Deployment) { d.Plan = plan })
	}
	_, err := m.Try(operations[a.Do], program)
	require.Equal(m.t, foreseen == nil, err == nil, "a preview tells what the selection lacks: %v, %v", foreseen, err)
	if err == nil {
		require.ElementsMatch(m.t, planned, m.Steps(), "a preview tells what is done")
	} else {
		requireMistaken(m.t, err)
		requireMistaken(m.t, foreseen)
	}
	after, moved := make(map[urn.URN]*state.Resource), make(map[string]*state.Resource)
	for _, res := range m.Snapshot().Resources() {
		if !res.Delete {
			after[res.URN], moved[res.ID] = res, res
		}
	}
	for _, old := range before.Resources() {
		if !a.leaves(old) {
			continue
		}
		now := after[old.URN]
		if now == nil {
			now = moved[old.ID]
		}
		require.NotNil(m.t, now, "%s is gone, and was not selected", old.URN)
		require.Equal(m.t, []any{old.ID, old.Inputs, old.Outputs}, []any{now.ID, now.Inputs, now.Outputs}, "%s was not selected", old.URN)
	}
}

// requireMistaken requires that nothing went wrong but that the selection is mistaken.
func requireMistaken(t require.TestingT, err error) {
	_, lacking := errors.AsType[*engine.NotSelectedError](err)
	_, unknown := errors.AsType[*engine.TargetNotFoundError](err)
	require.True(t, lacking || unknown || strings.Contains(err.Error(), "protected"), "%v", err)
}

// leaves reports whether the act surely leaves a recorded resource alone. Of those that
// get a new name, or that depend on others, it may not.
func (a act) leaves(old *state.Resource) bool {
	name := old.URN.Name()
	renamed := slices.ContainsFunc(a.Program.Resources, func(r modelResource) bool { return r.Alias == name })
	if !old.Custom || old.Delete || old.PendingReplacement || old.IsProvider() || old.External || renamed {
		return false
	}
	if len(a.Targets) > 0 {
		return !a.Dependents && !slices.Contains(a.Targets, name)
	}
	return slices.Contains(a.Excludes, name)
}
