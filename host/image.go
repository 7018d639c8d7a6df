package host

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/husk-dev/husk/abi/canon"
	"github.com/husk-dev/husk/host/internal/image"
	"github.com/husk-dev/husk/host/internal/wasi"
	"github.com/husk-dev/husk/host/limit"
	"github.com/husk-dev/husk/internal/wasm/entropy"
	"github.com/husk-dev/husk/internal/wasm/meter"
	"github.com/husk-dev/husk/internal/wasm/wasmfile"
)

// snapshot is an instance between two calls: all that another one needs to go on in its place.
type snapshot struct {
	memory  *image.Image
	globals []uint64
	// generator is the address of the random generator of Go's runtime, 0 for none. Each instance reseeds it.
	generator uint32
	arena     canon.KnownArena
	// elapsed is the monotonic clock of the instance. It must not run backwards.
	elapsed time.Duration
	// clock is shared with the instance; nil if it begins again for each instance.
	clock Clock
	// blank is the module before it has run.
	blank bool
	// base is the base image that this is, or was derived from; nil for none.
	base *snapshot
}

// images are the images that all users of a module share. An instance that was granted nothing made them, so that they hold
// nothing of any user.
type images struct {
	// layOut makes the memory with the module's data; nil if wazero does that.
	layOut func(context.Context) (*image.Image, error)
	// laying is held while it does, and guards blank and failed.
	laying sync.Mutex
	blank  *snapshot
	failed error
	// globals are the names of the globals in an image. Without frozen, instances have more state than images,
	// and each starts itself.
	globals []string
	frozen  bool

	// account says how the module counts what its runtime reads, nil if it does not count. altered is set
	// for a module of Go that does not.
	account *entropy.Account
	altered bool

	// making is held while the base image is made, or read by kept. There may be none.
	making sync.Mutex
	kept   func() (*snapshot, error)
	made   bool
	base   *snapshot
	about  BaseImage

	// remade are the images of a module that was made again for want of its code; nil elsewhere.
	remade *images
}

// newImages makes the images of a module that may leave the layout of its memory to its host.
func newImages(module *wasmfile.Module, account *entropy.Account) *images {
	if !meter.Detachable(module) {
		return &images{}
	}
	m := &images{account: account, altered: account == nil && entropy.Go(module), layOut: func(context.Context) (*image.Image, error) {
		return image.Make(uint64(module.Memories[0].Min)*wasmPage, func(memory []byte) error {
			meter.Lay(module, memory)
			return nil
		})
	}}
	m.globals, m.frozen = meter.Frozen(module)
	return m
}

// fresh returns the snapshot for an instance that starts itself: nil for wazero's own layout.
func (m *images) fresh(ctx context.Context) (*snapshot, error) {
	m.laying.Lock()
	defer m.laying.Unlock()
	if m.layOut == nil {
		return m.blank, m.failed
	}
	memory, err := m.layOut(ctx)
	switch {
	case err == nil:
		m.blank = &snapshot{memory: memory, blank: true}
	case ctx.Err() != nil:
		return nil, err // which says nothing of the module
	default:
		m.failed = fmt.Errorf("laying out the module's memory: %w", err)
	}
	m.layOut = nil
	return m.blank, m.failed
}

// close frees the images. No instance begins any more.
func (m *images) close() {
	for _, s := range []*snapshot{m.blank, m.base} {
		if s != nil {
			s.close()
		}
	}
	if m.remade != nil {
		m.remade.close()
	}
}

func (s *snapshot) close() {
	// Closing a file in memory cannot lose anything.
	_ = s.memory.Close()
}

// beginsWithBase reports whether instances of the sandbox may begin with the base image.
func (s *sandbox) beginsWithBase() bool {
	return s.module.images.frozen && s.module.host.config.random == nil && len(s.env) == 0 && len(s.files.Mounts()) == 0
}

// baseImage returns an instance after a start that read neither variables nor directories, nil if the
// sandbox cannot begin with one.
func (s *sandbox) baseImage(ctx context.Context) *snapshot {
	m := s.module.images
	if !s.beginsWithBase() {
		return nil
	}
	m.making.Lock()
	defer m.making.Unlock()
	s.module.ensureBase(ctx)
	if m.base == nil || m.base.memory.Size() > s.config.memoryBytes() {
		return nil // an instance that starts itself is refused the memory, and may do with less
	}
	return m.base
}

