package cli

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/kvstore"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/workspace"
)

// parseGrants reads KIND=SCOPE. Directories are relative to dir. anyHost permits a grant of all hosts.
func parseGrants(dir string, anyHost bool, texts []string) (host.Grants, error) {
	var g host.Grants
	place := grant.Place{Dir: dir, Store: func() (abi.KV, error) { return kvstore.New(), nil }, AnyHost: anyHost}
	for _, text := range texts {
		written, err := grant.ParseFlag(text)
		if err == nil {
			err = g.Add(written, place)
		}
		if err != nil {
			return g, usagef("--grant %s: %w", text, err)
		}
	}
	return g, nil
}

// grantsIn reads PROVIDER:KIND=SCOPE, by provider. Directories are relative to the project's, even if
// there is no project file.
func (f *deployFlags) grantsIn(w *workspace.Workspace) (map[string]host.Grants, error) {
	texts := make(map[string][]string)
	for _, text := range f.grants {
		provider, grant, ok := strings.Cut(text, ":")
		if !ok || provider == "" || strings.Contains(provider, "=") {
			return nil, usagef("--grant %s: must begin with the name of a provider, as in local:fs=public:rw", text)
		}
		texts[provider] = append(texts[provider], grant)
	}
	grants := make(map[string]host.Grants, len(texts))
	for provider, texts := range texts {
		g, err := parseGrants(w.Project.Dir, f.learned != "", texts)
		if err != nil {
			return nil, err
		}
		grants[provider] = g
	}
	return grants, nil
}

// withheld returns the files of flags that no grant of a directory above them covers.
func (f *deployFlags) withheld() []string {
	all := slices.Concat(f.policyPacks, f.policyConfigs)
	for _, file := range []string{f.auditLog, f.learned} {
		if file != "" {
			all = append(all, file)
		}
	}
	return all
}

// addLimits adds the flag of all commands that run providers.
func (a *app) addLimits(flags *pflag.FlagSet) {
	flags.StringArrayVar(&a.limits, "limit", nil,
		"set a limit for all providers or for one, overriding the project: NAME=VALUE or PROVIDER:NAME=VALUE, such as memory=512MiB or time=2h; can be repeated")
}

func (a *app) givenLimits() ([]plugins.Limit, error) {
	limits, err := plugins.ParseLimits(a.limits)
	if err != nil {
		return nil, usagef("--%w", err)
	}
	return limits, nil
}
