package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/internal/atomicfile"
)

// Precompile puts what a host needs to load the module without compiling it into a
// directory, for [Config.WithPrecompiled]: the machine code, the images that instances
// begin with, and what the code was compiled for. That is this platform, this processor,
// this version of Husk, and the limits of this host's configuration; wazero cannot compile
// for others. The host must have a cache (see [Config.WithCacheDir]), which it is taken from.
//
// The directory may hold several modules, and is made where it is missing. It holds no
// secrets, and can be read by all.
func (m *Module) Precompile(dir string) error {
	if err := m.precompile(dir); err != nil {
		return fmt.Errorf("precompiling the module %s: %w", m.Digest, err)
	}
	return nil
}

// publicMode is of files that all can read, and only their owner can write.
const publicMode = 0o644

func (m *Module) precompile(dir string) error {
	h := m.host
	if h.cache == nil {
		return errors.New("its host has no machine code to give: it has no cache, or takes the interpreter")
	}
	name := strings.TrimPrefix(m.Digest, digestPrefix)
	kept := h.recordName(m.Digest)
	files := make(map[string][]byte)
	for _, suffix := range []string{recordSuffix, hollowSuffix, baseSuffix, dataSuffix} {
		content, err := h.cache.read(kept + suffix)
		if err != nil && (suffix == recordSuffix || suffix == hollowSuffix || !errors.Is(err, os.ErrNotExist)) {
			return fmt.Errorf("reading the host's cache: %w", err)
		}
		if err == nil {
			files[name+suffix] = content
		}
	}
	var r record
	if err := json.Unmarshal(files[name+recordSuffix], &r); err != nil {
		return fmt.Errorf("reading the host's cache: %w", err)
	}
	if r.PartCode != "" { // all of the code is read in any case, to see that it is not damaged
		r.PartCode = ""
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		files[name+recordSuffix] = text
	}
	var codeName string
	var code []byte
	err := h.cache.code(filepath.Join(h.cache.dir, r.Code), func(name string, content []byte) error {
		codeName, code = name, bytes.Clone(content)
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading the host's cache: %w", err)
	}
	manifest := precompiledManifest{Module: m.Digest, For: h.needs(), Code: filepath.Join(codeDir(), codeName), Sums: make(map[string]string)}
	if m.Manifest != nil {
		manifest.Name, manifest.Version = m.Manifest.Name, m.Manifest.Version
	}
	files[manifest.Code] = code
	if err := os.MkdirAll(filepath.Join(dir, codeDir()), 0o755); err != nil {
		return err
	}
	for file, content := range files {
		sum, err := checksum(bytes.NewReader(content))
		if err != nil {
			return err
		}
		manifest.Sums[file] = sum
		if err := atomicfile.WriteUnsynced(filepath.Join(dir, file), content, publicMode); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteUnsynced(filepath.Join(dir, name+manifestSuffix), append(text, '\n'), publicMode)
}
