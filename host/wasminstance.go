package host

import (
	"context"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/husk-dev/husk/host/internal/image"
)

// wasmInstance is a module of wazero's with the memory and globals of a base image (see [images]).
type wasmInstance struct {
	module  api.Module
	memory  *guestMemory
	exports []export // as in the ExportTable of the module's world
}

// newWasmInstance makes one that begins with an image, which stays open meanwhile; nil is as wazero makes it.
func (m *Module) newWasmInstance(ctx context.Context, from *snapshot, memory *guestMemory) (*wasmInstance, error) {
	compiled, err := m.code(ctx)
	if err != nil {
		return nil, err
	}
	begin := m.host.empty
	if from != nil {
		begin = from.memory
	}
	begun, err := begin.Begin(m.host.config.memoryBytes())
	if err != nil {
		return nil, err
	}
	memory.Memory = begun
	// wazero's own random source, which is not used, takes long to seed.
	settings := wazero.NewModuleConfig().WithName("").WithStartFunctions().WithRandSource(m.host.random)
	allocate := experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory { return memory })
	module, err := m.host.runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, allocate), compiled, settings)
	if err != nil {
		begun.Free()
		return nil, err
	}
	names := m.World.ExportNames(m.ContractVersion())
	b := &wasmInstance{module: module, memory: memory, exports: make([]export, len(names))}
	for n, name := range names {
		b.exports[n].name = name
	}
	return b, nil
}

// set gives the numeric globals of an image their values.
func (b *wasmInstance) set(of *images, globals []uint64) {
	for n, name := range of.globals {
		b.module.ExportedGlobal(name).(api.MutableGlobal).Set(globals[n])
	}
}

func (b *wasmInstance) close() {
	// Closing a module that runs nothing only frees memory, and cannot fail.
	_ = b.module.Close(context.Background())
	b.memory.Memory.Free()
}

// spares are wasmInstances that wait for instances of a module. They take most of the time of a start: wazero
// makes an object for each function in a table. Ended instances leave theirs, or one is made ahead.
type spares struct {
	mu     sync.Mutex
	ready  []*wasmInstance
	begun  bool
	making bool
	closed bool
}

// mostSpares bounds the spare instances of a module. Each takes some 300 KB for a Go provider.
const mostSpares = 2

// spare returns a wasmInstance for an instance that begins with the image, nil if there is none.
func (m *Module) spare(from *snapshot) *wasmInstance {
	if from == nil || from.base == nil || !image.Shared {
		return nil
	}
	s := &m.spares
	s.mu.Lock()
	defer s.mu.Unlock()
	var b *wasmInstance
	if last := len(s.ready) - 1; last >= 0 {
		b = s.ready[last]
		s.ready = s.ready[:last]
	}
	// Most modules are used by one instance only, and need none.
	if s.begun && len(s.ready) == 0 && !s.making && !s.closed {
		s.making = m.host.background(func() { m.makeSpare(from.base) })
	}
	s.begun = true
	return b
}

func (m *Module) makeSpare(base *snapshot) {
	b, err := m.newWasmInstance(m.host.stopped, base, &guestMemory{})
	if err == nil && !m.spares.put(b) {
		b.close()
	}
	m.spares.mu.Lock()
	m.spares.making = false
	m.spares.mu.Unlock()
}

// put keeps a wasmInstance. False: there are enough.
func (s *spares) put(b *wasmInstance) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.ready) >= mostSpares {
		return false
	}
	s.ready = append(s.ready, b)
	return true
}

// recycle resets an ended instance's wasmInstance to this image's base. False: it cannot, or has enough.
func (m *Module) recycle(b *wasmInstance, from *snapshot) bool {
	if from == nil || from.base == nil || uint64(b.module.Memory().Size()) != from.base.memory.Size() {
		return false
	}
	if b.memory.Restore() != nil {
		return false
	}
	b.set(m.images, from.base.globals)
	*b.memory = guestMemory{Memory: b.memory.Memory}
	return m.spares.put(b)
}

func (s *spares) close() {
	s.mu.Lock()
	ready := s.ready
	s.ready, s.closed = nil, true
	s.mu.Unlock()
	for _, b := range ready {
		b.close()
	}
}