// ensureBase reads or makes the base image, unless that was tried before. The caller holds making, or
// nobody else has the module.
func (m *Module) ensureBase(ctx context.Context) {
	i := m.images
	if i.made || !i.frozen {
		return
	}
	if i.kept != nil {
		if base, err := i.kept(); err == nil { // without one it is only slower
			base.base = base
			i.base = base
		}
		i.made = true
		return
	}
	i.base, i.about = m.makeBase(ctx)
	i.made = i.base != nil || ctx.Err() == nil
}

// prepareExport does ahead of all calls what a module else does in its first. The name is the tool Wizer's.
const prepareExport = "wizer-initialize"

// makeBase starts an instance that is granted nothing, and has it prepare itself. If preparing has effects,
// the image is of the start only. If the start fails or has effects, there is no image, and each instance
// starts itself.
func (m *Module) makeBase(ctx context.Context) (base *snapshot, about BaseImage) {
	fresh, err := m.images.fresh(ctx)
	if err != nil {
		return nil, about
	}
	if slices.Contains(m.Exports, prepareExport) {
		base, err = m.buildImage(ctx, fresh, func(i *instance) error {
			return i.run(ctx, limit.MethodStart, func(context.Context, *canon.Guest) error { return i.callOptional(prepareExport) })
		})
		about.Prepared = err == nil
	}
	if base == nil {
		unprepared := err
		if base, err = m.buildImage(ctx, fresh, func(*instance) error { return nil }); err == nil {
			err = unprepared
		}
	}
	if ctx.Err() != nil && base == nil {
		return nil, BaseImage{} // which says nothing of the module
	}
	about.Made, about.Reason = base != nil, reasonOf(err)
	if base != nil {
		base.base = base
	}
	return base, about
}

// buildImage returns the image of an instance that was granted nothing and was prepared. The error says what
// failed or had an effect.
func (m *Module) buildImage(ctx context.Context, from *snapshot, prepare func(*instance) error) (*snapshot, error) {
	var s sandbox
	if err := s.init(ctx, m, m.World, m.World.String(), Grants{}, nil, nil, 1); err != nil {
		return nil, err
	}
	defer s.release()
	d := &imageBuilder{}
	s.limited, s.imageBuilder = true, d
	// What it takes is the module's, and ends soon.
	s.audit, s.learn, s.counters.whole, s.budget = nil, nil, nil, nil
	s.logger = slog.New(effectDetector{&d.printed})
	i, err := s.startFrom(ctx, from)
	if err != nil {
		return nil, d.reason(m.images, err)
	}
	defer i.Close()
	if err := prepare(i); err != nil || d.printed || d.refused != nil || i.hostCalls > 0 {
		return nil, d.reason(m.images, err)
	}
	if from != nil && from.blank {
		from = nil
	}
	return i.snapshot(from)
}

// Bounds of an instance that makes the base image, for which users wait. Go providers need 10 ms and 100
// million units, or 40 ms and 4 billion to initialize large tables, which are charged as a whole. So is the
// large function of CPython in each of its rounds: a provider in Python needs half a second and some 100 billion.
const (
	imageBuilderTime = 10 * time.Second
	imageBuilderFuel = 1 << 40
)

// effectDetector is a log that only notes whether there was something to log.
type effectDetector struct{ told *bool }

func (t effectDetector) Enabled(context.Context, slog.Level) bool  { return true }
func (t effectDetector) Handle(context.Context, slog.Record) error { *t.told = true; return nil }
func (t effectDetector) WithAttrs([]slog.Attr) slog.Handler        { return t }
func (t effectDetector) WithGroup(string) slog.Handler             { return t }

// configured holds the image of a sandbox whose setup is done.
type configured struct {
	mu     sync.Mutex
	closed bool
	// image is of an instance of this generation after so many steps.
	generation, applied int
	image               *snapshot
	// refused is set if no image can be taken of the setup of generation refusedIn.
	refused   bool
	refusedIn int
}

