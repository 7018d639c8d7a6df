package host

import (
	"bytes"
	"context"

	"github.com/husk-dev/husk/host/internal/codecache"
)

// EndIdle ends all idle instances of a provider, as a host does that needs their memory.
func (s *sandbox) EndIdle() {
	for _, i := range s.instances.TakeIdle() {
		i.Close()
	}
}

// Spares is how many modules of wazero's wait for instances.
func (m *Module) Spares() int {
	m.spares.mu.Lock()
	defer m.spares.mu.Unlock()
	return len(m.spares.ready)
}

// EndStale does what the host does from time to time.
func (h *Host) EndStale() { h.endIdle() }

// HasBase reports whether instances of the module begin with a base image.
func (m *Module) HasBase() bool {
	m.images.making.Lock()
	defer m.images.making.Unlock()
	return m.images.base != nil
}

// MakeBase makes the base image once more, and returns the memory in it; nil if there is none.
func (m *Module) MakeBase(ctx context.Context) (memory []byte) {
	base, _ := m.makeBase(ctx)
	if base == nil {
		return nil
	}
	defer base.close()
	_ = base.memory.View(func(view []byte) { memory = bytes.Clone(view) })
	return memory
}

// Rerecord records the module in the cache with other facts, and seals the record.
func (m *Module) Rerecord(change func(*Info)) error {
	var details recordDetails
	name := m.host.recordName(m.Digest)
	r, err := codecache.ReadRecord(m.host.cache, name, &details)
	if err != nil {
		return err
	}
	change(&details.Info)
	r.World = details.Info.World
	return m.host.cache.WriteRecord(name, *r, details)
}

// Loading is the loading of the module of a digest, nil for none. It stays the same while nobody begins anew.
func (h *Host) Loading(digest string) any {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.modules[digest]; l != nil {
		return l
	}
	return nil
}
