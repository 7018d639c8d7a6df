package host

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/host/internal/capability"
	"github.com/husk-dev/husk/host/internal/goruntime"
	"github.com/husk-dev/husk/host/internal/guestcall"
	"github.com/husk-dev/husk/host/internal/wasi"
	"github.com/husk-dev/husk/host/limit"
	"github.com/husk-dev/husk/internal/base/trace"
	"github.com/husk-dev/husk/internal/wasm/meter"
)

// instance is a module's instance in a sandbox. It serves one call at a time, in the frame of run. After a
// trap or a cancelled call its memory may be in any state, and it must not serve again.
type instance struct {
	sandbox *sandbox
	// from is the image that it began with, nil if wazero lays out its memory.
	from   *snapshot
	memory *guestMemory
	clock  Clock
	random goruntime.RandomSource
	// clockReads is how often it has read the clock.
	clockReads   uint64
	wasmInstance *wasmInstance // nil until there is one
	module       api.Module
	exports      []export // the exports of the wasmInstance, once the instance can be called
	guest        *canon.Guest
	system       *wasi.System
	output       output
	tank         meter.Tank
	buffers      guestcall.CallBuffers
	tcp          *capability.TCP
	descriptors  *capability.Descriptors
	// listed counts the uses that the call has listed, hostCalls all calls of the contract.
	listed    int
	hostCalls uint64

	// call and ctx belong to the call that is being served.
	call    *guestcall.Call
	ctx     context.Context
	imports *canon.Imports // nil until it uses them

	// generation and applied are how far the instance is set up.
	generation int
	applied    int
	// replaying is set while the instance only repeats the setup of another one.
	replaying bool
	spoiled   bool
	// nested counts exports that run inside of themselves.
	nested int
	// awaiting is the work that the host does for the guest. holders counts the users of the instance: its sandbox, and abandoned
	// work.
	awaiting blockingCall
	holders  atomic.Int32
	// ledger counts the memory and files that the host holds for the instance.
	ledger ledger
}

// start makes an instance, from the module's base image if there is one.
func (s *sandbox) start(ctx context.Context) (*instance, error) {
	base := s.baseImage(ctx)
	s.logNoSnapshotReason(ctx)
	if base != nil {
		return s.startFrom(ctx, base)
	}
	fresh, err := s.module.images.fresh(ctx)
	if err != nil {
		return nil, s.fail(limit.MethodStart, abi.ErrorKindUnavailable, err.Error())
	}
	return s.startFrom(ctx, fresh)
}

// startFrom makes an instance that begins with the image, and initializes it if that is to do.
func (s *sandbox) startFrom(ctx context.Context, from *snapshot) (*instance, error) {
	if !s.acquire() {
		return nil, s.gone(limit.MethodStart)
	}
	// Loading the code does not count as the guest's work. Imports are made meanwhile.
	err := s.module.imports()
	if err == nil {
		_, err = s.module.code(ctx)
	}
	if err != nil {
		s.release()
		s.module.host.live.Done()
		return nil, s.fail(limit.MethodStart, abi.ErrorKindUnavailable, err.Error())
	}
	s.counters.count(func(c *Stats) { c.Started++; c.Instances++ })
	i := &instance{sandbox: s, from: from, clock: s.clockFrom(from), memory: &guestMemory{}}
	i.holders.Store(1)
	i.ledger.instance = i
	i.descriptors = capability.NewDescriptors()
	i.tcp = capability.NewTCP(s.tcp, s.http.Names, i.descriptors, s.advice, i.used(), &i.ledger)
	i.random.From = s.module.host.random
	i.output.init(i)
	config := s.config
	i.system = wasi.New(wasi.Config{
		Args: []string{s.module.World.String()}, Env: s.env, Files: s.files,
		Clock: i.clock, Random: &i.random, OpenFiles: config.limits.OpenFiles,
		Stdout: i.output.stdout.Write, Stderr: i.output.stderr.Write,
		Called:      func() { i.call.HostCall() },
		RandomTaken: i.takesRandom, ClockRead: i.readsClock,
		Used:    i.usesFile,
		Sockets: guestSockets{i},
		Await:   i.await,
		Open:    i.ledger.open,
		Closed:  i.ledger.closed,
	})
	i.guest = canon.NewGuest(i, guestcall.Codec{Most: config.limits.RequestBytes, Call: &i.buffers, Pass: i.ledger.pass}, config.limits.AnswerBytes)
	i.guest.Await, i.guest.Charge = i.await, i.ledger.pass
	i.guest.Version, i.guest.Announced = s.module.ContractVersion(), abi.AnnouncedBy(s.module.Exports)
	if from != nil {
		i.guest.BeginWith(from.arena)
	}
	err = i.takeMemory(ctx)
	if err == nil {
		err = i.begin(ctx)
	}
	if err != nil {
		i.spoiled = true
		i.Close()
		return nil, err
	}
	return i, nil
}

