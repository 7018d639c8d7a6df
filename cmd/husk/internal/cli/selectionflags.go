package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
)

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
