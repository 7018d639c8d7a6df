package root

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/cli"
	"github.com/husk-dev/husk/cmd/husk/internal/parts"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
)

// seenFS counts the files that are opened, and those that stand in a listing.
type seenFS struct {
	filestore.FS
	files int
}

func (s *seenFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := s.FS.ReadDir(name)
	s.files += len(entries)
	return entries, err
}

func (s *seenFS) OpenFile(name string, flag int, perm fs.FileMode) (filestore.File, error) {
	s.files++
	return s.FS.OpenFile(name, flag, perm)
}

// Listing the stacks of another tool takes twice as many files for twice as many stacks.
func TestListingStacksOfAnotherTool(t *testing.T) {
	for _, args := range [][]string{{"stack", "ls"}, {"stack", "ls", "--all"}, {"doctor"}} {
		seen := func(stacks int) int {
			u := newUser(t, aResource)
			require.NoError(t, u.disk.MkdirAll("stacks/demo", 0o700))
			for i := range stacks {
				file, err := u.disk.OpenFile(fmt.Sprintf("stacks/demo/neighbour%d.json", i), os.O_WRONLY|os.O_CREATE, 0o600)
				require.NoError(t, err)
				_, err = file.Write([]byte(`{"version":3,"checkpoint":{"stack":"organization/demo/neighbour"}}`))
				require.NoError(t, err)
				require.NoError(t, file.Close())
			}
			counting := &seenFS{FS: u.disk}
			stdout, stderr, code := execute(t, u.dir, func(in, out, errs *os.File) *cli.App {
				a := newApp(in, out, errs, parts.All())
				a.Store = func(string) state.Store { return filestore.NewFS(counting) }
				return a
			}, args...)
			require.Equal(t, cli.ExitDone, code, stderr)
			require.Equal(t, stacks, strings.Count(stdout, "neighbour"), stdout)
			return counting.files
		}
		require.LessOrEqual(t, seen(40), 2*seen(20), strings.Join(args, " "))
	}
}
