package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/husk-dev/husk/host/internal/codecache"
	"github.com/husk-dev/husk/host/internal/image"
	"github.com/husk-dev/husk/internal/entropy"
	"github.com/husk-dev/husk/internal/meter"
	"github.com/husk-dev/husk/internal/printable"
	"github.com/husk-dev/husk/internal/relooper"
	"github.com/husk-dev/husk/internal/wasmfile"
)

// What a cache keeps of a module saves all work on its code: that of admission, of the
// rewriter, and of wazero, which checks every function again even if it has machine
// code of it. So wazero gets a hollow module, which has no code, under whose name the
// machine code of the whole one is kept.

// recordDetails are what the host knows of a module, in its [codecache.Record].
type recordDetails struct {
	Info Info
	// MostMemory is what the module says that its memory takes at most, in bytes.
	MostMemory uint64
	// Globals and Frozen are those of [images].
	Globals []string
	Frozen  bool
	// Base is nil if there is no base image. About says why, and Account is that of
	// [images].
	Base    *recordedBase
	About   BaseImage
	Account *entropy.Account
}

type recordedBase struct {
	Globals   []uint64
	Generator uint32
	Elapsed   time.Duration
}

// recordVersion changes with what is recorded, and with what admission looks at.
const recordVersion = 10

// recordName names the files for a module. The name depends on all that the files depend on.
func (h *Host) recordName(digest string) string {
	key := sha256.Sum256(fmt.Appendf(nil, "%d %d %d %s %d %s %s/%s %d %+v", recordVersion, entropy.Version, meter.Version, relooper.Version, h.rewriting, digest,
		runtime.GOOS, runtime.GOARCH, h.config.limits.TableElements, h.config.limits.Module()))
	return hex.EncodeToString(key[:])
}

