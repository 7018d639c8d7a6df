//go:build unix

package worker_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/base/trace"
	"github.com/husk-dev/husk/internal/worker"
	"github.com/husk-dev/husk/internal/worker/confine"
	"github.com/husk-dev/husk/internal/workspace/bundle"
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
	p, err := program.LoadProject(t.Context(), projectroot.New(project, projectroot.Trusted))
	require.NoError(t, err)
	var content bytes.Buffer
	info, err := bundle.Pack(&content, p, nil)
	require.NoError(t, err)
	return content.Bytes(), info
}

// serve starts a server that gives a worker runs of the project of [pack], one after the other, and then none. end is told how
// each has ended.
func serve(t *testing.T, end func(runapi.End), claims ...runapi.Claim) *runapi.Client {
	t.Helper()
	content, info := pack(t)
	var n atomic.Int32
	var sent atomic.Bool
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/whoami", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(runapi.Who{Name: "w", Tenant: "acme", Role: runapi.Work})
	})
	mux.HandleFunc("POST /v1/work/next", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the worker is gone
		i := int(n.Add(1)) - 1
		if i >= len(claims) {
			<-r.Context().Done()
			return
		}
		claim := claims[i]
		claim.ID, claim.Project, claim.Stack, claim.Bundle = strings.Repeat(string(rune('A'+i)), 26), "demo", "dev", info.Digest
		claim.Operation = cmp.Or(claim.Operation, "up")
		claim.Team, claim.Token, claim.Next, claim.BeatSeconds = "acme", "token-of-the-run", 1, 1
		_ = json.NewEncoder(w).Encode(claim)
	})
	mux.HandleFunc("GET /v1/work/bundle", func(w http.ResponseWriter, r *http.Request) {
		if sent.Swap(true) {
			t.Error("the worker has asked for the bundle twice")
		}
		_, _ = w.Write(content)
	})
	mux.HandleFunc("POST /v1/work/beat", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("{}")) })
	mux.HandleFunc("POST /v1/work/end", func(w http.ResponseWriter, r *http.Request) {
		var is runapi.End
		_ = json.NewDecoder(r.Body).Decode(&is)
		end(is)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	client, err := runapi.NewClient(server.URL, "worker")
	require.NoError(t, err)
	return client
}

// start starts a worker. stop ends it, and done receives its error.
func start(t *testing.T, client *runapi.Client, o worker.Options) (stop context.CancelFunc, done <-chan error) {
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	ended := make(chan error, 1)
	o.Name, o.Slots, o.Say = "w", max(o.Slots, 1), t.Logf
	if o.Edge {
		o.Slots = 0
	}
	go func() { ended <- worker.Run(ctx, ctx, client, o) }()
	return stop, ended
}

// A worker decompresses a bundle once, and no run changes what the next one with it reads: neither in its own directory, nor in that of
// the worker, which this one can write because it is not confined.
func TestABundleIsDecompressedOnce(t *testing.T) {
	dir := t.TempDir()
	husk, said := filepath.Join(dir, "husk"), filepath.Join(dir, "said")
	require.NoError(t, os.WriteFile(husk, []byte("#!/bin/sh\nmd5sum < Husk.yaml >> '"+said+"'\necho hostile > Husk.yaml\nfor f in '"+dir+"'/worker/bundles/*; do echo x > $f; done\n"), 0o700))
	ended := make(chan runapi.End, 3)
	client := serve(t, func(end runapi.End) { ended <- end }, runapi.Claim{}, runapi.Claim{}, runapi.Claim{})
	stop, done := start(t, client, worker.Options{Dir: filepath.Join(dir, "worker"), Program: husk})
	for range 3 {
		require.Equal(t, runapi.End{Outcome: runapi.Succeeded}, <-ended)
	}
	stop()
	require.NoError(t, <-done)
	text, err := os.ReadFile(said)
	require.NoError(t, err)
	lines := strings.Fields(strings.ReplaceAll(string(text), "-", ""))
	require.Len(t, lines, 3)
	require.Len(t, slices.Compact(lines), 1, "%s", text)
}

// A run of a team that has left much is not begun, and goes to another worker.
func TestARunWithoutRoomForWhatItMayLeave(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, "worker", "refused", "acme", "run.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(left), 0o700))
	require.NoError(t, os.WriteFile(left, nil, 0o600))
	require.NoError(t, os.Truncate(left, 512<<20))
	ends := make(chan runapi.End, 1)
	client := serve(t, func(end runapi.End) { ends <- end }, runapi.Claim{})
	stop, done := start(t, client, worker.Options{Dir: filepath.Join(dir, "worker"), Program: "/nonexistent"})
	end := <-ends
	require.Equal(t, runapi.Queued, end.Outcome)
	require.Contains(t, end.Reason, "it holds 512 MiB of objects that earlier runs of its team made and could not record")
	stop()
	require.NoError(t, <-done)
	require.FileExists(t, left)
}

// No option of a run takes back what its worker says.
func TestOptionsTakeNothingBack(t *testing.T) {
	dir := t.TempDir()
	husk, said := filepath.Join(dir, "husk"), filepath.Join(dir, "said")
	require.NoError(t, os.WriteFile(husk, []byte("#!/bin/sh\necho \"$@\" > '"+said+"'\n"), 0o700))
	ended := make(chan struct{})
	client := serve(t, func(runapi.End) { close(ended) }, runapi.Claim{Run: runapi.Run{
		NewRun: runapi.NewRun{Operation: "destroy", Options: []string{"--preview-only=false", "--parallel=2"}}, Previewing: true,
	}})
	stop, done := start(t, client, worker.Options{Dir: filepath.Join(dir, "worker"), Program: husk, Limits: []string{"memory=64MiB"}})
	<-ended
	stop()
	require.NoError(t, <-done)
	text, err := os.ReadFile(said)
	require.NoError(t, err)
	words := strings.Fields(string(text))
	require.Equal(t, []string{"destroy", "--preview-only=false", "--parallel=2"}, words[:3])
	require.Equal(t, []string{"--stack", "dev", "--preview-only", "--untrusted-project", "--limit", "memory=64MiB"}, words[3:9])
}

// The environment and the command line of a run, which others can read, have what it needs by name and nothing else. The rest
// comes by its standard input: its token, what the operator names, and the way to the network, which may have a password.
func TestARunGetsWhatItNeedsByName(t *testing.T) {
	secret := []string{"HUSK_ACCESS_TOKEN", "HUSK_CONFIG_PASSPHRASE", "HUSK_SERVER_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "PGPASSWORD", "PGPASSFILE", "VAULT_TOKEN",
		"OTEL_EXPORTER_OTLP_HEADERS", "GITHUB_TOKEN", "DOCKER_CONFIG", "SSH_AUTH_SOCK", "SOMETHING_ELSE", "GODEBUG", "LD_PRELOAD", "HUSK_BACKEND_URL", "HUSK_STACK", "USER"}
	for _, name := range secret {
		t.Setenv(name, "canary-of-"+name)
	}
	t.Setenv("HTTPS_PROXY", "http://user:canary-of-the-proxy@proxy.example")
	t.Setenv("SSL_CERT_FILE", "certificates/own.pem")
	t.Setenv("TZ", "UTC")
	for _, name := range []string{"LANG", "LC_ALL", "ZONEINFO", "HTTP_PROXY", "https_proxy", "http_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_DIR", "HUSK_TRUST_POLICY"} {
		t.Setenv(name, "") // those of who runs the test do not matter
		require.NoError(t, os.Unsetenv(name))
	}
	t.Setenv("HUSK_OFFLINE", "1")
	dir := t.TempDir()
	t.Setenv("MY_SECRET", "canary-that-was-named")
	named, err := worker.ParseVariables([]string{"MY_SECRET"})
	require.NoError(t, err)
	for _, trusted := range []bool{false, true} {
		said := filepath.Join(dir, strconv.FormatBool(trusted))
		husk := filepath.Join(dir, "husk")
		script := "#!/bin/sh\ntr '\\0' '\\n' < /proc/self/environ > '" + said + ".env'\necho \"$0 $@\" > '" + said + ".args'\ncat > '" + said + ".input'\n"
		require.NoError(t, os.WriteFile(husk, []byte(script), 0o700))
		runOnce(t, worker.Options{Dir: filepath.Join(dir, "worker"), Program: husk, Environment: named, Trusted: trusted})
		read := func(what string) string {
			text, err := os.ReadFile(said + what)
			require.NoError(t, err)
			return string(text)
		}
		require.NotContains(t, read(".env")+read(".args"), "canary")
		require.NotContains(t, read(".env")+read(".args"), "token-of-the-run")
		var names []string
		for line := range strings.Lines(read(".env")) {
			name, _, _ := strings.Cut(line, "=")
			names = append(names, name)
		}
		require.ElementsMatch(t, []string{"PATH", "TZ", "HOME", "USERPROFILE", "XDG_CONFIG_HOME", "AppData", "LocalAppData", "TMPDIR", "TEMP", "TMP", "HUSK_CACHE_DIR",
			"HUSK_COPIES_DIR", "HUSK_SERVER_KNOWN", "HUSK_UNRECORDED", "HUSK_RUN"}, names)
		team := "\nHUSK_CACHE_DIR=" + filepath.Join(dir, "worker", "cache", "teams", "acme") + "\n"
		require.Equal(t, !trusted, strings.Contains(read(".env"), team), "what strangers compile is for their team")
		input := read(".input")
		require.Contains(t, input, ":token-of-the-run@127.0.0.1:")
		require.Contains(t, input, "MY_SECRET=canary-that-was-named")
		require.Contains(t, input, "HTTPS_PROXY=http://user:canary-of-the-proxy@proxy.example")
		require.Contains(t, input, "HUSK_OFFLINE=1")
		here, err := os.Getwd()
		require.NoError(t, err)
		require.Contains(t, input, "SSL_CERT_FILE="+filepath.Join(here, "certificates/own.pem"), "it is not relative to the project")
		for _, name := range secret {
			require.NotContains(t, input, "canary-of-"+name)
		}
	}
	_, err = worker.ParseVariables([]string{"HUSK_ACCESS_TOKEN"})
	require.ErrorContains(t, err, "the worker itself says what runs get as HUSK_ACCESS_TOKEN")
}

// Where a process cannot be confined, a worker that is to confine it takes no run, and another one says so.
func TestConfinement(t *testing.T) {
	dir := t.TempDir()
	husk := filepath.Join(dir, "husk")
	require.NoError(t, os.WriteFile(husk, []byte("#!/bin/sh\necho $HUSK_RUN >> '"+dir+"/said'\n"), 0o700))
	possible := confine.Check() == nil
	for _, c := range []worker.Confinement{worker.ConfineIfPossible, worker.RequireConfinement, worker.NoConfinement} {
		if c == worker.RequireConfinement && !possible {
			err := worker.Run(t.Context(), t.Context(), nil, worker.Options{Dir: dir, Confinement: c})
			require.ErrorContains(t, err, "this machine cannot confine a process")
			continue
		}
		require.Equal(t, runapi.Succeeded, runOnce(t, worker.Options{Dir: filepath.Join(dir, "worker"), Program: husk, Confinement: c}).Outcome)
	}
	text, err := os.ReadFile(filepath.Join(dir, "said"))
	require.NoError(t, err)
	if possible {
		require.Equal(t, "confine\nconfine\nopen\n", string(text))
		err := worker.Run(t.Context(), t.Context(), nil, worker.Options{Dir: dir, Environment: []string{"HUSK_KEY_COMMAND=x"}})
		require.ErrorContains(t, err, "the process of a run is confined, and can run no command: add --no-confinement")
	} else {
		require.Equal(t, "open\nopen\n", string(text))
	}
}

// Whoever has taken over the process of a run cannot have the worker read or write elsewhere.
func TestNoLinkLeadsTheWorkerElsewhere(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("canary"), 0o600))
	husk := filepath.Join(dir, "husk")
	require.NoError(t, os.WriteFile(husk, []byte("#!/bin/sh\nln -s '"+secret+"' \"$HOME/plan.json\"\nln -s '"+secret+"' \"$HOME/spans.json\"\n"), 0o700))
	spans := filepath.Join(dir, "spans")
	end := runOnce(t, worker.Options{Dir: filepath.Join(dir, "worker"), Program: husk, Trace: spans}, true)
	require.Equal(t, runapi.Failed, end.Outcome)
	require.Empty(t, end.Plan)
	require.NotContains(t, end.Reason, "canary")
	sent, err := os.ReadFile(spans)
	require.NoError(t, err)
	require.Empty(t, sent)
	left, err := os.ReadFile(secret)
	require.NoError(t, err)
	require.Equal(t, "canary", string(left))
}

