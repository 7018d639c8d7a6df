package program

import (
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/husk-dev/husk/engine/program/source"
	"go.yaml.in/yaml/v3"
)

// ProviderPlugin says where a provider comes from and what it may do.
type ProviderPlugin struct {
	// Name is the package, for example random.
	Name string
	// Path is a .wasm file, or a directory of Go source, as it is written; see
	// [Project.Path].
	Path string
	// Version is the semantic version that the module must have, empty for any.
	Version string
	Grants  Grants
	// Position is where the provider is declared.
	Position source.Position
}

// Grants are what a provider may use beside computing. Nothing is granted that
// is not written down.
type Grants struct {
	FS  []FSGrant
	Env []string
	// HTTP are the services that it may send requests to.
	HTTP []HTTPGrant
	// TCP are the hosts that it may connect to.
	TCP []TCPGrant
}

// FSGrant gives a provider a directory.
type FSGrant struct {
	// Path is the directory as it is written; see [Project.Path].
	Path     string
	Writable bool
	Position source.Position
}

// HTTPGrant lets a provider send requests. What the URL may be is the host's matter.
type HTTPGrant struct {
	// URL is the beginning of the URLs, as it is written.
	URL string
	// Methods are the HTTP methods; none for all.
	Methods  []string
	Position source.Position
}

// TCPGrant lets a provider connect to a host and port. What they may be is the host's
// matter.
type TCPGrant struct {
	// Address is the host and port as they are written.
	Address  string
	Position source.Position
}

func (d *decoder) plugins(n *yaml.Node) {
	for _, f := range d.Fields(n, "plugins") {
		switch f.Name {
		case "providers":
			for _, e := range d.Elements(f.Value, "plugins.providers") {
				d.provider(e)
			}
		case "languages":
			d.Warnf(f.Key, "plugins.%s is not read", f.Name)
		case "analyzers":
			d.Warnf(f.Key, "plugins.analyzers is not read: list policy packs under policies")
		default:
			d.Unknown(f, "plugins", []string{"providers"})
		}
	}
}

func (d *decoder) provider(n *yaml.Node) {
	p := ProviderPlugin{Position: source.Of(n)}
	given := d.Fields(n, "a provider")
	if given == nil {
		if source.IsNull(n) {
			d.Errorf(n, "a provider has a name and a path, but here is nothing")
		}
		return
	}
	complete := true
	for _, f := range given {
		var ok bool
		switch f.Name {
		case "name":
			p.Name, ok = d.Text(f.Value, "a provider's name")
			if ok && !isPackageName(p.Name) {
				d.Errorf(f.Value, "%q is not the name of a package", p.Name)
				ok = false
			}
			d.listed = append(d.listed, p.Name)
		case "path":
			if p.Path, ok = d.Text(f.Value, "a provider's path"); ok && p.Path == "" {
				d.Errorf(f.Value, "the path is empty")
				ok = false
			}
		case "version":
			if p.Version, ok = d.Text(f.Value, "a provider's version"); ok {
				if _, err := semver.ParseTolerant(p.Version); err != nil {
					d.Errorf(f.Value, "%q is not a version such as 4.16.0", p.Version)
				}
				p.Version = strings.TrimPrefix(p.Version, "v")
			}
		case "grants":
			p.Grants, ok = d.grants(f.Value), true
		default:
			d.Unknown(f, "a provider", []string{"name", "path", "version", "grants"})
			ok = true
		}
		complete = complete && ok
	}
	if !complete {
		return
	}
	switch {
	case p.Name == "":
		d.Errorf(n, "the provider has no name")
	case p.Path == "":
		e := d.File.Errorf(source.Of(n), "the provider %q has no path", p.Name)
		e.Detail = "path names a .wasm file, or a directory of Go source that is built when it is needed"
		d.Add(e)
	case slices.ContainsFunc(d.project.Providers, func(o ProviderPlugin) bool {
		return o.Name == p.Name && (o.Version == "" || p.Version == "" || byVersion(&o, &p) == 0)
	}):
		e := d.File.Errorf(source.Of(n), "the provider %q is listed twice", p.Name)
		e.Detail = "several versions of it need a version each"
		d.Add(e)
	default:
		d.project.Providers = append(d.project.Providers, p)
	}
}

