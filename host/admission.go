package host

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/host/internal/wasi"
	"github.com/husk-dev/husk/host/internal/wasmfile"
)

// Reasons why a file is no module that could be run at all. Further ones are
// *[SizeError], *[ImportError], *[MemoryError], *canon.VersionError, and
// *canon.SignatureError; all of them come inside a *[LoadError].
var (
	// ErrNotWasm is a file that is no WebAssembly module.
	ErrNotWasm = wasmfile.ErrNotWasm
	// ErrTruncated is a module that is cut off.
	ErrTruncated = wasmfile.ErrTruncated
	// ErrComponent is a component of the component model.
	ErrComponent = wasmfile.ErrComponent
	// ErrNotProvider is a module that does not export the interface of a provider.
	ErrNotProvider = canon.ErrNotProvider
	// ErrCommand is a module with a main function that runs once.
	ErrCommand = errors.New("the module is a command, not a provider: build it with `husk provider build`, or with -buildmode=c-shared")
)

// LoadError is a module that was refused.
type LoadError struct {
	// Path is the module's file, empty where it came from memory.
	Path string
	Err  error
}

func (e *LoadError) Error() string {
	// Names from the module are part of some errors: they must not forge lines.
	reason := strings.ReplaceAll(printable(e.Err.Error()), "\n", " ")
	if e.Path == "" {
		return "loading a provider module: " + reason
	}
	return "loading the provider module " + e.Path + ": " + reason
}

func (e *LoadError) Unwrap() error { return e.Err }

// SizeError is a module that is too large. Both sizes are in bytes.
type SizeError struct {
	Size, Limit int64
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("the module takes %d bytes, the limit is %d", e.Size, e.Limit)
}

// MemoryError is a module that needs more memory than an instance may have, in bytes.
type MemoryError struct {
	Needed, Limit uint64
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("the module needs %d MiB of memory to start, the limit is %d MiB", (e.Needed+1<<20-1)>>20, e.Limit>>20)
}

// ImportError is an import that no module may have.
type ImportError struct {
	Module, Name string
}

func (e *ImportError) Error() string {
	return fmt.Sprintf("the module imports %q %q, which is not allowed: a provider may import functions of %s and %s only",
		e.Module, e.Name, wasi.ModuleName, canon.Package+" "+canon.Version)
}

// Import is a function that a module imports.
type Import struct {
	Module, Name string
}

// Info is what is known of a module without running it.
type Info struct {
	// Digest is `sha256:` and the module's hash in hexadecimal.
	Digest string
	// Size is the module's size in bytes.
	Size int
	// Manifest is nil where the module has none.
	Manifest *Manifest
	// Imports are in the order of the module.
	Imports []Import
	// Exports are the names of the exported functions, sorted.
	Exports []string
	// Memory is what the module's memory takes at the start, in bytes.
	Memory uint64
}

// Inspect tells what is known of a module without compiling it. The error is why it
// would be refused; what could be read until then is there all the same.
func Inspect(wasm []byte) (Info, error) { return admit(wasm, NewConfig()) }

// admit checks a module before it is compiled.
func admit(wasm []byte, config Config) (Info, error) {
	info := Info{Digest: digestOf(wasm), Size: len(wasm)}
	outline, err := wasmfile.Read(wasm)
	if err != nil {
		return info, err
	}
	exports := map[string]canon.Signature{}
	memory := false
	for _, e := range outline.Exports {
		switch e.Kind {
		case api.ExternTypeFunc:
			exports[e.Name] = canon.Signature(e.Func)
		case api.ExternTypeMemory:
			memory = memory || e.Name == "memory"
		}
	}
	info.Exports = slices.Sorted(maps.Keys(exports))
	if _, command := exports["_start"]; command {
		return info, ErrCommand
	}
	if err := canon.CheckExports(exports); err != nil {
		return info, err
	}
	if !memory {
		return info, errors.New("the module does not export its memory under the name memory")
	}
	for _, i := range outline.Imports {
		if err := checkImport(i); err != nil {
			return info, err
		}
		info.Imports = append(info.Imports, Import{i.Module, i.Name})
	}
	for _, m := range outline.Memories {
		info.Memory += m.Min * wasmPage
		if m.Min > uint64(config.memoryPages()) {
			return info, &MemoryError{Needed: info.Memory, Limit: config.memoryLimit}
		}
	}
	info.Manifest, err = manifestOf(outline)
	return info, err
}

func checkImport(i wasmfile.Import) error {
	got := canon.Signature(i.Func)
	switch {
	case i.Kind != api.ExternTypeFunc:
	case strings.HasPrefix(i.Module, canon.Package+"/"):
		return canon.CheckImport(i.Module, i.Name, got)
	case i.Module == wasi.ModuleName:
		params, results, ok := wasi.Signature(i.Name)
		if !ok {
			break
		}
		want := canon.Signature{Params: params, Results: results}
		if !slices.Equal(got.Params, params) || !slices.Equal(got.Results, results) {
			return &canon.SignatureError{Name: i.Module + " " + i.Name, Want: &want, Got: &got}
		}
		return nil
	}
	return &ImportError{Module: i.Module, Name: i.Name}
}
