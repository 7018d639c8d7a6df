package conformance_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/conformance"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/testdata/notes"
)

// testModule builds the module of a package of Go source and tests it, with a
// directory for its notes.
func testModule(t *testing.T, source string, options conformance.Options) *conformance.Report {
	t.Helper()
	if testing.Short() || raceDetector {
		t.Skip("builds modules")
	}
	out := filepath.Join(t.TempDir(), "module.wasm")
	build := exec.Command("go", "build", "-buildmode=c-shared", "-o", out, source)
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	said, err := build.CombinedOutput()
	require.NoError(t, err, string(said))
	// The interpreter runs what each module does in less time than a compilation takes.
	h, err := host.New(t.Context(), host.NewConfig().WithInterpreter())
	require.NoError(t, err)
	defer func() { require.NoError(t, h.Close(context.Background())) }()
	module, err := h.Load(t.Context(), out)
	require.NoError(t, err)

	folder := t.TempDir()
	grants := host.Grants{FS: []host.FSGrant{{HostPath: folder, GuestPath: notes.DefaultFolder, ReadWrite: true}}}
	options.Observe = func(context.Context) (map[string]string, error) { return contents(folder) }
	report, err := conformance.Run(t.Context(), func(ctx context.Context) (abi.Provider, error) {
		return module.NewProvider(ctx, host.ProviderOptions{Name: "notes", Grants: grants})
	}, options)
	require.NoError(t, err)
	return report
}

// contents are those of the files in a directory.
func contents(folder string) (map[string]string, error) {
	entries, err := os.ReadDir(folder)
	files := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		files[e.Name()] = string(data)
	}
	return files, err
}

// outcomes are the failed checks with their messages.
func outcomes(report *conformance.Report) map[string]string {
	failed := map[string]string{}
	for _, r := range report.Failures() {
		failed[r.Check] = r.Message
	}
	return failed
}

func TestRightModule(t *testing.T) {
	report := testModule(t, "../../testdata/notes/module", conformance.Options{Seed: 1})
	require.Empty(t, outcomes(report))
}
