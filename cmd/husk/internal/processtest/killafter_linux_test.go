//go:build amd64 || arm64

package processtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// killAfter is a command: killafter N ARGUMENT... runs husk and kills it as it comes back from the
// N-th system call by which it changes files, or from the first one after that. It writes the
// number of such calls to its standard error, and exits with killed, or as husk does.
func killAfter() {
	count, err := strconv.Atoi(os.Args[1])
	if err == nil {
		err = trace(count, os.Args[2:])
	}
	var exit exitCode
	if errors.As(err, &exit) {
		os.Exit(int(exit))
	}
	fmt.Fprintln(os.Stderr, "killafter:", err)
	os.Exit(cannotTrace)
}

const canTrace = true

type exitCode int

func (e exitCode) Error() string { return "exit code " + strconv.Itoa(int(e)) }

// changing are the system calls that change files or make changes durable.
var changing = []uint64{
	unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_WRITEV, unix.SYS_FTRUNCATE, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_FLOCK,
	unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT, unix.SYS_UNLINKAT, unix.SYS_MKDIRAT, unix.SYS_FCHMOD, unix.SYS_FCHMODAT,
}

// syscallInfo is what the kernel tells of a stop at a system call: struct ptrace_syscall_info.
type syscallInfo struct {
	op      uint8
	_       [3]uint8
	arch    uint32
	ip, sp  uint64
	number  uint64 // at the entry; at the exit it is the result
	args    [6]uint64
	padding [3]uint64
}

const (
	getSyscallInfo = 0x420e // PTRACE_GET_SYSCALL_INFO, of Linux 5.3
	atEntry        = 1
	atExit         = 2
)

func trace(count int, args []string) error {
	runtime.LockOSThread() // a tracer is a thread
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = append([]string{"husk"}, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	pid := cmd.Process.Pid
	status, _, err := wait(pid)
	if err != nil {
		return err
	}
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_EXITKILL
	if err := unix.PtraceSetOptions(pid, options); err != nil {
		return err
	}
	calls := 0
	entered := make(map[int]bool) // threads that are in a call that counts
	for thread := pid; ; {
		if status.Stopped() {
			if err := unix.PtraceSyscall(thread, signalOf(status)); err != nil && err != unix.ESRCH {
				return err
			}
		}
		if status, thread, err = wait(-1); err != nil {
			return err
		}
		switch {
		case thread == pid && status.Exited():
			fmt.Fprintln(os.Stderr, "system calls:", calls)
			return exitCode(status.ExitStatus())
		case thread == pid && status.Signaled():
			return exitCode(killed)
		case !status.Stopped() || status.StopSignal() != atSyscall:
			continue
		}
		var info syscallInfo
		_, _, errno := unix.Syscall6(unix.SYS_PTRACE, getSyscallInfo, uintptr(thread), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
		if errno == unix.ESRCH {
			continue // the process is about to end
		}
		if errno != 0 {
			return fmt.Errorf("the kernel does not tell of system calls: %w", errno)
		}
		switch {
		case info.op == atEntry:
			opens := info.number == unix.SYS_OPENAT && info.args[2]&(unix.O_CREAT|unix.O_TRUNC) != 0
			entered[thread] = opens || slices.Contains(changing, info.number)
		case info.op == atExit && entered[thread]:
			entered[thread] = false
			if calls++; calls >= count {
				fmt.Fprintln(os.Stderr, "system calls:", calls)
				return errors.Join(cmd.Process.Kill(), exitCode(killed))
			}
		}
	}
}

// atSyscall is the signal that a thread stops with at a system call.
const atSyscall = unix.SIGTRAP | 0x80

// signalOf is the signal that a stopped thread was sent, and is to get; 0 if it stopped for its
// tracer.
func signalOf(status unix.WaitStatus) int {
	switch signal := status.StopSignal(); signal {
	case atSyscall, unix.SIGTRAP, unix.SIGSTOP:
		return 0
	default:
		return int(signal)
	}
}

func wait(pid int) (status unix.WaitStatus, thread int, err error) {
	for {
		thread, err = unix.Wait4(pid, &status, unix.WALL, nil)
		if err != unix.EINTR {
			return status, thread, err
		}
	}
}
