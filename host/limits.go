package host

import (
	"time"

	"github.com/husk-dev/husk/host/internal/wasi"
)

// Limits on what a module may cost its host. Those with a method in [Config] or a
// field in [ProviderOptions] are defaults.
const (
	// MaxModuleSize is the largest module in bytes. The largest Go providers that are
	// known come to some 40 MB; a compilation needs about 15 times the module's size.
	MaxModuleSize = 64 << 20

	// DefaultMemoryLimit bounds the linear memory of one instance, and what the host holds for it
	// beside that, in bytes. A Go
	// provider works in 10 to 40 MiB, and doubles that with requests of some MiB.
	DefaultMemoryLimit = 256 << 20

	// DefaultTotalMemory bounds the linear memories of all instances of a host with what it holds
	// for them, in bytes. One provider may have half of it, and two a third each.
	DefaultTotalMemory = 8 << 30

	// DefaultRequestBytes bounds each bag of property values in a request to a guest, and
	// DefaultAnswerBytes all that a guest passes in one answer or one call of the host.
	// Assets as text are the largest values, of 50 MB at most (see property.DefaultSize).
	DefaultRequestBytes = 64 << 20
	DefaultAnswerBytes  = 80 << 20

	// DefaultLogRate bounds what the instances of a provider log and print, in bytes for
	// each second. After a time of silence they may write as much as in four seconds. More
	// is dropped, with a note.
	DefaultLogRate = 256 << 10

	// DefaultInstances is how many calls of one provider run at once, each in an
	// instance of its own. It is the engine's default parallelism.
	DefaultInstances = 16

	// DefaultWaitingCalls is how many calls of one provider may wait for an instance. Each
	// takes some KiB. An engine that checks all resources at once comes to as many as its
	// program has.
	DefaultWaitingCalls = 100_000

	// DefaultIdleTime is for how long an instance that serves nothing is kept, and up to
	// twice as long. Another one begins in a fraction of a millisecond, but without what this
	// one has learnt, such as a token of a service.
	DefaultIdleTime = 10 * time.Second
	// DefaultIdleInstances is how many instances of a host are kept that serve nothing, some
	// more for a moment. Each takes some 400 KB for a Go provider.
	DefaultIdleInstances = 64

	// DefaultStreams is how many streams of one provider may be open. Each keeps an
	// instance of its own.
	DefaultStreams = 8

	// DefaultQuarantineCrashes within DefaultQuarantineWindow have a provider not called any
	// more. All calls of an engine may crash once.
	DefaultQuarantineCrashes = DefaultInstances + 4
	DefaultQuarantineWindow  = time.Minute

	// DefaultCancelGrace is how long a guest may go on after its call was cancelled:
	// enough to finish a request to a service and to answer what has become of it.
	DefaultCancelGrace = 5 * time.Second

	// DefaultCallTimeout is how long a call may take that works on resources. Services
	// are known to take an hour for one, and components wait for all of their resources.
	DefaultCallTimeout = 4 * time.Hour
	// DefaultAnswerTimeout is how long a call may take that only asks: for a schema, a
	// check, a difference, or the start of an instance.
	DefaultAnswerTimeout = 5 * time.Minute
	// DefaultCancelTime is how long a guest may take to hear that all of its work is cancelled. Every
	// deployment ends with that.
	DefaultCancelTime = 5 * time.Second
	// releaseTime is how long a guest may take to free an answer that the host has read already.
	// It takes microseconds.
	releaseTime = 100 * time.Millisecond
	// DefaultFuel is the work that one call may do, in instructions as package meter
	// counts them, which is more than are done. A Go provider that only computes needs
	// some 20 minutes for it.
	DefaultFuel = 1 << 47

	// DefaultHostCalls is how often a guest may call the host in a call that works on
	// resources: 7,000 times a second for four hours. DefaultAnswerHostCalls is that of
	// calls that only ask. A call of the host takes 100 ns at the least.
	DefaultHostCalls       = 100_000_000
	DefaultAnswerHostCalls = 10_000_000
	// DefaultRandomBytes is how many random bytes a guest may take in one call, in bytes.
	// Keys and seeds come to some hundreds.
	DefaultRandomBytes = 64 << 20

	// DefaultTableElements bounds what all tables of functions of an instance may grow to,
	// in elements of 8 bytes on the host. Go's own compiler, a module of 49 MB, has 24,000.
	DefaultTableElements = 1_000_000

	// DefaultOpenFiles is how many files, connections, HTTP exchanges, and assets an instance may
	// have open, beside the directories that were granted. An open directory counts as two.
	DefaultOpenFiles = wasi.DefaultOpenFiles

	// compileWorkers compile one module, of which as many are compiled at once as there are
	// processors for. With fewer than two, wazero cannot be interrupted; with more, modules
	// starve the rest of the program.
	compileWorkers = 2
	// DefaultCompileTime ends a compilation. The largest module takes some 15 s.
	DefaultCompileTime = 2 * time.Minute

	// maxSetup is how many requests that set an instance up are kept for replay: a
	// handshake, a configuration, and the parameterizations of extensions.
	maxSetup = 64

	// wasmPage is the size of a page of linear memory in bytes.
	wasmPage = 64 << 10
)
