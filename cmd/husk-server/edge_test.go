package main_test

import (
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An edge worker, which has the state, updates, destroys, and refreshes what was approved, and nothing else.
func TestApprovalAtTheEdge(t *testing.T) {
	s := begin(t, "--lease", "3s")
	s.login("acme", "ann", "request")
	s.login("acme", "bob", "approve")
	c := newCloud(t)
	reads := make(chan struct{}, 1000)
	c.hold = func(operation string) {
		if operation == "read" {
			reads <- struct{}{}
		}
	}
	dir := s.project(map[string]string{"Husk.yaml": s.objects(c, "a")})
	s.worker(s.token("acme", "pumps", "work"), "pump", "--edge", "--trusted", "--every", "1s")
	to := []string{"-C", dir, "--remote", "--label", "edge=pump", "--stack", "pump"}
	wanted := regexp.MustCompile(`husk remote approve (\w{26})`)
	ask := func(operation string) (id string) {
		t.Helper()
		return wanted.FindStringSubmatch(s.done("ann", append([]string{operation, "--require-approval"}, to...)...))[1]
	}
	up := func() { t.Helper(); s.done("ann", append([]string{"up", "--yes"}, to...)...) }
	for _, operation := range []string{"refresh", "up", "destroy"} {
		up()
		id := ask(operation)
		for len(reads) > 0 {
			<-reads
		}
		for range 3 { // the last update is repeated meanwhile, and changes nothing
			<-reads
		}
		s.done("bob", "remote", "approve", id)
		require.Contains(t, s.done("bob", "remote", "log", "-f", id), "Approved by bob.")
		require.Contains(t, s.done("ann", "remote", "ls"), id+"  succeeded  "+operation)
	}
	c.mu.Lock()
	require.Empty(t, c.objects)
	c.mu.Unlock()

	// What is lost is made again meanwhile, so that the stack is not what was approved.
	for _, operation := range []string{"refresh", "up", "destroy"} {
		up()
		id := ask(operation)
		c.mu.Lock()
		made := c.made
		clear(c.objects)
		c.mu.Unlock()
		require.Eventually(t, func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.made > made
		}, time.Minute, 20*time.Millisecond)
		s.done("bob", "remote", "approve", id)
		require.Contains(t, s.done("bob", "remote", "log", "-f", id), "the stack pump was changed after the preview that bob has approved: ask for the run "+operation+" again")
		require.Contains(t, s.done("ann", "remote", "ls"), id+"  failed")
		c.mu.Lock()
		require.Len(t, c.objects, 1)
		c.mu.Unlock()
	}
}

// An approved run that has begun goes on after its worker has stopped: it has changed the stack itself.
func TestApprovedRunsGoOnAtTheEdge(t *testing.T) {
	s := begin(t, "--lease", "3s")
	s.login("acme", "ann", "request")
	s.login("acme", "bob", "approve")
	c := newCloud(t)
	dir := s.project(map[string]string{"Husk.yaml": s.objects(c, "a", "b")})
	token := s.token("acme", "pumps", "work")
	pump, _ := s.worker(token, "pump", "--edge", "--trusted")
	to := []string{"-C", dir, "--remote", "--label", "edge=pump", "--stack", "pump"}
	s.done("ann", append([]string{"up", "--yes"}, to...)...)
	out := s.done("ann", append([]string{"destroy", "--require-approval", "--parallel=1"}, to...)...)
	id := regexp.MustCompile(`husk remote approve (\w{26})`).FindStringSubmatch(out)[1]
	reached, release := c.holds("delete")
	s.done("bob", "remote", "approve", id)
	<-reached
	require.NoError(t, pump.Process.Signal(syscall.SIGTERM))
	s.start(s.command("bob", "remote", "log", "-f", id)).wait(t, regexp.MustCompile(`Stopping: waiting for running steps to finish`)) // it has heard of it
	close(release)
	require.NoError(t, pump.Wait())
	c.mu.Lock()
	require.Len(t, c.objects, 1, "the step that ran has finished, and no other began")
	c.mu.Unlock()
	s.worker(token, "pump", "--edge", "--trusted")
	require.Contains(t, s.done("bob", "remote", "log", "-f", id), "The worker pump stops: the run goes on elsewhere.")
	require.Contains(t, s.done("ann", "remote", "ls"), id+"  succeeded  destroy")
	c.mu.Lock()
	require.Empty(t, c.objects)
	c.mu.Unlock()
}
