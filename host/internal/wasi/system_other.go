//go:build !unix

package wasi

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// isEntryName reports whether a name can be an entry of a directory: without characters that Windows takes for a separator or a
// stream of a file.
func isEntryName(name string) bool { return !strings.ContainsAny(name, `\:`) }

func setFileTimes(*os.File, time.Time, time.Time) error { return errNotsup }

func setEntryTimes(at *place, access, modified time.Time) error {
	return at.dir.Chtimes(at.name, access, modified)
}

// renameEntry and linkEntry go by the paths of the entries below their mount, since this system
// has no operation on two open directories.
func renameEntry(from, to *place) error { return inMount(from, to, (*os.Root).Rename) }

func linkEntry(from, to *place) error { return inMount(from, to, (*os.Root).Link) }

func inMount(from, to *place, do func(dir *os.Root, from, to string) error) error {
	root, err := from.mount.open()
	if err != nil {
		return err
	}
	a, err := filepath.Rel(from.mount.real, from.path)
	if err != nil {
		return err
	}
	b, err := filepath.Rel(from.mount.real, to.path)
	if err != nil {
		return err
	}
	return do(root, a, b)
}
