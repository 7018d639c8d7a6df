package authortest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// TestProviderDev edits a provider whenever the command waits for that: Go that does not compile, a type that the project
// does not fit, and right again.
func TestProviderDev(t *testing.T) {
	usertest.SkipShort(t)
	if runtime.GOOS == "windows" {
		t.Skip("processes cannot be sent interrupts")
	}
	home, dir := t.TempDir(), filepath.Join(t.TempDir(), "greet")
	testmodule.Uncounted(t, home)
	husk := func(args ...string) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Args = append([]string{"husk"}, args...) // see TestMain
		cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+home, "HUSK_CACHE_DIR="+filepath.Join(home, "cache"), "NO_COLOR=1")
		return cmd
	}
	made, err := husk("new", "provider", dir).CombinedOutput()
	require.NoError(t, err, "%s", made)

	file := filepath.Join(dir, "greeting.go")
	source, err := os.ReadFile(file)
	require.NoError(t, err)
	beside := filepath.Join(t.TempDir(), "new.go")
	edit := func(old, new string) { // in one step, so that no half of it is seen
		text := strings.Replace(string(source), old, new, 1)
		require.NoError(t, os.WriteFile(beside, []byte(text), 0o644))
		require.NoError(t, os.Rename(beside, file))
	}
	cmd := husk("provider", "dev", dir)
	var said strings.Builder
	usertest.Watch(t, cmd, &said,
		func() { edit("in.Mark}", "in.Marc}") },
		func() { edit("husk:\"name,replace", "husk:\"title,replace") },
		func() { edit("Hello", "Good day") },
	)
	rest := said.String()
	for _, want := range []string{
		"greet:Greeting world", "to create", "Changed: ../greeting.go", "greeting.go:", "in.Marc undefined", "Changed: ../greeting.go",
		"title", "Changed: ../greeting.go", "to create",
	} {
		_, after, found := strings.Cut(rest, want)
		require.True(t, found, "%q does not follow in:\n%s", want, &said)
		rest = after
	}
}
