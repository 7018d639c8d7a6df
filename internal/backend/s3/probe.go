package s3

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/atomicfile"
)

// probed returns the file that says that a server honours the conditions of writes, empty if this machine keeps no files.
func (b *bucket) probed() string { return b.file("probed-", b.place) }

// file returns the name of a file that this machine keeps of something in the bucket, empty if it keeps none.
func (b *bucket) file(kind, of string) string {
	if b.dir == "" {
		return ""
	}
	const enough = 16 // hexadecimal digits: a worker has the copies of all URLs in one directory
	sum := sha256.Sum256([]byte(of))
	return filepath.Join(b.dir, kind+hex.EncodeToString(sum[:])[:enough])
}

// leftHead is what this machine knows of a head: how its last lease there has left it.
type leftHead struct {
	Key     string `json:"key"`
	Version string `json:"version"`
	Head    head   `json:"head"`
}

func (b *bucket) headFile(name state.StackName) (file, key string) {
	key = b.place + "/" + headKey(name)
	return b.file("head-", key), key
}

// remember keeps a head that a lease has left, or forgets it if another has yet to do something with the stack.
func (b *bucket) remember(c *current) {
	file, key := b.headFile(c.name)
	if !c.Body.Present || c.Body.Lease != nil || c.Pending != nil || c.Body.isOpen("") {
		_ = os.Remove(file)
		return
	}
	text, err := json.Marshal(leftHead{key, c.version, c.head})
	if err == nil && os.MkdirAll(b.dir, 0o700) == nil {
		_ = atomicfile.WriteUnsynced(file, text, 0o600) // without it, the head is read first
	}
}

// remembered returns the head of a stack as this machine has left it, nil if that is not known. Others may have changed it.
func (b *bucket) remembered(name state.StackName) *current {
	file, key := b.headFile(name)
	text, err := os.ReadFile(file)
	var left leftHead
	if err != nil || json.Unmarshal(text, &left) != nil || left.Key != key || left.Version == ifAbsent || left.Version == unconditional || left.Head.Format != format {
		return nil
	}
	return &current{head: left.Head, name: name, version: left.Version}
}

// check is probe for husk login, which always tries.
func (b *bucket) check(ctx context.Context) error {
	if err := b.probe(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.honest = true
	if file := b.probed(); file != "" && os.MkdirAll(b.dir, 0o700) == nil {
		_ = atomicfile.WriteUnsynced(file, []byte(b.place+"\n"), 0o600) // without it, the next command tries again
	}
	return nil
}

// writable returns an error for a name that is none, and for a server that was not known, and turns out to ignore the
// conditions of writes. The URL may come from where nobody has tried it.
func (s *Store) writable(ctx context.Context, name state.StackName) error {
	if err := usable(ctx, name); err != nil {
		return err
	}
	s.b.mu.Lock()
	honest := s.b.honest
	s.b.mu.Unlock()
	if honest {
		return nil
	}
	if file := s.b.probed(); file != "" {
		if _, err := os.Stat(file); err == nil {
			return nil
		}
	}
	return s.b.check(ctx)
}
