package plugins

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/husk-dev/husk/internal/atomicfile"
)

// witnessKeyFile is the name of the key, in the user's directory of configuration, that seals the records of where modules come from.
// A cache may lie in the directory of a project, which has brought it along: its records have another seal, or none.
const witnessKeyFile = "witness.key"

const witnessKeySize = 32

// WitnessKey reads the key, and makes it if there is none. Without a directory for it there is none, and nothing is recorded.
func WitnessKey() []byte {
	config, err := os.UserConfigDir()
	if err != nil {
		return nil
	}
	if info, err := os.Stat(config); err != nil || !info.IsDir() {
		return nil // a home is not made for a key
	}
	path := filepath.Join(config, "husk", witnessKeyFile)
	key, err := readWitnessKey(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return key
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil
	}
	key = make([]byte, witnessKeySize)
	_, _ = rand.Read(key) // it never fails
	if made, err := atomicfile.Create(path, key); made || err != nil {
		if err != nil {
			return nil
		}
		return key
	}
	key, _ = readWitnessKey(path) // of two that make one, the first wins
	return key
}

// readWitnessKey returns nil for a file that others can read, or that is no key.
func readWitnessKey(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() != witnessKeySize || runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, nil
	}
	return os.ReadFile(path)
}
