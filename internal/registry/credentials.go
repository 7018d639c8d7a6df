package registry

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	orasregistry "oras.land/oras-go/v2/registry"

	"github.com/husk-dev/husk/internal/base/lazyregexp"
)

// Credentials are for the registry that they were stored for, by its scheme, host, and port. A registry may say that its
// tokens are issued elsewhere, and the credentials go there only if that is known to belong to it.

// Realm is where the tokens of a registry are issued, if that is another host than the registry's.
type Realm struct {
	// Registry and Host are hosts, perhaps with ports.
	Registry, Host string
}

// knownRealms are the realms of well-known registries on other hosts.
var knownRealms = []Realm{{"registry-1.docker.io", "auth.docker.io"}, {"registry.gitlab.com", "gitlab.com"}}

// ParseRealms reads realms as HUSK_REGISTRY_REALMS has them: REGISTRY=HOST, separated by commas.
func ParseRealms(text string) ([]Realm, error) {
	var all []Realm
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		registry, host, ok := strings.Cut(one, "=")
		for _, name := range []string{registry, host} {
			if _, err := orasregistry.ParseReference(name + "/name"); !ok || err != nil || strings.Contains(name, "/") {
				return nil, fmt.Errorf("the realm %q does not have the form registry.example.com=auth.example.com", one)
			}
		}
		all = append(all, Realm{registry, host})
	}
	return all, nil
}

// origin returns the scheme, host, and port of a URL.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// originOf returns the origin of a registry or a realm, which on this machine have plain HTTP.
func originOf(host string) string {
	u := &url.URL{Scheme: "https", Host: host}
	if isLoopback(host) {
		u.Scheme = "http"
	}
	return origin(u)
}

// asking is a request to a registry, with the requests that follow from it.
type asking struct {
	host, origin string
	realms       []string
}

type askingKey struct{}

// authorized sends requests to one registry, with the credentials for it. It implements [remote.Client].
type authorized struct {
	client *Client
	host   string
}

// Do sends a request. A registry may send an upload, or the next page of a list, to another origin. Such a request has no
// credentials, neither of the registry nor of that origin.
func (a authorized) Do(r *http.Request) (*http.Response, error) {
	asks := &asking{host: a.host, origin: originOf(a.host)}
	for _, realm := range append(slices.Clone(a.client.options.Realms), knownRealms...) {
		if originOf(realm.Registry) == asks.origin {
			asks.realms = append(asks.realms, originOf(realm.Host))
		}
	}
	r = r.Clone(context.WithValue(r.Context(), askingKey{}, asks))
	if origin(r.URL) != asks.origin {
		r.Header.Del("Authorization")
		return a.client.web.Do(r)
	}
	if entrusted := a.client.options.Entrusted; entrusted != nil && !entrusted(r.URL) {
		return a.client.anonymous.Do(r)
	}
	return a.client.auth.Do(r)
}

// Asked returns the host of the registry for which a request is sent, perhaps to another host; empty for none.
func Asked(r *http.Request) string {
	if asks, ok := r.Context().Value(askingKey{}).(*asking); ok {
		return asks.host
	}
	return ""
}

// realmSyntax matches the realm in a challenge.
var realmSyntax = lazyregexp.Regexp{Syntax: `(?i)^\s*bearer\s(?:.*[\s,])?realm\s*=\s*"([^"]*)"`}

// ChallengedRealm returns the URL at which a challenge has tokens issued, empty for none.
func ChallengedRealm(challenge string) string {
	if found := realmSyntax.Get().FindStringSubmatch(challenge); found != nil {
		return found[1]
	}
	return ""
}

// RealmError says that a registry has its credentials sent to another host.
type RealmError struct{ Registry, Host string }

func (e *RealmError) Error() string {
	return fmt.Sprintf("the registry %s has its credentials sent to %s, which may be somebody else's\n"+
		"if tokens of the registry are issued there, set HUSK_REGISTRY_REALMS=%s=%s; without credentials (docker logout %[1]s), only public modules can be fetched",
		e.Registry, e.Host, e.Registry, e.Host)
}

// checkCredentials returns an error if a request carries credentials to an origin other than the registry's or its realm's: a
// name and password, or a body, which may be a form with them.
func checkCredentials(r *http.Request) error {
	asks, ok := r.Context().Value(askingKey{}).(*asking)
	if !ok {
		return nil
	}
	is := origin(r.URL)
	if is == asks.origin || slices.Contains(asks.realms, is) {
		return nil
	}
	if r.Header.Get("Authorization") == "" && !isForm(r) {
		return nil
	}
	return &RealmError{asks.host, r.URL.Host}
}

// isForm reports whether a request has a body that is not a blob's, as questions for tokens have.
func isForm(r *http.Request) bool {
	return r.Body != nil && r.Body != http.NoBody && !strings.HasPrefix(r.Header.Get("Content-Type"), "application/octet-stream")
}
