package authortest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
)

// native does in a preview what a sandbox without grants would refuse: it writes a file, with the process in it, and prints.
const native = `package main

import (
	"context"
	"fmt"
	"os"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

func (Greeting) Preview(ctx context.Context, r guest.PreviewRequest[GreetingInputs, GreetingState]) (guest.PreviewResponse[GreetingState], error) {
	fmt.Println("printed for the author")
	guest.Log(ctx).Warning("logged by the provider")
	err := os.WriteFile(PROOF, []byte(fmt.Sprint(os.Getpid(), " ", len(os.Args))), 0o600)
	return guest.PreviewResponse[GreetingState]{State: greet(r.Inputs)}, err
}
`

// TestProviderDevNative previews with a native process, which outlives a change of the project, and is replaced after a change of
// the provider.
func TestProviderDevNative(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("processes cannot be sent interrupts")
	}
	user, dir := usertest.New(t), filepath.Join(t.TempDir(), "greet")
	husk := func(args ...string) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Args = append([]string{"husk"}, args...) // see TestMain
		cmd.Env = append(append(os.Environ(), user.Environment...), "NO_COLOR=1")
		return cmd
	}
	made, err := husk("new", "provider", dir).CombinedOutput()
	require.NoError(t, err, "%s", made)
	proof := filepath.Join(t.TempDir(), "proof")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "preview.go"), []byte(strings.Replace(native, "PROOF", `"`+proof+`"`, 1)), 0o600))
	beside := filepath.Join(t.TempDir(), "new")
	edit := func(name, old, new string) { // in one step, so that no half of it is seen
		file := filepath.Join(dir, name)
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(source), old)
		require.NoError(t, os.WriteFile(beside, []byte(strings.Replace(string(source), old, new, 1)), 0o600))
		require.NoError(t, os.Rename(beside, file))
	}
	var said strings.Builder
	written := func() string {
		text, err := os.ReadFile(proof)
		require.NoError(t, err, "%s", &said)
		require.NoError(t, os.Remove(proof))
		return strings.TrimSuffix(string(text), " 1")
	}

	cmd := husk("provider", "dev", dir, "--native")
	var processes []string
	usertest.Watch(t, cmd, &said,
		func() {
			processes = append(processes, written())
			edit("example/Husk.yaml", "runtime: yaml", "runtime: yaml # changed")
		},
		func() {
			processes = append(processes, written())
			edit("greeting.go", "in.Mark}", "in.Marc}")
		},
		func() {
			require.NoFileExists(t, proof, "what does not compile cannot preview")
			edit("greeting.go", "in.Marc}", `in.Mark + "!"}`)
		},
		func() {
			processes = append(processes, written())
			edit("greeting.go", "return GreetingState{in,", "var none []string\n\treturn GreetingState{in, none[0] +")
		},
		func() { edit("example/Husk.yaml", "# changed", "# changed again") }, // which has the provider crash again
	)
	require.NoDirExists(t, filepath.Join(dir, "example", ".husk", "modules"), "a preview records nothing")

	attach := regexp.MustCompile(`(?m)^    dlv attach (\d+)$`).FindAllStringSubmatch(said.String(), -1)
	require.Len(t, processes, 3)
	require.Equal(t, processes[0], processes[1], "a change of the project keeps the process")
	require.NotEqual(t, processes[1], processes[2])
	require.Len(t, attach, 4, "%s", &said)
	require.Equal(t, processes[0], attach[0][1])
	require.Equal(t, processes[2], attach[1][1])
	require.Equal(t, 4, strings.Count(said.String(), "WARNING: NOT SANDBOXED. The provider runs as process "))
	require.Equal(t, 3, strings.Count(said.String(), "Preview done"), "previews that ended well:\n%s", &said)
	require.Equal(t, 5, strings.Count(said.String(), "printed for the author"), "previews that reached the provider:\n%s", &said)
	rest := said.String()
	for _, want := range []string{
		"WARNING: NOT SANDBOXED", "logged by the provider", "to create", "Changed: Husk.yaml", "to create",
		"cannot build the module in", "in.Marc undefined", "WARNING: NOT SANDBOXED", "to create", "WARNING: NOT SANDBOXED",
		"index out of range [0] with length 0", "greeting.go:", "the native process of the provider has ended",
		"Changed: Husk.yaml", "WARNING: NOT SANDBOXED", "the native process of the provider has ended",
	} {
		_, after, found := strings.Cut(rest, want)
		require.True(t, found, "%q does not follow in:\n%s", want, &said)
		rest = after
	}
}
