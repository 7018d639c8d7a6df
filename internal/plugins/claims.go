package plugins

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/husk-dev/husk/internal/filelock"
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
	file, err := os.CreateTemp(dir, claimsPattern)
	if err != nil {
		return nil, err
	}
	release, err := filelock.Try(file)
	if err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(file.Name()))
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
	// Windows cannot remove an open file, other systems can: remove it before closing, or else after.
	removed := os.Remove(c.file.Name())
	err := errors.Join(c.release(), c.file.Close())
	if removed != nil {
		removed = os.Remove(c.file.Name())
	}
	if errors.Is(removed, os.ErrNotExist) {
		removed = nil
	}
	return errors.Join(err, removed)
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
		err = errors.Join(release(), file.Close())
		return errors.Join(err, os.Remove(name))
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
