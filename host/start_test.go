package host_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/internal/image"
	"github.com/husk-dev/husk/host/limit"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// Instances begin where another one was after the setup, with nothing that it did later.
func TestInstancesBeginConfigured(t *testing.T) {
	logged := &records{}
	p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{Logger: logged.logger()})
	configure := func(greeting string) {
		require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{
			Inputs: property.MapOf(map[string]property.Value{"greeting": property.String(greeting)}),
		}))
	}
	setUp := func() (times int) {
		for _, line := range logged.lines() {
			times += strings.Count(line, "msg=configured")
		}
		return times
	}
	seen := map[string]bool{}
	for _, greeting := range []string{"hello", "welcome"} {
		configure(greeting)
		before := setUp()
		for range 5 {
			d := mustDo(t, p, "greeting")
			require.Equal(t, greeting, d.answer)
			require.EqualValues(t, 1, d.served)
			require.False(t, seen[d.instance], "instances do not share what they draw after the setup")
			seen[d.instance] = true
			failure(t, p, "exit", "1")
		}
		require.Equal(t, before+1, setUp(), "the second instance is set up call by call, further ones as it was")
	}
}

// What a module prepares ahead of all calls is in each instance that begins with an image,
// unless it does more than to look around.
func TestInstancesBeginPrepared(t *testing.T) {
	t.Setenv("HUSK_TEST_VARIABLE", "x")
	const prepared, plain = answer + 100, answer
	cancelled := importEntry{"husk:provider/control@0.2.0", "cancelled", importSignature("control", "cancelled")}
	for name, c := range map[string]struct {
		prepare code
		want    string
	}{
		"prepared":           {count + drop, "prepared"},
		"one that traps":     {count + drop + unreachable, "plain"},
		"one that calls out": {count + drop + callFunc(0) + drop, "plain"},
		"one without end":    {count + drop + "\x03\x40\x0c\x00\x0b", "plain"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, host.NewConfig())
			m, err := h.LoadBytes(t.Context(), assembly{
				imports: []importEntry{cancelled},
				bodies:  map[string]code{"get-schema": count + choose(1, plain, prepared), "wizer-initialize": c.prepare},
				data: map[uint32]string{
					plain: words(0, contents, 5), prepared: words(0, contents+100, 8),
					contents: "plain", contents + 100: "prepared",
				},
			}.wasm())
			require.NoError(t, err)
			for _, use := range []struct {
				grants host.Grants
				want   string
			}{
				{host.Grants{}, c.want},
				{host.Grants{Env: []string{"HUSK_TEST_VARIABLE"}}, "plain"},
				{host.Grants{}, c.want},
			} {
				p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Lenient: true, Grants: use.grants})
				require.NoError(t, err)
				got, err := schema(t.Context(), p)
				require.NoError(t, err)
				require.Equal(t, use.want, got)
				require.NoError(t, p.Close())
			}
		})
	}
}

// What wazero has made for an instance serves the next one, unless it has become another.
func TestInstancesLeaveTheirModule(t *testing.T) {
	for name, c := range map[string]struct {
		does code // each time that the schema is asked for, which crashes where it answers 0
		left bool
	}{
		"with its memory as large as before": {i32Const(1), true},
		"with a larger memory":               {i32Const(1) + "\x40\x00", false},
		"after a crash":                      {i32Const(0), false},
	} {
		for _, where := range []string{"made", "kept"} {
			t.Run(name+"/"+where, func(t *testing.T) {
				m, err := newHost(t, host.NewConfig()).LoadBytes(t.Context(), assembly{
					bodies: map[string]code{"get-schema": c.does + "\x45\x04\x40\x00\x0b" + count + choose(1, answer, answer2)},
					data: map[uint32]string{
						answer: words(0, contents, 5), answer2: words(0, contents+5, 5), contents: "first" + "later",
					},
				}.wasm())
				require.NoError(t, err)
				left := 0
				for range 3 {
					p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Lenient: true})
					require.NoError(t, err)
					for _, want := range []string{"first", "later", "later"} {
						if got, err := schema(t.Context(), p); err == nil {
							require.Equal(t, want, got, "globals are those of the image")
						}
					}
					before := m.Spares()
					require.NoError(t, p.Close())
					left += m.Spares() - before
				}
				if image.Shared && c.left {
					require.Positive(t, left)
				}
			})
		}
	}
}

