package port

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	modsemver "golang.org/x/mod/semver"

	"github.com/husk-dev/husk/engine/program/source"
	"github.com/husk-dev/husk/internal/port/known"
	"github.com/husk-dev/husk/internal/registry"
)

// reference is SOURCE as a module of a proxy, or a repository of git.
type reference struct {
	module, version, main string
	// repository is the source in git: of a tag that no proxy serves if there is a module, too.
	repository registry.Source
}

// latest is the version of those who name none.
const latest = "latest"

// registryHosts are registries whose addresses HOST/NAMESPACE/NAME name repositories at GitHub.
var registryHosts = []string{"registry.terraform.io/", "registry.opentofu.org/"}

// pulumiNamespaces hold the packages of Pulumi.
var pulumiNamespaces = []string{"pulumi", "pulumiverse"}

var namePart = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// parseReference reads what people call a provider: NAME, NAMESPACE/NAME, an address in a registry, the path of a Go module, and
// the URL of a repository, each with or without @VERSION.
func parseReference(text string) (reference, error) {
	if strings.Contains(text, "://") {
		return parseRepository(text)
	}
	name, rest, versioned := strings.Cut(text, "@")
	version, main, _ := strings.Cut(rest, "/")
	switch {
	case versioned && version == "":
		return reference{}, fmt.Errorf("%s names no version: leave out the @ for the newest", text)
	case version == "":
		version = latest
	case version[0] >= '0' && version[0] <= '9' && modsemver.IsValid("v"+version):
		version = "v" + version // as registries have it
	}
	r := reference{version: version, main: main}
	if main != "" && !filepath.IsLocal(filepath.FromSlash(main)) {
		return r, fmt.Errorf("%s: the package %q is not in the module", text, main)
	}
	var err error
	if r.module, err = moduleOf(text, name); err != nil {
		return r, err
	}
	if err := module.CheckPath(r.module); err != nil {
		return r, fmt.Errorf("%s is neither a directory nor a provider: %w", text, err)
	}
	if prefix, _, ok := module.SplitPathVersion(r.module); ok && (strings.HasPrefix(prefix, "github.com/") || strings.HasPrefix(prefix, "gitlab.com/")) && strings.Count(prefix, "/") == 2 {
		r.repository = registry.Source{Kind: registry.Git, URL: "https://" + prefix, Ref: version}
	}
	return r, nil
}

// moduleOf returns the Go module that a name stands for.
func moduleOf(text, name string) (string, error) {
	for _, host := range registryHosts {
		if address, ok := strings.CutPrefix(name, host); ok {
			if strings.Count(address, "/") != 1 {
				return "", fmt.Errorf("%s: an address in that registry has the form %sNAMESPACE/NAME@VERSION", text, host)
			}
			name = address
			break
		}
	}
	parts := strings.Split(name, "/")
	if len(parts) > 2 || strings.Contains(parts[0], ".") {
		return name, nil
	}
	if slices.ContainsFunc(parts, func(part string) bool { return !namePart.MatchString(part) }) {
		return "", fmt.Errorf("%s is neither a directory nor the name of a provider, such as hashicorp/time", text)
	}
	if module := known.Module(name); module != "" {
		return module, nil
	}
	own := parts[len(parts)-1]
	if len(parts) == 2 && !slices.Contains(pulumiNamespaces, parts[0]) {
		return "github.com/" + parts[0] + "/terraform-provider-" + own, nil
	}
	if module := known.Module(strings.TrimPrefix(own, "pulumi-")); module != "" {
		return module, nil
	}
	if len(parts) == 2 {
		name := strings.TrimPrefix(own, "pulumi-")
		return "", fmt.Errorf("there is no directory %s, and no provider for Terraform is known of which Pulumi's package %s is made\n"+
			"port its own provider by its repository, such as github.com/%s/pulumi-%[2]s, "+
			"or list Pulumi's plugin of it: native: true runs that without a sandbox", text, name, parts[0])
	}
	names := slices.DeleteFunc(known.Names(), func(name string) bool { return strings.Contains(name, "/") })
	return "", fmt.Errorf("there is no directory %s, and no provider is known by the name %s%s\n"+
		"name it as Terraform's registry has it, NAMESPACE/%s, or by its Go module or repository", text, own, source.DidYouMean(own, names), own)
}

// gitForm matches the begin and the end of a repository's address, in the forms of Husk and of Terraform.
var gitForm = regexp.MustCompile(`^(?:git\+|git::)?([a-z]+://[^?]*?)(?:\?ref=(.+))?$`)

// parseRepository reads URL@REF, with //DIRECTORY before the reference if the provider is not at the top.
func parseRepository(text string) (reference, error) {
	found := gitForm.FindStringSubmatch(text)
	if found == nil {
		return reference{}, fmt.Errorf("%s is not the URL of a repository", text)
	}
	url := "git+" + found[1]
	if found[2] != "" {
		url += "@" + found[2]
	}
	from, err := registry.ParseSource(url)
	if err == nil && from.Ref == "" {
		err = fmt.Errorf("%s names no tag: add one, such as @v1.2.0", text)
	}
	return reference{repository: from, version: path.Base(from.Ref)}, err
}

// paths are the paths that the module may have at its version, the likeliest first: from version 2 on the path of most modules
// ends with the major version.
func (r reference) paths() []string {
	prefix, major, ok := module.SplitPathVersion(r.module)
	if !ok || major != "" || !modsemver.IsValid(r.version) {
		return []string{r.module}
	}
	if at := modsemver.Major(r.version); at != "v0" && at != "v1" {
		return []string{prefix + "/" + at, r.module}
	}
	return []string{r.module}
}
