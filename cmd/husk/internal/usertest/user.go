// Package usertest has users of the command for tests: each has a home and runs the real command, which is the test's own
// program under another name. The tests are in several packages because each package has a time limit, and each of its
// tests starts many processes.
package usertest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/parts"
	"github.com/husk-dev/husk/cmd/husk/internal/root"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// Main runs the tests of a package. A program that a test starts with the name husk, or another command's name, is that command;
// scripts and PATH have it, too.
func Main(m *testing.M, more map[string]func()) {
	command := func() { os.Exit(root.Main(parts.All())) }
	// The last is the plugin that husk provider shim makes of the module lab.
	commands := map[string]func(){"husk": command, "pulumi": command, "pulumi-resource-lab": command}
	for name, command := range more {
		commands[name] = command
	}
	testscript.Main(m, commands)
}

// Directory returns the directory of the command's source, cmd/husk, in which all tests with users are.
func Directory(t testing.TB) string {
	t.Helper()
	directory, err := os.Getwd()
	require.NoError(t, err)
	for filepath.Base(directory) != "husk" || filepath.Base(filepath.Dir(directory)) != "cmd" {
		require.NotEqual(t, directory, filepath.Dir(directory), "the test is not in cmd/husk")
		directory = filepath.Dir(directory)
	}
	return directory
}

// User has the directories of a user of husk. Their home has a key for secrets in it: deriving one from a passphrase takes
// long by design.
type User struct {
	// Lab is the module of testdata/lab.
	Lab []byte
	// Environment has the variables by which the command finds the user's directories.
	Environment []string

	directory string
}

// New returns a user, whose home is there until the end of the test. It skips tests that are to be short: what users do is
// done by processes.
func New(t *testing.T) *User {
	t.Helper()
	SkipShort(t)
	return newUser(t)
}

// SkipShort leaves out what starts processes if tests are to be short. Some of the scripts run even then.
func SkipShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
}

func newUser(t *testing.T) *User {
	t.Helper()
	home, directory := t.TempDir(), Directory(t)
	u := &User{directory: directory, Lab: testmodule.Build(t, filepath.Join(directory, "testdata", "lab"))}
	u.Environment = testmodule.User(t, home)
	testmodule.DependOn(t, directory)
	keys := secrets.SystemKeys(func(string) {})
	keys.LookupEnv = func(string) (string, bool) { return "", false }
	keys.ConfigDir = func() (string, error) { return testmodule.ConfigDir(home), nil }
	_, err := keys.New(t.Context())
	require.NoError(t, err)
	return u
}

// inRace reports whether a script runs under the race detector if that is on.
func inRace(script string) bool { return raceScripts == nil || slices.Contains(raceScripts, script) }

// SkipUnderRace leaves out what runs commands hundreds of times, in processes of their own. The race detector would see
// nothing there that other tests do not have.
func SkipUnderRace(t *testing.T) {
	t.Helper()
	if raceScripts != nil {
		t.Skip("under the race detector this takes minutes")
	}
}
