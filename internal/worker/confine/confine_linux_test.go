//go:build amd64 || arm64

package confine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/husk-dev/husk/internal/worker/confine"
)

// task is what a process of this test does, in its environment as JSON.
type task struct {
	Rules  confine.Rules
	Parent int
	// Own is a directory of the rules, Outside another one, and Address that of a server.
	Own, Outside, Address string
	// Fatal is an attempt that ends the process.
	Fatal string
}

const (
	taskVariable  = "CONFINE_TEST_TASK"
	stageVariable = "CONFINE_TEST_STAGE"
	canary        = "canary-of-the-parent"
)

// kept is in the memory of the parent.
var kept = []byte(canary)

func TestMain(m *testing.M) {
	var t task
	switch stage := os.Getenv(stageVariable); stage {
	case "":
		os.Exit(m.Run())
	case "enter":
		must(json.Unmarshal([]byte(os.Getenv(taskVariable)), &t))
		environment := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, stageVariable) })
		must(confine.Enter(t.Rules, append(environment, stageVariable+"=confined")))
	case "hide":
		confine.Hide()
		if dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || dumpable != 0 {
			must(fmt.Errorf("it can be looked into: %d %v", dumpable, err))
		}
		if flags, err := unix.FcntlInt(openFile, unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
			must(fmt.Errorf("its files are those of others: %d %v", flags, err))
		}
		os.Exit(0)
	case "confined", "free":
		if stage == "confined" {
			must(confine.Seal())
		}
		must(json.Unmarshal([]byte(os.Getenv(taskVariable)), &t))
		if t.Fatal != "" {
			fatal[t.Fatal]()
			os.Exit(0)
		}
		must(json.NewEncoder(os.Stdout).Encode(t.attempt()))
		os.Exit(0)
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

// call makes a system call that is to be refused before it is even read.
func call(number uintptr, arguments ...uintptr) error {
	arguments = append(arguments, make([]uintptr, 6)...)
	if _, _, errno := unix.Syscall6(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]); errno != 0 {
		return errno
	}
	return nil
}

// fatal are attempts that end a process which is confined.
var fatal = map[string]func(){}

