package host

import (
	"bytes"
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
	"github.com/husk-dev/husk/internal/atomicfile"
	"github.com/husk-dev/husk/internal/checkedcbor"
	"github.com/husk-dev/husk/internal/checkedjson"
)

const (
	// MaxStoreBytes bounds what is in a store, keys and values, in bytes. It is read and
	// written as a whole.
	MaxStoreBytes = 4 << 20
	// storeEntryBytes is what an entry counts beside its key and value.
	storeEntryBytes = 64
)

// Store keeps values for one provider of one stack, which nobody else is to be given. It
// is safe for concurrent use by one process.
type Store struct {
	// path is the file of the values, or empty if they are in memory only.
	path string
	// former is the JSON file that the values were read from, until the first write replaces it.
	former string

	mu       sync.Mutex
	contents storeContents
	size     int
}

// storeContents is the record in a store's file. Its members have the same names in CBOR and in the
// JSON of earlier versions.
type storeContents struct {
	Version int `json:"version"`
	// Revision is the highest that was given out, also to keys that are gone.
	Revision uint64               `json:"revision"`
	Items    map[string]storeItem `json:"items"`
}

type storeItem struct {
	Value    []byte `json:"value"`
	Revision uint64 `json:"revision"`
}

// Versions of the file. Husk writes the last one, and reads all.
const (
	storeVersionPlain   = iota + 1 // JSON
	storeVersionChecked            // JSON with a checksum
	storeVersion                   // CBOR with a checksum
)

// readStore decodes the content of a file.
func readStore(data []byte) (c storeContents, err error) {
	wanted := storeVersion
	if bytes.HasPrefix(data, []byte("{")) {
		var checked bool
		checked, err = checkedjson.Unmarshal(data, &c)
		if wanted = storeVersionPlain; checked {
			wanted = storeVersionChecked
		}
	} else {
		err = checkedcbor.Unmarshal(data, &c)
	}
	if err != nil {
		return c, err
	}
	if c.Version != wanted {
		return c, fmt.Errorf("it says that it has the version %d, and its form is that of version %d", c.Version, wanted)
	}
	return c, nil
}

var _ abi.KV = (*Store)(nil)

// NewStore returns an empty store in memory.
func NewStore() *Store {
	return &Store{contents: storeContents{Version: storeVersion, Items: make(map[string]storeItem)}}
}

// OpenStore returns the store in a file, which the first Put creates. The file belongs to the user
// alone, and each change is on disk before Put returns.
//
// If there is no such file, OpenStore reads the JSON file that earlier versions of Husk wrote: the
// same path with the extension .json. The first Put replaces that file.
func OpenStore(path string) (*Store, error) {
	s := NewStore()
	s.path = path
	data, err := os.ReadFile(path)
	if former := strings.TrimSuffix(path, filepath.Ext(path)) + ".json"; errors.Is(err, fs.ErrNotExist) && former != path {
		if data, err = os.ReadFile(former); err == nil {
			s.former, path = former, former
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading what a provider has stored: %w", err)
	}
	read, err := readStore(data)
	if err != nil {
		return nil, fmt.Errorf("reading what a provider has stored: %s is damaged, or of a newer husk: %w; bring it back from a copy, or remove it to begin anew", path, err)
	}
	if read.Items == nil {
		read.Items = make(map[string]storeItem)
	}
	s.contents = read
	for key, item := range read.Items {
		s.size += entrySize(key, item.Value)
	}
	return s, nil
}

// Copy returns a store in memory with the same values, for what is to leave no trace.
func (s *Store) Copy() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Store{contents: s.contents, size: s.size} // which writes replace as a whole
}

func entrySize(key string, value []byte) int { return len(key) + len(value) + storeEntryBytes }

// Get returns the key's value.
func (s *Store) Get(_ context.Context, key string) (abi.KVItem, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	item, ok := s.contents.Items[key]
	if !ok {
		return abi.KVItem{}, nil
	}
	value := slices.Clone(item.Value)
	return abi.KVItem{Value: &value, Revision: item.Revision}, nil
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
	next := storeContents{Version: storeVersion, Revision: s.contents.Revision, Items: maps.Clone(s.contents.Items)}
	var given uint64
	if value == nil {
		delete(next.Items, key)
	} else {
		if size += entrySize(key, *value); size > MaxStoreBytes {
			return 0, capability.Failure(abi.ErrorKindInvalidArgument, fmt.Sprintf("the provider's store would have more than %d bytes: delete keys", MaxStoreBytes))
		}
		next.Revision++
		given = next.Revision
		next.Items[key] = storeItem{Value: slices.Clone(*value), Revision: given}
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

// write replaces the file with an atomic write.
func (s *Store) write(c storeContents) error {
	if s.path == "" {
		return nil
	}
	data, err := checkedcbor.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	if err := atomicfile.Write(s.path, data, 0o600); err != nil || s.former == "" {
		return err
	}
	// The new file is read first, so a former one that cannot be removed does no harm.
	_ = os.Remove(s.former)
	s.former = ""
	return nil
}
