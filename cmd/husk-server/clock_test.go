package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// clockVariable has the clock of a server of [buildShifted] be so many seconds ahead of its machine's.
const clockVariable = "HUSK_TEST_CLOCK"

// buildShifted builds the server with a library of Go whose clock can be wrong, for all that the process does, and returns the program.
func buildShifted(t *testing.T) string {
	t.Helper()
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	dir, library := t.TempDir(), filepath.Join(strings.TrimSpace(string(goroot)), "src", "time")
	text, err := os.ReadFile(filepath.Join(library, "time.go"))
	require.NoError(t, err)
	const before = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	require.Contains(t, string(text), before)
	overlay := map[string]string{}
	for name, text := range map[string]string{
		"time.go": strings.Replace(string(text), before, before+"\tsec += shifted\n", 1),
		"shifted.go": `package time

import "syscall"

var shifted = func() (seconds int64) {
	text, _ := syscall.Getenv("` + clockVariable + `")
	sign := int64(1)
	for _, c := range []byte(text) {
		if c == '-' {
			sign = -1
		} else {
			seconds = 10*seconds + int64(c-'0')
		}
	}
	return sign * seconds
}()
`,
	} {
		overlay[filepath.Join(library, name)] = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	encoded, err := json.Marshal(map[string]any{"Replace": overlay})
	require.NoError(t, err)
	file, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "husk-server")
	require.NoError(t, os.WriteFile(file, encoded, 0o600))
	out, err := exec.Command("go", "build", "-overlay", file, "-o", program, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	return program
}
