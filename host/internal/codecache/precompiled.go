package codecache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"

	"github.com/husk-dev/husk/internal/checkedcbor"
)

// A directory of precompiled modules holds for each of them what a cache would keep, and
// a manifest of what all of it depends on:
//
//	<digest>.manifest
//	<digest>.module   the record
//	<digest>.base     images, if the module has them
//	<digest>.data
//	wazero-…/<name>   machine code, where wazero looks for it
//
// It is machine code that is run without a further look, and it has no seal: who made it
// is not the user who runs it. So a host takes it only of a directory that was named to
// it for this, which nobody else can write.

// manifest is about what is kept of a module.
type manifest struct {
	// Module is its digest. Name and Version are for people.
	Module  string
	Name    string
	Version string
	// For is what the code depends on, in the words of errors.
	For map[string]string
	// Code is the file with the machine code, below the directory, and Sums has the
	// checksums of all files. They are against accidents, not against anybody who can write
	// the directory.
	Code string
	Sums map[string]string
}

// Directory is a directory of precompiled modules.
type Directory struct {
	// Dir is its absolute path.
	Dir string
	// Compiled is nil if there is no code for this wazero.
	Compiled wazero.CompilationCache
}

// OpenDirectory opens a directory by its absolute path, without writing to it.
func OpenDirectory(dir string) (_ *Directory, err error) {
	p := &Directory{Dir: dir}
	if err := trusted(dir); err != nil {
		return nil, err
	}
	code := filepath.Join(dir, codeDir())
	if _, err := os.Stat(code); errors.Is(err, fs.ErrNotExist) {
		return p, nil // wazero would make it; the manifests tell what there is
	}
	if err := trusted(code); err != nil {
		return nil, err
	}
	p.Compiled, err = wazero.NewCompilationCacheWithDir(dir)
	return p, err
}

// trusted returns an error unless nobody but the user and root can have written a file.
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

// Close ends the use of the directory.
func (p *Directory) Close(ctx context.Context) error {
	if p.Compiled == nil {
		return nil
	}
	return p.Compiled.Close(ctx)
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

// Difference is something that precompiled code depends on, and that is not the same here.
type Difference struct{ What, Compiled, Here string }

// MismatchError is code that was compiled for something else.
type MismatchError struct{ Differences []Difference }

func (e *MismatchError) Error() string { return "it was compiled for something else" }

// ErrNotPrecompiled is a module that a directory of precompiled ones does not have.
var ErrNotPrecompiled = errors.New("it is not there: compile it with `husk provider compile`, or run without precompiled modules")

// PrecompiledModule is what is kept of one module. It is [Modules] with one record.
type PrecompiledModule struct {
	dir      string
	manifest manifest
}

const (
	manifestSuffix = ".manifest"
	// formerSuffix was of manifests in JSON.
	formerSuffix = ".json"
	// format is what errors call the version of what is kept.
	format = "format version"
)

// Module returns what is kept of the module of a digest, which must be for what code depends on here. It
// looks at the content of the manifest, and only at the owner of the other files.
func (p *Directory) Module(digest, name string, here map[string]string) (*PrecompiledModule, error) {
	m := &PrecompiledModule{dir: p.Dir}
	text, err := readTrusted(filepath.Join(p.Dir, name+manifestSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(p.Dir, name+formerSuffix)); err == nil {
			return nil, &MismatchError{[]Difference{{format, "(an older one)", here[format]}}}
		}
		return nil, ErrNotPrecompiled
	}
	if err != nil {
		return nil, err
	}
	if err := checkedcbor.Unmarshal(text, &m.manifest); err != nil {
		return nil, fmt.Errorf("%s is damaged (%w): compile the module again with `husk provider compile`", name+manifestSuffix, err)
	}
	if m.manifest.Module != digest {
		return nil, fmt.Errorf("%s is of the module %q", name+manifestSuffix, m.manifest.Module)
	}
	if differences := differences(m.manifest.For, here); len(differences) > 0 {
		return nil, &MismatchError{differences}
	}
	for file := range m.manifest.Sums { // some are read only when the module is called
		if err := trusted(filepath.Join(p.Dir, file)); err != nil {
			return nil, fmt.Errorf("a part is missing, or not to be trusted: %w", err)
		}
	}
	return m, nil
}

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

// Read implements [Modules].
func (m *PrecompiledModule) Read(name string) ([]byte, error) {
	content, err := readTrusted(filepath.Join(m.dir, name))
	if err == nil {
		err = m.check(name, bytes.NewReader(content))
	}
	return content, err
}

// View implements [Modules].
func (m *PrecompiledModule) View(name string, use func([]byte) error) error {
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
func (m *PrecompiledModule) check(name string, content io.Reader) error {
	sum, err := checksum(content)
	if err == nil && sum != m.manifest.Sums[name] {
		err = fmt.Errorf("%s is damaged: compile the module again with `husk provider compile`", name)
	}
	return err
}

// checkCode compares the machine code with its checksum. It is some 20 MB, and wazero reads
// it by itself.
func (m *PrecompiledModule) checkCode() error {
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

// Has implements [Modules]. All files that the manifest names are there by now.
func (m *PrecompiledModule) Has(string, *Record) bool { return true }

// Load implements [Modules].
func (m *PrecompiledModule) Load(_ []byte, compile func() (wazero.CompiledModule, error)) (wazero.CompiledModule, error) {
	if err := m.checkCode(); err != nil {
		return nil, err
	}
	compiled, err := compile()
	if errors.Is(err, ErrNotCached) {
		err = fmt.Errorf("wazero does not take its machine code %s: compile it again with `husk provider compile`", m.manifest.Code)
	}
	return compiled, err
}

// Spoiled implements [Modules].
func (m *PrecompiledModule) Spoiled(_ string, err error) error { return err }
