package host

import (
	"crypto/x509"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host/internal/system"
	"github.com/husk-dev/husk/host/internal/wasi"
)

// Clock is the time that guests see. It must be safe for concurrent use.
type Clock = wasi.Clock

// SystemClock is the machine's clock.
func SystemClock() Clock { return wasi.SystemClock() }

// Config says how a [Host] runs modules. The zero value is ready to use; the methods
// answer changed copies.
type Config struct {
	cacheDir    string
	memoryLimit uint64
	moduleSize  int
	// moduleLimits is the zero value for the defaults.
	moduleLimits ModuleLimits
	grace        time.Duration
	// calls are limits by method, and those of all other methods under the empty name.
	calls map[abi.Method]callLimits
	// most are the limits that are no method's own; see [Config.withDefaults].
	most        limits
	clock       Clock
	otherClock  bool // than the system's
	random      io.Reader
	roots       *x509.CertPool
	audit       func(Use)
	advice      func(name string, exceeded ExceededError) string
	interpreter bool
	precompiled string
}

// NewConfig answers the defaults: the compiler where the platform has one, no cache
// on disk, [DefaultMemoryLimit], the system's clock and random numbers.
func NewConfig() Config {
	return Config{memoryLimit: DefaultMemoryLimit, moduleSize: MaxModuleSize, grace: DefaultCancelGrace}
}

func (c Config) withDefaults() Config {
	defaults := NewConfig()
	if c.memoryLimit == 0 {
		c.memoryLimit = defaults.memoryLimit
	}
	if c.moduleSize == 0 {
		c.moduleSize = defaults.moduleSize
	}
	if c.moduleLimits == (ModuleLimits{}) {
		c.moduleLimits = DefaultModuleLimits()
	}
	if c.grace == 0 {
		c.grace = defaults.grace
	}
	c.most = c.most.or(defaultLimits())
	if c.clock == nil {
		c.clock = SystemClock()
	}
	return c
}

// WithCacheDir keeps compiled modules in the directory, which is made where it is
// missing. It holds machine code: it must belong to the user who runs the host, and
// is closed to all others. What is in it counts only with a seal that this user's hosts
// made, with a key in the user's directory for configuration; anything else is compiled
// again. Where there is no such directory, the key is in this one.
func (c Config) WithCacheDir(dir string) Config { c.cacheDir = dir; return c }

// WithMemoryLimit bounds the memory of each instance in bytes, rounded up to pages
// of 64 KiB, and to 4 GiB at most, or 1 GiB where addresses have 32 bits.
func (c Config) WithMemoryLimit(bytes uint64) Config { c.memoryLimit = bytes; return c }

// WithModuleSize bounds the size of modules in bytes.
func (c Config) WithModuleSize(bytes int) Config { c.moduleSize = bytes; return c }

// ModuleSize is the largest module in bytes.
func (c Config) ModuleSize() int { return c.withDefaults().moduleSize }

// WithModuleLimits caps what a module may hold.
func (c Config) WithModuleLimits(limits ModuleLimits) Config { c.moduleLimits = limits; return c }

// WithCancelGrace sets how long a guest may go on after its call was cancelled.
func (c Config) WithCancelGrace(grace time.Duration) Config { c.grace = grace; return c }

// WithClock sets the time that guests see.
func (c Config) WithClock(clock Clock) Config {
	c.clock, c.otherClock = clock, clock != nil
	return c
}

// WithRandom sets the random source of guests, for tests. Reads are never concurrent.
func (c Config) WithRandom(random io.Reader) Config { c.random = random; return c }

// WithRoots sets the certificates that HTTP over TLS trusts, in place of the system's.
func (c Config) WithRoots(roots *x509.CertPool) Config { c.roots = roots; return c }

// WithAudit has each use of a capability listed, as it is made. The function may be
// called concurrently, and the guest waits for it.
func (c Config) WithAudit(audit func(Use)) Config { c.audit = audit; return c }

// WithInterpreter runs modules in wazero's interpreter, which is some 30 times slower
// but needs no executable memory.
func (c Config) WithInterpreter() Config { c.interpreter = true; return c }

// CompilerSupported reports whether modules are compiled here: wazero has a compiler for
// the processor and the system, and the system lets a program make machine code. Elsewhere
// a host takes the interpreter by itself.
//
// The host decides that, and not wazero, because what a host keeps of a module is
// of use to the compiler only.
func CompilerSupported() bool { return system.Compiles() }

// mostPages is the largest memory limit in pages of 64 KiB.
func mostPages() uint32 {
	if strconv.IntSize < 64 {
		return 1 << 14 // a quarter of what there are addresses for
	}
	return 1 << 16 // 4 GiB
}

// memoryBytes is the memory limit in whole pages.
func (c *Config) memoryBytes() uint64 {
	return min((c.memoryLimit+wasmPage-1)/wasmPage, uint64(mostPages())) * wasmPage
}

// DefaultCacheDir is where the user's cache of compiled modules is.
func DefaultCacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "husk", "compiled"), nil
}
