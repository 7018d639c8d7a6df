package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/engine/redact"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/backend/runlog"
	"github.com/husk-dev/husk/internal/console"
	"github.com/husk-dev/husk/internal/plugins"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
	"github.com/husk-dev/husk/internal/workspace"
)

// Modules are compiled in the cache of all tests.
func TestMain(m *testing.M) {
	cache, err := testmodule.Cache()
	if err == nil {
		err = os.Setenv("HUSK_CACHE_DIR", cache)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testmodule.Main(m)
}

const token = "the-token-of-the-tests-of-the-console"

// program has a resource with a name of markup, and an output that is secret.
const program = `name: shop
plugins:
  providers:
    - {name: random, path: random.wasm}
    - {name: local, path: local.wasm, grants: {fs: [{path: public, mode: rw}]}}
resources:
  password: {type: random:RandomPassword, properties: {length: 30}}
  "<b>page</b>": {type: local:File, properties: {path: public/page.html, content: "<script>alert(1)</script>"}}
  keys: {type: local:File, properties: {path: public/keys, sensitiveContent: "${password.result}", filePermission: "0600"}}
outputs:
  password: ${password.result}
  note: "a < b"
`

// site is a console under test.
type site struct {
	t    *testing.T
	dir  string
	base string
	// server answers at base.
	server *httptest.Server
}

// serve serves the console of a project. The modules of its providers are there if it may deploy.
func serve(t *testing.T, mayDeploy bool) *site {
	t.Helper()
	t.Setenv("HUSK_CONFIG_PASSPHRASE", "of the tests")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(program), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "public"), 0o700))
	return open(t, dir, mayDeploy)
}

// open serves the console of the project in a directory.
func open(t *testing.T, dir string, mayDeploy bool, with ...func(*console.Options)) *site {
	t.Helper()
	var secrets redact.Secrets
	server := httptest.NewUnstartedServer(nil)
	address := server.Listener.Addr().String()
	options := console.Options{
		Context: t.Context(), Secrets: &secrets, Token: token, Hosts: []string{address}, Version: "test",
		Workspace: func(ctx context.Context) (*workspace.Workspace, error) {
			return workspace.Open(ctx, projectroot.New(dir, projectroot.Trusted), workspace.Options{Remark: func(string) {}, Secrets: &secrets})
		},
	}
	if mayDeploy {
		testmodule.Skip(t)
		for _, name := range []string{"random", "local"} {
			wasm := testmodule.Build(t, "../../examples/providers/"+name)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name+".wasm"), wasm, 0o600))
		}
		options.Plugins = func() (plugins.Options, error) {
			places, err := plugins.FindPlaces()
			return plugins.Options{Places: places, Secrets: &secrets}, err
		}
	}
	for _, set := range with {
		set(&options)
	}
	c, err := console.New(options)
	require.NoError(t, err)
	server.Config.Handler = c
	server.Start()
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		server.Close()
	})
	return &site{t: t, dir: dir, base: server.URL, server: server}
}

