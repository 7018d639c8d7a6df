package remote

import "time"

// Later has the server do what it would do after a time without calls.
func (s *Server) Later(passed time.Duration) {
	s.forget(time.Now().Add(passed))
	s.ending.Wait()
}
