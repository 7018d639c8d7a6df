package s3

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/atomicfile"
)

// probed returns the file that says that a server honours the conditions of writes. It is among the files which this
// machine keeps for the URL, and empty if there are none.
func (b *bucket) probed() string {
	if b.dir == "" {
		return ""
	}
	const enough = 16 // hexadecimal digits: a worker has the copies of all URLs in one directory
	sum := sha256.Sum256([]byte(b.place))
	return filepath.Join(b.dir, "probed-"+hex.EncodeToString(sum[:])[:enough])
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
