package backendtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// disksVariable has the directory for the disks of a test.
const disksVariable = "HUSK_TEST_DISKS"

// WithDisks runs another test of the package in a process that can mount disks, which end with it. asRoot says that it
// needs other users as well: it is skipped unless root runs it.
func WithDisks(t *testing.T, test string, asRoot bool) {
	if asRoot && os.Geteuid() != 0 {
		t.Skip("only root can mount a disk and start servers of another user")
	}
	dir, err := os.MkdirTemp("", "disks")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	const others = 0o711 // may use a disk that is theirs
	require.NoError(t, os.Chmod(dir, others))
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.v", fmt.Sprintf("-test.short=%v", testing.Short()))
	cmd.Env = append(os.Environ(), disksVariable+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if !asRoot {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Skipf("this system gives a process no mounts of its own: %v", err)
	}
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
}

// NewDisk mounts a disk of a size such as 2m until the end of the test, which is skipped unless [WithDisks] runs it. It
// returns the disk's directory.
func NewDisk(t *testing.T, name, size string) string {
	dir := os.Getenv(disksVariable)
	if dir == "" {
		t.Skip("needs a disk, which another test makes")
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Skipf("this process cannot have mounts of its own: %v", err)
	}
	at := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(at, 0o700))
	if err := syscall.Mount("tmpfs", at, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("no disk can be mounted: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(at, syscall.MNT_DETACH) })
	return at
}

// Fill has a disk be full until it is told to give the space back.
func Fill(t *testing.T, disk string) (free func()) {
	ballast, err := os.Create(filepath.Join(disk, "ballast"))
	require.NoError(t, err)
	for _, part := range []int{1 << 20, 4 << 10, 1} {
		for err = nil; err == nil; {
			_, err = ballast.Write(make([]byte, part))
		}
		require.ErrorIs(t, err, syscall.ENOSPC)
	}
	return func() { require.NoError(t, errors.Join(ballast.Close(), os.Remove(ballast.Name()))) }
}
