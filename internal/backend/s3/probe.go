package s3

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/minio/minio-go/v7"

	"github.com/husk-dev/husk/engine/state"
	"github.com/husk-dev/husk/internal/base/atomicfile"
)

// probed returns the file that says that a server honours the conditions of writes, empty if this machine keeps no files.
func (b *bucket) probed() string { return b.file("probed-", b.place) }

// file returns the name of a file that this machine keeps of something in the bucket, empty if it keeps none.
func (b *bucket) file(kind, of string) string {
	if b.dir == "" {
		return ""
	}
	const enough = 16 // hexadecimal digits tell apart the places of a worker, which has the files of all in one directory
	sum := sha256.Sum256([]byte(of))
	return filepath.Join(b.dir, kind+hex.EncodeToString(sum[:])[:enough])
}

// probe tries whether the server honours the conditions that keep two writers apart, and whether the credentials have all
// rights.
func (b *bucket) probe(ctx context.Context) error {
	const dir = "probe/"
	name := rand.Text()
	first, err := b.probeWrite(ctx, dir+name, "first", ifAbsent)
	if isUnknown(err) {
		return b.dishonest("does not implement If-None-Match")
	}
	if err != nil {
		return err
	}
	err = b.probeVersions(ctx, dir+name, first)
	if err == nil {
		var names []string
		if names, err = b.list(ctx, dir); err == nil && !slices.Contains(names, name) {
			err = b.dishonest("does not list an object that was just written")
		}
	}
	if err == nil {
		return b.remove(ctx, dir+name)
	}
	cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
	defer cancel()
	_ = b.remove(cleaning, dir+name) // the first error says more
	return err
}

// dishonest returns the error of a server that does not do as S3.
func (b *bucket) dishonest(does string) error {
	return fmt.Errorf("the server of %s %s: it cannot keep two runs from overwriting each other's state; use one that honours If-None-Match and If-Match for writes, such as Amazon S3 or MinIO", b.place, does)
}

// isUnknown reports whether a server does not know what a request asks of it.
func isUnknown(err error) bool {
	refused := (*refusedError)(nil)
	return errors.As(err, &refused) && minio.ToErrorResponse(refused.cause).StatusCode == http.StatusNotImplemented
}

// probeWrite is put for an object that nobody else writes.
func (b *bucket) probeWrite(ctx context.Context, key, content, condition string) (version string, err error) {
	version, err = b.put(ctx, key, []byte(content), condition)
	if errors.Is(err, errCondition) {
		if is, readErr := b.get(ctx, key); readErr == nil && string(is.content) == content {
			return is.version, nil // an attempt whose answer was lost has written it
		}
	}
	return version, err
}

// probeVersions writes an object of a version under conditions that hold, and others that do not.
func (b *bucket) probeVersions(ctx context.Context, key, first string) error {
	if _, err := b.probeWrite(ctx, key, "again", ifAbsent); !errors.Is(err, errCondition) {
		return cmp.Or(err, b.dishonest("creates an object that exists (it ignores If-None-Match)"))
	}
	second, err := b.probeWrite(ctx, key, "second", first)
	if errors.Is(err, errCondition) || isUnknown(err) {
		return b.dishonest("refuses to replace an object of a known version (If-Match)")
	}
	if err != nil {
		return err
	}
	if _, err := b.probeWrite(ctx, key, "third", first); !errors.Is(err, errCondition) {
		return cmp.Or(err, b.dishonest("replaces an object of another version (it ignores If-Match)"))
	}
	is, err := b.get(ctx, key)
	if err == nil && (string(is.content) != "second" || is.version != second) {
		err = b.dishonest("returns another version than was written last")
	}
	return err
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
