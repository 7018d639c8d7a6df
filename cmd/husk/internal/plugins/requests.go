package plugins

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/host"
)

// Audited is what a provider of the project asks for, and what it was granted.
type Audited struct {
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	Path     string    `json:"path"`
	Digest   string    `json:"digest"`
	Requests []Request `json:"requests"`
	// Grants are all that it was granted, as capability and scope.
	Grants []Grant `json:"grants"`
}

// Request is a capability that a provider asks for.
type Request struct {
	host.CapabilityRequest
	Granted bool `json:"granted"`
}

// Grant is a capability that a provider has.
type Grant struct {
	Capability string `json:"capability"`
	Scope      string `json:"scope,omitempty"`
	// Details are what else the project file says of it.
	Details string `json:"details,omitempty"`
}

// Lacks reports whether the provider cannot do without something that it was not granted.
func (a *Audited) Lacks() bool {
	for _, r := range a.Requests {
		if !r.Granted && !r.Optional {
			return true
		}
	}
	return false
}

// Audit compares what a provider of the project asks for with what it is granted.
func (p *Plugins) Audit(ctx context.Context, declared *program.ProviderPlugin) (*Audited, error) {
	module, err := p.Module(ctx, declared.Name, p.project.Path(declared.Path))
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
		Name: module.Name, Version: module.Version, Path: declared.Path, Digest: module.Info().Digest,
		Requests: []Request{}, Grants: grantList(declared.Grants),
	}
	for _, r := range module.Requests {
		a.Requests = append(a.Requests, Request{r, len(grants.Missing([]host.CapabilityRequest{r})) == 0})
	}
	return a, nil
}

// withoutHeaders is a declaration without the headers of its grants, whose values do not
// matter for what is granted.
func withoutHeaders(declared *program.ProviderPlugin) *program.ProviderPlugin {
	bare := *declared
	bare.Grants.HTTP = nil
	for _, service := range declared.Grants.HTTP {
		service.Headers = nil
		bare.Grants.HTTP = append(bare.Grants.HTTP, service)
	}
	return &bare
}

// grantList lists grants as the project file has them.
func grantList(g program.Grants) []Grant {
	list := []Grant{}
	for _, fs := range g.FS {
		mode := "ro"
		if fs.Writable {
			mode = "rw"
		}
		list = append(list, Grant{"fs", fs.Path, mode})
	}
	for _, name := range g.Env {
		list = append(list, Grant{Capability: "env", Scope: name})
	}
	for _, service := range g.HTTP {
		details := slices.Clone(service.Methods)
		for _, h := range service.Headers {
			from := "configuration " + h.Config
			if h.Env != "" {
				from = "variable " + h.Env
			}
			details = append(details, "with the header "+h.Name+" from the "+from)
		}
		list = append(list, Grant{"http", service.URL, strings.Join(details, ", ")})
	}
	for _, remote := range g.TCP {
		list = append(list, Grant{Capability: "tcp", Scope: remote.Address})
	}
	if g.KV {
		list = append(list, Grant{Capability: "kv"})
	}
	return list
}

// requested is an error if the module asks for something that it cannot do without, and
// was not granted it. The error names what to add.
func (p *Plugins) requested(declared *program.ProviderPlugin, module *Module, grants host.Grants) error {
	var needed []host.CapabilityRequest
	for _, r := range module.Requests {
		if !r.Optional {
			needed = append(needed, r)
		}
	}
	missing := grants.Missing(needed)
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
		entry, flag := wording(r)
		entries[r.Capability] += entry
		flags = append(flags, "--grant "+declared.Name+":"+flag)
	}
	summary := "needs what it is not granted: " + strings.Join(reasons, "; ")
	if declared.Path == "" { // no project lists it
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

// howToGrant tells how to grant a provider what it was refused while it ran: by the project
// file, or by a flag where no project lists it.
func howToGrant(declared *program.ProviderPlugin) func(host.Refusal) string {
	return func(r host.Refusal) string {
		entry, flag := wording(host.CapabilityRequest{Capability: r.Capability, Scope: r.Scope})
		if declared.Path == "" {
			return addToCommand + "--grant " + declared.Name + ":" + flag
		}
		if len(r.Methods) > 0 {
			entry = fmt.Sprintf("\n      - {url: %q, methods: [%s]}", r.Scope, strings.Join(r.Methods, ", "))
		}
		return "to grant it, add to this provider's entry under plugins.providers in the project file:\n" +
			"  grants:\n    " + r.Capability + ":" + entry
	}
}

// flagToGrant is the same for a command that asks one provider only.
func flagToGrant(r host.Refusal) string {
	_, flag := wording(host.CapabilityRequest{Capability: r.Capability, Scope: r.Scope})
	return addToCommand + "--grant " + flag
}

// wording is a request as the grant that a project file would have, and as the flag
// --grant has it. What only the operator knows stands in angle brackets.
func wording(r host.CapabilityRequest) (entry, flag string) {
	scope := r.Scope
	if scope == "" {
		scope = map[string]string{"fs": "<directory>", "env": "<variable>", "http": "<URL>", "tcp": "<host>:<port>"}[r.Capability]
	}
	if r.Capability == "kv" {
		return " true", "kv"
	}
	return "\n      - " + quoted(scope), r.Capability + "=" + scope
}

// quoted is a text as YAML has it where it could be taken for something else.
func quoted(text string) string {
	if strings.HasPrefix(text, "*") || strings.HasPrefix(text, "[") || strings.ContainsAny(text, "\"'#{}") || strings.Contains(text, ": ") {
		return fmt.Sprintf("%q", text)
	}
	return text
}
