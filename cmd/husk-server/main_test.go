package main_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/backend/runapi"
	"github.com/husk-dev/husk/internal/testkit/terminaltest"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
	"github.com/husk-dev/husk/internal/workspace/bundle"
)

// bin is the directory of husk and husk-server.
var bin string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "husk-server-test-*")
	if err == nil {
		defer os.RemoveAll(dir)
		bin = dir
		for _, build := range [][]string{{"../..", "./cmd/husk", "./cmd/husk/husk-full"}, {".", "."}} {
			build := exec.Command("go", append([]string{"build", "-C", build[0], "-o", dir + string(filepath.Separator)}, build[1:]...)...)
			build.Stderr = os.Stderr
			if err = build.Run(); err != nil {
				break
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// site is a server with its users and workers, each a process.
type site struct {
	t     *testing.T
	dir   string
	url   string
	cache string
	lab   []byte
	// place are the flags that say where the server keeps what it has.
	place []string
	// serving is the process of the server.
	serving *exec.Cmd
	// program is the server's, empty for the one in bin, and clock the variable of [buildShifted] for the next one.
	program, clock string
}

func begin(t *testing.T, flags ...string) *site {
	s := newSite(t)
	s.serve("127.0.0.1:0", flags...)
	return s
}

// newSite returns a site whose server is not started yet.
func newSite(t *testing.T) *site {
	cache, err := testmodule.Cache()
	require.NoError(t, err)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	s := &site{t: t, dir: t.TempDir(), cache: cache, lab: testmodule.Build(t, filepath.Join(root, filepath.FromSlash("cmd/husk/testdata/lab")))}
	s.place = []string{"--dir", filepath.Join(s.dir, "server")}
	return s
}

// serve starts the server.
func (s *site) serve(listen string, flags ...string) {
	s.serving = s.command("", "server", s.place, "--listen", listen, flags)
	if s.program != "" {
		s.serving.Path, s.serving.Args = s.program, s.serving.Args[1:]
		s.serving.Env = append(s.serving.Env, s.clock)
	}
	s.url = s.start(s.serving).wait(s.t, regexp.MustCompile(`Serving at (http://\S+),`))[1]
}

// cut ends the server, which is to its workers as if the connection were lost, and returns its address.
func (s *site) cut() string {
	require.NoError(s.t, s.serving.Process.Kill())
	_ = s.serving.Wait()
	return strings.TrimPrefix(s.url, "http://")
}

// command returns a husk command of a user, with a home of that name.
func (s *site) command(user string, args ...any) *exec.Cmd {
	var words []string
	for _, arg := range args {
		switch arg := arg.(type) {
		case string:
			words = append(words, arg)
		case []string:
			words = append(words, arg...)
		}
	}
	cmd := exec.Command(filepath.Join(bin, "husk"), words...)
	home := filepath.Join(s.dir, "home-"+user)
	require.NoError(s.t, os.MkdirAll(home, 0o700))
	if s.cache != "" {
		require.NoError(s.t, testmodule.ShareCache(s.cache, home))
	}
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "HUSK_CACHE_DIR="+s.cache, "NO_COLOR=1",
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return cmd
}

// output is what a process writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// wait waits until something was written.
func (o *output) wait(t *testing.T, pattern *regexp.Regexp) []string {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if found := pattern.FindStringSubmatch(o.String()); found != nil {
			return found
		}
	}
	require.Regexp(t, pattern, o.String())
	return nil
}

// start starts a process that is interrupted at the end of the test.
func (s *site) start(cmd *exec.Cmd) *output {
	s.t.Helper()
	out := &output{}
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(s.t, cmd.Start())
	s.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if s.t.Failed() {
			s.t.Logf("%v wrote:\n%s", cmd.Args[1:], out)
		}
	})
	return out
}

// husk runs a command of a user to its end.
func (s *site) husk(user string, args ...string) (string, error) {
	cmd := s.command(user, args)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *site) done(user string, args ...string) string {
	s.t.Helper()
	out, err := s.husk(user, args...)
	require.NoError(s.t, err, "%s: %v:\n%s", user, args, out)
	return out
}

// token issues a token with the server's own command.
func (s *site) token(tenant, name, role string) string {
	s.t.Helper()
	cmd := s.command("", "server", s.place, "token", tenant, name, role)
	out, err := cmd.Output()
	require.NoError(s.t, err)
	return strings.TrimSpace(string(out))
}

// login logs a new user in.
func (s *site) login(tenant, name, role string) string {
	token := s.token(tenant, name, role)
	s.done(name, "login", strings.Replace(s.url, "://", "://:"+token+"@", 1))
	return token
}

// worker starts a worker.
func (s *site) worker(token, name string, flags ...string) (*exec.Cmd, *output) {
	cmd := s.command("worker-"+name, "worker", "--server", s.url, "--name", name, "--dir", filepath.Join(s.dir, "worker-"+name), flags)
	cmd.Env = append(cmd.Env, "HUSK_ACCESS_TOKEN="+token)
	return cmd, s.start(cmd)
}