// Closing provider and host while a call runs ends the call, and nothing else.
func TestClosingUnderACall(t *testing.T) {
	h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(testmodule.CacheDir(t)))
	require.NoError(t, err)
	logged := &records{}
	p := provide(t, h, host.ProviderOptions{Logger: logged.logger()})
	mustDo(t, p, "nothing")
	failed := make(chan error)
	go func() {
		_, err := do(context.Background(), p, "flood", "on")
		failed <- err
	}()
	for len(logged.lines()) == 0 {
		mustDo(t, p, "nothing") // until the other call is in the guest
	}
	require.NoError(t, p.Close())
	require.NoError(t, h.Close(context.Background()))
	require.ErrorContains(t, <-failed, "closed")
}

// starts is a module of Go that starts in the way of that name.
func starts(t *testing.T, way string) []byte {
	t.Helper()
	wasm := testmodule.Build(t, "testdata/starts")
	at := bytes.Index(wasm, []byte("way:..."))
	require.Positive(t, at)
	wasm = bytes.Clone(wasm)
	copy(wasm[at+len("way:"):], way)
	return wasm
}

// started is a provider of such a module.
func started(t *testing.T, h *host.Host, way string, options host.ProviderOptions) *host.Provider {
	t.Helper()
	m, err := h.LoadBytes(t.Context(), starts(t, way))
	require.NoError(t, err)
	options.Name = "starts"
	p, err := m.NewProvider(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// answer is what a new instance answers.
func answerOf(t *testing.T, p *host.Provider, what string) string {
	t.Helper()
	p.EndIdle()
	d, err := doOf(t.Context(), p, "starts", what)
	require.NoError(t, err)
	return d.answer
}

// interpreting makes a host that needs not compile what it runs.
func interpreting(t *testing.T, config host.Config) *host.Host {
	t.Helper()
	if testing.Short() {
		t.Skip("interprets the start of modules")
	}
	h, err := host.New(t.Context(), config.WithInterpreter())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close(context.Background())) })
	return h
}

// What a program makes of the clock, or of random numbers, as it starts is in no image,
// however little of it is left; what Go's runtime does with them for itself rules none out.
func TestAnImageDependsOnNeitherClockNorRandomNumbers(t *testing.T) {
	const (
		clock  = "reads the clock"
		random = "takes random numbers"
	)
	ways := map[string]string{
		// Go leaves the order of maps open, so that it may be that of the image.
		"the order of a map": "",
		"nothing":            "", "a seed of the author": "", "maps": "", "a collection": "", "a sleep": "", "timers": "",
		"a contended lock": "", "a goroutine that waits": "", "a table of identifiers": "",

		"a seed of nanoseconds": clock, "a seed of seconds": clock, "the year": clock, "the time": clock,
		"a time that was compared": clock, "time that has passed": clock, "a deadline": clock, "the time of a timer": clock,
		"a goroutine that reads the clock": clock, "the runtime's clock": clock, "a pool": clock,

		"a number": random, "a number of v2": random, "a coin": random, "a permutation": random, "a shuffled list": random,
		"a generator": random, "a generator of v2": random, "a seed of a hash": random, "a hash": random,
		"the runtime's": random, "the runtime's old": random, "the runtime's fast": random, "a seed on the stack": random,
		"a name of a file": random, "a key": random, "an identifier": random, "a pool of identifiers": random,
	}
	h := interpreting(t, host.NewConfig())
	for way, does := range ways {
		t.Run(way, func(t *testing.T) {
			m, err := h.LoadBytes(t.Context(), starts(t, way))
			require.NoError(t, err)
			about, err := m.BaseImage(t.Context())
			require.NoError(t, err)
			if does == "" {
				require.Equal(t, host.BaseImage{Made: true, Prepared: true}, about)
				return
			}
			require.Equal(t, host.BaseImage{Reason: about.Reason}, about)
			require.True(t, strings.HasSuffix(about.Reason, does), about.Reason)
		})
	}
}

