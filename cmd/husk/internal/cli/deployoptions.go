package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/analysis"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/plugins"
)

// deployOptions are the flags that change what a deployment does.
type deployOptions struct {
	selectionFlags
	continueOnError, ignoreProtect, updateOnImport, legacyDiff, runProgram bool
	clearPendingCreates, stopOnPending                                     bool
	adopt                                                                  []string
	// adopted is what parse made of adopt.
	adopted map[urn.URN]string
}

// addUpdate adds the flags of commands that update resources.
func (o *deployOptions) addUpdate(cmd *cobra.Command) {
	o.addFailures(cmd)
	o.addReplace(cmd)
	cmd.Flags().BoolVar(&o.updateOnImport, "update-on-import", false,
		"update an imported resource that differs from the program, instead of failing")
	cmd.Flags().BoolVar(&o.stopOnPending, "stop-on-pending", false,
		"fail if an earlier run was interrupted while it created resources")
	cmd.Flags().BoolVar(&o.legacyDiff, "legacy-diff", false, "call Diff of providers only if inputs changed")
}

// addFailures adds the flags of commands that delete resources.
func (o *deployOptions) addFailures(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.continueOnError, "continue-on-error", false, "after a failure, continue with resources that do not depend on the failed one")
	cmd.Flags().BoolVar(&o.ignoreProtect, "ignore-protect", false, "delete and replace protected resources as well")
}

// addRunProgram adds the flag of commands that work without the program.
func (o *deployOptions) addRunProgram(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.runProgram, "run-program", false,
		"run the program, so that providers get their current configuration")
}

// addPending adds the flags about creations that were cut off.
func (o *deployOptions) addPending(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.clearPendingCreates, "clear-pending-creates", false,
		"forget creations that an earlier run did not finish (first check what they created)")
	cmd.Flags().StringArrayVar(&o.adopt, "adopt-pending-creates", nil,
		"adopt the object of a creation that an earlier run did not finish: URN=ID; can be repeated")
}

// parse reads the flags that are more than words.
func (o *deployOptions) parse() error {
	o.adopted = make(map[urn.URN]string)
	for _, text := range o.adopt {
		i := strings.LastIndex(text, "=")
		if i < 0 || i == len(text)-1 {
			return usagef("--adopt-pending-creates %s: must have the form <urn>=<id>", text)
		}
		u, err := urn.Parse(text[:i])
		if err != nil {
			return usagef("--adopt-pending-creates: %v", err)
		}
		o.adopted[u] = text[i+1:]
	}
	return o.selectionFlags.parse()
}

// up makes an update of the flags.
func (f *deployFlags) up(ctx context.Context, o *opened) (engine.Up, error) {
	policies, err := f.policies.open(ctx, o.Plugins)
	return engine.Up{
		Program: o.Program, Policies: policies, RefreshFirst: f.refreshesFirst(o), ContinueOnError: f.continueOnError,
		Selection: f.selection, Replace: f.replaced, IgnoreProtect: f.ignoreProtect, LegacyDiff: f.legacyDiff,
		UpdateOnImport: f.updateOnImport, StopOnPending: f.stopOnPending,
	}, err
}

func (f *deployFlags) refreshing(_ context.Context, o *opened) (engine.Operation, error) {
	return engine.Refresh{
		Program: o.Program, Selection: f.selection, ClearPendingCreates: f.clearPendingCreates, AdoptPendingCreates: f.adopted,
	}, nil
}

func (f *deployFlags) destroying(_ context.Context, o *opened) (engine.Operation, error) {
	return engine.Destroy{
		Program: o.Program, RefreshFirst: f.refreshesFirst(o), ContinueOnError: f.continueOnError,
		Selection: f.selection, IgnoreProtect: f.ignoreProtect,
	}, nil
}

func (f *deployFlags) refreshesFirst(o *opened) bool { return f.refreshes(o.Workspace.Project) }

// selectionFlags are those that narrow a deployment to some of the resources.
type selectionFlags struct {
	targets, excludes, replace, targetReplace             []string
	targetDependents, excludeDependents, excludeProtected bool

	// What parse makes of them.
	selection engine.Selection
	replaced  []engine.Pattern
}