func (s *site) project(files map[string]string) string {
	s.t.Helper()
	dir := s.t.TempDir()
	require.NoError(s.t, os.WriteFile(filepath.Join(dir, "lab.wasm"), s.lab, 0o600))
	for name, text := range files {
		require.NoError(s.t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(s.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// cloud is a cloud of objects (see lab:Object). Each creation makes another object, and none is made or deleted by itself.
type cloud struct {
	address string
	// hold, if set, is called in each request.
	hold func(operation string)

	mu      sync.Mutex
	made    int
	objects map[string]string // names by ID
	begun   map[string]int    // creations that go on, by name
	sizes   map[string]string
}

func newCloud(t *testing.T) *cloud {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cloud{address: listener.Addr().String(), objects: map[string]string{}, begun: map[string]int{}, sizes: map[string]string{}}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				if line, err := bufio.NewReader(conn).ReadString('\n'); err == nil {
					fmt.Fprintln(conn, c.serve(strings.Fields(line)))
				}
			})
		}
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		serving.Wait()
	})
	return c
}

// holds has operations of a kind say that they have come, and wait until the other channel is closed, or sent to.
func (c *cloud) holds(kind string) (reached, release chan struct{}) {
	reached, release = make(chan struct{}, 100), make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hold = func(operation string) {
		if operation == kind {
			reached <- struct{}{}
			<-release
		}
	}
	return reached, release
}

// count returns how many objects were made.
func (c *cloud) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made
}

func (c *cloud) serve(words []string) string {
	c.mu.Lock()
	hold := c.hold
	if words[0] == "create" {
		c.begun[words[1]]++
	}
	c.mu.Unlock()
	if hold != nil {
		hold(words[0])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	id := words[1]
	switch words[0] {
	case "create":
		c.made++
		c.begun[words[1]]--
		id = "object-" + strconv.Itoa(c.made)
		c.objects[id], c.sizes[id] = words[1], words[2]
	case "update":
		c.sizes[id] = words[2]
	case "read":
		if _, ok := c.objects[id]; !ok {
			return "gone"
		}
		return c.sizes[id]
	case "delete":
		delete(c.objects, id)
	}
	return id
}

func (s *site) objects(c *cloud, names ...string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "name: demo\nruntime: yaml\nplugins: {providers: [{name: lab, path: lab.wasm, grants: {tcp: [%q]}}]}\nresources:\n", c.address)
	for _, name := range names {
		fmt.Fprintf(&text, "  %s: {type: lab:Object, properties: {address: %q, name: %s, size: 1}}\n", name, c.address, name)
	}
	return text.String()
}

const things = `name: shop
runtime: yaml
plugins: {providers: [{name: lab, path: lab.wasm}]}
config:
  password: {type: string, secret: true}
resources:
  a: {type: lab:Thing, properties: {key: k, name: "${password}"}}
outputs:
  text: ${a.name}
`

