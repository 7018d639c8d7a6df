package processtest

import (
	"bufio"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/engine/state/filestore"
)

var (
	kills    = flag.Int("kills", 9, "how many runs TestRandomKills kills")
	killSeed = flag.Uint64("killseed", 1, "where TestRandomKills begins; another one kills at other places")
)

// countingCloud is a cloud of objects (see lab:Object). Each creation makes another object, and
// none is ever made or deleted by itself, so what is left over, or is there twice, shows.
type countingCloud struct {
	address string

	mu      sync.Mutex
	made    int
	objects map[string]string // names by ID
	sizes   map[string]string
	// at is called with each request, before and after it is done; it may kill the process that
	// waits for the answer.
	at func(done bool)
}

func newCountingCloud(t *testing.T) *countingCloud {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &countingCloud{address: listener.Addr().String(), objects: map[string]string{}, sizes: map[string]string{}}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				if line, err := bufio.NewReader(conn).ReadString('\n'); err == nil {
					fmt.Fprintln(conn, c.serve(strings.Fields(line)))
				}
			})
		}
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		serving.Wait()
	})
	return c
}

// serve does what one line asks for, and returns the answer.
func (c *countingCloud) serve(words []string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at != nil {
		c.at(false)
		defer c.at(true)
	}
	id := words[1]
	switch words[0] {
	case "create":
		c.made++
		id = "object-" + strconv.Itoa(c.made)
		c.objects[id], c.sizes[id] = words[1], words[2]
	case "update":
		c.sizes[id] = words[2]
	case "read":
		if _, ok := c.objects[id]; !ok {
			return "gone"
		}
		return c.sizes[id]
	case "delete":
		delete(c.objects, id)
	}
	return id
}

// there returns the objects that there are: their names, by ID.
func (c *countingCloud) there() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.objects)
}

func (c *countingCloud) remove(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.objects, id)
}

// killing is a project over a cloud whose runs are killed.
type killing struct {
	*killedUser
	cloud  *countingCloud
	random *rand.Rand
	// traces says that husk can be killed after a system call.
	traces bool
	// done says what was done, for the message of a failure.
	done []string
	// kills counts the runs that were killed.
	kills int
}

func newKilling(t *testing.T, random *rand.Rand) *killing {
	t.Helper()
	owner := usertest.New(t)
	u := &killedUser{t: t, dir: t.TempDir(), env: append(os.Environ(), owner.Environment...)}
	k := &killing{killedUser: u, cloud: newCountingCloud(t), random: random}
	u.write(map[string]string{"lab.wasm": string(owner.Lab)})
	if canTrace { // if nothing forbids it, as in some containers
		_, _, code := u.try("killafter", "1", "version")
		k.traces = code != cannotTrace
	}
	return k
}

// program writes a program of random objects, which differs from those before in any way.
func (k *killing) program() {
	var text strings.Builder
	fmt.Fprintf(&text, "name: demo\nplugins: {providers: [{name: lab, path: lab.wasm, grants: {tcp: [%q]}}]}\nresources:\n", k.cloud.address)
	last := ""
	for _, name := range []string{"a", "b", "c", "d"} {
		if k.random.IntN(4) == 0 {
			continue
		}
		options := ""
		if last != "" && k.random.IntN(2) == 0 {
			options = ", options: {dependsOn: [\"${" + last + "}\"]}"
		}
		// Another name makes another object of it, before the old one is deleted.
		fmt.Fprintf(&text, "  %s: {type: lab:Object, properties: {address: %q, name: %s.%d, size: %d}%s}\n",
			name, k.cloud.address, name, k.random.IntN(2), k.random.IntN(3), options)
		last = name
	}
	if last == "" {
		text.WriteString("  {}\n")
	}
	k.write(map[string]string{"Husk.yaml": text.String()})
}

