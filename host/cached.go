package host

import (
	"time"

	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/host/internal/codecache"
)

// KeptUnused is for how long a cache keeps a module that is not used. One that comes back
// later is compiled again.
const KeptUnused = codecache.KeptUnused

// CachedModule is what a cache keeps of a module.
type CachedModule struct {
	// Digest is the module's, and World what it is.
	Digest string
	World  canon.World
	// Name and Version are what the module says of itself, empty if that is not known.
	Name, Version string
	// Bytes is what is kept, and Used when it was used last, to the day.
	Bytes int64
	Used  time.Time
}

// CachedModules lists what the cache in a directory keeps, see [Config.WithCacheDir]: for each
// platform, version of Husk, and set of limits that a module was compiled for. Those
// that were used last come first.
func CachedModules(dir string) ([]CachedModule, error) {
	list, err := codecache.List(dir)
	var modules []CachedModule
	for _, kept := range list {
		modules = append(modules, CachedModule{kept.Digest, kept.World, kept.Name, kept.Version, kept.Bytes, kept.Used})
	}
	return modules, err
}

// PruneCache removes from the cache in a directory, see [Config.WithCacheDir], what was not
// used since a time, to the day, and returns how many bytes that were. Hosts that use the cache
// meanwhile compile again what they do not find.
func PruneCache(dir string, since time.Time) (bytes int64, err error) {
	return codecache.Prune(dir, since)
}
