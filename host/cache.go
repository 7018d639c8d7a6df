package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tetratelabs/wazero"
	"golang.org/x/sys/cpu"

	"github.com/husk-dev/husk/internal/atomicfile"
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
}

// staleRun is after what time the directory of a host is one that it could not remove.
const staleRun = 24 * time.Hour

// openDiskCache opens or makes the cache.
func openDiskCache(dir string) (*diskCache, error) {
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
	pruneDaily(dir, time.Now())
	c := &diskCache{dir: dir, seals: seals}
	if c.run, err = os.MkdirTemp(dir, "run-*"); err != nil {
		return nil, err
	}
	if c.compiled, err = wazero.NewCompilationCacheWithDir(c.run); err == nil {
		c.files, err = filesIn(c.run)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.run))
	}
	c.target = fmt.Sprint(filepath.Base(c.files), cpu.X86, cpu.ARM64)
	return c, nil
}

// filesIn finds the directory for its files that wazero made in another one. It is named
// after its version and the platform.
func filesIn(dir string) (string, error) {
	made, err := filepath.Glob(filepath.Join(dir, "wazero-*"))
	if err != nil {
		return "", err
	}
	if len(made) != 1 {
		return "", fmt.Errorf("%s should have one directory of wazero's, and has %d", dir, len(made))
	}
	return made[0], nil
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

// has implements [kept]. Who asks is about to use the module.
func (c *diskCache) has(name string, r *record) bool {
	if r.Target != c.target {
		return false
	}
	path, now := filepath.Join(c.dir, name), time.Now()
	files := append(codeFiles(filepath.Join(c.dir, r.Code)), path+recordSuffix, path+hollowSuffix)
	if r.Base != nil {
		files = append(files, path+baseSuffix)
	}
	if r.Detached {
		files = append(files, path+dataSuffix)
	}
	if !use(files, now) {
		return false
	}
	// What follows need not be there.
	use([]string{path + answersSuffix}, now)
	if r.PartCode != "" {
		use(append(codeFiles(filepath.Join(c.dir, r.PartCode)), path+partSuffix), now)
	}
	return true
}

// load compiles a module of which only the cache has the code, see [Host.install].
func (c *diskCache) load(hollow []byte, compile func() (wazero.CompiledModule, error)) (wazero.CompiledModule, error) {
	name, ok := c.restore(c.entry(hollow))
	if !ok {
		return nil, errNotCached
	}
	defer c.forget(name)
	return compile()
}

// errNotCached is what is not in the cache, or has no seal.
var errNotCached = errors.New("it is not in the cache")

// view passes on the content of a file that was written under the name, which must not be
// kept.
func (c *diskCache) view(name string, use func([]byte) error) error {
	return viewFile(filepath.Join(c.dir, name), func(file []byte) error {
		content, err := c.unseal(name, file)
		if err != nil {
			return err
		}
		return use(content)
	})
}

// read answers the content of a small file that was written under the name.
func (c *diskCache) read(name string) ([]byte, error) {
	file, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		return nil, err
	}
	return c.unseal(name, file)
}

// unseal answers what is in a file that was written under the name, behind its seal.
func (c *diskCache) unseal(name string, file []byte) (content []byte, err error) {
	if len(file) < sealSize || !c.seals.check(name, file[sealSize:], file[:sealSize]) {
		return nil, errNotCached
	}
	return file[sealSize:], nil
}

func (c *diskCache) write(name string, content []byte) error {
	return atomicfile.WriteUnsynced(filepath.Join(c.dir, name), append(c.seals.seal(name, content), content...), 0o600)
}

// spoiled removes a record, so that the module is made again.
func (c *diskCache) spoiled(name string, err error) error {
	_ = os.Remove(filepath.Join(c.dir, name+recordSuffix))
	return fmt.Errorf("what is kept of the module cannot be used, and was removed from the cache, try again: %w", err)
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

func codeFiles(entry string) []string { return []string{entry + codeSuffix, entry + sealSuffix} }

// code passes on the machine code of an entry, which it must not keep, and the name that
// wazero looks for it by.
func (c *diskCache) code(entry string, use func(name string, code []byte) error) error {
	seal, err := os.ReadFile(entry + sealSuffix)
	if err != nil {
		return err
	}
	if len(seal) < sealSize || !isCodeName(string(seal[sealSize:])) {
		return errNotCached
	}
	name := string(seal[sealSize:])
	return viewFile(entry+codeSuffix, func(code []byte) error {
		if !c.seals.check(sealed(entry, name), code, seal[:sealSize]) {
			return errNotCached
		}
		return use(name, code)
	})
}

// restore puts an entry where wazero looks for it.
func (c *diskCache) restore(entry string) (restored string, ok bool) {
	err := c.code(entry, func(name string, code []byte) error {
		restored = name
		into := filepath.Join(c.files, name)
		if err := os.Link(entry+codeSuffix, into); err == nil {
			return nil
		}
		// A file that is there already may be the entry itself, which other processes are reading.
		return atomicfile.WriteUnsynced(into, code, 0o600)
	})
	if err != nil && restored != "" {
		c.forget(restored)
	}
	return restored, err == nil
}

func (c *diskCache) forget(name string) {
	_ = os.Remove(filepath.Join(c.files, name)) // the directory is removed as a whole
}

// sealed is what a seal says beside the content.
func sealed(entry, name string) string { return filepath.Base(entry) + "/" + name }

// isCodeName tells whether wazero could have given the name to code.
func isCodeName(name string) bool {
	raw, err := hex.DecodeString(name)
	return err == nil && len(raw) == sha256.Size
}
