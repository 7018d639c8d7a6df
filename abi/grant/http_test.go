package grant

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/base/httprequest"
)

func TestParseHTTP(t *testing.T) {
	for text, want := range map[string]HTTP{
		"https://api.example.org":         {Scheme: "https", Host: "api.example.org", Port: 443},
		"https://API.Example.org./":       {Scheme: "https", Host: "api.example.org", Port: 443},
		"http://127.0.0.1:8080":           {Scheme: "http", Host: "127.0.0.1", Port: 8080},
		"http://[::ffff:127.0.0.1]:8080/": {Scheme: "http", Host: "127.0.0.1", Port: 8080},
		"https://[2001:DB8::1]/v1/":       {Scheme: "https", Host: "2001:db8::1", Port: 443, Path: "/v1"},
		"https://*.example.org:8443/a/b":  {Scheme: "https", Host: "*.example.org", Port: 8443, Path: "/a/b"},
	} {
		got, err := ParseHTTP(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		again, err := ParseHTTP(got.String())
		require.NoError(t, err)
		require.Equal(t, got, again, "a grant can be read as it is shown")
	}
	got, err := ParseHTTP("https://example.org", "GET", "POST")
	require.NoError(t, err)
	require.Equal(t, []string{"GET", "POST"}, got.Methods)
}

func TestParseHTTPRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "does not begin with https:// or http://",
		"api.example.org":              "does not begin with https:// or http://",
		"ftp://example.org":            "does not begin with https:// or http://",
		"https:example.org":            "the URL has no host",
		"https://":                     "the URL has no host",
		"https://*":                    `"*" is not the name of a host`,
		"https://*.10.0.0.1":           "a * stands for names, not for addresses",
		"https://a.*.example.org":      `"a.*.example.org" is not the name of a host`,
		"https://exämple.org":          "begins with xn--",
		"https://u:secret@example.org": "credentials belong into the Authorization header",
		"https://example.org:0":        "0 is not a port",
		"https://example.org:70000":    "70000 is not a port",
		"https://[fe80::1%25eth0]":     "an address with a zone",
		"https://example.org/?a=b":     "without a query",
		"https://example.org/a/../b":   "a dot segment",
		"https://example.org/%zz":      "invalid URL escape",
		"https://a" + strings.Repeat("x", httprequest.MaxURL): "at most 16384 are possible",
	} {
		_, err := ParseHTTP(text)
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "secret")
	}
	for _, method := range []string{"", "get", "GET POST"} {
		_, err := ParseHTTP("https://example.org", method)
		require.ErrorContains(t, err, "is not a method such as GET or POST")
	}
}

func TestHTTPCovers(t *testing.T) {
	for grant, urls := range map[string]struct{ yes, no []string }{
		"https://example.org": {
			yes: []string{"https://example.org", "https://EXAMPLE.org:443/a/b?c#d", "https://example.org./"},
			no:  []string{"http://example.org", "https://example.org:8443", "https://www.example.org", "https://example.org.evil.net", "https://evilexample.org"},
		},
		"https://example.org/v1": {
			yes: []string{"https://example.org/v1", "https://example.org/v1/", "https://example.org/v1/a/b", "https://example.org/v1?a=/../b",
				"https://example.org/%76%31/a", "https://example.org/v1/group%2Fname", "https://example.org/v1/a..b/...x"},
			no: []string{"https://example.org/", "https://example.org/v10", "https://example.org/V1", "https://example.org//v1", "https://example.org/v1%2Fa",
				"https://example.org/v1/../admin", "https://example.org/v1/%2e%2E/admin", "https://example.org/v1/..%2fadmin",
				"https://example.org/v1/a%5c..%5cadmin", "https://example.org/v1/..;x=y/admin", "https://example.org/v1/./a"},
		},
		"http://*.example.org": {
			yes: []string{"http://a.example.org", "http://a.example.org/c"},
			no:  []string{"http://a.b.example.org/c", "http://example.org", "http://.example.org", "http://aexample.org", "http://a.example.org.net"},
		},
		"http://**.example.org": {
			yes: []string{"http://a.example.org", "http://a.b.example.org/c"},
			no:  []string{"http://example.org", "http://aexample.org", "http://a.example.org.net", "http://evil.net/a.example.org"},
		},
		"http://127.0.0.1:8080": {
			yes: []string{"http://127.0.0.1:8080/a", "http://[::ffff:7f00:1]:8080"},
			no:  []string{"http://127.0.0.1", "http://localhost:8080", "http://127.1:8080", "http://2130706433:8080", "http://0x7f.1:8080"},
		},
	} {
		g, err := ParseHTTP(grant)
		require.NoError(t, err)
		for _, covered := range []bool{true, false} {
			list := urls.no
			if covered {
				list = urls.yes
			}
			for _, text := range list {
				target, err := httprequest.ParseTarget(text)
				require.Equal(t, covered, err == nil && g.Covers(httprequest.New("GET", target), target.Host), "%s of %s", text, grant)
			}
		}
	}
}
