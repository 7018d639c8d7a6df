package provider_test

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/examples/internal/hosttest"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

// The module needs no grants, draws its own random bytes, and knows what time it is.
func TestModule(t *testing.T) {
	p := hosttest.New(t, testmodule.Load(t, "..", host.NewConfig()), host.ProviderOptions{Name: "tls"})
	c := newChain(p)
	signed := p.Create(locallySignedCert, c.inputs)

	roots := x509.NewCertPool()
	roots.AddCert(parseCertificate(t, c.ca.Text("certPem")))
	leaf := parseCertificate(t, signed.Text("certPem"))
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "www.example.org"})
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), leaf.NotBefore, time.Hour)
	require.NotEqual(t, p.Create(locallySignedCert, c.inputs).ID, signed.ID)
	require.NotEqual(t, ecKey(p).ID, ecKey(p).ID)

	result := p.Invoke(getCertificate, pt.Object{"content": signed.Text("certPem") + c.ca.Text("certPem")})
	certificates, _ := result.Get("certificates").AsArray()
	require.Len(t, certificates, 2)
	key := p.Create(privateKey, pt.Object{"algorithm": "RSA"})
	public := p.Invoke(getPublicKey, pt.Object{"privateKeyOpenssh": key.Text("privateKeyOpenssh")})
	require.True(t, public.Get("publicKeyPem").EqualContents(key.State.Get("publicKeyPem")))
	require.NotEmpty(t, p.Failures(certRequest, pt.Object{"privateKeyPem": "x"}))
}
