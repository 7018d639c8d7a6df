// Package locked has maps that goroutines share.
package locked

import (
	"context"
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
	value, _ := m.Lookup(key)
	return value
}

// Lookup returns the value of a key, and reports whether there is one.
func (m *Map[K, V]) Lookup(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.entries[key]
	return value, ok
}

// Has reports whether the key has a value.
func (m *Map[K, V]) Has(key K) bool {
	_, ok := m.Lookup(key)
	return ok
}

// Set sets the value of a key.
func (m *Map[K, V]) Set(key K, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(key, value)
}

// Add sets the value of a key that has none, and reports whether it did.
func (m *Map[K, V]) Add(key K, value V) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.entries[key]; ok {
		return false
	}
	m.set(key, value)
	return true
}

func (m *Map[K, V]) set(key K, value V) {
	if m.entries == nil {
		m.entries = make(map[K]V)
	}
	m.entries[key] = value
}

// Remove removes a key. It returns the value, and reports whether there was one.
func (m *Map[K, V]) Remove(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.entries[key]
	delete(m.entries, key)
	return value, ok
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

// Take empties the map and returns its former entries.
func (m *Map[K, V]) Take() map[K]V {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := m.entries
	m.entries = nil
	return taken
}

// Once makes one value for each key. Its zero value is ready for use.
type Once[K comparable, V any] struct{ made Map[K, *made[V]] }

// made is a value; ready is closed once value and err are set.
type made[V any] struct {
	ready chan struct{}
	value V
	err   error
}

// Get returns the value of a key, or the error that making it had. It makes the value for the first
// caller; others wait until that is done.
func (o *Once[K, V]) Get(ctx context.Context, key K, make func() (V, error)) (V, error) {
	m, ok := o.made.Lookup(key)
	if !ok {
		m = newMade[V]()
		if o.made.Add(key, m) {
			defer close(m.ready)
			m.value, m.err = make()
			return m.value, m.err
		}
		m = o.made.Get(key)
	}
	select {
	case <-m.ready:
		return m.value, m.err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}

// Set sets the value of a key, whatever it was.
func (o *Once[K, V]) Set(key K, value V) {
	m := newMade[V]()
	m.value = value
	close(m.ready)
	o.made.Set(key, m)
}

func newMade[V any]() *made[V] { return &made[V]{ready: make(chan struct{})} }
