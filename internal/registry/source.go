// Package registry fetches provider modules by reference, and publishes them: from and to OCI registries, as
// artifacts in the layout of the CNCF for WebAssembly, from HTTPS, and from OCI layouts in directories. What it fetches
// is verified by size and digest before anything else reads it, and is installed in a cache as a whole or not at all.
package registry

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/blang/semver/v4"
	orasregistry "oras.land/oras-go/v2/registry"
)

// Kind is where a source is.
type Kind uint8

// The kinds of sources.
const (
	// OCI is a repository of a registry: oci://HOST/NAMESPACE/NAME.
	OCI Kind = iota
	// Web is a single file: https://HOST/NAME.wasm.
	Web
	// Layout is a repository in an OCI layout in a directory: oci-layout:DIRECTORY, or oci-layout:DIRECTORY#REPOSITORY.
	Layout
)

// The prefixes of sources.
const (
	schemeOCI    = "oci://"
	schemeLayout = "oci-layout:"
)

// maxSource bounds the text of a source, in bytes.
const maxSource = 2048

// Source says where the versions of a module are.
type Source struct {
	Kind Kind
	// Repository is HOST/NAMESPACE/NAME of a registry, or the repository within a layout, which may be empty.
	Repository string
	// URL is the address of a file on the web.
	URL string
	// Dir is the directory of a layout.
	Dir string
}

// ParseSource reads a source of a project file. A path is none.
func ParseSource(text string) (Source, error) {
	if len(text) > maxSource {
		return Source{}, fmt.Errorf("a source has at most %d bytes, not %d", maxSource, len(text))
	}
	switch {
	case strings.HasPrefix(text, schemeOCI):
		ref, err := ParseReference(text)
		if err != nil {
			return Source{}, err
		}
		if ref.Tag != "" {
			return Source{}, fmt.Errorf("%q has a tag or digest: write the version under version; husk.lock pins the digest", text)
		}
		return ref.Source, nil
	case strings.HasPrefix(text, schemeLayout):
		dir, repository, _ := strings.Cut(strings.TrimPrefix(text, schemeLayout), "#")
		if dir == "" {
			return Source{}, fmt.Errorf("%q names no directory", text)
		}
		return Source{Kind: Layout, Dir: dir, Repository: repository}, nil
	case strings.HasPrefix(text, "https://"), strings.HasPrefix(text, "http://"):
		return parseWeb(text)
	case strings.HasPrefix(text, "git+"):
		return Source{}, fmt.Errorf("%q: sources in git are not supported: clone the repository, and name the directory as path", text)
	}
	return Source{}, fmt.Errorf("%q is not a source: it has the form oci://registry.example.com/namespace/name, https://example.com/name.wasm, or oci-layout:directory; a file or directory of source is named as path", text)
}

func parseWeb(text string) (Source, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "":
		return Source{}, fmt.Errorf("%q is not a URL", text)
	case u.User != nil:
		return Source{}, fmt.Errorf("%q has a user name or password, which would be in husk.lock: leave them out", u.Redacted())
	case u.Fragment != "":
		return Source{}, fmt.Errorf("%q has a fragment (#%s): leave it out", text, u.Fragment)
	}
	if err := checkScheme(u); err != nil {
		return Source{}, err
	}
	return Source{Kind: Web, URL: text}, nil
}

// String returns the text of the source.
func (s Source) String() string {
	switch s.Kind {
	case OCI:
		return schemeOCI + s.Repository
	case Web:
		return s.URL
	}
	if s.Repository == "" {
		return schemeLayout + s.Dir
	}
	return schemeLayout + s.Dir + "#" + s.Repository
}

// At returns the source with its directory, if it has one, below another.
func (s Source) At(dir string) Source {
	if s.Kind == Layout && !filepath.IsAbs(s.Dir) {
		s.Dir = filepath.Join(dir, filepath.FromSlash(s.Dir))
	}
	return s
}

// HasVersions reports whether the source can have several versions.
func (s Source) HasVersions() bool { return s.Kind != Web }

// Reference is an artifact of a repository in a registry.
type Reference struct {
	Source
	// Tag is a tag or a digest, empty for none.
	Tag string
}

// ParseReference reads HOST/NAMESPACE/NAME, with :TAG or @DIGEST behind it or not, and oci:// before it or not.
func ParseReference(text string) (Reference, error) {
	name := strings.TrimPrefix(text, schemeOCI)
	ref, err := orasregistry.ParseReference(name)
	if err != nil || len(text) > maxSource {
		return Reference{}, fmt.Errorf("%q is not a reference such as registry.example.com/namespace/name or registry.example.com/namespace/name:1.2.0", text)
	}
	return Reference{Source{Kind: OCI, Repository: ref.Registry + "/" + ref.Repository}, ref.Reference}, nil
}

// String returns the text of the reference, without oci://.
func (r Reference) String() string {
	switch {
	case r.Tag == "":
		return r.Repository
	case strings.Contains(r.Tag, ":"):
		return r.Repository + "@" + r.Tag
	}
	return r.Repository + ":" + r.Tag
}

// Tag returns the tag of a version. Tags cannot have the "+" before build metadata, which is "_" there, as in Helm.
func Tag(version string) string { return strings.ReplaceAll(version, "+", "_") }

// versionOf returns the version of a tag, and whether the tag is one.
func versionOf(tag string) (semver.Version, bool) {
	v, err := semver.Parse(strings.Replace(strings.TrimPrefix(tag, "v"), "_", "+", 1))
	return v, err == nil
}

// isLoopback reports whether a host, with or without a port, is this machine.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

var errPlain = errors.New("plain HTTP is allowed on this machine only: use https")

// checkScheme refuses connections that others can read or change.
func checkScheme(u *url.URL) error {
	if u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Host) {
		return nil
	}
	return fmt.Errorf("%s: %w", u.Redacted(), errPlain)
}
