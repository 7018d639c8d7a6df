//go:build amd64 || arm64

package confine

import (
	"fmt"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refused are the system calls that a run never needs. The list has refused calls and not needed ones, because the needed ones
// change with each release of Go, and a run must not end for one of them.
var refused = slices.Concat([]uintptr{
	// Calls that look into other processes, or take something from them.
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE, unix.SYS_KCMP,
	unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_TKILL, unix.SYS_PERF_EVENT_OPEN,
	// New programs: Enter has begun the last one.
	unix.SYS_EXECVE, unix.SYS_EXECVEAT,
	// File systems and namespaces.
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
	unix.SYS_MOUNT_SETATTR, unix.SYS_STATMOUNT, unix.SYS_LISTMOUNT, unix.SYS_LISTNS, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_MKNODAT,
	// Landlock does not restrict watching a file, or changing its owner, permissions, and attributes. fchmod is not listed,
	// because it needs an open file.
	unix.SYS_INOTIFY_INIT1, unix.SYS_INOTIFY_ADD_WATCH, unix.SYS_GETXATTR, unix.SYS_LGETXATTR, unix.SYS_GETXATTRAT, unix.SYS_LISTXATTR, unix.SYS_LLISTXATTR,
	unix.SYS_LISTXATTRAT, unix.SYS_FILE_GETATTR, unix.SYS_FILE_SETATTR,
	unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTRAT,
	// Privileges and keys.
	unix.SYS_SETUID, unix.SYS_SETGID, unix.SYS_SETREUID, unix.SYS_SETREGID, unix.SYS_SETRESUID, unix.SYS_SETRESGID, unix.SYS_SETFSUID, unix.SYS_SETFSGID,
	unix.SYS_SETGROUPS, unix.SYS_CAPSET, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_PERSONALITY,
	// Parts of the kernel with a large surface.
	unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_IO_SETUP,
	unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES, unix.SYS_VMSPLICE,
	// The machine.
	unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_REBOOT, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SYSLOG, unix.SYS_VHANGUP, unix.SYS_LOOKUP_DCOOKIE,
	// Nobody connects to a run, and sockets of this machine come in pairs as well.
	unix.SYS_SOCKETPAIR,
	unix.SYS_LISTEN, unix.SYS_ACCEPT4,
	// Calls about things that processes of this user share, and their part of the machine.
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMCTL, unix.SYS_SEMTIMEDOP, unix.SYS_MSGGET, unix.SYS_MSGSND,
	unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK, unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET, unix.SYS_SCHED_SETSCHEDULER,
	unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SETPGID,
}, refusedHere)

const (
	permit = unix.SECCOMP_RET_ALLOW
	deny   = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	// absent has the C library take the call before it, whose flags can be judged.
	absent = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	kill   = unix.SECCOMP_RET_KILL_PROCESS

	// lastKnown is the newest call that was looked at: a kernel that has more is to a run as one that has not. Numbers only grow.
	lastKnown = unix.SYS_LISTNS

	// Of the kernel's struct seccomp_data.
	numberOffset, architectureOffset, argumentsOffset = 0, 4, 16

	newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
)

// filter is a program of the kernel's filter of system calls.
type filter []unix.SockFilter

func (f *filter) add(code uint16, k uint32, yes, no uint8) {
	*f = append(*f, unix.SockFilter{Code: code, Jt: yes, Jf: no, K: k})
}

func (f *filter) load(offset uint32) { f.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }

func (f *filter) answer(what uint32) { f.add(unix.BPF_RET|unix.BPF_K, what, 0, 0) }

// answerIf answers if the loaded word compares with k.
func (f *filter) answerIf(comparison uint16, k, what uint32) {
	f.add(unix.BPF_JMP|comparison|unix.BPF_K, k, 0, 1)
	f.answer(what)
}

// on adds what decides about a system call, which must end with an answer.
func (f *filter) on(number uintptr, decide func(*filter)) {
	var body filter
	decide(&body)
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, uint32(number), 0, uint8(len(body)))
	*f = append(*f, body...)
}

// argument loads the lower half of an argument, which is all that these calls have.
func (f *filter) argument(n uint32) { f.load(argumentsOffset + 8*n) }

// rules returns the filter of a process.
func rules(pid int) (f filter) {
	f.load(architectureOffset)
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, architecture, 1, 0)
	f.answer(kill) // calls of another architecture have other numbers
	f.load(numberOffset)
	if otherABI != 0 {
		f.answerIf(unix.BPF_JGE, otherABI, kill)
	}
	f.answerIf(unix.BPF_JGT, lastKnown, absent)
	for _, number := range refused {
		f.answerIf(unix.BPF_JEQ, uint32(number), deny)
	}
	f.on(unix.SYS_CLONE3, func(f *filter) { f.answer(absent) })
	// Threads only, and none in a namespace of its own.
	f.on(unix.SYS_CLONE, func(f *filter) {
		f.argument(0)
		f.answerIf(unix.BPF_JSET, newNamespaces, deny)
		f.answerIf(unix.BPF_JSET, unix.CLONE_THREAD, permit)
		f.answer(deny)
	})
	// Sockets of this machine lead to its services. Netlink tells which addresses it has.
	f.on(unix.SYS_SOCKET, func(f *filter) {
		f.argument(0)
		f.answerIf(unix.BPF_JEQ, unix.AF_INET, permit)
		f.answerIf(unix.BPF_JEQ, unix.AF_INET6, permit)
		f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, unix.AF_NETLINK, 1, 0)
		f.answer(deny)
		f.argument(2)
		f.answerIf(unix.BPF_JEQ, unix.NETLINK_ROUTE, permit)
		f.answer(deny)
	})
	for _, number := range []uintptr{unix.SYS_KILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO} {
		f.on(number, func(f *filter) {
			f.argument(0)
			f.answerIf(unix.BPF_JEQ, uint32(pid), permit)
			f.answer(deny)
		})
	}
	f.on(unix.SYS_PRLIMIT64, func(f *filter) {
		f.argument(0)
		f.answerIf(unix.BPF_JEQ, 0, permit)
		f.answerIf(unix.BPF_JEQ, uint32(pid), permit)
		f.answer(deny)
	})
	// These put words into the mouth of a terminal.
	f.on(unix.SYS_IOCTL, func(f *filter) {
		f.argument(1)
		f.answerIf(unix.BPF_JEQ, unix.TIOCSTI, deny)
		f.answerIf(unix.BPF_JEQ, unix.TIOCLINUX, deny)
		f.answer(permit)
	})
	f.answer(permit)
	return f
}

// Seal ends what [Enter] has begun, in the program that began anew: from here on the filter of system calls is there.
func Seal() error {
	f := rules(os.Getpid())
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("filtering system calls: %w", errno)
	}
	return nil
}

// canFilter asks for a filter that is none.
func canFilter() bool {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, 0)
	return errno == unix.EFAULT
}
