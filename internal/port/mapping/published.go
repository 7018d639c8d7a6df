package mapping

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"embed"
	"errors"
	"io"
	"io/fs"
	"maps"
	"strings"

	gomodule "golang.org/x/mod/module"

	"github.com/husk-dev/husk/internal/port/known"
)

// published has mappings by the paths of providers' modules. Pulumi publishes packages of these providers with names that do not
// follow from the rules.
//
//go:embed published
var published embed.FS

// Published returns the mapping for a module, nil if there is none.
func Published(module string) (*Mapping, error) {
	file := "published/" + File(module)
	text, err := published.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = readPacked(file + ".gz")
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return Decode(file, text)
}

// former are organizations that had providers before their makers.
var former = []string{"github.com/hashicorp/", "github.com/terraform-providers/"}

// File returns the path of the mapping for a module, of whatever major version, and by whatever path it had.
func File(module string) string {
	if prefix, _, ok := gomodule.SplitPathVersion(module); ok {
		module = prefix
	}
	for _, organization := range former {
		if name, ok := strings.CutPrefix(module, organization+"terraform-provider-"); ok {
			now, _, _ := gomodule.SplitPathVersion(known.Module(name))
			module = cmp.Or(now, "github.com/hashicorp/terraform-provider-"+name)
		}
	}
	return strings.TrimSuffix(module, "-beta") + ".yaml" // that of Google has the types of the other one
}

func readPacked(file string) ([]byte, error) {
	data, err := published.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// Choose leaves out types that are not chosen.
func (m *Mapping) Choose(chosen func(name string) bool) {
	if m == nil {
		return
	}
	maps.DeleteFunc(m.Resources, func(name string, _ Resource) bool { return !chosen(name) })
	for _, all := range []map[string]Function{m.DataSources, m.Ephemerals, m.Actions} {
		maps.DeleteFunc(all, func(name string, _ Function) bool { return !chosen(name) })
	}
}

// Move moves all tokens to a package.
func (m *Mapping) Move(pkg string) {
	if m == nil {
		return
	}
	move := func(token string) string {
		if _, rest, ok := strings.Cut(token, ":"); ok {
			return pkg + ":" + rest
		}
		return token
	}
	for name, r := range m.Resources {
		r.Token = move(r.Token)
		for i, alias := range r.Aliases {
			r.Aliases[i] = move(alias)
		}
		m.Resources[name] = r
	}
	for name, f := range m.DataSources {
		f.Token = move(f.Token)
		m.DataSources[name] = f
	}
}
