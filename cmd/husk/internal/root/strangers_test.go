package root

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/cmd/husk/internal/parts"
	"github.com/husk-dev/husk/internal/base/named/namedtest"
	"github.com/husk-dev/husk/internal/testkit/nightly"
	"github.com/husk-dev/husk/internal/testkit/strangertest"
)

// loading are commands that load a project, and whether they run its program.
var loading = []struct {
	args []string
	runs bool
}{
	{[]string{"preview"}, true},
	{[]string{"up", "--yes"}, true},
	{[]string{"validate"}, false},
	{[]string{"install"}, false},
	{[]string{"provider", "audit"}, false},
	{[]string{"provider", "show", "x"}, false},
	{[]string{"stack", "output"}, false},
	{[]string{"stack", "ls"}, false},
	{[]string{"config"}, false},
	{[]string{"config", "set", "x", "y"}, false},
	{[]string{"fmt"}, false},
	{[]string{"schema", "project"}, false},
	{[]string{"graph", "--preview"}, true},
	{[]string{"whoami"}, false},
	{[]string{"destroy", "--yes"}, false},
}

// together runs a command, and returns all that it wrote and its exit code.
func together(t *testing.T, dir string, args ...string) (said string, code int) {
	t.Helper()
	said, _, code = execute(t, dir, func(in, out, _ *os.File) *cli.App { return cli.NewApp(in, out, out) }, args...)
	return said, code
}

// A project that is not trusted gets nothing by what it names, whatever key names it, in whatever way, and whatever command loads
// it: what is not its own is in no output and no state, is not changed, and nobody waits for it.
func TestStrangersFindNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("runs commands for hundreds of projects")
	}
	stacks := filepath.Join(t.TempDir(), "stacks")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("HUSK_CACHE_DIR", t.TempDir())
	t.Setenv("HUSK_BACKEND_URL", "file://"+filepath.ToSlash(stacks))
	t.Setenv("HUSK_OFFLINE", "1")
	t.Setenv("HUSK_CONFIG_PASSPHRASE", "")
	unsetenv(t, "HUSK_CONFIG_PASSPHRASE")
	inside := namedtest.Start(t)
	place := strangertest.New(t, inside.Addr().String())
	tried := 0
	try := func(what, dir string, fails func(runs bool) bool) {
		// All commands for each project take minutes: preview, and another one in turn.
		commands := loading
		if !nightly.Enabled() {
			tried++
			commands = append(loading[:1:1], loading[1+tried%(len(loading)-1)])
		}
		for _, c := range commands {
			said, code := together(t, dir, append(c.args, "--untrusted-project", "--stack", "stranger/dev")...)
			require.NotContains(t, said, strangertest.Canary, "%s: husk %s", what, strings.Join(c.args, " "))
			require.NotContains(t, said, "panic", what)
			if fails(c.runs) {
				require.NotZero(t, code, "%s: husk %s: %s", what, strings.Join(c.args, " "), said)
				require.Regexp(t, "not trusted|outside of the directory of the project", said, "%s: husk %s", what, strings.Join(c.args, " "))
			}
		}
	}
	for _, row := range strangertest.Rows {
		if row.Kind == strangertest.Text {
			continue
		}
		// Addresses are not even asked where the network may be used.
		t.Setenv("HUSK_OFFLINE", map[bool]string{false: "1"}[row.Kind == strangertest.Address])
		for _, way := range place.Ways(row.Kind) {
			dir := place.Project(row, way)
			try(row.Key+" names "+way.Name, dir, func(runs bool) bool {
				return way.Outside && row.Kind == strangertest.Path && (row.Loads || runs)
			})
			require.NoError(t, os.RemoveAll(dir))
		}
	}
	t.Setenv("HUSK_OFFLINE", "1")
	for _, name := range slices.Sorted(maps.Keys(strangertest.Links)) {
		try("a link in place of "+name, place.Linked(name, strangertest.Links[name]), func(runs bool) bool { return runs })
	}
	_, requests := inside.Seen()
	require.Zero(t, requests, "nobody inside was asked")
	place.RequireUntouched()
	require.NoError(t, filepath.WalkDir(stacks, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		require.NotContains(t, string(text), strangertest.Canary, path)
		return err
	}))

	// The user's own project has all of it: the places hold what would be found.
	row := strangertest.Row{Project: "main: PATH\n"}
	own := place.Project(row, strangertest.Way{Path: "../outside/program.yaml"})
	said, code := together(t, own, "preview")
	require.Zero(t, code, said)
	require.Contains(t, said, strangertest.Canary)
}

