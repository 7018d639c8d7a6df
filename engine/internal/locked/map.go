// Package locked has a map that goroutines share.
package locked

import (
	"maps"
	"sync"
)

// Map is a map that is safe for concurrent use. The zero Map is empty. A Map of bools is a set.
type Map[K comparable, V any] struct {
	mu      sync.Mutex
	entries map[K]V
}

// Get returns the value of a key, the zero value if there is none.
func (m *Map[K, V]) Get(key K) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entries[key]
}

// Has reports whether the key has a value.
func (m *Map[K, V]) Has(key K) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.entries[key]
	return ok
}

// Set sets the value of a key.
func (m *Map[K, V]) Set(key K, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil {
		m.entries = make(map[K]V)
	}
	m.entries[key] = value
}

// Len returns the number of keys.
func (m *Map[K, V]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.entries)
}

// Entries returns a copy of the map.
func (m *Map[K, V]) Entries() map[K]V {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.entries)
}

// Take empties the map and returns what was in it.
func (m *Map[K, V]) Take() map[K]V {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := m.entries
	m.entries = nil
	return taken
}