// The reason names the function of the program that is at fault, if the module says its name.
func TestWhyThereIsNoImage(t *testing.T) {
	h := interpreting(t, host.NewConfig())
	for way, reason := range map[string]string{
		"an identifier":       "github.com_google_uuid.NewRandomFromReader takes random numbers",
		"the time of a timer": `(time\.sendTime|main\.init\.func\d+) reads the clock`, // whichever is first
		"main: the time":      `main\.init\.func\d+ reads the clock`,
		"main: a number":      `main\.init\.func\d+ takes random numbers`,
		"none that there is":  "it fails: .*there is no way none that there is",
	} {
		for _, named := range []bool{true, false} {
			wasm := starts(t, way)
			if !named {
				var err error
				wasm, err = wasmfile.WithCustom(wasm, wasmfile.NameSection, nil)
				require.NoError(t, err)
				for _, does := range []string{"reads the clock", "takes random numbers"} {
					if strings.HasSuffix(reason, does) {
						reason = "^it " + does
					}
				}
			}
			m, err := h.LoadBytes(t.Context(), wasm)
			require.NoError(t, err)
			about, err := m.BaseImage(t.Context())
			require.NoError(t, err)
			require.Regexp(t, reason, about.Reason)
			require.Equal(t, strings.HasPrefix(way, "main: "), about.Made, "the start is in an image without main")
			require.False(t, about.Prepared)
		}
	}
}

// Who gives up waiting for an image has not learnt anything of the module.
func TestAnImageThatWasGivenUp(t *testing.T) {
	m, err := interpreting(t, host.NewConfig()).LoadBytes(t.Context(), starts(t, "nothing"))
	require.NoError(t, err)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	about, err := m.BaseImage(over)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, about)
	about, err = m.BaseImage(t.Context())
	require.NoError(t, err)
	require.Equal(t, host.BaseImage{Made: true, Prepared: true}, about)
}

// A module whose start takes more than it may is not said to be at fault: it may be the machine.
func TestAnImageThatTakesTooMuch(t *testing.T) {
	m, err := newHost(t, host.NewConfig().WithLimit(limit.Memory, 16*65536)).LoadBytes(t.Context(), assembly{
		bodies: map[string]code{"_initialize": i32Const(40) + "\x40\x00" + drop + unreachable, "get-schema": unreachable},
	}.wasm())
	require.NoError(t, err)
	about, err := m.BaseImage(t.Context())
	require.NoError(t, err)
	require.Zero(t, about)
}

// Of a module of Go whose runtime is not known, or was changed behind the linker, nothing is told
// from what the program reads. The reason says so.
func TestModulesOfGoThatAreNotAsTheLinkerLeftThem(t *testing.T) {
	table := []byte{0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8} // by which Go's runtime finds its functions
	wasm := starts(t, "nothing")
	require.Contains(t, string(wasm), string(table))
	m, err := interpreting(t, host.NewConfig()).LoadBytes(t.Context(), bytes.ReplaceAll(wasm, table, bytes.Repeat([]byte{1}, len(table))))
	require.NoError(t, err)
	about, err := m.BaseImage(t.Context())
	require.NoError(t, err)
	require.False(t, about.Made)
	require.Contains(t, about.Reason, "or Go's runtime in it does, which is not known in this version, or was changed by a tool behind Go's linker")
}

// Each instance has what it made of clock and random numbers, in each host, with code that was
// compiled, kept, or compiled ahead.
func TestWhatAStartMakesOfClockAndRandomNumbersIsTheInstances(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles two modules")
	}
	dir := t.TempDir()
	config := host.NewConfig().WithCacheDir(filepath.Join(dir, "cache"))
	ahead := filepath.Join(dir, "ahead")
	for _, way := range []string{"a seed of nanoseconds", "main: a generator"} {
		seen := make(map[string]bool)
		for _, where := range []string{"compiled", "kept", "ahead"} {
			config := config
			if where == "ahead" {
				config = host.NewConfig().WithPrecompiled(ahead)
			}
			h, err := host.New(t.Context(), config)
			require.NoError(t, err)
			for range 2 {
				p := started(t, h, way, host.ProviderOptions{})
				for range 2 {
					answer := answerOf(t, p, "next")
					require.False(t, seen[answer], "%s: %s is what another instance has, too", where, answer)
					seen[answer] = true
				}
				about, err := p.Module().BaseImage(t.Context())
				require.NoError(t, err)
				require.NotEmpty(t, about.Reason)
				if where == "compiled" {
					require.NoError(t, p.Module().Precompile(ahead))
				}
			}
			require.NoError(t, h.Close(context.Background()))
		}
	}
}

