package host

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/host/internal/image"
	"github.com/husk-dev/husk/host/internal/system"
	"github.com/husk-dev/husk/host/internal/wasi"
	"github.com/husk-dev/husk/host/limit"
)

// Clock is the time that guests see. It must be safe for concurrent use.
type Clock interface {
	// Now is the wall clock.
	Now() time.Time
	// Elapsed is the monotonic clock. It is above zero and never runs backwards.
	Elapsed() time.Duration
	// Sleep returns after the duration, or with an error when the context ends.
	Sleep(ctx context.Context, duration time.Duration) error
}

// SystemClock is the machine's clock.
func SystemClock() Clock { return wasi.SystemClock() }

const (
	// DefaultInstances is how many calls of one provider run at once: the engine's default parallelism.
	DefaultInstances = 32

	// DefaultIdleTime is how long an idle instance is kept at least; at most it is twice as long. A new
	// instance lacks what this one has learnt, such as a token of a service.
	DefaultIdleTime = 10 * time.Second
	// DefaultIdleInstances is how many idle instances a host keeps. Each takes some 400 KB for Go providers.
	DefaultIdleInstances = 64

	// DefaultQuarantineWindow is the time for which crashes are counted.
	DefaultQuarantineWindow = time.Minute

	// DefaultCancelGrace is how long a guest may go on after its call was cancelled: enough to finish a
	// request, and to answer what became of it.
	DefaultCancelGrace = 5 * time.Second
	// releaseTime is how long a guest may take to free an answer that the host has read already.
	// It takes microseconds.
	releaseTime = 100 * time.Millisecond

	// compileWorkers compile one module. With fewer than two, wazero cannot be interrupted; with more,
	// modules starve the rest of the program.
	compileWorkers = 2

	// maxSetup bounds the requests that are repeated in each instance.
	maxSetup = 64

	// wasmPage is the size of a page of linear memory in bytes.
	wasmPage = image.WasmPage
)

// Config is how a [Host] runs modules. The zero value is ready to use: the compiler if there is one, no
// cache, the limits of package limit, the system's clock and random numbers. Methods return copies.
type Config struct {
	cacheDir string
	settings limit.Settings
	// limits are the effective limits, once a host has the configuration.
	limits                       limit.Set
	grace, idleTime, crashWindow time.Duration
	idleInstances                int
	clock                        Clock
	otherClock                   bool // than the system's
	random                       io.Reader
	roots                        *x509.CertPool
	audit                        func(AuditEvent)
	learn                        func(provider string, used grant.Text)
	advice                       func(name string, exceeded limit.ExceededError) string
	admission                    func(path, digest string) error
	interpreter                  bool
	precompiled                  string
}

// NewConfig returns the defaults.
func NewConfig() Config { return Config{} }

func (c Config) withDefaults() Config {
	c.limits = c.settings.Set()
	c.grace = cmp.Or(c.grace, DefaultCancelGrace)
	c.idleTime = cmp.Or(c.idleTime, DefaultIdleTime)
	c.idleInstances = cmp.Or(c.idleInstances, DefaultIdleInstances)
	c.crashWindow = cmp.Or(c.crashWindow, DefaultQuarantineWindow)
	if c.clock == nil {
		c.clock = SystemClock()
	}
	return c
}

// WithLimit sets a limit by its name, in its unit: bytes, a count, or nanoseconds. [limit.All] lists the limits. With methods, by
// their WIT names or "start", the limit is for calls of these methods only. [New] returns an error if the limit or a method does
// not exist, if the limit is fixed, or if the value is 0.
//
// A guest whose call exceeds [limit.Time] is cancelled, and ended after the grace. The error has the kind crashed,
// because what became of the work is unknown, and the origin policy. For [limit.Fuel], the guest is ended at once; the same
// call uses the same fuel on every machine. [limit.Memory] is rounded up to pages of 64 KiB, and to 4 GiB at most, or
// 1 GiB if addresses have 32 bits.
func (c Config) WithLimit(name limit.Limit, value uint64, methods ...string) Config {
	c.settings = c.settings.With(name, value, methods...)
	return c
}