// A user's session: log in, deploy by a worker, with secrets, look at runs, approve, repeat.
func TestSession(t *testing.T) {
	s := begin(t)
	help := s.done("", "server", "--help")
	require.Contains(t, help, "husk server token TEAM NAME ROLE")
	require.Contains(t, help, "(default 90 days)")
	require.NotRegexp(t, `--\S+ (string|strings|stringArray|duration|int)\b`, help, "values have names")
	s.login("acme", "ann", "admin")
	s.login("acme", "bob", "approve")
	dir := s.project(map[string]string{"Husk.yaml": things})
	worker, said := s.worker(s.token("acme", "w", "work"), "w", "--label", "region=eu")
	said.wait(t, regexp.MustCompile(`The worker w takes runs from .*, up to 2 at once`))

	_, err := s.husk("ann", "up", "-C", dir, "--remote")
	require.Error(t, err, "there is nobody to ask")
	s.done("ann", "stack", "init", "dev", "-C", dir)
	s.done("ann", "config", "set", "password", "hunter2-canary", "--secret", "-C", dir)
	out := s.done("ann", "up", "-C", dir, "--remote", "--yes", "--label", "region=eu")
	require.Contains(t, out, "+  lab:Thing a ")
	require.Contains(t, out, "2 created")
	require.NotContains(t, out, "hunter2-canary")
	require.Contains(t, s.done("bob", "stack", "output", "-C", dir, "--show-secrets"), "hunter2-canary", "the server has the key for all of the team")
	require.Contains(t, s.done("ann", "preview", "-C", dir, "--remote"), "nothing would change")
	require.Contains(t, s.done("ann", "up", "-C", dir, "--remote", "--yes", "--json"), `"result":"succeeded"`)
	out, err = s.husk("ann", "up", "-C", dir, "--remote", "--yes", "--audit-log=x")
	require.Error(t, err)
	require.Contains(t, out, "a run on a server cannot have the option --audit-log")

	// The one asks, and the other approves.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(things+"  # more\n"), 0o600))
	laptop := strings.TrimSpace(s.done("ann", "remote", "token", "add", "laptop", "request"))
	s.done("laptop", "login", strings.Replace(s.url, "://", "://:"+laptop+"@", 1))
	out = s.done("laptop", "destroy", "-C", dir, "--remote", "--require-approval")
	id := regexp.MustCompile(`The run (\w{26}) is queued`).FindStringSubmatch(out)[1]
	require.Contains(t, out, "-  lab:Thing a ")
	require.Contains(t, out, "husk remote approve "+id)
	out, err = s.husk("ann", "remote", "approve", id)
	require.Error(t, err)
	require.Contains(t, out, "somebody else is to approve")
	s.done("bob", "remote", "approve", id)
	require.Contains(t, s.done("bob", "remote", "log", "-f", id), "2 deleted")
	require.Contains(t, s.done("ann", "remote", "ls"), id+"  succeeded  destroy  shop/dev  by laptop")
	require.Regexp(t, `(?m) ann +destroy +2 deleted$`, s.done("ann", "stack", "history", "-C", dir), "whom the worker did it for")
	require.Contains(t, s.done("ann", "stack", "history", "-C", dir, "--json"), `"run": "`+id+`"`)
	out = s.done("ann", "up", "-C", dir, "--remote", "--require-approval")
	require.NotContains(t, out, "plan.json", "a file of the worker")
	s.done("bob", "remote", "reject", regexp.MustCompile(`The run (\w{26}) is queued`).FindStringSubmatch(out)[1])

	require.Contains(t, s.done("ann", "remote", "schedule", "set", "drift", "0 4 * * *", "refresh", "--preview-only", "-C", dir), "The first run is at ")
	require.Contains(t, s.done("ann", "remote", "schedule", "ls"), "drift")
	s.done("ann", "remote", "schedule", "rm", "drift")
	require.Regexp(t, `^husk_\w+\n$`, s.done("ann", "remote", "token", "add", "carl", "read"))
	require.Regexp(t, `(?m)^carl +read +all projects  for ann  by ann  never used$`, s.done("ann", "remote", "token", "ls"))
	require.Regexp(t, `(?m)^laptop +request +all projects  for ann  by ann  used 2\S+$`, s.done("ann", "remote", "token", "ls"))
	s.done("ann", "remote", "token", "rm", "carl")
	audit := s.done("ann", "remote", "audit")
	require.Regexp(t, `(?m)^\S+ \S+ +ann +127.0.0.1 +token.revoke +carl *$`, audit)
	require.Regexp(t, `(?m) bob +127.0.0.1 +run.approve +`+id+` +destroy of shop/dev, asked for by laptop of ann$`, audit)
	require.Regexp(t, `(?m) who runs the server +token.issue +bob +role approve, for bob, projects \[\]$`, audit)
	require.Equal(t, 3, strings.Count(s.done("ann", "remote", "audit", "--json", "--limit", "3"), `"number"`))
	require.Contains(t, s.done("ann", "server", "status"), "w                        0 of 2  region=eu")

	require.NoError(t, worker.Process.Signal(syscall.SIGTERM))
	said.wait(t, regexp.MustCompile(`Stopping: running steps finish`))
	require.NoError(t, worker.Wait(), "a worker that was asked to stop has not failed")
}

// Who cancels here cancels there. A worker that stops, and one that is killed, leave their run to another, which goes on where
// the state says.
func TestCancelDrainAndKill(t *testing.T) {
	s := begin(t, "--lease", "2s")
	s.login("acme", "ann", "admin")
	c := newCloud(t)
	reached, release := make(chan struct{}, 100), make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	t.Cleanup(free) // runs end also if the test fails
	c.hold = func(string) {
		reached <- struct{}{}
		<-release
	}
	dir := s.project(map[string]string{"Husk.yaml": s.objects(c, "a", "b")})
	token := s.token("*", "fleet", "work")
	s.worker(token, "one", "--trusted", "--slots", "1")
	s.done("ann", "stack", "init", "dev", "-C", dir)

	up := s.command("ann", "up", "-C", dir, "--remote", "--yes", "--parallel=1")
	out := s.start(up)
	<-reached
	require.NoError(t, up.Process.Signal(os.Interrupt))
	out.wait(t, regexp.MustCompile(`Cancelled by ann\.`))
	out.wait(t, regexp.MustCompile(`Stopping: waiting for running steps`)) // the worker has heard of it with its next beat
	release <- struct{}{}
	require.Error(t, up.Wait())
	require.Contains(t, out.String(), "was cancelled")
	require.Len(t, c.objects, 1, "the step that ran has finished, and no other began")

	// The worker with the run is killed while the second object is being made.
	up = s.command("ann", "up", "-C", dir, "--remote", "--yes")
	out = s.start(up)
	<-reached
	two, said := s.worker(token, "two", "--trusted", "--slots", "1")
	killed := s.kill("one")
	require.True(t, killed)
	release <- struct{}{} // the cloud makes the object, and nobody hears of it
	// Whether it exists is not known, and so the run makes it again only if somebody says so.
	out.wait(t, regexp.MustCompile(`The worker one has not been heard of for 2s\.`))
	require.Error(t, up.Wait())
	id := regexp.MustCompile(`the run (\w{26}) needs attention: an earlier worker may have created an object without a record`).FindStringSubmatch(out.String())
	require.NotNil(t, id, "%s", out)
	require.Contains(t, s.done("ann", "remote", "ls"), id[1]+"  attention  up")
	s.done("ann", "remote", "retry", id[1])
	follow := s.command("ann", "remote", "log", "-f", id[1])
	s.start(follow).wait(t, regexp.MustCompile(`(?s)Tried again by ann\..*an earlier run was cut off while creating this resource.*The run needs attention`))
	require.Len(t, c.objects, 2)
	s.done("ann", "remote", "retry", id[1], "--retry-pending")
	<-reached
	// The worker of that attempt stops, and the run goes on at a third.
	require.NoError(t, two.Process.Signal(syscall.SIGTERM))
	said.wait(t, regexp.MustCompile(`Stopping: running steps finish`))
	free()
	s.worker(token, "three", "--trusted", "--slots", "1")
	require.NoError(t, follow.Wait())
	require.Len(t, c.objects, 3, "the one that was made twice was reported")
}

