package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/urn"
	"github.com/husk-dev/husk/bench/internal/programs"
)

// guest is a piece of work of a module, with an instance for each variant.
type guest struct {
	name string
	// standard is set for standard Go, and not for what LLVM makes of C and TinyGo.
	standard  bool
	instances [variants]*instance
	run       func(context.Context, *instance) error
}

// module is what guests are in: dir is its source, or wasm the module itself, or file it.
type module struct {
	dir, file string
	wasm      []byte
	guests    []guest
}

// cKernels is the module of c/kernels.c.
//
//go:embed c/kernels.wasm
var cKernels []byte

// modules are all guests. The arguments of kernels make them take some milliseconds.
func modules(wazero string) []module {
	kernel := func(name string, n uint64) guest {
		return guest{name: "Go " + name, standard: true, run: func(ctx context.Context, i *instance) error { return i.call(ctx, name, n) }}
	}
	other := func(language, name string, args ...uint64) guest {
		return guest{name: language + " " + name, run: func(ctx context.Context, i *instance) error { return i.call(ctx, name, args...) }}
	}
	return []module{
		{dir: "bench/metering/kernels", guests: []guest{
			kernel("loop", 1000), kernel("fibonacci", 24), kernel("matrix", 100), kernel("hash", 256),
			kernel("sort", 20_000), kernel("words", 500), kernel("roundtrip", 100), kernel("properties", 300),
		}},
		{dir: "examples/providers/random", guests: []guest{{name: "Go provider random: check and diff", standard: true, run: checkAndDiff}}},
		{dir: "examples/providers/tls", guests: []guest{{name: "Go provider tls: create a key", standard: true, run: createKey}}},
		{file: filepath.Join(wazero, "internal/integration_test/bench/testdata/case.wasm"), guests: []guest{
			other("TinyGo", "fibonacci", 25), other("TinyGo", "string_manipulation", 2000),
			other("TinyGo", "reverse_array", 100_000), other("TinyGo", "random_mat_mul", 100),
		}},
		{wasm: cKernels, guests: []guest{
			other("C", "fibonacci", 25), other("C", "sieve", 1<<20), other("C", "matrix", 100),
			other("C", "sort", 20_000), other("C", "hash", 20_000),
		}},
	}
}

// loadGuests builds all modules and starts their instances.
func loadGuests(ctx context.Context) ([]guest, error) {
	wazero, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		return nil, fmt.Errorf("finding wazero: %w", err)
	}
	var all []guest
	for _, m := range modules(strings.TrimSpace(string(wazero))) {
		wasm := m.wasm
		switch {
		case m.dir != "":
			wasm, err = programs.Module(ctx, m.dir)
		case m.file != "":
			wasm, err = os.ReadFile(m.file)
		}
		if err != nil {
			return nil, err
		}
		var instances [variants]*instance
		for v := range variants {
			if instances[v], err = start(ctx, wasm, v); err != nil {
				return nil, fmt.Errorf("%s%s: %w", m.dir, m.file, err)
			}
		}
		for _, g := range m.guests {
			g.instances = instances
			all = append(all, g)
		}
	}
	return all, nil
}

// checkAndDiff is a Check and a Diff of some 10 KB of inputs.
func checkAndDiff(ctx context.Context, i *instance) error {
	const pet = "random:index/randomPet:RandomPet"
	var keepers []property.Entry
	for n := range 100 {
		keepers = append(keepers, property.Entry{Key: fmt.Sprintf("keeper%03d", n), Value: property.String(strings.Repeat("x", 90))})
	}
	inputs := property.NewMap(
		property.Entry{Key: "length", Value: property.Number(3)},
		property.Entry{Key: "keepers", Value: property.Object(property.NewMap(keepers...))},
	)
	u := urn.New("bench", "metering", "", pet, "pet")
	checked, err := i.provider.Check(ctx, abi.CheckRequest{URN: u, Name: "pet", Type: pet, Olds: &inputs, News: inputs})
	if err != nil {
		return err
	}
	state := inputs.With("id", property.String("a-b-c")).With("separator", property.String("-"))
	_, err = i.provider.Diff(ctx, abi.DiffRequest{
		URN: u, Name: "pet", Type: pet, ID: "a-b-c", Olds: state, News: checked.Inputs, OldInputs: checked.Inputs,
	})
	return err
}

// createKey makes an elliptic key and its forms as text.
func createKey(ctx context.Context, i *instance) error {
	const key = "tls:index/privateKey:PrivateKey"
	_, err := i.provider.Create(ctx, abi.CreateRequest{
		URN: urn.New("bench", "metering", "", key, "key"), Name: "key", Type: key,
		Inputs: property.NewMap(
			property.Entry{Key: "algorithm", Value: property.String("ECDSA")},
			property.Entry{Key: "ecdsaCurve", Value: property.String("P256")},
			property.Entry{Key: "rsaBits", Value: property.Number(2048)},
		),
	})
	return err
}
