// Package pythontest finds Python for tests.
package pythontest

import (
	"os/exec"
	"testing"
)

// Find returns the path of python3. It skips the test if there is none, or if it is older than the SDK for providers needs.
func Find(t testing.TB) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	if exec.CommandContext(t.Context(), python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))").Run() != nil {
		t.Skip("python3 is older than 3.11")
	}
	return python
}
