package program

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/blang/semver/v4"
	"github.com/husk-dev/husk/engine/program/source"
	"go.yaml.in/yaml/v3"
)

// Package is a package as programs know it, and its source.
type Package struct {
	// Name begins the tokens of the package's types and functions.
	Name string
	// Source is the provider of the package. Without parameters it has the same name.
	Source string
	// Version is one that the provider must be compatible with, empty for any.
	Version string
	// Parameters make the provider into the package, or into what Extension extends; nil for none.
	Parameters *Parameterization
	// Extension makes the provider serve the package beside its own; nil for none.
	Extension *Parameterization
	// Position is where the package is declared, zero if it is not.
	Position source.Position
}

// Parameterized reports whether the package is not its provider's own.
func (p Package) Parameterized() bool { return p.Parameters != nil || p.Extension != nil }

// Served is the package whose providers serve the package.
func (p Package) Served() string {
	switch {
	case p.Extension == nil:
		return p.Name
	case p.Parameters != nil:
		return p.Parameters.Name
	}
	return p.Source
}

// Package returns the declaration of a package, by default its own provider.
func (p *Project) Package(name string) Package {
	if p.byName != nil {
		if i, ok := p.byName.packages[name]; ok {
			return p.Packages[i]
		}
		return Package{Name: name, Source: name}
	}
	for _, declared := range p.Packages {
		if declared.Name == name {
			return declared
		}
	}
	return Package{Name: name, Source: name}
}

// packages reads {source: ..., version: ..., parameters: [...], extension: [...]}, or
// "source@version".
func (d *decoder) packages() {
	for _, f := range d.declaredPackages {
		if !isPackageName(f.Name) || f.Name == "pulumi" {
			d.Errorf(f.Key, "%q is not a name that a package can have", f.Name)
			continue
		}
		if p, ok := d.pkg(f); ok {
			d.project.addPackage(p)
		}
	}
}

// pkg reads a declaration, and reports whether it can be used.
func (d *decoder) pkg(f source.Field) (p Package, ok bool) {
	p = Package{Name: f.Name, Position: source.Of(f.Key)}
	at := f.Value
	switch {
	case source.IsNull(f.Value):
		d.Errorf(f.Key, "the package %q has a source, but here is nothing", p.Name)
		return p, false
	case f.Value.Kind == yaml.MappingNode:
		ok = d.Read(f.Value, "a package",
			source.On("source", func(g source.Field) (ok bool) {
				at = g.Value
				p.Source, ok = d.Text(g.Value, "a package's source")
				return ok
			}),
			d.versionKey(&p.Version, "a package's version", semver.ParseTolerant),
			d.parameterizationKey("parameters", &p.Parameters),
			d.parameterizationKey("extension", &p.Extension),
		)
	case f.Value.Kind == yaml.ScalarNode:
		name, version, versioned := strings.Cut(f.Value.Value, "@")
		p.Source, ok = name, true
		if versioned && !isRepository(name) { // whose versions are commits, too
			p.Version, ok = d.version(f.Value, version, semver.ParseTolerant)
		}
	default:
		d.Errorf(f.Value, "a package is a mapping with a source, or text such as openapi@1.2.3, not %s", source.Describe(f.Value))
	}
	return p, ok && d.checkSource(at, &p) && d.checkNames(f, &p)
}

// checkNames completes the names of values: the last one makes the package itself.
func (d *decoder) checkNames(f source.Field, p *Package) bool {
	last := p.Extension
	if last == nil {
		last = p.Parameters
	} else if r := p.Parameters; r != nil && r.Name == "" {
		d.Errorf(f.Key, "the parameters of the package %q need the name of the package that it extends: give its name, version, and value, as husk package add does", p.Name)
		return false
	}
	if last != nil && last.Version != "" && last.Name == "" {
		last.Name = p.Name
	}
	return true
}

func (d *decoder) list(name string) {
	if d.listed == nil {
		d.listed = map[string]bool{}
	}
	d.listed[name] = true
}

func (d *decoder) listedNames() []string { return slices.Sorted(maps.Keys(d.listed)) }