// A command that waits for a run says at once why the run waits, and so do husk remote ls, show, and log.
func TestRunsThatWaitSayWhy(t *testing.T) {
	s := begin(t, "--max-runs", "acme=1", "--weight", "acme=2")
	s.login("acme", "ann", "admin")
	dir := s.project(map[string]string{"Husk.yaml": things})
	s.done("ann", "stack", "init", "dev", "-C", dir)
	s.done("ann", "config", "set", "password", "word", "--secret", "-C", dir)
	const waits = "a worker with gpu=1: none is connected that takes it"
	said := regexp.MustCompile(`The run waits for ` + waits + `\.`)
	up := s.command("ann", "up", "-C", dir, "--remote", "--yes", "--label", "gpu=1")
	out := s.start(up)
	out.wait(t, said)
	id := out.wait(t, regexp.MustCompile(`The run (\w{26}) is queued at`))[1]
	require.Contains(t, s.done("ann", "remote", "ls"), "\n    waits for "+waits+"\n")
	shown := s.done("ann", "remote", "show", id)
	require.Regexp(t, `(?m)^state +queued$`, shown)
	require.Regexp(t, `(?m)^waits for +`+waits+`$`, shown)
	require.Contains(t, s.done("ann", "remote", "show", id, "--json"), `"for": "labels"`)
	follow := s.command("ann", "remote", "log", "-f", id)
	s.start(follow).wait(t, said)
	s.worker(s.token("acme", "w", "work"), "w", "--label", "gpu=1")
	require.NoError(t, up.Wait())
	require.NoError(t, follow.Wait())
	require.NotContains(t, s.done("ann", "remote", "show", id), "waits for")
}

