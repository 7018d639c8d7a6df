package provider_test

import (
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"pgregory.net/rapid"

	pt "github.com/husk-dev/husk/examples/internal/providertest"
)

func TestWhatIsNoPrivateKey(t *testing.T) {
	p := start(t)
	key := ecKey(p)
	_, other, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	locked, err := ssh.MarshalPrivateKeyWithPassphrase(other, "", []byte("x"))
	require.NoError(t, err)
	exchange, err := ecdh.X25519().GenerateKey(rand.Reader)
	require.NoError(t, err)
	exchangeDER, err := x509.MarshalPKCS8PrivateKey(exchange)
	require.NoError(t, err)
	block := func(kind, der string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte(der)}))
	}
	for _, test := range []struct{ name, text, reason string }{
		{"nothing", " \n", "is empty; expected a private key in PEM form (PRIVATE KEY, RSA PRIVATE KEY, or EC PRIVATE KEY), such as the privateKeyPem of a tls:PrivateKey"},
		{"no PEM", "hunter2", "holds no PEM block (-----BEGIN ...); expected a private key in PEM form"},
		{"public key", key.Text("publicKeyPem"), `holds "PUBLIC KEY"; expected a private key in PEM form`},
		{"damaged", block("PRIVATE KEY", "hunter2"), "holds a damaged PRIVATE KEY: "},
		{"cut off", strings.Replace(key.Text("privateKeyPem"), "END", "", 1), "holds no PEM block"},
		{"encrypted", block("ENCRYPTED PRIVATE KEY", "hunter2"), "is encrypted; decrypt it first, as with: openssl pkey -in key.pem"},
		{"encrypted by old OpenSSL", strings.Replace(block("RSA PRIVATE KEY", "hunter2"), "\n", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: x\n\n", 1), "is encrypted"},
		{"OpenSSH", key.Text("privateKeyOpenssh"), "is a key in OpenSSH's format; convert it, as with: ssh-keygen -p -N '' -m PKCS8 -f key"},
		{"key that cannot sign", block("PRIVATE KEY", string(exchangeDER)), "is a key that cannot sign; expected RSA, ECDSA, or ED25519"},
	} {
		t.Run(test.name, func(t *testing.T) {
			failures := p.Failures(certRequest, pt.Object{"privateKeyPem": test.text})
			require.Len(t, failures, 1)
			require.Contains(t, failures[0], "privateKeyPem: "+test.reason)
			require.NotContains(t, failures[0], "hunter2")

			_, err := p.TryInvoke(getPublicKey, pt.Object{"privateKeyPem": test.text})
			require.ErrorContains(t, err, "privateKeyPem: "+test.reason)
		})
	}
	_, err = p.TryInvoke(getPublicKey, pt.Object{"privateKeyOpenssh": string(pem.EncodeToMemory(locked))})
	require.ErrorContains(t, err, "privateKeyOpenssh: is encrypted; decrypt it first, as with: ssh-keygen")
	_, err = p.TryInvoke(getPublicKey, pt.Object{"privateKeyOpenssh": key.Text("privateKeyPem")})
	require.ErrorContains(t, err, `privateKeyOpenssh: holds "EC PRIVATE KEY"; expected an unencrypted OPENSSH PRIVATE KEY`)
	for _, args := range []pt.Object{{}, {"privateKeyPem": "", "privateKeyOpenssh": ""}} {
		_, err = p.TryInvoke(getPublicKey, args)
		require.ErrorContains(t, err, "exactly one of privateKeyPem and privateKeyOpenssh must be given")
	}
}

func TestAKeyMayStandBehindOtherBlocks(t *testing.T) {
	p := start(t)
	text := string(pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{6}})) + ecKey(p).Text("privateKeyPem")
	require.Empty(t, p.Failures(certRequest, pt.Object{"privateKeyPem": text}))
}

// Whatever stands in the place of a key or certificate, the answer is a failure that
// quotes none of it.
func TestGarbageIsRefused(t *testing.T) {
	p := start(t)
	rapid.Check(t, func(t *rapid.T) {
		p := p.In(t)
		kind := rapid.SampledFrom([]string{
			"PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "CERTIFICATE", "CERTIFICATE REQUEST", "X",
		}).Draw(t, "kind")
		content := rapid.SliceOf(rapid.Byte()).Draw(t, "content")
		text := string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}))
		failures := p.Failures(locallySignedCert, pt.Object{
			"certRequestPem": text, "caCertPem": text, "caPrivateKeyPem": text, "validityPeriodHours": 1, "allowedUses": pt.List{},
		})
		require.Len(t, failures, 3)
		if len(content) > 8 {
			require.NotContains(t, strings.Join(failures, ""), strings.Split(text, "\n")[1])
		}
		for token, argument := range map[string]string{getPublicKey: "privateKeyOpenssh", getCertificate: "content"} {
			_, err := p.TryInvoke(token, pt.Object{argument: text})
			require.Error(t, err)
		}
	})
}
