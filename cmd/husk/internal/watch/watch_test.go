package watch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/require"
)

// A change is over when nothing has changed for a while, which begins anew with each change.
func TestWaitSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, errs := make(chan fsnotify.Event), make(chan error)
		name := func(e fsnotify.Event) string {
			if e.Name == "noise" {
				return ""
			}
			return e.Name
		}
		type result struct {
			changed []string
			err     error
			took    time.Duration
		}
		results := make(chan result)
		stop := make(chan struct{})
		begin := func() {
			begun := time.Now()
			changed, err := wait(events, errs, name, stop)
			results <- result{changed, err, time.Since(begun)}
		}
		go begin()
		events <- fsnotify.Event{Name: "noise"}
		time.Sleep(time.Hour)
		events <- fsnotify.Event{Name: "b"}
		time.Sleep(settleTime / 2)
		events <- fsnotify.Event{Name: "a"}
		time.Sleep(settleTime / 2)
		events <- fsnotify.Event{Name: "b"}
		require.Equal(t, result{[]string{"a", "b"}, nil, time.Hour + 2*settleTime}, <-results)

		go begin()
		errs <- fsnotify.ErrEventOverflow
		require.Equal(t, result{nil, nil, settleTime}, <-results, "what changed is not known, but that it did is")

		go begin()
		broken := errors.New("broken")
		errs <- broken
		require.ErrorIs(t, (<-results).err, broken)

		go begin()
		close(stop)
		require.ErrorIs(t, (<-results).err, ErrStopped)
	})
}

func write(t *testing.T, name string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(name), 0o644))
}

// Files are noticed however they are written, and no others.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	for _, name := range []string{"Husk.yaml", ".husk/stacks/dev.json", "src/deep/main.go", "out.wasm"} {
		write(t, at(name))
	}
	f, err := NewFiles()
	require.NoError(t, err)
	defer f.Close()
	paths := []Path{{Name: dir, Kinds: []string{".yaml"}}, {Name: at("src")}, {Name: at("later/out.wasm")}}
	require.NoError(t, os.Mkdir(at("later"), 0o755))
	require.NoError(t, f.Watch(paths))
	never := make(chan struct{})
	changes := func(want string, change func()) {
		t.Helper()
		change()
		for {
			changed, err := f.Wait(never)
			require.NoError(t, err)
			require.NotEmpty(t, changed)
			for _, c := range changed {
				if c == at(want) {
					return
				}
			}
		}
	}
	// What does not count comes first, and is not waited for.
	write(t, at("notes.txt"))
	write(t, at(".husk/stacks/dev.json"))
	write(t, at("src/.main.go.swp"))
	changes("Husk.yaml", func() { write(t, at("Husk.yaml")) })
	changes("src/deep/main.go", func() { write(t, at("src/deep/main.go")) })
	changes("later/out.wasm", func() { write(t, at("later/out.wasm")) })
	changes("Husk.yaml", func() {
		write(t, at("Husk.yaml~"))
		require.NoError(t, os.Rename(at("Husk.yaml~"), at("Husk.yaml")))
	})
	changes("src/deep/main.go", func() { require.NoError(t, os.Remove(at("src/deep/main.go"))) })
	changes("src/new", func() { require.NoError(t, os.Mkdir(at("src/new"), 0o755)) })
	require.NoError(t, f.Watch(paths), "new directories are found")
	changes("src/new/x.go", func() { write(t, at("src/new/x.go")) })

	// The source of a program, without what it uses and makes.
	source := []Path{{Name: dir, Kinds: []string{".js"}, Below: true, Without: []string{"node_modules"}}}
	write(t, at("node_modules/x/index.js"))
	require.NoError(t, f.Watch(source))
	require.NotContains(t, f.notify.WatchList(), at("node_modules"))
	write(t, at("src/page.html"))
	changes("src/deep/part.js", func() { write(t, at("src/deep/part.js")) })
	for name, want := range map[string]bool{"index.js": true, "node_modules/x/index.js": false, "src/page.html": false, ".x/a.js": false} {
		require.Equal(t, want, f.changed(fsnotify.Event{Name: at(name), Op: fsnotify.Write}) != "", name)
	}

	require.NoError(t, f.Watch(paths[2:]))
	write(t, at("Husk.yaml"))
	changes("later/out.wasm", func() { write(t, at("later/out.wasm")) })
	require.Empty(t, f.changed(fsnotify.Event{Name: at("Husk.yaml"), Op: fsnotify.Write}))
	require.Empty(t, f.changed(fsnotify.Event{Name: at("later/out.wasm"), Op: fsnotify.Chmod}))
}
