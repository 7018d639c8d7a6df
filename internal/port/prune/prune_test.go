package prune_test

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/port/prune"
)

// module is the module of the providers in testdata.
const module = "example.com/p"

// Each file of testdata has a provider and, below after/, the files that differ when the patterns in its comment are chosen. The
// next line of the comment has the names that are found, and "unread" if there are others.
func TestPrune(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, name := range cases {
		t.Run(filepath.Base(name), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			require.NoError(t, err)
			comment := strings.Split(string(archive.Comment), "\n")
			dir := t.TempDir()
			want := map[string]string{}
			var packages []prune.Package
			for _, f := range archive.Files {
				if after, ok := strings.CutPrefix(f.Name, "after/"); ok {
					want[after] = string(f.Data)
					continue
				}
				want[f.Name] = string(f.Data)
				at, file := path.Split(f.Name)
				require.NoError(t, os.MkdirAll(filepath.Join(dir, at), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(dir, at, file), f.Data, 0o644))
				packages = append(packages, prune.Package{Path: path.Join(module, at), Dir: filepath.Join(dir, at), Files: []string{file}})
			}
			found, err := prune.Prune(packages, func(string) string { return "" }, "shop", strings.Fields(comment[0]))
			require.NoError(t, err)
			names := strings.Join(found.Names, " ")
			if found.Unread {
				names += " unread"
			}
			require.Equal(t, comment[1], names)
			for name, text := range want {
				got, err := os.ReadFile(filepath.Join(dir, name))
				require.NoError(t, err)
				require.Equal(t, squeezed(text), squeezed(string(got)), name)
			}
		})
	}
}

// squeezed returns a text without empty lines and the space at the begin and end of lines.
func squeezed(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
