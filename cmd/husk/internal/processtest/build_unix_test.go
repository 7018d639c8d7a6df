//go:build unix

package processtest

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// compiler is a go command that has started another process, which goes on for long.
const compiler = "#!/bin/sh\n(exec 3>\"$FIFO\"; echo begun >&3; exec sleep 1000) &\nwait\n"

// A signal that ends a command which builds ends the compiler before, with all that it has started.
func TestABuildEndsWithItsCommand(t *testing.T) {
	for name, args := range map[string][]string{"build": {"provider", "build", "."}, "port": {"provider", "port", "example.com/x@v1.0.0"}, "preview": {"preview"}} {
		for _, is := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			if signal.Ignored(is) { // who runs the tests ignores it, and so does what they start
				continue
			}
			t.Run(name+" "+is.String(), func(t *testing.T) {
				dir := t.TempDir()
				bin, fifo, project := filepath.Join(dir, "bin"), filepath.Join(dir, "fifo"), filepath.Join(dir, "project")
				require.NoError(t, os.MkdirAll(bin, 0o700))
				require.NoError(t, os.MkdirAll(filepath.Join(project, "x"), 0o700))
				self, err := os.Executable()
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(filepath.Join(bin, "go"), []byte(compiler), 0o700))
				require.NoError(t, syscall.Mkfifo(fifo, 0o600))
				for name, text := range map[string]string{
					"go.mod": "module example.com/x\n", "main.go": "package main\nfunc main() {}\n", "x/go.mod": "module example.com/x\n", "x/main.go": "package main\nfunc main() {}\n",
					"Husk.yaml": "name: demo\nruntime: yaml\nplugins: {providers: [{name: x, path: x}]}\nresources: {r: {type: x:R}}\n",
				} {
					require.NoError(t, os.WriteFile(filepath.Join(project, name), []byte(text), 0o600))
				}
				cmd := &exec.Cmd{Path: self, Args: append([]string{"husk"}, args...), Dir: project, Stdout: os.Stderr, Stderr: os.Stderr}
				cmd.Env = []string{"HOME=" + dir, "HUSK_CACHE_DIR=" + filepath.Join(dir, "cache"), "FIFO=" + fifo, "PATH=" + bin + ":" + os.Getenv("PATH")}
				require.NoError(t, cmd.Start())
				f, err := os.Open(fifo) // which waits for the other end
				require.NoError(t, err)
				_, err = f.Read(make([]byte, len("begun\n")))
				require.NoError(t, err)
				require.NoError(t, cmd.Process.Signal(is))
				_, err = io.ReadAll(f) // which ends with the last process that has the other end
				require.NoError(t, err)
				err = cmd.Wait()
				require.Error(t, err)
				if name != "preview" { // which heeds signals itself
					require.Equal(t, is, err.(*exec.ExitError).Sys().(syscall.WaitStatus).Signal())
				}
			})
		}
	}
}
