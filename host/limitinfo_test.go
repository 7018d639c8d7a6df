package host_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/host/limit"
)

func TestLimitsAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range limit.All() {
		require.False(t, seen[l.Name], "%s is twice", l.Name)
		seen[l.Name] = true
		require.NotZero(t, l.Default, l.Name)
		found, ok := limit.Named(l.Name)
		require.True(t, ok)
		require.Equal(t, []any{l.Limit, l.Unit, l.Scope}, []any{found.Limit, found.Unit, found.Scope})
		if l.Option != "" {
			_, ok := reflect.TypeFor[host.Config]().MethodByName(l.Option)
			require.True(t, ok, "%s: %s", l.Name, l.Option)
		}
		_, err := host.NewConfig().WithLimit(l.Name, l.Default)
		require.Equal(t, l.Option == "", err != nil, "%s: %v", l.Name, err)
		for _, value := range []uint64{1, 1023, 1024, 5 << 20, l.Default, math.MaxInt64} {
			read, err := l.Parse(l.Format(value))
			require.NoError(t, err, "%s of %s", l.Format(value), l.Name)
			require.Equal(t, value, read, l.Name)
		}
		for _, text := range []string{"", "0", "-1", "1 MB", "soon", "0s", "1.5MiB", "99999999999GiB", "9223372036854775808"} {
			_, err := l.Parse(text)
			require.Error(t, err, "%q of %s", text, l.Name)
		}
	}
	for _, known := range []limit.Limit{
		limit.Time, limit.Fuel, limit.HostCalls, limit.RandomBytes, limit.Memory, limit.TotalMemory,
		limit.TableElements, limit.OpenFiles, limit.Stack, limit.StackDepth, limit.Request, limit.Answer, limit.WaitingCalls,
		limit.Streams, limit.LogRate, limit.Crashes, limit.ModuleSize, limit.CompileTime, "module-loops",
	} {
		e := limit.ExceededError{Limit: known, Most: 7}
		require.Equal(t, known, e.Info().Limit)
		require.NotContains(t, e.Error(), "%!")
	}
	unknown := limit.ExceededError{Limit: "patience", Most: 7}
	require.EqualError(t, &unknown, "it has more than 7 of patience; the limit is fixed")
}

// withLimit sets a limit by its name.
func withLimit(t *testing.T, c host.Config, name string, value uint64) host.Config {
	t.Helper()
	c, err := c.WithLimit(name, value)
	require.NoError(t, err)
	return c
}

// defaultOf returns the default of a limit.
func defaultOf(t *testing.T, name string) uint64 {
	t.Helper()
	l, ok := limit.Named(name)
	require.True(t, ok, name)
	return l.Default
}

func TestALimitOfItsName(t *testing.T) {
	for name, want := range map[string]string{
		"":         `there is no limit ""`,
		"patience": `there is no limit "patience"`,
		"stack":    `the limit "stack" is fixed`,
		"fuel":     `the limit "fuel" cannot be 0`,
	} {
		_, err := host.NewConfig().WithLimit(name, 0)
		require.EqualError(t, err, want)
	}
	for _, value := range []uint64{1, math.MaxUint64} {
		for _, l := range limit.All() {
			if l.Option != "" {
				config, err := host.NewConfig().WithLimit(l.Name, value)
				require.NoError(t, err)
				newHost(t, config) // which takes it
			}
		}
	}
	// One limit of modules leaves the others as they are.
	wasm := assembly{bodies: map[string]code{"get-schema": unreachable}}.wasm()
	for exports, refused := range map[uint64]bool{1: true, 1000: false} {
		config, err := host.NewConfig().WithLimit("module-exports", exports)
		require.NoError(t, err)
		_, err = newHost(t, config).LoadBytes(t.Context(), wasm)
		require.Equal(t, refused, err != nil, "%v", err)
	}
}

// To hear of a cancellation has a time of its own, which that of answers leaves as it is.
func TestTheTimeToHearOfACancellation(t *testing.T) {
	deaf := assembly{bodies: map[string]code{"get-schema": returns(answer), "cancel": forever + unreachable}, data: map[uint32]string{answer: words(0, contents, 0)}}
	for _, set := range [][]string{{"cancel-time", "answer-time"}, {"answer-time", "cancel-time"}} {
		config := host.NewConfig().WithCancelGrace(time.Millisecond)
		for _, name := range set {
			var err error
			config, err = config.WithLimit(name, uint64(map[string]time.Duration{"answer-time": time.Hour, "cancel-time": time.Millisecond}[name]))
			require.NoError(t, err)
		}
		p := assemble(t, newHost(t, config), deaf)
		_, err := schema(t.Context(), p)
		require.NoError(t, err)
		var exceeded *limit.ExceededError
		require.ErrorAs(t, p.Cancel(t.Context()), &exceeded)
		require.Equal(t, limit.ExceededError{Limit: limit.Time, Most: uint64(time.Millisecond), Method: "cancel"}, *exceeded)
		require.Equal(t, "cancel-time", exceeded.Info().Name)
	}
}

