package server

import (
	"net/http"
	"sync"
)

// largeOfTeam bounds the large calls about states that a team makes at once, which is half of those that the server takes at
// once from all: others go on while a team sends its own slowly.
const largeOfTeam = 2

// turns are those of teams that make large calls.
type turns struct {
	mu sync.Mutex
	of map[string]chan struct{}
}

func (t *turns) team(name string) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = make(map[string]chan struct{})
	}
	if t.of[name] == nil {
		t.of[name] = make(chan struct{}, largeOfTeam)
	}
	return t.of[name]
}

// serveStates serves a call about the states of stacks.
func (s *Server) serveStates(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength < 0 || r.ContentLength > smallBody {
		if c, err := s.caller(r); err == nil { // else it is refused below
			turn := s.large.team(c.tenant)
			select {
			case turn <- struct{}{}:
				defer func() { <-turn }()
			case <-r.Context().Done():
				return
			}
		}
	}
	s.states.ServeHTTP(w, r)
}
