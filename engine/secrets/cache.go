package secrets

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync"
)

// A Cache keeps the ciphertexts of secrets, so that an unchanged secret keeps its ciphertext when its
// state is written again: states stay comparable, and nothing is encrypted twice.
//
// A ciphertext belongs to a place (a property of a resource) and a plaintext. Secrets at different places
// never share one, which would show a reader of the state that they are equal. A Cache is safe for
// concurrent use.
type Cache struct {
	crypter Crypter

	mu          sync.Mutex
	ciphertexts map[cacheKey]string
}

// cacheKey is a digest of place and plaintext, so that no plaintext is held longer.
type cacheKey [sha256.Size]byte

func newCacheKey(place, plaintext string) cacheKey {
	h := sha256.New()
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(place))))
	h.Write([]byte(place))
	h.Write([]byte(plaintext))
	return cacheKey(h.Sum(nil))
}

// NewCache returns an empty cache that encrypts with c.
func NewCache(c Crypter) *Cache {
	return &Cache{crypter: c, ciphertexts: map[cacheKey]string{}}
}

// Encrypt returns the ciphertext kept for the plaintext at the place, or else
// encrypts it and keeps the result.
func (c *Cache) Encrypt(ctx context.Context, place, plaintext string) (string, error) {
	key := newCacheKey(place, plaintext)
	c.mu.Lock()
	ciphertext, ok := c.ciphertexts[key]
	c.mu.Unlock()
	if ok {
		return ciphertext, nil
	}
	ciphertext, err := c.crypter.Encrypt(ctx, plaintext)
	if err != nil {
		return "", err
	}
	return c.keep(key, ciphertext), nil
}

// Decrypt returns the plaintext of a ciphertext. The caller keeps it with [Cache.Keep], under the
// plaintext that it will encrypt later.
func (c *Cache) Decrypt(ctx context.Context, ciphertext string) (string, error) {
	return c.crypter.Decrypt(ctx, ciphertext)
}

// Keep keeps a ciphertext for the plaintext at the place.
func (c *Cache) Keep(place, plaintext, ciphertext string) {
	c.keep(newCacheKey(place, plaintext), ciphertext)
}

// keep returns the ciphertext that was kept first, so that concurrent callers get one.
func (c *Cache) keep(key cacheKey, ciphertext string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kept, ok := c.ciphertexts[key]; ok {
		return kept
	}
	c.ciphertexts[key] = ciphertext
	return ciphertext
}
