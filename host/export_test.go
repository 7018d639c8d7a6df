package host

// EndIdle ends all idle instances of a provider, as a host does that needs their memory.
func (s *sandbox) EndIdle() {
	for _, i := range s.instances.takeIdle() {
		i.close()
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

// Part tells whether there is a part of the module, and whether the whole has taken its place.
func (m *Module) Part() (has, outgrown bool) { return m.part.code != nil, m.part.outgrown.Load() }
