package host

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A request is fulfilled by a grant of the same, or of more.
func TestRequests(t *testing.T) {
	grants := Grants{Env: []string{"HOME"}, KV: NewStore()}
	for _, dir := range []string{"out:rw", "templates"} {
		writable := dir == "out:rw"
		grant, err := ProjectGrant("/project", map[bool]string{true: "out", false: dir}[writable], writable)
		require.NoError(t, err)
		grants.FS = append(grants.FS, grant)
	}
	for _, url := range []string{"https://api.example.org/v1", "https://*.example.com"} {
		grant, err := ParseHTTPGrant(url)
		require.NoError(t, err)
		grants.HTTP = append(grants.HTTP, grant)
	}
	grant, err := ParseTCPGrant("*.example.org:5432")
	require.NoError(t, err)
	grants.TCP = append(grants.TCP, grant)

	for capability, scopes := range map[string]struct{ granted, missing []string }{
		"fs":   {[]string{"", "out", "out:rw", "out/a/b:rw", "templates", "templates/x:ro"}, []string{"templates:rw", "outer", ".", "../out", "/"}},
		"env":  {[]string{"", "HOME"}, []string{"PATH", "home"}},
		"http": {[]string{"", "https://api.example.org/v1", "https://api.example.org/v1/pets", "https://a.example.com", "https://*.a.example.com"}, []string{"https://api.example.org", "https://api.example.org/v10", "http://api.example.org/v1", "https://example.com", "api.example.org"}},
		"tcp":  {[]string{"", "db.example.org:5432", "*.example.org:5432"}, []string{"db.example.org:5433", "*.org:5432", "x"}},
		"kv":   {[]string{""}, nil},
		"usb":  {nil, []string{""}},
	} {
		for _, scope := range scopes.granted {
			request := []CapabilityRequest{{Capability: capability, Scope: scope}}
			require.Empty(t, grants.Missing(request), scope)
			require.Equal(t, request, Grants{}.Missing(request), scope)
		}
		for _, scope := range scopes.missing {
			request := []CapabilityRequest{{Capability: capability, Scope: scope}}
			require.Equal(t, request, grants.Missing(request), scope)
		}
	}
}
