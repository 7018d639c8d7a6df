package codecache

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"time"
)

// Hashing a module is a sixth of the start of a provider whose code is in the cache. So the cache keeps the digest of a file,
// with facts that change when the file does, as version control systems do for the files that they track.

// digestSuffix is the suffix of the record of a file's digest.
const digestSuffix = ".seen"

// settled is how long ago a file must have changed for the last time. Within a tick of its
// file system's clock, of 2 s at the most, it could change again and look the same.
const settled = 3 * time.Second

type fileDigest struct {
	// State changes whenever the file does.
	State, Digest string
}

// DigestOf returns the digest of a file of at most so many bytes, at a time: the one that the file had
// when it was hashed last, unless it has changed. A nil cache has it hashed.
func (c *Cache) DigestOf(path string, limit int, now time.Time, hash func() (string, error)) (string, error) {
	if c == nil {
		return hash()
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > int64(limit) {
		return hash() // which returns the error
	}
	state, changed := stateOf(info)
	name, err := digestName(path)
	if state == "" || err != nil {
		return hash()
	}
	var known fileDigest
	if readCBOR(c, name, &known) == nil && known.State == state {
		return known.Digest, nil
	}
	digest, err := hash()
	if err == nil && now.Sub(changed) > settled {
		_ = c.writeCBOR(name, fileDigest{state, digest}) // or it is hashed again
	}
	return digest, err
}

func digestName(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(absolute))
	return hex.EncodeToString(sum[:]) + digestSuffix, nil
}

// ForgetDigest has a file hashed again.
func (c *Cache) ForgetDigest(path string) {
	if c == nil {
		return
	}
	if name, err := digestName(path); err == nil {
		_ = os.Remove(filepath.Join(c.dir, name))
	}
}
