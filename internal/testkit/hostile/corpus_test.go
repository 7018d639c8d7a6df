// Package hostile_test runs the modules and inputs of testdata/hostile, whose README says
// what they are for. Each module tells in a comment what it does and how that must end.
package hostile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/canon"
)

const corpus = "../../../testdata/hostile"

// entry is one module, as its comment describes it.
type entry struct {
	file string
	// attack is what it does, for people.
	attack string
	// lines are those of the list in the README.
	lines []int
	bounds
	// refused is why it cannot be loaded, empty if it can.
	refused string
	// endless is where it never ends unless it is ended; a method, or start.
	endless string
	steps   []step
}

// bounds are what a module may use up while it does its harm. What is above that is the
// host's failure.
type bounds struct {
	fuel  uint64 // of each call
	pages uint32 // of memory
	calls uint64 // of the host, in each call
}

// step is one call with its outcome.
type step struct{ method, outcome string }

// usual is what an entry may use that says nothing else.
var usual = bounds{fuel: 10_000_000, pages: 64, calls: 10_000}

// entries reads all modules.
func entries(t testing.TB) (all []entry) {
	files, err := filepath.Glob(filepath.Join(corpus, "*.wat"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		e := entry{file: filepath.Base(file), bounds: usual}
		require.NoError(t, e.describe(string(text)), e.file)
		all = append(all, e)
	}
	return all
}

// assemble returns the module in a file. More fields may replace @input in it.
func assemble(t testing.TB, file string, input ...string) []byte {
	text, err := os.ReadFile(filepath.Join(corpus, file))
	require.NoError(t, err)
	wasm, err := assembleText(string(text), map[string]include{
		"provider": providerFields,
		"input":    func(func(string) bool) string { return strings.Join(input, "\n") },
	})
	require.NoError(t, err, file)
	return wasm
}

// describe reads the comment: what the module does, and after an empty line the keys.
func (e *entry) describe(text string) error {
	var keys bool
	for line := range strings.Lines(text) {
		content, ok := strings.CutPrefix(strings.TrimSpace(line), ";;")
		if !ok {
			break
		}
		content = strings.TrimSpace(content)
		switch {
		case content == "":
			keys = true
		case !keys:
			e.attack += content + " "
		default:
			key, value, _ := strings.Cut(content, ": ")
			if err := e.set(key, value); err != nil {
				return fmt.Errorf("%s: %w", content, err)
			}
		}
	}
	if e.attack == "" || len(e.lines) == 0 {
		return fmt.Errorf("the comment does not say what the module does, or for which line of the list")
	}
	return nil
}

func (e *entry) set(key, value string) (err error) {
	number := func(bits int) uint64 {
		var v uint64
		v, err = strconv.ParseUint(strings.ReplaceAll(value, ",", ""), 10, bits)
		return v
	}
	switch key {
	case "list":
		for part := range strings.SplitSeq(value, ", ") {
			line, err := strconv.Atoi(part)
			if err != nil {
				return err
			}
			e.lines = append(e.lines, line)
		}
	case "fuel":
		e.fuel = number(64)
	case "pages":
		e.pages = uint32(number(32))
	case "calls":
		e.calls = number(64)
	case "endless":
		e.endless = value
	case "refused":
		e.refused = value
	default:
		if methods[key] == nil {
			return fmt.Errorf("there is no key or method %q", key)
		}
		e.steps = append(e.steps, step{key, value})
	}
	return err
}

// providerFields writes what every provider must have and the module has not: types for
// methods and imports, a memory, an allocator, and methods, which trap.
func providerFields(exported func(string) bool) string {
	var b strings.Builder
	exports := canon.WorldProvider.ExportTable()
	fmt.Fprintf(&b, "(type $release %s)\n", typeText(canon.Signature{Params: []byte{canon.I32}}))
	for _, e := range exports {
		if _, method, ok := strings.Cut(e.Name, "#"); ok && !strings.HasPrefix(e.Name, "cabi_") {
			fmt.Fprintf(&b, "(type $%s %s)\n", method, typeText(e.Signature))
		}
	}
	for _, i := range canon.ImportTable() {
		iface, _, _ := strings.Cut(strings.TrimPrefix(i.Module, canon.Package+"/"), "@")
		fmt.Fprintf(&b, "(type $%s.%s %s)\n", iface, i.Name, typeText(i.Signature))
	}
	if !exported("memory") {
		b.WriteString(`(memory (export "memory") 2)` + "\n")
	}
	// Requests are put into the second page, from its beginning for each call.
	b.WriteString("(global $heap (mut i32) (i32.const 0x10000))\n")
	for _, e := range exports {
		if exported(e.Name) {
			continue
		}
		body := "unreachable"
		switch {
		case e.Name == "cabi_realloc":
			body = `
				(global.set $heap (i32.and
					(i32.add (global.get $heap) (i32.sub (local.get 2) (i32.const 1)))
					(i32.sub (i32.const 0) (local.get 2))))
				(global.get $heap)
				(global.set $heap (i32.add (global.get $heap) (local.get 3)))`
		case strings.HasPrefix(e.Name, "cabi_"):
			body = "(global.set $heap (i32.const 0x10000))"
		}
		fmt.Fprintf(&b, "(func (export %q) %s %s)\n", e.Name, strings.TrimSuffix(strings.TrimPrefix(typeText(e.Signature), "(func "), ")"), body)
	}
	return b.String()
}

func typeText(s canon.Signature) string {
	names := map[byte]string{canon.I32: " i32", canon.I64: " i64", canon.F64: " f64"}
	text := "(func (param"
	for _, t := range s.Params {
		text += names[t]
	}
	text += ") (result"
	for _, t := range s.Results {
		text += names[t]
	}
	return text + "))"
}
