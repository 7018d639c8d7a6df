// Package parttest has tests of husk and husk-full beside each other.
package parttest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/parts"
	"github.com/husk-dev/husk/cmd/husk/internal/root"
	"github.com/husk-dev/husk/internal/testkit/s3test"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"husk":      func() { os.Exit(root.Main(nil)) },
		"husk-full": func() { os.Exit(root.Main(parts.All())) },
	})
}

// times are the durations that a command shows.
var times = regexp.MustCompile(`[0-9.]+s\b`)

// outcome is what a command writes, and its exit code.
type outcome struct {
	out, errs string
	code      int
}

// run runs a program in a directory.
func run(t *testing.T, dir, program, stdin string, args ...string) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	require.NotNil(t, cmd.ProcessState, "%v", err)
	return outcome{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// project returns a directory with a project.
func project(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(text), 0o600))
	return dir
}

// home gives the processes of a test directories of their own.
func home(t *testing.T) {
	t.Helper()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "HUSK_CACHE_DIR"} {
		t.Setenv(name, t.TempDir())
	}
	t.Setenv("NO_COLOR", "1")
	t.Setenv("HUSK_CONFIG_PASSPHRASE", "a passphrase, so that no command tells of a new key")
}

// Where husk lacks a part, husk-full takes its place: the user sees the same as from husk-full.
func TestHuskFullTakesThePlaceOfHusk(t *testing.T) {
	home(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	bucket := s3test.Start(t, s3test.New())
	for name, c := range map[string]struct {
		project, backend, stdin string
		below                   bool // the command is begun in a directory of the project, which it says
		pack                    bool // the directory has a policy pack of Pulumi
		args                    []string
		code                    int
		shows                   string
	}{
		"S3":                  {project: "name: shop\n", backend: bucket, args: []string{"up", "--yes"}, shows: "Done in"},
		"PostgreSQL":          {project: "name: shop\n", backend: "postgres://nobody@127.0.0.1:1/none?connect_timeout=1", args: []string{"stack", "ls"}, code: 1, shows: "127.0.0.1:1"},
		"a program":           {project: "name: shop\nruntime: nodejs\nmain: missing\n", args: []string{"preview"}, code: 1, shows: "main names no program"},
		"a program, below":    {project: "name: shop\nruntime: nodejs\nmain: missing\n", below: true, args: []string{"preview"}, code: 1, shows: "Using the project in"},
		"a native plugin":     {project: "name: shop\nplugins: {providers: [{name: a, path: none, native: true}]}\nresources: {a: {type: 'a:b:C'}}\n", args: []string{"preview"}, code: 1, shows: "none"},
		"a policy pack":       {project: "name: shop\npolicies: [house]\n", pack: true, args: []string{"preview"}, code: 1, shows: "written for the runtime"},
		"an editor":           {stdin: "Content-Length: 33\r\n\r\n" + `{"jsonrpc":"2.0","method":"exit"}`, args: []string{"lsp"}, code: 1, shows: "the editor ended the session"},
		"Pulumi":              {args: []string{"provider", "serve", "missing.wasm"}, code: 1, shows: "missing.wasm"},
		"a shim":              {args: []string{"provider", "shim", "missing.wasm", "-o", "out"}, code: 1, shows: "missing.wasm"},
		"a plugin":            {args: []string{"provider", "plugin", "missing.json"}, code: 1, shows: "missing.json"},
		"a port":              {args: []string{"provider", "port", "./missing"}, code: 1, shows: "missing"},
		"a test":              {args: []string{"provider", "test", "missing.wasm"}, code: 1, shows: "missing.wasm"},
		"the list of checks":  {args: []string{"provider", "test", "--list"}, shows: "deterministic"},
		"a page":              {args: []string{"provider", "docs", "missing.wasm", "--format", "html"}, code: 1, shows: "missing.wasm"},
		"the console":         {args: []string{"console"}, code: 1, shows: "no project in DIR"},
		"a wrong flag of one": {args: []string{"console", "--port", "x"}, code: 2, shows: "--port"},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && !slices.Contains([]string{"S3", "a program, below", "a wrong flag of one"}, name) {
				t.Skip("it is as the others")
			}
			if c.backend != "" {
				t.Setenv("HUSK_BACKEND_URL", c.backend)
			}
			var got []outcome
			for _, program := range []string{"husk", "husk-full"} {
				dir := t.TempDir()
				if c.project != "" {
					dir = project(t, c.project)
				}
				if c.pack {
					require.NoError(t, os.Mkdir(filepath.Join(dir, "house"), 0o700))
					require.NoError(t, os.WriteFile(filepath.Join(dir, "house", "PulumiPolicy.yaml"), []byte("runtime: opa\n"), 0o600))
				}
				below := dir
				if c.below {
					below = filepath.Join(dir, "below")
					require.NoError(t, os.Mkdir(below, 0o700))
				}
				one := run(t, below, program, c.stdin, c.args...)
				for _, text := range []*string{&one.out, &one.errs} {
					*text = strings.ReplaceAll(*text, dir, "DIR")
					*text = times.ReplaceAllString(*text, "N s")
				}
				got = append(got, one)
			}
			require.Contains(t, got[1].out+got[1].errs, c.shows)
			require.Equal(t, c.code, got[1].code)
			if name != "S3" { // the second deploys again
				require.Equal(t, got[1], got[0])
			}
			require.Contains(t, got[0].out+got[0].errs, c.shows)
			require.Equal(t, c.code, got[0].code)
		})
	}
}

// Without husk-full, husk says what is missing, and changes nothing.
func TestHuskAlone(t *testing.T) {
	home(t)
	path, err := exec.LookPath("husk")
	require.NoError(t, err)
	alone := filepath.Join(t.TempDir(), "husk")
	program, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(alone, program, 0o755))
	t.Setenv("PATH", t.TempDir()) // and Go is not there to build it
	dir := project(t, "name: shop\nruntime: nodejs\n")
	got := run(t, dir, alone, "", "up", "--yes")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.errs, "a program or plugin that speaks Pulumi's protocol: ")
	require.Contains(t, got.errs, "husk-full")
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1, "only the project file")

	// What needs no part runs.
	require.Zero(t, run(t, project(t, "name: shop\n"), alone, "", "stack", "ls").code)
}

// A husk-full of another version takes the place of no husk.
func TestVersionsThatDiffer(t *testing.T) {
	home(t)
	t.Setenv("HUSK_CONTINUED", "v9.9.9")
	got := run(t, t.TempDir(), "husk-full", "", "version")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.errs, "husk has the version v9.9.9, and husk-full the version ")
}
