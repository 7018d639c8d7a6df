//go:build amd64 || arm64

package processtest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/husk-dev/husk/cmd/husk/internal/parts"
	"github.com/husk-dev/husk/cmd/husk/internal/root"
	"github.com/husk-dev/husk/internal/backend"
	"github.com/husk-dev/husk/internal/base/named"
	"github.com/husk-dev/husk/internal/worker/confine"
)

// probeVariable names the directory in which a probe looks for what is not its own.
const probeVariable = "HUSK_TEST_PROBE"

func init() { commands["huskprobe"] = probe }

// probe is husk with a backend that tries what somebody would who has taken the process over, and tells the errors.
func probe() {
	all := parts.All()
	all.Backends = maps.Clone(all.Backends)
	all.Backends["probe"] = func(context.Context, named.URL, string) (*backend.Backend, error) {
		text, err := json.Marshal(attempts(os.Getenv(probeVariable)))
		return nil, errors.Join(err, os.WriteFile("probed.json", text, 0o600), errors.New("there are no stacks"))
	}
	os.Exit(root.Main(all))
}

func attempts(outside string) map[string]string {
	config, _ := os.UserConfigDir()
	said := map[string]string{}
	try := func(name string, err error) {
		said[name] = ""
		if err != nil {
			said[name] = err.Error()
		}
	}
	second := func(_ any, err error) error { return err }
	try("read", second(os.ReadFile(filepath.Join(outside, "canary"))))
	try("write", os.WriteFile(filepath.Join(outside, "written"), nil, 0o600))
	try("list", second(os.ReadDir(outside)))
	try("home", second(os.ReadDir(filepath.Dir(config))))
	try("login", os.WriteFile(filepath.Join(config, "husk", "login.json"), []byte("{}"), 0o600))
	try("compiled", os.WriteFile(filepath.Join(os.Getenv("HUSK_CACHE_DIR"), "compiled", "planted"), nil, 0o600))
	try("program", exec.Command("/bin/true").Run())
	try("itself", (&exec.Cmd{Path: "/proc/self/exe", Args: []string{"husk", "--version"}}).Run())
	try("socket", second(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)))
	try("parent", second(os.ReadFile("/proc/1/cmdline")))
	if os.Getenv("CANARY_TOKEN")+os.Getenv("GITHUB_TOKEN") == "" {
		said["variables"] = "not permitted"
	} else {
		said["variables"] = ""
	}
	try("own: read", second(os.ReadFile("Husk.yaml")))
	try("own: write", os.WriteFile("own", nil, 0o600))
	try("own: temporary", second(os.CreateTemp("", "x")))
	try("own: key", second(os.ReadFile(filepath.Join(config, "husk", "secrets.key"))))
	return said
}

// probed runs a command in a project, and returns what a probe says, nil if there was none, what the command says, and whether it
// ended as a probe does.
func probed(t *testing.T, start func(*exec.Cmd) error, args ...string) (said map[string]string, out string) {
	t.Helper()
	dir := t.TempDir()
	project, outside, home := filepath.Join(dir, "project"), filepath.Join(dir, "outside"), filepath.Join(dir, "home")
	config := filepath.Join(home, ".config", "husk")
	for _, made := range []string{project, outside, config, filepath.Join(dir, "cache", "compiled")} {
		require.NoError(t, os.MkdirAll(made, 0o700))
	}
	for name, text := range map[string]string{
		filepath.Join(project, "Husk.yaml"): "name: demo\nruntime: yaml\n", filepath.Join(outside, "canary"): "canary",
		filepath.Join(config, "secrets.key"): "key", filepath.Join(config, "cache.key"): "key", filepath.Join(config, "witness.key"): "key", filepath.Join(config, "login.json"): "{}",
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	var written strings.Builder
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: append([]string{"huskprobe"}, args...), Dir: project, Stdout: &written, Stderr: &written}
	cmd.Env = []string{"HOME=" + home, "HUSK_CACHE_DIR=" + filepath.Join(dir, "cache"), "HUSK_BACKEND_URL=probe://stacks", probeVariable + "=" + outside,
		"CANARY_TOKEN=canary", "GITHUB_TOKEN=canary", "PATH=" + os.Getenv("PATH")}
	require.NoError(t, start(cmd))
	require.Error(t, cmd.Wait(), written.String())
	text, err := os.ReadFile(filepath.Join(project, "probed.json"))
	if err == nil {
		require.NoError(t, json.Unmarshal(text, &said))
	}
	return said, written.String()
}