// do sends a request with the token, changed by with.
func (s *site) do(method, path string, form url.Values, with func(*http.Request)) (status int, body string, h http.Header) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, strings.NewReader(form.Encode()))
	require.NoError(s.t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if with != nil {
		with(r)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(r)
	require.NoError(s.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return response.StatusCode, string(text), response.Header
}

// get returns a page that exists.
func (s *site) get(path string) string {
	s.t.Helper()
	status, body, _ := s.do(http.MethodGet, path, nil, nil)
	require.Equal(s.t, http.StatusOK, status, "%s: %s", path, body)
	return body
}

// post sends a form, and returns the page that it leads to.
func (s *site) post(path, name, value string) (location string) {
	s.t.Helper()
	status, body, h := s.do(http.MethodPost, path, url.Values{name: {value}}, nil)
	require.Equal(s.t, http.StatusSeeOther, status, body)
	return h.Get("Location")
}

// waitFor returns a page once it has a text.
func (s *site) waitFor(path, text string) string {
	s.t.Helper()
	var body string
	require.Eventually(s.t, func() bool {
		body = s.get(path)
		return strings.Contains(body, text)
	}, 2*time.Minute, 20*time.Millisecond, "%s never says %q", path, text)
	return body
}

// deploy confirms an operation and returns its page at the end.
func (s *site) deploy(operation string) (path, page string) {
	s.t.Helper()
	path = s.post("/stack/dev/runs", "operation", operation)
	s.waitFor(path, "waiting for confirmation")
	require.Equal(s.t, path, s.post(path, "answer", "yes"))
	return path, s.waitFor(path, `>succeeded<`)
}

// Without the token there is nothing to see. The address with the token leads to one without it.
func TestOnlyTheTokenLetsIn(t *testing.T) {
	s := serve(t, false)
	for name, with := range map[string]func(*http.Request){
		"no token":       func(r *http.Request) { r.Header.Del("Authorization") },
		"a wrong token":  func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token+"x") },
		"an empty token": func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") },
		"a wrong cookie": func(r *http.Request) {
			r.Header.Del("Authorization")
			_, port, _ := strings.Cut(r.URL.Host, ":")
			r.AddCookie(&http.Cookie{Name: "husk-console-" + port, Value: "guess"})
		},
	} {
		for _, path := range []string{"/", "/metrics", "/assets/style.css", "/live?page=/", "/?token=guess", "/stack/dev"} {
			status, body, _ := s.do(http.MethodGet, path, nil, with)
			require.Equal(t, http.StatusUnauthorized, status, "%s %s", name, path)
			require.NotContains(t, body, "shop")
		}
	}
	status, _, h := s.do(http.MethodGet, "/?token="+token, nil, func(r *http.Request) { r.Header.Del("Authorization") })
	require.Equal(t, http.StatusSeeOther, status)
	require.Equal(t, "/", h.Get("Location"))
	for page, want := range map[string]string{
		"/stack/dev?run=3&token=" + token: "/stack/dev?run=3", "//example.com/x?token=" + token: "/example.com/x", `/\example.com?token=` + token: "/%5Cexample.com",
	} {
		status, _, deep := s.do(http.MethodGet, page, nil, func(r *http.Request) { r.Header.Del("Authorization") })
		require.Equal(t, http.StatusSeeOther, status, page)
		require.Equal(t, want, deep.Get("Location"))
	}
	require.Contains(t, h.Get("Set-Cookie"), "HttpOnly; SameSite=Strict")
	cookie, _, _ := strings.Cut(h.Get("Set-Cookie"), ";")
	status, body, _ := s.do(http.MethodGet, "/", nil, func(r *http.Request) {
		r.Header.Del("Authorization")
		r.Header.Set("Cookie", cookie)
	})
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "shop")
}

// A name that a stranger has pointed at this machine is refused, even with the token.
func TestOtherNamesOfThisMachineAreRefused(t *testing.T) {
	s := serve(t, false)
	for _, name := range []string{"evil.example", "127.0.0.1", "127.0.0.1:1", "evil.example:" + s.base[strings.LastIndex(s.base, ":")+1:]} {
		status, _, _ := s.do(http.MethodGet, "/", nil, func(r *http.Request) { r.Host = name })
		require.Equal(t, http.StatusMisdirectedRequest, status, name)
	}
}

// inline is what a Content-Security-Policy without 'unsafe-inline' stops.
var inline = regexp.MustCompile(`(?i)<script(?:>| [^>]*>[^<])|<style|\sstyle=|\son[a-z]+=|javascript:`)