// addSelection adds the flags of all commands that run the engine.
func (s *selectionFlags) addSelection(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&s.targets, "target", "t", nil,
		"deploy only this resource: a URN, or a pattern (* matches text without a colon, ** any text); can be repeated")
	flags.BoolVar(&s.targetDependents, "target-dependents", false, "also deploy what depends on the targets")
	flags.StringArrayVar(&s.excludes, "exclude", nil, "skip this resource, or those that match a pattern; can be repeated")
	flags.BoolVar(&s.excludeDependents, "exclude-dependents", false, "also skip what depends on the excluded resources")
}

// addReplace adds the flags of commands that can replace resources.
func (s *selectionFlags) addReplace(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&s.replace, "replace", nil,
		"replace this resource, or those that match a pattern, even if unchanged; can be repeated")
	cmd.Flags().StringArrayVar(&s.targetReplace, "target-replace", nil, "short for --target and --replace with the same value")
}

// addExcludeProtected adds the flag of the command that deletes everything.
func (s *selectionFlags) addExcludeProtected(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.excludeProtected, "exclude-protected", false,
		"skip protected resources, and what they depend on, instead of failing")
}

// parse reads the flags.
func (s *selectionFlags) parse() error {
	targets, err := patterns("target", s.targets)
	if err != nil {
		return err
	}
	both, err := patterns("target-replace", s.targetReplace)
	if err != nil {
		return err
	}
	replace, err := patterns("replace", s.replace)
	if err != nil {
		return err
	}
	excludes, err := patterns("exclude", s.excludes)
	if err != nil {
		return err
	}
	s.replaced = append(replace, both...)
	s.selection = engine.Selection{
		Targets: append(targets, both...), TargetDependents: s.targetDependents,
		Excludes: excludes, ExcludeDependents: s.excludeDependents, ExcludeProtected: s.excludeProtected,
	}
	switch {
	case len(s.selection.Targets) > 0 && len(excludes) > 0:
		return usagef("--target and --exclude exclude each other")
	case s.targetDependents && len(s.selection.Targets) == 0:
		return usagef("--target-dependents requires --target")
	case s.excludeDependents && len(excludes) == 0:
		return usagef("--exclude-dependents requires --exclude")
	}
	return nil
}

// patterns checks what a flag was given: a pattern, or else a URN.
func patterns(flag string, texts []string) ([]engine.Pattern, error) {
	var out []engine.Pattern
	for _, text := range texts {
		if !strings.Contains(text, "*") {
			if _, err := urn.Parse(text); err != nil {
				return nil, usagef("--%s %s: neither a URN (husk state ls lists them) nor a pattern: '**::%s' matches the name", flag, text, text)
			}
		}
		out = append(out, engine.Pattern(text))
	}
	return out, nil
}

// policyFlags name policy packs beside those that the project lists. They are Pulumi's.
type policyFlags struct{ packs, configs []string }

func (f *policyFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.packs, "policy-pack", nil,
		"check resources with this policy pack, a .wasm file or a directory of Go source; can be repeated")
	cmd.Flags().StringArrayVar(&f.configs, "policy-pack-config", nil,
		"the configuration of a policy pack, a JSON or YAML file: the first is for the first --policy-pack, and so on")
}

// open opens the policy packs of the project and of the flags.
func (f *policyFlags) open(ctx context.Context, p *plugins.Plugins) ([]analysis.Pack, error) {
	if len(f.configs) > 0 && len(f.configs) != len(f.packs) {
		return nil, usagef("%d --policy-pack and %d --policy-pack-config: give one configuration for each pack, or none",
			len(f.packs), len(f.configs))
	}
	packs := make([]program.PolicyPack, len(f.packs))
	for i, path := range f.packs {
		packs[i].Path = path
		if len(f.configs) == 0 {
			continue
		}
		settings, err := program.ReadPolicySettings(f.configs[i])
		if err != nil {
			return nil, err
		}
		packs[i].Settings = settings
	}
	return p.Policies(ctx, packs)
}
