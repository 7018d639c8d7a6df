package worker

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/internal/backend/runapi"
)

// The directory of a run is nobody else's, is gone after it, and is removed by another worker only if its own has died.
func TestDirectoriesOfRuns(t *testing.T) {
	w := &worker{Options: Options{Dir: t.TempDir()}}
	all := w.dir("runs")
	require.NoError(t, os.Mkdir(all, 0o700))
	const id = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	dir, end, err := w.runDir(owned{Run: id})
	require.NoError(t, err)
	for _, name := range []string{".", "files", "home", "tmp"} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		if runtime.GOOS != "windows" {
			require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), name)
		}
	}
	other, endOther, err := w.runDir(owned{Run: id})
	require.NoError(t, err)
	require.NotEqual(t, dir, other)
	require.NoError(t, endOther(true))

	// One is left by a worker that died, one by a version that had no locks, and one has but its lock.
	require.NoError(t, os.MkdirAll(filepath.Join(all, "dead", "files"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(all, "dead.lock"), nil, 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(all, "old", "files"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(all, "begun.lock"), nil, 0o600))
	require.NoError(t, w.clearRuns())
	require.DirExists(t, filepath.Join(dir, "files"))
	entries, err := os.ReadDir(all)
	require.NoError(t, err)
	require.Len(t, entries, 2, "the run that goes on, and its lock")

	require.NoError(t, end(true))
	entries, err = os.ReadDir(all)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// A worker that begins removes what others have left, while another one with the same directory begins runs.
func TestWorkersShareADirectory(t *testing.T) {
	w := &worker{Options: Options{Dir: t.TempDir()}}
	all := w.dir("runs")
	require.NoError(t, os.Mkdir(all, 0o700))
	done := make(chan struct{})
	var clearing sync.WaitGroup
	for range 2 {
		clearing.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					_ = w.clearRuns() // what ends meanwhile cannot be removed twice
				}
			}
		})
	}
	defer clearing.Wait()
	defer close(done)
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	for range rounds {
		dir, end, err := w.runDir(owned{Run: "ABCDEFGHIJKLMNOPQRSTUVWXYZ"})
		require.NoError(t, err)
		require.FileExists(t, dir+lockSuffix)
		require.DirExists(t, filepath.Join(dir, "files"))
		require.NoError(t, end(true))
	}
}

// The projects that are kept take no more than so much of the disk, and the ones used last stay.
func TestBundlesDoNotFillTheDisk(t *testing.T) {
	w := &worker{Options: Options{Dir: t.TempDir()}}
	w.edge = &edge{worker: w}
	for _, dir := range []string{"bundles", "desired"} {
		require.NoError(t, os.Mkdir(w.dir(dir), 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(w.dir("desired"), "shop@dev.json"), []byte(`{"bundle":"sha256:0"}`), 0o600))
	now := time.Now()
	for i := range 6 {
		file := w.bundle(fmt.Sprintf("sha256:%d", i))
		require.NoError(t, os.WriteFile(file, make([]byte, 100), 0o600))
		require.NoError(t, os.Chtimes(file, now, now.Add(time.Duration(i)*time.Hour)))
	}
	left := func() (names []string) {
		entries, err := os.ReadDir(w.dir("bundles"))
		require.NoError(t, err)
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		return names
	}
	require.NoError(t, w.forgetBundles(600))
	require.Len(t, left(), 6)
	require.NoError(t, w.forgetBundles(350))
	require.Equal(t, []string{"0", "3", "4", "5"}, left(), "an edge worker does the first again")
	require.NoError(t, w.forgetBundles(50))
	require.Equal(t, []string{"0", "5"}, left(), "the last is of the run that there is")
	w.edge = nil
	require.NoError(t, w.forgetBundles(50))
	require.Equal(t, []string{"5"}, left())
}

// An edge worker has its directory alone: two would each take the states there for their own.
func TestAnEdgeWorkerHasItsDirectoryAlone(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(runapi.Who{Tenant: "acme"})
	}))
	defer server.Close()
	client, err := runapi.NewClient(server.URL, "token")
	require.NoError(t, err)
	dir := t.TempDir()
	w := func() *worker { return &worker{Options: Options{Dir: dir}, client: client} }
	first, err := newEdge(w())
	require.NoError(t, err)
	_, err = newEdge(w())
	require.ErrorContains(t, err, "another edge worker has the directory "+dir)
	require.NoError(t, first.close())
	next, err := newEdge(w())
	require.NoError(t, err)
	require.NoError(t, next.close())
}
