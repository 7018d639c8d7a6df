package host

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/host/internal/codecache"
	"github.com/husk-dev/husk/host/internal/image"
	"github.com/husk-dev/husk/internal/wasm/entropy"
	"github.com/husk-dev/husk/internal/wasm/meter"
	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// A cache saves all work on a module's code: admission, rewriting, and wazero's checks. So wazero gets a
// hollow module without code, under whose name the machine code of the whole one is kept.

// recordDetails are the host's knowledge of a module, in its [codecache.Record].
type recordDetails struct {
	Info Info
	// MostMemory is the declared maximum of the module's memory, in bytes.
	MostMemory uint64
	// Globals and Frozen are the fields of [images].
	Globals []string
	Frozen  bool
	// Base is nil if there is no base image; About says why.
	Base    *recordedBase
	About   BaseImage
	Account *entropy.Account
}

type recordedBase struct {
	Globals   []uint64
	Generator uint32
	Elapsed   time.Duration
}

// errIncomplete is a record without something that each module has.
var errIncomplete = errors.New("the record of the module is incomplete")

// complete reports whether the record suffices to call the module.
func (r *recordDetails) complete() bool {
	if !canon.IsWorld(r.Info.World) || r.Base != nil && len(r.Base.Globals) != len(r.Globals) {
		return false
	}
	return !slices.ContainsFunc(r.Info.World.ExportNames(r.Info.ContractVersion()), func(name string) bool {
		_, found := slices.BinarySearch(r.Info.Exports, name)
		return name != "" && !found
	})
}

// recordVersion changes with the contents of records, and with the checks of admission.
const recordVersion = 11

// recordName names the files for a module. The name depends on all that the files depend on.
func (h *Host) recordName(digest string) string {
	key := sha256.Sum256(fmt.Appendf(nil, "%d %d %d %s %s/%s %d %+v", recordVersion, entropy.Version, meter.Version, digest,
		runtime.GOOS, runtime.GOARCH, h.config.limits.TableElements, h.config.limits.Module()))
	return hex.EncodeToString(key[:])
}

// installed returns a module from the cache, nil if a file is missing. Most files are read with the first
// call. If one is damaged then, the module is made again of its source.
func (h *Host) installed(digest string, read source) *Module {
	if h.cache == nil {
		return nil
	}
	m, err := h.readRecord(h.cache, h.recordName(digest))
	if err != nil {
		return nil // it is made again
	}
	load, layOut := m.code, m.images.layOut
	again := h.again(read, func(made *Module) { m.images.remade = made.images })
	m.code = func(ctx context.Context) (wazero.CompiledModule, error) {
		if compiled, err := load(ctx); err == nil {
			return compiled, nil
		}
		made, err := again(ctx)
		if err != nil {
			return nil, err
		}
		return made.code(ctx)
	}
	if layOut != nil {
		m.images.layOut = func(ctx context.Context) (*image.Image, error) {
			if whole, err := layOut(ctx); err == nil {
				return whole, nil
			}
			made, err := again(ctx)
			if err != nil {
				return nil, err
			}
			fresh, err := made.images.fresh(ctx)
			if err != nil {
				return nil, err
			}
			return fresh.memory, nil
		}
	}
	return m
}

func (h *Host) readRecord(from codecache.Modules, name string) (*Module, error) {
	var r recordDetails
	record, err := codecache.ReadRecord(from, name, &r)
	if err != nil {
		return nil, err
	}
	if record.World != r.Info.World || !r.complete() {
		return nil, errIncomplete
	}
	r.Info.MemoryLimit = min(r.MostMemory, h.config.memoryBytes())
	m := h.newModule(r.Info)
	m.images = &images{globals: r.Globals, frozen: r.Frozen, account: r.Account, about: r.About}
	m.images.made = r.Base == nil && r.About.Reason != ""
	if record.Data {
		m.images.layOut = func(context.Context) (*image.Image, error) { return h.readWhole(from, name, codecache.DataSuffix) }
	}
	if base := r.Base; base != nil && h.config.random == nil {
		m.images.kept = func() (*snapshot, error) {
			memory, err := h.readWhole(from, name, codecache.BaseSuffix)
			return &snapshot{memory: memory, globals: base.Globals, generator: base.Generator, elapsed: base.Elapsed}, err
		}
	}
	code := sync.OnceValues(func() (wazero.CompiledModule, error) {
		compiled, err := h.loadCode(from, name+codecache.HollowSuffix)
		if err != nil {
			return nil, from.Spoiled(name, err)
		}
		return compiled, nil
	})
	m.code = func(context.Context) (wazero.CompiledModule, error) { return code() }
	return m, nil
}

