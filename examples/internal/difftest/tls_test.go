package difftest

import (
	"strings"
	"testing"
	"testing/cryptotest"

	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/property"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
	tls "github.com/husk-dev/husk/examples/providers/tls/provider"
	"github.com/husk-dev/husk/host"
)

func TestTLS(t *testing.T) {
	w := newWorld(t, tls.New(), "../../providers/tls", host.Grants{})

	// What certificates are made of: for each kind of key an authority and a request.
	cryptotest.SetGlobalRandom(t, 1)
	p := pt.New(t, tls.New())
	var keys, authorities, requests, bundles, openssh []any
	for _, kind := range []pt.Object{
		{"algorithm": "ECDSA", "ecdsaCurve": "P256"}, {"algorithm": "ED25519"}, {"algorithm": "RSA", "rsaBits": 1024},
	} {
		key := p.Create("tls:index/privateKey:PrivateKey", kind)
		authority := p.Create("tls:index/selfSignedCert:SelfSignedCert", pt.Object{
			"privateKeyPem": key.Text("privateKeyPem"), "isCaCertificate": true, "subject": pt.Object{"commonName": "CA"},
			"validityPeriodHours": 1000, "allowedUses": pt.List{"cert_signing"},
		})
		request := p.Create("tls:index/certRequest:CertRequest", pt.Object{
			"privateKeyPem": key.Text("privateKeyPem"), "dnsNames": pt.List{"a.example"}, "subject": kind["subject"],
		})
		keys = append(keys, key.Text("privateKeyPem"))
		openssh = append(openssh, key.Text("privateKeyOpenssh"))
		authorities = append(authorities, authority.Text("certPem"))
		requests = append(requests, request.Text("certRequestPem"))
		bundles = append(bundles, authority.Text("certPem")+key.Text("publicKeyPem")+authority.Text("certPem"))
	}
	damaged := strings.Replace(keys[0].(string), "M", "N", 1)
	wrong := []any{"", "x", damaged, authorities[0], requests[1]}
	w.words = map[string][]any{
		// RSA is rare: a module takes long to make a key.
		"algorithm":     {"ECDSA", "ED25519", "ECDSA", "ED25519", "ECDSA", "ED25519", "ECDSA", "ED25519", "ECDSA", "RSA"},
		"rsaBits":       {1024},
		"privateKeyPem": keys, "caPrivateKeyPem": keys, "caCertPem": authorities, "certRequestPem": requests,
		"privateKeyOpenssh": openssh, "content": bundles,
		"validityPeriodHours": {1, 24, 200}, "earlyRenewalHours": {0, 1, 30}, "maxPathLength": {0, 1},
		"allowedUses": {pt.List{}, pt.List{"server_auth"}, pt.List{"cert_signing", "digital_signature"}, pt.List{"server-auth", ""}},
		"dnsNames":    {pt.List{"a.example"}, pt.List{"*.b.example", "localhost"}, pt.List{"ü.example", "::1", "a b"}},
		"ipAddresses": {pt.List{"127.0.0.1", "::1"}, pt.List{"1.2.3", "10.0.0.0/8"}},
		"uris":        {pt.List{"spiffe://a/b"}, pt.List{"/x", ":"}},
	}
	w.samples = map[string]property.Map{
		"tls:index/privateKey:PrivateKey": pt.MapOf(pt.Object{"algorithm": "ECDSA", "ecdsaCurve": "P256"}),
		"tls:index/certRequest:CertRequest": pt.MapOf(pt.Object{
			"privateKeyPem": keys[0], "dnsNames": pt.List{"a.example"}, "subject": pt.Object{"commonName": "a", "emailAddress": "a@b"},
		}),
		"tls:index/selfSignedCert:SelfSignedCert": pt.MapOf(pt.Object{
			"privateKeyPem": keys[1], "validityPeriodHours": 24, "allowedUses": pt.List{"server_auth"}, "subject": pt.Object{"commonName": "a"},
		}),
		"tls:index/locallySignedCert:LocallySignedCert": pt.MapOf(pt.Object{
			"certRequestPem": requests[0], "caCertPem": authorities[1], "caPrivateKeyPem": keys[1],
			"validityPeriodHours": 24, "allowedUses": pt.List{"server_auth"},
		}),
		"tls:index/getPublicKey:getPublicKey":     pt.MapOf(pt.Object{"privateKeyOpenssh": openssh[0]}),
		"tls:index/getCertificate:getCertificate": pt.MapOf(pt.Object{"content": bundles[0]}),
	}
	w.ids = []string{"1", "a8e9d5b0c43e8d6d1f5b1a0f9a9b7c5d3e1f2a4b"}
	w.tidy = func(t *rapid.T, token string, inputs property.Map) property.Map {
		switch token {
		case "tls:index/locallySignedCert:LocallySignedCert":
			i := rapid.IntRange(0, len(keys)-1).Draw(t, "authority")
			inputs = inputs.With("caPrivateKeyPem", pt.Of(keys[i])).With("caCertPem", pt.Of(authorities[i]))
		case "tls:index/privateKey:PrivateKey":
			if inputs.Get("algorithm").Equal(property.String("RSA")) {
				inputs = inputs.With("rsaBits", property.Number(1024))
			}
		case "tls:index/getPublicKey:getPublicKey":
			inputs = inputs.Without(rapid.SampledFrom([]string{"privateKeyPem", "privateKeyOpenssh"}).Draw(t, "without"))
		}
		if w.rarely(t) {
			for _, name := range inputs.Keys() {
				if strings.HasSuffix(name, "Pem") && w.rarely(t) {
					inputs = inputs.With(name, pt.Of(rapid.SampledFrom(wrong).Draw(t, name)))
				}
			}
		}
		return inputs
	}
	w.live()
}
