package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"golang.org/x/sys/cpu"

	"github.com/husk-dev/husk/internal/entropy"
	"github.com/husk-dev/husk/internal/jsonerror"
	"github.com/husk-dev/husk/internal/meter"
	"github.com/husk-dev/husk/internal/relooper"
)

// A directory of precompiled modules holds for each of them what a cache would keep, and
// a file that tells what all of it depends on:
//
//	<digest>.json     the manifest
//	<digest>.module   the record, see [record]
//	<digest>.base     images, where the module has them
//	<digest>.data
//	wazero-…/<name>   machine code, where wazero looks for it
//
// It is machine code that is run without a further look, and it has no seal: who made it
// is not the user who runs it. So a host takes it only of a directory that was named to
// it for this, which nobody else can write.

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
	// Digest is the module's, empty where the directory as a whole is at fault.
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
var ErrNotPrecompiled = errors.New("it is not there: compile it with `husk provider compile`, or run without precompiled modules")

// precompiledManifest tells of what is kept of a module.
type precompiledManifest struct {
	// Module is its digest. Name and Version are for people.
	Module  string `json:"module"`
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
	// For is what the code depends on, in the words of errors.
	For map[string]string `json:"for"`
	// Code is the file with the machine code, below the directory, and Sums has the
	// checksums of all files. They are against accidents, not against anybody who can write
	// the directory.
	Code string            `json:"code"`
	Sums map[string]string `json:"sums"`
}

// needs is what machine code of this host depends on besides the module.
func (h *Host) needs() map[string]string {
	needs := map[string]string{
		"platform":             runtime.GOOS + "/" + runtime.GOARCH,
		"processor":            processor(),
		"wazero version":       wazeroVersion(),
		"metering version":     fmt.Sprint(meter.Version, ".", relooper.Version, ".", entropy.Version),
		"format version":       fmt.Sprint(recordVersion),
		"limit on table sizes": fmt.Sprint(h.config.most.tableElements),
	}
	// Fields of numbers, which cannot fail.
	text, _ := json.Marshal(h.config.moduleLimits)
	var limits map[string]int
	_ = json.Unmarshal(text, &limits)
	for name, limit := range limits {
		needs["limit on a module's "+strings.ToLower(name)] = fmt.Sprint(limit)
	}
	return needs
}

// processor names those features of the processor that wazero's compiler uses where they
// are there (see its package platform).
func processor() string {
	var features []string
	for _, f := range []struct {
		has  bool
		name string
	}{
		{cpu.X86.HasSSE41, "sse4.1"},
		{cpu.X86.HasBMI1, "bmi1"},
		{cpu.X86.HasBMI1 && cpu.X86.HasBMI2 && cpu.X86.HasPOPCNT, "lzcnt"},
		{cpu.ARM64.HasATOMICS, "lse"},
	} {
		if f.has {
			features = append(features, f.name)
		}
	}
	return strings.Join(append([]string{runtime.GOARCH}, features...), " ")
}

// wazeroVersion is that of wazero in this program, as it names its files after it.
func wazeroVersion() string {
	const module, unknown = "github.com/tetratelabs/wazero", "dev"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknown
	}
	version := info.Main.Version
	for _, dep := range info.Deps {
		if dep.Path == module {
			version = dep.Version
		}
	}
	if version == "" || version == "(devel)" {
		return unknown
	}
	return version
}

// precompiled are modules in a directory that was named to the host.
type precompiled struct {
	dir string
	// compiled is nil where there is no code for this wazero.
	compiled wazero.CompilationCache
}

// openPrecompiled opens a directory, without writing to it.
func openPrecompiled(dir string) (_ *precompiled, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	p := &precompiled{dir: dir}
	if err := trusted(dir); err != nil {
		return nil, &PrecompiledError{Dir: dir, Err: err}
	}
	code := filepath.Join(dir, codeDir())
	if _, err := os.Stat(code); errors.Is(err, fs.ErrNotExist) {
		return p, nil // wazero would make it; the manifests tell what there is
	}
	if err := trusted(code); err != nil {
		return nil, &PrecompiledError{Dir: dir, Err: err}
	}
	p.compiled, err = wazero.NewCompilationCacheWithDir(dir)
	return p, err
}

// codeDir is the name of the directory in which wazero looks for machine code.
func codeDir() string { return "wazero-" + wazeroVersion() + "-" + runtime.GOARCH + "-" + runtime.GOOS }

// trusted tells whether nobody but the user and root can have written a file.
func trusted(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !ownedByUser(info) && !ownedByRoot(info):
		return fmt.Errorf("%s belongs to another user, who could put machine code into it", path)
	case writableByOthers(info):
		return fmt.Errorf("%s can be written by others, who could put machine code into it: chmod -R go-w it", path)
	}
	return nil
}