// provideWith makes a provider of a module with limits of its own.
func provideWith(t *testing.T, h *host.Host, a assembly, limits map[string]uint64) *host.Provider {
	t.Helper()
	module, err := h.LoadBytes(t.Context(), a.wasm())
	require.NoError(t, err)
	p, err := module.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Lenient: true, Limits: limits})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// growUntilRefused takes memory a page at a time for as long as there is any.
const growUntilRefused = code("\x03\x40\x41\x01\x40\x00\x41\x00\x4e\x0d\x00\x0b")

func TestProvidersHaveLimitsOfTheirOwn(t *testing.T) {
	h := newHost(t, host.NewConfig().WithMemoryLimit(32<<20).WithFuel(1<<30).WithCancelGrace(time.Millisecond).
		WithFuel(1<<20, "get-schema").WithCallTimeout(time.Hour, "get-schema"))
	grows := assembly{bodies: map[string]code{"get-mapping": growUntilRefused + unreachable}}
	spins := assembly{bodies: map[string]code{"get-mapping": forever + unreachable, "get-schema": forever + unreachable}}
	for name, c := range map[string]struct {
		module assembly
		limits map[string]uint64
		want   limit.ExceededError
	}{
		"less memory":     {grows, map[string]uint64{"memory": 8 << 20}, limit.ExceededError{Limit: limit.Memory, Most: 8 << 20}},
		"half a page":     {grows, map[string]uint64{"memory": 8<<20 + 1}, limit.ExceededError{Limit: limit.Memory, Most: 8<<20 + 65536}},
		"as much memory":  {grows, map[string]uint64{"memory": 32 << 20}, limit.ExceededError{Limit: limit.Memory, Most: 32 << 20}},
		"the host's":      {grows, nil, limit.ExceededError{Limit: limit.Memory, Most: 32 << 20}},
		"less fuel":       {spins, map[string]uint64{"fuel": 1000}, limit.ExceededError{Limit: limit.Fuel, Most: 1000}},
		"time":            {spins, map[string]uint64{"answer-time": 1e6}, limit.ExceededError{Limit: limit.Time, Most: 1e6}},
		"several of them": {spins, map[string]uint64{"answer-time": 4e12, "fuel": 77, "streams": 1}, limit.ExceededError{Limit: limit.Fuel, Most: 77}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := provideWith(t, h, c.module, c.limits).GetMapping(t.Context(), abi.GetMappingRequest{Key: "terraform"})
			var exceeded *limit.ExceededError
			require.ErrorAs(t, err, &exceeded)
			require.Equal(t, []any{c.want.Limit, c.want.Most}, []any{exceeded.Limit, exceeded.Most})
		})
	}
	t.Run("before those of a method that all providers have", func(t *testing.T) {
		for _, own := range []map[string]uint64{{"fuel": 1 << 10, "answer-time": 1e12}, {"fuel": 1 << 40, "answer-time": 1e6}} {
			_, err := provideWith(t, h, spins, own).GetSchema(t.Context(), abi.GetSchemaRequest{})
			var exceeded *limit.ExceededError
			require.ErrorAs(t, err, &exceeded)
			require.Equal(t, own[exceeded.Info().Name], exceeded.Most)
		}
	})
	t.Run("less than it begins with", func(t *testing.T) {
		_, err := provideWith(t, h, grows, map[string]uint64{"memory": 65536}).GetMapping(t.Context(), abi.GetMappingRequest{})
		require.EqualError(t, err, "hand: start (policy): it was refused more memory than the 64 KiB that it may have; the option WithMemoryLimit sets the limit")
	})
}