// loadCode loads the machine code of a hollow module.
func (h *Host) loadCode(from codecache.Modules, name string) (wazero.CompiledModule, error) {
	hollow, err := from.Read(name)
	if err != nil {
		return nil, err
	}
	return h.loadHollow(from, hollow)
}

// loadHollow loads the machine code of a hollow module, which modules share that differ in data only.
func (h *Host) loadHollow(from codecache.Modules, hollow []byte) (wazero.CompiledModule, error) {
	return from.Load(hollow, func() (wazero.CompiledModule, error) {
		// wazero looks there before it looks at the context.
		ctx, cancel := context.WithCancelCause(h.stopped)
		cancel(codecache.ErrNotCached)
		return h.runtime.CompileModule(experimental.WithCompilationWorkers(ctx, compileWorkers), hollow)
	})
}

// readWhole reads an image beside a record. A damaged one cannot be made again for this module.
func (h *Host) readWhole(from codecache.Modules, name, suffix string) (*image.Image, error) {
	var whole *image.Image
	err := from.View(name+suffix, func(encoded []byte) (err error) {
		whole, err = image.Decode(encoded, uint64(mostPages())*wasmPage)
		return err
	})
	if err != nil {
		return nil, from.Spoiled(name, err)
	}
	return whole, nil
}

// install compiles a module and writes it to the cache. A failure to write is not an error.
func (h *Host) install(ctx context.Context, m *Module, decoded *wasmfile.Module, metered []byte) error {
	if h.cache == nil {
		return h.bounded(ctx, func(ctx context.Context) error {
			compiled, err := h.runtime.CompileModule(ctx, metered)
			m.code = compiledTo(compiled)
			return err
		})
	}
	compiled, hollow, err := h.compileKept(ctx, metered)
	if err != nil {
		return err
	}
	m.code = compiledTo(compiled)
	releaseMemory(len(metered))
	if hollow != nil && h.config.random == nil { // else it has no base image, which others would miss
		h.record(ctx, m, decoded, hollow)
	}
	return nil
}

// record writes the record of a compiled module. If that fails, the next host compiles it again.
func (h *Host) record(ctx context.Context, m *Module, decoded *wasmfile.Module, hollow []byte) {
	name := h.recordName(m.Digest)
	m.ensureBase(ctx)
	if ctx.Err() != nil {
		return // others would miss a base image that could not be made in time
	}
	fresh, err := m.images.fresh(ctx)
	r := codecache.Record{Digest: m.Digest, World: m.World, Code: h.cache.CodeName(hollow)}
	details := recordDetails{Info: m.Info, MostMemory: mostMemory(decoded), Globals: m.images.globals, Frozen: m.images.frozen, About: m.images.about, Account: m.images.account}
	err = errors.Join(err, h.cache.Write(name+codecache.HollowSuffix, hollow))
	if fresh != nil {
		r.Data = true
		err = errors.Join(err, h.writeImage(name+codecache.DataSuffix, fresh.memory))
	}
	if m.Manifest != nil {
		r.Name, r.Version = m.Manifest.Name, m.Manifest.Version
	}
	if base := m.images.base; base != nil {
		r.Base = true
		details.Base = &recordedBase{Globals: base.globals, Generator: base.generator, Elapsed: base.elapsed}
		err = errors.Join(err, h.writeImage(name+codecache.BaseSuffix, base.memory))
	}
	if err == nil {
		_ = h.cache.WriteRecord(name, r, details)
	}
}

func (h *Host) writeImage(name string, of *image.Image) error {
	var encoded bytes.Buffer
	if err := of.Encode(&encoded); err != nil {
		return err
	}
	return h.cache.Write(name, encoded.Bytes())
}

