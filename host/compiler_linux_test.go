package host_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/husk-dev/husk/host"
)

// Where a system lets nobody make machine code, modules are interpreted, with the cache
// of a host that had compiled them as well.
func TestModulesAreInterpretedWhereNothingMayBeCompiled(t *testing.T) {
	const variable = "HUSK_TEST_HARDENED"
	dir := os.Getenv(variable)
	if dir == "" {
		dir = filepath.Join(t.TempDir(), "cache")
		cached(t, dir, saying("ok"))
		child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		child.Env = append(os.Environ(), variable+"="+dir, variable+"_KEY="+os.Getenv("XDG_CONFIG_HOME"))
		out, err := child.CombinedOutput()
		t.Logf("%s", out)
		require.NoError(t, err)
		return
	}
	const refuseExecGain = 1 // PR_MDWE_REFUSE_EXEC_GAIN, as systemd's MemoryDenyWriteExecute
	if err := unix.Prctl(unix.PR_SET_MDWE, refuseExecGain, 0, 0, 0); err != nil {
		t.Skipf("the kernel cannot refuse it: %v", err)
	}
	t.Setenv("XDG_CONFIG_HOME", os.Getenv(variable+"_KEY"))
	require.False(t, host.CompilerSupported())
	h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir))
	require.NoError(t, err)
	answered, err := schema(t.Context(), assemble(t, h, saying("ok")))
	require.NoError(t, err)
	require.Equal(t, "ok", answered)
	require.NoError(t, h.Close(t.Context()))
}
