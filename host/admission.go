package host

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/host/internal/wasi"
	"github.com/husk-dev/husk/internal/meter"
	"github.com/husk-dev/husk/internal/wasmfile"
)

// Reasons why a file is no module that could be run at all. Further ones are
// *[SizeError], *[FormatError], *[LimitError], *[UnsupportedError], *[ImportError],
// *[MemoryError], *[ReservedError], *canon.VersionError, and *canon.SignatureError; all
// of them come inside a *[LoadError].
var (
	// ErrNotWasm is a file that is no WebAssembly module.
	ErrNotWasm = wasmfile.ErrNotWasm
	// ErrTruncated is a module that is cut off.
	ErrTruncated = wasmfile.ErrTruncated
	// ErrComponent is a component of the component model.
	ErrComponent = wasmfile.ErrComponent
	// ErrNotProvider is a module that exports neither the interface of a provider nor that of a
	// policy pack.
	ErrNotProvider = canon.ErrNotProvider
	// ErrCommand is a module with a main function that runs once.
	ErrCommand = errors.New("the module is a command, not a provider: build it with `husk provider build`, or with -buildmode=c-shared")
)

type (
	// FormatError is a module that is malformed.
	FormatError = wasmfile.FormatError
	// LimitError is a module with too many, or too much, of something.
	LimitError = wasmfile.LimitError
	// UnsupportedError is a module that uses what is not part of WebAssembly 2.0.
	UnsupportedError = wasmfile.UnsupportedError
	// ReservedError is a module that uses a name of the host's own.
	ReservedError = meter.ReservedError
	// ModuleLimits caps what a module may hold.
	ModuleLimits = wasmfile.Limits
)

// DefaultModuleLimits leave room above the largest modules that are known.
func DefaultModuleLimits() ModuleLimits { return wasmfile.DefaultLimits() }

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
	// World is what the module is, by what it exports.
	World canon.World
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
	// Contents is what the module is made of.
	Contents Contents
}

// Contents counts what a module is made of.
type Contents struct {
	// Functions and Globals are those that the module defines.
	Functions, Globals int
	// LargestFunction is the code of one function in bytes.
	LargestFunction int
	// TableElements is how many elements its tables have at the start.
	TableElements int
	// DataSegments is how many parts of memory have contents at the start.
	DataSegments int
	// CustomSections are the names of the sections that say something about the module.
	CustomSections []string
	// Start is set if code runs as soon as there is an instance.
	Start bool
}

// Inspect tells what is known of a module without compiling it. The error is why it
// would be refused by a host of that configuration; what could be read until then is
// there all the same.
func Inspect(wasm []byte, config Config) (Info, error) {
	_, info, err := admit(wasm, config.withDefaults())
	return info, err
}

// admit checks a module before it is compiled.
func admit(wasm []byte, config Config) (*wasmfile.Module, Info, error) {
	info := Info{Digest: digestOf(wasm), Size: len(wasm)}
	if len(wasm) > config.moduleSize {
		return nil, info, &SizeError{Size: int64(len(wasm)), Limit: int64(config.moduleSize)}
	}
	module, err := wasmfile.Read(wasm, config.moduleLimits)
	if module == nil {
		return nil, info, err
	}
	info.describe(module)
	var manifest error
	info.Manifest, manifest = manifestOf(module)
	if err == nil {
		err = meter.Check(module)
	}
	if err == nil {
		err = info.check(module, config)
	}
	return module, info, cmp.Or(err, manifest)
}

// describe tells what is in the module.
func (info *Info) describe(module *wasmfile.Module) {
	for _, e := range module.Exports {
		if e.Kind == api.ExternTypeFunc {
			info.Exports = append(info.Exports, e.Name)
		}
	}
	slices.Sort(info.Exports)
	for _, i := range module.Imports {
		info.Imports = append(info.Imports, Import{i.Module, i.Name})
	}
	for _, m := range module.Memories {
		info.Memory += uint64(m.Min) * wasmPage
	}
	c := &info.Contents
	c.Functions, c.DataSegments, c.Start = len(module.Bodies), len(module.Segments), module.HasStart
	c.Globals = len(module.Globals) - module.ImportedGlobals
	for _, b := range module.Bodies {
		c.LargestFunction = max(c.LargestFunction, b.End-b.Start)
	}
	for _, t := range module.Tables {
		c.TableElements += int(t.Min)
	}
	for _, custom := range module.Customs {
		c.CustomSections = append(c.CustomSections, custom.Name)
	}
}

// check decides whether the module may be a provider or a policy pack.
func (info *Info) check(module *wasmfile.Module, config Config) error {
	exports := map[string]canon.Signature{}
	memory := false
	for _, e := range module.Exports {
		switch e.Kind {
		case api.ExternTypeFunc:
			exports[e.Name] = canon.Signature(e.Func)
		case api.ExternTypeMemory:
			memory = memory || e.Name == "memory"
		}
	}
	if _, command := exports["_start"]; command {
		return ErrCommand
	}
	var err error
	if info.World, err = canon.CheckExports(exports); err != nil {
		return err
	}
	if !memory {
		return errors.New("the module does not export its memory under the name memory")
	}
	for _, i := range module.Imports {
		if err := checkImport(i); err != nil {
			return err
		}
	}
	if info.Memory > uint64(config.memoryPages())*wasmPage {
		return &MemoryError{Needed: info.Memory, Limit: config.memoryLimit}
	}
	return nil
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
