package plugins

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/kvstore"
	"github.com/husk-dev/husk/internal/base/named"
)

// grants returns the grants of the project file and of the options. An error names the place in the file.
func (p *Plugins) grants(declared *program.ProviderPlugin) (host.Grants, error) {
	g := host.Grants{Withheld: p.withheld()}
	refused := func(at source.Position, what string, err error) (host.Grants, error) {
		d := p.project.File.Errorf(at, "%s cannot be granted to %s", what, declared.Name)
		d.Detail = err.Error()
		return host.Grants{}, source.Diagnostics{d}
	}
	place := grant.Place{Dir: p.project.Dir, Store: func() (abi.KV, error) { return p.store(declared.Name) }}
	for _, written := range declared.Grants {
		text := written.Text
		if written.Mode != "" {
			text.Scope += ":" + written.Mode
		}
		err := g.Add(text, place)
		switch {
		case err != nil && written.Scope == "": // not about the text in the file
			return host.Grants{}, err
		case err != nil:
			return refused(written.Position, written.Scope, err)
		}
		if err := p.checkUntrusted(written, g); err != nil {
			return refused(written.Position, written.Scope, err)
		}
		switch written.Capability {
		case grant.NameHTTP:
			service := &g.HTTP[len(g.HTTP)-1]
			for _, header := range written.Headers {
				if err := p.bind(service, header); err != nil {
					return refused(header.Position, "the header "+header.Name, err)
				}
			}
		case grant.NameFS:
			if err := p.isDirectory(declared.Name, written, g.FS[len(g.FS)-1]); err != nil {
				return host.Grants{}, err
			}
		}
	}
	more := p.options.Grants[declared.Name]
	g.GrantAdvice = grantAdvice(declared)
	if more.KV != nil {
		if err := g.Add(grant.Text{Capability: grant.NameKV}, place); err != nil {
			return host.Grants{}, err
		}
	}
	g = g.With(more)
	p.confine(g.FS)
	return g, nil
}

// bind adds a header to a service's grant, unless its value needs a configuration that is not open.
func (p *Plugins) bind(service *host.HTTPGrant, header program.HeaderGrant) error {
	if header.Config != "" && p.options.Config == nil {
		return nil
	}
	value, err := p.headerValue(header)
	if err == nil {
		*service, err = service.WithHeader(header.Name, value)
	}
	return err
}

// isDirectory returns an error if the provider could not use the directory.
func (p *Plugins) isDirectory(provider string, written program.Grant, dir host.FSGrant) error {
	info, err := p.project.Root.Stat(dir.HostPath)
	if err == nil && info.IsDir() || err != nil && dir.ReadWrite {
		return nil
	}
	d := p.project.File.Errorf(written.Position, "%s, which %s is granted, is not a directory that can be read", written.Scope, provider)
	d.Detail = "create it, or grant it for reading and writing (mode: rw), so that the provider can create it"
	if err == nil {
		d.Detail = "a grant names a directory, and covers everything in it"
	}
	return source.Diagnostics{d}
}

// confine prevents a symbolic link from leading to a granted directory that lies in another one, if some
// provider may write there: it could create the link.
func (p *Plugins) confine(grants []host.FSGrant) {
	var writable []string
	for i := range p.project.Providers {
		for _, dir := range p.project.Providers[i].Grants {
			if dir.Mode == grant.ModeReadWrite {
				writable = append(writable, p.project.Path(dir.Scope))
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

// headerValue returns the value of a granted header, which only the host gets.
func (p *Plugins) headerValue(h program.HeaderGrant) (string, error) {
	if h.Env != "" {
		if err := named.CheckVariable(h.Env); err != nil {
			return "", err
		}
		value, ok := named.Lookup(h.Env)
		if !ok {
			return "", fmt.Errorf("its value comes from the environment variable %s, which is not set", h.Env)
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
		return "", fmt.Errorf("its value comes from the configuration key %s, which the stack does not have: husk config set %s --secret", key, h.Config)
	case !p.options.Config[at].Secret:
		return "", fmt.Errorf("its value comes from the configuration key %s, which is not secret: husk config set %s --secret", key, h.Config)
	}
	return h.Prefix + p.options.Config[at].Value, nil
}

// store returns the store of a provider, one for all its users because they would undo each other's
// changes otherwise.
func (p *Plugins) store(provider string) (*kvstore.Store, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if store := p.stores[provider]; store != nil {
		return store, nil
	}
	store := kvstore.New()
	if p.options.Stores != nil {
		var err error
		if store, err = p.options.Stores(provider); err != nil {
			return nil, err
		}
		if p.previews() {
			store = store.Copy()
		}
	}
	p.stores[provider] = store
	return store, nil
}
