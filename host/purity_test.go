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
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testmodule"
	"github.com/husk-dev/husk/internal/wasmfile"
)

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
	m, err := newHost(t, host.NewConfig().WithMemoryLimit(16*65536)).LoadBytes(t.Context(), assembly{
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
	differences := func(way string, elapsed, step time.Duration) map[int]bool {
		a := made(way, &steppedClock{elapsed: time.Second, step: time.Microsecond})
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
