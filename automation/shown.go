package automation

import (
	"sync"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/internal/display"
)

// shown passes events on to the program and to its progress writer, one at a time.
type shown struct {
	display display.Display // nil for none

	mu sync.Mutex
	to func(engine.Event) // nil for nobody
}

func (s *shown) event(e engine.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.to != nil {
		s.to(e)
	}
	if s.display != nil {
		s.display.Event(e)
	}
}

// close shows how the operation ended.
func (s *shown) close(err error) {
	if s.display != nil {
		s.display.Close(err)
	}
}
