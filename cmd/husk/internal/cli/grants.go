package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/cmd/husk/internal/plugins"
	"github.com/husk-dev/husk/cmd/husk/internal/workspace"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/host"
)

// parseGrants reads KIND=WHAT. Directories are relative to dir.
func parseGrants(dir string, texts []string) (host.Grants, error) {
	var g host.Grants
	for _, text := range texts {
		kind, what, ok := strings.Cut(text, "=")
		if kind == "kv" && !ok {
			g.KV = host.NewStore()
			continue
		}
		if !ok || what == "" {
			return g, usagef("--grant %s: it is to be fs=DIR:rw, fs=DIR, env=NAME, http=URL, tcp=HOST:PORT, or kv", text)
		}
		switch kind {
		case "fs":
			granted, writable := strings.CutSuffix(what, ":rw")
			if !writable {
				granted = strings.TrimSuffix(what, ":ro")
			}
			grant, err := host.ProjectGrant(dir, granted, writable)
			if err != nil {
				return g, fmt.Errorf("--grant %s: %w", text, err)
			}
			g.FS = append(g.FS, grant)
		case "env":
			g.Env = append(g.Env, what)
		case "http":
			grant, err := host.ParseHTTPGrant(what)
			if err != nil {
				return g, usagef("--grant %s: %w", text, err)
			}
			g.HTTP = append(g.HTTP, grant)
		case "tcp":
			grant, err := host.ParseTCPGrant(what)
			if err != nil {
				return g, usagef("--grant %s: %w", text, err)
			}
			g.TCP = append(g.TCP, grant)
		default:
			return g, usagef("--grant %s: there is no capability %q; there are fs, env, http, tcp, and kv", text, kind)
		}
	}
	return g, nil
}

// grantsIn reads PROVIDER:KIND=WHAT, by provider. Directories are relative to the
// project's, whether or not there is a project file.
func (f *deployFlags) grantsIn(w *workspace.Workspace) (map[string]host.Grants, error) {
	texts := make(map[string][]string)
	for _, text := range f.grants {
		provider, grant, ok := strings.Cut(text, ":")
		if !ok || provider == "" || strings.Contains(provider, "=") {
			return nil, usagef("--grant %s: it is to begin with the provider that is meant, as in local:fs=public:rw", text)
		}
		texts[provider] = append(texts[provider], grant)
	}
	grants := make(map[string]host.Grants, len(texts))
	for provider, texts := range texts {
		g, err := parseGrants(w.Project.Dir, texts)
		if err != nil {
			return nil, err
		}
		grants[provider] = g
	}
	return grants, nil
}

// withheld are the files that no provider is to read or change because it was granted a
// directory above them: those of the workspace, those that the flags name, and the user's own: keys,
// passphrases, and which modules are trusted.
func (f *deployFlags) withheld(w *workspace.Workspace) []string {
	all := slices.Concat(w.OwnFiles(), f.policies.packs, f.policies.configs, secrets.SystemKeys(nil).Files(), plugins.UserFiles())
	if f.auditLog != "" {
		all = append(all, f.auditLog)
	}
	return all
}
