package program

import (
	"strings"

	"github.com/husk-dev/husk/engine/program/source"
	"go.yaml.in/yaml/v3"
)

// Grants are what a provider may use beside computing. Nothing is granted that
// is not written down.
type Grants struct {
	FS  []FSGrant
	Env []string
	// HTTP are the services that it may send requests to.
	HTTP []HTTPGrant
	// TCP are the hosts that it may connect to.
	TCP []TCPGrant
	// KV says that it may keep values.
	KV bool
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
	Methods []string
	// Headers are added to the requests, without the provider's knowing them.
	Headers  []HeaderGrant
	Position source.Position
}

// HeaderGrant is a header whose value is the operator's: a credential, most often.
type HeaderGrant struct {
	Name string
	// Prefix is what the value begins with, for example "Bearer ".
	Prefix string
	// Config is the key in the stack's configuration that has the rest, as it is written
	// (see [Project.ConfigKey]), and Env the environment variable. One of them is given.
	Config, Env string
	Position    source.Position
}

// TCPGrant lets a provider connect to a host and port. What they may be is the host's
// matter.
type TCPGrant struct {
	// Address is the host and port as they are written.
	Address  string
	Position source.Position
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
		case "kv":
			g.KV, _ = d.Bool(f.Value, "grants.kv")
		default:
			d.Unknown(f, "grants", []string{"fs", "env", "http", "tcp", "kv"})
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

// httpGrant reads {url: https://example.org/v1, methods: [GET], headers: {...}} or its
// short form, the URL alone, which grants all methods.
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
		case "headers":
			for _, h := range d.Fields(f.Value, "the headers of "+service) {
				header, ok := d.headerGrant(h)
				if !ok {
					return g, false
				}
				g.Headers = append(g.Headers, header)
			}
		default:
			d.Unknown(f, service, []string{"url", "methods", "headers"})
			return g, false
		}
	}
	if g.URL == "" {
		d.Errorf(n, "%s has no url", service)
		return g, false
	}
	return g, true
}

// headerGrant reads Authorization: {prefix: "Bearer ", config: token}, or env in place of
// config.
func (d *decoder) headerGrant(field source.Field) (HeaderGrant, bool) {
	const what = "a header"
	h := HeaderGrant{Name: field.Name, Position: source.Of(field.Key)}
	if field.Value.Kind != yaml.MappingNode {
		e := d.File.Errorf(source.Of(field.Value), "the value of the header %s is to come from elsewhere", h.Name)
		e.Detail = "{config: KEY} takes it from the stack's configuration, and {env: NAME} from the environment; prefix is what stands before it"
		d.Add(e)
		return h, false
	}
	for _, f := range d.Fields(field.Value, what) {
		text, ok := d.Text(f.Value, what)
		if !ok {
			return h, false
		}
		switch f.Name {
		case "prefix":
			h.Prefix = text
		case "env":
			h.Env = text
		case "config":
			h.Config = text
		default:
			d.Unknown(f, what, []string{"config", "env", "prefix"})
			return h, false
		}
	}
	if (h.Config == "") == (h.Env == "") {
		d.Errorf(field.Value, "the header %s is to have its value from one of config and env", h.Name)
		return h, false
	}
	return h, true
}
