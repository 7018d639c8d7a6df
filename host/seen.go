package host

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Hashing a module is a sixth of the start of a provider whose code is in the cache. So the
// cache keeps what digest a file had, with what changes when the file does, as version
// control systems do for the files that they track.

// seenSuffix is of the file that says which digest a file had.
const seenSuffix = ".seen"

// settled is how long ago a file must have changed for the last time. Within a tick of its
// file system's clock, of 2 s at the most, it could change again and look the same.
const settled = 3 * time.Second

// digestOfFile is the digest of a module's file.
func (h *Host) digestOfFile(path string) (string, error) {
	before := h.config.clock.Now()
	hash := func() (string, error) { return digestOfFile(path, h.config.moduleSize) }
	name, state, changed := h.seenAs(path)
	if state == "" {
		return hash()
	}
	if text, err := h.cache.read(name); err == nil {
		if was, digest, ok := strings.Cut(string(text), "\n"); ok && was == state {
			return digest, nil
		}
	}
	digest, err := hash()
	if err == nil && before.Sub(changed) > settled {
		_ = h.cache.write(name, []byte(state+"\n"+digest)) // or it is hashed again
	}
	return digest, err
}

// seenAs tells under which name the cache keeps the digest of a file, what the file must be
// like for that, and when it changed. The state is empty where no digest is to be looked for.
func (h *Host) seenAs(path string) (name, state string, changed time.Time) {
	if h.cache == nil {
		return "", "", changed
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > int64(h.config.moduleSize) {
		return "", "", changed // hashing it says what is wrong
	}
	if name, err = seenName(path); err == nil {
		state, changed = stateOf(info)
	}
	return name, state, changed
}

// seenName names the file for a path.
func seenName(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(absolute))
	return hex.EncodeToString(sum[:]) + seenSuffix, nil
}

// forgetSeen has a file hashed again.
func (c *diskCache) forgetSeen(path string) {
	if name, err := seenName(path); err == nil {
		_ = os.Remove(filepath.Join(c.dir, name))
	}
}
