//go:build unix

package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/internal/bundle"
	"github.com/husk-dev/husk/internal/runapi"
	"github.com/husk-dev/husk/internal/worker"
)

// await waits until something is the case.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		require.True(t, time.Now().Before(end), what)
	}
}

// pack returns the bundle of a project.
func pack(t *testing.T) ([]byte, *bundle.Info) {
	project := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(project, "Husk.yaml"), []byte("name: demo\nruntime: yaml\nresources: {}\n"), 0o600))
	p, err := program.LoadProject(project)
	require.NoError(t, err)
	var content bytes.Buffer
	info, err := bundle.Pack(&content, p, nil)
	require.NoError(t, err)
	return content.Bytes(), info
}

// No option of a run takes back what its worker says.
func TestOptionsTakeNothingBack(t *testing.T) {
	content, info := pack(t)
	dir := t.TempDir()
	husk, said := filepath.Join(dir, "husk"), filepath.Join(dir, "said")
	require.NoError(t, os.WriteFile(husk, []byte("#!/bin/sh\necho \"$@\" > \"$SAID\"\n"), 0o700))
	var taken atomic.Bool
	ended := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/work/next", func(w http.ResponseWriter, r *http.Request) {
		if taken.Swap(true) {
			<-r.Context().Done()
			return
		}
		run := runapi.Run{NewRun: runapi.NewRun{
			ID: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Project: "demo", Stack: "dev", Operation: "destroy", Bundle: info.Digest, Options: []string{"--preview-only=false", "--parallel=2"},
		}, Previewing: true}
		_ = json.NewEncoder(w).Encode(runapi.Claim{Run: run, Token: "token", Next: 1, BeatSeconds: 1})
	})
	mux.HandleFunc("GET /v1/work/bundle", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(content) })
	mux.HandleFunc("POST /v1/work/beat", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("{}")) })
	mux.HandleFunc("POST /v1/work/end", func(w http.ResponseWriter, r *http.Request) { close(ended) })
	server := httptest.NewServer(mux)
	defer server.Close()
	client, err := runapi.NewClient(server.URL, "worker")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- worker.Run(ctx, ctx, client, worker.Options{
			Name: "w", Slots: 1, Dir: filepath.Join(dir, "worker"), Program: husk, Environment: []string{"SAID=" + said}, Limits: []string{"memory=64MiB"}, Say: t.Logf,
		})
	}()
	<-ended
	stop()
	require.NoError(t, <-done)
	text, err := os.ReadFile(said)
	require.NoError(t, err)
	words := strings.Fields(string(text))
	require.Equal(t, []string{"destroy", "--preview-only=false", "--parallel=2"}, words[:3])
	require.Equal(t, []string{"--stack", "dev", "--preview-only", "--untrusted-project", "--limit", "memory=64MiB"}, words[3:9])
}

// The process of a run that goes on elsewhere is killed with all that it has started.
func TestALostRunLeavesNothing(t *testing.T) {
	content, info := pack(t)

	dir := t.TempDir()
	husk, pid := filepath.Join(dir, "husk"), filepath.Join(dir, "pid")
	script := "#!/bin/sh\nsleep 1000 &\necho $! > \"$PID.new\"\nmv \"$PID.new\" \"$PID\"\nwait\n"
	require.NoError(t, os.WriteFile(husk, []byte(script), 0o700))

	var lost, taken, over atomic.Bool
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/work/next", func(w http.ResponseWriter, r *http.Request) {
		if taken.Swap(true) {
			over.Store(true) // it asks again once its run is over
			time.Sleep(50 * time.Millisecond)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		run := runapi.Run{NewRun: runapi.NewRun{ID: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Project: "demo", Stack: "dev", Operation: "up", Bundle: info.Digest}}
		_ = json.NewEncoder(w).Encode(runapi.Claim{Run: run, Token: "token", Next: 1, BeatSeconds: 0.05})
	})
	mux.HandleFunc("GET /v1/work/bundle", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(content) })
	mux.HandleFunc("POST /v1/work/beat", func(w http.ResponseWriter, r *http.Request) {
		if lost.Load() {
			w.WriteHeader(http.StatusGone)
			return
		}
		_, _ = w.Write([]byte("{}"))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	client, err := runapi.NewClient(server.URL, "worker")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- worker.Run(ctx, ctx, client, worker.Options{
			Name: "w", Slots: 1, Dir: filepath.Join(dir, "worker"), Program: husk, Environment: []string{"PID=" + pid}, Say: t.Logf,
		})
	}()
	var child int
	await(t, "the run has begun", func() bool {
		text, err := os.ReadFile(pid)
		if err == nil {
			child, err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		return err == nil
	})
	lost.Store(true)
	await(t, "the run is over", over.Load)
	await(t, "nothing is left of it", func() bool {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(child) + "/stat")
		return errors.Is(syscall.Kill(child, 0), syscall.ESRCH) || strings.Contains(string(text), ") Z ") // nobody may wait for it here
	})
	stop()
	require.NoError(t, <-ended)
}
