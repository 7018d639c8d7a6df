package program

import (
	"os"
	"path/filepath"

	"github.com/husk-dev/husk/internal/atomicfile"
)

// newFileMode is the mode of a new configuration file, which holds no plain secrets.
const newFileMode = 0o644

// writeFile replaces a file's contents as one step, and keeps its mode.
func writeFile(path string, data []byte) error {
	mode := os.FileMode(newFileMode)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link is written through, not replaced
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, data, mode)
}
