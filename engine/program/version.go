package program

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/engine/program/source"
)

// Compatible reports whether a provider of version have can stand in for want: it is not older, and
// has the same major version, or minor version below 1.0.
func Compatible(want, have string) bool {
	w, errW := semver.ParseTolerant(want)
	h, errH := semver.ParseTolerant(have)
	if errW != nil || errH != nil {
		return false
	}
	return h.GE(w) && h.Major == w.Major && (h.Major > 0 || h.Minor == w.Minor)
}

// Provider returns the newest declaration of a package's provider, nil if there is none.
func (p *Project) Provider(name string) *ProviderPlugin {
	declared, _ := p.ProviderVersion(name, "") // any version will do
	return declared
}

// ProviderVersion returns the newest declaration of a package's provider that is compatible with a version, empty for any. It is
// nil if the project lists no provider of the package. A provider that is listed once has the version of its module.
func (p *Project) ProviderVersion(name, wanted string) (*ProviderPlugin, error) {
	var fitting []*ProviderPlugin
	listed := p.providersOf(name)
	for _, declared := range listed {
		if wanted == "" || Compatible(wanted, declared.Version) {
			fitting = append(fitting, declared)
		}
	}
	switch {
	case len(listed) == 0:
		return nil, nil
	case len(listed) == 1:
		return listed[0], nil
	case len(fitting) == 0:
		slices.SortFunc(listed, byVersion)
		var versions []string
		for _, declared := range listed {
			versions = append(versions, declared.Version)
		}
		return nil, fmt.Errorf("version %s of the provider %q is wanted, and %s lists %s, none of which is compatible with it",
			wanted, name, p.File.Name, strings.Join(versions, ", "))
	}
	return slices.MaxFunc(fitting, byVersion), nil
}

// WantedVersion returns the version of a package's provider that counts, given the one that an SDK wants. SDKs tell the
// version of the provider that they were published with. If the project lists several providers of the package, that version
// chooses. If it lists one, that is the one, and WantedVersion returns "", unless the versions agree: then the name of the
// default provider has the version, as Pulumi writes it.
func (p *Project) WantedVersion(name, wanted string) string {
	listed := p.providersOf(name)
	if len(listed) > 1 || len(listed) == 1 && listed[0].Version == wanted {
		return wanted
	}
	return ""
}

func (d *decoder) versionKey(at *string, what string, parse func(string) (semver.Version, error)) source.Key {
	return source.KeyOf("version", at, func(n *yaml.Node) (string, bool) {
		text, ok := d.Text(n, what)
		if !ok {
			return "", false
		}
		return d.version(n, text, parse)
	})
}

// version returns a version without the "v" that it may begin with.
func (d *decoder) version(n *yaml.Node, text string, parse func(string) (semver.Version, error)) (string, bool) {
	text = strings.TrimPrefix(text, "v")
	if _, err := parse(text); err != nil {
		d.Errorf(n, "%q is not a version such as 4.16.0", text)
		return "", false
	}
	return text, true
}

// byVersion orders providers that are listed in several versions.
func byVersion(a, b *ProviderPlugin) int {
	x, errX := semver.ParseTolerant(a.Version)
	y, errY := semver.ParseTolerant(b.Version)
	if errX != nil || errY != nil {
		return strings.Compare(a.Version, b.Version)
	}
	return x.Compare(y)
}

// PulumiVersion is the version of Pulumi whose programs Husk reads: what a program requires of Pulumi's
// version is held against it.
const PulumiVersion = "3.276.0"

// CheckPulumiVersion reports whether a range of versions of Pulumi, such as >=3.100.0, has [PulumiVersion].
func CheckPulumiVersion(required string) error {
	in, err := semver.ParseRange(required)
	if err != nil {
		return fmt.Errorf("%q is not a range of versions such as >=3.100.0", required)
	}
	if !in(semver.MustParse(PulumiVersion)) {
		return fmt.Errorf("this is for versions %s of Pulumi, and Husk reads programs as Pulumi %s does", required, PulumiVersion)
	}
	return nil
}

func (d *decoder) requiredPulumiVersion(n *yaml.Node) {
	text, ok := d.Text(n, "requiredPulumiVersion")
	if !ok {
		return
	}
	if err := CheckPulumiVersion(text); err != nil {
		d.Errorf(n, "%v", err)
	}
}
