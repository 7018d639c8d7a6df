package enginetest

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine"
)

// OptionsOf sets options of a resource.
type OptionsOf = func(*abi.ResourceOptions)

// AliasName returns an earlier name of a resource.
func AliasName(name string) abi.Alias {
	return abi.Alias{Case: abi.AliasCaseSpec, Spec: abi.AliasSpec{Name: name}}
}

// Aliased gives a resource aliases.
func Aliased(aliases ...abi.Alias) func(*abi.ResourceOptions) {
	return func(o *abi.ResourceOptions) { o.Aliases = aliases }
}

// MustText returns the text of a value, empty if it is none.
func MustText(v property.Value) string {
	s, _ := v.AsString()
	return s
}

// Targeting is an option of [Stack].Edit.
func Targeting(sel engine.Selection) func(*Deployment) {
	return func(d *Deployment) { d.Selection = sel }
}

// JSONOf returns a value as JSON.
func JSONOf(t *testing.T, v any) string {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

// ReplacedByRegion makes the provider's region its identity.
func ReplacedByRegion(req abi.DiffRequest) (abi.DiffResponse, error) {
	if req.OldInputs.Get("region").Equal(req.News.Get("region")) {
		return abi.DiffResponse{Changes: abi.DiffChangesUnknown}, nil
	}
	return abi.DiffResponse{Changes: abi.DiffChangesSome, ReplaceKeys: []string{"region"}}, nil
}

// Failing has calls of the cloud fail.
func Failing(s *Stack, calls ...string) {
	s.Cloud.Hook = func(call string) error {
		if slices.Contains(calls, call) {
			return errors.New("no luck")
		}
		return nil
	}
}

// Reasons returns why the last operation replaced each resource.
func Reasons(s *Stack) map[string]string {
	out := make(map[string]string)
	for _, e := range s.Events() {
		if done, ok := e.(engine.StepDone); ok && done.Step.Op == engine.OpCreateReplacement {
			out[done.Step.Name] = done.Step.Reason
		}
	}
	return out
}

// ReferenceTo returns a reference to a resource.
func ReferenceTo(r Resource, custom bool) property.Value {
	return property.Reference(property.ResourceReference{
		URN: string(r.URN), HasID: custom, ID: r.ID, PackageVersion: "1.0.0",
	})
}
