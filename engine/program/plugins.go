package program

import (
	"slices"

	"github.com/blang/semver/v4"
	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/internal/base/versionrange"
)

// ProviderPlugin has the source of a provider and its grants.
type ProviderPlugin struct {
	// Name is the package, for example random.
	Name string
	// Path is a .wasm file, or a directory of source; see [Project.Path]. It is empty if there is a source.
	Path string
	// Source is where versions of the module are fetched from, such as oci://registry.example.com/acme/random. It is
	// empty if there is a path.
	Source string
	// Version is the semantic version that the module must have, empty for any. With a source it is a range.
	Version string
	// Native says that the path is a plugin of Pulumi, which runs as a process without a sandbox, instead of a module.
	Native bool
	// Program is the program in Node.js or Python that a native plugin is, nil for an executable.
	Program *Project
	Grants  []Grant
	// Limits are the provider's own limits.
	Limits []Limit
	// Position is where the provider is declared.
	Position source.Position
}

// Place returns the path or source, empty for a provider that no project lists.
func (p *ProviderPlugin) Place() string {
	if p.Source != "" {
		return p.Source
	}
	return p.Path
}

// LockFile is the name of the file beside a project file that pins the modules of sources.
const LockFile = "husk.lock"

func (d *decoder) plugins(n *yaml.Node) {
	d.Read(n, "plugins",
		source.On("providers", func(f source.Field) bool {
			for _, e := range d.Elements(f.Value, "plugins.providers") {
				d.provider(e)
			}
			return true
		}),
		d.limitsKey(&d.project.Limits),
		source.On("vendor", func(f source.Field) bool {
			dir, ok := d.path(f.Value, "plugins.vendor")
			if ok {
				d.project.Vendor = d.project.Path(dir)
			}
			return ok
		}),
		d.trust(),
		source.On("registries", func(f source.Field) (ok bool) {
			ok = true
			for _, e := range d.Elements(f.Value, "plugins.registries") {
				text, fine := d.Text(e, "a registry")
				d.project.Registries, ok = append(d.project.Registries, text), fine && ok
			}
			return ok
		}),
		source.On("languages", func(f source.Field) bool {
			d.Warnf(f.Key, "plugins.%s is not read", f.Name)
			return true
		}).Hidden(),
		source.On("analyzers", func(f source.Field) bool {
			if source.IsEmpty(f.Value) {
				d.Warnf(f.Key, "plugins.analyzers is not read: list policy packs under policies")
			} else {
				d.Errorf(f.Key, "plugins.analyzers are not supported, so nothing would be held to them: list policy packs under policies")
			}
			return true
		}).Hidden(),
	)
}

