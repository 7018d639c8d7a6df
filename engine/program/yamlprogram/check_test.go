package yamlprogram

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/program"
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
			p, err := program.LoadProject(dir)
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
