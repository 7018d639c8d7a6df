package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/host/internal/codecache"
	"github.com/husk-dev/husk/internal/entropy"
	"github.com/husk-dev/husk/internal/meter"
	"github.com/husk-dev/husk/internal/relooper"
)

// WithPrecompiled has modules loaded from a directory that [Module.Precompile] has filled,
// and nothing compiled: a module that is not there, or that was compiled for something
// else, is refused with a *[PrecompiledError]. Nothing is written, and a directory for a
// cache is not used.
//
// What is in the directory is machine code that is run as it is. Name only one that you
// have filled yourself, or had filled by somebody whom you let run programs; never one
// that came with a module. It and its files must belong to the user or to root, and be
// closed to others for writing.
func (c Config) WithPrecompiled(dir string) Config { c.precompiled = dir; return c }

// PrecompiledError is a module that cannot be taken from a directory of precompiled ones.
type PrecompiledError struct {
	Dir string
	// Digest is the module's, empty if the directory as a whole is at fault.
	Digest string
	// Differences are in what the code was compiled for. Without any, Err says what is wrong.
	Differences []Difference
	Err         error
}

// Difference is something that precompiled code depends on, and that is not the same here.
type Difference struct {
	What string
	// Compiled is what the code was compiled for, Here what there is. Either may be empty.
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
		fmt.Fprintf(&b, "it was compiled for the %s %s, and here it is %s", d.What, orNone(d.Compiled), orNone(d.Here))
	}
	b.WriteString(": compile it again with `husk provider compile`, by this version of Husk and on a machine like this one, as there is no compiling for others")
	return b.String()
}

func orNone(value string) string {
	if value == "" {
		return "(none)"
	}
	return value
}

func (e *PrecompiledError) Unwrap() error { return e.Err }

// errNoMachineCode is a host that interprets, and cannot have precompiled modules.
var errNoMachineCode = errors.New("precompiled modules are machine code, and this host runs modules in the interpreter, " +
	"which was asked for or is all that there is on this platform: leave them out")

// ErrNotPrecompiled is a module that a directory of precompiled ones does not have.
var ErrNotPrecompiled = codecache.ErrNotPrecompiled

// needs returns what machine code of this host depends on besides the module.
func (h *Host) needs() map[string]string {
	needs := codecache.Target()
	needs["metering version"] = fmt.Sprint(meter.Version, ".", relooper.Version, ".", entropy.Version)
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

// precompiledModule is what is kept of one module, with errors that say of which.
type precompiledModule struct {
	*codecache.PrecompiledModule
	dir, digest string
}

// Spoiled implements [codecache.Modules].
func (m *precompiledModule) Spoiled(_ string, err error) error { return m.refused(err) }

func (m *precompiledModule) refused(err error) error {
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
		err = from.refused(err)
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

// loadAll loads what is only needed with the first instance, so that nothing can be found
// missing or damaged later.
func (m *Module) loadAll() error {
	if _, err := m.code(); err != nil {
		return err
	}
	if m.images.kept == nil {
		return nil
	}
	base, err := m.images.kept()
	m.images.base, m.images.made = base, err == nil
	return err
}

// Precompile puts what a host needs to load the module without compiling it into a
// directory, for [Config.WithPrecompiled]: the machine code, the images that instances
// begin with, and what the code was compiled for. That is this platform, this processor,
// this version of Husk, and the limits of this host's configuration; wazero cannot compile
// for others. The host must have a cache (see [Config.WithCacheDir]), which it is taken from.
//
// The directory may hold several modules, and is made if it is missing. It holds no
// secrets, and can be read by all.
func (m *Module) Precompile(dir string) error {
	if err := m.precompile(dir); err != nil {
		return fmt.Errorf("precompiling the module %s: %w", m.Digest, err)
	}
	return nil
}

func (m *Module) precompile(dir string) error {
	h := m.host
	if h.cache == nil {
		return errors.New("its host has no machine code to give: it has no cache, or takes the interpreter")
	}
	return h.cache.Precompile(dir, h.recordName(m.Digest), strings.TrimPrefix(m.Digest, digestPrefix), h.needs())
}
