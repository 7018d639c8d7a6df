package main_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// A server that ends sends its last metrics to the collector of its environment.
func TestMetricsAtTheEnd(t *testing.T) {
	sent := make(chan string, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err == nil && r.URL.Path == "/v1/metrics" {
			sent <- string(text)
		}
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	s := begin(t)
	require.NoError(t, s.serving.Process.Signal(os.Interrupt))
	require.NoError(t, s.serving.Wait())
	text := <-sent
	require.Contains(t, text, `{"key":"service.name","value":{"stringValue":"husk-server"}}`)
	require.Contains(t, text, `"name":"husk.workers"`)

	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "often")
	out, err := s.husk("", "server", "--dir", t.TempDir(), "--listen", "127.0.0.1:0")
	require.Error(t, err)
	require.Contains(t, out, `metrics: OTEL_METRIC_EXPORT_INTERVAL is "often"; it is a number of milliseconds`)
}
