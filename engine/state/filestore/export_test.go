package filestore

import "time"

// ShortenGuard returns the store, which does not wait long for a writer that is paused.
func (s *Store) ShortenGuard() *Store {
	s.guardTime = 5 * time.Millisecond
	return s
}