// What Configure makes of clock and random numbers is the instance's own, and so are files that
// it has written. Anything else is in an image, with which further instances begin.
func TestASetupThatDependsOnClockOrRandomNumbersIsRepeated(t *testing.T) {
	for way, c := range map[string]struct {
		reason string
		varies bool
	}{
		"nothing": {}, "maps": {}, "the order of a map": {}, "a collection": {}, "a sleep": {}, "timers": {}, "a seed of the author": {},
		"a file":                {},
		"the time of a file":    {"it reads the clock", true},
		"a seed of nanoseconds": {"it reads the clock", true},
		"the year":              {"it reads the clock", false},
		"a deadline":            {"it reads the clock", true},
		"a coin":                {"it takes random numbers", false},
		"a generator":           {"it takes random numbers", true},
		"the runtime's fast":    {"it takes random numbers", false},
		"a pool of identifiers": {"it takes random numbers", true},
	} {
		t.Run(way, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("content"), 0o600))
			logged := &records{}
			p := started(t, interpreting(t, host.NewConfig()), "configure: "+way, host.ProviderOptions{
				Logger: logged.logger(),
				Grants: host.Grants{FS: []host.FSGrant{{HostPath: dir, GuestPath: "/data", ReadWrite: true}}},
			})
			require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{}))
			seen := make(map[string]bool)
			const instances = 4
			for range instances {
				seen[answerOf(t, p, "configured")] = true
			}
			lines := strings.Join(logged.lines(), "\n")
			why := "each instance is set up by itself, and does not begin with an image of its setup: " + c.reason
			if c.reason == "" {
				require.Equal(t, 2, strings.Count(lines, "msg=configured"))
				require.NotContains(t, lines, why)
				return
			}
			require.Equal(t, instances+1, strings.Count(lines, "msg=configured"))
			require.Equal(t, 1, strings.Count(lines, why), "it is told once")
			if c.varies {
				require.Len(t, seen, instances)
			}
		})
	}
}

// steppedClock goes on by as much with each look at it, and nobody sleeps by it.
type steppedClock struct {
	mu            sync.Mutex
	elapsed, step time.Duration
}

func (c *steppedClock) Now() time.Time { return time.Unix(0, int64(c.Elapsed())) }

func (c *steppedClock) Elapsed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.elapsed += c.step
	return c.elapsed
}

func (c *steppedClock) Sleep(_ context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.elapsed += d
	return nil
}

// A timer that Configure has begun is due at the same time in all instances. One that the start
// has begun is due in each instance when it would be if it had run the start.
func TestTimersInImages(t *testing.T) {
	for _, c := range []struct {
		way, what string
		rings     bool
	}{{"an alarm", "next", false}, {"configure: an alarm", "configured", true}} {
		clock := &steppedClock{elapsed: time.Second, step: time.Microsecond}
		p := started(t, interpreting(t, host.NewConfig().WithClock(clock)), c.way, host.ProviderOptions{})
		if c.what == "configured" {
			require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{}))
		}
		for range 3 {
			require.Equal(t, "false", answerOf(t, p, c.what))
		}
		require.NoError(t, clock.Sleep(t.Context(), 2*time.Hour))
		require.Equal(t, c.rings, answerOf(t, p, c.what) == "true", c.way)
	}
}

// The choices of select, which Go's runtime makes by a generator of its own, are other ones in
// each instance.
func TestInstancesChooseByThemselves(t *testing.T) {
	p := started(t, interpreting(t, host.NewConfig()), "nothing", host.ProviderOptions{})
	seen := make(map[string]bool)
	const instances = 4
	for range instances {
		seen[answerOf(t, p, "choices")] = true
	}
	require.Len(t, seen, instances)
	about, err := p.Module().BaseImage(t.Context())
	require.NoError(t, err)
	require.True(t, about.Made)
}

