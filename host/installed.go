package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/husk-dev/husk/host/internal/image"
	"github.com/husk-dev/husk/internal/entropy"
	"github.com/husk-dev/husk/internal/meter"
	"github.com/husk-dev/husk/internal/relooper"
	"github.com/husk-dev/husk/internal/wasmfile"
)

// What a cache keeps of a module saves all work on its code: that of admission, of the
// rewriter, and of wazero, which checks every function again even where it has machine
// code of it. So wazero gets a hollow module, which has no code, under whose name the
// machine code of the whole one is kept.

// record is what a module is. Its images lie beside it.
type record struct {
	Info Info
	// MostMemory is what the module says that its memory takes at most, in bytes.
	MostMemory uint64
	// Name and Version are what a provider answered to a handshake, empty where it was not
	// asked.
	Name, Version string
	// Globals and Frozen are those of [images]. Detached is set where there is an image of
	// the module's data.
	Globals          []string
	Frozen, Detached bool
	// Base is nil where there is no base image. About tells why, and Account is that of
	// [images].
	Base    *recordedBase
	About   BaseImage
	Account *entropy.Account
	// Code names the machine code in the cache, and PartCode that of the module's part, empty
	// where there is none. It is for Target.
	Code, PartCode, Target string
}

type recordedBase struct {
	Globals   []uint64
	Generator uint32
	Elapsed   time.Duration
}

const (
	// recordVersion changes with what is recorded, and with what admission looks at.
	recordVersion = 8
	// codeSection is the custom section of a hollow module that tells its code's hash.
	codeSection = meter.Module + "/code"

	recordSuffix = ".module"
	hollowSuffix = ".hollow"
	partSuffix   = ".part"
	dataSuffix   = ".data"
	baseSuffix   = ".base"
)

// recordName names the files for a module. It tells all that they depend on.
func (h *Host) recordName(digest string) string {
	key := sha256.Sum256(fmt.Appendf(nil, "%d %d %d %s %d %s %s/%s %d %+v", recordVersion, entropy.Version, meter.Version, relooper.Version, h.rewriting, digest,
		runtime.GOOS, runtime.GOARCH, h.config.most.tableElements, h.config.moduleLimits))
	return hex.EncodeToString(key[:])
}

// kept is where records of modules are, with their images and machine code.
type kept interface {
	// read answers what was written under a name, which is a record's with a suffix.
	read(name string) ([]byte, error)
	// view passes it on, for as long as the function runs.
	view(name string, use func([]byte) error) error
	// has tells whether the files that a record names are there.
	has(name string, r *record) bool
	// load compiles a hollow module, with its machine code in reach of wazero.
	load(hollow []byte, compile func() (wazero.CompiledModule, error)) (wazero.CompiledModule, error)
	// spoiled is told of a record that is in use, and of which a part cannot be read. It
	// answers the error that says what to do.
	spoiled(name string, err error) error
}

