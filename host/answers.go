package host

import (
	"reflect"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host/internal/codecache"
	"github.com/husk-dev/husk/internal/strictcbor"
)

// answers are what a module has said of itself: its answers to handshakes, and the schema of
// its own package. Where the schema says that these depend on the module alone, the cache
// keeps them, so that a later process need not run the module to know them.
type answers struct {
	// read and write are those of the cache, nil where there is none.
	read  func() ([]byte, error)
	write func([]byte)

	mu    sync.Mutex
	begun bool
	// kept tells that said is in the cache, or is to be.
	kept bool
	said said
}

type said struct {
	Handshakes []saidHandshake
	Schema     string
}

type saidHandshake struct {
	Request  abi.HandshakeRequest
	Response abi.HandshakeResponse
}

// mostHandshakes bounds how many different ones are kept: engines differ in their names and
// features.
const mostHandshakes = 16

// answersOf are those of a module that is in the cache.
func (h *Host) answersOf(digest string) *answers {
	name := h.recordName(digest) + codecache.AnswersSuffix
	return &answers{
		read: func() ([]byte, error) { return h.cache.Read(name) },
		// Without the file the module is asked again.
		write: func(text []byte) { _ = h.cache.Write(name, text) },
	}
}

// begin reads what is kept. The caller holds the lock.
func (a *answers) begin() {
	if a.begun || a.read == nil {
		return
	}
	a.begun = true
	text, err := a.read()
	if err == nil && strictcbor.Unmarshal(text, &a.said) == nil {
		a.kept = true
	}
}

// schema answers the schema that is kept, empty where there is none.
func (a *answers) schema() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begin(); !a.kept {
		return ""
	}
	return a.said.Schema
}

// handshake answers what is kept of a handshake.
func (a *answers) handshake(request abi.HandshakeRequest) (response abi.HandshakeResponse, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begin(); !a.kept {
		return response, false
	}
	return a.said.handshake(request)
}

func (s *said) handshake(request abi.HandshakeRequest) (response abi.HandshakeResponse, ok bool) {
	for _, known := range s.Handshakes {
		if known.Request == request {
			return known.Response, true
		}
	}
	return response, false
}

// shook is told of a handshake of the module.
func (a *answers) shook(request abi.HandshakeRequest, response abi.HandshakeResponse) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begin()
	if _, known := a.said.handshake(request); !known && len(a.said.Handshakes) < mostHandshakes {
		a.said.Handshakes = append(a.said.Handshakes, saidHandshake{request, response})
		a.keep()
	}
}

// declared is told of the module's schema, and whether what the module says of itself may be
// kept.
func (a *answers) declared(schema string, deferred bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begin()
	if schema != a.said.Schema || deferred != a.kept {
		a.said.Schema, a.kept = schema, deferred
		a.keep()
	}
}

// keep writes what is to be kept. The caller holds the lock.
func (a *answers) keep() {
	if !a.kept || a.write == nil {
		return
	}
	if text, err := strictcbor.Marshal(a.said); err == nil {
		a.write(text)
	}
}

func sameHandshake(a, b abi.HandshakeResponse) bool { return reflect.DeepEqual(a, b) }
