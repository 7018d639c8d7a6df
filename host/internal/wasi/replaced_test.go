//go:build unix

package wasi

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/base/confined"
)

// Between finding a file and working on it, a link may take its place. It is not followed.
func TestWhatIsReplacedOnceItWasFound(t *testing.T) {
	for name, c := range map[string]struct {
		path string
		do   func(*FileSystem, *place) error
		want error // nil where the link itself is worked on
	}{
		"open to read":                {"f", func(_ *FileSystem, p *place) error { return opened(openEntry(p, os.O_RDONLY, false)) }, confined.ErrChanged},
		"open to write":               {"f", func(_ *FileSystem, p *place) error { return opened(openEntry(p, os.O_WRONLY, false)) }, confined.ErrChanged},
		"open a new file":             {"none", func(_ *FileSystem, p *place) error { return opened(openEntry(p, os.O_WRONLY, false)) }, confined.ErrChanged},
		"open a new file only":        {"none", func(_ *FileSystem, p *place) error { return opened(openEntry(p, os.O_WRONLY, true)) }, os.ErrExist},
		"enter":                       {"d", func(_ *FileSystem, p *place) error { return entered(confined.Enter(p.dir, p.name, p.info)) }, confined.ErrChanged},
		"set the mode":                {"f", func(_ *FileSystem, p *place) error { return setEntryMode(p, 0o400) }, confined.ErrChanged},
		"set the mode of a directory": {"d", func(_ *FileSystem, p *place) error { return setEntryMode(p, 0o500) }, confined.ErrChanged},
		"set the times":               {"f", func(_ *FileSystem, p *place) error { return setEntryTimes(p, time.Unix(1, 0), time.Unix(1, 0)) }, nil},
		"make":                        {"none", makeDirectory, os.ErrExist},
		"remove":                      {"f", unlink, nil},
		"remove a directory":          {"d", removeDirectory, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, made := range []string{"f", "sub/f", "sub/d/f", "d/f"} {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, made)), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(dir, made), []byte(made), 0o600))
			}
			files, err := OpenFileSystem([]Mount{{HostPath: dir, GuestPath: "/a", ReadWrite: true}, {HostPath: filepath.Join(dir, "sub"), GuestPath: "/a/sub"}})
			require.NoError(t, err)
			defer files.Close()
			found, errno := files.resolve(func() {}, files.top(), "a/"+c.path, true)
			require.Equal(t, success, errno)
			defer found.release()
			protected := filepath.Join(dir, "sub", "f")
			before, err := os.Stat(protected)
			require.NoError(t, err)

			target := "sub/f"
			if c.path == "d" {
				target = "sub/d"
			}
			require.NoError(t, os.RemoveAll(filepath.Join(dir, c.path)))
			require.NoError(t, os.Symlink(target, filepath.Join(dir, c.path)))
			err = c.do(files, &found)
			if c.want == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, c.want)
			}
			after, err := os.Stat(protected)
			require.NoError(t, err)
			require.Equal(t, []any{before.Mode(), before.ModTime(), before.Size()}, []any{after.Mode(), after.ModTime(), after.Size()})
			require.FileExists(t, filepath.Join(dir, "sub", "d", "f"))
		})
	}
}

// A directory on the way, too, is entered only as what it was found to be.
func TestADirectoryThatIsReplacedOnTheWay(t *testing.T) {
	dir := t.TempDir()
	for _, made := range []string{"d/f", "sub/f"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, made)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, made), []byte(made), 0o600))
	}
	files, err := OpenFileSystem([]Mount{{HostPath: dir, GuestPath: "/a", ReadWrite: true}, {HostPath: filepath.Join(dir, "sub"), GuestPath: "/a/sub"}})
	require.NoError(t, err)
	defer files.Close()
	w := walk{files: files, goesOn: func() {}, from: files.top()}
	defer func() { w.at.release() }()
	require.Equal(t, success, w.again([]string{"a"}))
	found, errno := w.look("d")
	require.Equal(t, success, errno)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "d")))
	require.NoError(t, os.Symlink("sub", filepath.Join(dir, "d")))
	require.Equal(t, errBusy, w.into("d", found))

	// Those above are entered again for each "..", as what they were.
	require.NoError(t, os.Mkdir(filepath.Join(dir, "e"), 0o700))
	require.Equal(t, success, w.again([]string{"a", "e"}))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "e")))
	require.NoError(t, os.Symlink("sub", filepath.Join(dir, "e")))
	require.Equal(t, errBusy, w.again([]string{"a", "e"}))
}

// Two directories are told apart by more than their names, so that a mount is one wherever it
// is moved.
func TestAMountIsKnownWhereverItIs(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sub", "f"), nil, 0o600))
	files, err := OpenFileSystem([]Mount{{HostPath: dir, GuestPath: "/a", ReadWrite: true}, {HostPath: filepath.Join(dir, "sub"), GuestPath: "/a/sub"}})
	require.NoError(t, err)
	defer files.Close()
	require.NoError(t, os.Rename(filepath.Join(dir, "sub"), filepath.Join(dir, "moved")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	for path, want := range map[string]Errno{"a/moved/f": errRofs, "a/sub/f": errRofs, "a/other": success} {
		found, errno := files.resolve(func() {}, files.top(), path, true)
		require.Equal(t, success, errno, path)
		require.Equal(t, want, found.writable(), path)
		found.release()
	}
	found, _ := files.resolve(func() {}, files.top(), "a/sub/f", true)
	require.NotNil(t, found.info, "the granted directory, and not the one that has its name now")
	found.release()
}

// A path that never ends does.
func TestAWalkIsBounded(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "x/y"), 0o700))
	files, err := OpenFileSystem([]Mount{{HostPath: dir, GuestPath: "/a", ReadWrite: true}})
	require.NoError(t, err)
	defer files.Close()
	path := "a"
	for range maxSteps {
		path += "/x/y/../.."
	}
	_, errno := files.resolve(func() {}, files.top(), path, true)
	require.Equal(t, errLoop, errno)
	over := errors.New("the call is over")
	require.PanicsWithError(t, over.Error(), func() { files.resolve(func() { panic(over) }, files.top(), "a/x/y", true) })
}

func opened(file *os.File, err error) error {
	if err == nil {
		file.Close()
	}
	return err
}

func entered(dir *os.Root, err error) error {
	if err == nil {
		dir.Close()
	}
	return err
}
