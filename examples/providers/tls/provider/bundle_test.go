package provider_test

import (
	"crypto/sha1"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/property"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
)

func TestABundleIsRead(t *testing.T) {
	p := start(t)
	setTime(p, noon)
	c := newChain(p)
	leaf := p.Create(locallySignedCert, c.inputs)
	content := "comment\n" + leaf.Text("certPem") + c.key.Text("privateKeyPem") + c.ca.Text("certPem")
	result := p.Invoke(getCertificate, pt.Object{"content": content})
	fingerprint := func(r pt.Resource) string {
		sum := sha1.Sum(parseCertificate(t, r.Text("certPem")).Raw)
		return hex.EncodeToString(sum[:])
	}
	require.Empty(t, property.Diff(pt.MapOf(pt.Object{"certificates": pt.List{
		pt.Object{
			"certPem": leaf.Text("certPem"), "isCa": false, "maxPathLength": -1, "version": 3, "serialNumber": leaf.ID,
			"issuer": "CN=CA", "subject": "CN=www.example.org,1.2.840.113549.1.9.1=#0c0f776562406578616d706c652e6f7267",
			"notBefore": "2030-01-01T11:00:00Z", "notAfter": "2030-01-01T13:00:00Z",
			"publicKeyAlgorithm": "ECDSA", "signatureAlgorithm": "ECDSA-SHA256", "sha1Fingerprint": fingerprint(leaf),
		},
		pt.Object{
			"certPem": c.ca.Text("certPem"), "isCa": true, "maxPathLength": -1, "version": 3, "serialNumber": c.ca.ID,
			"issuer": "CN=CA", "subject": "CN=CA",
			"notBefore": "2030-01-01T11:00:00Z", "notAfter": "2030-01-02T11:00:00Z",
			"publicKeyAlgorithm": "ECDSA", "signatureAlgorithm": "ECDSA-SHA256", "sha1Fingerprint": fingerprint(c.ca),
		},
	}}), result.Without("content", "id")))
}

func TestWhatIsNoBundle(t *testing.T) {
	p := start(t)
	for content, reason := range map[string]string{
		"":                            "content: is empty; expected certificates in PEM form",
		"hello":                       "content: holds no PEM block (-----BEGIN ...); expected certificates in PEM form",
		ecKey(p).Text("publicKeyPem"): `content: holds "PUBLIC KEY"; expected certificates in PEM form`,
		"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n": "content: certificate 1 is damaged: ",
	} {
		_, err := p.TryInvoke(getCertificate, pt.Object{"content": content})
		require.ErrorContains(t, err, reason)
	}
}
