package plugins

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/host"
)

// Audited has the requests of a provider of the project, and its grants.
type Audited struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Path    string `json:"path"`
	Digest  string `json:"digest"`
	// Native is set for a plugin that runs without a sandbox, for which there are no grants, and Runtime if it is a program.
	Native   bool      `json:"native,omitempty"`
	Runtime  string    `json:"runtime,omitempty"`
	Requests []Request `json:"requests"`
	// Grants are the project file's grants.
	Grants []Grant `json:"grants"`
	// Learned are the grants that the provider used in deployments.
	Learned []Learned `json:"learned,omitempty"`
}

// Learned is a grant that a provider used.
type Learned struct {
	Grant
	// Granted is set if the project file grants it.
	Granted bool `json:"granted"`
}

// Request is a capability that a provider requests.
type Request struct {
	host.CapabilityRequest
	Granted bool `json:"granted"`
}

// Grant is a capability that a provider has.
type Grant struct {
	Capability string `json:"capability"`
	Scope      string `json:"scope,omitempty"`
	// Details has the other settings of the project file.
	Details string `json:"details,omitempty"`
	// Unused is set if the grant covers nothing that was learned of the provider.
	Unused bool `json:"unused,omitempty"`
}

// Lacks reports whether a required grant is missing.
func (a *Audited) Lacks() bool {
	return slices.ContainsFunc(a.Requests, func(r Request) bool { return !r.Granted && !r.Optional }) ||
		slices.ContainsFunc(a.Learned, func(l Learned) bool { return !l.Granted })
}

// Audit compares the requests and the uses of a provider of the project with its grants.
func (p *Plugins) Audit(ctx context.Context, declared *program.ProviderPlugin, learned []program.LearnedGrants) (*Audited, error) {
	if declared.Native {
		return p.auditNative(declared)
	}
	module, err := p.listedModule(ctx, declared)
	if err == nil {
		err = module.serves(declared, "")
	}
	if err != nil {
		return nil, p.problem(providerEntry(declared), err)
	}
	grants, err := p.grants(withoutHeaders(declared))
	if err != nil {
		return nil, err
	}
	a := &Audited{
		Name: module.Name, Version: module.Version, Path: declared.Place(), Digest: module.Info().Digest,
		Requests: []Request{}, Grants: grantList(declared.Grants),
	}
	for _, r := range module.Requests {
		a.Requests = append(a.Requests, Request{r, grants.Fulfils(r.Capability, r.Scope)})
	}
	at := slices.IndexFunc(learned, func(l program.LearnedGrants) bool { return l.Provider == declared.Name })
	if at < 0 {
		return a, nil
	}
	used := withModes(learned[at].Grants)
	for i, g := range grantList(learned[at].Grants) {
		a.Learned = append(a.Learned, Learned{g, covers(grants, used[i])})
	}
	for i := range a.Grants {
		single := withoutHeaders(declared)
		single.Grants = single.Grants[i : i+1]
		alone, err := p.grants(single)
		if err != nil {
			return nil, err
		}
		a.Grants[i].Unused = !slices.ContainsFunc(used, func(text grant.Text) bool { return alone.Fulfils(text.Capability, text.Scope) })
	}
	return a, nil
}

// covers reports whether the grants have all of another grant.
func covers(grants host.Grants, text grant.Text) bool {
	if text.Capability != grant.NameHTTP {
		return grants.Fulfils(text.Capability, text.Scope)
	}
	return slices.ContainsFunc(grants.HTTP, func(g host.HTTPGrant) bool {
		allows := len(g.Methods) == 0 || len(text.Methods) > 0 && g.Allows(text.Methods)
		return allows && host.Grants{HTTP: []host.HTTPGrant{g}}.Fulfils(text.Capability, text.Scope)
	})
}

// withoutHeaders returns a declaration without the headers of its grants, whose values may be missing and
// do not matter for requests.
func withoutHeaders(declared *program.ProviderPlugin) *program.ProviderPlugin {
	bare := *declared
	bare.Grants = slices.Clone(declared.Grants)
	for i := range bare.Grants {
		bare.Grants[i].Headers = nil
	}
	return &bare
}

// grantList returns grants as the project file has them.
func grantList(grants []program.Grant) []Grant {
	list := []Grant{}
	for _, g := range grants {
		details := slices.Clone(g.Methods)
		if g.Mode != "" {
			details = append(details, g.Mode)
		}
		for _, h := range g.Headers {
			from := "configuration " + h.Config
			if h.Env != "" {
				from = "variable " + h.Env
			}
			details = append(details, "with the header "+h.Name+" from the "+from)
		}
		list = append(list, Grant{Capability: g.Capability, Scope: g.Scope, Details: strings.Join(details, ", ")})
	}
	return list
}

// checkRequests returns an error if a required grant is missing, with the lines to add.
func (p *Plugins) checkRequests(declared *program.ProviderPlugin, module *Module, grants host.Grants) error {
	var missing []host.CapabilityRequest
	for _, r := range module.Requests {
		p.learner.require(declared.Name, r)
		if !r.Optional && !grants.Fulfils(r.Capability, r.Scope) {
			missing = append(missing, r)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	var reasons, flags []string
	entries := map[string]string{}
	var order []string
	for _, r := range missing {
		reasons = append(reasons, strings.TrimSuffix(strings.TrimSpace(r.Capability+" "+r.Scope)+": "+r.Reason, ": "))
		if _, ok := entries[r.Capability]; !ok {
			order = append(order, r.Capability)
		}
		text := grant.Text{Capability: r.Capability, Scope: r.Scope}
		entries[r.Capability] += text.Lines()
		flags = append(flags, "--grant "+declared.Name+":"+text.Flag())
	}
	summary := "needs more than it is granted: " + strings.Join(reasons, "; ")
	if declared.Place() == "" { // no project lists it
		return fmt.Errorf("the provider %s %s\n%s%s", declared.Name, summary, addToCommand, strings.Join(flags, " "))
	}
	d := p.project.File.Errorf(declared.Position, "the provider %q %s", declared.Name, summary)
	d.Detail = "to grant it, add to this entry:\n  grants:"
	for _, capability := range order {
		d.Detail += "\n    " + capability + ":" + entries[capability]
	}
	return source.Diagnostics{d}
}

const addToCommand = "to grant it, add to the command: "

// grantAdvice returns the advice for refusals: lines for the project file, or a flag without one.
func grantAdvice(declared *program.ProviderPlugin) func(host.Refusal) string {
	return func(r host.Refusal) string {
		if declared.Place() == "" {
			return addToCommand + "--grant " + declared.Name + ":" + r.Flag()
		}
		return "to grant it, add to this provider's entry under plugins.providers in the project file:\n" +
			"  grants:\n    " + r.Capability + ":" + r.Lines()
	}
}

// flagToGrant is the same for a command that calls one provider only.
func flagToGrant(r host.Refusal) string { return addToCommand + "--grant " + r.Flag() }
