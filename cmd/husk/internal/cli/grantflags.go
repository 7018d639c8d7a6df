package cli

import (
	"github.com/spf13/pflag"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/kvstore"
	"github.com/husk-dev/husk/internal/plugins"
)

// ParseGrants reads KIND=SCOPE. Directories are relative to dir. anyHost permits a grant of all hosts.
func ParseGrants(dir string, anyHost bool, texts []string) (host.Grants, error) {
	var g host.Grants
	place := grant.Place{Dir: dir, Store: func() (abi.KV, error) { return kvstore.New(), nil }, AnyHost: anyHost}
	for _, text := range texts {
		written, err := grant.ParseFlag(text)
		if err == nil {
			err = g.Add(written, place)
		}
		if err != nil {
			return g, Usagef("--grant %s: %w", text, err)
		}
	}
	return g, nil
}

// AddLimits adds the flag of all commands that run providers.
func (a *App) AddLimits(flags *pflag.FlagSet) {
	flags.Var(Repeated(&a.limits), "limit",
		"set a limit for all providers or for one, overriding the project: NAME=VALUE or PROVIDER:NAME=VALUE, such as memory=512MiB or time=2h; can be repeated")
}

// LimitTexts returns the values of --limit, once [App.GivenLimits] has read them.
func (a *App) LimitTexts() []string { return a.limits }

// GivenLimits returns the limits of the flags.
func (a *App) GivenLimits() ([]plugins.Limit, error) {
	limits, err := plugins.ParseLimits(a.limits)
	if err != nil {
		return nil, Usagef("--%w", err)
	}
	return limits, nil
}
