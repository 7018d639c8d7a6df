package host_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

func TestMain(m *testing.M) { testmodule.Main(m) }

// probe builds testdata/probe.
func probe(t testing.TB) string {
	t.Helper()
	return testmodule.File(t, "testdata/probe")
}

// newHost makes a host that shares the tests' cache.
func newHost(t *testing.T, config host.Config) *host.Host {
	t.Helper()
	return testmodule.Host(t, config)
}

// provide loads the probe and shakes hands.
func provide(t *testing.T, h *host.Host, options host.ProviderOptions) *host.Provider {
	t.Helper()
	module, err := h.Load(t.Context(), probe(t))
	require.NoError(t, err)
	options.Name = "probe"
	p, err := module.NewProvider(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	response, err := p.Handshake(t.Context(), abi.HandshakeRequest{Engine: "test"})
	require.NoError(t, err)
	require.Equal(t, "probe", response.Name)
	require.Equal(t, "1.2.3", response.Version)
	return p
}

// done is the answer of the probe's function.
type done struct {
	answer, instance string
	served           float64
}

// do calls the probe's function.
func do(ctx context.Context, p abi.Provider, what string, args ...string) (done, error) {
	return doOf(ctx, p, "probe", what, args...)
}

// doOf calls the function of a package that the probe serves.
func doOf(ctx context.Context, p abi.Provider, pkg, what string, args ...string) (done, error) {
	list := make([]property.Value, len(args))
	for i, arg := range args {
		list[i] = property.String(arg)
	}
	response, err := p.Invoke(ctx, abi.InvokeRequest{Token: pkg + ":index:do", Args: property.MapOf(map[string]property.Value{
		"what": property.String(what), "args": property.Array(list...),
	})})
	if err != nil {
		return done{}, err
	}
	var d done
	d.answer, _ = response.Result.Get("answer").AsString()
	d.instance, _ = response.Result.Get("instance").AsString()
	d.served, _ = response.Result.Get("served").AsNumber()
	return d, nil
}

func mustDo(t *testing.T, p abi.Provider, what string, args ...string) done {
	t.Helper()
	d, err := do(t.Context(), p, what, args...)
	require.NoError(t, err)
	return d
}

// failure calls the probe's function and answers its error, which must name the probe.
func failure(t *testing.T, p abi.Provider, what string, args ...string) *abi.Error {
	t.Helper()
	_, err := do(t.Context(), p, what, args...)
	require.Error(t, err)
	e := err.(*abi.Error)
	require.Equal(t, "probe", e.Provider)
	require.Equal(t, "1.2.3", e.Version)
	require.Equal(t, "invoke", e.Method)
	return e
}

// records collects log records as lines of text without their time.
type records struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.Write(p)
}

func (r *records) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(r, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}

func (r *records) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Split(strings.TrimSuffix(r.out.String(), "\n"), "\n")
}

// stoppedClock stands at one moment.
type stoppedClock struct{ host.Clock }

func (stoppedClock) Now() time.Time { return time.Date(2020, 2, 2, 2, 2, 2, 0, time.UTC) }

// assembly describes a module that tests write by hand, a provider unless it says
// otherwise. Its functions trap unless there is a body for them; the release functions do
// nothing, and cabi_realloc takes memory from address 16384 on.
type assembly struct {
	world canon.World
	// version replaces that of the contract in the names of the exports.
	version string
	imports []importEntry
	// bodies are the code of exports, by the WIT names of methods, or by whole names.
	// Exports that the contract does not have are functions of no parameters.
	bodies map[string]code
	// start is the code of the start function.
	start code
	// without names exports that are left out.
	without []string
	// mistyped is an export that gets a type of its own.
	mistyped string
	// pages is the memory's minimum; 0 stands for 2.
	pages uint64
	// data is put into memory at these addresses.
	data map[uint32]string
	// memory is the name under which the memory is exported.
	memory string
	// table adds an empty table of functions.
	table bool
}

type importEntry struct {
	module, name string
	signature    canon.Signature
}

// code is the instructions of a function, without its end. Code may use the global 1,
// a counter.
type code string

// Instructions.
const (
	unreachable = code("\x00")
	nop         = code("\x01")
	drop        = code("\x1a")
)

func i32Const(v int32) code { return code("\x41" + sleb(int64(v))) }

func callFunc(index int) code { return code("\x10" + uleb(uint64(index))) }

// count adds one to the counter and leaves its value.
const count = code("\x23\x01\x41\x01\x6a\x24\x01\x23\x01")

// choose leaves a if the value on the stack is at most limit, b otherwise.
func choose(limit, a, b int32) code {
	return i32Const(limit) + "\x4d\x04\x7f" + i32Const(a) + "\x05" + i32Const(b) + "\x0b"
}

