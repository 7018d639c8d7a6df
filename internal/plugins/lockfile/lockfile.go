// Package lockfile reads and writes husk.lock, which pins the modules that a project fetches: their versions, digests, and
// requests.
package lockfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/blang/semver/v4"
	"go.yaml.in/yaml/v3"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/host/trust"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
	"github.com/husk-dev/husk/internal/base/sorted"
	"github.com/husk-dev/husk/internal/base/versionrange"
)

// format is the version of the file's format.
const format = 1

// header begins the file, for people.
const header = "# Written by husk install and husk update. Commit this file, and do not edit it.\n"

// Lock has the modules that a project pins, in the order of their names and versions.
type Lock struct {
	Providers []Provider
}

// Provider is the module of a provider.
type Provider struct {
	Name   string `yaml:"name"`
	Source string `yaml:"source"`
	// From is where the module is, if the source is a name that was looked up.
	From string `yaml:"from,omitempty"`
	// Commit is the built commit of a source in git.
	Commit  string `yaml:"commit,omitempty"`
	Version string `yaml:"version"`
	// Digest is the module's digest, and Size its size in bytes.
	Digest string `yaml:"digest"`
	Size   int64  `yaml:"size"`
	// Manifest is the digest of the artifact's manifest, empty for a file on the web.
	Manifest string `yaml:"manifest,omitempty"`
	// Signer is who has signed the module, as the trust policy wants it; nil if it wants nothing.
	Signer *Signer `yaml:"signer,omitempty,flow"`
	// Requests are the grants that the module asks for.
	Requests []Request `yaml:"requests,omitempty,flow"`
}

// Signer is a key, or an identity with its issuer.
type Signer struct {
	Key      string `yaml:"key,omitempty"`
	Identity string `yaml:"identity,omitempty"`
	Issuer   string `yaml:"issuer,omitempty"`
}

// Request is a grant that a module asks for.
type Request struct {
	Capability string `yaml:"capability"`
	Scope      string `yaml:"scope,omitempty"`
	Optional   bool   `yaml:"optional,omitempty"`
}

// SignerOf returns a signer as a lock has it, nil for nobody.
func SignerOf(s trust.Signer) *Signer {
	if s.IsZero() {
		return nil
	}
	return &Signer{s.Key, s.Identity, s.Issuer}
}

// String returns the signer for people.
func (s *Signer) String() string {
	if s == nil {
		return "nobody"
	}
	return trust.Signer{Key: s.Key, Identity: s.Identity, Issuer: s.Issuer}.String()
}

// Path returns the path of the lock of a project.
func Path(p *program.Project) string { return filepath.Join(p.Dir, program.LockFile) }

// Load reads the lock of a project. It is empty if there is none. The error may be [source.Diagnostics].
func Load(p *program.Project) (*Lock, error) {
	text, err := p.Root.ReadFile(program.LockFile, source.MaxFileSize)
	if errors.Is(err, os.ErrNotExist) {
		return &Lock{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the lock: %w", err)
	}
	return Parse(text)
}

// advice says what to do about a lock that cannot be read.
const advice = "restore the file, or remove it and run husk install"

// Parse reads the text of a lock.
func Parse(text []byte) (*Lock, error) {
	file := source.NewFile(program.LockFile, text)
	root, err := source.Parse(file, text)
	if errors.Is(err, source.ErrEmpty) {
		return &Lock{}, nil
	}
	if ds, ok := errors.AsType[source.Diagnostics](err); ok {
		return nil, advised(ds)
	}
	if err != nil {
		return nil, err
	}
	r := &source.Report{File: file}
	d := decoder{r}
	if alias := aliasIn(root); alias != nil { // one would stand for much in a short file
		d.Errorf(alias, "a lock has no aliases")
		return nil, advised(r.Diagnostics())
	}
	l := d.lock(root)
	if ds := r.Diagnostics(); ds.HasErrors() {
		return nil, advised(ds)
	}
	return l, nil
}

func advised(ds source.Diagnostics) source.Diagnostics {
	last := &ds[len(ds)-1]
	if last.Detail != "" {
		last.Detail += "\n"
	}
	last.Detail += advice
	return ds
}

// aliasIn returns the first alias in a node, nil for none.
func aliasIn(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n
	}
	for _, child := range n.Content {
		if alias := aliasIn(child); alias != nil {
			return alias
		}
	}
	return nil
}