// compileKept compiles a module into the cache, unless its code is there: from a module with another manifest, or one for which
// nothing else could be kept. It also returns the hollow module, nil if nothing was kept.
func (h *Host) compileKept(ctx context.Context, module []byte) (compiled wazero.CompiledModule, hollow []byte, err error) {
	if hollow, err = codecache.Hollow(module); err != nil {
		return nil, nil, fmt.Errorf("the module is invalid: %w", err)
	}
	if compiled, err = h.loadHollow(h.cache, hollow); err == nil {
		return compiled, hollow, nil
	}
	err = h.bounded(ctx, func(ctx context.Context) (err error) {
		kept, err := h.cache.Compile(ctx, h.settings, module, hollow)
		if err != nil {
			return err
		}
		if kept {
			if compiled, err = h.loadHollow(h.cache, hollow); err == nil {
				return nil
			}
		}
		hollow = nil
		compiled, err = h.runtime.CompileModule(ctx, module)
		if codecache.Unwritten(err) {
			compiled, err = h.runtime.CompileModule(ctx, module) // wazero has it in memory by now
		}
		return err
	})
	return compiled, hollow, err
}

// KeptUnused is how long a cache keeps a module that is not used.
const KeptUnused = codecache.KeptUnused

// CachedModule is a module in a cache.
type CachedModule struct {
	// Digest and World are the module's.
	Digest string
	World  canon.World
	// Name and Version come from the module's manifest, empty without one.
	Name, Version string
	// Bytes is the size of the files, and Used the day of the last use. Code that modules share counts for the first of a list.
	Bytes int64
	Used  time.Time
}

// CachedModules lists what the cache in a directory keeps, the last used first. A module is there once for
// each platform, version of Husk, and set of limits.
func CachedModules(dir string) ([]CachedModule, error) {
	list, err := codecache.List(dir)
	var modules []CachedModule
	for _, kept := range list {
		modules = append(modules, CachedModule{kept.Digest, kept.World, kept.Name, kept.Version, kept.Bytes, kept.Used})
	}
	return modules, err
}

// PruneCache removes the modules from the cache in a directory that were not used since a time, to the day. It returns the bytes
// that were freed. Hosts may use the cache meanwhile.
func PruneCache(dir string, since time.Time) (bytes int64, err error) {
	return codecache.Prune(dir, since)
}

// WithPrecompiled loads modules from a directory that [Module.Precompile] has filled, and compiles nothing.
// A module that is not there, or was compiled for something else, is refused with a *[PrecompiledError].
// No other cache is used, and nothing is written.
//
// The machine code runs unchecked. Name only a directory that you filled, or that somebody filled whom you
// let run programs; never one that came with a module. It and its files must belong to the user or to
// root, and others must not be able to write there.
func (c Config) WithPrecompiled(dir string) Config { c.precompiled = dir; return c }

// PrecompiledError is a module that cannot be taken from a directory of precompiled ones.
type PrecompiledError struct {
	Dir string
	// Digest is the module's, empty if the directory as a whole is at fault.
	Digest string
	// Differences are between the environment that the code was compiled for and this one. Without any, Err is the cause.
	Differences []Difference
	Err         error
}

// Difference is something that precompiled code depends on, and that is not the same here.
type Difference struct {
	What string
	// Compiled is the value that the code was compiled for, Here the one of this machine. Either may be empty.
	Compiled, Here string
}

func (e *PrecompiledError) Error() string {
	var b strings.Builder
	if e.Digest == "" {
		b.WriteString("the directory of precompiled modules ")
	} else {
		fmt.Fprintf(&b, "the precompiled code of the module %s in ", e.Digest)
	}
	fmt.Fprintf(&b, "%s cannot be used: ", e.Dir)
	if len(e.Differences) == 0 {
		b.WriteString(e.Err.Error())
		return b.String()
	}
	for i, d := range e.Differences {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "it was compiled for the %s %s, and here it is %s", d.What, cmp.Or(d.Compiled, "(none)"), cmp.Or(d.Here, "(none)"))
	}
	b.WriteString(": compile it again with `husk provider compile`, by this version of Husk and on a machine like this one, because code cannot be compiled for another kind of machine")
	return b.String()
}