// A project of the user's own reaches what it names, and yet no address of its gets a credential that is not for it.
func TestNoAddressOfAProjectGetsCredentials(t *testing.T) {
	if testing.Short() {
		t.Skip("runs commands for hundreds of projects")
	}
	namedtest.Set(t)
	inside := namedtest.Start(t)
	place := strangertest.New(t, inside.Addr().String())
	reached := 0
	for _, row := range strangertest.Rows {
		if row.Kind != strangertest.Address {
			continue
		}
		dir := place.Project(row, place.Ways(row.Kind)[0])
		for _, args := range [][]string{{"preview"}, {"up", "--yes"}, {"install"}, {"stack", "ls"}} {
			said, _ := together(t, dir, append(args, "--stack", "stranger/dev")...)
			require.NotContains(t, said, namedtest.Canary, "%s: husk %v", row.Key, args)
			received, requests := inside.Seen()
			require.NotContains(t, received, namedtest.Canary, "%s: husk %v", row.Key, args)
			reached += min(requests, 1)
		}
	}
	require.GreaterOrEqual(t, reached, 3)
}

// waiting are the commands that wait for somebody, or for whom this is not a project of a stranger, and why nothing is lost by that.
var waiting = map[string]string{
	"watch":   "starts the commands that are here",
	"console": "waits for a browser, and opens the project by the package that preview opens it with",
	"server":  "opens no project", "worker": "opens no project: its runs do", "login": "opens no project",
	"provider dev": "builds by the function that provider build builds with, and waits for changes",
	"lsp":          "has the input and output of the process, and an editor that says which files are open: TestStrangersFindNothingByTheEditor",
	"state edit":   "runs the editor of the user",
}

// No command runs code of a project that is not trusted outside of the sandbox, in whatever language it is and wherever the tools
// are, nor any tool that could. Of a project that is trusted it is run.
func TestNothingOfAStrangerRuns(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("runs each command for many projects, with shell scripts as tools")
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("HUSK_CACHE_DIR", t.TempDir())
	t.Setenv("HUSK_BACKEND_URL", "file://"+filepath.ToSlash(t.TempDir()))
	t.Setenv("HUSK_CONFIG_PASSPHRASE", "x")
	whole := func(in, out, _ *os.File) *cli.App { return newApp(in, out, out, parts.All()) }
	for i, source := range strangertest.Sources {
		t.Run(source.Name, func(t *testing.T) {
			dir, ran := strangertest.Sourced(t, source)
			t.Chdir(dir)
			tried := 0
			leaves(rootOf(t), func(name string, cmd *cobra.Command) {
				tried++
				if waiting[name] != "" || cmd.DisableFlagParsing || !nightly.Enabled() && (tried+i)%5 != 0 && !alwaysTried(name) {
					return
				}
				args := strings.Fields(name)
				for at := 0; argument(cmd, at) != "" && at < 4; at++ {
					word := "x"
					if takesFiles(argument(cmd, at)) {
						word = "src"
					}
					args = append(args, word)
				}
				if cmd.Flags().Lookup("yes") != nil {
					args = append(args, "--yes")
				}
				said, _, _ := execute(t, dir, whole, append(args, "--untrusted-project", "--stack", "stranger/dev")...)
				require.NoFileExists(t, ran, "husk %v: %s", args, said)
			})
			if source.Runs == nil {
				said, _, _ := execute(t, dir, whole, "preview")
				require.NoFileExists(t, ran, said)
				return
			}
			said, _, _ := execute(t, dir, whole, source.Runs...)
			require.FileExists(t, ran, said)
		})
	}
}

// alwaysTried reports whether a command is tried with each source, also outside of .ci/nightly.
func alwaysTried(name string) bool {
	return slices.Contains([]string{"preview", "up", "install", "validate", "provider build", "provider test"}, name)
}
