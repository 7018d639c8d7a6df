package codecache

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tetratelabs/wazero"

	"github.com/husk-dev/husk/internal/base/checkedcbor"
	"github.com/husk-dev/husk/internal/base/sorted"
)

// A directory of precompiled modules holds the cache entry of each module, and a manifest of the entries' dependencies:
//
//	<digest>.manifest
//	<digest>.module   the record
//	<digest>.base     images, if the module has them
//	<digest>.data
//	<digest>.frame    machine code
//	<digest>.code
//	wazero-…/<name>   the file for wazero, with a placeholder for the machine code
//
// It is machine code that is run without a further look, and it has no seal: who made it
// is not the user who runs it. So a host takes it only of a directory that was named to
// it for this, which nobody else can write.

type manifest struct {
	// Module is its digest. Name and Version are for people.
	Module  string
	Name    string
	Version string
	// For has the code's dependencies, in the words of errors.
	For map[string]string
	// Sums has the checksums of all files. They are against accidents, not against anybody who
	// can write the directory.
	Sums map[string]string
}

// Directory is a directory of precompiled modules.
type Directory struct {
	// Dir is its absolute path.
	Dir string
	*loader
}

// OpenDirectory opens a directory by its absolute path, without writing to it. Only if machine code cannot
// be mapped from the directory, a temporary directory is needed. It must be closed.
func OpenDirectory(dir string) (*Directory, error) {
	if err := trusted(dir); err != nil {
		return nil, err
	}
	switch err := trusted(filepath.Join(dir, codeDir())); {
	case errors.Is(err, fs.ErrNotExist):
		return &Directory{dir, &loader{}}, nil // wazero would make it; the manifests list the modules
	case err != nil:
		return nil, err
	}
	if keepsMapped(dir) && mappable(dir) {
		l, err := openLoader(dir)
		return &Directory{dir, l}, err
	}
	l, err := newLoader(sharedMemory, os.TempDir())
	if err != nil {
		return nil, fmt.Errorf("its machine code cannot be mapped, and TMPDIR names no directory to copy it to: %w", err)
	}
	l.copies.Store(true)
	return &Directory{dir, l}, nil
}

// mappable reports whether files of the directory can be mapped as machine code.
func mappable(dir string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*"+textSuffix)) // the pattern is well-formed
	if len(files) == 0 {
		return true
	}
	file, err := os.Open(files[0])
	if err != nil {
		return false
	}
	defer file.Close()
	return canMapText(file)
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
	sorted.By(all, func(a, b Difference) int { return strings.Compare(a.What, b.What) })
	return all
}

// Difference is something that precompiled code depends on, and that is not the same here.
type Difference struct{ What, Compiled, Here string }

// MismatchError is code that was compiled for something else.
type MismatchError struct{ Differences []Difference }

func (e *MismatchError) Error() string { return "it was compiled for something else" }

// ErrNotPrecompiled is a module that a directory of precompiled ones does not have.
var ErrNotPrecompiled = errors.New("the directory does not have it: compile it with `husk provider compile`, or run without precompiled modules")

// PrecompiledModule has the files of one module. It is [Modules] with one record.
type PrecompiledModule struct {
	*Directory
	name     string
	manifest manifest
}

const manifestSuffix = ".manifest"

// Module returns the entry of a module. Its dependencies must be the ones of this host. It looks at the content of the manifest,
// and only at the owner of the other files.
func (p *Directory) Module(digest, name string, here map[string]string) (*PrecompiledModule, error) {
	m := &PrecompiledModule{Directory: p, name: name}
	text, err := readTrusted(filepath.Join(p.Dir, name+manifestSuffix))
	if errors.Is(err, fs.ErrNotExist) {
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
	content, err := readTrusted(filepath.Join(m.Dir, name))
	if err == nil {
		err = m.check(name, bytes.NewReader(content))
	}
	return content, err
}

// View implements [Modules].
func (m *PrecompiledModule) View(name string, use func([]byte) error) error {
	path := filepath.Join(m.Dir, name)
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

func (m *PrecompiledModule) check(name string, content io.Reader) error {
	sum, err := checksum(content)
	if err == nil && sum != m.manifest.Sums[name] {
		err = fmt.Errorf("%s is damaged: compile the module again with `husk provider compile`", name)
	}
	return err
}

// Has implements [Modules]. All files that the manifest names are there by now.
func (m *PrecompiledModule) Has(string, *Record) bool { return true }

// Load implements [Modules].
func (m *PrecompiledModule) Load(_ []byte, compile func() (wazero.CompiledModule, error)) (wazero.CompiledModule, error) {
	f, err := readFrame(m, m.name)
	if err != nil {
		return nil, err
	}
	if m.run == "" {
		if err := trusted(filepath.Join(m.files, f.Name)); err != nil {
			return nil, err
		}
	}
	path, check := m.name+textSuffix, func(text []byte) error { return m.check(m.name+textSuffix, bytes.NewReader(text)) }
	if err := trusted(filepath.Join(m.Dir, path)); err != nil {
		return nil, err
	}
	compiled, err := m.load(f, filepath.Join(m.Dir, path), check, compile)
	if errors.Is(err, ErrNotCached) {
		err = fmt.Errorf("wazero does not take the machine code in %s: compile it again with `husk provider compile`", path)
	}
	return compiled, err
}

// Spoiled implements [Modules].
func (m *PrecompiledModule) Spoiled(_ string, err error) error { return err }
