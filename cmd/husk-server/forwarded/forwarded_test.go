package forwarded_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/forwarded"
)

// Only what trusted proxies have added counts: whoever asks can send any X-Forwarded-For.
func TestClientsBehindProxies(t *testing.T) {
	for _, c := range []struct {
		trusted   []string
		from      string
		forwarded []string
		want      string
	}{
		{nil, "10.0.0.7:1234", []string{"192.0.2.1"}, "10.0.0.7:1234"},
		{[]string{"10.0.0.7"}, "10.0.0.7:1234", nil, "10.0.0.7"},
		{[]string{"10.0.0.7"}, "10.0.0.7:1234", []string{"192.0.2.1"}, "192.0.2.1"},
		{[]string{"10.0.0.7"}, "10.0.0.8:1234", []string{"192.0.2.1"}, "10.0.0.8:1234"},
		{[]string{"10.0.0.7"}, "10.0.0.7:1234", []string{"198.51.100.9, 192.0.2.1"}, "192.0.2.1"},
		{[]string{"10.0.0.7"}, "10.0.0.7:1234", []string{"10.0.0.7, 192.0.2.1"}, "192.0.2.1"},
		{[]string{"10.0.0.0/8"}, "10.0.0.7:1234", []string{"192.0.2.1, 10.2.3.4"}, "192.0.2.1"},
		{[]string{"10.0.0.0/8"}, "10.0.0.7:1234", []string{"198.51.100.9", "192.0.2.1", "10.2.3.4"}, "192.0.2.1"},
		{[]string{"10.0.0.0/8"}, "10.0.0.7:1234", []string{"10.2.3.4"}, "10.2.3.4"},
		{[]string{"10.0.0.0/8"}, "10.0.0.7:1234", []string{"192.0.2.1, unknown, 10.2.3.4"}, "10.2.3.4"},
		{[]string{"::1", "127.0.0.1"}, "[::1]:1234", []string{"[2001:db8::1]:99"}, "2001:db8::1"},
		{[]string{"127.0.0.1"}, "[::ffff:127.0.0.1]:1234", []string{"192.0.2.1:99"}, "192.0.2.1"},
		{[]string{"::ffff:127.0.0.1"}, "127.0.0.1:1234", []string{"192.0.2.1"}, "192.0.2.1"},
	} {
		proxies, err := forwarded.Parse(c.trusted)
		require.NoError(t, err)
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr, r.Header["X-Forwarded-For"] = c.from, c.forwarded
		var got string
		proxies.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr })).ServeHTTP(httptest.NewRecorder(), r)
		require.Equal(t, c.want, got, "%+v", c)
	}
	for _, wrong := range []string{"proxy.example", "10.0.0.0/33", "", "fe80::1%eth0", "10.0.0.7:80"} {
		_, err := forwarded.Parse([]string{wrong})
		require.ErrorContains(t, err, "is neither an address nor a network", wrong)
	}
}