func (d *decoder) provider(n *yaml.Node) {
	p := ProviderPlugin{Position: source.Of(n)}
	if n.Kind != yaml.MappingNode {
		if source.IsNull(n) {
			d.Errorf(n, "a provider has a name and a path, but here is nothing")
		} else {
			d.Fields(n, "a provider")
		}
		return
	}
	misnamed, misplaced := false, false
	var version *yaml.Node
	d.Read(n, "a provider",
		source.On("name", func(f source.Field) (ok bool) {
			p.Name, ok = d.Name(f.Value, "a provider's name")
			if ok && !isPackageName(p.Name) {
				d.Errorf(f.Value, "%q is not the name of a package", p.Name)
				ok = false
			}
			d.list(p.Name)
			misnamed = !ok
			return ok
		}),
		source.On("path", func(f source.Field) (ok bool) {
			if p.Path, ok = d.path(f.Value, "a provider's path"); ok && p.Path == "" {
				d.Errorf(f.Value, "the path is empty")
				ok = false
			}
			misplaced = !ok || misplaced
			return ok
		}),
		source.On("source", func(f source.Field) (ok bool) {
			if p.Source, ok = d.Text(f.Value, "a provider's source"); ok && p.Source == "" {
				d.Errorf(f.Value, "the source is empty")
				ok = false
			}
			misplaced = !ok || misplaced
			return ok
		}),
		source.NodeKey("version", &version), // what it may be depends on the source
		source.On("native", func(f source.Field) (ok bool) {
			p.Native, ok = d.Bool(f.Value, "native")
			return ok
		}),
		source.KeyOf("grants", &p.Grants, func(n *yaml.Node) ([]Grant, bool) { return d.grants(n), true }),
		d.limitsKey(&p.Limits),
	)
	if version != nil {
		p.Version = d.providerVersion(version, p.Source != "")
	}
	switch {
	case misnamed || misplaced:
	case p.Name == "":
		d.Errorf(n, "the provider has no name")
	case p.Path != "" && p.Source != "":
		d.Add(d.File.Errorf(source.Of(n), "the provider %q has a path and a source", p.Name).
			With("leave one of them out: path names a file or directory, source says where husk install fetches the module from"))
	case p.Native && p.Source != "":
		d.Add(d.File.Errorf(source.Of(n), "the provider %q is native and has a source", p.Name).
			With("a native plugin is a program on this machine: give its path, such as /usr/local/bin/pulumi-resource-" + p.Name))
	case p.Native && len(p.Grants)+len(p.Limits) > 0:
		d.Add(d.File.Errorf(source.Of(n), "the provider %q is native, and has grants or limits, which nothing would hold it to", p.Name).
			With("leave them out: a native plugin has no sandbox, and all rights of the user"))
	case p.Place() == "":
		d.Add(d.File.Errorf(source.Of(n), "the provider %q has neither a path nor a source", p.Name).
			With("path names a .wasm file, or a directory of source that is built when it is needed; source says where husk install fetches the module from, and may be a name that a registry of plugins.registries has"))
	case slices.ContainsFunc(d.project.providersOf(p.Name), func(o *ProviderPlugin) bool {
		return o.Version == "" || p.Version == "" || byVersion(o, &p) == 0 || o.isRange() || p.isRange()
	}):
		d.Add(d.File.Errorf(source.Of(n), "the provider %q is listed twice", p.Name).
			With("to use several versions, give each entry an exact version"))
	default:
		d.project.addProvider(p)
	}
}

// providerVersion reads the version of a provider, or the range of versions of a source.
func (d *decoder) providerVersion(n *yaml.Node, isRange bool) string {
	text, ok := d.Text(n, "a provider's version")
	if !ok {
		return ""
	}
	if !isRange {
		text, _ = d.version(n, text, semver.ParseTolerant)
		return text
	}
	r, err := versionrange.Parse(text)
	if err != nil {
		d.Errorf(n, "%v", err)
		return ""
	}
	if exact, ok := r.Exact(); ok {
		return exact.String()
	}
	return r.String()
}

// isRange reports whether the provider may have several versions.
func (p *ProviderPlugin) isRange() bool {
	_, err := semver.Parse(p.Version)
	return p.Source != "" && err != nil
}

// Limit is a limit that a project sets, of one provider or of all. The host knows what it means.
type Limit struct {
	// Name and Value are as they are written, for example memory and 512MiB.
	Name, Value string
	Position    source.Position
}

// limitsKey returns the key limits: {NAME: VALUE}.
func (d *decoder) limitsKey(limits *[]Limit) source.Key {
	return source.On("limits", func(f source.Field) bool {
		for _, f := range d.Fields(f.Value, "limits") {
			value := source.Resolve(f.Value)
			if value.Kind != yaml.ScalarNode || source.IsNull(value) {
				d.Errorf(f.Value, "the limit %s is to be a number, a size such as 512MiB, or a time such as 90s", f.Name)
				continue
			}
			*limits = append(*limits, Limit{Name: f.Name, Value: value.Value, Position: source.Of(f.Key)})
		}
		return true
	})
}