// refuse notes what the guest is refused: it goes on, and may fail for want of it.
func (i *instance) refuse(exceeded *limit.ExceededError) {
	if d := i.sandbox.imageBuilder; d != nil {
		d.refused = exceeded
	}
	if i.call != nil {
		i.call.Refused = exceeded
	}
}

// takeMemory waits for the memory that the instance begins with.
func (i *instance) takeMemory(ctx context.Context) error {
	s := i.sandbox
	i.memory.instance = i
	bytes := s.module.Info.Memory
	if i.from != nil {
		bytes = i.from.memory.Size()
	}
	var err error
	if most := s.config.memoryBytes(); bytes > most {
		err = &limit.ExceededError{Limit: limit.Memory, Most: most, Needed: bytes}
	} else {
		err = s.takeMemory(ctx, bytes)
	}
	if exceeded, ok := errors.AsType[*limit.ExceededError](err); ok {
		s.counters.failed(Failure(exceeded.Limit))
		return s.refuse(limit.MethodStart, exceeded)
	}
	if err != nil {
		return s.cancelled(limit.MethodStart, err)
	}
	i.memory.taken = bytes
	return nil
}

// begin gives the instance its module, and starts it unless its image is of one that has started.
func (i *instance) begin(ctx context.Context) error {
	s := i.sandbox
	if i.begun() {
		if err := i.instantiate(ctx, i.from); err != nil {
			return s.failBy(limit.MethodStart, abi.ErrorKindUnavailable, err.Error(), err)
		}
		i.exports = i.wasmInstance.exports
		if len(s.variables) == 0 {
			s.counters.cost(limit.MethodStart, 0, &i.buffers)
			return nil
		}
	}
	return i.run(ctx, limit.MethodStart, func(context.Context, *canon.Guest) error {
		for _, name := range s.variables {
			i.used().Note(grant.Text{Capability: grant.NameEnv, Scope: name}, name, nil)
		}
		if i.begun() {
			return nil
		}
		return i.initialize()
	})
}

func (i *instance) initialize() error {
	if err := i.instantiate(i.ctx, i.from); err != nil {
		return err
	}
	if err := i.callOptional(meter.Start); err != nil {
		return err
	}
	i.exports = i.wasmInstance.exports
	return i.callOptional("_initialize")
}

// begun reports whether the image that the instance began with is of one that has started.
func (i *instance) begun() bool { return i.from != nil && !i.from.blank }

// callOptional calls a function without parameters, if the module exports it.
func (i *instance) callOptional(name string) error {
	f := i.module.ExportedFunction(name)
	if f == nil {
		return nil
	}
	_, err := f.Call(i.ctx)
	return guestcall.Trapped(err)
}

// export is an exported function, looked up at its first use, because wazero allocates a stack for each.
type export struct {
	name     string
	function api.Function
	active   bool
}

// Call calls an export, for package canon. By the context, which is the instance's own, imported functions
// find the instance.
//
// The host may need memory in a guest that calls it, so that cabi_realloc may run inside of itself. A function of
// wazero must not be called while it runs, so the inner call gets another function.
func (i *instance) Call(_ context.Context, index int, stack []uint64) error {
	if i.exports == nil {
		return errNotReady
	}
	if canon.IsRelease(index) { // for which the caller of the method waits
		r := i.call
		defer time.AfterFunc(releaseTime, func() { r.End(errSlowRelease) }).Stop()
	}
	e := &i.exports[index]
	if e.active {
		if i.nested == maxNested {
			return errNested
		}
		i.nested++
		defer func() { i.nested-- }()
		return guestcall.Trapped(i.module.ExportedFunction(e.name).CallWithStack(i.ctx, stack))
	}
	if e.function == nil {
		e.function = i.module.ExportedFunction(e.name)
	}
	e.active = true
	defer func() { e.active = false }()
	return guestcall.Trapped(e.function.CallWithStack(i.ctx, stack))
}

// errSlowRelease ends a guest that takes its time to free an answer, which counts all the same.
var errSlowRelease = errors.New("it took too long to free its answer")

