package meter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/internal/wasm/meter"
	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// suites is where wazero keeps the standard's tests, as modules and JSON.
var suites = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	return filepath.Join(strings.TrimSpace(string(out)), "internal", "integration_test", "spectest"), err
})

func suite(t testing.TB, elements ...string) string {
	t.Helper()
	dir, err := suites()
	require.NoError(t, err)
	return filepath.Join(append([]string{dir}, elements...)...)
}

// script is one file of the standard's tests. The format is that of wast2json.
type script struct {
	Commands []command `json:"commands"`
}

type command struct {
	Type       string  `json:"type"`
	Line       int     `json:"line"`
	Name       string  `json:"name"`
	Filename   string  `json:"filename"`
	As         string  `json:"as"`
	Action     action  `json:"action"`
	Expected   []value `json:"expected"`
	ModuleType string  `json:"module_type"`
	Text       string  `json:"text"`
}

type action struct {
	Type   string  `json:"type"`
	Module string  `json:"module"`
	Field  string  `json:"field"`
	Args   []value `json:"args"`
}

// engines are the two that there are.
var engines = map[string]func() wazero.RuntimeConfig{
	"compiler":    wazero.NewRuntimeConfigCompiler,
	"interpreter": wazero.NewRuntimeConfigInterpreter,
}

// TestTheStandardsTestsPassOnMeteredModules runs all that wazero has of the standard's
// tests of WebAssembly 2.0, with every module rewritten and 1000 units of fuel at a time. On the
// interpreter, the memories are laid out as a host does it.
func TestTheStandardsTestsPassOnMeteredModules(t *testing.T) {
	files, err := filepath.Glob(suite(t, "v2", "testdata", "*.json"))
	require.NoError(t, err)
	require.Greater(t, len(files), 100)
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			interpreted := name == "interpreter"
			var passed, refills, detached int
			for i, file := range files {
				if testing.Short() && i%4 != 0 {
					continue
				}
				t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
					p := newPlay(t, engine())
					p.detach = interpreted
					p.run(t, file)
					passed += p.passed
					refills += p.refills
					detached += p.detached
				})
			}
			t.Logf("%d assertions, %d refills, %d detached modules", passed, refills, detached)
			if testing.Short() {
				return
			}
			require.Greater(t, passed, 40_000)
			require.Greater(t, refills, 1_000)
			if interpreted {
				require.Greater(t, detached, 200)
			}
		})
	}
}

// play runs the commands of a script.
type play struct {
	runtime wazero.Runtime
	dir     string
	named   map[string]api.Module
	last    api.Module
	// passed counts assertions, refills how often fuel ran out.
	passed, refills int
	// detach lays out memories where that can be done, for the detached modules.
	detach   bool
	detached int
}

func newPlay(t *testing.T, config wazero.RuntimeConfig) *play {
	t.Helper()
	ctx := t.Context()
	p := &play{runtime: wazero.NewRuntimeWithConfig(ctx, config), named: map[string]api.Module{}}
	t.Cleanup(func() { require.NoError(t, p.runtime.Close(context.Background())) })
	_, err := p.runtime.NewHostModuleBuilder(meter.Module).NewFunctionBuilder().
		WithFunc(func(int64) int64 { p.refills++; return 1000 }).Export(meter.Refill).Instantiate(ctx)
	require.NoError(t, err)
	helper, err := os.ReadFile(suite(t, "testdata", "spectest.wasm"))
	require.NoError(t, err)
	_, err = p.instantiate(ctx, helper, "spectest")
	require.NoError(t, err)
	return p
}

