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
		"work on this resource alone: a URN, or a pattern in which * stands for text without a colon and ** for any; can be repeated")
	flags.BoolVar(&s.targetDependents, "target-dependents", false, "work on what depends on the targets as well")
	flags.StringArrayVar(&s.excludes, "exclude", nil, "leave this resource, or those of a pattern, alone; can be repeated")
	flags.BoolVar(&s.excludeDependents, "exclude-dependents", false, "leave what depends on the excluded resources alone as well")
}

// addReplace adds the flags of commands that can replace resources.
func (s *selectionFlags) addReplace(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&s.replace, "replace", nil,
		"replace this resource, or those of a pattern, though nothing of them changed; can be repeated")
	cmd.Flags().StringArrayVar(&s.targetReplace, "target-replace", nil, "the same, and work on it alone: --target and --replace in one")
}

// addExcludeProtected adds the flag of the command that deletes everything.
func (s *selectionFlags) addExcludeProtected(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.excludeProtected, "exclude-protected", false,
		"leave protected resources, and what they depend on, instead of failing on them")
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
		return usagef("a command takes either --target or --exclude")
	case s.targetDependents && len(s.selection.Targets) == 0:
		return usagef("--target-dependents says what else to work on, and needs --target")
	case s.excludeDependents && len(excludes) == 0:
		return usagef("--exclude-dependents says what else to leave alone, and needs --exclude")
	}
	return nil
}

// patterns checks what a flag was given: a pattern, or else a URN.
func patterns(flag string, texts []string) ([]engine.Pattern, error) {
	var out []engine.Pattern
	for _, text := range texts {
		if !strings.Contains(text, "*") {
			if _, err := urn.Parse(text); err != nil {
				return nil, usagef("--%s %s: neither a URN, which husk state ls lists, nor a pattern: '**::%s' goes by the name", flag, text, text)
			}
		}
		out = append(out, engine.Pattern(text))
	}
	return out, nil
}
