package hostile_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
)

// TestTheStandardsModulesAreAssembled assembles the modules in the standard's tests of
// WebAssembly 2.0, which wazero has as text and as the binaries that wabt made of it. The
// binaries are the same but for the order of types and the longer form of some segments.
func TestTheStandardsModulesAreAssembled(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	require.NoError(t, err)
	dir := filepath.Join(strings.TrimSpace(string(out)), "internal", "integration_test", "spectest", "v2", "testdata")
	files, err := filepath.Glob(filepath.Join(dir, "*.wast"))
	require.NoError(t, err)
	runtime := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
	defer runtime.Close(context.Background())
	var same, other int
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".wast")
		if strings.HasPrefix(name, "simd") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		binaries := binaries(t, dir, name)
		for _, n := range parse(string(text)) {
			want, ok := binaries[n.line]
			if !ok || n.head() != "module" {
				continue
			}
			got := assembleModule(n, nil)
			if names, ok := strings.CutPrefix(want, string(got)); ok && (names == "" || strings.Contains(names[:7], "\x04name")) {
				same++
				continue
			}
			compiled, err := runtime.CompileModule(t.Context(), got)
			require.NoError(t, err, "%s, line %d", name, n.line)
			require.NoError(t, compiled.Close(t.Context()))
			other++
		}
	}
	require.Greater(t, same, 900)
	require.Less(t, other, same/5)
}

// binaries are the modules of a script, by their lines.
func binaries(t *testing.T, dir, name string) map[int]string {
	text, err := os.ReadFile(filepath.Join(dir, name+".json"))
	require.NoError(t, err)
	var script struct {
		Commands []struct {
			Type     string
			Line     int
			Filename string
		}
	}
	require.NoError(t, json.Unmarshal(text, &script))
	all := map[int]string{}
	for _, c := range script.Commands {
		if c.Type == "module" {
			wasm, err := os.ReadFile(filepath.Join(dir, c.Filename))
			require.NoError(t, err)
			all[c.Line] = string(wasm)
		}
	}
	return all
}
