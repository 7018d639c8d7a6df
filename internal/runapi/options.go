package runapi

import (
	"fmt"
	"slices"
	"strings"
)

// forwarded are the flags of operations that a run elsewhere can have. Others name files of the user's machine, or are about
// its terminal, or would have a worker allow what its operator has not.
var forwarded = map[string][]string{
	"": {
		"target", "target-dependents", "exclude", "exclude-dependents", "exclude-protected", "diff", "timings", "parallel", "verbose", "log-level",
		"refresh", "run-program", "installed", "trust-module", "continue-on-error", "ignore-protect",
	},
	"up":      {"replace", "target-replace", "update-on-import", "stop-on-pending", "legacy-diff"},
	"preview": {"replace", "target-replace", "update-on-import", "stop-on-pending", "legacy-diff"},
	"destroy": {"preview-only"},
	"refresh": {"preview-only", "clear-pending-creates", "adopt-pending-creates"},
}

// CheckOption returns an error for an option that a run elsewhere cannot have. It is written as --flag or --flag=value.
func CheckOption(operation, option string) error {
	name, _, _ := strings.Cut(option, "=")
	flag, ok := strings.CutPrefix(name, "--")
	if !ok || !slices.Contains(forwarded[""], flag) && !slices.Contains(forwarded[operation], flag) {
		return fmt.Errorf("a run on a server cannot have the option %s: it is about this machine, or not of the operation %s", name, operation)
	}
	return nil
}
