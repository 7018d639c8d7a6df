//go:build amd64 || arm64

package confine

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// run does what the kernel does with a filter, for the instructions that it has.
func (f filter) run(t *testing.T, architecture uint32, number uint32, arguments ...uint32) uint32 {
	t.Helper()
	data := map[uint32]uint32{numberOffset: number, architectureOffset: architecture}
	for i, a := range arguments {
		data[argumentsOffset+8*uint32(i)] = a
	}
	var loaded uint32
	for at := 0; at < len(f); at++ {
		i := f[at]
		jump := func(is bool) {
			if is {
				at += int(i.Jt)
			} else {
				at += int(i.Jf)
			}
		}
		switch i.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			loaded = data[i.K]
		case unix.BPF_RET | unix.BPF_K:
			return i.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			jump(loaded == i.K)
		case unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K:
			jump(loaded > i.K)
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			jump(loaded >= i.K)
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			jump(loaded&i.K != 0)
		default:
			t.Fatalf("an instruction %#x", i.Code)
		}
	}
	t.Fatal("the filter has no end")
	return 0
}

// What the filter decides of each call, also of those that this kernel has not, and of numbers that are none yet.
func TestTheFilter(t *testing.T) {
	const pid = 4711
	f := rules(pid)
	decide := func(number uintptr, arguments ...uint32) uint32 {
		return f.run(t, architecture, uint32(number), arguments...)
	}
	for _, number := range refused {
		require.Equal(t, deny, decide(number), number)
	}
	require.Equal(t, uint32(kill), f.run(t, unix.AUDIT_ARCH_I386, unix.SYS_READ))
	for _, number := range []uintptr{lastKnown + 1, lastKnown + 1000, unix.SYS_CLONE3} {
		require.Equal(t, absent, decide(number), number)
	}
	for _, number := range []uintptr{unix.SYS_READ, unix.SYS_OPENAT, unix.SYS_MMAP, unix.SYS_FUTEX, unix.SYS_CONNECT, unix.SYS_FCHMOD, unix.SYS_RENAMEAT2, unix.SYS_EXIT_GROUP} {
		require.Equal(t, uint32(permit), decide(number), number)
	}
	threads := uint32(unix.CLONE_VM | unix.CLONE_THREAD)
	for _, c := range []struct {
		number    uintptr
		arguments []uint32
		want      uint32
	}{
		{unix.SYS_CLONE, []uint32{threads}, permit}, {unix.SYS_CLONE, []uint32{uint32(unix.SIGCHLD)}, deny}, {unix.SYS_CLONE, []uint32{threads | unix.CLONE_NEWNET}, deny},
		{unix.SYS_SOCKET, []uint32{unix.AF_INET}, permit}, {unix.SYS_SOCKET, []uint32{unix.AF_INET6}, permit}, {unix.SYS_SOCKET, []uint32{unix.AF_UNIX}, deny},
		{unix.SYS_SOCKET, []uint32{unix.AF_PACKET}, deny}, {unix.SYS_SOCKET, []uint32{unix.AF_VSOCK}, deny}, {unix.SYS_SOCKET, []uint32{unix.AF_ALG}, deny},
		{unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, permit}, {unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}, deny},
		{unix.SYS_KILL, []uint32{pid}, permit}, {unix.SYS_KILL, []uint32{1}, deny}, {unix.SYS_KILL, []uint32{0xffffffff}, deny}, {unix.SYS_TGKILL, []uint32{pid, pid + 1}, permit},
		{unix.SYS_PRLIMIT64, []uint32{0}, permit}, {unix.SYS_PRLIMIT64, []uint32{1}, deny},
		{unix.SYS_IOCTL, []uint32{0, unix.TIOCSTI}, deny}, {unix.SYS_IOCTL, []uint32{0, unix.TIOCLINUX}, deny}, {unix.SYS_IOCTL, []uint32{0, unix.TCGETS}, permit},
	} {
		require.Equal(t, c.want, decide(c.number, c.arguments...), "%d %v", c.number, c.arguments)
	}
}