func (d *decoder) grants(n *yaml.Node) Grants {
	var g Grants
	for _, f := range d.Fields(n, "grants") {
		switch f.Name {
		case "fs":
			for _, e := range d.Elements(f.Value, "grants.fs") {
				if fs, ok := d.fsGrant(e); ok {
					g.FS = append(g.FS, fs)
				}
			}
		case "env":
			for _, e := range d.Elements(f.Value, "grants.env") {
				name, ok := d.Text(e, "an environment variable")
				if ok && (name == "" || strings.Contains(name, "=")) {
					d.Errorf(e, "%q is not the name of an environment variable", name)
					ok = false
				}
				if ok {
					g.Env = append(g.Env, name)
				}
			}
		case "http":
			for _, e := range d.Elements(f.Value, "grants.http") {
				if http, ok := d.httpGrant(e); ok {
					g.HTTP = append(g.HTTP, http)
				}
			}
		case "tcp":
			for _, e := range d.Elements(f.Value, "grants.tcp") {
				if address, ok := d.Text(e, "a host and port"); ok {
					g.TCP = append(g.TCP, TCPGrant{address, source.Of(e)})
				}
			}
		default:
			d.Unknown(f, "grants", []string{"fs", "env", "http", "tcp"})
		}
	}
	return g
}

// fsGrant reads {path: dir, mode: rw} or its short form "dir:rw". A directory is
// read-only unless it says otherwise.
func (d *decoder) fsGrant(n *yaml.Node) (FSGrant, bool) {
	g := FSGrant{Position: source.Of(n)}
	if n.Kind != yaml.MappingNode {
		text, ok := d.Text(n, "a granted directory")
		if !ok {
			return g, false
		}
		g.Path, g.Writable = strings.CutSuffix(text, ":rw")
		if !g.Writable {
			g.Path = strings.TrimSuffix(text, ":ro")
		}
	} else {
		for _, f := range d.Fields(n, "a granted directory") {
			text, ok := "", true
			switch f.Name {
			case "path":
				g.Path, ok = d.Text(f.Value, "the path of a granted directory")
			case "mode":
				text, ok = d.Text(f.Value, "the mode of a granted directory")
				if ok && text != "ro" && text != "rw" {
					d.Errorf(f.Value, "the mode is ro (read only) or rw (read and write), not %q", text)
					return g, false
				}
				g.Writable = text == "rw"
			default:
				d.Unknown(f, "a granted directory", []string{"path", "mode"})
			}
			if !ok {
				return g, false
			}
		}
	}
	if g.Path == "" {
		d.Errorf(n, "the granted directory has no path")
		return g, false
	}
	return g, true
}

// httpGrant reads {url: https://example.org/v1, methods: [GET]} or its short form, the
// URL alone, which grants all methods.
func (d *decoder) httpGrant(n *yaml.Node) (g HTTPGrant, ok bool) {
	const service = "a service that may be used over HTTP"
	g.Position = source.Of(n)
	if n.Kind != yaml.MappingNode {
		g.URL, ok = d.Text(n, service)
		return g, ok
	}
	for _, f := range d.Fields(n, service) {
		switch f.Name {
		case "url":
			if g.URL, ok = d.Text(f.Value, "the URL of "+service); !ok {
				return g, false
			}
		case "methods":
			for _, e := range d.Elements(f.Value, "methods") {
				method, ok := d.Text(e, "an HTTP method")
				if !ok {
					return g, false
				}
				g.Methods = append(g.Methods, method)
			}
			if g.Methods == nil {
				d.Errorf(f.Value, "no method is listed; leave methods out to grant all")
				return g, false
			}
		default:
			d.Unknown(f, service, []string{"url", "methods"})
			return g, false
		}
	}
	if g.URL == "" {
		d.Errorf(n, "%s has no url", service)
		return g, false
	}
	return g, true
}
