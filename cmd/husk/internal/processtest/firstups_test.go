package processtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Several projects that share a new backend are updated for the first time, all at once, while
// others are destroyed. None is in another's way, and each keeps the module that it needs.
func TestFirstUpdatesAtOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles modules")
	}
	const projects, rounds = 4, 5
	random := rand.New(rand.NewPCG(1, 1))
	backend := func() string { return filepath.Join(t.TempDir(), "backend") }
	at := backend()
	users := make([]*killing, projects)
	for i := range users {
		k := newKilling(t, random)
		if i%2 == 1 { // two modules, of two projects each
			module, err := os.ReadFile(filepath.Join(k.dir, "lab.wasm"))
			require.NoError(t, err)
			k.write(map[string]string{"lab.wasm": string(module) + "\x00\x03\x01xy"})
		}
		k.write(map[string]string{"Husk.yaml": fmt.Sprintf("name: project%d\nplugins: {providers: [{name: lab, path: lab.wasm}]}\n"+
			"resources: {one: {type: lab:Thing, properties: {name: one}}}\n", i)})
		users[i] = k
	}
	atOnce := func(commands map[*killing][]string) {
		t.Helper()
		var all sync.WaitGroup
		for k, args := range commands {
			all.Go(func() {
				out, errs, code := k.try("husk", append(args, "--yes")...)
				if code != 0 {
					t.Errorf("husk %s: %s%s", args, out, errs)
				}
			})
		}
		all.Wait()
		require.False(t, t.Failed())
	}
	up, destroy := []string{"up"}, []string{"destroy"}
	for range rounds {
		for _, k := range users {
			k.env = append(k.env, "HUSK_BACKEND_URL=file://"+filepath.ToSlash(at))
		}
		atOnce(map[*killing][]string{users[0]: up, users[1]: up, users[2]: up})
		atOnce(map[*killing][]string{users[0]: destroy, users[1]: destroy, users[3]: up})
		for _, k := range users[2:] {
			var uses []struct{ Kept bool }
			require.NoError(t, json.Unmarshal([]byte(k.run("state", "module", "--json")), &uses))
			require.Len(t, uses, 1)
			require.True(t, uses[0].Kept, "the module of %s was removed", k.dir)
		}
		atOnce(map[*killing][]string{users[0]: up, users[2]: destroy, users[3]: destroy})
		atOnce(map[*killing][]string{users[0]: destroy})
		for _, k := range users {
			if names, _ := k.stacks(); len(names) > 0 {
				k.run("stack", "rm", names[0], "--yes")
			}
		}
		left, err := os.ReadDir(filepath.Join(at, "modules"))
		require.NoError(t, err)
		require.Len(t, left, 1, "only the lock is left: %v", left)
		at = backend()
	}
}