func (p *play) instantiate(ctx context.Context, wasm []byte, name string) (api.Module, error) {
	module, err := wasmfile.Read(wasm, wasmfile.DefaultLimits())
	if err != nil {
		return nil, err
	}
	// Memories and tables stay as they are: modules import them from each other by
	// their limits.
	options := meter.Options{Detach: p.detach && meter.Detachable(module)}
	metered, err := meter.Rewrite(module, options)
	if err != nil {
		return nil, err
	}
	instance, err := p.runtime.InstantiateWithConfig(ctx, metered, wazero.NewModuleConfig().WithName(name))
	if err != nil || !options.Detach {
		return instance, err
	}
	p.detached++
	memory, _ := instance.Memory().Read(0, instance.Memory().Size())
	meter.Lay(module, memory)
	if start := instance.ExportedFunction(meter.Start); start != nil {
		_, err = start.Call(ctx)
	}
	return instance, err
}

func (p *play) run(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var s script
	require.NoError(t, json.Unmarshal(text, &s))
	p.dir = filepath.Dir(file)
	for i, c := range s.Commands {
		as := ""
		if i+1 < len(s.Commands) && s.Commands[i+1].Type == "register" {
			as = s.Commands[i+1].As
		}
		p.command(t, c, as)
	}
}

func (p *play) command(t *testing.T, c command, as string) {
	where := fmt.Sprintf("line %d: %s %s %s", c.Line, c.Type, c.Filename, c.Action.Field)
	if c.ModuleType == "text" || strings.HasSuffix(c.Filename, ".wat") {
		return // it is about the text format
	}
	switch c.Type {
	case "register": // done with the module before
	case "module":
		module, err := p.instantiate(t.Context(), p.read(t, c), as)
		require.NoError(t, err, where)
		p.last = module
		if c.Name != "" {
			p.named[c.Name] = module
		}
	case "assert_return", "action":
		got, types, err := p.act(t.Context(), c.Action)
		require.NoError(t, err, where)
		require.NoError(t, compare(c.Expected, got, types), where)
		p.passed++
	case "assert_trap", "assert_exhaustion":
		_, _, err := p.act(t.Context(), c.Action)
		require.ErrorContains(t, err, reason(c.Text), where)
		p.passed++
	case "assert_malformed", "assert_invalid", "assert_unlinkable", "assert_uninstantiable":
		_, err := p.instantiate(t.Context(), p.read(t, c), "")
		// wazero keeps a module whose table segments do not fit.
		if c.Type == "assert_uninstantiable" && c.Text == "out of bounds table access" {
			require.NoError(t, err, where)
		} else {
			require.Error(t, err, where)
		}
		p.passed++
	default:
		t.Fatalf("%s: an unknown command", where)
	}
}

func (p *play) read(t *testing.T, c command) []byte {
	wasm, err := os.ReadFile(filepath.Join(p.dir, c.Filename))
	require.NoError(t, err)
	return wasm
}

func (p *play) act(ctx context.Context, a action) ([]uint64, []api.ValueType, error) {
	module := p.last
	if a.Module != "" {
		module = p.named[a.Module]
	}
	if a.Type == "get" {
		global := module.ExportedGlobal(a.Field)
		return []uint64{global.Get()}, []api.ValueType{global.Type()}, nil
	}
	function := module.ExportedFunction(a.Field)
	var args []uint64
	for _, arg := range a.Args {
		args = append(args, arg.bits()...)
	}
	results, err := function.Call(ctx, args...)
	return results, function.Definition().ResultTypes(), err
}

// reason is what wazero says of a trap.
func reason(text string) string {
	for prefix, message := range map[string]string{
		"out of bounds memory access": "out of bounds memory access",
		"indirect call":               "indirect call type mismatch",
		"undefined":                   "invalid table access",
		"out of bounds table access":  "invalid table access",
		"uninitialized":               "invalid table access",
		"integer overflow":            "integer overflow",
		"invalid conversion":          "invalid conversion to integer",
		"integer divide by zero":      "integer divide by zero",
		"unreachable":                 "unreachable",
		"call stack exhausted":        "stack overflow",
	} {
		if strings.HasPrefix(text, prefix) {
			return message
		}
	}
	return text
}
