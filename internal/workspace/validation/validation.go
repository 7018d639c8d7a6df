// Package validation checks a project as a preview does, without the state, the lock, and the secrets of a stack.
package validation

import (
	"context"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/budget"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/engine/program/yamlprogram"
	"github.com/husk-dev/husk/engine/state"
)

// Check returns all that is wrong with the program of a project for a stack, which need not exist. Encrypted values of its
// configuration stay closed, and values that are not set may be any. limits bound the evaluation.
//
// The error is about the stack's configuration file, or the context's.
func Check(ctx context.Context, project *program.Project, stack string, schemas yamlprogram.Schemas, limits budget.Limits) (source.Diagnostics, error) {
	stackConfig, err := project.StackConfig(stack)
	if err != nil {
		return nil, err
	}
	found, misfits := stackConfig.Check()
	run := abi.RunContext{Project: project.Name, Stack: stack, Organization: state.Organization, DryRun: true}
	var unknown []string
	closed := func(string) (string, error) { return "", nil }
	for _, key := range stackConfig.Keys() {
		text, secret, err := stackConfig.Text(key, closed)
		switch {
		case err != nil:
			return nil, err
		case secret, slices.Contains(misfits, key):
			unknown = append(unknown, key)
		default:
			run.Config = append(run.Config, abi.ConfigEntry{Key: key, Value: text})
		}
	}
	checked := yamlprogram.New(project, schemas)
	checked.Limit(limits)
	ds, err := checked.Validate(ctx, run, unknown)
	return append(append(ds, found...), project.Warnings...).Sorted(), err
}