// The spans of a run reach the collector by its worker, whose credentials for it no run has.
func TestSpansGoThroughTheWorker(t *testing.T) {
	received := make(chan string, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		received <- r.Header.Get("X-Key") + " " + string(text)
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=canary-of-the-collector")
	t.Setenv("OTEL_SERVICE_NAME", "ours")
	dir := t.TempDir()
	husk := filepath.Join(dir, "husk")
	require.NoError(t, os.WriteFile(husk, []byte("#!/bin/sh\necho \"$@\" > '"+dir+"/said'\nenv >> '"+dir+"/said'\ncat >> '"+dir+"/said'\nprintf 'one\\ntwo\\n' > \"$HOME/spans.json\"\n"), 0o700))
	require.Equal(t, runapi.Succeeded, runOnce(t, worker.Options{Dir: filepath.Join(dir, "worker"), Program: husk, Trace: trace.OTLP}).Outcome)
	require.Equal(t, "canary-of-the-collector one", <-received)
	require.Equal(t, "canary-of-the-collector two", <-received)
	said, err := os.ReadFile(filepath.Join(dir, "said"))
	require.NoError(t, err)
	require.Regexp(t, "--trace .*/home/spans.json", string(said))
	require.Contains(t, string(said), "TRACEPARENT=")
	require.Contains(t, string(said), "OTEL_SERVICE_NAME=ours")
	require.NotContains(t, string(said), "canary")
}

// runOnce has a worker do one run of a server, and returns how it ended.
func runOnce(t *testing.T, o worker.Options, previews ...bool) (end runapi.End) {
	t.Helper()
	ended := make(chan runapi.End, 1)
	client := serve(t, func(is runapi.End) { ended <- is }, runapi.Claim{Run: runapi.Run{Previewing: len(previews) > 0}})
	stop, done := start(t, client, o)
	select {
	case end = <-ended:
	case err := <-done:
		require.NoError(t, err)
	}
	stop()
	require.NoError(t, <-done)
	return end
}

// The process of a run that goes on elsewhere is killed with all that it has started.
func TestALostRunLeavesNothing(t *testing.T) {
	worker.KillSoon(t)
	content, info := pack(t)

	dir := t.TempDir()
	husk, pid := filepath.Join(dir, "husk"), filepath.Join(dir, "pid")
	script := "#!/bin/sh\nsleep 1000 &\necho $! > '" + pid + ".new'\nmv '" + pid + ".new' '" + pid + "'\nwait\n"
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
		_ = json.NewEncoder(w).Encode(runapi.Claim{Run: run, Team: "acme", Token: "token", Next: 1, BeatSeconds: 0.05})
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
			Name: "w", Slots: 1, Dir: filepath.Join(dir, "worker"), Program: husk, Say: t.Logf,
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

// TestARunThatHeedsNoInterrupt has the worker end although the process of its run does not.
func TestARunThatHeedsNoInterrupt(t *testing.T) {
	worker.KillSoon(t)
	dir := t.TempDir()
	husk, began := filepath.Join(dir, "husk"), filepath.Join(dir, "began")
	require.NoError(t, os.WriteFile(husk, []byte("#!/bin/sh\ntrap '' INT\ntouch '"+began+"'\nexec sleep 1000\n"), 0o700))
	ends := make(chan runapi.End, 1)
	client := serve(t, func(end runapi.End) { ends <- end }, runapi.Claim{})
	stop, done := start(t, client, worker.Options{Dir: filepath.Join(dir, "worker"), Program: husk})
	await(t, "the run has begun", func() bool { _, err := os.Stat(began); return err == nil })
	stop()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		t.Fatal("the worker waits for its run")
	}
	require.Equal(t, runapi.End{Outcome: runapi.Queued, Reason: "the worker was stopped before the steps of the run had ended"}, <-ends, "they may have made something")
}

// That a worker stops says nothing of a run, unless something says that the run may have made what is not recorded.
func TestHowRunsOfAStoppedWorkerEnd(t *testing.T) {
	for code, want := range map[string]runapi.End{
		"1": {Outcome: runapi.Queued},
		"3": {Outcome: runapi.Queued, Reason: "another run has the lock of the stack, or the server that kept it for this one has ended"},
		"4": {Outcome: runapi.Attention, Reason: "an earlier worker may have created an object without a record"},
	} {
		require.Equal(t, want, worker.Outcome(exec.Command("sh", "-c", "exit "+code).Run(), false), code)
	}
	killed := worker.Outcome(exec.Command("sh", "-c", "kill -9 $$").Run(), true)
	require.Equal(t, runapi.End{Outcome: runapi.Queued, Reason: "the worker was stopped before the steps of the run had ended"}, killed)
}

// A worker that is stopped at once does not wait for a run that was taken from it, whose steps may take long.
func TestALostRunKeepsNoWorker(t *testing.T) {
	worker.KillSoon(t)
	content, info := pack(t)
	dir := t.TempDir()
	husk, began, told := filepath.Join(dir, "husk"), filepath.Join(dir, "began"), filepath.Join(dir, "told")
	script := "#!/bin/sh\ntrap 'touch " + told + "' INT\ntouch '" + began + "'\nwhile :; do sleep 1000 & wait; done\n"
	require.NoError(t, os.WriteFile(husk, []byte(script), 0o700))
	var lost, taken atomic.Bool
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/work/next", func(w http.ResponseWriter, r *http.Request) {
		if taken.Swap(true) {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		run := runapi.Run{NewRun: runapi.NewRun{ID: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Project: "demo", Stack: "dev", Operation: "up", Bundle: info.Digest}}
		_ = json.NewEncoder(w).Encode(runapi.Claim{Run: run, Team: "acme", Token: "token", Next: 1, BeatSeconds: 0.05})
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
	stop, done := start(t, client, worker.Options{Dir: filepath.Join(dir, "worker"), Program: husk})
	exists := func(file string) func() bool { return func() bool { _, err := os.Stat(file); return err == nil } }
	await(t, "the run has begun", exists(began))
	lost.Store(true)
	await(t, "the run is to end its steps", exists(told))
	stop()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		t.Fatal("the worker waits for a run that it has lost")
	}
}

// TestWhatIsRepeatedWasApproved has an edge worker do approved updates: it repeats what succeeded, by its plan, and does nothing
// without one, or on a state that nobody saw.
func TestWhatIsRepeatedWasApproved(t *testing.T) {
	dir := t.TempDir()
	husk, said, desired := filepath.Join(dir, "husk"), filepath.Join(dir, "said"), filepath.Join(dir, "worker", "desired", "demo@dev.json")
	script := `#!/bin/sh
line="$*"
while [ $# -gt 0 ]; do
	[ "$1" = --save-plan ] && echo '{"p": 1}' > "$2"
	[ "$1" = --plan ] && line="$line plan=$(cat "$2")"
	shift
done
echo "$line" >> '` + said + `'
case "$line" in *--target=fails*) exit 1;; esac
`
	require.NoError(t, os.WriteFile(husk, []byte(script), 0o700))
	approved := func(plan string, options ...string) runapi.Claim {
		return runapi.Claim{Plan: []byte(plan), Run: runapi.Run{ApprovedBy: "bob", NewRun: runapi.NewRun{Options: options}}}
	}
	runs := []struct {
		claim   runapi.Claim
		outcome runapi.State
		reason  string
	}{
		{approved(`{"position":0,"plan":{"p":1}}`, "--target=fails"), runapi.Failed, ""},
		{approved(""), runapi.Failed, "its preview was made by another version of husk"},
		{approved(`{"p":1}`), runapi.Failed, "its preview was made by another version of husk"},
		{approved(`{"position":0}`), runapi.Failed, "there is no plan of the preview that bob has approved: ask for the run again"},
		{approved(`{"position":7,"plan":{"p":1}}`), runapi.Failed, "the stack dev was changed after the preview that bob has approved: ask for the run up again"},
		{runapi.Claim{Run: runapi.Run{Previewing: true}}, runapi.Succeeded, ""},
		{approved(`{"position":0,"plan":{"p":1}}`, "--target=works"), runapi.Succeeded, ""},
	}
	var claims []runapi.Claim
	for _, run := range runs {
		claims = append(claims, run.claim)
	}
	ends, noted := make(chan runapi.End), make(chan bool)
	client := serve(t, func(end runapi.End) {
		_, err := os.Stat(desired)
		ends <- end
		noted <- err == nil
	}, claims...)
	stop, done := start(t, client, worker.Options{Edge: true, Every: 10 * time.Millisecond, Dir: filepath.Join(dir, "worker"), Program: husk})
	for i, run := range runs {
		var end runapi.End
		select {
		case end = <-ends:
		case err := <-done:
			require.NoError(t, err)
		}
		require.Equal(t, run.outcome, end.Outcome, "%d: %s", i, end.Reason)
		require.Contains(t, end.Reason, run.reason)
		require.Equal(t, i == len(runs)-1, <-noted, i)
		if run.claim.Previewing {
			require.JSONEq(t, `{"position":0,"plan":{"p":1}}`, string(end.Plan))
		}
	}
	var again string
	await(t, "it is repeated", func() bool {
		text, err := os.ReadFile(said)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "--refresh=true") {
				again = line
			}
		}
		return again != ""
	})
	require.Contains(t, again, "up --target=works --refresh=true ")
	require.Contains(t, again, `plan={"p":1}`)
	stop()
	require.NoError(t, <-done)
}

