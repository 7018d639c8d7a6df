package root

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/cmd/husk/internal/parts"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
	"github.com/husk-dev/husk/engine/state/filestore/faultfs"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// user runs commands in a project whose stacks are on a disk that can be filled.
type user struct {
	t    *testing.T
	dir  string
	disk *faultfs.FS
}

func newUser(t *testing.T, project string) *user {
	u := &user{t: t, dir: t.TempDir(), disk: faultfs.New()}
	t.Setenv("XDG_CONFIG_HOME", u.dir)
	t.Setenv("HOME", u.dir)
	t.Setenv("AppData", u.dir)
	t.Setenv("HUSK_BACKEND_URL", "")
	t.Setenv("HUSK_CACHE_DIR", filepath.Join(u.dir, "cache"))
	for _, name := range []string{"HUSK", "PULUMI"} {
		unsetenv(t, name+"_CONFIG_PASSPHRASE")
		unsetenv(t, name+"_CONFIG_PASSPHRASE_FILE")
	}
	require.NoError(t, os.WriteFile(filepath.Join(u.dir, "Husk.yaml"), []byte(project), 0o644))
	testmodule.Uncounted(t, u.dir)
	return u
}

// TestMain removes what the environment says of the user and of the machine: with CI, for one, install does not change husk.lock.
func TestMain(m *testing.M) {
	for _, one := range os.Environ() {
		name, _, _ := strings.Cut(one, "=")
		husk := strings.HasPrefix(name, "HUSK_") && !strings.HasPrefix(name, "HUSK_TEST_")
		if husk || strings.HasPrefix(name, "PULUMI_") || slices.Contains([]string{"CI", "NO_COLOR", "GITHUB_ACTIONS", "GITLAB_CI"}, name) {
			os.Unsetenv(name)
		}
	}
	os.Exit(m.Run())
}

func unsetenv(t *testing.T, name string) {
	t.Setenv(name, "") // which restores it at the end
	require.NoError(t, os.Unsetenv(name))
}

// husk runs a command and returns what it wrote and its exit code.
func (u *user) husk(args ...string) (stdout, stderr string, code int) {
	u.t.Helper()
	return execute(u.t, u.dir, func(in, out, errs *os.File) *cli.App {
		a := newApp(in, out, errs, parts.All())
		a.Store = func(string) state.Store { return filestore.NewFS(u.disk) }
		return a
	}, args...)
}

// execute runs a command of an app in a directory, and returns what it wrote and its exit code.
func execute(t *testing.T, dir string, app func(in, out, errs *os.File) *cli.App, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	files := t.TempDir()
	file := func(name string) *os.File {
		f, err := os.Create(filepath.Join(files, name))
		require.NoError(t, err)
		return f
	}
	in, out, errs := file("in"), file("out"), file("errs")
	code = run(app(in, out, errs), append([]string{"-C", dir}, args...))
	read := func(f *os.File) string {
		require.NoError(t, f.Close())
		data, err := os.ReadFile(f.Name())
		require.NoError(t, err)
		return string(data)
	}
	read(in)
	return read(out), read(errs), code
}

// aResource is a project of one stack that has outputs and no resources, so that
// nothing but the state's own files is needed.
const aResource = `
name: demo
outputs:
  message: hello
`

func TestFullDiskLosesNothing(t *testing.T) {
	u := newUser(t, aResource)

	// Not even a stack can be made.
	u.disk.SetCapacity(10)
	_, stderr, code := u.husk("up", "--yes")
	require.Equal(t, cli.ExitFailed, code)
	require.Regexp(t, `^error: no space left to write .*: .*free some space and run again`, lastLine(stderr))

	u.disk.SetCapacity(0)
	stdout, stderr, code := u.husk("up", "--yes")
	require.Equal(t, cli.ExitDone, code, stderr)
	require.Contains(t, stdout, "1 created")
	before, _, _ := u.husk("stack", "export")

	// A change that does not fit any more.
	require.NoError(t, os.WriteFile(filepath.Join(u.dir, "Husk.yaml"), []byte(aResource+"  more: words\n"), 0o644))
	u.disk.SetCapacity(u.disk.Used() + 10)
	_, stderr, code = u.husk("up", "--yes")
	require.Equal(t, cli.ExitFailed, code)
	require.Regexp(t, `error: .*no space left to write .*: .*free some space and run again`, stderr)
	after, stderr, code := u.husk("stack", "export")
	require.Equal(t, cli.ExitDone, code, stderr)
	require.Contains(t, []string{before}, after, "what was saved before is there")

	u.disk.SetCapacity(0)
	stdout, stderr, code = u.husk("up", "--yes")
	require.Equal(t, cli.ExitDone, code, stderr)
	require.Contains(t, stdout, "more: words")
}

func lastLine(text string) string {
	lines := splitLines(text)
	return lines[len(lines)-1]
}

func splitLines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

// The backends that husk leaves out are those of husk-full.
func TestBackendsOfTheWhole(t *testing.T) {
	require.ElementsMatch(t, slices.Collect(maps.Keys(parts.All().Backends)), wholeBackends)
}
