package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/tetratelabs/wazero"

	"github.com/husk-dev/husk/host/internal/answers"
	"github.com/husk-dev/husk/host/internal/codecache"
	"github.com/husk-dev/husk/internal/wasm/entropy"
	"github.com/husk-dev/husk/internal/wasm/meter"
	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// Module is a checked and compiled module. It is safe for concurrent use, shared by all who load the same
// bytes, and lives as long as its host.
type Module struct {
	Info
	host *Host
	// code returns the compiled module, which is loaded with the first instance if it was installed. A caller whose context
	// ends waits no longer.
	code func(context.Context) (wazero.CompiledModule, error)
	// imports makes what the module imports, once.
	imports func() error
	// fetch has the code loaded while the first instance is being prepared.
	fetch    sync.Once
	images   *images
	spares   spares
	declared *answers.Schema
	facts    *answers.Facts
}

// newModule makes a module that has neither code nor images yet.
func (h *Host) newModule(info Info) *Module {
	m := &Module{Info: info, host: h, facts: h.factsOf(info.Digest)}
	m.declared = answers.NewSchema(m.facts)
	m.imports = sync.OnceValue(func() error { return h.importsFor(m) })
	return m
}

// factsOf returns the module's statements about itself, as far as the cache has them.
func (h *Host) factsOf(digest string) *answers.Facts {
	if h.cache == nil {
		return answers.NewFacts(nil, nil)
	}
	name := h.recordName(digest) + codecache.AnswersSuffix
	return answers.NewFacts(
		func() ([]byte, error) { return h.cache.Read(name) },
		// Without the file the module is asked again.
		func(text []byte) { _ = h.cache.Write(name, text) },
	)
}

// compiledTo is a module's code that is there.
func compiledTo(compiled wazero.CompiledModule) func(context.Context) (wazero.CompiledModule, error) {
	return func(context.Context) (wazero.CompiledModule, error) { return compiled, nil }
}

// digestPrefix begins the digests of modules.
const digestPrefix = "sha256:"

func digestOf(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return digestFrom(sum[:])
}

func digestFrom(sum []byte) string { return digestPrefix + hex.EncodeToString(sum) }

// source reads the bytes of a module that is not installed.
type source func() ([]byte, error)

// Load loads a module from a file. A failure is a *[LoadError], which says whether the file or the module is
// at fault. The file must not change before the module was first called.
func (h *Host) Load(ctx context.Context, path string) (*Module, error) {
	digest, err := h.Digest(path)
	if err != nil {
		return nil, h.config.Refused(path, err)
	}
	return h.load(ctx, path, digest, func() ([]byte, error) { return h.readModule(path, digest) })
}

// Digest returns the digest of the module that Load would load from the file.
func (h *Host) Digest(path string) (string, error) {
	limit := h.config.limits.ModuleSize
	return h.cache.DigestOf(path, limit, h.config.clock.Now(), func() (string, error) { return digestOfFile(path, limit) })
}

// LoadBytes loads a module from memory, as Load does.
func (h *Host) LoadBytes(ctx context.Context, wasm []byte) (*Module, error) {
	if err := checkSize(int64(len(wasm)), h.config.limits.ModuleSize); err != nil {
		return nil, h.config.Refused("", err)
	}
	return h.load(ctx, "", digestOf(wasm), func() ([]byte, error) { return wasm, nil })
}

func checkSize(size int64, limit int) error {
	if size > int64(limit) {
		return &SizeError{Size: size, Limit: int64(limit)}
	}
	return nil
}

// digestOfFile reads no more of a file than is permitted, and keeps none: most modules are installed.
func digestOfFile(path string, limit int) (string, error) {
	file, err := os.Open(path)
	if failure, ok := errors.AsType[*fs.PathError](err); ok {
		return "", failure.Err // the path is told by the LoadError
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	if err := checkSize(info.Size(), limit); err != nil {
		return "", err
	}
	sum := sha256.New()
	const part = 128 << 10 // which stays in the processor's cache
	size, err := io.CopyBuffer(sum, io.LimitReader(file, int64(limit)+1), make([]byte, part))
	if err != nil {
		return "", err
	}
	return digestFrom(sum.Sum(nil)), checkSize(size, limit)
}

func (h *Host) readModule(path, digest string) ([]byte, error) {
	wasm, err := os.ReadFile(path)
	if failure, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, failure.Err
	}
	if err == nil && digestOf(wasm) != digest {
		h.cache.ForgetDigest(path)
		err = errors.New("the file was changed while the module was loaded: load it again")
	}
	return wasm, err
}

// withoutManifest removes the manifest before compilation: a module has the same code with and without one.
func withoutManifest(module *wasmfile.Module) {
	for i := range module.Customs {
		if custom := &module.Customs[i]; custom.Name == ManifestSection {
			custom.Data = nil
		}
	}
}

// counting returns a module that counts what its runtime reads for itself, and how; the same module if it
// cannot count, or there can be no image of it.
func (h *Host) counting(decoded *wasmfile.Module) (*wasmfile.Module, *entropy.Account) {
	if _, frozen := meter.Frozen(decoded); !frozen {
		return decoded, nil
	}
	wasm, account := entropy.Rewrite(decoded)
	if account == nil {
		return decoded, nil
	}
	// It may have more than a module may have.
	counts, err := wasmfile.Read(wasm, wasmfile.Limits(h.config.limits.Module()))
	if err != nil {
		return decoded, nil
	}
	return counts, account
}

func (h *Host) meter(decoded *wasmfile.Module) (metered []byte, err error) {
	return meter.Rewrite(decoded, meter.Options{
		MemoryPages: mostPages(), TableElements: h.config.limits.TableElements, Detach: meter.Detachable(decoded),
	})
}