// kill runs husk and kills it at a random place: after one of so many system calls by which it
// changes files, or while the cloud is at one of its requests. It reports whether that came.
func (k *killing) kill(calls int, args ...string) (killedIt bool) {
	k.t.Helper()
	asks := args[0] != "stack" && args[0] != "state"
	if k.traces && (!asks || k.random.IntN(2) == 0) {
		n := 1 + k.random.IntN(calls)
		killedIt = k.killedAfter(n, args...)
		k.done = append(k.done, fmt.Sprintf("%v, killed after system call %d: %v", args, n, killedIt))
	} else {
		n, late := 1+k.random.IntN(8), k.random.IntN(2) == 0
		cmd := k.command("husk", args...)
		k.cloud.mu.Lock()
		k.cloud.at = func(done bool) {
			if done != late {
				return
			}
			if n--; n == 0 {
				killedIt = cmd.Process.Kill() == nil
			}
		}
		err := cmd.Start() // the cloud waits until there is a process
		k.cloud.mu.Unlock()
		require.NoError(k.t, err)
		_ = cmd.Wait()
		k.cloud.mu.Lock()
		k.cloud.at = nil
		k.cloud.mu.Unlock()
		k.done = append(k.done, fmt.Sprintf("%v, killed at a request, when it was done %v: %v", args, late, killedIt))
	}
	if killedIt {
		k.kills++
	}
	return killedIt
}

// About so many system calls change files in an update of some objects, and in a renaming or move.
const (
	callsOfUpdate = 170
	callsOfEdit   = 55
)

// recorded returns the IDs of the objects in the states, and which of them are not old copies that
// wait for their deletion; and for how many objects of each name the states say that a creation was
// begun. No object may be in them twice.
func (k *killing) recorded() (live map[string]bool, begun map[string]int) {
	k.t.Helper()
	live, begun = map[string]bool{}, map[string]int{}
	store := filestore.New(filepath.Join(k.dir, ".husk"))
	names, err := store.List(k.t.Context())
	require.NoError(k.t, err, "%v", k.done)
	for _, name := range names {
		snapshot, _, err := state.Load(k.t.Context(), store, name, nil)
		require.NoError(k.t, err, "%v", k.done)
		require.NoError(k.t, snapshot.Verify(), "%v", k.done)
		for _, r := range snapshot.Resources() {
			if r.Type == "lab:index:Object" {
				require.NotContains(k.t, live, r.ID, "it is there twice: %v", k.done)
				live[r.ID] = !r.Delete
			}
		}
		for _, op := range snapshot.Operations() {
			if op.Type == state.OperationCreating && op.Resource.Type == "lab:index:Object" {
				begun[op.Resource.URN.Name()]++
			}
		}
	}
	return live, begun
}

// requireKnown requires that the states know of every object: by its ID, or as one whose creation
// was begun. It returns the IDs of the latter.
func (k *killing) requireKnown() (unsure []string) {
	k.t.Helper()
	recorded, begun := k.recorded()
	for id, name := range k.cloud.there() {
		if _, ok := recorded[id]; ok {
			continue
		}
		resource, _, _ := strings.Cut(name, ".")
		require.Positive(k.t, begun[resource], "nothing knows of %s %s: %v", name, id, k.done)
		begun[resource]--
		unsure = append(unsure, id)
	}
	return unsure
}

// settle has the next run find out what the last one left, and requires that it says so of all that
// may have been made without a record. The user removes that.
func (k *killing) settle(command string) {
	k.t.Helper()
	unsure := k.requireKnown()
	if names, _ := k.stacks(); len(names) == 0 {
		require.Empty(k.t, k.cloud.there(), "%v", k.done)
		return
	}
	out := k.run(command, "--yes")
	k.done = append(k.done, command)
	for _, id := range unsure {
		resource, _, _ := strings.Cut(k.cloud.there()[id], ".")
		require.Contains(k.t, out, "lab:Object "+resource+": an earlier run was cut off while creating this resource", "%v", k.done)
		k.cloud.remove(id)
	}
	k.run("refresh", "--yes", "--clear-pending-creates")
	require.Empty(k.t, k.requireKnown(), "%v", k.done)
	recorded, begun := k.recorded()
	require.Empty(k.t, begun, "%v", k.done)
	there := k.cloud.there()
	for id, live := range recorded {
		if live { // an old copy may be gone, which its next deletion finds out
			require.Contains(k.t, there, id, "%v", k.done)
		}
	}
}