// Two images of a module that were made at other times differ in nothing but times of Go's
// runtime, whatever the module does: in the same words as for a module that does nothing.
func TestImagesMadeAtOtherTimesDifferInTheRuntimesWordsOnly(t *testing.T) {
	made := func(way string, clock host.Clock) []byte {
		config := host.NewConfig().WithClock(clock).WithRandom(bytes.NewReader(bytes.Repeat([]byte("seed"), 1000)))
		m, err := interpreting(t, config).LoadBytes(t.Context(), starts(t, way))
		require.NoError(t, err)
		memory := m.MakeBase(t.Context())
		require.NotNil(t, memory)
		return memory
	}
	first := make(map[string][]byte)
	differences := func(way string, elapsed, step time.Duration) map[int]bool {
		a, is := first[way]
		if !is {
			a = made(way, &steppedClock{elapsed: time.Second, step: time.Microsecond})
			first[way] = a
		}
		b := made(way, &steppedClock{elapsed: elapsed, step: step})
		require.Len(t, b, len(a))
		differ := make(map[int]bool)
		for at := 0; at < len(a); at += 8 {
			if binary.NativeEndian.Uint64(a[at:]) != binary.NativeEndian.Uint64(b[at:]) {
				differ[at] = true
			}
		}
		return differ
	}
	for _, clock := range []struct{ elapsed, step time.Duration }{
		{123*24*time.Hour + 4567891011, time.Microsecond}, {time.Second, 7654321 * time.Nanosecond},
	} {
		differ := differences("nothing", clock.elapsed, clock.step)
		require.NotEmpty(t, differ)
		for _, way := range []string{"maps", "the order of a map", "a table of identifiers", "a seed of the author"} {
			require.Equal(t, differ, differences(way, clock.elapsed, clock.step), way)
		}
	}
}

// A module without Go's runtime has no image of what has read the clock. What prepares itself
// with it begins without that.
func TestModulesThatReadTheClockWhenTheyStart(t *testing.T) {
	const (
		subscription = 4096 // of a timer, and what comes of it
		event        = 4352
		address      = 4480
	)
	wasi := func(name string, params ...byte) importEntry {
		return importEntry{"wasi_snapshot_preview1", name, canon.Signature{Params: params, Results: []byte{canon.I32}}}
	}
	imports := []importEntry{
		wasi("clock_time_get", canon.I32, canon.I64, canon.I32), wasi("clock_res_get", canon.I32, canon.I32),
		wasi("poll_oneoff", canon.I32, canon.I32, canon.I32, canon.I32), wasi("fd_filestat_get", canon.I32, canon.I32),
	}
	read := func(clock int32) code { return i32Const(clock) + "\x42\x00" + i32Const(address) + callFunc(0) + drop }
	poll := i32Const(subscription) + i32Const(event) + i32Const(1) + i32Const(address) + callFunc(2) + drop
	absolute := words(1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0)
	for name, c := range map[string]struct {
		initialize, prepare code
		timer               string
		base, prepared      bool
	}{
		"the wall clock":                  {initialize: read(0)},
		"the monotonic clock":             {initialize: read(1)},
		"a clock that there is not":       {initialize: read(7)},
		"when it prepares itself":         {prepare: read(0), base: true},
		"the resolution":                  {initialize: i32Const(0) + i32Const(address) + callFunc(1) + drop, base: true, prepared: true},
		"a timer":                         {initialize: poll, timer: words(1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0), base: true, prepared: true},
		"a timer at a time":               {initialize: poll, timer: absolute},
		"the times of a standard stream":  {initialize: i32Const(1) + i32Const(address) + callFunc(3) + drop, base: true, prepared: true},
		"a timer when it prepares itself": {prepare: poll, timer: absolute, base: true},
	} {
		t.Run(name, func(t *testing.T) {
			bodies := map[string]code{"_initialize": nop, "wizer-initialize": nop, "get-schema": returns(answer)}
			if c.initialize != "" {
				bodies["_initialize"] = c.initialize
			}
			if c.prepare != "" {
				bodies["wizer-initialize"] = c.prepare
			}
			m, err := newHost(t, host.NewConfig()).LoadBytes(t.Context(), assembly{
				imports: imports, bodies: bodies,
				data: map[uint32]string{answer: words(0, contents+100, 2), contents + 100: "ok", subscription: c.timer},
			}.wasm())
			require.NoError(t, err)
			about, err := m.BaseImage(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.base, about.Made, about.Reason)
			require.Equal(t, c.prepared, about.Prepared, about.Reason)
			require.Equal(t, !c.prepared, about.Reason == "it reads the clock", about.Reason)
			p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Lenient: true})
			require.NoError(t, err)
			got, err := schema(t.Context(), p)
			require.NoError(t, err)
			require.Equal(t, "ok", got)
			require.NoError(t, p.Close())
		})
	}
}

