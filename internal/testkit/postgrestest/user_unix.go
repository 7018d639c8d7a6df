//go:build unix

package postgrestest

import (
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// unprivileged returns the user that servers run as if root runs the tests, which
// PostgreSQL refuses to run as; nil for the user of the tests.
func unprivileged(t *testing.T) *syscall.Credential {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(found.Uid, 10, 32)
		require.NoError(t, err)
		gid, err := strconv.ParseUint(found.Gid, 10, 32)
		require.NoError(t, err)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	t.Skip("PostgreSQL does not run as root, and there is neither a user postgres nor a user nobody")
	return nil
}

// become has a command run as the server's user.
func become(t *testing.T, cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: unprivileged(t)}
}

// giveAway makes the server's user the owner of a directory and its contents.
func giveAway(t *testing.T, dir string) {
	owner := unprivileged(t)
	if owner == nil {
		return
	}
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(owner.Uid), int(owner.Gid))
	}))
}