// The three lines at the beginning of docs/runners.md are all that a new user needs.
func TestThreeLines(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash("../../docs/runners.md"))
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)## Three commands.*?```\n(.*?)```").FindSubmatch(text)
	lines := strings.Split(strings.TrimSpace(string(block[1])), "\n")
	require.Len(t, lines, 3)
	port, err := net.Listen("tcp", "127.0.0.1:8470")
	if err != nil {
		t.Skip("another server has the port of the lines")
	}
	require.NoError(t, port.Close())
	cache, err := testmodule.Cache()
	require.NoError(t, err)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	s := &site{t: t, dir: t.TempDir(), cache: cache, lab: testmodule.Build(t, filepath.Join(root, filepath.FromSlash("cmd/husk/testdata/lab")))}
	line := func(i int, dir string) *exec.Cmd {
		words := strings.Fields(lines[i])
		require.Equal(t, "husk", words[0])
		cmd := s.command("newcomer", words[1:])
		cmd.Dir = dir
		return cmd
	}
	terminal := terminaltest.New(t, 100, 40)
	serving := line(0, t.TempDir())
	said := s.start(serving)
	said.wait(t, regexp.MustCompile("You can use it on this machine"))
	require.Contains(t, said.String(), "  "+lines[1]+" ")
	s.start(line(1, t.TempDir())).wait(t, regexp.MustCompile(`takes runs from http://127\.0\.0\.1:8470`))
	plain := map[string]string{"Husk.yaml": strings.NewReplacer("config:\n  password: {type: string, secret: true}\n", "", "${password}", "x").Replace(things)}
	dir := s.project(plain)
	up := line(2, dir)
	up.Stdin, up.Stdout, up.Stderr = terminal.TTY, terminal.TTY, terminal.TTY
	require.NoError(t, up.Start())
	t.Cleanup(func() { _ = up.Process.Kill() })
	terminal.AwaitText(t, "Make these changes?")
	terminal.Type(t, "yes\n")
	require.NoError(t, up.Wait(), "%s", terminal.Screen())
	require.Contains(t, terminal.Screen(), "2 created")

	// Later commands find the stack: beside the project, an update would create everything again.
	require.Contains(t, s.done("newcomer", "stack", "ls", "-C", dir), "dev")
	require.Contains(t, s.done("newcomer", "whoami", "-C", dir), "http://127.0.0.1:8470 (.husk/server.json)")
	require.Contains(t, s.done("newcomer", "up", "--yes", "-C", dir), "nothing changed")
	choice, err := os.ReadFile(filepath.Join(dir, ".husk", "server.json"))
	require.NoError(t, err)
	require.NotContains(t, string(choice), "husk_", "no token")
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".husk", "server.json"), []byte(`{"url":"https://elsewhere.example"}`), 0o644))
	out, err := s.husk("newcomer", "stack", "ls", "-C", dir)
	require.Error(t, err)
	require.Contains(t, out, "server.json names a server on another machine, which husk has not written there")
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".husk", "server.json"), choice, 0o644))
	require.Contains(t, s.done("newcomer", "logout", "-C", dir), "Stacks are kept beside the project file again")
	require.Contains(t, s.done("newcomer", "stack", "ls", "-C", dir), "the stacks of this project are in http://127.0.0.1:8470, as husk.backend.json says")
	require.Contains(t, s.done("newcomer", "up", "--remote", "--yes", "-C", dir), "The stacks of this project are kept there from now on")
	require.NotContains(t, s.done("newcomer", "up", "--remote", "--yes", "-C", dir), "from now on")

	file := filepath.Join(s.dir, "home-newcomer", "husk", "local-server.json")
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Contains(t, s.done("newcomer", "remote", "ls"), "succeeded  up")
	s.done("newcomer", "login", "http://127.0.0.1:8470")
	require.Contains(t, s.done("newcomer", "stack", "ls", "-C", dir), "dev")
	out, err = s.husk("stranger", "up", "--remote", "--yes", "-C", dir)
	require.Error(t, err)
	require.Contains(t, out, "it asks for a token")
	require.NotContains(t, out, "husk_")
	out, err = s.husk("stranger", "up", "--remote", "--yes", "-C", s.project(plain))
	require.Error(t, err)
	require.Contains(t, out, "this needs a server of husk")
	require.NotContains(t, out, "husk_")

	// Who has stacks beside the project does not get others by accident.
	beside := s.project(plain)
	s.done("newcomer", "logout")
	s.done("newcomer", "stack", "init", "dev", "-C", beside)
	out, err = s.husk("newcomer", "up", "--remote", "--yes", "-C", beside)
	require.Error(t, err)
	require.Contains(t, out, "where an update would create everything again")
}

// A server that is started again, whether it was stopped or killed, costs a run nothing: it goes on where it is.
func TestServerRestarts(t *testing.T) {
	for what, signal := range map[string]os.Signal{"stopped": syscall.SIGTERM, "killed": syscall.SIGKILL} {
		t.Run(what, func(t *testing.T) {
			s := begin(t, "--lease", "3s")
			s.login("acme", "ann", "admin")
			c := newCloud(t)
			reached, release := c.holds("create")
			dir := s.project(map[string]string{"Husk.yaml": s.objects(c, "a", "b")})
			s.worker(s.token("acme", "w", "work"), "w", "--trusted")
			s.done("ann", "stack", "init", "dev", "-C", dir)
			up := s.command("ann", "up", "-C", dir, "--remote", "--yes", "--parallel=1")
			out := s.start(up)
			<-reached
			require.NoError(t, s.serving.Process.Signal(signal))
			_ = s.serving.Wait()
			s.serve(strings.TrimPrefix(s.url, "http://"), "--lease", "3s")
			close(release)
			require.NoError(t, up.Wait(), "%s", out)
			require.NotContains(t, out.String(), "is tried again")
			require.Contains(t, s.done("ann", "preview", "-C", dir, "--remote"), "nothing would change")
		})
	}
}

// kill kills the worker with a name, as a machine that loses its power does.
func (s *site) kill(name string) bool {
	s.t.Helper()
	killed := false
	for s.signal(name, syscall.SIGKILL) { // until none is left that could begin another, or write
		killed = true
	}
	return killed
}

// signal sends a signal to the processes of the worker with a name, and reports whether there are any.
func (s *site) signal(name string, signal syscall.Signal) (sent bool) {
	s.t.Helper()
	// All of them have its directory in their arguments or environment.
	dir := filepath.Join(s.dir, "worker-"+name)
	entries, err := os.ReadDir("/proc")
	require.NoError(s.t, err)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		args, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		environment, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		if bytes.Contains(args, []byte(dir+"\x00")) || bytes.Contains(environment, []byte("="+dir+"/")) {
			sent = syscall.Kill(pid, signal) == nil || sent
		}
	}
	return sent
}

