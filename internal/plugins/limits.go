package plugins

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/budget"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/limit"
)

// Limit is a limit that the user of a command sets, for one provider or, if that is empty, for all.
type Limit struct {
	Provider, Name string
	// Value is in the unit of the limit.
	Value uint64
}

// ParseLimits reads limits as [PROVIDER:]NAME=VALUE.
func ParseLimits(texts []string) ([]Limit, error) {
	limits := make([]Limit, len(texts))
	for i, text := range texts {
		var err error
		if limits[i], err = parseLimit(text); err != nil {
			return nil, fmt.Errorf("limit %s: %w", text, err)
		}
	}
	return limits, nil
}

func parseLimit(text string) (Limit, error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return Limit{}, errors.New("must be NAME=VALUE or PROVIDER:NAME=VALUE, as in memory=512MiB")
	}
	provider, name, one := strings.Cut(name, ":")
	if !one {
		provider, name = "", provider
	}
	return limitOf(provider, name, value)
}

// limitOf returns a limit by its name, for one provider or, if that is empty, for all.
func limitOf(provider, name, value string) (Limit, error) {
	info, ok := limit.Named(name)
	if !ok || info.Option == "" {
		return Limit{}, fmt.Errorf("there is no limit %q%s", name, source.DidYouMean(name, limitNames()))
	}
	if provider != "" && !info.OfProvider() {
		return Limit{}, fmt.Errorf("the limit %s cannot be set for one provider: set it for all of them", name)
	}
	v, err := info.Parse(value)
	if err != nil {
		return Limit{}, fmt.Errorf("the limit %s cannot be %q: %w", name, value, err)
	}
	return Limit{provider, name, v}, nil
}

func limitNames() []string {
	var names []string
	for _, l := range limit.All() {
		if l.Option != "" {
			names = append(names, l.Name)
		}
	}
	return names
}

// limits are values by the name of the provider, empty for all, and the name of the limit.
type limits map[string]map[string]uint64

// limitsOf returns the limits of the project, overridden by the command's. A project that is not trusted may lower the limits of
// [untrustedLimits], and not raise them.
func limitsOf(project *program.Project, given []Limit) (limits, error) {
	l := limits{}
	var most map[string]uint64
	untrusted := isUntrusted(project)
	if untrusted {
		most = untrustedLimits()
		l[""] = maps.Clone(most)
	}
	if project != nil {
		var wrong source.Diagnostics
		read := func(provider string, list []program.Limit) {
			for _, declared := range list {
				limit, err := limitOf(provider, declared.Name, declared.Value)
				if err != nil {
					wrong = append(wrong, project.File.Errorf(declared.Position, "%v", err))
					continue
				}
				if untrusted && (limit.Value == 0 || limit.Value > most[limit.Name]) {
					limit.Value = most[limit.Name]
				}
				l.set(limit)
			}
		}
		read("", project.Limits)
		for _, p := range project.Providers {
			read(p.Name, p.Limits)
		}
		if err := wrong.Err(); err != nil {
			return l, err
		}
	}
	for _, limit := range given {
		if project != nil && len(project.Providers) > 0 && limit.Provider != "" && project.Provider(limit.Provider) == nil {
			var names []string
			for _, p := range project.Providers {
				names = append(names, p.Name)
			}
			return l, fmt.Errorf("--limit %s:%s: the project has no provider %q%s", limit.Provider, limit.Name, limit.Provider, source.DidYouMean(limit.Provider, names))
		}
		if limit.Provider == "" {
			for _, own := range l {
				delete(own, limit.Name) // the command overrides the file
			}
		}
		l.set(limit)
	}
	return l, nil
}

func (l limits) set(limit Limit) {
	if l[limit.Provider] == nil {
		l[limit.Provider] = map[string]uint64{}
	}
	l[limit.Provider][limit.Name] = limit.Value
}

// memoryLimit is the one limit whose largest value the host needs.
const memoryLimit = string(limit.Memory)

// configure gives a host the limits of all providers, and the largest memory limit of any provider.
func (l limits) configure(c host.Config) host.Config {
	all := l.of("")
	maps.Copy(all, l[""])
	for _, own := range l {
		all[memoryLimit] = max(all[memoryLimit], own[memoryLimit])
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if info, _ := limit.Named(name); info.Scope == limit.ScopeProgram {
			continue
		}
		c = c.WithLimit(limit.Limit(name), all[name])
	}
	return c
}

// Evaluation returns the limits of the evaluation of the project's program.
func (p *Plugins) Evaluation() budget.Limits { return p.limits.evaluation(p.project) }

// EvaluationOf returns the limits of the evaluation of a project's program, with limits of the command, without opening its
// plugins. If some limits cannot be used, it returns an error and the other limits.
func EvaluationOf(project *program.Project, given []Limit) (budget.Limits, error) {
	l, err := limitsOf(project, given)
	return l.evaluation(project), err
}

func (l limits) evaluation(project *program.Project) budget.Limits {
	advice := adviceFor(project)
	return budget.Limits{
		Steps: l[""][budget.Steps], Memory: l[""][budget.Memory],
		Advice: func(e budget.ExceededError) string {
			return advice("", limit.ExceededError{Limit: limit.Limit(e.Limit), Most: e.Most})
		},
	}
}

// HostConfig returns a host's configuration, with limits of the command, for modules of no project.
func HostConfig(given []Limit) (host.Config, error) {
	l, err := limitsOf(nil, given)
	if err != nil {
		return host.Config{}, err
	}
	return l.configure(host.NewConfig().WithAdvice(adviceFor(nil))), nil
}

// of returns the limits of a provider alone, and its memory limit, which always has a value.
func (l limits) of(provider string) map[string]uint64 {
	memory, _ := limit.Named(memoryLimit)
	own := map[string]uint64{memoryLimit: memory.Default}
	if set, ok := l[""][memoryLimit]; ok {
		own[memoryLimit] = set
	}
	if provider != "" {
		maps.Copy(own, l[provider])
	}
	return own
}

// adviceFor returns the advice how the user of a project, nil for none, raises a limit, with a value that
// may be enough. That of a project which is not trusted is raised by who runs it.
func adviceFor(project *program.Project) func(name string, exceeded limit.ExceededError) string {
	return func(name string, exceeded limit.ExceededError) string {
		info := exceeded.Info()
		value := strings.ReplaceAll(info.Format(exceeded.Enough()), " ", "")
		setting, flag := fmt.Sprintf("limits: {%s: %s}", info.Name, value), fmt.Sprintf("%s=%s", info.Name, value)
		listed := project != nil && name != "" && project.Provider(name) != nil
		switch {
		case isUntrusted(project):
			return "the project is not trusted: who runs it can raise the limit with --limit " + flag
		case info.OfProvider() && listed:
			return fmt.Sprintf("to raise the limit, give the provider %s in %s %q, or the command --limit %s:%s", name, project.File.Name, setting, name, flag)
		case project != nil && len(project.Providers)+len(project.Policies) > 0:
			return fmt.Sprintf("to raise the limit, add %q under plugins in %s, or --limit %s to the command", setting, project.File.Name, flag)
		}
		return "to raise the limit, add --limit " + flag + " to the command"
	}
}
