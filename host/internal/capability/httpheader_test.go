package capability

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
)

// Credentials that are bound to a grant go with what that grant allows, and with nothing
// else.
func TestHTTPHeadersOfAGrant(t *testing.T) {
	var got http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		if r.URL.Path == "/v1/moved" {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		}
	}))
	defer server.Close()
	granted := func(url string, methods ...string) grant.HTTP {
		g, err := grant.ParseHTTP(url, methods...)
		require.NoError(t, err)
		return g
	}
	first, err := granted(server.URL+"/v1", "GET").WithHeader("authorization", "Bearer hunter2")
	require.NoError(t, err)
	first, err = first.WithHeader("X-Tenant", "7")
	require.NoError(t, err)
	second, err := granted(server.URL+"/v1/deep").WithHeader("Authorization", "Bearer other")
	require.NoError(t, err)
	client := NewHTTPClient([]grant.HTTP{granted(server.URL), first, second}, nil, nil)
	defer client.Close()
	var listed []string
	h := &HTTP{Client: client, Ledger: unbounded{}, Used: func(use Use) {
		require.NoError(t, use.Err)
		listed = append(listed, use.Needs[0].Capability+" "+use.Target)
	}}

	for _, c := range []struct {
		method, path, want string
	}{
		{"GET", "/v1/pets", "Bearer hunter2"},
		{"GET", "/v1/moved", "Bearer hunter2"},
		{"GET", "/elsewhere", "guest's"}, // as a redirect is followed
		{"POST", "/v1/pets", "guest's"},
		{"POST", "/v1/deep/pets", "Bearer other"},
		{"GET", "/v1/deep/pets", "Bearer hunter2"},
		{"GET", "/v10", "guest's"},
	} {
		r, err := h.Send(t.Context(), abi.HTTPRequest{Method: c.method, URL: server.URL + c.path + "?q=secret", Headers: []abi.HTTPHeader{
			{Name: "AUTHORIZATION", Value: []byte("guest's")}, {Name: "Authorization", Value: []byte("twice")},
		}})
		require.NoError(t, err)
		require.Equal(t, c.want, got["Authorization"][0], c)
		require.Len(t, got["Authorization"], map[bool]int{true: 2, false: 1}[c.want == "guest's"])
		require.Equal(t, "http "+c.method+" "+server.URL+c.path, listed[len(listed)-1], "a query may have secrets in it")
		require.NotContains(t, r.Headers, "hunter2")
	}
	require.NotContains(t, first.String(), "hunter2")
}

func TestHeadersThatNoGrantCanHave(t *testing.T) {
	for _, c := range []struct{ url, name, value, want string }{
		{"https://example.org", "a b", "x", `"a b" is not the name of a header`},
		{"https://example.org", "", "x", `"" is not the name of a header`},
		{"https://example.org", "host", "x", "the header Host is of the connection"},
		{"https://example.org", "content-length", "1", "the header Content-Length is of the connection"},
		{"https://example.org", "transfer-encoding", "chunked", "is of the connection"},
		{"https://example.org", "X", "hunter2\r\nY: z", "the value of the header X has a control character in it"},
		{"http://example.org", "X", "hunter2", "the header X would go to http://example.org without encryption: grant the https:// URL"},
		{"http://10.0.0.1", "X", "hunter2", "without encryption"},
	} {
		g, err := grant.ParseHTTP(c.url)
		require.NoError(t, err)
		_, err = g.WithHeader(c.name, c.value)
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "hunter2")
	}
	for _, url := range []string{"https://*.example.org", "http://localhost:8080", "http://127.0.0.1", "http://[::1]:80"} {
		g, err := grant.ParseHTTP(url)
		require.NoError(t, err)
		_, err = g.WithHeader("X-Key", "")
		require.NoError(t, err, url)
	}
}
