package plugins

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/husk-dev/husk/host"
)

// The variables that name directories for modules. A project cannot name them: what is
// in them is run as machine code, and whoever only looks at a project that he was given
// must not run its author's.
const (
	cacheVariable       = "HUSK_CACHE_DIR"
	precompiledVariable = "HUSK_PRECOMPILED_DIR"
)

// Places are the directories for modules.
type Places struct {
	// Cache is for what can be made again: built and compiled modules. It is empty where
	// there is no such directory, and none is needed.
	Cache string
	// Precompiled has all modules that may be loaded, empty where modules are compiled.
	Precompiled string
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

// ownFiles are the places with modules and machine code, which no provider is granted by a directory
// above them.
func (p Places) ownFiles() (all []string) {
	for _, dir := range []string{p.Cache, p.Precompiled} {
		if dir != "" {
			all = append(all, dir)
		}
	}
	return all
}

// configure says where a host has machine code.
func (p Places) configure(c host.Config) host.Config {
	if p.Precompiled != "" {
		return c.WithPrecompiled(p.Precompiled)
	}
	return c.WithCacheDir(p.Compiled())
}

// Compiled is the directory of compiled modules, empty for none.
func (p Places) Compiled() string {
	if p.Cache == "" {
		return ""
	}
	return filepath.Join(p.Cache, "compiled")
}

// remedy says what to change where that cannot be used.
func (p Places) remedy() string {
	if p.Precompiled != "" {
		return precompiledVariable + " names the directory; without it modules are compiled"
	}
	return cacheVariable + " names another cache directory"
}

// built is the directory of modules that were built from source, empty for none.
func (p Places) built() string {
	if p.Cache == "" {
		return ""
	}
	return filepath.Join(p.Cache, "built")
}

// errNoCache is source that cannot be built.
var errNoCache = errors.New("it is Go source, and there is no cache directory to build it in: set " + cacheVariable +
	", or name a .wasm file that \"husk provider build\" made elsewhere")