// All pages are of this server alone, and have neither scripts nor styles of their own.
func TestPagesHaveNothingInline(t *testing.T) {
	s := serve(t, true)
	run, _ := s.deploy("up")
	for _, path := range []string{"/", "/stack/dev", "/stack/dev/graph", "/stack/dev/runs", "/stack/dev/providers", run} {
		status, body, h := s.do(http.MethodGet, path, nil, nil)
		require.Equal(t, http.StatusOK, status)
		require.Empty(t, inline.FindAllString(body, -1), path)
		policy := h.Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'none'")
		require.Contains(t, policy, "frame-ancestors 'none'")
		require.NotContains(t, policy, "unsafe")
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
		require.Equal(t, "no-referrer", h.Get("Referrer-Policy"))
		require.Equal(t, "no-store", h.Get("Cache-Control"))
		for _, found := range regexp.MustCompile(`(?:src|href|action)="([^"]*)"`).FindAllStringSubmatch(body, -1) {
			require.Regexp(t, `^[/#]`, found[1], "%s refers to another server", path)
		}
	}
}

// A stack is deployed, looked at, and destroyed from the page. No page has the secret, and names are text.
func TestDeployingFromThePage(t *testing.T) {
	s := serve(t, true)
	require.Contains(t, s.get("/"), "There is no stack yet")

	// A preview changes nothing, and is not in the directory of the stack's records.
	preview := s.post("/stack/dev/runs", "operation", "preview")
	page := s.waitFor(preview, ">succeeded<")
	require.Contains(t, page, "local:File &lt;b&gt;page&lt;/b&gt;")
	require.Contains(t, page, "&lt;script&gt;alert(1)&lt;/script&gt;")
	require.NotContains(t, page, "<script>alert")
	require.NoDirExists(t, filepath.Join(s.dir, ".husk"))

	// The plan is shown, and nothing is done before the answer, or after a no.
	run := s.post("/stack/dev/runs", "operation", "up")
	page = s.waitFor(run, "waiting for confirmation")
	require.Contains(t, page, "4 planned")
	require.NoFileExists(t, filepath.Join(s.dir, "public", "page.html"))
	status, body, _ := s.do(http.MethodPost, "/stack/dev/runs", url.Values{"operation": {"up"}}, nil)
	require.Equal(t, http.StatusConflict, status, "the stack is locked")
	require.Contains(t, body, "locked")
	s.post(run, "answer", "no")
	s.waitFor(run, ">not confirmed<")
	require.NoFileExists(t, filepath.Join(s.dir, "public", "page.html"))
	status, _, _ = s.do(http.MethodPost, run, url.Values{"answer": {"yes"}}, nil)
	require.Equal(t, http.StatusConflict, status, "it has ended")

	run, page = s.deploy("up")
	require.Contains(t, page, "4 done")
	require.Contains(t, page, `<th scope="row">random 4.16.0</th>`)
	require.Regexp(t, `<th scope="row">local</th><td>create</td><td class="n">2</td>`, page)
	require.Regexp(t, `<th scope="row">local</th><td>fs</td><td><code>write public/page.html</code></td><td><span class="state done">allowed`, page)
	require.Contains(t, page, `aria-label="up of shop/dev`)
	require.FileExists(t, filepath.Join(s.dir, "public", "page.html"))

	// Nothing to do needs no answer.
	again := s.post("/stack/dev/runs", "operation", "up")
	require.Contains(t, s.waitFor(again, ">succeeded<"), "4 unchanged")

	secret, err := os.ReadFile(filepath.Join(s.dir, "public", "keys"))
	require.NoError(t, err)
	require.Len(t, secret, 30)
	resource := "/stack/dev/resource?urn=" + url.QueryEscape("urn:pulumi:dev::shop::random:index/randomPassword:RandomPassword::password")
	for _, path := range []string{"/", "/stack/dev", resource, "/stack/dev/graph", "/stack/dev/runs", run, preview, "/stack/dev/providers", "/metrics"} {
		body := s.get(path)
		require.NotContains(t, body, string(secret), path)
		require.NotContains(t, body, "<b>page", path)
	}
	require.Contains(t, s.get(resource), "[secret]")
	require.Contains(t, s.get("/stack/dev"), "a &lt; b")
	require.Contains(t, s.get("/stack/dev/runs"), "not confirmed")
	require.Contains(t, s.get("/stack/dev/providers"), "<code>public</code> rw")

	// A destruction lists what it deletes where it asks.
	run = s.post("/stack/dev/runs", "operation", "destroy")
	page = s.waitFor(run, "waiting for confirmation")
	require.Contains(t, page, "4 resources will be deleted or replaced")
	require.Contains(t, page, "Yes, delete these resources")
	s.post(run, "answer", "yes")
	s.waitFor(run, ">succeeded<")
	require.NoFileExists(t, filepath.Join(s.dir, "public", "page.html"))
}

