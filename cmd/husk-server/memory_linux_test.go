package main_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/backend/remote"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/base/strictcbor"
)

// resident returns how much memory a process has, and has had at most, in bytes.
func resident(t *testing.T, pid int) (now, most int64) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	read := func(name string) int64 {
		found := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(status)
		require.NotNil(t, found)
		n, err := strconv.ParseInt(string(found[1]), 10, 64)
		require.NoError(t, err)
		return n << 10
	}
	return read("VmRSS"), read("VmHWM")
}

// TestMemoryOfTheServer has many clients ask at once for what is large, and not read it. The server stays within its limit,
// answers those for whom it has memory, tells the others when to try again, and goes down to its idle size.
func TestMemoryOfTheServer(t *testing.T) {
	const limit = 192 << 20
	t.Run("as the runtime is told", func(t *testing.T) {
		memoryOfTheServer(t, limit, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, fmt.Sprintf("GOMEMLIMIT=%d", limit)) })
	})
	t.Run("as its control group has", func(t *testing.T) {
		group := controlGroup(t, limit)
		memoryOfTheServer(t, limit, func(cmd *exec.Cmd) {
			cmd.Args = append([]string{"sh", "-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(group, "cgroup.procs"), cmd.Path}, cmd.Args[1:]...)
			cmd.Path = "/bin/sh"
		})
	})
}

// controlGroup makes a control group below that of the test, with a memory limit in bytes. It skips the test if it cannot.
func controlGroup(t *testing.T, limit int) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/cgroup")
	require.NoError(t, err)
	for _, of := range []struct{ line, root, limit string }{
		{`(?m)^\d+:memory:(.*)$`, "/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
		{`(?m)^0::(.*)$`, "/sys/fs/cgroup", "memory.max"},
	} {
		below := regexp.MustCompile(of.line).FindSubmatch(text)
		if below == nil {
			continue
		}
		group := filepath.Join(of.root, string(below[1]), fmt.Sprintf("husk-test-%d", os.Getpid()))
		if err = os.Mkdir(group, 0o700); err == nil {
			t.Cleanup(func() { _ = os.Remove(group) })
			if err = os.WriteFile(filepath.Join(group, of.limit), strconv.AppendInt(nil, int64(limit), 10), 0); err == nil {
				return group
			}
		}
	}
	t.Skip("no control group can be made here:", err)
	return ""
}

func memoryOfTheServer(t *testing.T, limit int64, bound func(*exec.Cmd)) {
	const size, clients = 8 << 20, 300
	s := &site{t: t, dir: t.TempDir()}
	s.place = []string{"--dir", filepath.Join(s.dir, "server")}
	cmd := exec.Command(filepath.Join(bin, "husk-server"), "--dir", filepath.Join(s.dir, "server"), "--listen", "127.0.0.1:0")
	home := filepath.Join(s.dir, "home-")
	require.NoError(t, os.MkdirAll(home, 0o700))
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home)
	bound(cmd)
	s.url = s.start(cmd).wait(t, regexp.MustCompile(`Serving at (http://\S+),`))[1]
	token := s.token("acme", "ann", "admin")
	stacks, err := remote.Open(t.Context(), named.ByOperator(strings.Replace(s.url, "://", "://:"+token+"@", 1), "the test"), t.TempDir())
	require.NoError(t, err)
	defer stacks.Close()
	name := state.StackName{Project: "shop", Name: "dev"}
	require.NoError(t, stacks.State.Create(t.Context(), name, []byte("{}")))
	idle, _ := resident(t, cmd.Process.Pid)

	large := bytes.Repeat([]byte("x"), size)
	_, err = stacks.KV.Save(t.Context(), name, "random", large, "")
	require.NoError(t, err)
	require.NoError(t, stacks.State.SetHistory(t.Context(), name, [][]byte{large}))
	require.NoError(t, stacks.History.Put(t.Context(), name, "run", large))
	var reading sync.WaitGroup
	answers := make(chan string, clients)
	release := make(chan struct{})
	for n := range clients {
		call := []string{"kv/load", "history", "runs/get"}[n%3]
		body, err := strictcbor.Marshal(map[string]any{
			"stack": map[string]any{"Project": name.Project, "Name": name.Name}, "id": map[string]string{"kv/load": "random", "runs/get": "run"}[call],
		})
		require.NoError(t, err)
		reading.Go(func() {
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				answers <- err.Error()
				return
			}
			defer conn.Close()
			fmt.Fprintf(conn, "POST %s%s HTTP/1.1\r\nHost: server\r\nAuthorization: Bearer %s\r\nContent-Type: application/cbor\r\nContent-Length: %d\r\n\r\n%s", remote.Path, call, token, len(body), body)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				answers <- err.Error()
				return
			}
			answers <- strings.TrimSpace(fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("Retry-After")))
			<-release // and nothing is read
		})
	}
	counts := map[string]int{}
	for range clients {
		counts[<-answers]++
	}
	close(release)
	reading.Wait()
	require.Len(t, counts, 2, "%v", counts)
	require.Positive(t, counts["200"], "%v", counts)
	require.Positive(t, counts["503 2"], "%v", counts)
	_, most := resident(t, cmd.Process.Pid)
	t.Logf("idle %d MiB, at most %d MiB, %v", idle>>20, most>>20, counts)
	require.Less(t, most, limit)

	const rest = 48 << 20 // what its database and its connections keep
	require.Eventually(t, func() bool {
		now, _ := resident(t, cmd.Process.Pid)
		return now < idle+rest
	}, 2*time.Minute, 100*time.Millisecond, "it was %d MiB", idle>>20)
	content, _, err := stacks.KV.Load(t.Context(), name, "random")
	require.NoError(t, err)
	require.Len(t, content, size)
}
