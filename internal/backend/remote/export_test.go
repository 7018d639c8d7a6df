package remote

import "time"

// Later has the server do what it would do after a time without calls.
func (s *Server) Later(passed time.Duration) {
	s.forget(time.Now().Add(passed))
	s.ending.Wait()
}

// MaxLeases is the number of leases that a client may have.
const MaxLeases = maxLeases

// Kept returns the size of the answers that the server keeps, in bytes.
func (s *Server) Kept() (size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		size += len(c.body)
	}
	return size
}
