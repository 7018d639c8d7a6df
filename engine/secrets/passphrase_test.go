package secrets_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/secrets"
)

// pulumiState was written by Pulumi (pkg/secrets/passphrase/manager_test.go);
// its passphrase is "password".
const pulumiState = `{"salt":"v1:fozI5u6B030=:v1:F+6ZduKKd8G0/V7L:PGMFeIzwobWRKmEAzUdaQHqC5mMRIQ=="}`

// The vector was made with Python's hashlib and cryptography from the documented
// format: salt 01..08, nonces 00..0b and 64..6f.
const (
	vectorPassphrase = "correct horse — battery"
	vectorState      = `{"salt":"v1:AQIDBAUGBwg=:v1:AAECAwQFBgcICQoL:4qFyUb6ToDNvYbYUtKOHKCIs34oghw=="}`
	vectorCiphertext = "v1:ZGVmZ2hpamtsbW5v:rKVmRErgxr+2lA4VYn5JAAVCVngVAtMx/PIXug=="
	vectorPlaintext  = `"s3cr3t ✓"`
)

func passphrase(text string) func() (secrets.Passphrase, error) {
	return func() (secrets.Passphrase, error) {
		return secrets.Passphrase{Text: text, Source: "HUSK_CONFIG_PASSPHRASE"}, nil
	}
}

func TestPassphraseReadsWhatOthersWrote(t *testing.T) {
	t.Run("value", func(t *testing.T) {
		p, err := secrets.OpenPassphrase(json.RawMessage(vectorState), passphrase(vectorPassphrase))
		require.NoError(t, err)
		plaintext, err := p.Decrypt(t.Context(), vectorCiphertext)
		require.NoError(t, err)
		require.Equal(t, vectorPlaintext, plaintext)
	})
	t.Run("Pulumi's verifier", func(t *testing.T) {
		p, err := secrets.OpenPassphrase(json.RawMessage(pulumiState), passphrase("password"))
		require.NoError(t, err)
		ciphertext, err := p.Encrypt(t.Context(), "x")
		require.NoError(t, err, "the passphrase is accepted")
		plaintext, err := p.Decrypt(t.Context(), ciphertext)
		require.NoError(t, err)
		require.Equal(t, "x", plaintext)
		require.JSONEq(t, pulumiState, string(p.State()))
		require.Equal(t, "passphrase", p.Type())
	})
}

func TestPassphraseStateOpensAgain(t *testing.T) {
	made, err := secrets.NewPassphrase(secrets.Passphrase{Text: "hunter2"})
	require.NoError(t, err)
	one, err := made.Encrypt(t.Context(), "the secret")
	require.NoError(t, err)
	two, err := made.Encrypt(t.Context(), "the secret")
	require.NoError(t, err)
	require.NotEqual(t, one, two, "each encryption has its own nonce")

	opened, err := secrets.OpenPassphrase(made.State(), passphrase("hunter2"))
	require.NoError(t, err)
	plaintext, err := opened.Decrypt(t.Context(), one)
	require.NoError(t, err)
	require.Equal(t, "the secret", plaintext)
	require.NotContains(t, string(made.State()), "hunter2")
}

func TestWrongPassphraseIsToldWithItsSource(t *testing.T) {
	p, err := secrets.OpenPassphrase(json.RawMessage(vectorState), passphrase("guess"))
	require.NoError(t, err, "opening touches no secret")
	_, err = p.Decrypt(t.Context(), vectorCiphertext)
	require.ErrorIs(t, err, secrets.ErrWrongKey)
	require.ErrorContains(t, err, "wrong passphrase: the one in HUSK_CONFIG_PASSPHRASE")
	_, err = p.Encrypt(t.Context(), "x")
	require.ErrorIs(t, err, secrets.ErrWrongKey, "nothing is encrypted with a wrong passphrase")
}

func TestPassphraseIsAskedForWhenASecretIsTouched(t *testing.T) {
	asked := 0
	p, err := secrets.OpenPassphrase(json.RawMessage(vectorState), func() (secrets.Passphrase, error) {
		asked++
		return secrets.Passphrase{Text: vectorPassphrase}, nil
	})
	require.NoError(t, err)
	require.Zero(t, asked)
	for range 3 {
		_, err = p.Decrypt(t.Context(), vectorCiphertext)
		require.NoError(t, err)
	}
	require.Equal(t, 1, asked)
}

func TestDamagedCiphertextIsRefused(t *testing.T) {
	p, err := secrets.OpenPassphrase(json.RawMessage(vectorState), passphrase(vectorPassphrase))
	require.NoError(t, err)
	for name, ciphertext := range map[string]string{
		"empty":           "",
		"no parts":        "v1",
		"two parts":       "v1:ZGVmZ2hpamtsbW5v",
		"unknown version": "v2:ZGVmZ2hpamtsbW5v:rKVmRErgxr+2lA4VYn5JAAVCVngVAtMx/PIXug==",
		"short nonce":     "v1:ZGVm:rKVmRErgxr+2lA4VYn5JAAVCVngVAtMx/PIXug==",
		"not base64":      "v1:ZGVmZ2hpamtsbW5v:###",
		"altered":         "v1:ZGVmZ2hpamtsbW5v:rKVmRErgxr+2lA4VYn5JAAVCVngVAtMx/PIYug==",
		"truncated":       "v1:ZGVmZ2hpamtsbW5v:rKVmRErg",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := p.Decrypt(t.Context(), ciphertext)
			require.ErrorIs(t, err, secrets.ErrCiphertext)
		})
	}
	for name, state := range map[string]string{
		"not JSON":          `{`,
		"no salt":           `{}`,
		"no version":        `{"salt":"fozI5u6B030=:v1:F+6ZduL:PGMFeIzwobWRKmEAzUdaQHqC5mMRIQ=="}`,
		"salt not base64":   `{"salt":"v1:***:v1:F+6ZduKKd8G0/V7L:PGMFeIzwobWRKmEAzUdaQHqC5mMRIQ=="}`,
		"salt without rest": `{"salt":"v1:fozI5u6B030="}`,
	} {
		t.Run("state "+name, func(t *testing.T) {
			_, err := secrets.OpenPassphrase(json.RawMessage(state), passphrase("password"))
			require.ErrorIs(t, err, secrets.ErrCiphertext)
		})
	}
}
