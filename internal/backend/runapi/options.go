package runapi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// forwarded are the flags of operations that a run elsewhere can have. Others name files of the user's machine, or are about
// its terminal, or would have a worker allow what its operator has not.
var forwarded = map[string][]string{
	"": {
		"target", "target-dependents", "exclude", "exclude-dependents", "exclude-protected", "diff", "timings", "parallel", "verbose", "log-level",
		"refresh", "run-program", "install-dependencies", "installed", "trust-module", "continue-on-error", "ignore-protect",
	},
	"up":      {"skip-preview", "replace", "target-replace", "update-on-import", "stop-on-pending", "legacy-diff"},
	"preview": {"replace", "target-replace", "update-on-import", "stop-on-pending", "legacy-diff"},
	"destroy": {"skip-preview", "preview-only"},
	"refresh": {"skip-preview", "preview-only", "clear-pending-creates", "adopt-pending-creates"},
}

// CheckOption returns an error for an option that a run elsewhere cannot have. It is written as --flag or --flag=value.
func CheckOption(operation, option string) error {
	name, _, _ := strings.Cut(option, "=")
	flag, ok := strings.CutPrefix(name, "--")
	if !ok || !slices.Contains(forwarded[""], flag) && !slices.Contains(forwarded[operation], flag) {
		return fmt.Errorf("a run on a server cannot have the option %s: it is about this machine, or not of the operation %s", name, operation)
	}
	if _, err := previewOnly(option, false); err != nil {
		return err
	}
	return nil
}

// Changes reports whether a run may change something.
func (n *NewRun) Changes() bool {
	if n.Operation == "preview" {
		return false
	}
	only := false
	for _, option := range n.Options {
		var err error
		if only, err = previewOnly(option, only); err != nil {
			return true // there is none with such an option
		}
	}
	return !only
}

// previewOnly returns whether a run previews only, by an option and those before it. It reads the option as the command line does.
func previewOnly(option string, before bool) (bool, error) {
	name, value, given := strings.Cut(option, "=")
	if name != "--preview-only" {
		return before, nil
	}
	if !given {
		return true, nil
	}
	is, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("the option %.80q is neither true nor false", option)
	}
	return is, nil
}
