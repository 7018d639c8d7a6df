//go:build amd64 || arm64

package worker

import (
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/husk-dev/husk/internal/worker/confine"
)

// withoutLandlock does something on a thread whose kernel knows nothing of Landlock. The thread ends with it.
func withoutLandlock(t *testing.T, do func()) {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
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
		if err == nil {
			do()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Skip(err)
	}
}

// Where the kernel cannot confine a process, a worker says so when it starts, or takes no runs if it is to confine them.
func TestAKernelThatCannotConfine(t *testing.T) {
	said := map[Confinement]string{}
	errs := map[Confinement]error{}
	withoutLandlock(t, func() {
		for _, c := range []Confinement{ConfineIfPossible, RequireConfinement, NoConfinement} {
			w := &worker{Options: Options{Confinement: c, Say: func(format string, args ...any) { said[c] += fmt.Sprintf(format, args...) }}}
			errs[c] = w.checkConfinement()
			if w.confined {
				said[c] += "it confines"
			}
		}
	})
	require.NoError(t, errs[ConfineIfPossible])
	require.Contains(t, said[ConfineIfPossible], "warning: this machine cannot confine a process: there is no Landlock")
	require.NotContains(t, said[ConfineIfPossible], "it confines")
	var missing *confine.MissingError
	require.ErrorAs(t, errs[RequireConfinement], &missing)
	require.Empty(t, said[RequireConfinement])
	require.NoError(t, errs[NoConfinement])
	require.Empty(t, said[NoConfinement])
}
