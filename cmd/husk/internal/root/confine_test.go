package root

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
)

// textFlags are the flags whose values name no files of this machine.
var textFlags = strings.Fields(`adopt-pending-creates allow allow-untested color config env exclude exec-agent exec-kind expires first format from grant identity issuer label language
	limit log-level main message name of only seed version parameter parent plaintext project provider query registry replace secret stack target target-replace to trust-module`)

// leaves calls do with each command that does something, and its name.
func leaves(cmd *cobra.Command, do func(name string, cmd *cobra.Command)) {
	for _, sub := range cmd.Commands() {
		leaves(sub, do)
	}
	if name, below := strings.CutPrefix(cmd.CommandPath(), "husk "); below && cmd.Runnable() {
		do(name, cmd)
	}
}

func rootOf(t *testing.T) *cobra.Command {
	return command(cli.NewApp(os.Stdin, os.Stdout, os.Stderr))
}

// Each command confines itself, or says why not. Of each flag of one that may run in a project it is decided whether it names a file.
func TestFlagsOfCommands(t *testing.T) {
	var known []string
	leaves(rootOf(t), func(name string, cmd *cobra.Command) {
		known = append(known, name)
		for _, u := range unconfined {
			if slices.Contains(u.names, name) && u.why == "it opens no project" {
				return
			}
		}
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if flag.Value.Type() == "bool" || flag.Value.Type() == "int" || flag.Name == "cwd" {
				return
			}
			if !slices.Contains(slices.Concat(readFlags, writtenFlags, textFlags), flag.Name) {
				t.Errorf("husk %s --%s: does it name a file that is read, or written, or none? %s", name, flag.Name, flag.Usage)
			}
		})
	})
	for _, u := range unconfined {
		for _, name := range u.names {
			require.Contains(t, known, name)
		}
	}
	for name := range wholeCommands {
		require.Contains(t, known, name)
	}
}

// What the user names in the directory of a project that is not trusted does not lead elsewhere by a link of the project, whether the
// command is confined or not. Of a project that is trusted it does.
func TestNamesInAStrangersDirectory(t *testing.T) {
	for name, args := range map[string][]string{
		"plan that is written":      {"preview", "--save-plan", "link"},
		"plan that is read":         {"up", "--yes", "--plan", "link"},
		"configuration of a policy": {"preview", "--policy-pack-config", "link"},
		"policy pack":               {"preview", "--policy-pack", "sub"},
		"log":                       {"preview", "--log-file", "sub/new"},
		"dangling link":             {"preview", "--audit-log", "dangling"},
		"format":                    {"fmt", "link"},
		"graph":                     {"graph", "--output", "link"},
		"state":                     {"stack", "import", "--file", "sub/link"},
		"vendored":                  {"vendor", "sub"},
		"plan that is shown":        {"plan", "show", "link"},
		"module":                    {"provider", "push", "link", "oci://registry.invalid/x"},
		"cases of a test":           {"provider", "test", "none.wasm", "--cases", "sub/link"},
		"failing cases":             {"provider", "test", "none.wasm"},
		"generated SDK":             {"package", "gen-sdk", "none.wasm", "--language", "go"},
		"shims of a port":           {"provider", "port", "none", "--shim", "sub"},
		"repository":                {"provider", "show", ".git/link"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			t.Setenv("XDG_CONFIG_HOME", t.TempDir())
			t.Setenv("HUSK_CACHE_DIR", t.TempDir())
			t.Setenv("HUSK_BACKEND_URL", "file://"+filepath.ToSlash(t.TempDir()))
			dir := t.TempDir()
			project, outside := filepath.Join(dir, "project"), filepath.Join(dir, "outside")
			for _, made := range []string{filepath.Join(project, ".git"), outside} {
				require.NoError(t, os.MkdirAll(made, 0o700))
			}
			const canary = "a:   canary\n"
			for name, text := range map[string]string{filepath.Join(project, "Husk.yaml"): aResource, filepath.Join(project, ".git", "link"): canary, filepath.Join(outside, "link"): canary} {
				require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
			}
			for name, to := range map[string]string{"link": "link", "sub": "", "dangling": "none", "husk-provider-test": "", "sdk": "none"} {
				require.NoError(t, os.Symlink(filepath.Join(outside, to), filepath.Join(project, name)))
			}
			t.Chdir(project)
			said, code := together(t, project, append(args, "--untrusted-project")...)
			require.NotZero(t, code, said)
			require.Contains(t, said, "the project is not trusted, or its program is a module, and may name only files and directories of its own")
			entries, err := os.ReadDir(outside)
			require.NoError(t, err)
			require.Len(t, entries, 1)
			text, err := os.ReadFile(filepath.Join(outside, "link"))
			require.NoError(t, err)
			require.Equal(t, canary, string(text))
			if !strings.Contains(strings.Join(args, " "), "none") { // else it would start other programs
				said, _ = together(t, project, args...)
				require.NotContains(t, said, "not trusted")
			}
		})
	}
}

// A confined command keeps the files that the operator names in the URL of the stacks, and connects to no socket.
func TestPlacesOfConfinedCommands(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HUSK_CACHE_DIR", t.TempDir())
	t.Setenv("HUSK_CONFIG_PASSPHRASE", "x")
	t.Setenv("PGHOST", "")
	c := &confinement{App: cli.NewApp(os.Stdin, os.Stdout, os.Stderr)}
	c.Dir = t.TempDir()
	cmd, _, err := command(c.App).Find([]string{"preview"})
	require.NoError(t, err)
	t.Setenv("HUSK_BACKEND_URL", "postgres:///stacks?host=db.example&passfile=/own/pass&sslrootcert=/own/ca&sslcert=/own/cert&sslkey=/own/key&servicefile=/own/services")
	read, _, err := c.keeps(cmd, nil)
	require.NoError(t, err)
	require.Subset(t, read, []string{"/own/pass", "/own/ca", "/own/cert", "/own/key", "/own/services"})
	t.Setenv("HUSK_BACKEND_URL", "postgres:///stacks?host=/run/postgresql")
	_, _, err = c.keeps(cmd, nil)
	require.ErrorContains(t, err, "the database of the stacks is at a socket of this machine")
}

// A command that is not confined because it opens no project gets none.
func TestCommandsThatOpenNoProject(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HUSK_CACHE_DIR", t.TempDir())
	project := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(project, "Husk.yaml"), []byte(aResource), 0o600))
	leaves(rootOf(t), func(name string, cmd *cobra.Command) {
		for _, u := range unconfined {
			if !slices.Contains(u.names, name) || u.opens || cmd.DisableFlagParsing {
				continue
			}
			app := cli.NewApp(os.Stdin, os.Stdout, os.Stderr)
			root := command(app)
			cmd, _, err := root.Find(strings.Fields(name))
			require.NoError(t, err)
			require.NoError(t, root.ParseFlags([]string{"--untrusted-project", "-C", project}))
			if cmd.LocalNonPersistentFlags().Lookup("require-confinement") != nil {
				continue // a worker's, which confines its runs
			}
			require.NoError(t, root.PersistentPreRunE(cmd, nil))
			_, err = app.Project(t.Context())
			require.ErrorContains(t, err, "this command opens no project that is not trusted", name)
		}
	})
}
