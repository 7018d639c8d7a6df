package provider_test

import (
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	pt "github.com/husk-dev/husk/examples/internal/providertest"
	"github.com/husk-dev/husk/examples/providers/tls/provider"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

const (
	privateKey        = "tls:index/privateKey:PrivateKey"
	certRequest       = "tls:index/certRequest:CertRequest"
	selfSignedCert    = "tls:index/selfSignedCert:SelfSignedCert"
	locallySignedCert = "tls:index/locallySignedCert:LocallySignedCert"
	getPublicKey      = "tls:index/getPublicKey:getPublicKey"
	getCertificate    = "tls:index/getCertificate:getCertificate"
)

func start(t *testing.T) *pt.Provider { return pt.New(t, provider.New()) }

// ecKey returns a new key that is quickly made.
func ecKey(p *pt.Provider) pt.Resource {
	p.T.Helper()
	return p.Create(privateKey, pt.Object{"algorithm": "ECDSA", "ecdsaCurve": "P256"})
}

// setTime sets the clock of the provider.
func setTime(p *pt.Provider, now time.Time) {
	p.Context = guest.WithClock(p.Context, func() time.Time { return now })
}

func parseCertificate(t pt.T, text string) *x509.Certificate {
	t.Helper()
	block, rest := pem.Decode([]byte(text))
	require.NotNil(t, block)
	require.Empty(t, rest)
	require.Equal(t, "CERTIFICATE", block.Type)
	c, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	return c
}

func TestWhatIsPrivateIsSecret(t *testing.T) {
	p := start(t)
	key := ecKey(p)
	request := p.Create(certRequest, pt.Object{"privateKeyPem": key.Text("privateKeyPem")})
	cert := p.Create(selfSignedCert, caInputs(key))
	signed := p.Create(locallySignedCert, pt.Object{
		"certRequestPem": request.Text("certRequestPem"), "caCertPem": cert.Text("certPem"),
		"caPrivateKeyPem": key.Text("privateKeyPem"), "validityPeriodHours": 1, "allowedUses": pt.List{},
	})
	for _, r := range []pt.Resource{key, request, cert, signed} {
		for name, value := range r.State.All() {
			text, _ := value.Plain().AsString()
			block, _ := pem.Decode([]byte(text))
			private := block != nil && block.Type != "PUBLIC KEY" && block.Type != "CERTIFICATE" && block.Type != "CERTIFICATE REQUEST"
			require.Equal(t, private, value.IsSecret(), "%s of %s", name, r.Token)
		}
	}
}
