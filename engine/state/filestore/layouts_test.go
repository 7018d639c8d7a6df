package filestore_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/engine/secrets"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
)

// testdata/layouts has a store of each form that a version of Husk has written: "first" has no checksums, "checksums" has.
// Each has two updates of the stack former/dev, whose passphrase is "former". A new form gets a store there, and no store
// ever leaves.
func TestStoresOfFormerVersions(t *testing.T) {
	t.Parallel()
	layouts, err := os.ReadDir("testdata/layouts")
	require.NoError(t, err)
	require.NotEmpty(t, layouts)
	name := state.StackName{Project: "former", Name: "dev"}
	keys := secrets.Keys{
		LookupEnv: func(name string) (string, bool) { return "former", name == "HUSK_CONFIG_PASSPHRASE" },
		ReadFile:  os.ReadFile, ConfigDir: func() (string, error) { return t.TempDir(), nil }, KeyMade: func(string) {},
	}
	for _, layout := range layouts {
		t.Run(layout.Name(), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), ".husk")
			require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata/layouts", layout.Name()))))
			store := filestore.New(dir)
			backups, err := store.Backups(t.Context(), name)
			require.NoError(t, err)
			require.Len(t, backups, 2)
			for _, b := range backups {
				_, err := store.Backup(t.Context(), name, b.ID)
				require.NoError(t, err)
			}
			for _, added := range []string{"one", "another"} {
				stack, err := state.Open(t.Context(), store, name, keys, state.Holder{PID: os.Getpid(), Command: "husk up"})
				require.NoError(t, err)
				root, ok := stack.Snapshot().Resource(0)
				require.True(t, ok)
				require.True(t, root.Outputs.Unwrap().Equal(property.MapOf(map[string]property.Value{
					"text": property.String("second"), "token": property.String("sesame-opens"),
				})))
				put(t, stack, added)
				require.NoError(t, stack.Close(context.Background()))
			}
			checkpoint, err := os.ReadFile(filepath.Join(dir, "stacks", "former", "dev.json"))
			require.NoError(t, err)
			require.Contains(t, string(checkpoint), `"crc32c":"`)
		})
	}
}

// A form that a later version writes is no damage: the remedy is another husk, and not a backup.
func TestStoresOfLaterVersions(t *testing.T) {
	dir, store, stack := openStack(t)
	require.NoError(t, stack.Close(context.Background()))
	file := filepath.Join(dir, "stacks", stackName.Project, stackName.Name+".json")
	checkpoint, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(checkpoint), `{"husk":{`, `{"husk":{"layout":2,`, 1)), 0o600))
	_, err = store.Load(t.Context(), stackName)
	require.ErrorIs(t, err, state.ErrUnsupported)
	require.NotErrorIs(t, err, state.ErrCorrupt)
	require.ErrorContains(t, err, "it has the layout 2 and this husk knows 1: use a newer husk")
}
