package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/testkit/postgrestest"
)

// balancer sends each request to the next of its servers, whatever was sent to which before. If that cannot be reached, or is
// stopping, it answers with pages of its own, each time another.
type balancer struct {
	mu      sync.Mutex
	servers []*url.URL
	next    int
	shown   map[int]int
	// page is the status of the page with which it answers everything, if not zero.
	page int
}

var pages = []int{http.StatusBadGateway, http.StatusNotFound, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests, http.StatusForbidden}

// show has the balancer answer everything with a page of this status, until the status is zero.
func (b *balancer) show(status int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.page = status
}

func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	page := b.page
	b.mu.Unlock()
	if page != 0 {
		w.WriteHeader(page)
		return
	}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.next++
			r.SetURL(b.servers[b.next%len(b.servers)])
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			b.mu.Lock()
			b.next++
			status := pages[b.next%len(pages)]
			b.shown[status]++
			b.mu.Unlock()
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
			_, _ = w.Write([]byte("<html>the page of a balancer</html>"))
		},
	}
	proxy.ServeHTTP(w, r)
}

// Servers are stopped and started again, one after the other, while resources are created. No run ends for that, and nothing
// is made twice: not by one server with SQLite, which is gone meanwhile, nor by two with PostgreSQL behind a balancer that knows
// no sessions.
func TestRollingRestartsMakeNothingTwice(t *testing.T) {
	for name, servers := range map[string]int{"SQLite": 1, "PostgreSQL": 2} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			if name == "PostgreSQL" {
				s.place = append(s.place, "--database", postgrestest.Start(t).URL("postgres", 0))
			}
			b := &balancer{shown: map[int]int{}}
			var serving []*exec.Cmd
			for range servers {
				s.serve("127.0.0.1:0", "--lease", "10s")
				at, err := url.Parse(s.url)
				require.NoError(t, err)
				b.servers, serving = append(b.servers, at), append(serving, s.serving)
			}
			front := httptest.NewServer(b)
			t.Cleanup(front.Close)
			s.url = front.URL
			s.login("acme", "ann", "admin")
			_, said := s.worker(s.token("acme", "w", "work"), "w", "--trusted")

			const resources = 4
			c := newCloud(t)
			reached, release := c.holds("create")
			var text strings.Builder
			text.WriteString(s.objects(c, "r0"))
			for n := 1; n < resources; n++ {
				fmt.Fprintf(&text, "  r%d: {type: lab:Object, properties: {address: %q, name: r%d, size: 1}, options: {dependsOn: [\"${r%d}\"]}}\n", n, c.address, n, n-1)
			}
			dir := s.project(map[string]string{"Husk.yaml": text.String()})
			s.done("ann", "stack", "init", "dev", "-C", dir)
			up := s.command("ann", "up", "-C", dir, "--remote", "--yes")
			out := s.start(up)
			for n := range resources {
				<-reached
				i := n % servers
				require.NoError(t, serving[i].Process.Signal(syscall.SIGTERM))
				_ = serving[i].Wait()
				release <- struct{}{} // it is recorded while this server is gone
				before := s.url
				s.serve(b.servers[i].Host, "--lease", "10s")
				serving[i], s.url = s.serving, before
			}
			require.NoError(t, up.Wait(), "%s\n%s", out, said)
			require.Contains(t, out.String(), fmt.Sprintf("%d created", resources+1))
			require.NotContains(t, out.String(), "cut off")
			require.NotContains(t, out.String(), "goes on elsewhere")
			c.mu.Lock()
			defer c.mu.Unlock()
			require.Equal(t, resources, c.made)
			require.Len(t, c.objects, resources)
			require.NotEmpty(t, b.shown)
		})
	}
}

