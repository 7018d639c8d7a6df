package plugins

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/husk-dev/husk/host"
)

// The variables that name directories for modules. A project cannot name them, because their contents
// run as machine code: a user who only looks at a project must not run code of its author.
const (
	cacheVariable       = "HUSK_CACHE_DIR"
	precompiledVariable = "HUSK_PRECOMPILED_DIR"
)

// Places are the directories for modules.
type Places struct {
	// Cache is for built and compiled modules. It is empty if there is no such directory, and
	// Precompiled is set.
	Cache string
	// Precompiled has all modules that may be loaded, empty to compile modules.
	Precompiled string
	// Confined has modules compiled into a directory of their own: the process has confined itself for a project that is not
	// trusted, and who takes it over writes code there that only such processes run.
	Confined bool
}

// FindPlaces returns the places that the environment names: HUSK_CACHE_DIR, or husk in the
// user's cache directory, and HUSK_PRECOMPILED_DIR.
func FindPlaces() (Places, error) {
	var p Places
	precompiled, err := absolute(os.Getenv(precompiledVariable))
	if err != nil {
		return p, err
	}
	p.Precompiled = precompiled
	if p.Cache, err = absolute(os.Getenv(cacheVariable)); err != nil || p.Cache != "" {
		return p, err
	}
	dir, err := os.UserCacheDir()
	switch {
	case err == nil:
		p.Cache = filepath.Join(dir, "husk")
	case p.Precompiled == "":
		return p, fmt.Errorf("no cache directory: set %s: %w", cacheVariable, err)
	}
	return p, nil
}

func absolute(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	return filepath.Abs(dir)
}

// ownFiles returns the places, which no grant of a directory above them covers.
func (p Places) ownFiles() (all []string) {
	for _, dir := range []string{p.Cache, p.Precompiled} {
		if dir != "" {
			all = append(all, dir)
		}
	}
	return all
}

// configure gives a host the directory of its machine code.
func (p Places) configure(c host.Config) host.Config {
	if p.Precompiled != "" {
		return c.WithPrecompiled(p.Precompiled)
	}
	return c.WithCacheDir(p.Compiled())
}

// Compiled returns the directory of compiled modules, empty for none.
func (p Places) Compiled() string {
	if p.Confined {
		return p.below("confined")
	}
	return p.below("compiled")
}

// Written returns the directories in which a process writes that is confined, with one for temporary files at last.
func (p Places) Written() (all []string) {
	if p.Cache == "" {
		return nil
	}
	p.Confined = true
	return []string{p.Compiled(), p.fetched(), p.below("backends"), p.below("tmp")}
}

// built returns the directory of modules that were built from source, empty for none.
func (p Places) built() string { return p.below("built") }

func (p Places) below(name string) string {
	if p.Cache == "" {
		return ""
	}
	return filepath.Join(p.Cache, name)
}

// remedy says how to change the directory.
func (p Places) remedy() string {
	if p.Precompiled != "" {
		return precompiledVariable + " names the directory; without it modules are compiled"
	}
	return cacheVariable + " names another cache directory"
}

// errNoCache is the error for source without a directory to build it in.
var errNoCache = errors.New("it is Go source, and there is no cache directory to build it in: set " + cacheVariable +
	", or name a .wasm file that \"husk provider build\" made elsewhere")

// Ports returns the directory of the sources that ports of providers are built from, empty for none.
func (p Places) Ports() string { return p.below("ports") }