// bump is the body of cabi_realloc: align up the global 0, and move it on.
const bump = code("\x23\x00\x20\x02\x6a\x41\x01\x6b\x41\x00\x20\x02\x6b\x71\x24\x00\x23\x00\x23\x00\x20\x03\x6a\x24\x00")

func uleb(v uint64) string { return string(binary.AppendUvarint(nil, v)) }

func sleb(v int64) string {
	var b []byte
	for {
		low := byte(v & 0x7f)
		v >>= 7
		if v == 0 && low&0x40 == 0 || v == -1 && low&0x40 != 0 {
			return string(append(b, low))
		}
		b = append(b, low|0x80)
	}
}

func vector[T any](items []T, each func(T) string) string {
	var b strings.Builder
	b.WriteString(uleb(uint64(len(items))))
	for _, item := range items {
		b.WriteString(each(item))
	}
	return b.String()
}

func text(s string) string { return uleb(uint64(len(s))) + s }

// wasm assembles the module.
func (a assembly) wasm() []byte {
	type function struct {
		name string
		canon.Signature
		body code
	}
	var functions []function
	prefix := map[canon.World]string{
		canon.WorldProvider: "husk:provider/provider@" + canon.Version, canon.WorldPolicy: "husk:policy/policy@" + canon.PolicyVersion,
		canon.WorldProgram: "husk:program/program@" + canon.ProgramVersion,
	}[a.world] + "#"
	rest := maps.Clone(a.bodies)
	for _, export := range a.world.ExportTable() {
		if slices.Contains(a.without, export.Name) {
			continue
		}
		f := function{name: export.Name, Signature: export.Signature, body: unreachable}
		switch {
		case f.name == "cabi_realloc":
			f.body = bump
		case strings.HasPrefix(f.name, "cabi_post_"):
			f.body = nop
		}
		for _, name := range []string{f.name, strings.TrimPrefix(f.name, prefix)} {
			if body, ok := rest[name]; ok {
				f.body = body
				delete(rest, name)
			}
		}
		if f.name == a.mistyped {
			f.Signature = canon.Signature{Params: []byte{canon.F64}}
			f.body = nop
		}
		if a.version != "" {
			f.name = strings.ReplaceAll(f.name, "@"+canon.Version, "@"+a.version)
		}
		functions = append(functions, f)
	}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		functions = append(functions, function{name: name, body: rest[name]})
	}
	if a.start != "" {
		functions = append(functions, function{body: a.start})
	}

	var types []string
	typeOf := func(s canon.Signature) string {
		t := "\x60" + text(string(s.Params)) + text(string(s.Results))
		at := slices.Index(types, t)
		if at < 0 {
			at = len(types)
			types = append(types, t)
		}
		return uleb(uint64(at))
	}
	importSection := vector(a.imports, func(i importEntry) string {
		return text(i.module) + text(i.name) + "\x00" + typeOf(i.signature)
	})
	functionSection := vector(functions, func(f function) string { return typeOf(f.Signature) })
	pages, memory := a.pages, a.memory
	if pages == 0 {
		pages = 2
	}
	if memory == "" {
		memory = "memory"
	}
	exports := []string{text(memory) + "\x02\x00"}
	for n, f := range functions {
		if f.name != "" {
			exports = append(exports, text(f.name)+"\x00"+uleb(uint64(len(a.imports)+n)))
		}
	}
	codeSection := vector(functions, func(f function) string { return text("\x00" + string(f.body) + "\x0b") })
	addresses := slices.Sorted(maps.Keys(a.data))
	dataSection := vector(addresses, func(at uint32) string {
		return "\x00" + string(i32Const(int32(at))) + "\x0b" + text(a.data[at])
	})

	out := "\x00asm\x01\x00\x00\x00"
	section := func(id byte, content string) { out += string(id) + text(content) }
	identity := func(s string) string { return s }
	section(1, vector(types, identity))
	section(2, importSection)
	section(3, functionSection)
	if a.table {
		section(4, "\x01\x70\x00\x00")
	}
	section(5, "\x01\x00"+uleb(pages))
	section(6, "\x02\x7f\x01"+string(i32Const(16384))+"\x0b\x7f\x01"+string(i32Const(0))+"\x0b")
	section(7, vector(exports, identity))
	if a.start != "" {
		section(8, uleb(uint64(len(a.imports)+len(functions)-1)))
	}
	section(10, codeSection)
	section(11, dataSection)
	return []byte(out)
}

// words are little-endian 32-bit numbers in memory.
func words(values ...uint32) string {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return string(b)
}
