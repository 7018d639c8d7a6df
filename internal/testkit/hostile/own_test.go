package hostile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host"
)

// Whoever could write the host's machine code, or read the key that seals it, would be run outside
// of the sandbox. A grant of a directory above them does not hold them, unless it names one.
func TestNoGrantHoldsTheHostsCode(t *testing.T) {
	if !host.CompilerSupported() {
		t.Skip("there is no machine code")
	}
	home := t.TempDir()
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} {
		t.Setenv(name, home)
	}
	config, err := os.UserConfigDir()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(config, 0o700))
	key, err := filepath.Rel(home, filepath.Join(config, "husk", "cache.key"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(home, "file"), nil, 0o600))

	// It opens a file, and answers whether it lacks the right to.
	opens := func(path string) string {
		return fmt.Sprintf(`(data (i32.const 16500) "yn") (data (i32.const 16600) %q)
			(func $once
				(i32.store (i32.const 16388) (i32.add (i32.const 16500) (i32.ne (i32.const 76)
					(call $path-open (i32.const 4) (i32.const 1) (i32.const 16600) (i32.const %d) (i32.const 0) (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 4096)))))
				(i32.store (i32.const 16392) (i32.const 1)))`, path, len(path))
	}
	withheld := func(config host.Config, path, granted string) bool {
		h, err := host.New(t.Context(), config)
		require.NoError(t, err)
		defer h.Close(t.Context())
		grants := host.Grants{FS: []host.FSGrant{{HostPath: granted, GuestPath: "/dir", ReadWrite: true}}}
		p := provide(t, h, assemble(t, "inputs/wait.wat", opens(filepath.ToSlash(path))), host.ProviderOptions{Grants: grants})
		r, err := p.GetMapping(t.Context(), abi.GetMappingRequest{})
		require.NoError(t, err)
		return r.Provider == "y"
	}
	cached := host.NewConfig().WithCacheDir(filepath.Join(home, "cache"))
	for path, want := range map[string]bool{"file": false, "cache": true, "cache/x": true, "file/../cache/x": false, key: true, filepath.Dir(key): false} {
		require.Equal(t, want, withheld(cached, path, home), path)
	}
	require.FileExists(t, filepath.Join(home, key))
	require.False(t, withheld(cached, "x", filepath.Join(home, "cache")), "whoever grants it by its name means it")

	h, err := host.New(t.Context(), cached)
	require.NoError(t, err)
	defer h.Close(t.Context())
	m, err := h.LoadBytes(t.Context(), assemble(t, "inputs/wait.wat", opens("ahead/x")))
	require.NoError(t, err)
	require.NoError(t, m.Precompile(filepath.Join(home, "ahead")))
	require.True(t, withheld(host.NewConfig().WithPrecompiled(filepath.Join(home, "ahead")), "ahead/x", home))
}