func (e *PrecompiledError) Unwrap() error { return e.Err }

// errNoMachineCode is a host that interprets, and cannot have precompiled modules.
var errNoMachineCode = errors.New("precompiled modules are machine code, and this host runs modules in the interpreter, " +
	"which was asked for or is all that there is on this platform: leave them out")

// ErrNotPrecompiled is a module that a directory of precompiled ones does not have.
var ErrNotPrecompiled = codecache.ErrNotPrecompiled

// needs returns the dependencies of this host's machine code, besides the module.
func (h *Host) needs() map[string]string {
	needs := codecache.Target()
	needs["metering version"] = fmt.Sprint(meter.Version, ".", entropy.Version)
	needs["format version"] = fmt.Sprint(recordVersion)
	needs["limit on table sizes"] = fmt.Sprint(h.config.limits.TableElements)
	// Fields of numbers, which cannot fail.
	text, _ := json.Marshal(h.config.limits.Module())
	var limits map[string]int
	_ = json.Unmarshal(text, &limits)
	for name, limit := range limits {
		needs["limit on a module's "+strings.ToLower(name)] = fmt.Sprint(limit)
	}
	return needs
}

// openPrecompiled opens a directory, without writing to it.
func openPrecompiled(dir string) (*codecache.Directory, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	opened, err := codecache.OpenDirectory(dir)
	if err != nil {
		return nil, &PrecompiledError{Dir: dir, Err: err}
	}
	return opened, nil
}

// precompiledModule is the stored code of one module, with errors that name the module.
type precompiledModule struct {
	*codecache.PrecompiledModule
	dir, digest string
}

// Spoiled implements [codecache.Modules].
func (m *precompiledModule) Spoiled(_ string, err error) error {
	refused := &PrecompiledError{Dir: m.dir, Digest: m.digest, Err: err}
	if mismatch, ok := errors.AsType[*codecache.MismatchError](err); ok {
		for _, d := range mismatch.Differences {
			refused.Differences = append(refused.Differences, Difference(d))
		}
	}
	return refused
}

// precompiled returns the module of a digest, and compiles nothing.
func (h *Host) precompiled(digest string) (*Module, error) {
	from := &precompiledModule{dir: h.ahead.Dir, digest: digest}
	m, err := h.readPrecompiled(from)
	if _, refused := errors.AsType[*PrecompiledError](err); err != nil && !refused {
		err = from.Spoiled("", err)
	}
	return m, err
}

func (h *Host) readPrecompiled(from *precompiledModule) (m *Module, err error) {
	name := strings.TrimPrefix(from.digest, digestPrefix)
	if from.PrecompiledModule, err = h.ahead.Module(from.digest, name, h.needs()); err != nil {
		return nil, err
	}
	if m, err = h.readRecord(from, name); err != nil {
		return nil, err
	}
	return m, m.loadAll()
}

// loadAll loads what the first instance needs, to find damage now.
func (m *Module) loadAll() error {
	if _, err := m.code(m.host.stopped); err != nil {
		return err
	}
	if m.images.kept == nil {
		return nil
	}
	base, err := m.images.kept()
	m.images.base, m.images.made = base, err == nil
	return err
}

// Precompile puts what a host needs to load the module without compiling into a directory, for
// [Config.WithPrecompiled]. The code is for this platform, processor, version of Husk, and these limits;
// wazero cannot compile for others. It is copied from the host's cache, which the host must have.
//
// The directory may hold several modules, and is made if it is missing. It holds no secrets.
func (m *Module) Precompile(dir string) error {
	h, err := m.host, errors.New("its host has no machine code to give: it has no cache, or takes the interpreter")
	if h.cache != nil {
		err = h.cache.Precompile(dir, h.recordName(m.Digest), strings.TrimPrefix(m.Digest, digestPrefix), h.needs())
	}
	if errors.Is(err, codecache.ErrNotCached) {
		err = fmt.Errorf("another process has replaced its machine code in the cache meanwhile, try again: %w", err)
	}
	if err != nil {
		return fmt.Errorf("precompiling the module %s: %w", m.Digest, err)
	}
	return nil
}