func (p *precompiled) close(ctx context.Context) error {
	if p.compiled == nil {
		return nil
	}
	return p.compiled.Close(ctx)
}

// precompiled answers the module of a digest, and compiles nothing.
func (h *Host) precompiled(digest string) (*Module, error) {
	from := &precompiledModule{dir: h.ahead.dir}
	m, err := h.readPrecompiled(from, digest)
	if err == nil {
		return m, nil
	}
	failure, ok := errors.AsType[*PrecompiledError](err)
	if !ok {
		failure = &PrecompiledError{Err: err}
	}
	failure.Dir, failure.Digest = from.dir, digest
	return nil, failure
}

func (h *Host) readPrecompiled(from *precompiledModule, digest string) (*Module, error) {
	name := strings.TrimPrefix(digest, digestPrefix)
	text, err := readTrusted(filepath.Join(from.dir, name+manifestSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotPrecompiled
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &from.manifest); err != nil {
		return nil, fmt.Errorf("%s is damaged (%w): compile the module again with `husk provider compile`", name+manifestSuffix, jsonerror.Explain(text, err))
	}
	if from.manifest.Module != digest {
		return nil, fmt.Errorf("%s is of the module %q", name+manifestSuffix, from.manifest.Module)
	}
	if differences := differences(from.manifest.For, h.needs()); len(differences) > 0 {
		return nil, &PrecompiledError{Differences: differences}
	}
	for file := range from.manifest.Sums { // some are read only when the module is called
		if err := trusted(filepath.Join(from.dir, file)); err != nil {
			return nil, fmt.Errorf("a part is missing, or not to be trusted: %w", err)
		}
	}
	m, err := h.readRecord(from, name)
	if err == nil {
		err = m.loadAll()
	}
	return m, err
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

func differences(compiled, here map[string]string) []Difference {
	var all []Difference
	for what, value := range here {
		if compiled[what] != value {
			all = append(all, Difference{what, compiled[what], value})
		}
	}
	for what, value := range compiled {
		if _, known := here[what]; !known {
			all = append(all, Difference{what, value, ""})
		}
	}
	slices.SortFunc(all, func(a, b Difference) int { return strings.Compare(a.What, b.What) })
	return all
}

// precompiledModule is what is kept of one module.
type precompiledModule struct {
	dir      string
	manifest precompiledManifest
}

const manifestSuffix = ".json"

var checksums = crc32.MakeTable(crc32.Castagnoli)

// checksum reads all of a content, with its length, as text.
func checksum(content io.Reader) (string, error) {
	sum := crc32.New(checksums)
	size, err := io.Copy(sum, content)
	return fmt.Sprintf("%d bytes, crc32c %08x", size, sum.Sum32()), err
}

func readTrusted(path string) ([]byte, error) {
	if err := trusted(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

func (m *precompiledModule) read(name string) ([]byte, error) {
	content, err := readTrusted(filepath.Join(m.dir, name))
	if err == nil {
		err = m.check(name, bytes.NewReader(content))
	}
	return content, err
}

func (m *precompiledModule) view(name string, use func([]byte) error) error {
	path := filepath.Join(m.dir, name)
	if err := trusted(path); err != nil {
		return err
	}
	return viewFile(path, func(content []byte) error {
		if err := m.check(name, bytes.NewReader(content)); err != nil {
			return err
		}
		return use(content)
	})
}

// check compares a content with its checksum.
func (m *precompiledModule) check(name string, content io.Reader) error {
	sum, err := checksum(content)
	if err == nil && sum != m.manifest.Sums[name] {
		err = fmt.Errorf("%s is damaged: compile the module again with `husk provider compile`", name)
	}
	return err
}

// checkCode compares the machine code with its checksum. It is some 20 MB, and wazero reads
// it by itself.
func (m *precompiledModule) checkCode() error {
	path := filepath.Join(m.dir, m.manifest.Code)
	if err := trusted(path); err != nil {
		return err
	}
	code, err := os.Open(path)
	if err != nil {
		return err
	}
	defer code.Close()
	return m.check(m.manifest.Code, code)
}

// has has nothing to look at, as all files that the manifest names are there by now.
func (m *precompiledModule) has(string, *record) bool { return true }

func (m *precompiledModule) load(_ []byte, compile func() (wazero.CompiledModule, error)) (wazero.CompiledModule, error) {
	if err := m.checkCode(); err != nil {
		return nil, err
	}
	compiled, err := compile()
	if errors.Is(err, errNotCached) {
		err = fmt.Errorf("wazero does not take its machine code %s: compile it again with `husk provider compile`", m.manifest.Code)
	}
	return compiled, err
}

func (m *precompiledModule) spoiled(_ string, err error) error {
	return &PrecompiledError{Dir: m.dir, Digest: m.manifest.Module, Err: err}
}
