package host

// EndIdle ends all idle instances of a provider, as a host does that needs their memory.
func (s *sandbox) EndIdle() {
	for _, i := range s.instances.takeIdle() {
		i.close()
	}
}
