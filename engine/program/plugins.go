package program

import (
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/engine/program/source"
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
	Grants  []Grant
	// Limits are those that are the provider's own.
	Limits []Limit
	// Position is where the provider is declared.
	Position source.Position
}

func (d *decoder) plugins(n *yaml.Node) {
	for _, f := range d.Fields(n, "plugins") {
		switch f.Name {
		case "providers":
			for _, e := range d.Elements(f.Value, "plugins.providers") {
				d.provider(e)
			}
		case "limits":
			d.project.Limits = d.limits(f.Value)
		case "languages":
			d.Warnf(f.Key, "plugins.%s is not read", f.Name)
		case "analyzers":
			if source.IsEmpty(f.Value) {
				d.Warnf(f.Key, "plugins.analyzers is not read: list policy packs under policies")
			} else {
				d.Errorf(f.Key, "plugins.analyzers are not supported, so nothing would be held to them: list policy packs under policies")
			}
		default:
			d.Unknown(f, "plugins", []string{"providers", "limits"})
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
		case "limits":
			p.Limits, ok = d.limits(f.Value), true
		default:
			d.Unknown(f, "a provider", []string{"name", "path", "version", "grants", "limits"})
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
