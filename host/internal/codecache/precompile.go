package codecache

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/husk-dev/husk/internal/base/atomicfile"
	"github.com/husk-dev/husk/internal/base/checkedcbor"
	"github.com/husk-dev/husk/internal/base/strictcbor"
)

// publicMode is of files that all can read, and only their owner can write.
const publicMode = 0o644

// Precompile copies what the cache keeps of a module under a record's name into a directory, under
// another name. The manifest says what the code is for.
func (c *Cache) Precompile(dir, kept, name string, needs map[string]string) error {
	files := make(map[string][]byte)
	for _, suffix := range []string{HollowSuffix, BaseSuffix, DataSuffix} {
		content, err := c.Read(kept + suffix)
		if err != nil && (suffix == HollowSuffix || !errors.Is(err, os.ErrNotExist)) {
			return fmt.Errorf("reading the host's cache: %w", err)
		}
		if err == nil {
			files[name+suffix] = content
		}
	}
	var details strictcbor.Raw
	r, err := ReadRecord(c, kept, &details)
	if err != nil {
		return fmt.Errorf("reading the host's cache: %w", err)
	}
	if files[name+RecordSuffix], err = strictcbor.Marshal(r); err != nil {
		return err
	}
	f, err := readFrame(c, r.Code)
	if err != nil {
		return fmt.Errorf("reading the host's cache: %w", err)
	}
	return viewFile(filepath.Join(c.dir, r.Code+textSuffix), func(text []byte) error {
		if err := c.sealOf(r.Code, f)(text); err != nil {
			return fmt.Errorf("reading the host's cache: %w", err)
		}
		return precompile(dir, name, needs, r, f, files, text)
	})
}

// precompile writes the files and the machine code of a module, with a manifest.
func precompile(dir, name string, needs map[string]string, r *Record, f *frame, files map[string][]byte, text []byte) (err error) {
	f.Seal = nil // others have no key for it
	if files[name+frameSuffix], err = strictcbor.Marshal(f); err != nil {
		return err
	}
	files[name+textSuffix] = text
	if err := os.MkdirAll(filepath.Join(dir, codeDir()), 0o755); err != nil {
		return err
	}
	if f.large() {
		text = nil
	}
	file := filepath.Join(dir, codeDir(), f.Name)
	if err := f.write(file+asideSuffix, text, publicMode); err != nil {
		return err
	}
	if err := os.Rename(file+asideSuffix, file); err != nil {
		return err
	}
	m := manifest{Module: r.Digest, Name: r.Name, Version: r.Version, For: needs, Sums: make(map[string]string)}
	for file, content := range files {
		sum, err := checksum(bytes.NewReader(content))
		if err != nil {
			return err
		}
		m.Sums[file] = sum
		if err := atomicfile.WriteUnsynced(filepath.Join(dir, file), content, publicMode); err != nil {
			return err
		}
	}
	encoded, err := checkedcbor.Marshal(m)
	if err != nil {
		return err
	}
	return atomicfile.WriteUnsynced(filepath.Join(dir, name+manifestSuffix), encoded, publicMode)
}
