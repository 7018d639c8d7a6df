package wasi

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero/experimental/wazerotest"
)

type instantClock struct{ Clock }

func (instantClock) Sleep(context.Context, time.Duration) error { return nil }

// FuzzAnyArguments calls every function with arguments and memory that a hostile guest
// could pass: nothing panics, and nothing outside of the granted directory changes.
func FuzzAnyArguments(f *testing.F) {
	for i := range functions() {
		f.Add(uint8(i), []byte("\x08\x00\x00\x00\x05\x00\x00\x00../up"), uint64(4), uint64(8), uint64(5), uint64(1<<32-1))
		f.Add(uint8(i), []byte("\x08\x00\x00\x00\x01\x00\x00\x00f"), uint64(4), uint64(0), uint64(8), uint64(1))
	}
	f.Fuzz(func(t *testing.T, index uint8, content []byte, a, b, c, d uint64) {
		all := functions()
		function := all[int(index)%len(all)]
		outside := t.TempDir()
		dir := filepath.Join(outside, "dir")
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("content"), 0o600))
		files, err := OpenFileSystem([]Mount{{HostPath: dir, GuestPath: "/a", ReadWrite: true}})
		require.NoError(t, err)
		defer files.Close()
		sys := New(Config{
			Args: []string{"x"}, Env: []string{"A=b"}, Files: files, Clock: instantClock{SystemClock()},
		})
		defer sys.Close()
		guest := wazerotest.NewModule(wazerotest.NewFixedMemory(wazerotest.PageSize))
		copy(guest.ExportMemory.Bytes, content)
		ctx := context.WithValue(t.Context(), SystemKey{}, sys)
		for round := range uint64(3) {
			stack := []uint64{a + round, b, c, d, a, b, c, d, a, b}
			func() {
				defer func() {
					if r := recover(); r != nil {
						require.IsType(t, &ExitError{}, r)
					}
				}()
				function.enter()(ctx, guest, stack)
			}()
		}
		entries, err := os.ReadDir(outside)
		require.NoError(t, err)
		require.Len(t, entries, 1)
	})
}

func TestHostErrorsKeepTheirMeaning(t *testing.T) {
	for host, guest := range map[error]Errno{
		nil:                  success,
		syscall.ENOSPC:       errNospc,
		syscall.EDQUOT:       errDquot,
		syscall.EACCES:       errAccess,
		syscall.EROFS:        errRofs,
		syscall.EIO:          errIO,
		os.ErrClosed:         errBadf,
		os.ErrNotExist:       errNoent,
		errNotdir:            errNotdir,
		context.Canceled:     errIntr,
		syscall.Errno(0x7ff): errIO,
		&os.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC}: errNospc,
	} {
		require.Equal(t, guest, errnoOf(host), "%v", host)
	}
}

func TestModesAreSetInsideGrantsOnly(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), nil, 0o600))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link")))
	readable := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(readable, "f"), nil, 0o600))
	files, err := OpenFileSystem([]Mount{
		{HostPath: dir, GuestPath: "/project/out", ReadWrite: true},
		{HostPath: readable, GuestPath: "/data"},
	})
	require.NoError(t, err)
	defer files.Close()

	require.NoError(t, files.SetMode("out/f", 0o640))
	mode, err := files.Mode("/project/out/f")
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), mode)

	for path, want := range map[string]Errno{
		"out/none":                errNoent,
		"out/link":                errNotcapable,
		"out/../../etc/passwd":    errNotcapable,
		"/etc/passwd":             errNotcapable,
		"/":                       errNotcapable,
		"/data/f":                 errRofs,
		"out/\x00":                errInval,
		string(make([]byte, 1e4)): errNametoo,
	} {
		err := files.SetMode(path, 0o777)
		var refused *PathError
		require.ErrorAs(t, err, &refused, path)
		require.Equal(t, want, refused.Errno, path)
	}
	require.Error(t, files.SetMode("out/f", os.ModeSetuid|0o755))
	require.EqualError(t, files.SetMode("/etc/passwd", 0o600), "/etc/passwd is not inside a granted directory; "+
		"granted: out (read-write), /data (read-only); add the directory to the provider's grants: fs")
}
