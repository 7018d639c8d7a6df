package plugins

import (
	"bufio"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/husk-dev/husk/internal/base/atomicfile"
	"github.com/husk-dev/husk/internal/base/filelock"
)

// claims are the modules that a run needs before a state names them: the lines of a file, which is locked
// while the run goes on. When the run ends, or is killed, the states name its modules. Claims are added
// and read under the lock of the modules.
type claims struct {
	file    *os.File
	release func() error
}

// claimsPattern matches the names of the files in the directory of the modules.
const claimsPattern = "run-*.claims"

func newClaims(dir string) (*claims, error) {
	file, release, err := filelock.Temp(dir, claimsPattern)
	if err != nil {
		return nil, err
	}
	return &claims{file, release}, nil
}

func (c *claims) add(digest string) error {
	_, err := c.file.WriteString(digest + "\n")
	return err
}

func (c *claims) end() error {
	if c == nil {
		return nil
	}
	return filelock.Remove(c.file, c.release)
}

// claimedIn returns the modules that running runs claim, and removes the claims of ended runs.
func claimedIn(dir string) (map[string]bool, error) {
	files, err := filepath.Glob(filepath.Join(dir, claimsPattern))
	if err != nil {
		return nil, err
	}
	claimed := make(map[string]bool)
	for _, name := range files {
		if err := addClaimed(name, claimed); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	return claimed, nil
}

func addClaimed(name string, claimed map[string]bool) error {
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	release, err := filelock.Try(file)
	if err == nil {
		return filelock.Remove(file, release)
	}
	if !errors.Is(err, filelock.ErrHeld) {
		return errors.Join(err, file.Close())
	}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		claimed[strings.TrimSpace(lines.Text())] = true
	}
	return errors.Join(lines.Err(), file.Close())
}

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

// readWitnessKey returns nil for a file that others can read, or that has no key.
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