// installed answers a module from the cache, nil where it is not there whole. Of most of it
// only whether it is there is looked at: a module that is not called needs no more.
// Where that turns out to be damaged when it is called, it is made again of its source.
func (h *Host) installed(digest string, from source) *Module {
	if h.cache == nil {
		return nil
	}
	m, err := h.readRecord(h.cache, h.recordName(digest))
	if err != nil {
		return nil // it is made again
	}
	load, layOut := m.code, m.images.layOut
	m.code = sync.OnceValues(func() (wazero.CompiledModule, error) {
		source := from
		from = nil // it is not needed any more
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

func (h *Host) readRecord(from kept, name string) (*Module, error) {
	text, err := from.read(name + recordSuffix)
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	if !from.has(name, &r) {
		return nil, errNotCached
	}
	r.Info.MemoryLimit = min(r.MostMemory, h.config.memoryBytes())
	m := h.newModule(r.Info)
	m.images = &images{globals: r.Globals, frozen: r.Frozen, account: r.Account, about: r.About}
	m.images.made = r.Base == nil && r.About.Reason != ""
	if r.Detached {
		m.images.layOut = func() (*image.Image, error) { return h.readWhole(from, name, dataSuffix) }
	}
	if base := r.Base; base != nil && h.config.random == nil {
		m.images.kept = func() (*snapshot, error) {
			memory, err := h.readWhole(from, name, baseSuffix)
			return &snapshot{memory: memory, globals: base.Globals, generator: base.Generator, elapsed: base.Elapsed}, err
		}
	}
	m.code = sync.OnceValues(func() (wazero.CompiledModule, error) {
		compiled, err := h.loadCode(from, name+hollowSuffix)
		if err != nil {
			return nil, from.spoiled(name, err)
		}
		return compiled, nil
	})
	if r.PartCode != "" {
		m.part.code = sync.OnceValues(func() (wazero.CompiledModule, error) { return h.loadCode(from, name+partSuffix) })
	}
	return m, nil
}

// loadCode loads the machine code of a hollow module.
func (h *Host) loadCode(from kept, name string) (wazero.CompiledModule, error) {
	hollow, err := from.read(name)
	if err != nil {
		return nil, err
	}
	return h.loadHollow(from, hollow)
}

// loadHollow makes a module of machine code, of which wazero finds a file. Modules that differ
// in their data only have the same hollow one. It is not loaded twice at once: whoever came second
// would get from wazero what is not ready yet.
func (h *Host) loadHollow(from kept, hollow []byte) (wazero.CompiledModule, error) {
	one := &h.loads[crc32.Checksum(hollow, checksums)%simultaneousLoads]
	one.Lock()
	defer one.Unlock()
	return from.load(hollow, func() (wazero.CompiledModule, error) {
		// wazero looks there before it looks at the context.
		ctx, cancel := context.WithCancelCause(h.stopped)
		cancel(errNotCached)
		return h.runtime.CompileModule(experimental.WithCompilationWorkers(ctx, compileWorkers), hollow)
	})
}

// readWhole reads one of the images beside a record, which is in use. Where it is damaged, it
// is too late to make it again for this module.
func (h *Host) readWhole(from kept, name, suffix string) (*image.Image, error) {
	var whole *image.Image
	err := from.view(name+suffix, func(encoded []byte) (err error) {
		whole, err = image.Decode(encoded, uint64(mostPages())*wasmPage)
		return err
	})
	if err != nil {
		return nil, from.spoiled(name, err)
	}
	return whole, nil
}

// install compiles a module, and keeps what it takes to have it without that the next
// time. What cannot be kept is compiled all the same.
func (h *Host) install(ctx context.Context, m *Module, decoded *wasmfile.Module, metered []byte) error {
	if h.cache == nil {
		compiled, err := h.runtime.CompileModule(ctx, metered)
		m.code = compiledTo(compiled)
		return err
	}
	rehearsal := h.rehearse(ctx, m, decoded, metered)
	whole := &layout{decoded: decoded, metered: metered}
	if faster := h.relooped(decoded, rehearsal); faster != nil {
		whole = faster
	}
	compiled, hollow, err := h.compileKept(ctx, whole.metered)
	if err != nil {
		return err
	}
	m.code = compiledTo(compiled)
	if hollow != nil && h.config.random == nil { // else it has no base image, which others would miss
		h.record(ctx, m, hollow, whole, rehearsal)
	}
	return nil
}

// record writes the record of a module that was compiled. Where it cannot be written,
// the module is compiled again the next time.
func (h *Host) record(ctx context.Context, m *Module, hollow []byte, whole *layout, rehearsal *rehearsal) {
	if m.images.frozen {
		m.images.base, m.images.about = m.makeBase(h.stopped)
		m.images.made = true
	}
	name := h.recordName(m.Digest)
	fresh, err := m.images.fresh()
	r := record{Info: m.Info, MostMemory: mostMemory(whole.decoded), Globals: m.images.globals, Frozen: m.images.frozen, About: m.images.about, Account: m.images.account, Code: filepath.Base(h.cache.entry(hollow)), Target: h.cache.target}
	err = errors.Join(err, h.cache.write(name+hollowSuffix, hollow))
	if fresh != nil {
		r.Detached = true
		err = errors.Join(err, h.writeImage(name+dataSuffix, fresh.memory))
	}
	if rehearsal != nil {
		r.Name, r.Version = rehearsal.name, rehearsal.version
	}
	if base := m.images.base; base != nil {
		r.Base = &recordedBase{Globals: base.globals, Generator: base.generator, Elapsed: base.elapsed}
		err = errors.Join(err, h.writeImage(name+baseSuffix, base.memory))
		if rehearsal != nil {
			if part := h.keepPart(ctx, whole, rehearsal); part != nil && h.cache.write(name+partSuffix, part) == nil {
				r.PartCode = filepath.Base(h.cache.entry(part))
			}
		}
	}
	if text, failed := json.Marshal(r); err == nil && failed == nil {
		_ = h.cache.write(name+recordSuffix, text)
	}
}

// keepPart compiles and keeps the part of a module, of which it answers the hollow module; nil
// where it has none.
func (h *Host) keepPart(ctx context.Context, whole *layout, of *rehearsal) []byte {
	small := h.partOf(whole, of)
	if small == nil {
		return nil
	}
	hollow, err := h.cache.compile(ctx, h.settings, small)
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
	return h.cache.write(name, encoded.Bytes())
}