// A console that may not change anything has no form, and takes none. One that may takes none from another page.
func TestWritesNeedTheFlagAndTheirOwnPage(t *testing.T) {
	readOnly := serve(t, false)
	require.NotContains(t, readOnly.get("/stack/dev"), "<form")
	status, _, _ := readOnly.do(http.MethodPost, "/stack/dev/runs", url.Values{"operation": {"up"}}, nil)
	require.Equal(t, http.StatusMethodNotAllowed, status)

	s := serve(t, true)
	for name, with := range map[string]func(*http.Request){
		"another origin":            func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
		"another port":              func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
		"another site of a browser": func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
	} {
		status, _, _ := s.do(http.MethodPost, "/stack/dev/runs", url.Values{"operation": {"up"}}, with)
		require.Equal(t, http.StatusForbidden, status, name)
	}
	status, body, _ := s.do(http.MethodPost, "/stack/dev/runs", url.Values{"operation": {"rm -rf"}}, nil)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, body, "there is no operation")
}

// The page of a run of the server has the decisions that its state allows, if the console may change something, and passes them on once.
func TestDecisionsAboutRunsOfTheServer(t *testing.T) {
	const id = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	state, told, answer := runapi.Queued, []string{}, http.StatusOK
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(backend.AnswerHeader, backend.Answered)
		run, _ := json.Marshal(runapi.Run{NewRun: runapi.NewRun{ID: id, Project: "shop", Stack: "dev", Operation: "up"}, State: state})
		switch {
		case r.Method == http.MethodPost:
			told = append(told, r.URL.RequestURI())
			w.WriteHeader(answer)
			fmt.Fprint(w, `{"error":"ann asked for the run"}`)
		case strings.HasSuffix(r.URL.Path, "/log"):
			fmt.Fprintf(w, "event: run\ndata: %s\n\n", run)
		default:
			_, _ = w.Write(run)
		}
	}))
	t.Cleanup(api.Close)
	client, err := runapi.NewClient(api.URL, "token")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte("name: shop\n"), 0o600))
	onServer := func(o *console.Options) { o.Server = client }
	readOnly := open(t, dir, false, onServer)
	s := open(t, dir, false, onServer, func(o *console.Options) {
		o.Plugins = func() (plugins.Options, error) { return plugins.Options{}, nil }
	})
	for is, want := range map[runapi.State][]string{
		runapi.Queued: {"cancel"}, runapi.Running: {"cancel"}, runapi.Waiting: {"approve", "reject"}, runapi.Attention: {"retry", "cancel"},
		runapi.Succeeded: nil, runapi.Failed: nil, runapi.Cancelled: nil, runapi.Rejected: nil,
	} {
		state = is
		require.NotContains(t, readOnly.get("/server/"+id), "<form", is)
		var offered []string
		for _, found := range regexp.MustCompile(`name="decision" value="(\w+)"`).FindAllStringSubmatch(s.get("/server/"+id), -1) {
			offered = append(offered, found[1])
			require.Equal(t, "/server/"+id, s.post("/server/"+id, "decision", found[1]))
			path := "/v1/runs/" + id + "/" + found[1]
			if found[1] == "cancel" {
				path += "?call=" + id
			}
			require.Equal(t, path, told[len(told)-1])
		}
		require.Equal(t, want, offered, is)
	}
	before := len(told)
	status, _, _ := readOnly.do(http.MethodPost, "/server/"+id, url.Values{"decision": {"approve"}}, nil)
	require.Equal(t, http.StatusMethodNotAllowed, status)
	status, _, _ = s.do(http.MethodPost, "/server/"+id, url.Values{"decision": {"approve"}}, func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") })
	require.Equal(t, http.StatusForbidden, status)
	status, _, _ = s.do(http.MethodPost, "/server/"+id, url.Values{"decision": {"../../tokens"}}, nil)
	require.Equal(t, http.StatusBadRequest, status)
	require.Len(t, told, before)
	answer = http.StatusForbidden
	status, body, _ := s.do(http.MethodPost, "/server/"+id, url.Values{"decision": {"approve"}}, nil)
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, body, "ann asked for the run")
}