// installed returns a module from the cache, nil if it is not there whole. Of most of it
// only whether it is there is looked at: a module that is not called needs no more.
// Where that turns out to be damaged when it is called, it is made again of its source.
func (h *Host) installed(digest string, from source) *Module {
	if h.cache == nil {
		return nil
	}
	m, err := h.readRecord(h.cache, h.recordName(digest))
	if err != nil && from.draft {
		m, err = h.readRecord(h.cache, h.recordName(from.name(digest)))
	}
	if err != nil {
		return nil // it is made again
	}
	load, layOut := m.code, m.images.layOut
	m.code = sync.OnceValues(func() (wazero.CompiledModule, error) {
		source := from
		from.read = nil // it is not needed any more
		if compiled, err := load(); err == nil {
			return compiled, nil
		}
		again, err := h.build(source)
		if err != nil {
			return nil, err
		}
		m.images.remade = again.images
		return again.code()
	})
	if layOut != nil {
		m.images.layOut = func() (*image.Image, error) {
			whole, err := layOut()
			if err == nil {
				return whole, nil
			}
			// Where all of it was removed from the cache, the code is not there either.
			if _, failed := m.code(); failed != nil || m.images.remade == nil {
				return nil, err
			}
			fresh, err := m.images.remade.fresh()
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
	r.Info.MemoryLimit = min(r.MostMemory, h.config.memoryBytes())
	m := h.newModule(r.Info)
	m.images = &images{globals: r.Globals, frozen: r.Frozen, account: r.Account, about: r.About}
	m.images.made = r.Base == nil && r.About.Reason != ""
	if record.Data {
		m.images.layOut = func() (*image.Image, error) { return h.readWhole(from, name, codecache.DataSuffix) }
	}
	if base := r.Base; base != nil && h.config.random == nil {
		m.images.kept = func() (*snapshot, error) {
			memory, err := h.readWhole(from, name, codecache.BaseSuffix)
			return &snapshot{memory: memory, globals: base.Globals, generator: base.Generator, elapsed: base.Elapsed}, err
		}
	}
	m.code = sync.OnceValues(func() (wazero.CompiledModule, error) {
		compiled, err := h.loadCode(from, name+codecache.HollowSuffix)
		if err != nil {
			return nil, from.Spoiled(name, err)
		}
		return compiled, nil
	})
	if record.PartCode != "" {
		m.part.code = sync.OnceValues(func() (wazero.CompiledModule, error) { return h.loadCode(from, name+codecache.PartSuffix) })
	}
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

// loadHollow loads the machine code that belongs to a hollow module. Modules that differ in their data only
// have the same hollow module.
func (h *Host) loadHollow(from codecache.Modules, hollow []byte) (wazero.CompiledModule, error) {
	return from.Load(hollow, func() (wazero.CompiledModule, error) {
		// wazero looks there before it looks at the context.
		ctx, cancel := context.WithCancelCause(h.stopped)
		cancel(codecache.ErrNotCached)
		return h.runtime.CompileModule(experimental.WithCompilationWorkers(ctx, compileWorkers), hollow)
	})
}

// readWhole reads one of the images beside a record, which is in use. Where it is damaged, it
// is too late to make it again for this module.
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

// install compiles a module, and keeps what it takes to have it without that the next
// time. What cannot be kept is compiled all the same.
func (h *Host) install(ctx context.Context, m *Module, decoded *wasmfile.Module, metered []byte, from source) error {
	if h.cache == nil {
		compiled, err := h.runtime.CompileModule(ctx, metered)
		m.code = compiledTo(compiled)
		return err
	}
	var rehearsal *rehearsal
	whole := &layout{decoded: decoded, metered: metered}
	if !from.draft {
		rehearsal = h.rehearse(ctx, m, decoded, metered)
		if faster := h.relooped(decoded, rehearsal); faster != nil {
			whole = faster
		}
	}
	compiled, hollow, err := h.compileKept(ctx, whole.metered)
	if err != nil {
		return err
	}
	m.code = compiledTo(compiled)
	if hollow != nil && h.config.random == nil { // else it has no base image, which others would miss
		h.record(ctx, h.recordName(from.name(m.Digest)), m, hollow, whole, rehearsal)
	}
	return nil
}

// record writes the record of a module that was compiled. Where it cannot be written,
// the module is compiled again the next time.
func (h *Host) record(ctx context.Context, name string, m *Module, hollow []byte, whole *layout, rehearsal *rehearsal) {
	if m.images.frozen {
		m.images.base, m.images.about = m.makeBase(h.stopped)
		m.images.made = true
	}
	fresh, err := m.images.fresh()
	r := codecache.Record{Digest: m.Digest, World: m.World, Code: h.cache.CodeName(hollow)}
	details := recordDetails{Info: m.Info, MostMemory: mostMemory(whole.decoded), Globals: m.images.globals, Frozen: m.images.frozen, About: m.images.about, Account: m.images.account}
	err = errors.Join(err, h.cache.Write(name+codecache.HollowSuffix, hollow))
	if fresh != nil {
		r.Data = true
		err = errors.Join(err, h.writeImage(name+codecache.DataSuffix, fresh.memory))
	}
	switch {
	case m.Manifest != nil:
		r.Name, r.Version = m.Manifest.Name, m.Manifest.Version
	case rehearsal != nil:
		r.Name, r.Version = printable.Line(rehearsal.name), printable.Line(rehearsal.version)
	}
	if base := m.images.base; base != nil {
		r.Base = true
		details.Base = &recordedBase{Globals: base.globals, Generator: base.generator, Elapsed: base.elapsed}
		err = errors.Join(err, h.writeImage(name+codecache.BaseSuffix, base.memory))
		if rehearsal != nil {
			if part := h.keepPart(ctx, whole, rehearsal); part != nil && h.cache.Write(name+codecache.PartSuffix, part) == nil {
				r.PartCode = h.cache.CodeName(part)
			}
		}
	}
	if err == nil {
		_ = h.cache.WriteRecord(name, r, details)
	}
}

// keepPart compiles and keeps the part of a module, and returns its hollow module, nil if the module
// has none.
func (h *Host) keepPart(ctx context.Context, whole *layout, of *rehearsal) []byte {
	small := h.partOf(whole, of)
	if small == nil {
		return nil
	}
	hollow, err := h.cache.Compile(ctx, h.settings, small)
	if err != nil {
		return nil // it is only slower without
	}
	return hollow
}

func (h *Host) writeImage(name string, of *image.Image) error {
	var encoded bytes.Buffer
	if err := of.Encode(&encoded); err != nil {
		return err
	}
	return h.cache.Write(name, encoded.Bytes())
}

// compileKept compiles a module, and keeps its code. It returns the hollow module, too, by
// which the code is found again, nil if it was not kept.
func (h *Host) compileKept(ctx context.Context, module []byte) (compiled wazero.CompiledModule, hollow []byte, err error) {
	if hollow, err = h.cache.Compile(ctx, h.settings, module); err != nil {
		return nil, nil, err
	}
	if hollow != nil {
		if compiled, err = h.loadHollow(h.cache, hollow); err == nil {
			return compiled, hollow, nil
		}
	}
	compiled, err = h.runtime.CompileModule(ctx, module)
	if codecache.Unwritten(err) {
		compiled, err = h.runtime.CompileModule(ctx, module) // wazero has it in memory by now
	}
	return compiled, nil, err
}
