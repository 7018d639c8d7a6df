package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	orasregistry "oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
)

// searchLimit bounds the repositories that a search looks at: a registry can have millions.
const searchLimit = 100_000

// errEnough ends the list of repositories.
var errEnough = errors.New("enough repositories")

// Found is a repository that a search has found.
type Found struct {
	// Source is where it is, and Name its name below the registry.
	Source Source
	Name   string
	// Labels are the labels of the newest version, which is empty if the repository has no versions.
	Version string
	Labels  Labels
}

// isHidden reports whether a registry does not show something, or not to this user.
func isHidden(err error) bool {
	if err == nil {
		return false
	}
	status := statusOf(err)
	return errors.Is(err, ErrNotFound) || status == http.StatusNotFound || status == http.StatusUnauthorized || status == http.StatusForbidden
}

// Search returns the repositories of a registry that have a text in their name, at most so many, and that hold modules.
// Registries without a catalog are an error.
func (c *Client) Search(ctx context.Context, in Registry, text string, most int) (found []Found, err error) {
	if c.options.Offline {
		return nil, fmt.Errorf("%s: %w", in, ErrOffline)
	}
	host, namespace, _ := strings.Cut(in.prefix, "/")
	r, err := remote.NewRegistry(host)
	if err != nil {
		return nil, err
	}
	r.Client, r.PlainHTTP = authorized{c, r.Reference.Host()}, isLoopback(host)
	r.MaxMetadataBytes = listLimit
	var names []string
	looked, pages := 0, 0
	err = r.Repositories(ctx, "", func(page []string) error {
		for _, name := range page {
			below, ok := strings.CutPrefix(name, namespace+"/")
			if namespace == "" {
				below, ok = name, true
			}
			if ok && strings.Contains(below, text) {
				names = append(names, below)
			}
		}
		looked += len(page)
		if pages++; looked >= searchLimit || pages >= pageLimit {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		if isHidden(err) || statusOf(err) == http.StatusMethodNotAllowed {
			return nil, fmt.Errorf("%s cannot be searched: it has no catalog, or not for you (%w)", in, err)
		}
		return nil, explained(in.String(), host, err)
	}
	for _, name := range names {
		if len(found) == most {
			break
		}
		one := Found{Source: in.Source(Source{Repository: name}), Name: name}
		if _, err := orasregistry.ParseReference(one.Source.Repository); err != nil {
			continue // a name that no source can have
		}
		versions, err := c.Versions(ctx, one.Source)
		if isHidden(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(versions) == 0 {
			continue
		}
		raw, _, err := c.manifest(ctx, one.Source, Tag(versions[0]))
		if _, other := errors.AsType[*NotModuleError](err); other {
			continue
		}
		if err != nil {
			return nil, err
		}
		one.Version = versions[0]
		if m, _, err := parseManifest(raw); err == nil {
			one.Labels = labelsFrom(m.Annotations)
		}
		found = append(found, one)
	}
	return found, nil
}
