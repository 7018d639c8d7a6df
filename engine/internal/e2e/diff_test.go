package e2e_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/internal/enginetest"
)

// A module's diff decides what becomes of a resource, and what of it a preview knows,
// whether it tells paths or keys.
func TestDiffsReachTheEngine(t *testing.T) {
	loader := loadModules(t)
	some := abi.DiffChangesSome
	update, replace := []string{"update it"}, []string{"create-replacement it", "delete-replaced it"}
	path := func(path string, kind abi.DiffKind, input bool) abi.DiffResponse {
		return abi.DiffResponse{Changes: some, DetailedDiff: []abi.PropertyDiff{{Path: path, Kind: kind, InputDiff: input}}}
	}
	change := func(path, kind string, replaces bool, old, new string) []engine.PropertyChange {
		return []engine.PropertyChange{{Path: path, Kind: kind, Replaces: replaces, Old: old, New: new}}
	}
	for _, test := range []struct {
		name    string
		answer  abi.DiffResponse
		steps   []string
		changes []engine.PropertyChange
		// known is whether a preview knows the output left, which no preview answers.
		known bool
	}{
		{name: "none", answer: abi.DiffResponse{Changes: abi.DiffChangesNone}, known: true},
		{name: "some, of the inputs", answer: abi.DiffResponse{Changes: some}, steps: update, changes: change("value", "update", false, `"one"`, `"two"`)},
		{name: "unknown, so that the inputs decide", answer: abi.DiffResponse{}, steps: update, changes: change("value", "update", false, `"one"`, `"two"`)},
		{name: "add", answer: path("value", abi.DiffKindAdd, true), steps: update, changes: change("value", "add", false, "", `"two"`)},
		{name: "delete", answer: path("value", abi.DiffKindDelete, true), steps: update, changes: change("value", "delete", false, `"one"`, "")},
		{name: "update of an input", answer: path("left", abi.DiffKindUpdate, true), steps: update, changes: change("left", "update", false, `"given"`, `"given"`)},
		{name: "update of the state", answer: path("left", abi.DiffKindUpdate, false), steps: update, changes: change("left", "update", false, `"as made"`, `"given"`)},
		{name: "add-replace", answer: path("value", abi.DiffKindAddReplace, true), steps: replace, changes: change("value", "add", true, "", `"two"`)},
		{name: "delete-replace", answer: path("value", abi.DiffKindDeleteReplace, true), steps: replace, changes: change("value", "delete", true, `"one"`, "")},
		{name: "update-replace", answer: path("value", abi.DiffKindUpdateReplace, true), steps: replace, changes: change("value", "update", true, `"one"`, `"two"`)},
		{
			name:    "delete before replace",
			answer:  abi.DiffResponse{Changes: some, ReplaceKeys: []string{"value"}, DeleteBeforeReplace: true},
			steps:   []string{"delete-replaced it", "create-replacement it"},
			changes: change("value", "update", true, `"one"`, `"two"`),
		},
		{name: "replace keys", answer: abi.DiffResponse{Changes: some, ReplaceKeys: []string{"value"}}, steps: replace, changes: change("value", "update", true, `"one"`, `"two"`)},
		{name: "changed keys", answer: abi.DiffResponse{Changes: some, ChangedKeys: []string{"value"}}, steps: update, changes: change("value", "update", false, `"one"`, `"two"`)},
		{name: "changed keys of the state", answer: abi.DiffResponse{Changes: some, ChangedKeys: []string{"left"}}, steps: update, changes: change("left", "update", false, `"as made"`, `"given"`)},
		{
			name:   "stable keys",
			answer: abi.DiffResponse{Changes: some, ChangedKeys: []string{"value"}, StableKeys: []string{"left"}},
			steps:  update, changes: change("value", "update", false, `"one"`, `"two"`), known: true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			stack := enginetest.NewStack(t, nil)
			stack.Edit = func(d *enginetest.Deployment) { d.Providers = loader }
			answer, err := json.Marshal(test.answer)
			require.NoError(t, err)
			var left property.Value
			with := func(value string) enginetest.Program {
				return func(p *enginetest.Run) error {
					kit, err := asEcho(p)
					if err != nil {
						return err
					}
					it, err := p.Custom(echoType, "it", enginetest.Props("value", value, "left", "given", "differs", string(answer)), kit)
					left = it.State.Get("left")
					return err
				}
			}
			stack.Up(with("one"))
			stack.Preview(with("two"))
			if len(test.steps) < 2 { // what replaces has nothing of what was
				require.Equal(t, test.known, !left.IsUnknown())
			}
			stack.Up(with("two"))
			require.Equal(t, test.steps, stack.Steps())
			if test.steps != nil {
				require.Equal(t, test.changes, changesOf(stack))
			}
		})
	}
}

// changesOf are those that the last operation showed first.
func changesOf(stack *enginetest.Stack) []engine.PropertyChange {
	for _, e := range stack.Events() {
		if done, ok := e.(engine.StepDone); ok && len(done.Step.Diff) > 0 {
			return done.Step.Diff
		}
	}
	return nil
}
