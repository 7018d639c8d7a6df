package faultproxy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/testkit/faultproxy"
)

// server counts its requests, and answers with a text.
func server(t *testing.T, text string) (address string, count *atomic.Int32) {
	count = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, text)
		count.Add(1)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), count
}

func get(t *testing.T, p *faultproxy.Proxy) string {
	resp, err := http.Get("http://" + p.Address())
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return string(text)
}

func until(count *atomic.Int32, want int32) {
	for count.Load() < want {
		time.Sleep(time.Millisecond)
	}
}

func TestDouble(t *testing.T) {
	address, count := server(t, "one")
	p := faultproxy.Start(t, address)
	p.Double(true)
	for n := range int32(3) {
		require.Equal(t, "one", get(t, p))
		until(count, 2*n+2)
	}
	p.Double(false)
	p.Cut()
	require.Equal(t, "one", get(t, p))
	until(count, 7)
	p.Close()
	require.EqualValues(t, 7, count.Load())
}

func TestRoute(t *testing.T) {
	one, _ := server(t, "one")
	two, _ := server(t, "two")
	p := faultproxy.Start(t, one)
	require.Equal(t, "one", get(t, p))
	p.Route(two)
	require.Equal(t, "one", get(t, p), "the connection stays")
	p.Cut()
	require.Equal(t, "two", get(t, p))
}
