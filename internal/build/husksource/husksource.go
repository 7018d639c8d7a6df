// Package husksource finds the source of Husk that this program was built from, for code that is built against it: ported
// providers, and projects from a template.
package husksource

import (
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"os"
)

// Module is the module of Husk.
const Module = "github.com/husk-dev/husk"

// Checkout returns the checkout that this program was built from, if it still has a file, such as go.mod.
func Checkout(file string) (dir string, ok bool) {
	_, here, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(here) { // built with -trimpath
		return "", false
	}
	dir = filepath.Join(filepath.Dir(here), "..", "..", "..")
	_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(file)))
	return dir, err == nil
}

// Version returns the version of this program's source that the module proxy serves, empty if there is none.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Path != Module || info.Main.Version == "(devel)" || strings.Contains(info.Main.Version, "+dirty") {
		return ""
	}
	return info.Main.Version
}
