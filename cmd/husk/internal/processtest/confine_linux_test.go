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
	"slices"
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

// probe is husk that tries at its end what somebody would who has taken the process over, and tells the errors. Of several
// processes of a command the first counts that ends.
func probe() {
	all := parts.All()
	all.Backends = maps.Clone(all.Backends)
	all.Backends["probe"] = func(context.Context, named.URL, string) (*backend.Backend, error) {
		return nil, errors.New("there are no stacks")
	}
	code := root.Main(all)
	if f, err := os.OpenFile("probed.json", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
		_ = json.NewEncoder(f).Encode(attempts(os.Getenv(probeVariable)))
		_ = f.Close()
	}
	os.Exit(code)
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
		filepath.Join(project, "Husk.yaml"): "name: demo\nruntime: yaml\n", filepath.Join(project, "plan.json"): "{}", filepath.Join(outside, "canary"): "canary",
		filepath.Join(config, "secrets.key"): "key", filepath.Join(config, "cache.key"): "key", filepath.Join(config, "witness.key"): "key", filepath.Join(config, "login.json"): "{}",
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	written := &output{}
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: append([]string{"huskprobe"}, args...), Dir: project, Stdout: written, Stderr: written}
	written.on = func() { _ = cmd.Process.Signal(os.Interrupt) }
	cmd.Env = []string{"HOME=" + home, "HUSK_CACHE_DIR=" + filepath.Join(dir, "cache"), "HUSK_BACKEND_URL=probe://stacks", probeVariable + "=" + outside,
		"CANARY_TOKEN=canary", "GITHUB_TOKEN=canary", "PATH=" + os.Getenv("PATH")}
	require.NoError(t, start(cmd))
	_ = cmd.Wait()
	text, err := os.ReadFile(filepath.Join(project, "probed.json"))
	if err == nil {
		require.NoError(t, json.Unmarshal(text, &said))
	}
	return said, written.String()
}

func start(cmd *exec.Cmd) error { return cmd.Start() }

// output is what a command writes. One that watches is told to end.
type output struct {
	strings.Builder
	on func()
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Builder.Write(p)
	if o.on != nil && strings.Contains(o.String(), "Watching for changes") {
		o.on()
		o.on = nil
	}
	return n, err
}

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
		"with its own directory":     {"preview", "--untrusted-project", "--require-confinement", "--policy-pack", "../project"},
		"remote":                     {"up", "--remote", "--yes", "--untrusted-project"},
		"watch":                      {"watch", "--untrusted-project"},
		"watch, up":                  {"watch", "--up", "--untrusted-project", "--require-confinement"},
		"graph":                      {"graph", "--untrusted-project", "--output", "g.dot"},
		"graph of a preview":         {"graph", "--preview", "--untrusted-project"},
		"validate":                   {"validate", "--untrusted-project"},
		"install":                    {"install", "--untrusted-project", "--offline"},
		"vendor":                     {"vendor", "vendored", "--untrusted-project", "--offline"},
		"editor":                     {"lsp", "--untrusted-project"},
		"configuration":              {"config", "set", "x", "y", "--untrusted-project"},
		"stacks":                     {"stack", "ls", "--untrusted-project"},
		"format":                     {"fmt", "--untrusted-project"},
		"import":                     {"import", "a:b:C", "x", "y", "--yes", "--untrusted-project"},
		"schema":                     {"schema", "project", "--untrusted-project"},
		"plan":                       {"plan", "show", "plan.json", "--untrusted-project"},
		"provider":                   {"provider", "show", "x", "--untrusted-project"},
		"audit":                      {"provider", "audit", "--untrusted-project"},
		"search":                     {"provider", "search", "x", "--untrusted-project"},
		"signatures":                 {"provider", "verify", "x.wasm", "--untrusted-project"},
		"code":                       {"provider", "compile", "--output", "code", "--untrusted-project"},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && !slices.Contains([]string{"without it", "preview", "watch, up", "vendor"}, name) {
				t.Skip("it is as the others")
			}
			confined := strings.Contains(strings.Join(args, " "), "untrusted") && name != "without it"
			if confined && confine.Check() != nil {
				t.Skip(confine.Check())
			}
			said, out := probed(t, start, args...)
			require.NotEmpty(t, said, out)
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
		"no Landlock":    {withoutLandlock, nil, "this machine cannot confine a process: there is no Landlock"},
		"a file outside": {start, []string{"--log-file", filepath.Join(t.TempDir(), "events.jsonl")}, "--log-file names a file outside of the project"},
		"home":           {func(cmd *exec.Cmd) error { cmd.Env = append(cmd.Env, "HOME="+cmd.Dir); return cmd.Start() }, nil, "your home directory is in the directory of the project"},
		"its cache": {func(cmd *exec.Cmd) error {
			cmd.Env = append(cmd.Env, "HUSK_CACHE_DIR="+cmd.Dir+"/cache")
			return cmd.Start()
		}, nil, "Husk's cache is in the directory of the project"},
		"source outside":  {start, []string{"--policy-pack", t.TempDir()}, "--policy-pack names a directory outside of the project"},
		"a port":          {start, []string{"console"}, "it listens at a port"},
		"an editor":       {start, []string{"state", "edit"}, "it runs programs of this machine"},
		"a login":         {start, []string{"logout"}, "it forgets a login"},
		"a key's program": {func(cmd *exec.Cmd) error { cmd.Env = append(cmd.Env, "HUSK_KEY_COMMAND=true"); return cmd.Start() }, nil, "HUSK_KEY_COMMAND is a program"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.args == nil || strings.HasPrefix(c.args[0], "-") {
				c.args = append([]string{"preview"}, c.args...)
			}
			said, out := probed(t, c.start, append(c.args, "--untrusted-project")...)
			require.Contains(t, out, "warning: the command is not confined: "+c.says)
			require.Empty(t, said["read"])
			_, out = probed(t, c.start, append(c.args, "--untrusted-project", "--require-confinement")...)
			require.Contains(t, out, "error: the command cannot be confined: "+c.says)
			require.NotContains(t, out, "warning")
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
