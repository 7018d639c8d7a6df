package postgrestest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Pause has all processes of the server hang, until resume is called.
func (s *Server) Pause(t *testing.T) (resume func()) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(text), "\n")
	postmaster, err := strconv.Atoi(first)
	require.NoError(t, err)
	all := []int{postmaster}
	resume = func() {
		for _, pid := range all {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
	t.Cleanup(resume)                                             // ahead of the end of the server, which a stopped process would not heed
	require.NoError(t, syscall.Kill(postmaster, syscall.SIGSTOP)) // which begins no more of them
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", postmaster))
	require.NoError(t, err)
	for _, child := range strings.Fields(string(children)) {
		pid, err := strconv.Atoi(child)
		require.NoError(t, err)
		_ = syscall.Kill(pid, syscall.SIGSTOP) // it may have ended
		all = append(all, pid)
	}
	return resume
}