// An edge worker has the states of its stacks. Without a connection it repeats what it has, ends what it has begun, and
// tells later.
func TestEdge(t *testing.T) {
	s := begin(t, "--lease", "2s")
	s.login("acme", "ann", "admin")
	token := s.token("acme", "pumps", "work")
	c := newCloud(t)
	dir := s.project(map[string]string{"Husk.yaml": s.objects(c, "a", "b")})
	pump, said := s.worker(token, "pump", "--edge", "--trusted")
	said.wait(t, regexp.MustCompile(`The worker pump takes runs from .*, up to 1 at once`))
	up := []string{"up", "-C", dir, "--remote", "--yes", "--label", "edge=pump", "--stack", "pump"}
	require.Contains(t, s.done("ann", up...), "3 created")
	require.Len(t, c.objects, 2)
	require.Contains(t, s.done("ann", up...), "nothing changed, 3 up to date")
	require.NotContains(t, s.done("ann", "stack", "ls", "-C", dir), "pump", "its state is not the server's")
	require.NoError(t, pump.Process.Signal(syscall.SIGTERM))
	require.NoError(t, pump.Wait())

	// Something is lost while the machine is off, and then there is no connection.
	address := s.cut()
	c.mu.Lock()
	for id, name := range c.objects {
		if name == "a" {
			delete(c.objects, id)
		}
	}
	c.mu.Unlock()
	_, said = s.worker(token, "pump", "--edge", "--trusted", "--every", "1s")
	said.wait(t, regexp.MustCompile(`up demo/pump succeeded after`))
	c.mu.Lock()
	require.Len(t, c.objects, 2)
	require.Equal(t, 3, c.made)
	c.mu.Unlock()
	s.serve(address, "--lease", "2s")
	id := s.reported("repeated by the worker on its own")
	require.Contains(t, s.done("ann", "remote", "log", id), "1 created")

	// The connection is lost in a run.
	reached, release := c.holds("create")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(s.objects(c, "a", "b", "c")), 0o600))
	s.start(s.command("ann", up))
	said.wait(t, regexp.MustCompile(`up demo/pump for ann begins`))
	<-reached
	address = s.cut()
	close(release)
	said.wait(t, regexp.MustCompile(`(?s)for ann begins.*up demo/pump succeeded after .*; it is reported later`))
	s.serve(address, "--lease", "2s")
	id = s.reported(", which ended without a connection.")
	require.Contains(t, s.done("ann", "remote", "log", id), "1 created")
	c.mu.Lock()
	require.Len(t, c.objects, 3)
	require.Equal(t, 4, c.made, "what was done again changes nothing")
	c.mu.Unlock()

	require.Contains(t, s.done("ann", "destroy", "-C", dir, "--remote", "--yes", "--label", "edge=pump", "--stack", "pump"), "deleted")
	require.Empty(t, c.objects)
	entries, err := os.ReadDir(filepath.Join(s.dir, "worker-pump", "desired"))
	require.NoError(t, err)
	require.Empty(t, entries, "what was destroyed is not made again")
}

// What is repeated is what was last asked for: no more than that update was for, no update that was cancelled, and nothing
// after a destruction, however that ended. Reports are those of one run each, whatever its message and the clock.
func TestEdgeRepeats(t *testing.T) {
	s := begin(t, "--lease", "3s")
	s.login("acme", "ann", "admin")
	c := newCloud(t)
	dir := s.project(map[string]string{"Husk.yaml": s.objects(c, "a", "b")})
	pump, _ := s.worker(s.token("acme", "pumps", "work"), "pump", "--edge", "--trusted")
	to := []string{"-C", dir, "--remote", "--yes", "--label", "edge=pump", "--stack", "pump"}
	desired := func() string {
		var all []byte
		entries, err := os.ReadDir(filepath.Join(s.dir, "worker-pump", "desired"))
		require.NoError(t, err)
		for _, entry := range entries {
			require.Equal(t, "demo@pump.json", entry.Name())
			text, err := os.ReadFile(filepath.Join(s.dir, "worker-pump", "desired", entry.Name()))
			require.NoError(t, err)
			all = append(all, text...)
		}
		return string(all)
	}
	reached, release := make(chan struct{}, 100), make(chan struct{})
	t.Cleanup(func() { close(release) }) // runs end also if the test fails
	hold := func(which string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.hold = func(operation string) {
			if operation == which {
				reached <- struct{}{}
				<-release
			}
		}
	}
	cancel := func(args ...string) {
		cmd := s.command("ann", args, to)
		out := s.start(cmd)
		<-reached
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		out.wait(t, regexp.MustCompile(`Stopping: waiting for running steps`)) // the worker has heard of it with its next beat
		release <- struct{}{}
		require.Error(t, cmd.Wait())
	}
	hold("create")
	cancel("up", "--parallel=1")
	require.Empty(t, desired(), "an update that was cancelled is not repeated")
	hold("")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(s.objects(c, "a", "b", "c")), 0o600))
	s.done("ann", append([]string{"up", "--target", "**::c", "--diff", "--message", strings.Repeat("m", 4090)}, to...)...)
	require.Contains(t, desired(), `"options":["--target=**::c"]`)
	s.done("ann", append([]string{"destroy", "--preview-only"}, to...)...)
	require.NotEmpty(t, desired(), "a preview changes nothing")

	// The machine is off, and its objects are lost. What the update was not for stays so.
	require.NoError(t, pump.Process.Signal(syscall.SIGTERM))
	require.NoError(t, pump.Wait())
	hold("")
	c.mu.Lock()
	made := c.made
	clear(c.objects)
	c.mu.Unlock()
	_, said := s.worker(s.token("acme", "more pumps", "work"), "pump", "--edge", "--trusted")
	said.wait(t, regexp.MustCompile(`up demo/pump succeeded after`))
	c.mu.Lock()
	require.Equal(t, made+1, c.made)
	c.mu.Unlock()

	// A run with the longest message loses its connection.
	hold("create")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(s.objects(c, "d")), 0o600))
	s.start(s.command("ann", "up", "--message", strings.Repeat("m", 4090), to))
	<-reached
	address := s.cut()
	release <- struct{}{}
	said.wait(t, regexp.MustCompile(`up demo/pump succeeded after .*; it is reported later`))
	hold("")
	s.serve(address, "--lease", "3s")
	s.reported(", which ended without a connection. mmm")

	hold("delete")
	cancel("destroy", "--parallel=1")
	require.Empty(t, desired(), "what was to be destroyed is not made again")

	_, said = s.worker(s.token("*", "fleet", "work"), "valve", "--edge")
	said.wait(t, regexp.MustCompile(`the token fleet is for the runs of all teams, and an edge worker keeps the states of one`))
}

