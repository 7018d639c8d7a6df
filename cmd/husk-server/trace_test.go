package main_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// span is a span in the JSON of OTLP.
type span struct {
	TraceID, SpanID, ParentSpanID, Name, StartTimeUnixNano, EndTimeUnixNano string

	Status struct {
		Code    int
		Message string
	}
	Attributes []struct {
		Key   string
		Value map[string]any
	}
}

// spans returns those of a file, by their names.
func spans(t *testing.T, file string) map[string]span {
	all := map[string]span{}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return all
	}
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var request struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []span } }
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &request))
		for _, s := range request.ResourceSpans[0].ScopeSpans[0].Spans {
			all[s.Name] = s
		}
	}
	return all
}

// Who asks, the server, and the worker record spans of one trace.
func TestTrace(t *testing.T) {
	files := t.TempDir()
	atServer, atWorker := filepath.Join(files, "server"), filepath.Join(files, "worker")
	s := begin(t, "--trace", atServer)
	s.login("acme", "ann", "request")
	s.worker(s.token("acme", "w", "work"), "w", "--trace", atWorker)
	dir := s.project(map[string]string{"Husk.yaml": "name: shop\nplugins: {providers: [{name: lab, path: lab.wasm}]}\nresources:\n  a: {type: lab:Thing, properties: {key: k, name: x}}\n"})
	s.done("ann", "stack", "init", "dev", "-C", dir)
	up := s.command("ann", "up", "-C", dir, "--remote", "--yes")
	const trace, asking = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	up.Env = append(up.Env, "TRACEPARENT=00-"+trace+"-"+asking+"-01")
	out, err := up.CombinedOutput()
	require.NoError(t, err, "%s", out)
	id := regexp.MustCompile(`\b[A-Z0-9]{26}\b`).FindString(s.done("ann", "remote", "ls"))

	var server, worker map[string]span
	require.Eventually(t, func() bool {
		server, worker = spans(t, atServer), spans(t, atWorker)
		return len(server) == 2 && worker["husk up"].Name != ""
	}, time.Minute, 50*time.Millisecond)
	run := server["run up"]
	require.Equal(t, trace, run.TraceID)
	require.Equal(t, asking, run.ParentSpanID)
	require.Zero(t, run.Status.Code)
	facts := map[string]any{}
	for _, a := range run.Attributes {
		facts[a.Key] = a.Value["stringValue"]
	}
	require.Equal(t, id, facts["husk.run"])
	require.Equal(t, "w", facts["husk.worker"])
	require.Equal(t, "succeeded", facts["husk.state"])
	wait := server["wait"]
	require.Equal(t, run.SpanID, wait.ParentSpanID)
	require.Equal(t, run.StartTimeUnixNano, wait.StartTimeUnixNano)
	require.Less(t, wait.EndTimeUnixNano, run.EndTimeUnixNano)
	require.Equal(t, trace, worker["husk up"].TraceID)
	require.Equal(t, run.SpanID, worker["husk up"].ParentSpanID)
	require.Equal(t, trace, worker["lab create"].TraceID)

	// A run that fails, and that nobody's span asked for, is a trace of its own.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte("name: shop\nresources:\n  a: {type: no:Such}\n"), 0o600))
	_, err = s.husk("ann", "up", "-C", dir, "--remote", "--yes")
	require.Error(t, err)
	require.Eventually(t, func() bool {
		server, worker = spans(t, atServer), spans(t, atWorker)
		return server["run up"].Status.Code == 2 && worker["husk up"].Status.Code == 2
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, "failed", server["run up"].Status.Message)
	require.Empty(t, server["run up"].ParentSpanID)
	require.NotEqual(t, trace, server["run up"].TraceID)
	require.Equal(t, server["run up"].SpanID, worker["husk up"].ParentSpanID)

	out2, err := s.husk("", "server", "--dir", filepath.Join(files, "other"), "--listen", "127.0.0.1:0", "--trace", "http://localhost:4318")
	require.Error(t, err)
	require.Contains(t, out2, "set OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 and give otlp")
}
