// Package answers checks responses of providers against the contract and their schemas ([Rules]), makes the responses that follow
// from a schema ([Declared.Answer]), and keeps a module's statements about itself ([Facts]).
package answers

import (
	"reflect"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/internal/base/strictcbor"
)

// maxHandshakes bounds the kept handshakes: engines differ in names and features.
const maxHandshakes = 16

// Facts are a module's responses to handshakes, and the schema of its own package. If the schema permits it,
// the cache keeps them, so that a later process need not run the module. They are safe for concurrent use.
type Facts struct {
	// read and write are the cache's functions, nil if there is none.
	read  func() ([]byte, error)
	write func([]byte)

	mu    sync.Mutex
	begun bool
	// cacheable is set if the record is in the cache, or is to be.
	cacheable bool
	record    record
}

type record struct {
	Handshakes []handshake
	Schema     string
}

type handshake struct {
	Request  abi.HandshakeRequest
	Response abi.HandshakeResponse
}

// NewFacts returns facts that the functions read from the cache and write there; nil for no cache.
func NewFacts(read func() ([]byte, error), write func([]byte)) *Facts {
	return &Facts{read: read, write: write}
}

// begin reads the record once. The caller holds the lock.
func (m *Facts) begin() {
	if m.begun || m.read == nil {
		return
	}
	m.begun = true
	text, err := m.read()
	m.cacheable = err == nil && strictcbor.Unmarshal(text, &m.record) == nil
}

// Schema returns the schema that is kept, empty if there is none.
func (m *Facts) Schema() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.begin(); !m.cacheable {
		return ""
	}
	return m.record.Schema
}

// Handshake returns the answer that is kept to a request.
func (m *Facts) Handshake(request abi.HandshakeRequest) (response abi.HandshakeResponse, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.begin(); !m.cacheable {
		return response, false
	}
	return m.record.handshake(request)
}

func (r *record) handshake(request abi.HandshakeRequest) (response abi.HandshakeResponse, ok bool) {
	for _, known := range r.Handshakes {
		if known.Request == request {
			return known.Response, true
		}
	}
	return response, false
}

// NoteHandshake keeps an answer of the module.
func (m *Facts) NoteHandshake(request abi.HandshakeRequest, response abi.HandshakeResponse) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begin()
	if _, known := m.record.handshake(request); !known && len(m.record.Handshakes) < maxHandshakes {
		m.record.Handshakes = append(m.record.Handshakes, handshake{request, response})
		m.save()
	}
}

// NoteSchema keeps the module's schema, and whether the cache may keep the module's statements about itself.
func (m *Facts) NoteSchema(schema string, cacheable bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begin()
	if schema != m.record.Schema || cacheable != m.cacheable {
		m.record.Schema, m.cacheable = schema, cacheable
		m.save()
	}
}

// save writes the facts to keep. The caller holds the lock.
func (m *Facts) save() {
	if !m.cacheable || m.write == nil {
		return
	}
	if text, err := strictcbor.Marshal(m.record); err == nil {
		m.write(text)
	}
}

// SameHandshake reports whether two answers are the same.
func SameHandshake(a, b abi.HandshakeResponse) bool { return reflect.DeepEqual(a, b) }
