package cli

import (
	"github.com/spf13/pflag"

	"github.com/husk-dev/husk/internal/plugins"
)

// addLimits adds the flag of all commands that run providers.
func (a *app) addLimits(flags *pflag.FlagSet) {
	flags.StringArrayVar(&a.limits, "limit", nil,
		"set a limit for all providers or for one, overriding the project: NAME=VALUE or PROVIDER:NAME=VALUE, such as memory=512MiB or time=2h; can be repeated")
}

// givenLimits reads the flag.
func (a *app) givenLimits() ([]plugins.Limit, error) {
	limits := make([]plugins.Limit, len(a.limits))
	for i, text := range a.limits {
		var err error
		if limits[i], err = plugins.ParseLimit(text); err != nil {
			return nil, usagef("--limit %s: %w", text, err)
		}
	}
	return limits, nil
}
