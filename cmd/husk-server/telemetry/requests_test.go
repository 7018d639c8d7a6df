package telemetry_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/telemetry"
)

func text(all []telemetry.Metric) string {
	var b bytes.Buffer
	for _, m := range all {
		m.WritePrometheus(&b)
	}
	return b.String()
}

// Requests are counted by the pattern of their route, so that nobody makes up series by asking for other paths and methods.
func TestRequests(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /runs/{id}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") == "none" {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte("a run"))
		require.NoError(t, http.NewResponseController(w).Flush(), "the writer of the server is within this one")
	})
	mux.HandleFunc("/states/", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/panics", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	var counted telemetry.Requests
	h := counted.Handler(mux)
	for _, ask := range [][2]string{{"GET", "/runs/1"}, {"GET", "/runs/2"}, {"GET", "/runs/none"}, {"PUT", "/states/x"}, {"MAKEUP", "/states/x"}, {"GET", "/else"}} {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(ask[0], ask[1], nil))
	}
	require.Panics(t, func() { h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/panics", nil)) })
	got := regexp.MustCompile(`(?m)^(http_server_request_duration_seconds_count.*|http_server_active_requests .*)`).FindAllString(text(counted.Metrics()), -1)
	const count = "http_server_request_duration_seconds_count{http_request_method="
	require.Equal(t, []string{
		count + `"GET",http_route="",http_response_status_code="404"} 1`,
		count + `"GET",http_route="/panics",http_response_status_code="200"} 1`,
		count + `"GET",http_route="/runs/{id}",http_response_status_code="200"} 2`,
		count + `"GET",http_route="/runs/{id}",http_response_status_code="404"} 1`,
		count + `"PUT",http_route="/states/",http_response_status_code="200"} 1`,
		count + `"_OTHER",http_route="/states/",http_response_status_code="200"} 1`,
		"http_server_active_requests 0",
	}, got)
}

// A process is as large as the system says.
func TestProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self/statm"); err != nil {
		t.Skip("the system does not say")
	}
	f, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer f.Close()
	said := text(telemetry.Process(time.Now().Add(-time.Hour)))
	for _, want := range []string{
		`process_uptime_seconds 36\d\d\.`, `process_cpu_time_seconds_total\{cpu_mode="user"\} \d`, `process_memory_usage_bytes [1-9]\d{6,}`,
		`process_unix_file_descriptor_count ([4-9]|\d\d)`, `husk_process_file_descriptor_limit [1-9]`, `go_goroutine_count [1-9]`, `go_memory_used_bytes [1-9]\d{5,}`,
	} {
		require.Regexp(t, `(?m)^`+want, said)
	}
}