// A plan without an answer is a no when the console ends.
func TestTheEndOfTheConsoleIsANo(t *testing.T) {
	testmodule.Skip(t)
	dir, run := t.TempDir(), ""
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(program), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "public"), 0o700))
	t.Setenv("HUSK_CONFIG_PASSPHRASE", "of the tests")
	t.Run("the console", func(t *testing.T) {
		s := open(t, dir, true)
		run = filepath.Base(s.post("/stack/dev/runs", "operation", "up"))
		s.waitFor("/stack/dev/runs/"+run, "waiting for confirmation")
	})
	records, err := runlog.List(filepath.Join(dir, ".husk", "runs", "shop", "dev"))
	require.NoError(t, err)
	require.Len(t, records, 1)
	require.Equal(t, run, records[0].ID)
	require.Equal(t, runlog.Declined, records[0].End.Result)
}

// begin begins the record of a run in another process.
func begin(t *testing.T, dir, kind string) *runlog.Recorder {
	t.Helper()
	r, err := runlog.Begin(filepath.Join(dir, ".husk", "runs", "shop", "dev"),
		runlog.Header{Kind: kind, Project: "shop", Stack: "dev", Start: time.Now(), User: "ada", PID: 7}, runlog.Options{
			Instances: func() []runlog.Instances {
				return []runlog.Instances{{Name: "lab", Version: "1.2.3", Digest: "sha256:0123456789abcdef", Instances: 3, Memory: 9e6, Fuel: 12345}}
			},
		})
	require.NoError(t, err)
	return r
}

// part is a part of a page in an event.
type part struct{ ID, Section, HTML string }