// Arena asks the module for its arena, for package canon. It is called once.
func (i *instance) Arena(context.Context) (address uint32, ok bool, err error) {
	if i.exports == nil {
		return 0, false, errNotReady
	}
	f := i.module.ExportedFunction(canon.ArenaExport)
	if f == nil {
		return 0, false, nil
	}
	var stack [1]uint64
	err = guestcall.Trapped(f.CallWithStack(i.ctx, stack[:]))
	return uint32(stack[0]), err == nil, err
}

// maxNested bounds exports inside of themselves. Waiting goroutines of a guest come to two or three.
const maxNested = 16

var errNested = errors.New("the module calls the host while the host calls it, without end")

// Memory is the instance's memory.
func (i *instance) Memory() canon.LinearMemory { return i.module.Memory() }

// run is the frame of one call: contexts, imports, a share of the log, and the caller's error.
func (i *instance) run(ctx context.Context, method abi.Method, do func(context.Context, *canon.Guest) error) error {
	s := i.sandbox
	config := s.config
	limits, grace := config.limits.Call(method), config.grace
	if s.limited {
		limits.Time, limits.Fuel, grace = min(limits.Time, uint64(imageBuilderTime)), min(limits.Fuel, imageBuilderFuel), 0
	}
	r := guestcall.Begin(ctx, method, limits, grace, i, i.system)
	r.Replaying = i.replaying
	defer r.Finish()
	if !s.enter(r) {
		return s.gone(method)
	}
	defer s.leave(r)

	i.call = r
	i.ctx = r.Hard()
	i.listed = 0
	i.tank.Begin(limits.Fuel, r.Begun)
	i.buffers.Begin(&s.module.host.buffers)
	err := do(r.Soft(), i.guest)
	why, err := i.failure(r, err)
	i.buffers.End(&s.module.host.buffers)
	if span := trace.From(ctx); span.OfCall() {
		span.Set(trace.Attribute{Key: "husk.fuel", Value: i.tank.Used()}, trace.Attribute{Key: "husk.memory.pages", Value: int(i.module.Memory().Size() >> 16)})
	}
	s.counters.cost(method, i.tank.Used(), &i.buffers)
	s.ended(method, why, err)
	i.spoiled = i.spoiled || r.WasStopped()
	if r.Abandoned == "" && !i.output.ended() {
		i.finish("the log", i.output.end)
	}
	r.EachHeld(func(name string, held capability.Held) {
		if r.Abandoned == "" && held.Count() > 0 {
			i.finish(name, held.CloseAll)
		}
	})
	if r.Abandoned != "" { // all of it is still in use
		i.spoiled = true
		return err
	}
	if r.Started != nil {
		r.Started.End()
	}
	i.ledger.passed()
	i.call, i.ctx, i.imports = nil, nil, nil
	return err
}

// enter makes a call known, so that Cancel and Close reach it; false after Close.
func (s *sandbox) enter(r *guestcall.Call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.running.Add(r)
	return true
}

func (s *sandbox) leave(r *guestcall.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running.Remove(r)
}

func (i *instance) usable() bool { return !i.spoiled && i.guest.Broken() == nil }

// Close frees what the instance holds, once nothing uses it any more.
func (i *instance) Close() {
	if i.holders.Add(-1) == 0 {
		i.free()
	}
}

func (i *instance) free() {
	s := i.sandbox
	abandoned := i.call != nil
	if abandoned {
		i.call.EachHeld(func(_ string, held capability.Held) { held.CloseAll() })
	}
	if i.awaiting.work != nil {
		close(i.awaiting.work)
	}
	i.tcp.CloseAll()
	taken := i.memory.taken
	if i.wasmInstance != nil && !(i.usable() && s.module.recycle(i.wasmInstance, i.from)) {
		i.wasmInstance.close()
	}
	s.budget.Free(s.instances, taken)
	s.counters.count(func(c *Stats) {
		c.Instances--
		if !i.usable() {
			c.Dropped++
		}
	})
	if i.system.Unchanged() {
		i.end(abandoned)
	} else { // closing the files that the guest has left open may take for ever
		go i.end(abandoned)
	}
}

// end closes files. Nothing of the instance is left then.
func (i *instance) end(abandoned bool) {
	i.system.Close()
	i.ledger.end()
	i.sandbox.release()
	if abandoned {
		i.sandbox.module.host.abandoned.Add(-1)
	} else {
		i.sandbox.module.host.live.Done()
	}
}