// attempt tries all that a process which has left the sandbox would, on threads that began before and after, and returns the
// errors, "" for what succeeds.
func (t task) attempt() map[string]string {
	parent := "/proc/" + strconv.Itoa(t.Parent)
	outside := filepath.Join(t.Outside, "file")
	all := map[string]func() error{
		"read": func() error { _, err := os.ReadFile(outside); return err },
		"read by a link": func() error {
			return errors.Join(os.Symlink(outside, filepath.Join(t.Own, "link")), second(os.ReadFile(filepath.Join(t.Own, "link"))))
		},
		"hard link": func() error {
			return errors.Join(os.Link(outside, filepath.Join(t.Own, "same")), second(os.ReadFile(filepath.Join(t.Own, "same"))))
		},
		"list":      func() error { return second(os.ReadDir(t.Outside)) },
		"write":     func() error { return os.WriteFile(outside+"2", nil, 0o600) },
		"truncate":  func() error { return os.Truncate(filepath.Join(t.Outside, "cut"), 1) },
		"rename in": func() error { return os.Rename(filepath.Join(t.Outside, "moved"), filepath.Join(t.Own, "moved")) },
		"rename out": func() error {
			return errors.Join(os.WriteFile(filepath.Join(t.Own, "out"), nil, 0o600), os.Rename(filepath.Join(t.Own, "out"), filepath.Join(t.Outside, "out")))
		},
		"remove":         func() error { return os.Remove(filepath.Join(t.Outside, "removed")) },
		"make directory": func() error { return os.Mkdir(filepath.Join(t.Outside, "made"), 0o700) },
		"chmod":          func() error { return os.Chmod(outside, 0o644) },
		"chown":          func() error { return os.Chown(outside, os.Getuid(), os.Getgid()) },
		"setxattr":       func() error { return unix.Setxattr(outside, "user.x", []byte("x"), 0) },
		"attributes":     func() error { return second(unix.Listxattr(outside, nil)) },
		"watch":          func() error { return watch(outside) },
		"environment":    func() error { return second(os.ReadFile(parent + "/environ")) },
		"memory":         func() error { return t.readMemory(parent) },
		"maps":           func() error { return second(os.ReadFile(parent + "/maps")) },
		"descriptors":    func() error { return second(os.ReadDir(parent + "/fd")) },
		"descriptor":     func() error { return second(os.Readlink(parent + "/fd/0")) },
		"root":           func() error { return second(os.ReadDir(parent + "/root" + t.Outside)) },
		"own root":       func() error { return second(os.ReadDir("/proc/self/root" + t.Outside)) },
		"command line":   func() error { return second(os.ReadFile(parent + "/cmdline")) },
		"shadow":         func() error { return second(os.ReadFile("/etc/passwd")) },
		"open file":      func() error { return second(unix.Pread(openFile, make([]byte, 1), 0)) },
		"core dump":      coreDump,
		"program": func() error {
			return (&exec.Cmd{Path: "/proc/self/exe", Args: []string{"test", "-test.list=^$"}, Env: []string{"HOME=/"}}).Run()
		},
		"other program": func() error { return exec.Command("/bin/true").Run() },
		"process":       func() error { return call(unix.SYS_CLONE, uintptr(unix.CLONE_NEWUSER|unix.CLONE_THREAD)) },
		"ptrace":        func() error { return attach(t.Parent) },
		"process_vm":    func() error { return t.vmRead() },
		"pidfd":         func() error { return pidfd(t.Parent) },
		"signal":        func() error { return unix.Kill(t.Parent, 0) },
		"limits":        func() error { return unix.Prlimit(t.Parent, unix.RLIMIT_NOFILE, nil, &unix.Rlimit{}) },
		"unshare":       func() error { return onAThread(func() error { return unix.Unshare(unix.CLONE_NEWUTS) }) },
		"mount":         func() error { return onAThread(func() error { return errors.Join(unix.Unshare(unix.CLONE_NEWNS)) }) },
		"keyring": func() error {
			return second(unix.KeyctlInt(unix.KEYCTL_GET_KEYRING_ID, unix.KEY_SPEC_USER_KEYRING, 1, 0, 0))
		},
		"handle":          func() error { return second2(unix.NameToHandleAt(unix.AT_FDCWD, outside, 0)) },
		"local socket":    func() error { return second(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)) },
		"pair of sockets": func() error { return second(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)) },
		"listen": func() error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err == nil {
				l.Close()
			}
			return err
		},
		"shared memory": sharedMemory,
		"priority":      func() error { return unix.Setpriority(unix.PRIO_PROCESS, t.Parent, 1) },
		"another user": func() error {
			return call(unix.SYS_SETRESUID, uintptr(os.Getuid()), uintptr(os.Getuid()), uintptr(os.Getuid()))
		},
		"own: write":  func() error { return os.WriteFile(filepath.Join(t.Own, "a", "f"), []byte("x"), 0o600) },
		"own: rename": func() error { return os.Rename(filepath.Join(t.Own, "a", "f"), filepath.Join(t.Own, "b", "f")) },
		"own: read":   func() error { return second(os.ReadFile(filepath.Join(t.Own, "b", "f"))) },
		"own: permission": func() error {
			f, err := os.Open(filepath.Join(t.Own, "b", "f"))
			return errors.Join(err, f.Chmod(0o640), f.Close())
		},
		"own: remove":    func() error { return os.RemoveAll(filepath.Join(t.Own, "b")) },
		"own: memory":    func() error { return second(os.ReadFile("/proc/self/maps")) },
		"own: signal":    func() error { return unix.Kill(os.Getpid(), 0) },
		"own: addresses": func() error { return second(net.InterfaceAddrs()) },
		"own: connect": func() error {
			c, err := net.Dial("tcp", t.Address)
			if err == nil {
				c.Close()
			}
			return err
		},
		"own: names":   func() error { return second(net.LookupHost("localhost")) },
		"own: nothing": func() error { return os.WriteFile(os.DevNull, []byte("x"), 0o600) },
		"own: threads": manyThreads,
	}
	said := map[string]string{}
	for _, name := range order {
		said[name] = ""
		if err := all[name](); err != nil {
			said[name] = err.Error()
		}
		delete(all, name)
	}
	for name := range all {
		said[name] = "it is not in the order"
	}
	return said
}

// order is that of the attempts: some need what others make.
var order = []string{"read", "read by a link", "list", "write", "hard link", "truncate", "rename in", "rename out", "remove", "make directory", "chmod", "chown", "setxattr", "attributes", "watch",
	"environment", "memory", "maps", "descriptors", "descriptor", "root", "own root", "command line", "shadow", "open file", "core dump", "program", "other program", "process", "ptrace", "process_vm",
	"pidfd", "signal", "limits", "unshare", "mount", "keyring", "handle", "local socket", "listen", "shared memory", "priority", "another user",
	"own: write", "own: rename", "own: read", "own: permission", "own: remove", "own: memory", "own: signal", "own: addresses", "own: connect", "own: names", "own: nothing", "own: threads"}

// alsoFree are the attempts that fail without confinement as well, on some machines.
var alsoFree = []string{"core dump", "process", "setxattr", "ptrace", "keyring", "priority"}

func second[T any](_ T, err error) error { return err }

func second2[T, U any](_ T, _ U, err error) error { return err }

func onAThread(do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and it ends with the goroutine
		done <- do()
	}()
	return <-done
}

// manyThreads reports an error unless threads can be made that are all bound.
func manyThreads() error {
	var all sync.WaitGroup
	var begun sync.WaitGroup
	failures := make(chan error, 20)
	begun.Add(20)
	for range 20 {
		all.Go(func() {
			runtime.LockOSThread()
			begun.Done()
			begun.Wait()
			if os.Getenv(stageVariable) == "confined" && second(os.ReadFile("/etc/passwd")) == nil {
				failures <- errors.New("a thread is not bound")
			}
		})
	}
	all.Wait()
	close(failures)
	return <-failures
}

