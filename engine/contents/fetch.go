package contents

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/husk-dev/husk/internal/base/egress"
)

// Fetch begins to read what an http or https URL names. The caller closes it.
type Fetch func(context.Context, Remote) (io.ReadCloser, error)

// Remote is a URL to fetch.
type Remote struct {
	URL *url.URL
	// Named is the host and port that the program itself wrote, empty for none. A connection to it may go
	// anywhere, others only to the Internet.
	Named string
	// Foreign marks a URL that the program did not choose, or not all of.
	Foreign bool
	// Untrusted says that it is foreign because the project is.
	Untrusted bool
}

const (
	// maxRedirects is how many redirects a fetch follows, as net/http does.
	maxRedirects = 10
	// fetchSilence ends a fetch in which nothing has arrived for so long.
	fetchSilence = 2 * time.Minute
)

// HTTP fetches over the network. A redirect is followed to the Internet or to the host that the program
// named. If that host is in a private network, redirects may lead within private networks. proxy is as in
// [http.Transport]; nil uses none. It is given addresses that were judged, beside the host that the program named.
func HTTP(proxy func(*http.Request) (*url.URL, error)) Fetch {
	return func(ctx context.Context, r Remote) (io.ReadCloser, error) {
		f := &fetch{remote: r}
		f.dialer.Timeout = 30 * time.Second
		f.dialer.Allow = f.allows
		base := &http.Transport{
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    15 * time.Second,
			ResponseHeaderTimeout:  fetchSilence,
			MaxResponseHeaderBytes: 256 << 10,
			ForceAttemptHTTP2:      true,
			DisableKeepAlives:      true,
		}
		transport := egress.NewTransport(base, &f.dialer, proxy, egress.Via{Named: f.isNamed, Unresolved: !r.Foreign})
		transport.WrapConnections(func(c net.Conn) net.Conn { return &impatient{Conn: c} })
		client := http.Client{Transport: transport, CheckRedirect: f.redirected}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL.String(), nil)
		if err != nil {
			return nil, err
		}
		// A body that was compressed for the way must not be taken for the contents.
		request.Header.Set("Accept-Encoding", "identity")
		response, err := client.Do(request)
		if err != nil {
			if failure, ok := errors.AsType[*url.Error](err); ok {
				err = failure.Err // it has the whole URL in it
			}
			if refused, ok := errors.AsType[*egress.AddressError](err); ok {
				err = f.refusal(refused)
			}
			return nil, err
		}
		if response.StatusCode != http.StatusOK {
			response.Body.Close()
			return nil, fmt.Errorf("the server answered %s", response.Status)
		}
		return response.Body, nil
	}
}

// fetch is one fetch. Its connections serve nothing else.
type fetch struct {
	remote Remote
	dialer egress.Dialer

	mu sync.Mutex
	// private is set once the host that the program named has led into a private network.
	private bool
}

// allows reports whether a connection may go to an address inside.
func (f *fetch) allows(host string, addr netip.Addr, port uint16) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isNamed(host, port) {
		f.private = f.private || egress.IsPrivate(addr)
		return true
	}
	return !f.remote.Foreign && f.private && egress.IsPrivate(addr)
}

// isNamed reports whether the program named a host. A server may redirect from http to https.
func (f *fetch) isNamed(host string, port uint16) bool {
	last := strings.LastIndexByte(f.remote.Named, ':')
	if last < 0 || !strings.EqualFold(f.remote.Named[:last], host) {
		return false
	}
	named := f.remote.Named[last+1:]
	return named == fmt.Sprint(port) || named == "80" && port == 443
}

// redirected bounds redirects. Where they lead is judged when they are followed. The server there does not learn the URL
// before, which may have a password or a key in it.
func (f *fetch) redirected(r *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fmt.Errorf("it was redirected more than %d times", maxRedirects)
	}
	r.Header.Del("Referer")
	return nil
}

// refusal says what can be done about an address.
func (f *fetch) refusal(refused *egress.AddressError) error {
	if f.remote.Untrusted {
		return fmt.Errorf("%w, and the project is not trusted, so that its URLs lead to the Internet alone: use fn::fileAsset or fn::fileArchive with a path in the project, %s", refused, ifTrusted)
	}
	if f.remote.Foreign && f.remote.Named == "" {
		return fmt.Errorf("%w, and the program did not choose the URL: write its scheme and host in the program, or take them from the configuration", refused)
	}
	return fmt.Errorf("%w, and the program has not named it: the server has redirected there", refused)
}

// impatient is a connection on which something has to arrive now and then.
type impatient struct{ net.Conn }

func (c *impatient) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(fetchSilence)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}