// find returns an image for a state of the setup, which has so many of its steps.
func (c *configured) find(state setupState) (*snapshot, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.image == nil || c.generation != state.generation || c.applied > len(state.steps) {
		return nil, 0
	}
	return c.image, c.applied
}

// keep takes an image of an instance that repeated the setup. The first instance never repeats one: most
// configurations need only that. After an error nothing is tried again, and instances repeat the setup.
func (c *configured) keep(i *instance) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.image != nil && c.generation == i.generation && c.applied >= i.applied
	if c.closed || known || i.generation < c.generation || c.refused && c.refusedIn == i.generation {
		return nil
	}
	taken, err := i.snapshot(i.from)
	if err != nil {
		c.refused, c.refusedIn = true, i.generation
		return err
	}
	// Timers and the like from the setup have begun for all instances at once.
	taken.clock = i.clock
	c.drop()
	c.image, c.generation, c.applied = taken, i.generation, i.applied
	return nil
}

// drop frees the image, which instances are not using any more once they have begun.
func (c *configured) drop() {
	if c.image != nil {
		c.image.close()
		c.image = nil
	}
}

func (c *configured) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop()
	c.closed = true
}

// snapshot takes an image of an instance that serves no call, or its difference from the image that it began
// with. It fails if state is elsewhere, or may depend on the clock or on random numbers.
func (i *instance) snapshot(from *snapshot) (*snapshot, error) {
	m := i.sandbox.module.images
	size := i.module.Memory().Size()
	memory, ok := i.module.Memory().Read(0, size)
	if !ok || !m.frozen {
		return nil, errElsewhere
	}
	if i.tcp.Count() > 0 || !i.system.Unchanged() {
		return nil, errOpen
	}
	generator, err := i.prove(memory)
	if err != nil {
		return nil, err
	}
	s := &snapshot{elapsed: i.clock.Elapsed(), generator: generator, arena: i.guest.Arena()}
	for _, name := range m.globals {
		s.globals = append(s.globals, i.module.ExportedGlobal(name).Get())
	}
	i.forgetCounts(s.globals)
	if from != nil {
		s.base = from.base
		s.memory, err = from.memory.Derive(memory)
	} else {
		s.memory, err = image.Of(memory)
	}
	return s, err
}

// instantiate gives the instance a module that begins with the image; nil is as wazero lays it out.
func (i *instance) instantiate(ctx context.Context, from *snapshot) error {
	m := i.sandbox.module
	b := m.spare(from)
	if b != nil {
		if err := from.memory.Resume(b.memory.Memory, from.base.memory); err != nil {
			b.close()
			return err
		}
		b.memory.instance, b.memory.taken = i, i.memory.taken
	} else {
		var err error
		if b, err = m.newWasmInstance(ctx, from, i.memory); err != nil {
			return err
		}
	}
	i.wasmInstance, i.memory, i.module = b, b.memory, b.module
	i.tank.Connect(i.module)
	if from != nil {
		if err := i.goOn(from); err != nil {
			return err
		}
	}
	i.watch()
	return nil
}

// goOn has the instance go on where the image was taken.
func (i *instance) goOn(from *snapshot) error {
	missing := (from.memory.Size() - uint64(i.module.Memory().Size())) / wasmPage
	if _, ok := i.module.Memory().Grow(uint32(missing)); !ok {
		return fmt.Errorf("the image needs %d bytes of memory, which is more than there may be", from.memory.Size())
	}
	if from.blank {
		return nil
	}
	i.wasmInstance.set(i.sandbox.module.images, from.globals)
	if from.generator == 0 {
		return nil
	}
	return i.random.Reseed(i.module.Memory(), from.generator, i.sandbox.module.images.account.Words)
}

// shifted is a clock that goes on where another one was.
type shifted struct {
	wasi.Clock
	by time.Duration
}

func (s shifted) Elapsed() time.Duration { return s.Clock.Elapsed() + s.by }

// clockFrom is the clock of an instance that begins with the image.
func (s *sandbox) clockFrom(from *snapshot) Clock {
	clock := s.module.host.config.clock
	switch {
	case from == nil || from.blank:
		return clock
	case from.clock != nil:
		return from.clock
	}
	return shifted{clock, from.elapsed - clock.Elapsed()}
}