type decoder struct{ *source.Report }

func (d decoder) lock(root *yaml.Node) *Lock {
	l := &Lock{}
	var version int64
	ok := d.Read(root, "husk.lock",
		source.KeyOf("version", &version, func(n *yaml.Node) (int64, bool) { return d.number(n, "the version of the lock") }),
		source.On("providers", func(f source.Field) bool {
			seen := map[[3]string]bool{}
			for _, e := range d.Elements(f.Value, "providers") {
				p, ok := d.provider(e)
				if !ok {
					continue
				}
				if seen[p.key()] {
					d.Errorf(e, "%s %s is locked twice", p.Name, p.Version)
				}
				seen[p.key()] = true
				l.Providers = append(l.Providers, p)
			}
			return true
		}),
	)
	if ok && version != format {
		d.Add(d.File.Errorf(source.Of(root), "the lock has the version %d, and this version of husk reads %d", version, format))
	}
	l.sort()
	return l
}

func (d decoder) number(n *yaml.Node, what string) (int64, bool) {
	text, ok := d.Text(n, what)
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number < 0 {
		d.Errorf(n, "%s must be a number, not %q", what, text)
		return 0, false
	}
	return number, true
}

var digestSyntax = lazyregexp.Regexp{Syntax: `^sha256:[0-9a-f]{64}$`}

func (d decoder) digest(what string) func(n *yaml.Node) (string, bool) {
	return func(n *yaml.Node) (string, bool) {
		text, ok := d.Text(n, what)
		if ok && !digestSyntax.Get().MatchString(text) {
			d.Errorf(n, "%q is not a digest, which is sha256: and 64 hexadecimal digits", text)
			return "", false
		}
		return text, ok
	}
}

func (d decoder) provider(n *yaml.Node) (p Provider, ok bool) {
	ok = d.Read(n, "a locked provider",
		d.TextKey("name", &p.Name, "a provider's name"),
		d.TextKey("source", &p.Source, "a provider's source"),
		d.TextKey("from", &p.From, "where a provider is"),
		d.TextKey("commit", &p.Commit, "a commit"),
		source.KeyOf("version", &p.Version, func(n *yaml.Node) (string, bool) {
			text, ok := d.Text(n, "a provider's version")
			if !ok {
				return "", false
			}
			v, err := semver.Parse(text)
			if err != nil {
				d.Errorf(n, "%q is not a version such as 4.16.0", text)
				return "", false
			}
			return v.String(), true
		}),
		source.KeyOf("digest", &p.Digest, d.digest("a digest")),
		source.KeyOf("size", &p.Size, func(n *yaml.Node) (int64, bool) { return d.number(n, "a size") }),
		source.KeyOf("manifest", &p.Manifest, d.digest("the digest of a manifest")),
		source.KeyOf("signer", &p.Signer, func(n *yaml.Node) (*Signer, bool) {
			s := &Signer{}
			ok := d.Read(n, "a signer", d.TextKey("key", &s.Key, "a key"), d.TextKey("identity", &s.Identity, "an identity"), d.TextKey("issuer", &s.Issuer, "an issuer"))
			if ok && *s == (Signer{}) {
				d.Errorf(n, "a signer has a key or an identity")
				ok = false
			}
			return s, ok
		}),
		source.KeyOf("requests", &p.Requests, func(n *yaml.Node) (all []Request, ok bool) {
			ok = true
			for _, e := range d.Elements(n, "requests") {
				r, fine := d.request(e)
				all, ok = append(all, r), ok && fine
			}
			return all, ok
		}),
	)
	if !ok {
		return p, false
	}
	for _, missing := range []struct {
		name  string
		given bool
	}{{"name", p.Name != ""}, {"source", p.Source != ""}, {"version", p.Version != ""}, {"digest", p.Digest != ""}, {"size", p.Size > 0}} {
		if !missing.given {
			d.Errorf(n, "a locked provider has no %s", missing.name)
			return p, false
		}
	}
	return p, true
}

