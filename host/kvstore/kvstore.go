// Package kvstore keeps values for providers that may keep some, in a file or in memory.
package kvstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/host/internal/capability"
	"github.com/husk-dev/husk/internal/base/atomicfile"
	"github.com/husk-dev/husk/internal/base/checkedcbor"
)

const (
	// MaxBytes bounds the keys and values of a store, which is read and written as a whole.
	MaxBytes = 4 << 20
	// entryBytes is the size that an entry counts beside its key and value.
	entryBytes = 64
)

// Store keeps values for one provider of one stack. It is safe for concurrent use by one process.
type Store struct {
	// place is where the values are kept, nil if they are in memory only.
	place Place

	mu       sync.Mutex
	contents contents
	size     int
}

type contents struct {
	Version int `json:"version"`
	// Revision is the highest that was given out, also to keys that are gone.
	Revision uint64          `json:"revision"`
	Items    map[string]item `json:"items"`
}

type item struct {
	Value    []byte `json:"value"`
	Revision uint64 `json:"revision"`
}

const version = 3

var _ abi.KV = (*Store)(nil)

// New returns an empty store in memory.
func New() *Store {
	return &Store{contents: contents{Version: version, Items: make(map[string]item)}}
}

// Place keeps the text of one Store.
type Place interface {
	// String names the place in messages.
	String() string
	// Load returns the stored text, nil if there is none.
	Load() ([]byte, error)
	// Save replaces the stored text. It returns after that is durable.
	Save(text []byte) error
}

// file is a Place.
type file string

func (f file) String() string { return string(f) }

func (f file) Load() ([]byte, error) {
	data, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		former := strings.TrimSuffix(string(f), filepath.Ext(string(f))) + ".json"
		if _, err := os.Stat(former); err == nil {
			return nil, fmt.Errorf("%s is of an older husk, and cannot be read: remove it to begin anew", former)
		}
		return nil, nil
	}
	return data, err
}

// Save replaces the file with an atomic write.
func (f file) Save(text []byte) error {
	if err := os.MkdirAll(filepath.Dir(string(f)), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(string(f), text, 0o600)
}

// Open returns the store in a file, which the first Put creates. Put returns after writing to disk.
func Open(path string) (*Store, error) { return OpenIn(file(path)) }

// OpenIn returns the store in a place.
func OpenIn(place Place) (*Store, error) {
	s := New()
	s.place = place
	data, err := place.Load()
	if err != nil {
		return nil, fmt.Errorf("reading what a provider has stored: %w", err)
	}
	if data == nil {
		return s, nil
	}
	read, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("reading what a provider has stored: %s is damaged, or of another husk: %w; bring it back from a copy, or remove it to begin anew", place, err)
	}
	s.contents = read
	for key, item := range read.Items {
		s.size += entrySize(key, item.Value)
	}
	return s, nil
}

func decode(data []byte) (c contents, err error) {
	if err := checkedcbor.Unmarshal(data, &c); err != nil {
		return c, err
	}
	if c.Version != version {
		return c, fmt.Errorf("it has the version %d, and this husk reads version %d", c.Version, version)
	}
	if c.Items == nil {
		c.Items = make(map[string]item)
	}
	return c, nil
}

// Copy returns a store in memory with the same values, for calls that must leave no trace.
func (s *Store) Copy() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Store{contents: s.contents, size: s.size} // which writes replace as a whole
}

func entrySize(key string, value []byte) int { return len(key) + len(value) + entryBytes }

// Get returns the key's value.
func (s *Store) Get(_ context.Context, key string) (abi.KVItem, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.contents.Items[key]
	if !ok {
		return abi.KVItem{}, nil
	}
	value := slices.Clone(found.Value)
	return abi.KVItem{Value: &value, Revision: found.Revision}, nil
}

// Put writes or deletes a value, if the key still has the revision.
func (s *Store) Put(_ context.Context, key string, value *[]byte, revision uint64) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, exists := s.contents.Items[key]
	if old.Revision != revision {
		return 0, capability.Failure(abi.ErrorKindUnavailable, "the key's value was changed meanwhile: read it again")
	}
	size := s.size
	if exists {
		size -= entrySize(key, old.Value)
	}
	next := contents{Version: version, Revision: s.contents.Revision, Items: maps.Clone(s.contents.Items)}
	var given uint64
	if value == nil {
		delete(next.Items, key)
	} else {
		if size += entrySize(key, *value); size > MaxBytes {
			return 0, capability.Failure(abi.ErrorKindInvalidArgument, fmt.Sprintf("the provider's store would have more than %d bytes: delete keys", MaxBytes))
		}
		next.Revision++
		given = next.Revision
		next.Items[key] = item{Value: slices.Clone(*value), Revision: given}
	}
	if err := s.write(next); err != nil {
		return 0, capability.Failure(abi.ErrorKindInternal, "keeping the provider's values: "+err.Error())
	}
	s.contents, s.size = next, size
	return given, nil
}

// Keys lists keys in order.
func (s *Store) Keys(_ context.Context, prefix, after string, limit uint32) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for key := range s.contents.Items {
		if strings.HasPrefix(key, prefix) && key > after {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys[:min(len(keys), int(limit))], nil
}

// write replaces the stored contents.
func (s *Store) write(record contents) error {
	if s.place == nil {
		return nil
	}
	data, err := checkedcbor.Marshal(record)
	if err != nil {
		return err
	}
	return s.place.Save(data)
}