func TestLimitsThatAProviderCannotHave(t *testing.T) {
	h := newHost(t, host.NewConfig().WithMemoryLimit(1<<20))
	module, err := h.LoadBytes(t.Context(), assembly{}.wasm())
	require.NoError(t, err)
	for name, want := range map[string]string{
		"patience":       `there is no limit "patience"`,
		"stack":          `the limit "stack" cannot be set for one provider`,
		"total-memory":   `the limit "total-memory" cannot be set for one provider`,
		"module-size":    `the limit "module-size" cannot be set for one provider`,
		"table-elements": `the limit "table-elements" cannot be set for one provider`,
		"memory":         `the limit "memory" is 2097152 bytes, and that of the host is 1048576`,
	} {
		_, err := module.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Limits: map[string]uint64{name: 2 << 20}})
		require.EqualError(t, err, "the limits of the provider hand: "+want)
	}
	_, err = module.NewProvider(t.Context(), host.ProviderOptions{Name: "hand", Limits: map[string]uint64{"fuel": 0}})
	require.EqualError(t, err, `the limits of the provider hand: the limit "fuel" cannot be 0`)
}

// A guest is refused what it may not have when it asks, and the error is of that, however much
// it has at its end.
func TestWhatWasRefusedIsTheReason(t *testing.T) {
	page := code("\x41\x01\x40\x00" + drop)
	ask := func(pages int32) code { return i32Const(pages) + "\x40\x00" + drop }
	small := host.NewConfig().WithMemoryLimit(2 << 20)
	for name, c := range map[string]struct {
		body    code
		refused uint64 // 0 for nothing
	}{
		"one large piece, with little in use":   {ask(1000) + unreachable, 1002 * 65536},
		"more than there are addresses for":     {ask(-1) + unreachable, 0},
		"nearly all in use, and nothing wanted": {code(strings.Repeat(string(page), 30)) + unreachable, 0},
		"more, and then it went on":             {ask(1000) + page + unreachable, 1002 * 65536},
	} {
		t.Run(name, func(t *testing.T) {
			p := assemble(t, newHost(t, small), assembly{bodies: map[string]code{"get-mapping": c.body, "get-mappings": unreachable}})
			_, err := p.GetMapping(t.Context(), abi.GetMappingRequest{})
			require.ErrorIs(t, err, abi.ErrCrashed)
			var exceeded *limit.ExceededError
			if c.refused == 0 {
				require.NotErrorAs(t, err, &exceeded)
				return
			}
			require.ErrorAs(t, err, &exceeded)
			require.Equal(t, []any{limit.Memory, uint64(2 << 20), c.refused}, []any{exceeded.Limit, exceeded.Most, exceeded.Needed})
			require.GreaterOrEqual(t, exceeded.Enough(), c.refused)
			require.ErrorContains(t, err, "\nit was refused more memory than the 2 MiB that it may have; the option WithMemoryLimit sets the limit")

			_, err = p.GetMappings(t.Context(), abi.GetMappingsRequest{})
			require.NotErrorAs(t, err, &exceeded, "it is the reason for the call alone")
		})
	}
}

func TestARecursionWithoutEnd(t *testing.T) {
	var a assembly
	for index, e := range a.world.ExportTable() {
		if strings.HasPrefix(e.Name, "husk:") && strings.HasSuffix(e.Name, "#get-mapping") {
			call := code("")
			for range e.Signature.Params {
				call += i32Const(0)
			}
			a.bodies = map[string]code{"get-mapping": call + callFunc(index) + unreachable}
		}
	}
	for want, config := range map[string]host.Config{
		"its functions called each other deeper than the 50000000 bytes of stack allow": host.NewConfig(),
		"more than 2000 of its functions called each other":                             host.NewConfig().WithInterpreter(),
	} {
		_, err := assemble(t, newHost(t, config), a).GetMapping(t.Context(), abi.GetMappingRequest{})
		require.ErrorIs(t, err, abi.ErrCrashed)
		var exceeded *limit.ExceededError
		require.ErrorAs(t, err, &exceeded)
		require.ErrorContains(t, err, "the provider crashed: stack overflow")
		require.ErrorContains(t, err, "\n"+want+", which mostly is a recursion without end; the limit is fixed")
	}
}