// A worker that is cut off from its server for longer than its lease loses its run, in the middle of a creation. The run does not
// create anything again: it waits, until the worker is back and has handed in what it has made, and then goes on with that.
func TestWhatALostWorkerHasMadeIsHandedIn(t *testing.T) {
	s := begin(t, "--lease", "2s")
	s.login("acme", "ann", "admin")
	token := s.token("acme", "w", "work")
	at, err := url.Parse(s.url)
	require.NoError(t, err)
	var cut atomic.Bool
	proxy := httputil.NewSingleHostReverseProxy(at)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if cut.Load() {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	c := newCloud(t)
	reached, release := c.holds("create")
	free := sync.OnceFunc(func() { close(release) })
	t.Cleanup(free)
	direct := s.url
	s.url = front.URL
	_, said := s.worker(token, "one", "--trusted", "--slots", "1")
	s.url = direct
	// Two at once: each of what they make is to be known.
	dir := s.project(map[string]string{"Husk.yaml": s.objects(c, "a", "b")})
	s.done("ann", "stack", "init", "dev", "-C", dir)
	up := s.command("ann", "up", "-C", dir, "--remote", "--yes")
	out := s.start(up)
	<-reached
	<-reached
	cut.Store(true)
	s.worker(token, "two", "--trusted", "--slots", "1")
	require.Error(t, up.Wait())
	id := regexp.MustCompile(`the run (\w{26}) needs attention`).FindStringSubmatch(out.String())
	require.NotNil(t, id, "%s", out)
	for _, name := range []string{"a", "b"} {
		require.Contains(t, out.String(), "server | May exist without a record: urn:pulumi:dev::demo::lab:index:Object::"+name)
	}
	require.Zero(t, c.count())

	cut.Store(false)
	free()
	text, err := s.husk("ann", "remote", "log", "-f", id[1])
	require.NoError(t, err)
	require.Contains(t, text, "A worker that was lost has handed in what it has made.", "%s", said)
	t.Log(text)
	require.Contains(t, s.done("ann", "remote", "ls"), id[1]+"  succeeded  up")
	require.Equal(t, 2, c.count(), "nothing is made twice")
	require.Contains(t, s.done("ann", "up", "-C", dir, "--yes"), "nothing changed")
}

// A run whose process is killed in the middle of a creation, and not its worker, needs attention: nothing is made twice by the next update.
func TestAProcessThatIsKilled(t *testing.T) {
	s := begin(t)
	s.login("acme", "ann", "admin")
	worker, said := s.worker(s.token("acme", "w", "work"), "w", "--trusted", "--slots", "1")
	c := newCloud(t)
	reached, release := c.holds("create")
	free := sync.OnceFunc(func() { close(release) })
	t.Cleanup(free)
	dir := s.project(map[string]string{"Husk.yaml": s.objects(c, "a")})
	s.done("ann", "stack", "init", "dev", "-C", dir)
	up := s.command("ann", "up", "-C", dir, "--remote", "--yes")
	out := s.start(up)
	<-reached
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", worker.Process.Pid))
	require.NoError(t, err)
	killed := 0
	for _, task := range tasks {
		children, err := os.ReadFile(task)
		require.NoError(t, err)
		for _, child := range strings.Fields(string(children)) {
			pid, err := strconv.Atoi(child)
			require.NoError(t, err)
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
			killed++
		}
	}
	require.Equal(t, 1, killed)
	require.Error(t, up.Wait())
	const urn = "urn:pulumi:dev::demo::lab:index:Object::a"
	require.Contains(t, out.String(), "server | May exist without a record: "+urn, "%s", said)
	id := regexp.MustCompile(`the run (\w{26}) needs attention`).FindStringSubmatch(out.String())
	require.NotNil(t, id, "%s", out)
	free()
	require.Eventually(t, func() bool { return c.count() == 1 }, time.Minute, 10*time.Millisecond)
	s.done("ann", "refresh", "-C", dir, "--remote", "--yes", "--adopt-pending-creates", fmt.Sprintf("%s=%s/a/object-1", urn, c.address))
	s.done("ann", "remote", "retry", id[1])
	text, err := s.husk("ann", "remote", "log", "-f", id[1])
	require.NoError(t, err, text)
	require.Equal(t, 1, c.count())
}