// greet configures the probe.
func greet(t *testing.T, p *host.Provider, greeting string) {
	t.Helper()
	require.NoError(t, p.Configure(t.Context(), abi.ConfigureRequest{
		Inputs: property.MapOf(map[string]property.Value{"greeting": property.String(greeting)}),
	}))
}

// Instances that begin with the same image draw different numbers with math/rand, and have
// their maps in another order: with the base image and with that of a configuration, in one host
// and in those after it. It fails where the generator of a new version of Go is not found,
// as Go modules have no images then.
func TestInstancesDrawNumbersOfTheirOwn(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a module of Go")
	}
	wasm, err := os.ReadFile(probe(t))
	require.NoError(t, err)
	t.Setenv("HUSK_TEST_VARIABLE", "x")
	dir := filepath.Join(t.TempDir(), "cache")
	seen := map[string]bool{}
	draw := func(p *host.Provider) {
		t.Helper()
		parts := strings.Fields(mustDo(t, p, "draw").answer)
		require.Len(t, parts, 3)
		for _, part := range parts {
			require.False(t, seen[part], "%s was drawn before", part)
			seen[part] = true
		}
	}
	for range 2 {
		h, err := host.New(t.Context(), host.NewConfig().WithCacheDir(dir))
		require.NoError(t, err)
		m, err := h.LoadBytes(t.Context(), wasm)
		require.NoError(t, err)
		for _, grants := range []host.Grants{{}, {Env: []string{"HUSK_TEST_VARIABLE"}}} {
			for _, greeting := range []string{"hello", "make many maps"} {
				logged := &records{}
				p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "probe", Logger: logged.logger(), Grants: grants})
				require.NoError(t, err)
				draw(p)
				greet(t, p, greeting)
				for range 4 {
					draw(p)
					p.EndIdle()
				}
				require.NoError(t, p.Close())
				require.Equal(t, 2, strings.Count(strings.Join(logged.lines(), "\n"), "msg=configured"), "the others begin with an image")
			}
		}
		require.True(t, m.HasBase())
		require.NoError(t, h.Close(t.Context()))
	}
}

// What an instance made of random bytes itself is its own, and so is what it holds outside of
// its memory: the setup is repeated for the others.
func TestInstancesThatCannotBeImagesAreSetUpAgain(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for greeting, c := range map[string]struct {
		grants host.Grants
		want   int
		reason string
	}{
		"hello":       {want: 2},
		"draw a key":  {want: 4, reason: "image of its setup: it takes random numbers"},
		"keep a file": {host.Grants{FS: []host.FSGrant{{HostPath: dir, GuestPath: "/data"}}}, 4, "image of its setup: it leaves a file or a connection open"},
	} {
		t.Run(greeting, func(t *testing.T) {
			logged := &records{}
			p := provide(t, newHost(t, host.NewConfig()), host.ProviderOptions{Logger: logged.logger(), Grants: c.grants})
			greet(t, p, greeting)
			for range 4 {
				mustDo(t, p, "nothing")
				p.EndIdle()
			}
			lines := strings.Join(logged.lines(), "\n")
			require.Equal(t, c.want, strings.Count(lines, "msg=configured"))
			require.Contains(t, lines, c.reason)
		})
	}
}