// A run is of the project that it was allowed for, whatever its files say.
func TestOtherProject(t *testing.T) {
	s := begin(t)
	admin := s.login("acme", "ann", "admin")
	_, said := s.worker(s.token("acme", "w", "work"), "w")
	client, err := runapi.NewClient(s.url, admin)
	require.NoError(t, err)
	p, err := program.LoadProject(t.Context(), projectroot.New(s.project(map[string]string{"Husk.yaml": things}), projectroot.Trusted))
	require.NoError(t, err)
	var content bytes.Buffer
	info, err := bundle.Pack(&content, p, nil)
	require.NoError(t, err)
	require.NoError(t, client.SendBundle(t.Context(), info.Digest, content.Bytes()))
	n := runapi.NewRun{ID: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Project: "bank", Stack: "dev", Operation: "preview", Bundle: info.Digest}
	_, err = client.Call(t.Context(), http.MethodPost, "/v1/runs", n, nil)
	require.NoError(t, err)
	out, err := s.husk("ann", "remote", "log", "-f", n.ID)
	require.NoError(t, err)
	require.Contains(t, out, "the run is of the project bank, and its files belong to the project shop")
	said.wait(t, regexp.MustCompile(`preview bank/dev failed after`))
}

// reported waits until runs have one with a text, and returns its ID.
func (s *site) reported(text string) string {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		out := s.done("ann", "remote", "ls")
		if found := regexp.MustCompile(`(?m)^(\w{26}) .*\n {4}.*` + regexp.QuoteMeta(text)).FindStringSubmatch(out); found != nil {
			return found[1]
		}
		require.True(s.t, time.Now().Before(end), "%s in:\n%s", text, out)
	}
}

