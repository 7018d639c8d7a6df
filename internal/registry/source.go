// Package registry fetches provider modules by reference, and publishes them: from and to OCI registries, as artifacts in the
// layout of the CNCF for WebAssembly, from HTTPS, and from OCI layouts in directories. It verifies a fetched module by size and
// digest before anything else reads it, and installs it in a cache as a whole or not at all.
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

	"github.com/husk-dev/husk/internal/base/lazyregexp"
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
	// Named is looked up in registries that are configured: NAME or NAMESPACE/NAME.
	Named
	// Git is a directory of source in a repository: git+https://HOST/REPOSITORY//DIRECTORY@REF.
	Git
)

// The prefixes of sources.
const (
	schemeOCI    = "oci://"
	schemeLayout = "oci-layout:"
	schemeGit    = "git+"
)

// maxSource bounds the text of a source, in bytes.
const maxSource = 2048

// Source says where the versions of a module are.
type Source struct {
	Kind Kind
	// Repository is HOST/NAMESPACE/NAME of a registry, the repository within a layout, which may be empty, or a name.
	Repository string
	// URL is the address of a file on the web, or of a repository of git.
	URL string
	// Dir is the directory of a layout, or of source in a repository, which is empty for its top.
	Dir string
	// Ref is a branch, tag, or commit of a repository, empty for its default branch.
	Ref string
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
	case strings.HasPrefix(text, schemeGit):
		return parseGit(text)
	}
	if nameSyntax.Get().MatchString(text) {
		return Source{Kind: Named, Repository: text}, nil
	}
	return Source{}, fmt.Errorf("%q is not a source: it has the form oci://registry.example.com/namespace/name, https://example.com/name.wasm, git+https://example.com/repository//directory@ref, or oci-layout:directory, or is a name such as namespace/name that the registries under plugins.registries have; a file or directory of source is named as path", text)
}

// IsVersionTag reports whether the source is a repository of git at the tag of a version, which is not to move.
func (s Source) IsVersionTag() bool {
	_, ok := versionOf(strings.TrimPrefix(s.Ref, "v"))
	return s.Kind == Git && ok
}

// IsGit reports whether the text of a source names a repository of git.
func IsGit(text string) bool { return strings.HasPrefix(text, schemeGit) }

// nameSyntax matches names of one or two parts.
var nameSyntax = lazyregexp.Regexp{Syntax: `^[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)?$`}

// Registry is where names are looked up: a host, perhaps with a namespace.
type Registry struct{ prefix string }

// ParseRegistry reads a registry: oci://HOST or oci://HOST/NAMESPACE.
func ParseRegistry(text string) (Registry, error) {
	prefix, ok := strings.CutPrefix(strings.TrimSuffix(strings.TrimSpace(text), "/"), schemeOCI)
	if _, err := orasregistry.ParseReference(prefix + "/name"); !ok || err != nil || len(text) > maxSource {
		return Registry{}, fmt.Errorf("%q is not a registry: it has the form oci://registry.example.com/namespace", text)
	}
	return Registry{prefix}, nil
}

// String returns the text of the registry.
func (r Registry) String() string { return schemeOCI + r.prefix }

// Source returns the source that a name would have in the registry.
func (r Registry) Source(named Source) Source {
	return Source{Kind: OCI, Repository: r.prefix + "/" + named.Repository}
}

// refSyntax matches the accepted branches, tags, and commits: git allows more.
var refSyntax = lazyregexp.Regexp{Syntax: `^[A-Za-z0-9][A-Za-z0-9._/+-]*$`}

// parseGit reads git+https://HOST/REPOSITORY//DIRECTORY@REF.
func parseGit(text string) (Source, error) {
	rest := strings.TrimPrefix(text, schemeGit)
	s := Source{Kind: Git}
	scheme, place, ok := strings.Cut(rest, "://")
	if !ok {
		return s, fmt.Errorf("%q is not a source in git: it has the form git+https://example.com/repository//directory@v1.2.0", text)
	}
	if at := strings.LastIndexByte(place, '@'); at > strings.IndexByte(place, '/') && at > 0 {
		place, s.Ref = place[:at], place[at+1:]
		if !refSyntax.Get().MatchString(s.Ref) || strings.Contains(s.Ref, "..") {
			return s, fmt.Errorf("%q has the branch or tag %q, which is not taken", text, s.Ref)
		}
	}
	place, s.Dir, _ = strings.Cut(place, "//")
	if s.Dir != "" && (!filepath.IsLocal(filepath.FromSlash(s.Dir)) || strings.Contains(s.Dir, `\`)) {
		return s, fmt.Errorf("%q names the directory %q, which is not within the repository", text, s.Dir)
	}
	web, err := parseWeb(scheme + "://" + place)
	s.URL = web.URL
	return s, err
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
	case Named:
		return s.Repository
	case Git:
		text := schemeGit + s.URL
		if s.Dir != "" {
			text += "//" + s.Dir
		}
		if s.Ref != "" {
			text += "@" + s.Ref
		}
		return text
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
func (s Source) HasVersions() bool { return s.Kind != Web && s.Kind != Git }

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