// follow calls seen with the parts of a page as they change, until it returns true.
func (s *site) follow(page string, seen func([]part) bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/live?page="+url.QueryEscape(page), nil)
	require.NoError(s.t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer response.Body.Close()
	require.Equal(s.t, "text/event-stream", response.Header.Get("Content-Type"))
	lines := bufio.NewReader(response.Body)
	for event := ""; ; {
		line, err := lines.ReadString('\n')
		require.NoError(s.t, err)
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			event = strings.TrimSpace(name)
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || event != "parts" {
			continue
		}
		var parts []part
		require.NoError(s.t, json.Unmarshal([]byte(data), &parts))
		if seen(parts) {
			return
		}
	}
}

// A run of another terminal is shown while it goes on: each part of its page is sent when it changes.
func TestARunOfAnotherTerminalIsFollowed(t *testing.T) {
	s := serve(t, false)
	r := begin(t, s.dir, "up")
	thing := engine.StepInfo{
		Op: engine.OpCreate, URN: urn.URN("urn:pulumi:dev::shop::lab:index:Thing::one"), Resource: "lab:index:Thing", Name: "one", Custom: true,
		Inputs: []engine.PropertyChange{{Path: "text", Kind: "add", New: `"</pre><script>"`}},
	}
	stage := 0
	s.follow("/stack/dev/runs/"+r.ID(), func(parts []part) bool {
		all := ""
		for _, p := range parts {
			all += p.HTML
		}
		require.NotContains(t, all, "</pre><script>")
		switch stage {
		case 0:
			require.Contains(t, all, ">running<")
			r.Event(engine.Started{Operation: "up", Project: "shop", Stack: "dev"})
			r.Event(engine.StepStarted{Step: thing})
			stage++
		case 1:
			if strings.Contains(all, "create: running…") {
				require.Contains(t, all, "&lt;/pre&gt;&lt;script&gt;")
				r.Use(host.AuditEvent{Provider: "lab", Capability: "tcp", Target: "db:5432", Method: "create", Reason: "it is not granted"})
				r.Event(engine.StepFailed{Step: thing, DurationMs: 40, Error: "the lab is <closed>"})
				stage++
			}
		case 2:
			if strings.Contains(all, "the lab is &lt;closed&gt;") {
				require.NoError(t, r.Close(runlog.End{Result: runlog.Failed, Error: "the lab is <closed>"}))
				stage++
			}
		case 3:
			return strings.Contains(all, ">failed<")
		}
		return false
	})
	page := s.get("/stack/dev/runs/" + r.ID())
	require.Contains(t, page, `<th scope="row">lab 1.2.3</th><td class="n">3</td><td class="n">9.0 MB</td>`)
	require.Contains(t, page, `<span class="state failed">refused</span> it is not granted`)
	require.Contains(t, s.get("/stack/dev/runs"), r.ID())
}

// Differences are those of the terminal: texts by what they hold or by line, moves, and secrets as changed.
func TestDifferences(t *testing.T) {
	s := serve(t, false)
	r := begin(t, s.dir, "up")
	step := engine.StepInfo{Op: engine.OpUpdate, URN: "urn:pulumi:dev::shop::lab:index:Thing::one", Resource: "lab:index:Thing", Name: "one"}
	step.Diff = []engine.PropertyChange{
		{Path: "policy", Kind: "update", Old: `"{\"allow\":[\"read\"],\"deep\":1}"`, New: `"{\"allow\":[\"read\",\"write\"],\"deep\":1}"`},
		{Path: "text", Kind: "update", Old: `"one\ntwo\nthree\n"`, New: `"one\n2\nthree\n"`},
		{Path: "size", Kind: "update", Old: "1", New: "2", Replaces: true},
		{Path: "rules[3]", From: "rules[1]", Kind: "move", Old: `"x"`, New: `"x"`},
		{Path: "password", Kind: "update", Old: "[secret]", New: "[secret]"},
	}
	r.Event(engine.Started{Operation: "up", DryRun: true})
	r.Event(engine.StepDone{Step: step})
	r.Event(engine.StackOutputs{Outputs: map[string]any{"site": "b"}, Changes: []engine.PropertyChange{{Path: "site", Kind: "update", Old: `"a"`, New: `"b"`}}})
	require.NoError(t, r.Close(r.EndOf(true, nil)))
	page := s.get("/stack/dev/runs/" + r.ID())
	text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")
	text = regexp.MustCompile(`\s+`).ReplaceAllString(html.UnescapeString(text), " ")
	for _, want := range []string{
		"5 differences", "policy changed inside of JSON", "− before: two", "+ after: 2",
		"size changed, which replaces the resource − before: 1 + after: 2", "rules[3] moved from rules[1]",
		"password changed, and not shown [secret]", "Outputs that change site changed − before: \"a\" + after: \"b\"",
	} {
		require.Contains(t, text, want)
	}
}

// The list of runs changes while it is open. A run that was killed is told from one that goes on.
func TestRunsThatWereCutOff(t *testing.T) {
	s := serve(t, false)
	dir := filepath.Join(s.dir, ".husk", "runs", "shop", "dev")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	name := filepath.Join(dir, "20260102T030405.000Z-destroy-7.jsonl")
	text := `{"at":0,"type":"run","data":{"kind":"destroy","start":"2026-01-02T03:04:05Z"}}` + "\n" +
		`{"at":1,"type":"started","data":{"operation":"destroy"}}` + "\n" +
		`{"at":9,"type":"step-started","data":{"step":{"op":"delete","urn":"urn:pulumi:dev::shop::lab:index:Thing::one","resourceType":"lab:index:Thing","name":"one"}}}` + "\n"
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	require.NoError(t, os.Chtimes(name, time.Now(), time.Date(2026, 1, 2, 3, 5, 0, 0, time.UTC)))
	require.Contains(t, s.get("/stack/dev/runs"), ">cut off<")
	page := s.get("/stack/dev/runs/20260102T030405.000Z-destroy-7")
	require.Contains(t, page, `<span class="did busy">cut off</span>`)

	other := begin(t, s.dir, "up")
	defer func() { require.NoError(t, other.Close(runlog.End{Result: runlog.Declined})) }()
	require.Contains(t, s.get("/stack/dev/runs"), ">running<")
}

func TestPagesThatDoNotExist(t *testing.T) {
	s := serve(t, false)
	for _, path := range []string{
		"/nothing", "/server", "/server/x", "/stack/dev/nothing", "/stack/none/graph", "/stack/dev/runs/20260102T030405.000Z-up-7",
		"/stack/dev/runs/..%2f..%2fmeta", "/assets/none.css", "/assets/..%2fconsole.go",
	} {
		status, _, _ := s.do(http.MethodGet, path, nil, nil)
		require.Equal(t, http.StatusNotFound, status, path)
	}
	for _, page := range []string{"", "http://evil.example/", "//evil.example/"} {
		status, _, _ := s.do(http.MethodGet, "/live?page="+url.QueryEscape(page), nil, nil)
		require.Equal(t, http.StatusBadRequest, status, page)
	}
	// A project that cannot be read is told of, and read again when it is mended.
	file := filepath.Join(s.dir, "Husk.yaml")
	require.NoError(t, os.WriteFile(file, []byte("nam: shop"), 0o600))
	status, body, _ := s.do(http.MethodGet, "/", nil, nil)
	require.Equal(t, http.StatusInternalServerError, status)
	require.Contains(t, body, "did you mean")
	require.Contains(t, s.get("/metrics"), "\nhusk_project_readable 0\n")
	require.NoError(t, os.WriteFile(file, []byte(program), 0o600))
	require.Contains(t, s.get("/"), "shop")
}

// What Prometheus reads: the stack, its last run, and what the providers of that run cost.
func TestMetrics(t *testing.T) {
	s := serve(t, true)
	s.deploy("up")
	text := s.get("/metrics")
	for _, want := range []string{
		`husk_project_readable 1`,
		`husk_stack_resources{project="shop",stack="dev"} 3`,
		`husk_stack_pending_operations{project="shop",stack="dev"} 0`,
		`husk_run_in_progress{project="shop",stack="dev"} 0`,
		`husk_last_run_succeeded{project="shop",stack="dev",kind="up",result="succeeded"} 1`,
		`husk_last_run_changes{project="shop",stack="dev",kind="up",change="create"} 4`,
		`husk_provider_calls{project="shop",stack="dev",provider="local",urn="urn:pulumi:dev::shop::pulumi:providers:local::default",method="create"} 2`,
	} {
		require.Contains(t, text, "\n"+want+"\n")
	}
	require.Regexp(t, `\nhusk_provider_peak_memory_bytes\{[^}]*provider="random"[^}]*\} [1-9]`, text)
	require.Regexp(t, `\nhusk_capability_uses\{[^}]*capability="fs",allowed="true"\} [1-9]`, text)
	sample := regexp.MustCompile(`^[a-z_]+(\{[a-z]+="(?:[^"\\\n]|\\.)*"(,[a-z]+="(?:[^"\\\n]|\\.)*")*\})? [-+0-9.e]+$`)
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if !strings.HasPrefix(line, "# ") {
			require.Regexp(t, sample, line)
		}
	}
}