// What a project of somebody else's may not have, it does not get.
func TestUntrustedProjects(t *testing.T) {
	s := begin(t)
	s.login("acme", "eve", "request")
	s.worker(s.token("*", "fleet", "work"), "w")
	secret := filepath.Join(s.t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret-canary"), 0o600))
	lab := "plugins: {providers: [{name: lab, path: lab.wasm%s}]}\nresources:\n  a: {type: lab:Thing, properties: {key: k, name: x}}\n"
	for want, project := range map[string]string{
		"may name only files and directories of its own": "runtime: yaml\n" + fmt.Sprintf(lab, fmt.Sprintf(", grants: {fs: [%q]}", s.t.TempDir())),
		"it may not reach this machine":                  "runtime: yaml\n" + fmt.Sprintf(lab, ", grants: {http: [\"http://localhost:1\"]}"),
		"it may not reach 10.0.0.1":                      "runtime: yaml\n" + fmt.Sprintf(lab, ", grants: {tcp: [\"10.0.0.1:5432\"]}"),
		"it may not reach 169.254.169.254":               "runtime: yaml\n" + fmt.Sprintf(lab, ", grants: {tcp: [\"169.254.169.254:80\"]}"),
		"it may have no variables of this process":       "runtime: yaml\n" + fmt.Sprintf(lab, ", grants: {env: [PATH]}"),
		"which runs outside of the sandbox":              "runtime: nodejs\n",
		"a project that is not trusted may have only":    "runtime: yaml\nplugins: {providers: [{name: lab, path: lab.wasm, native: true}]}\nresources:\n  a: {type: lab:Thing, properties: {key: k, name: x}}\n",
		"outside of the directory of the project":        fmt.Sprintf("runtime: yaml\nvariables: {x: {fn::readFile: %q}}\noutputs: {x: \"${x}\"}\n", secret),
	} {
		dir := s.project(map[string]string{"Husk.yaml": "name: evil\n" + project})
		_, err := s.husk("eve", "stack", "init", "dev", "-C", dir)
		_ = err // it is there from the second project on
		out, err := s.husk("eve", "up", "-C", dir, "--remote", "--yes")
		require.Error(t, err, want)
		require.Contains(t, out, want)
		require.NotContains(t, out, "secret-canary")
	}
}

// The server's own document makes a package of it, with which a project manages schedules.
func TestManagedByADocument(t *testing.T) {
	s := begin(t)
	token := s.login("acme", "ann", "admin")
	root, err := filepath.Abs("../../examples/providers/openapi")
	require.NoError(t, err)
	resp, err := http.Get(s.url + "/openapi.json")
	require.NoError(t, err)
	defer resp.Body.Close()
	document, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	files := []byte("files")
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(files))
	client, err := runapi.NewClient(s.url, token)
	require.NoError(t, err)
	require.NoError(t, client.SendBundle(t.Context(), digest, files))
	project := func(cron string) string {
		return fmt.Sprintf(`name: ops
runtime: yaml
backend: {url: "file://./state"}
plugins: {providers: [{name: openapi, path: openapi.wasm, grants: {fs: [api], http: [%q]}}]}
packages: {husk: {source: openapi, parameters: [./api/husk.json, husk]}}
config:
  husk:baseUrl: %[1]s
  husk:token: %[2]s
resources:
  drift:
    type: husk:Schedule
    properties:
      name: drift
      cron: %[3]q
      run: {project: shop, stack: dev, operation: refresh, bundle: %[4]q, options: ["--preview-only=true"]}
`, s.url, token, cron, digest)
	}
	dir := s.project(map[string]string{"Husk.yaml": project("0 4 * * *"), "api/husk.json": string(document), "openapi.wasm": string(testmodule.Build(t, root))})
	up := func() string { return s.done("ops", "up", "--yes", "-C", dir) }
	up()
	require.Regexp(t, `drift +0 4 \* \* \* +refresh +shop/dev`, s.done("ann", "remote", "schedule", "ls"))
	require.Contains(t, up(), "nothing changed")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(project("0 5 * * *")), 0o600))
	require.Contains(t, up(), "updated")
	require.Contains(t, s.done("ann", "remote", "schedule", "ls"), "0 5 * * *")
	s.done("ann", "remote", "schedule", "rm", "drift")
	s.done("ops", "refresh", "--yes", "-C", dir)
	require.Contains(t, up(), "1 created")
	s.done("ops", "destroy", "--yes", "-C", dir)
	require.NotContains(t, s.done("ann", "remote", "schedule", "ls"), "drift")
}

func TestUsage(t *testing.T) {
	s := begin(t)
	for want, args := range map[string][]string{
		"see \"husk server --help\"":               {"server", "--nonsense"},
		"unexpected argument \"nonsense\"":         {"server", "nonsense"},
		"anybody on the way could read the tokens": {"server", "--listen", "0.0.0.0:0"},
		"it has the form HOST:PORT":                {"server", "--listen", "x"},
		"--lease 1ms":                              {"server", "--lease", "1ms"},
		"--max-runs acme: it has the form NAME=N":  {"server", "--listen", "127.0.0.1:0", "--max-runs", "acme"},
		"--weight acme=0: it has the form NAME=N":  {"server", "--listen", "127.0.0.1:0", "--weight", "acme=0"},
		`the limit of "Acme"`:                      {"server", "--listen", "127.0.0.1:0", "--max-runs", "Acme=1"},
		"--tls-cert and --tls-key":                 {"server", "--tls-cert", "none", "--tls-key", "none"},
		"this needs a server of husk":              {"remote", "ls"},
		"--slots 0":                                {"worker", "--slots", "0"},
		"--server x: it has the form":              {"worker", "--server", "x"},
		"anybody on the way could read the token":  {"worker", "--server", "http://example.org"},
		"the token is not one of this server":      {"worker", "--server", strings.Replace(s.url, "://", "://:wrong@", 1)},
		"it has the form NAME=VALUE":               {"worker", "--label", "x", "--server", s.url},
		"the environment variable NONE_SUCH":       {"worker", "--env", "NONE_SUCH", "--server", s.url},
		"limit":                                    {"worker", "--limit", "x", "--server", s.url},
		"--message requires --remote":              {"up", "--message", "x", "--yes"},
	} {
		out, err := s.husk("nobody", args...)
		require.Error(t, err, "%v", args)
		require.Contains(t, out, want, "%v", args)
	}
	require.Contains(t, s.done("nobody", "server", "--help"), "--require-approval")
}