// ModuleSize is the largest module in bytes.
func (c Config) ModuleSize() int { return c.withDefaults().limits.ModuleSize }

// WithQuarantineWindow sets the time within which as many crashes as [limit.Crashes] put a provider in quarantine, see
// [QuarantineError].
func (c Config) WithQuarantineWindow(window time.Duration) Config { c.crashWindow = window; return c }

// WithIdleTime sets for how long an instance that serves nothing is kept.
func (c Config) WithIdleTime(idle time.Duration) Config { c.idleTime = idle; return c }

// WithIdleInstances bounds how many instances of the host are kept that serve nothing.
func (c Config) WithIdleInstances(most int) Config { c.idleInstances = most; return c }

// WithAdvice has errors say how the program's user raises a limit, in place of naming an option. The
// function gets the name of the provider or policy pack, empty for none, and an error without advice. It
// may be called concurrently, and is not asked about fixed limits.
func (c Config) WithAdvice(advice func(name string, exceeded limit.ExceededError) string) Config {
	c.advice = advice
	return c
}

// advised has the error say how to raise the limit.
func (c *Config) advised(name string, e *limit.ExceededError) *limit.ExceededError {
	if c.advice == nil || e.Advice != "" || e.Option() == "" {
		return e
	}
	advised := *e
	advised.Advice = c.advice(name, *e)
	return &advised
}

// ofProvider returns the configuration of a provider that has limits of its own.
func (c *Config) ofProvider(own map[string]uint64) (*Config, error) {
	if len(own) == 0 {
		return c, nil
	}
	changed := *c
	for name, value := range own {
		l, ok := limit.Named(name)
		if ok && !l.OfProvider() {
			return nil, fmt.Errorf("the limit %q cannot be set for one provider", name)
		}
		changed = changed.WithLimit(limit.Limit(name), value)
	}
	if err := changed.settings.Check(); err != nil {
		return nil, err
	}
	changed.limits = changed.settings.Set()
	if own, most := changed.memoryBytes(), c.memoryBytes(); own > most {
		return nil, fmt.Errorf("the limit %q is %d bytes, but the host's is %d", "memory", own, most)
	}
	return &changed, nil
}

// WithCacheDir keeps compiled modules in the directory, which is made if it is missing. It must belong to
// the user, and is closed to others, because its machine code is run. Files count only with a seal of this
// user's hosts. The key is in the user's configuration directory, or else in this one.
func (c Config) WithCacheDir(dir string) Config { c.cacheDir = dir; return c }

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

// WithAudit lists each use of a capability. Guests wait for the function; calls are concurrent.
func (c Config) WithAudit(audit func(AuditEvent)) Config { c.audit = audit; return c }

// WithLearn reports the least grant that covers each use that is granted, lookups of files included. The
// scope of a directory is the path of a file as the provider sees it. The guest waits for the function,
// which may be called concurrently, and often with the same grant.
func (c Config) WithLearn(learn func(provider string, used grant.Text)) Config {
	c.learn = learn
	return c
}

// WithAdmission asks about each module before a byte of it is compiled, read, or run: an error refuses it. path is empty for
// a module from memory, and digest is sha256: and 64 hexadecimal digits. The function may be called concurrently. Package
// [github.com/husk-dev/husk/host/trust] verifies signatures.
func (c Config) WithAdmission(admit func(path, digest string) error) Config {
	c.admission = admit
	return c
}

// WithInterpreter runs modules in wazero's interpreter, some 30 times slower, without executable memory.
func (c Config) WithInterpreter() Config { c.interpreter = true; return c }

// CompilerSupported reports whether modules are compiled here: wazero has a compiler, and the system permits
// machine code. Elsewhere hosts interpret.
func CompilerSupported() bool { return system.Compiles() }

// mostPages is the largest memory limit in pages of 64 KiB.
func mostPages() uint32 {
	if strconv.IntSize < 64 {
		return 1 << 14 // a quarter of the address space
	}
	return 1 << 16 // 4 GiB
}

// memoryBytes is the memory limit in whole pages.
func (c *Config) memoryBytes() uint64 {
	return min((c.limits.Memory+wasmPage-1)/wasmPage, uint64(mostPages())) * wasmPage
}