// TestAServerThatLies has a server send what is no run, whose names would be those of other files: the worker does nothing with
// it, and takes the next.
func TestAServerThatLies(t *testing.T) {
	dir := t.TempDir()
	claims := []runapi.Claim{
		{Run: runapi.Run{NewRun: runapi.NewRun{ID: "../../../../../../../../aa", Project: "demo", Stack: "dev", Operation: "up", Bundle: "sha256:" + strings.Repeat("0", 64)}}, Team: "acme", Token: "token", Next: 1, BeatSeconds: 1},
		{Run: runapi.Run{NewRun: runapi.NewRun{ID: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Project: "demo", Stack: "dev", Operation: "up", Bundle: "sha256:" + strings.Repeat("0", 64)}}, Team: "../other", Token: "token", Next: 1, BeatSeconds: 1},
		{Run: runapi.Run{NewRun: runapi.NewRun{ID: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Project: "demo", Stack: "dev", Operation: "up", Bundle: "sha256:" + strings.Repeat("0", 64), Options: []string{"--cwd=/"}}}, Team: "acme", Token: "token", Next: 1, BeatSeconds: 1},
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var asked atomic.Int32
	reasons := make(chan string, len(claims))
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/work/next", func(w http.ResponseWriter, r *http.Request) {
		n := int(asked.Add(1)) - 1
		if n >= len(claims) {
			stop()
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_ = json.NewEncoder(w).Encode(claims[n])
	})
	mux.HandleFunc("POST /v1/work/end", func(w http.ResponseWriter, r *http.Request) {
		var end runapi.End
		_ = json.NewDecoder(r.Body).Decode(&end)
		reasons <- end.Reason
	})
	mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) { t.Errorf("it asks for %s", r.URL.Path) })
	server := httptest.NewServer(mux)
	defer server.Close()
	client, err := runapi.NewClient(server.URL, "worker")
	require.NoError(t, err)
	require.NoError(t, worker.Run(ctx, ctx, client, worker.Options{Name: "w", Slots: 1, Dir: dir, Program: "/nonexistent", Say: func(string, ...any) {}}))
	for range claims {
		require.Contains(t, <-reasons, "does not take for a run")
	}
	for _, name := range []string{"runs", "bundles"} {
		entries, err := os.ReadDir(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Empty(t, entries)
	}
}
