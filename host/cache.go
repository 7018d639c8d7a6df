package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"golang.org/x/sys/cpu"
)

// diskCache keeps compiled modules. What it holds is run as machine code, and wazero checks
// no more of it than a checksum of a part. So wazero gets a directory of its own for each
// host, and what it makes there is kept beside it under a seal, a checksum that only this
// user can make. What has no such seal, as it was damaged or comes from elsewhere, is
// compiled again.
type diskCache struct {
	dir      string
	seals    *sealer
	compiled wazero.CompilationCache
	// run is the directory of this host, and files that in which wazero has its files.
	run, files string
	// target is all that compiled code depends on beside the module.
	target string

	// missing is held while a module is compiled, so that the file that appears is its own.
	missing sync.Mutex
	// restored are the names of files that wazero is reading.
	restored sync.Map
}

// staleRun is after what time the directory of a host is one that it could not remove.
const staleRun = 24 * time.Hour

// openDiskCache opens or makes the cache for a memory limit, which compiled code may
// depend on.
func openDiskCache(dir string, memoryPages uint32) (*diskCache, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := privateDir(dir); err != nil {
		return nil, err
	}
	seals, err := newSealer(dir)
	if err != nil {
		return nil, err
	}
	removeStaleRuns(dir)
	c := &diskCache{dir: dir, seals: seals}
	if c.run, err = os.MkdirTemp(dir, "run-*"); err != nil {
		return nil, err
	}
	if c.compiled, err = wazero.NewCompilationCacheWithDir(c.run); err == nil {
		err = c.findFiles()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.run))
	}
	c.target = fmt.Sprint(filepath.Base(c.files), memoryPages, cpu.X86, cpu.ARM64)
	return c, nil
}

// findFiles finds the directory that wazero made, which it names after its version and the
// platform.
func (c *diskCache) findFiles() error {
	made, err := filepath.Glob(filepath.Join(c.run, "wazero-*"))
	if err == nil && len(made) != 1 {
		err = fmt.Errorf("%s should have one directory of wazero's, and has %d", c.run, len(made))
	}
	if err == nil {
		c.files = made[0]
	}
	return err
}

func removeStaleRuns(dir string) {
	runs, _ := filepath.Glob(filepath.Join(dir, "run-*")) // the pattern is well-formed
	for _, run := range runs {
		if info, err := os.Lstat(run); err == nil && time.Since(info.ModTime()) > staleRun {
			_ = os.RemoveAll(run) // the next host tries again
		}
	}
}

// privateDir makes the directory, or sees to it that only its owner, who must be the
// user, can use it.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory: name another one, or remove it", dir)
	}
	if !ownedByUser(info) {
		return fmt.Errorf("%s belongs to another user, who could put machine code into it: name another directory", dir)
	}
	if closedToOthers(info) {
		return nil
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("%s can be used by others, who could put machine code into it: %w", dir, err)
	}
	return nil
}

func (c *diskCache) close() error { return os.RemoveAll(c.run) }

// compile compiles a module, or takes it from the cache. A cache that cannot be written is
// none, and no error.
func (c *diskCache) compile(module []byte, compile func() (wazero.CompiledModule, error)) (wazero.CompiledModule, error) {
	entry := c.entry(module)
	if name, ok := c.restore(entry); ok {
		compiled, err := compile()
		c.forget(name)
		if !isCacheError(err) {
			return compiled, err
		}
	}
	c.missing.Lock()
	defer c.missing.Unlock()
	compiled, err := compile()
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		compiled, err = compile() // wazero has it in memory by now
	}
	if err == nil {
		c.keep(entry)
	}
	return compiled, err
}

// isCacheError tells whether a compilation failed because an entry is not what wazero
// takes. It has no error type for that, and would fail again with each attempt.
func isCacheError(err error) bool {
	return err != nil && strings.Contains(err.Error(), "compilationcache:")
}

// entry names the code of a module, as the host has rewritten it.
func (c *diskCache) entry(module []byte) string {
	digest := sha256.Sum256(module)
	sum := sha256.Sum256(append(digest[:], c.target...))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:]))
}

// An entry is two files: the code as wazero wrote it, and its seal with the name that
// wazero looks for it by.
const (
	codeSuffix = ".code"
	sealSuffix = ".seal"
)

// restore puts an entry where wazero looks for it.
func (c *diskCache) restore(entry string) (name string, ok bool) {
	seal, err := os.ReadFile(entry + sealSuffix)
	if err != nil || len(seal) < sealSize {
		return "", false
	}
	name = string(seal[sealSize:])
	if !isCodeName(name) {
		return "", false
	}
	code, err := os.ReadFile(entry + codeSuffix)
	if err != nil || !c.seals.check(sealed(entry, name), code, seal[:sealSize]) {
		return "", false
	}
	c.restored.Store(name, true)
	into := filepath.Join(c.files, name)
	if os.Link(entry+codeSuffix, into) != nil && os.WriteFile(into, code, 0o600) != nil {
		c.forget(name)
		return "", false
	}
	return name, true
}

func (c *diskCache) forget(name string) {
	_ = os.Remove(filepath.Join(c.files, name)) // the directory is removed as a whole
	c.restored.Delete(name)
}

// keep makes an entry of the file that has appeared, if there is one. What fails here is
// compiled again another time.
func (c *diskCache) keep(entry string) {
	files, err := os.ReadDir(c.files)
	if err != nil {
		return
	}
	for _, file := range files {
		name := file.Name()
		if _, known := c.restored.Load(name); known || !isCodeName(name) {
			continue
		}
		made := filepath.Join(c.files, name)
		code, err := os.ReadFile(made)
		if err == nil {
			err = os.Rename(made, entry+codeSuffix)
		}
		if err == nil {
			_ = writeWhole(entry+sealSuffix, append(c.seals.seal(sealed(entry, name), code), name...))
		}
	}
}

// sealed is what a seal says beside the content.
func sealed(entry, name string) string { return filepath.Base(entry) + "/" + name }

// isCodeName tells whether wazero could have given the name to code.
func isCodeName(name string) bool {
	raw, err := hex.DecodeString(name)
	return err == nil && len(raw) == sha256.Size
}

// writeWhole writes a file so that it is there as a whole or not at all.
func writeWhole(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(file.Name()))
	}
	return err
}
