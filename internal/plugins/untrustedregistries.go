package plugins

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	orasregistry "oras.land/oras-go/v2/registry"

	"github.com/husk-dev/husk/internal/base/egress"
	"github.com/husk-dev/husk/internal/base/hostname"
	"github.com/husk-dev/husk/internal/registry"
)

// A project that is not trusted can use registries on the Internet, without the operator's credentials. It can use inside
// registries, and credentials, only as the operator's environment names them: a namespace of a registry, or all of one, as a
// mirror or as a registry for names. Redirects, and where tokens are issued, are held to the same.

// place is a namespace of a registry that the operator has named; an empty one is all of the host.
type place struct {
	// host is a host and port.
	host, namespace string
}

// placeOf returns the place that HOST or HOST/NAMESPACE names.
func placeOf(text string) place {
	host, namespace, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(text, "oci://"), "/"), "/")
	u := &url.URL{Scheme: "https", Host: orasregistry.Reference{Registry: host}.Host()} // Docker Hub's host has another name
	if hostname.IsThisMachine(u.Hostname()) {
		u.Scheme = "http" // without TLS
	}
	return place{hostPort(u), namespace}
}

// hostPort returns the host and port that a URL leads to.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// covers reports whether a URL is one of the place, as the protocol of registries has them: /v2/NAMESPACE/…. A path that servers may
// read in two ways is none.
func (p place) covers(u *url.URL) bool {
	switch {
	case hostPort(u) != p.host:
		return false
	case p.namespace == "":
		return true
	}
	return u.RawPath == "" && path.Clean(u.Path) == strings.TrimSuffix(u.Path, "/") && !strings.ContainsAny(u.Path, "\\;%") &&
		strings.HasPrefix(u.Path, "/v2/"+p.namespace+"/")
}

// maxTold bounds the URLs of tokens that registries tell.
const maxTold = 1024

// reach sends what a project that is not trusted asks of registries. It implements [http.RoundTripper].
type reach struct {
	places []place
	realms []registry.Realm
	// open reaches the hosts of the places, wherever they are, and closed none of them that is inside.
	open, closed http.RoundTripper

	mu sync.Mutex
	// told are the URLs at which places have said that their tokens are issued, behind the host of their registry.
	told map[string]bool
}

func newReach(mirrors []registry.Mirror, realms []registry.Realm) *reach {
	r := &reach{realms: realms, told: make(map[string]bool)}
	for _, m := range mirrors {
		r.places = append(r.places, placeOf(m.Prefix))
	}
	for one := range strings.SplitSeq(os.Getenv(registriesVariable), ",") {
		if one = strings.TrimSpace(one); one != "" {
			r.places = append(r.places, placeOf(one))
		}
	}
	return r
}

// covers reports whether the operator has named a URL.
func (r *reach) covers(u *url.URL) bool {
	return slices.ContainsFunc(r.places, func(p place) bool { return p.covers(u) })
}

// over returns the reach, which sends with the settings of a transport.
func (r *reach) over(base *http.Transport) http.RoundTripper {
	named := func(host string, port uint16) bool {
		at := net.JoinHostPort(strings.ToLower(host), strconv.Itoa(int(port)))
		return slices.ContainsFunc(r.places, func(p place) bool { return p.host == at }) ||
			slices.ContainsFunc(r.realms, func(realm registry.Realm) bool { return placeOf(realm.Host).host == at })
	}
	allowing := &egress.Dialer{Allow: func(host string, _ netip.Addr, port uint16) bool { return named(host, port) }}
	r.open = egress.NewTransport(base, allowing, base.Proxy, egress.Via{Named: named})
	r.closed = egress.NewTransport(base, new(egress.Dialer), base.Proxy, egress.Via{}) // which has connections of its own
	return r
}

// RoundTrip implements [http.RoundTripper].
func (r *reach) RoundTrip(request *http.Request) (*http.Response, error) {
	asked := registry.Asked(request)
	covered := r.covers(request.URL)
	if !covered && !r.isTold(asked, request.URL) {
		response, err := r.closed.RoundTrip(request)
		if inside, ok := errors.AsType[*egress.AddressError](err); ok {
			err = fmt.Errorf("the project is not trusted, and %w: who runs it can name a registry inside, with its port and namespace, in %s or %s", inside, mirrorsVariable, registriesVariable)
		}
		return response, err
	}
	response, err := r.open.RoundTrip(request)
	if err == nil && covered && response.StatusCode == http.StatusUnauthorized {
		r.hear(asked, request.URL, response)
	}
	return response, err
}

// isTold reports whether a URL issues the tokens of a registry.
func (r *reach) isTold(asked string, u *url.URL) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return asked != "" && r.told[toldBy(asked, u)]
}

func toldBy(asked string, u *url.URL) string {
	return placeOf(asked).host + " " + u.Scheme + "://" + hostPort(u) + u.EscapedPath()
}

// hear notes where a registry, which is itself asked in a place, has its tokens issued: at its own host, or at one that the operator
// has named for that.
func (r *reach) hear(asked string, from *url.URL, response *http.Response) {
	own := placeOf(asked).host
	if asked == "" || own != hostPort(from) {
		return
	}
	for _, challenge := range response.Header.Values("Www-Authenticate") {
		realm, err := url.Parse(registry.ChallengedRealm(challenge))
		if err != nil || realm.Host == "" {
			continue
		}
		issues := slices.ContainsFunc(r.realms, func(known registry.Realm) bool {
			return placeOf(known.Registry).host == own && placeOf(known.Host).host == hostPort(realm)
		})
		if hostPort(realm) != own && !issues {
			continue
		}
		r.mu.Lock()
		if len(r.told) < maxTold {
			r.told[toldBy(asked, realm)] = true
		}
		r.mu.Unlock()
	}
}