// checkSource reports a source that is not a provider of the project, or not this package.
func (d *decoder) checkSource(at *yaml.Node, p *Package) bool {
	switch {
	case p.Source == "":
		d.Add(d.File.Errorf(source.Of(at), "the package %q has no source", p.Name).
			With("source names a provider of plugins.providers"))
		return false
	case isLocalSource(p.Source) && !p.Parameterized():
		return d.localPackage(at, p)
	case !d.listed[p.Source]:
		e := d.File.Errorf(source.Of(at), "there is no provider %q to make the package %q of%s", p.Source, p.Name, d.DidYouMean(p.Source, d.listedNames))
		e.Detail = p.sourceAdvice()
		d.Add(e)
		return false
	case !p.Parameterized() && p.Source != p.Name:
		d.Add(d.File.Errorf(source.Of(at), "without parameters, the provider %q is the package %q, not %q", p.Source, p.Source, p.Name).
			With("add the parameters that make it the package, or the extension that makes it serve it, or rename the package"))
		return false
	}
	return true
}

// sourceAdvice says what to do about a source that is no provider of the project.
func (p *Package) sourceAdvice() string {
	const advice = "source names a provider of plugins.providers"
	switch {
	case p.Source == "terraform-provider" && p.Parameters != nil && len(p.Parameters.Args) > 0 && !slices.ContainsFunc(p.Parameters.Args, noPlainWord):
		version := p.Parameters.Args[:min(len(p.Parameters.Args), 2)]
		return "Husk builds a module of a Terraform provider before it runs: build this one, list it under plugins.providers, and remove the package:\n" +
			fmt.Sprintf("  husk provider port %s --map %s\n  - name: %s\n    path: %[3]s.wasm", strings.Join(version, "@"), os.DevNull, p.Name)
	case p.Source == "terraform-module":
		return "Husk runs no modules of Terraform: write the resources into the program, with a provider that husk provider port builds"
	case isRepository(p.Source):
		return advice + "; Husk fetches no packages from a repository: clone it, and give the path of the package's directory as the source, such as ../something"
	case isLocalSource(p.Source):
		return advice + fmt.Sprintf("; one with parameters is listed there, and named by its own package:\n  - name: <its package>\n    path: %s", p.Source)
	case isPackageName(p.Source) && !strings.Contains(p.Source, "/"): // else it is a path or URL, which Pulumi's tools take
		return advice + fmt.Sprintf("; add an entry there:\n  - name: %s\n    path: <a .wasm file, or a directory of source>", p.Source)
	}
	return advice
}

// noPlainWord reports whether a shell takes a word otherwise than literally.
func noPlainWord(word string) bool {
	return strings.Trim(strings.ToLower(word), "abcdefghijklmnopqrstuvwxyz0123456789./_-") != ""
}

// isRepository reports whether the source of a package is the address of a repository, such as github.com/acme/zoo/components.
func isRepository(name string) bool {
	host, path, _ := strings.Cut(name, "/")
	return path != "" && strings.Contains(strings.Trim(host, "."), ".")
}

func isPackageName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII || strings.ContainsRune(": $", r) })
}

// byName finds parts of a project by their names.
type byName struct {
	components        map[string]int // by type
	componentPackages map[string]bool
	packages          map[string]int
	providers         map[string][]int
}

// index begins to find the parts of a project by their names.
func (p *Project) index() {
	if p.byName == nil {
		p.byName = &byName{map[string]int{}, map[string]bool{}, map[string]int{}, map[string][]int{}}
	}
}

func (p *Project) addComponent(c Component) {
	p.index()
	p.byName.components[c.Package+":"+c.Name] = len(p.Components)
	p.byName.componentPackages[c.Package] = true
	p.Components = append(p.Components, c)
}

func (p *Project) addPackage(pkg Package) {
	p.index()
	if _, taken := p.byName.packages[pkg.Name]; !taken {
		p.byName.packages[pkg.Name] = len(p.Packages)
	}
	p.Packages = append(p.Packages, pkg)
}

func (p *Project) addProvider(declared ProviderPlugin) {
	p.index()
	p.byName.providers[declared.Name] = append(p.byName.providers[declared.Name], len(p.Providers))
	p.Providers = append(p.Providers, declared)
}

// providersOf returns the project's entries of a provider.
func (p *Project) providersOf(name string) (listed []*ProviderPlugin) {
	if p.byName != nil {
		for _, i := range p.byName.providers[name] {
			listed = append(listed, &p.Providers[i])
		}
		return listed
	}
	for i := range p.Providers {
		if p.Providers[i].Name == name {
			listed = append(listed, &p.Providers[i])
		}
	}
	return listed
}
