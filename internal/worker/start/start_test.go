package start_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/worker/confine"
	"github.com/husk-dev/husk/internal/worker/start"
)

// said is what a process that a worker has begun finds.
type said struct {
	Setup *start.Setup
	// Kernel is the environment as the kernel shows it to others, and Input what is left of standard input.
	Kernel, Input, Value, Mode string
	// Victim says how the kernel judges it when no memory is left.
	Victim string
}

func TestMain(m *testing.M) {
	if os.Getenv(start.Variable) == "" {
		os.Exit(m.Run())
	}
	setup, err := start.Receive()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	kernel, _ := os.ReadFile("/proc/self/environ")
	victim, _ := os.ReadFile("/proc/self/oom_score_adj")
	input, _ := io.ReadAll(os.Stdin)
	_ = json.NewEncoder(os.Stdout).Encode(said{setup, string(kernel), string(input), os.Getenv("MY_SECRET"), os.Getenv(start.Variable), strings.TrimSpace(string(victim))})
	os.Exit(0)
}

// What a worker says reaches the process, also one that is confined, and nothing of it can be read by others or again.
func TestASetupIsForgotten(t *testing.T) {
	setup := &start.Setup{Project: "shop", Backend: "https://:canary-token@husk.example", Variables: []string{"MY_SECRET=canary=value"}}
	for what, rules := range map[string]*confine.Rules{"open": nil, "confined": {Read: []string{"/proc/self/environ", "/proc/self/oom_score_adj"}, Write: []string{os.DevNull}}} {
		t.Run(what, func(t *testing.T) {
			if rules != nil && confine.Check() != nil {
				t.Skip(confine.Check())
			}
			program, err := os.Executable()
			require.NoError(t, err)
			cmd := exec.Command(program)
			cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MY_SECRET=") })
			require.NoError(t, setup.Attach(cmd, rules))
			require.NotContains(t, strings.Join(slices.Concat(cmd.Env, cmd.Args), "\n"), "canary")
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			require.NoError(t, err)
			var found said
			require.NoError(t, json.Unmarshal(out, &found))
			require.Equal(t, setup, found.Setup)
			require.Equal(t, "canary=value", found.Value)
			require.Empty(t, found.Mode, "what it starts is no run")
			require.Empty(t, found.Input)
			if runtime.GOOS == "linux" {
				require.Contains(t, found.Kernel, start.Variable+"=")
				require.NotContains(t, found.Kernel, "canary")
				require.Equal(t, "1000", found.Victim, "it ends before the worker and the runs of others do")
			}
		})
	}
}

// What no worker has written is refused, and not waited for.
func TestNoSetup(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	for mode, wrong := range map[string]string{"1": "is for workers: unset it", "open": "cannot read the setup that the worker sent"} {
		for _, input := range []string{"", "\x00\x00", "\xff\xff\xff\xff", "\x00\x00\x00\x02[]"} {
			cmd := exec.Command(program)
			cmd.Env, cmd.Stdin = append(os.Environ(), start.Variable+"="+mode), strings.NewReader(input)
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			require.Contains(t, string(out), wrong)
		}
	}
}
