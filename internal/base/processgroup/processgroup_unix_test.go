//go:build unix

package processgroup_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/base/processgroup"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "compile" {
		compile(os.Args[2:])
	}
	os.Exit(m.Run())
}

// compile runs a command for each pipe, which never ends.
func compile(pipes []string) {
	var signals processgroup.Signals
	ctx := signals.With(context.Background())
	for _, pipe := range pipes {
		go func() { _ = processgroup.Run(ctx, compiler(ctx, pipe)) }()
	}
	select {}
}

// compiler is a command that starts another process, which has the pipe for as long as it is there.
func compiler(ctx context.Context, pipe string) *exec.Cmd {
	return exec.CommandContext(ctx, "sh", "-c", `(exec 3>"$0"; echo >&3; exec sleep 1000) & wait`, pipe)
}

// begun waits until a compiler has started its process. The rest of the pipe ends with that.
func begun(t *testing.T, pipe string) (rest io.Reader) {
	t.Helper()
	f, err := os.Open(pipe)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	_, err = f.Read(make([]byte, 1))
	require.NoError(t, err)
	return f
}

func newPipe(t *testing.T) string {
	t.Helper()
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	return pipe
}

// A signal ends all groups of a process, and then the process.
func TestASignalEndsAllGroups(t *testing.T) {
	for _, is := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		if signal.Ignored(is) { // who runs the tests ignores it, and so does what they start
			continue
		}
		pipes := []string{newPipe(t), newPipe(t), newPipe(t)}
		cmd := exec.Command(os.Args[0], append([]string{"compile"}, pipes...)...)
		require.NoError(t, cmd.Start())
		var rests []io.Reader
		for _, pipe := range pipes {
			rests = append(rests, begun(t, pipe))
		}
		require.NoError(t, cmd.Process.Signal(is))
		for _, rest := range rests {
			_, err := io.ReadAll(rest)
			require.NoError(t, err)
		}
		require.Error(t, cmd.Wait())
		require.Equal(t, is, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	}
}

// Signals are the program's own, unless it has given them away, or somebody in it heeds them.
func TestSignalsOfAProgram(t *testing.T) {
	own := make(chan os.Signal, 1)
	signal.Notify(own, syscall.SIGTERM)
	defer signal.Stop(own)
	var signals processgroup.Signals
	end := signals.Heed()
	defer end()
	for name, with := range map[string]func(context.Context) context.Context{
		"embeds": func(ctx context.Context) context.Context { return ctx },
		"heeds":  signals.With,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(with(t.Context()))
			defer cancel()
			pipe, ended := newPipe(t), make(chan error, 1)
			go func() { ended <- processgroup.Run(ctx, compiler(ctx, pipe)) }()
			rest := begun(t, pipe)
			require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
			require.Equal(t, syscall.SIGTERM, <-own)
			if name == "embeds" {
				cancel()
			}
			_, err := io.ReadAll(rest)
			require.NoError(t, err)
			require.Error(t, <-ended)
		})
	}
}
