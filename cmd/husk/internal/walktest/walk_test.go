// Package walktest walks: it drives random commands of husk against a cloud of objects that it counts, with a real provider. Programs
// change in any way, providers are upgraded, clouds fail before and after what they were asked for, disks are full, and processes
// are killed. After each command it checks, without excuses, that
//
//   - the state can be read and is whole;
//   - each object of the world is in the state, is that of a creation that is pending, or was told to be left behind;
//   - none was made twice, neither in one run nor by a later one;
//   - what was deleted was in the state, not protected, needed by nothing any more, and deleted by a step that is told;
//   - a preview has changed nothing, and its update does no step that the preview did not show;
//   - a plan is carried out as a whole, or refused before anything changes;
//   - nothing panics or hangs.
//
// When the faults have ended, an update makes the world what the program says, a further preview shows nothing to do, and a
// destruction leaves nothing that was not told.
package walktest

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk/internal/usertest"
	"github.com/husk-dev/husk/internal/backend/backendtest"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

func TestMain(m *testing.M) { usertest.Main(m, nil) }

var (
	seed     = flag.Uint64("seed", 1, "the first walk; each one has the next number")
	lasts    = flag.Duration("for", 0, "how long to walk, in place of a number of commands")
	commands = flag.Int("commands", 150, "about how many commands to run")
	backend  = flag.String("backend", "files", "where the states are: files, s3, minio, postgres, or server; several with commas take turns")
	binary   = flag.String("husk", "", "the program to run, as it was built, in place of that in the test")
	replay   = flag.String("replay", "", "a file with the acts of a walk, one JSON object a line, to do alone")
	tell     = flag.Bool("tell", false, "tell what each walk does")
	shrinks  = flag.Int("shrink", 40, "how many walks with fewer acts to try after a failure")
)

// A walk is a project that goes through some 10 acts: changes of the program, of the world, and of the provider's version, each
// with a command of husk. A failure tells the acts, as few as are needed.
//
// Without flags the walks are the same each time. These walk for hours over everything, with husk as it is built:
//
//	go build -o /tmp/ ./cmd/husk ./cmd/husk/husk-full
//	go test ./cmd/husk/internal/walktest -run 'TestWalk$' -timeout 0 -args -for 2h -seed 1000 -husk /tmp/husk -backend files,s3,postgres,server
func TestWalk(t *testing.T) {
	g := newGround(t)
	var places []place
	for name := range strings.SplitSeq(*backend, ",") {
		places = append(places, openPlace(t, name))
	}
	g.walk(places...)
}

// TestWalkOnDisks runs TestWalkOnFullDisks where it can mount disks.
func TestWalkOnDisks(t *testing.T) {
	usertest.SkipShort(t)
	backendtest.WithDisks(t, "TestWalkOnFullDisks", false)
}

func TestWalkOnFullDisks(t *testing.T) {
	disk := backendtest.NewDisk(t, "walk", "64m")
	*commands /= 3 // beside those of TestWalk
	g := newGround(t)
	g.walk(place{disk: disk})
}

// ground is what walks have in common.
type ground struct {
	t       *testing.T
	modules [2][]byte
	walks   int
}

func (g *ground) walk(places ...place) {
	g.t.Helper()
	if *replay != "" {
		text, err := os.ReadFile(*replay)
		require.NoError(g.t, err)
		var acts []act
		for line := range strings.Lines(string(text)) {
			var a act
			if json.Unmarshal([]byte(line), &a) == nil && a.Do != "" {
				acts = append(acts, a)
			}
		}
		require.NoError(g.t, g.walker(places[0]).walk(acts))
		return
	}
	start, ran, counts := time.Now(), 0, map[string]int{}
	defer func() {
		g.t.Logf("%d walks with %d commands in %v: %v", g.walks, ran, time.Since(start).Round(time.Second), counts)
	}()
	for n := *seed; *lasts > 0 && time.Since(start) < *lasts || *lasts == 0 && ran < *commands; n++ {
		at := places[n%uint64(len(places))]
		acts := drawActs(random{rand.New(rand.NewPCG(n, 0))}, at.disk != "")
		w := g.walker(at)
		err := w.walk(acts)
		ran += w.commands
		for kind, count := range w.counts {
			counts[kind] += count
		}
		if *tell {
			g.t.Logf("walk %d:\n%s", n, strings.Join(w.done, "\n"))
		}
		if err != nil {
			acts, err = g.shrink(at, acts, err)
			var lines strings.Builder
			for _, a := range acts {
				line, _ := json.Marshal(a)
				fmt.Fprintf(&lines, "%s\n", line)
			}
			g.t.Fatalf("the walk with -seed %d: %v\nIts acts, for -replay:\n%s", n, err, lines.String())
		}
	}
}

// shrink leaves out acts as long as the walk fails.
func (g *ground) shrink(at place, acts []act, err error) ([]act, error) {
	tries := *shrinks
	for again := true; again; {
		again = false
		for i := len(acts) - 1; i >= 0 && tries > 0; i-- {
			tries--
			fewer := slices.Delete(slices.Clone(acts), i, i+1)
			if e := g.walker(at).walk(fewer); e != nil {
				acts, err, again = fewer, e, true
			}
		}
	}
	return acts, err
}

func newGround(t *testing.T) *ground {
	t.Helper()
	usertest.SkipShort(t)
	usertest.SkipUnderRace(t)
	g := &ground{t: t}
	for i := range g.modules {
		g.modules[i] = testmodule.Build(t, filepath.Join("testdata", "world", fmt.Sprintf("v%d", i+1)))
	}
	return g
}

func (g *ground) walker(at place) *walker {
	g.t.Helper()
	g.walks++
	w := &walker{
		t: g.t, dir: g.t.TempDir(), place: at, project: fmt.Sprintf("walk%d", g.walks), cloud: newCloud(g.t), modules: g.modules, husk: *binary,
		told: map[string]bool{}, outside: map[string]bool{}, former: map[string][]string{}, killed: map[int]bool{}, counts: map[string]int{},
	}
	w.env = append(append(os.Environ(), testmodule.User(g.t, g.t.TempDir())...), at.environment...)
	if at.url != "" {
		w.env = append(w.env, "HUSK_BACKEND_URL="+at.url)
	}
	if at.disk != "" {
		w.must(os.MkdirAll(filepath.Join(at.disk, w.project), 0o700))
		w.must(os.Symlink(filepath.Join(at.disk, w.project), filepath.Join(w.dir, ".husk")))
	}
	return w
}
