package plugins

import (
	"os"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/host"
)

// grants turns what a project file grants into what the host understands. An
// error names the place in the file.
func (p *Plugins) grants(declared *program.ProviderPlugin) (host.Grants, error) {
	g := host.Grants{Env: declared.Grants.Env}
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
	return g, nil
}
