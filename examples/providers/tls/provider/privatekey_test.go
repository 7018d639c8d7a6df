package provider_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"pgregory.net/rapid"

	pt "github.com/husk-dev/husk/examples/internal/providertest"
)

func TestPrivateKeys(t *testing.T) {
	for _, test := range []struct {
		inputs  pt.Object
		block   string
		openssh bool
		check   func(t *testing.T, key any)
	}{
		{pt.Object{"algorithm": "RSA"}, "RSA PRIVATE KEY", true, isRSA(2048)},
		{pt.Object{"algorithm": "RSA", "rsaBits": 1024}, "RSA PRIVATE KEY", true, isRSA(1024)},
		{pt.Object{"algorithm": "ECDSA"}, "EC PRIVATE KEY", false, isECDSA("P-224")},
		{pt.Object{"algorithm": "ECDSA", "ecdsaCurve": "P224"}, "EC PRIVATE KEY", false, isECDSA("P-224")},
		{pt.Object{"algorithm": "ECDSA", "ecdsaCurve": "P256"}, "EC PRIVATE KEY", true, isECDSA("P-256")},
		{pt.Object{"algorithm": "ECDSA", "ecdsaCurve": "P384"}, "EC PRIVATE KEY", true, isECDSA("P-384")},
		{pt.Object{"algorithm": "ECDSA", "ecdsaCurve": "P521"}, "EC PRIVATE KEY", true, isECDSA("P-521")},
		{pt.Object{"algorithm": "ED25519"}, "PRIVATE KEY", true, func(t *testing.T, key any) {
			require.IsType(t, ed25519.PrivateKey{}, key)
		}},
	} {
		t.Run(pt.MapOf(test.inputs).String(), func(t *testing.T) {
			r := start(t).Create(privateKey, test.inputs)

			block, _ := pem.Decode([]byte(r.Text("privateKeyPemPkcs8")))
			require.Equal(t, "PRIVATE KEY", block.Type)
			key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
			require.NoError(t, err)
			test.check(t, key)
			public := key.(crypto.Signer).Public()

			block, _ = pem.Decode([]byte(r.Text("privateKeyPem")))
			require.Equal(t, test.block, block.Type)
			block, _ = pem.Decode([]byte(r.Text("publicKeyPem")))
			require.Equal(t, "PUBLIC KEY", block.Type)
			parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
			require.NoError(t, err)
			require.Equal(t, public, parsed)
			require.Regexp(t, "^[0-9a-f]{40}$", r.ID)

			if !test.openssh {
				require.Empty(t, r.Text("privateKeyOpenssh")+r.Text("publicKeyOpenssh")+
					r.Text("publicKeyFingerprintMd5")+r.Text("publicKeyFingerprintSha256"))
				return
			}
			sshKey, err := ssh.ParsePrivateKey([]byte(r.Text("privateKeyOpenssh")))
			require.NoError(t, err)
			line, _, _, _, err := ssh.ParseAuthorizedKey([]byte(r.Text("publicKeyOpenssh")))
			require.NoError(t, err)
			require.Equal(t, sshKey.PublicKey().Marshal(), line.Marshal())
			require.Equal(t, public, line.(ssh.CryptoPublicKey).CryptoPublicKey())
			require.Equal(t, ssh.FingerprintLegacyMD5(line), r.Text("publicKeyFingerprintMd5"))
			require.Equal(t, ssh.FingerprintSHA256(line), r.Text("publicKeyFingerprintSha256"))
		})
	}
}

func isRSA(bits int) func(*testing.T, any) {
	return func(t *testing.T, key any) { require.Equal(t, bits, key.(*rsa.PrivateKey).N.BitLen()) }
}

func isECDSA(curve string) func(*testing.T, any) {
	return func(t *testing.T, key any) { require.Equal(t, curve, key.(*ecdsa.PrivateKey).Params().Name) }
}

func TestWhatAKeyMustBe(t *testing.T) {
	p := start(t)
	for _, test := range []struct {
		inputs  pt.Object
		failure string
	}{
		{pt.Object{}, "algorithm: required property is missing; expected string"},
		{pt.Object{"algorithm": "ecdsa"}, `algorithm: must be one of "RSA", "ECDSA", "ED25519"`},
		{pt.Object{"algorithm": "ECDSA", "ecdsaCurve": "P-256"}, `ecdsaCurve: must be one of "P224", "P256", "P384", "P521"`},
		{pt.Object{"algorithm": "RSA", "rsaBits": 512}, "rsaBits: must be at least 1024"},
		{pt.Object{"algorithm": "RSA", "rsaBits": 1e6}, "rsaBits: must be at most 8192"},
		{pt.Object{"algorithm": "RSA", "bits": 2048}, "bits: no such property"},
	} {
		failures := p.Failures(privateKey, test.inputs)
		require.Len(t, failures, 1)
		require.Contains(t, failures[0], test.failure)
	}
}

func TestAKeyIsReplacedByAnyChange(t *testing.T) {
	p := start(t)
	key := ecKey(p)
	require.Empty(t, p.Diff(key, pt.Object{"algorithm": "ECDSA", "ecdsaCurve": "P256"}))
	require.Equal(t, []string{"ecdsaCurve update-replace"}, p.Diff(key, pt.Object{"algorithm": "ECDSA", "ecdsaCurve": "P384"}))
	require.Equal(t, []string{"algorithm update-replace", "ecdsaCurve update-replace"}, p.Diff(key, pt.Object{"algorithm": "RSA"}))
}

func TestNoTwoKeysAreTheSame(t *testing.T) {
	p := start(t)
	seen := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		inputs := rapid.SampledFrom([]pt.Object{
			{"algorithm": "ED25519"},
			{"algorithm": "ECDSA", "ecdsaCurve": "P256"},
		}).Draw(t, "inputs")
		key := p.In(t).Create(privateKey, inputs)
		require.False(t, seen[key.ID])
		require.False(t, seen[key.Text("privateKeyPem")])
		seen[key.ID], seen[key.Text("privateKeyPem")] = true, true
	})
}

func TestPublicKeyOfAPrivateKey(t *testing.T) {
	p := start(t)
	for _, inputs := range []pt.Object{
		{"algorithm": "RSA", "rsaBits": 1024},
		{"algorithm": "ECDSA", "ecdsaCurve": "P384"},
		{"algorithm": "ED25519"},
	} {
		key := p.Create(privateKey, inputs)
		for _, from := range []struct{ argument, property string }{
			{"privateKeyPem", "privateKeyPem"},
			{"privateKeyPem", "privateKeyPemPkcs8"},
			{"privateKeyOpenssh", "privateKeyOpenssh"},
		} {
			result := p.Invoke(getPublicKey, pt.Object{from.argument: key.State.Get(from.property)})
			for _, output := range []string{"publicKeyPem", "publicKeyOpenssh", "publicKeyFingerprintMd5", "publicKeyFingerprintSha256", "algorithm"} {
				require.True(t, result.Get(output).EqualContents(key.State.Get(output)), output)
				require.True(t, result.Get(output).IsSecret(), "what follows from a secret is one")
			}
			require.True(t, result.Get("id").EqualContents(pt.Of(key.ID)))
		}
	}
}
