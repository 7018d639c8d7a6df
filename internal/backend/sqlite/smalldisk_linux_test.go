package sqlite_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
	"github.com/husk-dev/husk/internal/backend/sqlite"
)

// smallDiskVariable has the directory for the disk of [TestOnSmallDisk].
const smallDiskVariable = "HUSK_TEST_SMALL_DISK"

// TestFullDisk runs TestOnSmallDisk in a process that has mounts of its own, which end with it.
func TestFullDisk(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestOnSmallDisk$", "-test.v")
	cmd.Env = append(os.Environ(), smallDiskVariable+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Skipf("this system gives a process no mounts of its own: %v", err)
	}
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
}

// TestOnSmallDisk fills a disk while a run goes on. What was confirmed is there, and the run goes on when there is
// space again.
func TestOnSmallDisk(t *testing.T) {
	dir := os.Getenv(smallDiskVariable)
	if dir == "" {
		t.Skip("needs a disk, which TestFullDisk makes")
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Skipf("this process cannot have mounts of its own: %v", err)
	}
	for name, open := range map[string]func(dir string) state.Store{
		"file": func(dir string) state.Store { return filestore.New(dir) },
		"SQLite": func(dir string) state.Store {
			b, err := sqlite.Open(t.Context(), "sqlite://"+filepath.Join(dir, "stacks.db"), dir)
			require.NoError(t, err)
			t.Cleanup(b.Close)
			return b.State
		},
	} {
		t.Run(name, func(t *testing.T) {
			// Each store has a disk of its own: a file that was removed takes space until it is closed.
			at := filepath.Join(dir, name)
			require.NoError(t, os.MkdirAll(at, 0o700))
			if err := syscall.Mount("tmpfs", at, "tmpfs", 0, "size=2m"); err != nil {
				t.Skipf("no disk can be mounted: %v", err)
			}
			t.Cleanup(func() { _ = syscall.Unmount(at, syscall.MNT_DETACH) })
			ballast := filepath.Join(at, "ballast")
			require.NoError(t, os.WriteFile(ballast, make([]byte, 600<<10), 0o600))
			ctx, stack := t.Context(), state.StackName{Project: "p", Name: "s"}
			store := open(at)
			require.NoError(t, store.Create(ctx, stack, []byte("{}")))
			l, err := store.Lease(ctx, stack, state.Holder{PID: 1})
			require.NoError(t, err)
			_, err = l.Load(ctx)
			require.NoError(t, err)
			var confirmed uint64
			record := make([]byte, 40<<10)
			var full *state.NoSpaceError
			for full == nil {
				err := l.Append(ctx, confirmed+1, record)
				if err == nil {
					confirmed++
					continue
				}
				require.ErrorAs(t, err, &full)
				require.ErrorContains(t, err, "free some space")
				if full.Saved {
					confirmed++
				}
			}
			require.Positive(t, confirmed)
			require.NoError(t, os.Remove(ballast))
			require.NoError(t, l.Append(ctx, confirmed+1, record), "it goes on")
			require.NoError(t, l.Checkpoint(ctx, confirmed+1, []byte(`{"all":true}`)))
			require.NoError(t, l.Release(ctx))
			c, err := open(at).Load(ctx, stack)
			require.NoError(t, err)
			require.Equal(t, confirmed+1, c.Sequence)
		})
	}
}
