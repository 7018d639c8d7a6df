//go:build unix

package processtest

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
)

func init() {
	interruptTests["a program that waits"] = aProgramThatWaits
	interruptTests["what cannot be stopped"] = whatCannotBeStopped
}

// Two interrupts end a program that waits for a file, which is nothing that a guest does.
func aProgramThatWaits(t *testing.T, lab *usertest.User) {
	p := newInterruptible(t, lab, "")
	pipe := filepath.Join(p.dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "Husk.yaml"), []byte("name: demo\noutputs: {text: {fn::readFile: pipe}}\n"), 0o644))
	cmd := p.husk("up", "--yes")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // returns when the program has opened the other end
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	for lines := bufio.NewReader(stdout); ; {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		if strings.HasPrefix(line, "Stopping: ") {
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
		}
	}
	p.fails(cmd, 1)
	require.NotContains(t, stderr.String(), "Some steps could not be stopped")
	require.NoError(t, writer.Close())
}

// What cannot be stopped is abandoned in the end: here nobody reads what is printed, and the pipe for
// it is full.
func whatCannotBeStopped(t *testing.T, lab *usertest.User) {
	p := newInterruptible(t, lab, "")
	p.env = append(p.env, "XDG_CONFIG_HOME="+p.dir, "HUSK_CACHE_DIR="+filepath.Join(p.dir, "cache")) // of a user who has no key yet, and is told that one was made
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "Husk.yaml"), []byte("name: demo\noutputs: {a: b}\n"), 0o644))
	in, out, err := os.Pipe()
	require.NoError(t, err)
	defer in.Close()
	conn, err := out.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, conn.Write(func(fd uintptr) bool {
		for err == nil {
			_, err = syscall.Write(int(fd), []byte("."))
		}
		return true
	}))
	require.ErrorIs(t, err, syscall.EAGAIN)
	cmd := p.husk("up", "--yes")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	cmd.Stdout = out
	require.NoError(t, cmd.Start())
	require.NoError(t, out.Close())
	var said strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "Created a key") { // it has begun, and says that on standard output next
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM)) // which the system does not merge with the other
		}
	}
	p.fails(cmd, 1)
	require.Contains(t, said.String(), "Some steps could not be stopped")
}