func (d decoder) request(n *yaml.Node) (r Request, ok bool) {
	ok = d.Read(n, "a request",
		d.TextKey("capability", &r.Capability, "a capability"),
		d.TextKey("scope", &r.Scope, "a scope"),
		d.BoolKey("optional", &r.Optional),
	)
	if ok && r.Capability == "" {
		d.Errorf(n, "a request has no capability")
		ok = false
	}
	return r, ok
}

func (p Provider) key() [3]string { return [3]string{p.Name, p.Source, p.Version} }

func (l *Lock) sort() {
	sorted.By(l.Providers, func(a, b Provider) int {
		x, _ := semver.Parse(a.Version)
		y, _ := semver.Parse(b.Version)
		return cmp.Or(cmp.Compare(a.Name, b.Name), x.Compare(y), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Source, b.Source))
	})
}

// Encode returns the text of the lock. Equal locks have the same text.
func (l *Lock) Encode() ([]byte, error) {
	l.sort()
	var b bytes.Buffer
	b.WriteString(header)
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(struct {
		Version   int        `yaml:"version"`
		Providers []Provider `yaml:"providers"`
	}{format, l.Providers})
	return b.Bytes(), errors.Join(err, e.Close())
}

// Write writes the lock of a project, if it differs from the file, and reports whether it did. A lock that has never been
// written, and has nothing, is not written.
func (l *Lock) Write(p *program.Project) (changed bool, err error) {
	text, err := l.Encode()
	if err != nil {
		return false, err
	}
	before, err := p.Root.ReadFile(program.LockFile, source.MaxFileSize)
	switch {
	case err == nil && bytes.Equal(before, text), errors.Is(err, os.ErrNotExist) && len(l.Providers) == 0:
		return false, nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return false, err
	}
	if err := p.Root.WriteFile(program.LockFile, text, 0o644); err != nil {
		return false, fmt.Errorf("cannot write the lock: %w", err)
	}
	return true, nil
}

// Of returns the locked module of a provider that a project lists with a source, nil if there is none.
func (l *Lock) Of(declared *program.ProviderPlugin) (*Provider, error) {
	r, err := versionrange.Parse(declared.Version)
	if err != nil {
		return nil, err
	}
	for i := range slices.Backward(l.Providers) { // the newest first
		p := &l.Providers[i]
		if p.Name != declared.Name || p.Source != declared.Source {
			continue
		}
		if v, err := semver.Parse(p.Version); err == nil && (r.Contains(v) || r.String() == "") {
			return p, nil
		}
	}
	return nil, nil
}

// Why says why [Lock.Of] has no module of a provider.
func (l *Lock) Why(declared *program.ProviderPlugin) string {
	i := slices.IndexFunc(l.Providers, func(p Provider) bool { return p.Name == declared.Name })
	if i < 0 {
		return "husk.lock does not have it"
	}
	p := l.Providers[i]
	if p.Source != declared.Source {
		return fmt.Sprintf("husk.lock has it from %s", p.Source)
	}
	return fmt.Sprintf("husk.lock has version %s, and the project asks for %s", p.Version, declared.Version)
}

// Set locks a module, in place of another that stands for the same provider of the project; nil for none.
func (l *Lock) Set(p Provider, replaced *Provider) {
	l.Providers = slices.DeleteFunc(l.Providers, func(o Provider) bool {
		return o.key() == p.key() || replaced != nil && o.key() == replaced.key()
	})
	l.Providers = append(l.Providers, p)
	l.sort()
}

// Keep removes what keep does not want.
func (l *Lock) Keep(keep func(Provider) bool) {
	l.Providers = slices.DeleteFunc(l.Providers, func(p Provider) bool { return !keep(p) })
}
