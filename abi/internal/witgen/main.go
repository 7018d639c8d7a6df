// Command witgen reads the contract in wit/ and writes the Go code that follows from it: the
// types and calls of package abi, the codecs and tables of abi/canon, and the guest's shims.
// Run it with `go generate ./abi`; its argument is the root of the repository. With more, it writes only the C header of an engine, to
// the file that is the second one, with the exports of the worlds that follow.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"go.bytecodealliance.org/wit"
)

func main() {
	if len(os.Args) < 2 || len(os.Args) == 3 {
		fmt.Fprintln(os.Stderr, "usage: witgen <root of the repository> [<C header> <world>...]")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]...); err != nil {
		fmt.Fprintln(os.Stderr, "witgen:", err)
		os.Exit(1)
	}
}

func run(root string, header ...string) error {
	if len(header) > 0 {
		text, err := generateCHeader(root, header[1:]...)
		if err != nil {
			return err
		}
		return os.WriteFile(header[0], text, 0o644)
	}
	files, err := generate(root)
	if err != nil {
		return err
	}
	for name, data := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the contents of every generated file, by its path below root.
func generate(root string) (map[string][]byte, error) {
	resolve, err := load(root)
	if err != nil {
		return nil, err
	}
	return generateFrom(resolve)
}

// generateCHeader returns the header of an engine that can be a module of the worlds. It is not committed: the engine's build makes it.
func generateCHeader(root string, worlds ...string) ([]byte, error) {
	c, err := contractOf(root)
	if err != nil {
		return nil, err
	}
	return writeCHeader(c, worlds, "log", "control", "http", "assets", "kv", "monitor")
}

func contractOf(root string) (*contract, error) {
	resolve, err := load(root)
	if err != nil {
		return nil, err
	}
	return newContract(resolve)
}

func load(root string) (*wit.Resolve, error) {
	// The WIT parser runs in a sandbox of its own, which knows absolute paths only.
	dir, err := filepath.Abs(filepath.Join(root, "wit"))
	if err != nil {
		return nil, err
	}
	return wit.LoadWIT(dir)
}

func generateFrom(resolve *wit.Resolve) (map[string][]byte, error) {
	c, err := newContract(resolve)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	const bindings = "guest-sdk/internal/bindings/"
	for _, f := range []struct {
		path, pkg, tag string
		write          func(*contract, *source)
	}{
		{"abi/types_gen.go", "abi", "", writeTypes("types")},
		{"abi/provider_gen.go", "abi", "", writeTypes("provider")},
		{"abi/host_gen.go", "abi", "", writeTypes("log", "control", "http", "tcp", "files", "assets", "kv")},
		{"abi/monitor_gen.go", "abi", "", writeTypes("monitor")},
		{"abi/policy_gen.go", "abi", "", writeTypes("policy")},
		{"abi/program_gen.go", "abi", "", writeTypes("program")},
		{"abi/unimplemented_gen.go", "abi", "", writeUnimplemented},
		{"abi/canon/codec_gen.go", "canon", "", writeCodec},
		{"abi/canon/function_gen.go", "canon", "", writeFunctions},
		{"abi/canon/client_gen.go", "canon", "", writeClients},
		{"abi/canon/server_gen.go", "canon", "", writeServers},
		{"abi/canon/canontest/echo_gen.go", "canontest", "", writeEcho},
		{bindings + "provider/exports_gen.go", "provider", "wasip1", writeExports("provider")},
		{bindings + "policy/exports_gen.go", "policy", "wasip1", writeExports("policy")},
		{bindings + "program/exports_gen.go", "program", "wasip1", writeExports("program")},
		{bindings + "imports_gen.go", "bindings", "wasip1", writeImports},
		{"abi/calls_gen.go", "abi", "", writeCalls},
	} {
		s := &source{}
		f.write(c, s)
		if files[f.path], err = s.file(f.pkg, f.tag); err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
	}
	return files, nil
}