func (t task) readMemory(parent string) error {
	f, err := os.Open(parent + "/mem")
	if err != nil {
		return err
	}
	defer f.Close()
	text := make([]byte, len(canary))
	_, err = f.ReadAt(text, t.keptAt())
	if err == nil && string(text) != canary {
		err = errors.New("there is something else")
	}
	return err
}

func (t task) keptAt() int64 {
	at, err := strconv.ParseInt(os.Getenv("CONFINE_TEST_AT"), 10, 64)
	must(err)
	return at
}

func (t task) vmRead() error {
	text := make([]byte, len(canary))
	local := []unix.Iovec{{Base: &text[0], Len: uint64(len(text))}}
	_, err := unix.ProcessVMReadv(t.Parent, local, []unix.RemoteIovec{{Base: uintptr(t.keptAt()), Len: len(text)}}, 0)
	return err
}

func watch(path string) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return second(unix.InotifyAddWatch(fd, path, unix.IN_ACCESS))
}

// openFile is the descriptor of a file that was open before the process began.
const openFile = 9

// coreDump reports an error if memory cannot become a file.
func coreDump() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil || limit.Max > 0 {
		return err
	}
	return errors.New("not permitted")
}

func sharedMemory() error {
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600)
	if err == nil {
		_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	}
	return err
}

func attach(pid int) error {
	return onAThread(func() error {
		if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, 0, 0, 0); errno != 0 {
			return errno
		}
		return nil
	})
}

func pidfd(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

// begin starts a process of this test.
func begin(t *testing.T, stage string, what task) *exec.Cmd {
	text, err := json.Marshal(what)
	require.NoError(t, err)
	file, err := os.Open(filepath.Join(what.Outside, "file"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	cmd := exec.Command("/proc/self/exe")
	cmd.ExtraFiles = make([]*os.File, openFile-3+1)
	cmd.ExtraFiles[openFile-3] = file
	cmd.Env = append(os.Environ(), stageVariable+"="+stage, taskVariable+"="+string(text), fmt.Sprintf("CONFINE_TEST_AT=%d", uintptr(unsafe.Pointer(&kept[0]))))
	return cmd
}

// tree makes the directories of a task.
func tree(t *testing.T) task {
	dir := t.TempDir()
	what := task{Parent: os.Getpid(), Own: filepath.Join(dir, "own"), Outside: filepath.Join(dir, "outside")}
	for _, path := range []string{"own/a", "own/b", "outside"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, path), 0o700))
	}
	for _, name := range []string{"file", "cut", "moved", "removed"} {
		require.NoError(t, os.WriteFile(filepath.Join(what.Outside, name), []byte("canary"), 0o600))
	}
	what.Rules = confine.Rules{Read: []string{"/proc/self/maps", "/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/not-there"}, Write: []string{what.Own, os.DevNull}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	what.Address = l.Addr().String()
	return what
}

// What a process has that is not confined, one that is has not, but for what its rules give, on all of its threads.
func TestAConfinedProcessHasNothingElse(t *testing.T) {
	if err := confine.Check(); err != nil {
		t.Skip(err)
	}
	said := map[string]map[string]string{}
	for _, stage := range []string{"enter", "free"} {
		out, err := begin(t, stage, tree(t)).Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("%s: %v: %s", stage, err, exit.Stderr)
		}
		require.NoError(t, err, stage)
		result := map[string]string{}
		require.NoError(t, json.Unmarshal(out, &result), "%s", out)
		said[stage] = result
	}
	for _, name := range order {
		if strings.HasPrefix(name, "own: ") {
			require.Empty(t, said["enter"][name], name)
		} else {
			require.Regexp(t, "permission denied|not permitted|cross-device|bad file descriptor", said["enter"][name], name)
		}
		if !slices.Contains(alsoFree, name) {
			require.Empty(t, said["free"][name], "%s, without confinement", name)
		}
	}
}

// Calls of another architecture, which have other numbers, end the process.
func TestOtherArchitectures(t *testing.T) {
	if err := confine.Check(); err != nil {
		t.Skip(err)
	}
	for name := range fatal {
		what := tree(t)
		what.Fatal = name
		require.NoError(t, begin(t, "free", what).Run(), "%s, without confinement", name)
		var exit *exec.ExitError
		require.ErrorAs(t, begin(t, "enter", what).Run(), &exit, name)
		require.Equal(t, unix.SIGSYS, exit.Sys().(interface{ Signal() unix.Signal }).Signal(), name)
	}
}

// A process that cannot be confined does not go on.
func TestNothingGoesOnUnconfined(t *testing.T) {
	what := tree(t)
	if confine.Check() == nil {
		loop := filepath.Join(what.Own, "loop")
		require.NoError(t, os.Symlink("loop", loop))
		what.Rules.Read = []string{loop}
	}
	out, err := begin(t, "enter", what).CombinedOutput()
	require.Error(t, err)
	require.NotContains(t, string(out), "{")
}

// A process that hides cannot be looked into by others, and gives what was open to none.
func TestAHiddenProcess(t *testing.T) {
	out, err := begin(t, "hide", tree(t)).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
