package plugins

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/host"
)

// grants turns what a project file grants, and the options, into what the host
// understands. An error names the place in the file.
func (p *Plugins) grants(declared *program.ProviderPlugin) (host.Grants, error) {
	g := host.Grants{Env: declared.Grants.Env, HowToGrant: howToGrant(declared)}
	refused := func(at source.Position, what string, err error) (host.Grants, error) {
		d := p.project.File.Errorf(at, "%s cannot be granted to %s", what, declared.Name)
		d.Detail = err.Error()
		return host.Grants{}, source.Diagnostics{d}
	}
	for _, service := range declared.Grants.HTTP {
		grant, err := host.ParseHTTPGrant(service.URL, service.Methods...)
		if err != nil {
			return refused(service.Position, service.URL, err)
		}
		for _, header := range service.Headers {
			if header.Config != "" && p.options.Config == nil {
				continue
			}
			value, err := p.headerValue(header)
			if err == nil {
				grant, err = grant.WithHeader(header.Name, value)
			}
			if err != nil {
				return refused(header.Position, "the header "+header.Name, err)
			}
		}
		g.HTTP = append(g.HTTP, grant)
	}
	for _, remote := range declared.Grants.TCP {
		grant, err := host.ParseTCPGrant(remote.Address)
		if err != nil {
			return refused(remote.Position, remote.Address, err)
		}
		g.TCP = append(g.TCP, grant)
	}
	for _, dir := range declared.Grants.FS {
		grant, err := host.ProjectGrant(p.project.Dir, dir.Path, dir.Writable)
		if err != nil {
			return host.Grants{}, err
		}
		if info, err := os.Stat(grant.HostPath); !dir.Writable && err != nil || err == nil && !info.IsDir() {
			d := p.project.File.Errorf(dir.Position, "%s, which %s is granted, is not a directory that can be read", dir.Path, declared.Name)
			d.Detail = "make it, or grant it for reading and writing (mode: rw), so that the provider can make it"
			if err == nil {
				d.Detail = "a grant is of a directory, with all that is in it"
			}
			return host.Grants{}, source.Diagnostics{d}
		}
		g.FS = append(g.FS, grant)
	}
	more := p.options.Grants[declared.Name]
	g.Withheld = slices.Concat(p.project.OwnFiles(), p.options.Places.ownFiles(), p.options.Withheld)
	if declared.Grants.KV || more.KV != nil {
		store, err := p.store(declared.Name)
		if err != nil {
			return host.Grants{}, err
		}
		g.KV = store
	}
	g = g.With(more)
	p.confine(g.FS)
	return g, nil
}

// confine has no symbolic link followed to a granted directory in another one, which some
// provider may write: it could put one there.
func (p *Plugins) confine(grants []host.FSGrant) {
	var writable []string
	for i := range p.project.Providers {
		for _, dir := range p.project.Providers[i].Grants.FS {
			if dir.Writable {
				writable = append(writable, p.project.Path(dir.Path))
			}
		}
	}
	for _, more := range p.options.Grants {
		for _, dir := range more.FS {
			if dir.ReadWrite {
				writable = append(writable, dir.HostPath)
			}
		}
	}
	for i := range grants {
		for _, dir := range writable {
			inside, err := filepath.Rel(dir, grants[i].HostPath)
			if err != nil || inside == "." || !filepath.IsLocal(inside) {
				continue
			}
			if within := grants[i].Within; within == "" || len(dir) < len(within) {
				grants[i].Within = dir
			}
		}
	}
}

// headerValue is the value of a header that a project grants. It goes to the host, and
// nowhere else.
func (p *Plugins) headerValue(h program.HeaderGrant) (string, error) {
	if h.Env != "" {
		value, ok := os.LookupEnv(h.Env)
		if !ok {
			return "", fmt.Errorf("its value is to come from the environment variable %s, which is not set", h.Env)
		}
		p.options.Secrets.Learn(value)
		return h.Prefix + value, nil
	}
	key, err := p.project.ConfigKey(h.Config)
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(p.options.Config, func(e abi.ConfigEntry) bool { return e.Key == key })
	switch {
	case at < 0:
		return "", fmt.Errorf("its value is to come from the configuration key %s, which the stack does not have: husk config set %s --secret", key, h.Config)
	case !p.options.Config[at].Secret:
		return "", fmt.Errorf("its value is to come from the configuration key %s, which is not secret: husk config set %s --secret", key, h.Config)
	}
	return h.Prefix + p.options.Config[at].Value, nil
}

// store is what a provider keeps: one for all who use it, so that their changes do not
// undo each other's.
func (p *Plugins) store(provider string) (*host.Store, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if store := p.stores[provider]; store != nil {
		return store, nil
	}
	store := host.NewStore()
	if p.options.Stores != "" {
		if !filepath.IsLocal(provider) {
			return nil, errors.New("the provider's name is not that of a file: " + provider)
		}
		var err error
		if store, err = host.OpenStore(filepath.Join(p.options.Stores, provider+".cbor")); err != nil {
			return nil, err
		}
		if !p.performing.Load() {
			store = store.Copy()
		}
	}
	p.stores[provider] = store
	return store, nil
}
