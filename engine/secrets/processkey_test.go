package secrets_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/secrets"
)

func TestProcessKey(t *testing.T) {
	keys := secrets.NewProcessKey()
	p, err := keys.New(t.Context())
	require.NoError(t, err)
	ciphertext, err := p.Encrypt(t.Context(), "hush")
	require.NoError(t, err)
	require.NotContains(t, ciphertext, "hush")

	again, err := keys.Open(t.Context(), p.Type(), p.State())
	require.NoError(t, err)
	plaintext, err := again.Decrypt(t.Context(), ciphertext)
	require.NoError(t, err)
	require.Equal(t, "hush", plaintext)

	other, err := secrets.NewProcessKey().Open(t.Context(), p.Type(), p.State())
	require.NoError(t, err)
	_, err = other.Decrypt(t.Context(), ciphertext)
	require.ErrorIs(t, err, secrets.ErrCiphertext)
	_, err = keys.Open(t.Context(), secrets.TypeUserKey, nil)
	require.ErrorIs(t, err, secrets.ErrNoKey)
}
