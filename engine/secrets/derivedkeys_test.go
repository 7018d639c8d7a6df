package secrets

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The configuration and the state of a stack name the same passphrase, whose key takes long to derive.
func TestAProcessDerivesAKeyOnce(t *testing.T) {
	made, err := NewPassphrase(Passphrase{Text: "right"})
	require.NoError(t, err)
	keys := SystemKeys(nil)
	open := func() (*symmetric, error) {
		p, err := keys.Open(t.Context(), TypePassphrase, made.State())
		require.NoError(t, err)
		return p.(*provider).open(t.Context())
	}
	t.Setenv("HUSK_CONFIG_PASSPHRASE", "wrong")
	_, err = open()
	require.ErrorIs(t, err, ErrWrongKey)
	t.Setenv("HUSK_CONFIG_PASSPHRASE", "right")
	first, err := open()
	require.NoError(t, err)
	second, err := open()
	require.NoError(t, err)
	require.Same(t, first, second)
}
