package main_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// The console of who is logged in has pages about the server: its queue, its workers, its runs, and their logs.
func TestConsole(t *testing.T) {
	s := begin(t)
	s.login("acme", "ann", "admin")
	dir := s.project(map[string]string{"Husk.yaml": things})
	s.worker(s.token("acme", "w", "work"), "w", "--label", "region=eu")
	s.done("ann", "stack", "init", "dev", "-C", dir)
	s.done("ann", "config", "set", "password", "hunter2-canary", "--secret", "-C", dir)
	s.done("ann", "up", "-C", dir, "--remote", "--yes", "--color", "always", "--message", "for <the> test")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(things+"  other: ${nothing}\n"), 0o600))
	_, err := s.husk("ann", "preview", "-C", dir, "--remote")
	require.Error(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(things), 0o600))
	s.done("ann", "destroy", "-C", dir, "--remote", "--require-approval")

	said := s.start(s.command("ann", "console", "-C", dir))
	address := said.wait(t, regexp.MustCompile(`(http://\S+)/(\?token=\S+)`))
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser := &http.Client{Jar: jar}
	get := func(path string) (int, string) {
		t.Helper()
		answer, err := browser.Get(address[1] + path)
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NotContains(t, string(text), "hunter2-canary")
		require.NotContains(t, string(text), "\x1b")
		return answer.StatusCode, string(text)
	}
	_, page := get("/" + address[2])
	require.Contains(t, page, `<a href="/server">Server</a>`)
	_, page = get("/server")
	for _, want := range []string{
		"<code>" + s.url + "</code>", "<dt>To be approved</dt><dd>1</dd>", "1 succeeded, 1 failed", "region=eu",
		`<span class="state done">succeeded</span>`, `<span class="state failed">failed</span>`, `<span class="state warn">waiting for approval</span>`, "shop/dev",
	} {
		require.Contains(t, page, want)
	}
	runs := regexp.MustCompile(`href="/server/(\w{26})"`).FindAllStringSubmatch(page, -1)
	require.Len(t, runs, 3, "the newest first")
	_, page = get("/server/" + runs[2][1])
	for _, want := range []string{"<h1>up of shop/dev</h1>", "for &lt;the&gt; test", "lab:Thing a", "2 created", " by ann"} {
		require.Contains(t, page, want)
	}
	_, page = get("/server/" + runs[0][1])
	require.Contains(t, page, "husk remote approve "+runs[0][1])
	_, page = get("/server/" + runs[1][1])
	require.Contains(t, page, "${nothing}")

	waiting := s.start(s.command("ann", "preview", "-C", dir, "--remote", "--label", "gpu=1")).wait(t, regexp.MustCompile(`The run (\w{26}) is queued at`))
	for _, path := range []string{"/server", "/server/" + waiting[1]} {
		_, page = get(path)
		require.Contains(t, page, "a worker with gpu=1: none is connected that takes it, and for the run "+runs[0][1]+" of the same stack, which is to be approved")
	}
	s.done("ann", "remote", "cancel", waiting[1])

	// Who may write decides there as well, as far as the server lets them.
	require.NotContains(t, page, "<form")
	s.login("acme", "bob", "approve")
	decide := func(user string) string {
		t.Helper()
		said := s.start(s.command(user, "console", "-C", dir, "--allow-writes"))
		address := said.wait(t, regexp.MustCompile(`(http://\S+)/(\?token=\S+)`))
		jar, err := cookiejar.New(nil)
		require.NoError(t, err)
		browser := &http.Client{Jar: jar}
		answer, err := browser.Get(address[1] + "/" + address[2])
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		answer, err = browser.PostForm(address[1]+"/server/"+runs[0][1], url.Values{"decision": {"approve"}})
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return string(text)
	}
	require.Contains(t, decide("ann"), "which somebody else is to approve")
	require.Contains(t, decide("bob"), "<dt>Approved by</dt><dd>bob</dd>")
	require.Contains(t, s.done("bob", "remote", "log", "-f", runs[0][1]), "2 deleted")

	for _, path := range []string{"/server/NONE", "/server/a/b", "/server/" + url.PathEscape("../status")} {
		status, _ := get(path)
		require.Equal(t, http.StatusNotFound, status, path)
	}
	require.NoError(t, s.serving.Process.Kill())
	_ = s.serving.Wait()
}