// A guest that crashes for want of room in a table says so, unless another call was refused it.
func TestAGuestThatIsRefusedTableElements(t *testing.T) {
	grow := func(elements int32) code { return "\xd0\x70" + i32Const(elements) + "\xfc\x0f\x00" + drop }
	for _, limits := range []uint32{10, 1000} {
		p := assemble(t, newHost(t, host.NewConfig().WithTableElements(limits)), assembly{
			table:  true,
			bodies: map[string]code{"get-schema": grow(500) + returns(answer), "get-mapping": unreachable, "get-mappings": grow(500) + unreachable},
			data:   map[uint32]string{answer: words(0, contents, 0)},
		})
		_, err := schema(t.Context(), p)
		require.NoError(t, err)
		var exceeded *limit.ExceededError
		_, err = p.GetMapping(t.Context(), abi.GetMappingRequest{})
		require.Error(t, err)
		require.NotErrorAs(t, err, &exceeded)
		_, err = p.GetMappings(t.Context(), abi.GetMappingsRequest{})
		require.Equal(t, limits == 10, errors.As(err, &exceeded), "%v", err)
		if limits == 10 {
			require.ErrorContains(t, err, "\nit was refused more table elements than the 10 that it may have; the option WithTableElements sets the limit")
			require.Equal(t, limit.ExceededError{Limit: limit.TableElements, Most: 10}, *exceeded)
		}
	}
}

// A guest that can open no more files answers an error of its own, and that says why.
func TestAGuestThatCannotOpenMoreFiles(t *testing.T) {
	dir := t.TempDir()
	p := provide(t, newHost(t, host.NewConfig().WithOpenFiles(5)), host.ProviderOptions{Grants: host.Grants{FS: []host.FSGrant{{HostPath: dir, GuestPath: "/data", ReadWrite: true}}}})
	mustDo(t, p, "write", "/data/file", "")
	mustDo(t, p, "open", "/data/file", "5")
	e := failure(t, p, "open", "/data/file", "6")
	require.ErrorContains(t, e, "\nit was refused more than the 5 files and connections that it may have open; the option WithOpenFiles sets the limit")
	var exceeded *limit.ExceededError
	require.ErrorAs(t, e, &exceeded)
	require.Equal(t, limit.ExceededError{Limit: limit.OpenFiles, Most: 5}, *exceeded)
	e = failure(t, p, "fail", "for another reason")
	require.NotErrorAs(t, e, &exceeded)
}

// The program in which a host is can say what its user is to do, who knows no package of Go.
func TestErrorsAreInTheWordsOfTheProgram(t *testing.T) {
	advice := func(name string, e limit.ExceededError) string {
		return fmt.Sprintf("ask for %s=%s for %q", e.Info().Name, e.Info().Format(e.Enough()), name)
	}
	config := host.NewConfig().WithAdvice(advice).WithCancelGrace(time.Millisecond)
	for want, c := range map[string]struct {
		config host.Config
		body   code
	}{
		`it used more than the 1000 units of fuel that it may use; ask for fuel=2000 for "hand"`:       {config.WithFuel(1000), forever + unreachable},
		`it took longer than the 1ms that it may take; ask for answer-time=2ms for "hand"`:             {config.WithCallTimeout(time.Millisecond), forever + unreachable},
		`it was refused more memory than the 2 MiB that it may have; ask for memory=64 MiB for "hand"`: {config.WithMemoryLimit(2 << 20), i32Const(1000) + "\x40\x00" + drop + unreachable},
		`it crashed 1 times within 1m0s and is in quarantine, so that it is not called any more; ask for crashes=2 for "hand"; the last crash: `: {
			config.WithQuarantine(1, time.Minute), unreachable},
	} {
		p := assemble(t, newHost(t, c.config), assembly{bodies: map[string]code{"get-mapping": c.body}})
		_, err := p.GetMapping(t.Context(), abi.GetMappingRequest{})
		if strings.Contains(want, "crashed") {
			_, err = p.GetMapping(t.Context(), abi.GetMappingRequest{})
		}
		require.ErrorContains(t, err, want)
		require.NotRegexp(t, `option With|Readmit`, err.Error())
	}

	wasm := assembly{pages: 20}.wasm()
	for want, config := range map[string]host.Config{
		"the limit is 100; ask for module-size=" + strconv.Itoa(enough(100, len(wasm))) + ` bytes for ""`: config.WithModuleSize(100),
		`; ask for memory=2 MiB for ""`:     config.WithMemoryLimit(1 << 20),
		`; ask for module-functions=`:       withLimit(t, config, "module-functions", 3),
		`; ask for compile-time=2ns for ""`: config.WithCompileTime(1),
	} {
		_, err := newHost(t, config).LoadBytes(t.Context(), wasm)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "option With")
	}
}

func enough(most, needed int) int {
	for most *= 2; most < needed; {
		most *= 2
	}
	return most
}
