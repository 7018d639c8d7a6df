// Package codecache keeps what a host needs to run a module without compiling it: the machine code, and facts about the module. A
// [Cache] is filled by this user's hosts, and counts only what has their seal. A [Directory] of precompiled modules is filled by
// whoever its operator trusts.
//
// The facts about a module are the owner's: a [Record] has them as details.
package codecache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tetratelabs/wazero"
	"golang.org/x/sys/cpu"

	"github.com/husk-dev/husk/internal/base/atomicfile"
)

// Cache keeps compiled modules in a directory. Its contents run as machine code, and wazero checks only a checksum of a part. So
// wazero gets a directory of its own for each host, and the files that it makes there are kept beside it under a seal, a checksum
// that only this user can make. A module without such a seal, because its file was damaged or comes from elsewhere, is compiled
// again.
type Cache struct {
	dir   string
	seals *sealer
	*loader
	// Target is all that compiled code depends on beside the module.
	Target string
}

// Open opens or makes a cache. It must be closed.
func Open(dir string) (*Cache, error) {
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
	pruneDaily(dir, time.Now())
	c := &Cache{dir: dir, seals: seals}
	if c.loader, err = newLoader(sharedMemory, dir); err != nil {
		return nil, err
	}
	c.copies.Store(!keepsMapped(dir))
	c.Target = fmt.Sprint(filepath.Base(c.files), cpu.X86, cpu.ARM64)
	return c, nil
}

// privateDir makes a directory that only its owner, the user, can use, or checks it.
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

// OwnFiles returns the files that decide which code is run.
func OwnFiles(dir string) []string {
	return []string{dir, filepath.Join(sealKeyDir(dir), sealKeyFile)}
}

// Has implements [Modules]. The caller is about to use the module.
func (c *Cache) Has(name string, r *Record) bool {
	if r.Target != c.Target {
		return false
	}
	path, now := filepath.Join(c.dir, name), time.Now()
	files := append(codeFiles(filepath.Join(c.dir, r.Code)), path+RecordSuffix, path+HollowSuffix)
	if r.Base {
		files = append(files, path+BaseSuffix)
	}
	if r.Data {
		files = append(files, path+DataSuffix)
	}
	if !use(files, now) {
		return false
	}
	// The following files need not exist.
	use([]string{path + AnswersSuffix}, now)
	return true
}

// Load implements [Modules].
func (c *Cache) Load(hollow []byte, compile func() (wazero.CompiledModule, error)) (wazero.CompiledModule, error) {
	name := c.CodeName(hollow)
	f, err := readFrame(c, name)
	if err != nil {
		return nil, err
	}
	return c.load(f, filepath.Join(c.dir, name+textSuffix), c.sealOf(name, f), compile)
}

// sealOf returns a check of a text by the seal in its frame.
func (c *Cache) sealOf(name string, f *frame) func([]byte) error {
	return func(text []byte) error {
		if len(f.Seal) != sealSize || !c.seals.check(name+textSuffix, text, f.Seal) {
			return ErrNotCached
		}
		return nil
	}
}

// ErrNotCached is the error for an entry that is not in the cache, or has no seal.
var ErrNotCached = errors.New("it is not in the cache")

// View implements [Modules].
func (c *Cache) View(name string, use func([]byte) error) error {
	return viewFile(filepath.Join(c.dir, name), func(file []byte) error {
		content, err := c.unseal(name, file)
		if err != nil {
			return err
		}
		return use(content)
	})
}

// Read implements [Modules].
func (c *Cache) Read(name string) ([]byte, error) {
	file, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		return nil, err
	}
	return c.unseal(name, file)
}

// unseal returns the contents of a file that was written under the name, behind its seal.
func (c *Cache) unseal(name string, file []byte) (content []byte, err error) {
	if len(file) < sealSize || !c.seals.check(name, file[sealSize:], file[:sealSize]) {
		return nil, ErrNotCached
	}
	return file[sealSize:], nil
}

// Write keeps a content under a name.
func (c *Cache) Write(name string, content []byte) error {
	return c.put(name, append(c.seals.seal(name, content), content...))
}

// put writes a file, also in place of a directory, which would have the module compiled each time.
func (c *Cache) put(name string, content []byte) error {
	path := filepath.Join(c.dir, name)
	err := atomicfile.WriteUnsynced(path, content, 0o600)
	if info, failed := os.Lstat(path); err != nil && failed == nil && info.IsDir() {
		if err = os.RemoveAll(path); err == nil {
			err = atomicfile.WriteUnsynced(path, content, 0o600)
		}
	}
	return err
}

// Unwritable reports whether an error says that nothing can be written to a disk: it is full, or read-only.
func Unwritable(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS)
}

// Spoiled implements [Modules]. It removes the record, so that the module is made again.
func (c *Cache) Spoiled(name string, err error) error {
	_ = os.Remove(filepath.Join(c.dir, name+RecordSuffix))
	return fmt.Errorf("the cached code of the module cannot be used, and was removed from the cache; try again: %w", err)
}

// CodeName returns the name of a module's code, see [Record.Code].
func (c *Cache) CodeName(module []byte) string {
	digest := sha256.Sum256(module)
	sum := sha256.Sum256(append(digest[:], c.Target...))
	return hex.EncodeToString(sum[:])
}

func codeFiles(entry string) []string { return []string{entry + frameSuffix, entry + textSuffix} }

// isCodeName reports whether wazero could have given the name to code.
func isCodeName(name string) bool {
	raw, err := hex.DecodeString(name)
	return err == nil && len(raw) == sha256.Size
}