// deployments kills updates, refreshes, and destructions of one stack, from its first update on.
func (k *killing) deployments() {
	k.t.Helper()
	for range 4 + k.random.IntN(3) {
		k.program()
		command := []string{"up", "up", "up", "refresh", "destroy"}[k.random.IntN(5)]
		if names, _ := k.stacks(); len(names) == 0 {
			command = "up"
		}
		k.kill(callsOfUpdate, command, "--yes", "--parallel", strconv.Itoa(1+k.random.IntN(3)))
		k.settle([]string{"up", "refresh"}[k.random.IntN(2)])
	}
}

// renamings kills renamings of a stack. The updates after them make nothing.
func (k *killing) renamings() {
	k.t.Helper()
	k.program()
	k.run("stack", "init", "first")
	k.run("up", "--yes")
	before := k.cloud.there()
	to := "second"
	for range 3 {
		k.kill(callsOfEdit, "stack", "rename", to)
		names, selected := k.stacks()
		require.Equal(k.t, []string{selected}, names, "%v", k.done)
		require.Contains(k.t, k.run("up", "--yes"), "nothing changed", "%v", k.done)
		require.Equal(k.t, before, k.cloud.there(), "%v", k.done)
		to = map[string]string{"first": "second", "second": "first"}[selected]
	}
}

// moves kills moves of an object between two stacks.
func (k *killing) moves() {
	k.t.Helper()
	k.program()
	k.run("stack", "init", "second")
	k.run("stack", "init", "first")
	k.run("up", "--yes")
	for range 3 {
		var all []string
		for _, from := range []string{"first", "second"} {
			for _, name := range k.resources(from) {
				all = append(all, from+" "+name)
			}
		}
		if len(all) == 0 {
			return
		}
		from, name, _ := strings.Cut(all[k.random.IntN(len(all))], " ")
		to := map[string]string{"first": "second", "second": "first"}[from]
		k.kill(callsOfEdit, "state", "move", "--yes", "--stack", from, "--to", to, "urn:pulumi:"+from+"::demo::lab:index:Object::"+name)
		require.Empty(k.t, k.requireKnown(), "%v", k.done)
	}
}

// Runs of the real program are killed at random places, over a cloud that counts. Whatever is
// killed, and wherever: no object is forgotten, none is owned twice, and what may have been made
// without a record is reported by the next run. In the end all can be destroyed. Package walktest looks for more than
// kills, and kills at fewer places.
//
// -kills says how many runs are killed, and -killseed where: go test ./cmd/husk/internal/processtest -run
// TestRandomKills -kills 500 -killseed 7 -timeout 1h
func TestRandomKills(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles a module")
	}
	random := rand.New(rand.NewPCG(*killSeed, 0))
	counts := map[string]int{}
	for total, round := 0, 0; total < *kills; round++ {
		name := []string{"deployments", "renamings", "moves"}[round%3]
		t.Run(fmt.Sprint(name, " ", round), func(t *testing.T) {
			k := newKilling(t, random)
			map[string]func(){"deployments": k.deployments, "renamings": k.renamings, "moves": k.moves}[name]()
			names, _ := k.stacks()
			for _, stack := range names {
				k.run("destroy", "--yes", "--stack", stack)
			}
			require.Empty(t, k.cloud.there(), "%v", k.done)
			total += k.kills
			counts[name] += k.kills
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("killed runs: %v", counts)
}
