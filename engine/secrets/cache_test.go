package secrets_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/secrets"
)

// counting numbers its ciphertexts, so that no two are the same.
type counting struct{ n int }

func (c *counting) Encrypt(_ context.Context, plaintext string) (string, error) {
	c.n++
	return fmt.Sprintf("%d:%s", c.n, plaintext), nil
}

func (c *counting) Decrypt(_ context.Context, ciphertext string) (string, error) {
	_, plaintext, _ := strings.Cut(ciphertext, ":")
	return plaintext, nil
}

func TestCacheKeepsCiphertextsOfUnchangedSecrets(t *testing.T) {
	ctx, crypter := t.Context(), new(counting)
	cache := secrets.NewCache(crypter)
	encrypt := func(place, plaintext string) string {
		ciphertext, err := cache.Encrypt(ctx, place, plaintext)
		require.NoError(t, err)
		return ciphertext
	}
	first := encrypt("db.password", "hunter2")
	require.Equal(t, first, encrypt("db.password", "hunter2"), "unchanged")
	require.NotEqual(t, first, encrypt("db.password", "hunter3"), "changed")
	require.Equal(t, first, encrypt("db.password", "hunter2"), "changed back")
	require.NotEqual(t, first, encrypt("web.password", "hunter2"), "equal secrets do not show that they are")
	require.NotEqual(t, encrypt("ab", "c"), encrypt("a", "bc"))
	require.Equal(t, 5, crypter.n)

	plaintext, err := cache.Decrypt(ctx, "7:loaded")
	require.NoError(t, err)
	require.Equal(t, "loaded", plaintext)
	cache.Keep("db.user", plaintext, "7:loaded")
	require.Equal(t, "7:loaded", encrypt("db.user", "loaded"), "what was read is written back")
	require.Equal(t, 5, crypter.n)
}
