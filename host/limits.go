package host

import "time"

// Limits on what a module may cost its host. Those with a method in [Config] or a
// field in [ProviderOptions] are defaults.
const (
	// MaxModuleSize is the largest module in bytes. The largest Go providers that are
	// known come to some 40 MB; a compilation needs about 15 times the module's size.
	MaxModuleSize = 64 << 20

	// DefaultMemoryLimit bounds the linear memory of one instance, in bytes. A Go
	// provider works in 10 to 40 MiB, and doubles that with requests of some MiB.
	DefaultMemoryLimit = 256 << 20

	// MaxRequestBytes bounds the property values of one request to a guest, and
	// MaxAnswerBytes all that a guest passes in one answer or one call of the host.
	// Assets as text are the largest values, of 50 MB at most (see property.DefaultSize).
	MaxRequestBytes = 64 << 20
	MaxAnswerBytes  = 80 << 20

	// MaxOutputBytes bounds what a guest logs and prints during one call. More is
	// dropped, with a note.
	MaxOutputBytes = 1 << 20

	// DefaultInstances is how many calls of one provider run at once, each in an
	// instance of its own. It is the engine's default parallelism.
	DefaultInstances = 16

	// MaxStreams is how many streams of one provider may be open. Each keeps an
	// instance of its own.
	MaxStreams = 8

	// DefaultCancelGrace is how long a guest may go on after its call was cancelled:
	// enough to finish a request to a service and to answer what has become of it.
	DefaultCancelGrace = 5 * time.Second

	// DefaultCallTimeout is how long a call may take that works on resources. Services
	// are known to take an hour for one, and components wait for all of their resources.
	DefaultCallTimeout = 4 * time.Hour
	// DefaultAnswerTimeout is how long a call may take that only asks: for a schema, a
	// check, a difference, or the start of an instance.
	DefaultAnswerTimeout = 5 * time.Minute
	// DefaultFuel is the work that one call may do, in instructions as package meter
	// counts them, which is more than are done. A Go provider that only computes needs
	// some 20 minutes for it.
	DefaultFuel = 1 << 47

	// maxTableElements bounds what tables of functions may grow to, in elements of 8
	// bytes on the host. Go's own compiler, a module of 49 MB, has 24,000.
	maxTableElements = 1_000_000

	// compileWorkers compile one module. With fewer than two, wazero cannot be
	// interrupted; with more, two modules at once starve the rest of the program.
	compileWorkers = 2
	// maxCompileTime ends a compilation. The largest module takes some 15 s.
	maxCompileTime = 2 * time.Minute

	// maxSetup is how many requests that set an instance up are kept for replay: a
	// handshake, a configuration, and the parameterizations of extensions.
	maxSetup = 64

	// maxEnvironment bounds the granted variables in bytes, as operating systems do
	// for one of them.
	maxEnvironment = 128 << 10

	// wasmPage is the size of a page of linear memory in bytes.
	wasmPage = 64 << 10
)
