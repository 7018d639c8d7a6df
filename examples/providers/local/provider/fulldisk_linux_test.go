package provider_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/host"
)

func testFullDisk(t *testing.T, module *host.Module) {
	p := inProject(t, module, grant{"out", true})
	require.NoError(t, os.Mkdir("out", 0o755))
	if err := syscall.Mount("none", "out", "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("needs the right to mount a small file system: ", err)
	}
	t.Cleanup(func() { syscall.Unmount("out", syscall.MNT_DETACH) })
	inputs := pt.Object{"path": "out/f", "content": "small"}
	r := p.Create(file, inputs)
	_, err := p.TryUpdate(r, pt.With(inputs, pt.Object{"content": strings.Repeat("x", 1<<20)}))
	require.ErrorIs(t, err, abi.ErrUnavailable)
	require.ErrorContains(t, err, "out/f was not written: the disk is full, or the user's quota is; what was there before is unchanged")
	require.Equal(t, "small", content(t, "out/f"))
	require.Equal(t, []string{"out", "out/f"}, names(t))
}
