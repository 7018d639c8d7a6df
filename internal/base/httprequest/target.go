// Package httprequest reads the parts of an HTTP request that a grant must allow: its target, and all that a
// service may take it for.
package httprequest

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/internal/base/hostname"
)

// MaxURL bounds a URL in bytes, like many servers.
const MaxURL = 16 << 10

// Target is the target of a request.
type Target struct {
	// URL has the host and port that were checked.
	URL  *url.URL
	Host string
	Port uint16
}

// String returns the URL without its query, which may hold secrets.
func (t *Target) String() string { return t.Origin() + t.URL.EscapedPath() }

// Origin returns the scheme, host, and port of the URL.
func (t *Target) Origin() string { return Origin(t.URL.Scheme, t.Host, t.Port) }

// ParseTarget reads an absolute URL. It makes the host's name canonical, for comparisons as text.
func ParseTarget(text string) (*Target, error) {
	if len(text) > MaxURL {
		return nil, fmt.Errorf("the URL has %d bytes, at most %d are possible", len(text), MaxURL)
	}
	u, err := url.Parse(text)
	if failure, ok := errors.AsType[*url.Error](err); ok {
		return nil, failure.Err // the URL may hold a secret
	}
	if err != nil {
		return nil, err
	}
	t := &Target{URL: u}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the URL does not begin with https:// or http://")
	case u.Opaque != "" || u.Hostname() == "":
		return nil, errors.New("the URL has no host")
	case u.User != nil:
		return nil, errors.New("the URL has a user in it; credentials belong into the Authorization header")
	}
	if t.Host, err = hostname.Canonical(u.Hostname()); err != nil {
		return nil, err
	}
	t.Port = 80
	if u.Scheme == "https" {
		t.Port = 443
	}
	if text := u.Port(); text != "" {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port == 0 {
			return nil, fmt.Errorf("%s is not a port", text)
		}
		t.Port = uint16(port)
	}
	u.Host = strings.TrimPrefix(Origin(u.Scheme, t.Host, t.Port), u.Scheme+"://")
	u.Fragment, u.RawFragment = "", ""
	return t, nil
}

// Origin returns a scheme, host, and port as a URL has them.
func Origin(scheme, host string, port uint16) string {
	text := hostname.Join(host, port)
	if scheme == "http" && port == 80 || scheme == "https" && port == 443 {
		text = text[:strings.LastIndexByte(text, ':')]
	}
	return scheme + "://" + text
}