// A module that takes random bytes when it starts has no base image, unless they are the seed
// of a generator that the host knows. One that takes them when it prepares itself begins
// without that.
func TestModulesThatDrawWhenTheyStart(t *testing.T) {
	take := func(bytes int32) code { return i32Const(contents) + i32Const(bytes) + callFunc(0) + drop }
	for name, c := range map[string]struct {
		initialize, prepare code
		base                bool
	}{
		"none":                      {nop, nop, true},
		"a seed of its own":         {take(8), nop, false},
		"as much as Go's runtime":   {take(32), nop, false},
		"more":                      {take(32) + take(32), nop, false},
		"when it prepares itself":   {nop, take(8), true},
		"a seed of no bytes at all": {take(0), nop, true},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := newHost(t, host.NewConfig()).LoadBytes(t.Context(), assembly{
				imports: []importEntry{{"wasi_snapshot_preview1", "random_get",
					canon.Signature{Params: []byte{canon.I32, canon.I32}, Results: []byte{canon.I32}}}},
				bodies: map[string]code{"_initialize": c.initialize, "wizer-initialize": c.prepare, "get-schema": returns(answer)},
				data:   map[uint32]string{answer: words(0, contents+100, 2), contents + 100: "ok"},
			}.wasm())
			require.NoError(t, err)
			for range 2 {
				p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Lenient: true})
				require.NoError(t, err)
				got, err := schema(t.Context(), p)
				require.NoError(t, err)
				require.Equal(t, "ok", got)
				require.NoError(t, p.Close())
			}
			require.Equal(t, c.base, m.HasBase())
		})
	}
}

// benchProbe is the probe as a module in memory, and a directory with all that a host
// keeps of it.
func benchProbe(b *testing.B) (wasm []byte, config host.Config) {
	b.Helper()
	wasm, config = testmodule.Build(b, "testdata/probe"), host.NewConfig().WithCacheDir(testmodule.CacheDir(b))
	start(b, config, wasm, false)
	return wasm, config
}

// start is all that lies between nothing and the answer to the first call, and back.
func start(b *testing.B, config host.Config, wasm []byte, timed bool) {
	h, err := host.New(context.Background(), config)
	require.NoError(b, err)
	m, err := h.LoadBytes(context.Background(), wasm)
	require.NoError(b, err)
	p := configured(b, m)
	callOnce(b, p)
	if timed {
		b.StopTimer()
	}
	require.NoError(b, p.Close())
	require.NoError(b, h.Close(context.Background()))
	if timed {
		b.StartTimer()
	}
}

// configured makes a provider of the module, shakes hands, and configures it.
func configured(b *testing.B, m *host.Module) *host.Provider {
	p, err := m.NewProvider(context.Background(), host.ProviderOptions{Name: "probe"})
	require.NoError(b, err)
	_, err = p.Handshake(context.Background(), abi.HandshakeRequest{Engine: "bench"})
	require.NoError(b, err)
	require.NoError(b, p.Configure(context.Background(), abi.ConfigureRequest{
		Inputs: property.MapOf(map[string]property.Value{"greeting": property.String("hello")}),
	}))
	return p
}

// callOnce calls a function with an argument of 1 KB. A Check may be answered without the
// guest.
func callOnce(b *testing.B, p abi.Provider) {
	_, err := do(context.Background(), p, "nothing", strings.Repeat("x", 1000))
	require.NoError(b, err)
}

// BenchmarkStart takes what a cache keeps of a module to the answer of the first call.
func BenchmarkStart(b *testing.B) {
	b.Run("new host", func(b *testing.B) {
		wasm, config := benchProbe(b)
		for b.Loop() {
			start(b, config, wasm, true)
		}
	})
	loaded := func(b *testing.B) *host.Module {
		wasm, config := benchProbe(b)
		h, err := host.New(b.Context(), config)
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, h.Close(context.Background())) })
		m, err := h.LoadBytes(b.Context(), wasm)
		require.NoError(b, err)
		p := configured(b, m)
		callOnce(b, p)
		require.NoError(b, p.Close())
		return m
	}
	b.Run("further configuration", func(b *testing.B) {
		m := loaded(b)
		for b.Loop() {
			p := configured(b, m)
			callOnce(b, p)
			require.NoError(b, p.Close())
		}
	})
	b.Run("further instance", func(b *testing.B) {
		p := configured(b, loaded(b))
		for b.Loop() {
			callOnce(b, p)
			p.EndIdle()
		}
		require.NoError(b, p.Close())
	})
	b.Run("warm instance", func(b *testing.B) {
		p := configured(b, loaded(b))
		for b.Loop() {
			callOnce(b, p)
		}
		require.NoError(b, p.Close())
	})
}