func start(cmd *exec.Cmd) error { return cmd.Start() }

// A command for a project that is not trusted keeps of this machine what it needs, as the process of a worker's run does. Without
// confinement the attempts go well, so that they are attempts.
func TestACommandForAStrangerConfinesItself(t *testing.T) {
	for name, args := range map[string][]string{
		"without it":                 {"preview", "--untrusted-project", "--no-confinement"},
		"with a trusted project":     {"preview"},
		"preview":                    {"preview", "--untrusted-project", "--require-confinement"},
		"up":                         {"up", "--yes", "--untrusted-project"},
		"refresh":                    {"refresh", "--yes", "--untrusted-project"},
		"destroy":                    {"destroy", "--yes", "--untrusted-project"},
		"with a file of the project": {"preview", "--untrusted-project", "--require-confinement", "--log-file", "events.jsonl"},
	} {
		t.Run(name, func(t *testing.T) {
			confined := strings.Contains(strings.Join(args, " "), "untrusted") && name != "without it"
			if confined && confine.Check() != nil {
				t.Skip(confine.Check())
			}
			said, out := probed(t, start, args...)
			require.NotEmpty(t, said, out)
			require.Contains(t, out, "there are no stacks")
			require.NotContains(t, out, "is not confined")
			for attempt, err := range said {
				if strings.HasPrefix(attempt, "own: ") || !confined {
					require.Empty(t, err, "%s: %s", attempt, out)
				} else {
					require.Regexp(t, "permission denied|not permitted", err, attempt)
				}
			}
		})
	}
}

// Where the kernel cannot do it, or the command needs what it would lose, it says so, or fails if it is to be confined.
func TestACommandThatCannotConfineItself(t *testing.T) {
	for name, c := range map[string]struct {
		start func(*exec.Cmd) error
		args  []string
		says  string
	}{
		"no Landlock":     {withoutLandlock, nil, "this machine cannot confine a process: there is no Landlock"},
		"a file outside":  {start, []string{"--log-file", filepath.Join(t.TempDir(), "events.jsonl")}, "--log-file names a file outside of the project"},
		"a key's program": {func(cmd *exec.Cmd) error { cmd.Env = append(cmd.Env, "HUSK_KEY_COMMAND=true"); return cmd.Start() }, nil, "HUSK_KEY_COMMAND is a program"},
	} {
		t.Run(name, func(t *testing.T) {
			said, out := probed(t, c.start, append([]string{"preview", "--untrusted-project"}, c.args...)...)
			require.Contains(t, out, "warning: the command is not confined: "+c.says)
			require.Empty(t, said["read"])
			said, out = probed(t, c.start, append([]string{"preview", "--untrusted-project", "--require-confinement"}, c.args...)...)
			require.Contains(t, out, "error: the command cannot be confined: "+c.says)
			require.Nil(t, said)
		})
	}
}

// withoutLandlock starts processes whose kernel knows nothing of Landlock.
func withoutLandlock(cmd *exec.Cmd) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and it ends with the goroutine
		filter := []unix.SockFilter{
			{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_LANDLOCK_CREATE_RULESET, Jf: 1},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		}
		program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))); err == nil && errno != 0 {
			err = errno
		}
		if err != nil {
			done <- err
			return
		}
		done <- cmd.Start()
	}()
	return <-done
}
