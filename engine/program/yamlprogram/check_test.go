package yamlprogram

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
)

var update = flag.Bool("update", false, "rewrite what the files of testdata/check want")

// Each file of testdata/check holds a project file, and what is wrong with it as
// a person reads it; nothing is registered.
func TestCheck(t *testing.T) {
	files, err := filepath.Glob("testdata/check/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			require.NoError(t, err)
			dir := t.TempDir()
			require.NoError(t, txtar.Write(archive, dir))
			p, err := program.LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
			require.NoError(t, err)
			monitor := &fakeMonitor{}
			err = New(p, schemaFiles{}).Run(t.Context(), runContext(), monitor)
			require.Error(t, err)
			require.Empty(t, monitor.registered)
			got := err.Error() + "\n"
			want := &archive.Files[len(archive.Files)-1]
			require.Equal(t, "want", want.Name)
			if *update {
				want.Data = []byte(got)
				require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
			}
			require.Equal(t, string(want.Data), got)
		})
	}
}

// Whatever a project file holds, it is refused with places that it has, or run
// with one registration for each resource.
func FuzzProgram(f *testing.F) {
	files, err := filepath.Glob("testdata/check/*.txtar")
	require.NoError(f, err)
	for _, path := range files {
		archive, err := txtar.ParseFile(path)
		require.NoError(f, err)
		f.Add(archive.Files[0].Data)
	}
	f.Add([]byte("name: shop\n" + chain))
	f.Add([]byte("name: shop\nresources: &a {b: {type: cloud:Server, properties: {size: 1, any: &x [\"${c}\"]}}}\nvariables: {c: 1, d: *x}\n"))
	dir := f.TempDir()
	require.NoError(f, os.WriteFile(filepath.Join(dir, "missing.txt"), []byte("x"), 0o600))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := program.ParseProject(t.Context(), projectroot.New(dir, projectroot.Trusted), "Husk.yaml", text)
		if err != nil {
			return
		}
		monitor := &fakeMonitor{dryRun: len(text)%2 == 0}
		monitor.invoke = func(abi.MonitorInvokeRequest) (abi.MonitorInvokeResponse, error) {
			return abi.MonitorInvokeResponse{Result: property.Map{}}, nil
		}
		run := runContext()
		run.DryRun = monitor.dryRun
		program := New(p, schemaFiles{})
		ds, err := program.Check(t.Context(), run)
		require.NoError(t, err)
		for _, d := range ds {
			require.NotEmpty(t, d.Summary)
			require.True(t, d.Line > 0 || d.Column == 0)
		}
		err = program.Run(t.Context(), run, monitor)
		if ds.HasErrors() {
			require.Error(t, err)
			require.Empty(t, monitor.registered)
		}
		if err == nil {
			require.NotNil(t, monitor.outputs)
		}
	})
}
