package provider_test

import (
	"crypto/sha1"
	"crypto/x509"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/husk-dev/husk/abi/property"
	pt "github.com/husk-dev/husk/examples/internal/providertest"
)

var noon = time.Date(2030, time.January, 1, 12, 0, 0, 5e8, time.FixedZone("", 3600))

func caInputs(key pt.Resource) pt.Object {
	return pt.Object{
		"privateKeyPem": key.Text("privateKeyPem"), "subject": pt.Object{"commonName": "CA"}, "isCaCertificate": true,
		"validityPeriodHours": 24, "allowedUses": []string{"cert_signing", "crl_signing"},
	}
}

// chain is an authority, a request, and what the authority makes of it.
type chain struct {
	key, ca, request pt.Resource
	inputs           pt.Object
}

func newChain(p *pt.Provider) chain {
	p.T.Helper()
	var c chain
	c.key = ecKey(p)
	c.ca = p.Create(selfSignedCert, caInputs(c.key))
	c.request = p.Create(certRequest, pt.Object{
		"privateKeyPem": ecKey(p).Text("privateKeyPem"), "dnsNames": []string{"www.example.org"}, "ipAddresses": []string{"127.0.0.1"},
		"subject": pt.Object{"commonName": "www.example.org", "emailAddress": "web@example.org"},
	})
	c.inputs = pt.Object{
		"certRequestPem": c.request.Text("certRequestPem"), "caCertPem": c.ca.Text("certPem"), "caPrivateKeyPem": c.key.Text("privateKeyPem"),
		"validityPeriodHours": 2, "allowedUses": []string{"digital_signature", "server_auth"},
	}
	return c
}

func TestAnAuthoritySignsACertificate(t *testing.T) {
	p := start(t)
	setTime(p, noon)
	c := newChain(p)
	signed := p.Create(locallySignedCert, c.inputs)
	require.Equal(t, "ECDSA", signed.Text("caKeyAlgorithm"))
	require.Equal(t, "2030-01-01T11:00:00Z", signed.Text("validityStartTime"))
	require.Equal(t, "2030-01-01T13:00:00Z", signed.Text("validityEndTime"))
	require.Equal(t, property.Bool(false), signed.State.Get("readyForRenewal"))

	ca, leaf := parseCertificate(t, c.ca.Text("certPem")), parseCertificate(t, signed.Text("certPem"))
	require.Equal(t, leaf.SerialNumber.String(), signed.ID)
	require.LessOrEqual(t, leaf.SerialNumber.BitLen(), 128)
	require.Equal(t, parseRequest(t, c.request).RawSubject, leaf.RawSubject)
	require.Equal(t, ca.SubjectKeyId, leaf.AuthorityKeyId)
	require.Empty(t, leaf.SubjectKeyId)
	require.Equal(t, x509.KeyUsageDigitalSignature, leaf.KeyUsage)
	require.False(t, leaf.IsCA)

	roots := x509.NewCertPool()
	roots.AddCert(ca)
	for _, name := range []string{"www.example.org", "127.0.0.1"} {
		_, err := leaf.Verify(x509.VerifyOptions{
			Roots: roots, DNSName: name, CurrentTime: noon.Add(time.Hour), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		})
		require.NoError(t, err)
	}
}

func TestEveryKindOfKeySignsForEveryOther(t *testing.T) {
	p := start(t)
	kinds := []pt.Object{
		{"algorithm": "RSA", "rsaBits": 1024}, {"algorithm": "ED25519"},
		{"algorithm": "ECDSA", "ecdsaCurve": "P224"}, {"algorithm": "ECDSA", "ecdsaCurve": "P521"},
	}
	for _, caKind := range kinds {
		key := p.Create(privateKey, caKind)
		ca := p.Create(selfSignedCert, caInputs(key))
		require.Equal(t, caKind["algorithm"], ca.Text("keyAlgorithm"))
		for _, kind := range kinds {
			request := p.Create(certRequest, pt.Object{"privateKeyPem": p.Create(privateKey, kind).Text("privateKeyPemPkcs8")})
			signed := p.Create(locallySignedCert, pt.Object{
				"certRequestPem": request.Text("certRequestPem"), "caCertPem": ca.Text("certPem"), "caPrivateKeyPem": key.Text("privateKeyPemPkcs8"),
				"validityPeriodHours": 1, "allowedUses": []string{},
			})
			require.NoError(t, parseCertificate(t, signed.Text("certPem")).CheckSignatureFrom(parseCertificate(t, ca.Text("certPem"))))
		}
	}
}

func TestTermsOfACertificate(t *testing.T) {
	p := start(t)
	key := ecKey(p)
	make := func(change pt.Object) *x509.Certificate {
		return parseCertificate(t, p.Create(selfSignedCert, pt.With(caInputs(key), change)).Text("certPem"))
	}
	ca := make(nil)
	require.True(t, ca.IsCA && ca.BasicConstraintsValid)
	require.Equal(t, -1, ca.MaxPathLen)
	sum := sha1.Sum(ca.RawSubjectPublicKeyInfo[len(ca.RawSubjectPublicKeyInfo)-65:]) // the uncompressed point ends it
	require.Equal(t, sum[:], ca.SubjectKeyId)
	require.Empty(t, ca.AuthorityKeyId)
	require.Equal(t, sum[:], make(pt.Object{"setAuthorityKeyId": true}).AuthorityKeyId)

	limited := make(pt.Object{"maxPathLength": 0})
	require.True(t, limited.MaxPathLen == 0 && limited.MaxPathLenZero)
	require.Equal(t, 2, make(pt.Object{"maxPathLength": 2}).MaxPathLen)

	expired := p.Create(selfSignedCert, pt.With(caInputs(key), pt.Object{"validityPeriodHours": 0}))
	require.Equal(t, expired.Text("validityStartTime"), expired.Text("validityEndTime"))
	ready, _ := expired.State.Get("readyForRenewal").AsBool()
	require.True(t, ready, "each update replaces it")

	leaf := make(pt.Object{"isCaCertificate": false, "maxPathLength": 2, "subject": nil})
	require.False(t, leaf.IsCA)
	require.Empty(t, leaf.SubjectKeyId)
	require.Equal(t, sum[:], make(pt.Object{"isCaCertificate": false, "setSubjectKeyId": true}).SubjectKeyId)
}

func TestUsesOfACertificate(t *testing.T) {
	p := start(t)
	key := ecKey(p)
	usages := map[string]x509.KeyUsage{
		"digital_signature": x509.KeyUsageDigitalSignature, "content_commitment": x509.KeyUsageContentCommitment,
		"key_encipherment": x509.KeyUsageKeyEncipherment, "data_encipherment": x509.KeyUsageDataEncipherment,
		"key_agreement": x509.KeyUsageKeyAgreement, "cert_signing": x509.KeyUsageCertSign, "crl_signing": x509.KeyUsageCRLSign,
		"encipher_only": x509.KeyUsageEncipherOnly, "decipher_only": x509.KeyUsageDecipherOnly,
	}
	extended := map[string]x509.ExtKeyUsage{
		"any_extended": x509.ExtKeyUsageAny, "server_auth": x509.ExtKeyUsageServerAuth, "client_auth": x509.ExtKeyUsageClientAuth,
		"code_signing": x509.ExtKeyUsageCodeSigning, "email_protection": x509.ExtKeyUsageEmailProtection,
		"ipsec_end_system": x509.ExtKeyUsageIPSECEndSystem, "ipsec_tunnel": x509.ExtKeyUsageIPSECTunnel, "ipsec_user": x509.ExtKeyUsageIPSECUser,
		"timestamping": x509.ExtKeyUsageTimeStamping, "ocsp_signing": x509.ExtKeyUsageOCSPSigning,
		"microsoft_server_gated_crypto":     x509.ExtKeyUsageMicrosoftServerGatedCrypto,
		"netscape_server_gated_crypto":      x509.ExtKeyUsageNetscapeServerGatedCrypto,
		"microsoft_commercial_code_signing": x509.ExtKeyUsageMicrosoftCommercialCodeSigning,
		"microsoft_kernel_code_signing":     x509.ExtKeyUsageMicrosoftKernelCodeSigning,
	}
	var names []string
	for name := range usages {
		names = append(names, name)
	}
	for name := range extended {
		names = append(names, name)
	}
	slices.Sort(names)
	rapid.Check(t, func(t *rapid.T) {
		uses := rapid.SliceOf(rapid.SampledFrom(names)).Draw(t, "uses")
		r := p.In(t).Create(selfSignedCert, pt.With(caInputs(key), pt.Object{"allowedUses": uses}))
		cert := parseCertificate(t, r.Text("certPem"))
		var usage x509.KeyUsage
		var ext []x509.ExtKeyUsage
		for _, name := range uses {
			usage |= usages[name]
			if e, ok := extended[name]; ok {
				ext = append(ext, e)
			}
		}
		require.Equal(t, usage, cert.KeyUsage)
		require.Equal(t, ext, cert.ExtKeyUsage, "in the order that was given, as Pulumi's provider writes them")
	})
}

func TestWhatACertificateMustBe(t *testing.T) {
	p := start(t)
	key, other := ecKey(p), ecKey(p)
	request := p.Create(certRequest, pt.Object{"privateKeyPem": key.Text("privateKeyPem")})
	ca := p.Create(selfSignedCert, caInputs(key))
	signed := pt.Object{
		"certRequestPem": request.Text("certRequestPem"), "caCertPem": ca.Text("certPem"), "caPrivateKeyPem": key.Text("privateKeyPem"),
		"validityPeriodHours": 1, "allowedUses": []string{},
	}
	for _, test := range []struct {
		token, failure string
		inputs, change pt.Object
	}{
		{selfSignedCert, `allowedUses[1]: no such use: "server-auth"; did you mean "server_auth"?`, caInputs(key),
			pt.Object{"allowedUses": []string{"client_auth", "server-auth"}}},
		{selfSignedCert, `allowedUses[0]: no such use: "x"; the uses are any_extended, cert_signing, client_auth`, caInputs(key),
			pt.Object{"allowedUses": []string{"x"}}},
		{selfSignedCert, "validityPeriodHours: must be at least 0", caInputs(key), pt.Object{"validityPeriodHours": -1}},
		{selfSignedCert, "validityPeriodHours: must be at most 2562047", caInputs(key), pt.Object{"validityPeriodHours": 2562048}},
		{selfSignedCert, "earlyRenewalHours: must be at least 0", caInputs(key), pt.Object{"earlyRenewalHours": -1}},
		{selfSignedCert, "subject: must name something, such as a commonName, since isCaCertificate is true", caInputs(key), pt.Object{"subject": nil}},
		{selfSignedCert, "setAuthorityKeyId: needs the hash of the certificate's own key in it; set setSubjectKeyId, too", caInputs(key),
			pt.Object{"isCaCertificate": false, "setAuthorityKeyId": true}},
		{locallySignedCert, `certRequestPem: holds "CERTIFICATE"; expected a certificate request in PEM form`, signed,
			pt.Object{"certRequestPem": ca.Text("certPem")}},
		{locallySignedCert, `caCertPem: holds "EC PRIVATE KEY"; expected a certificate in PEM form`, signed,
			pt.Object{"caCertPem": key.Text("privateKeyPem")}},
		{locallySignedCert, "caPrivateKeyPem: is not the key of the certificate in caCertPem", signed,
			pt.Object{"caPrivateKeyPem": other.Text("privateKeyPem")}},
		{locallySignedCert, "certRequestPem: must have a subject, such as a commonName, since isCaCertificate is true", signed,
			pt.Object{"isCaCertificate": true}},
	} {
		failures := p.Failures(test.token, pt.With(test.inputs, test.change))
		require.Len(t, failures, 1)
		require.Contains(t, failures[0], test.failure)
	}
}

// What is not known yet, in a preview, is no mistake.
func TestUnknownInputsPass(t *testing.T) {
	p := start(t)
	require.Empty(t, p.Failures(selfSignedCert, pt.Object{
		"privateKeyPem": property.Unknown, "isCaCertificate": true, "subject": property.Unknown, "setAuthorityKeyId": true,
		"dnsNames": pt.List{property.Unknown}, "ipAddresses": property.Unknown, "uris": pt.List{"a:b", property.Unknown},
		"allowedUses": pt.List{property.Unknown, "server_auth"}, "validityPeriodHours": property.Unknown,
	}))
	require.Equal(t, []string{`allowedUses[1]: no such use: "server_aut"; did you mean "server_auth"?`}, p.Failures(locallySignedCert, pt.Object{
		"certRequestPem": property.Unknown, "caCertPem": property.Unknown, "caPrivateKeyPem": property.Unknown,
		"allowedUses": pt.List{property.Unknown, "server_aut"}, "validityPeriodHours": 1,
	}))
}

func TestACertificateIsRenewed(t *testing.T) {
	p := start(t)
	setTime(p, noon)
	c := newChain(p)
	for token, inputs := range map[string]pt.Object{selfSignedCert: caInputs(c.key), locallySignedCert: c.inputs} {
		inputs := pt.With(inputs, pt.Object{"validityPeriodHours": 24, "earlyRenewalHours": 4})
		setTime(p, noon)
		r := p.Create(token, inputs)
		for _, test := range []struct {
			at    time.Duration
			ready bool
		}{
			{0, false},
			{20*time.Hour - time.Second, false},
			{20 * time.Hour, true},
			{24 * time.Hour, true},
			{48 * time.Hour, true},
		} {
			setTime(p, noon.Truncate(time.Second).Add(test.at))
			var want []string
			if test.ready {
				want = []string{"readyForRenewal update-replace"}
			}
			require.Equal(t, want, p.Diff(r, inputs))
			refreshed, exists := p.Refresh(r)
			require.True(t, exists)
			require.Equal(t, property.Bool(test.ready), refreshed.State.Get("readyForRenewal"))
			require.Equal(t, want, p.Diff(refreshed, inputs))
		}

		setTime(p, noon.Add(10*time.Hour))
		sooner := pt.With(inputs, pt.Object{"earlyRenewalHours": 10})
		require.Equal(t, []string{"earlyRenewalHours update"}, p.Diff(r, sooner))
		updated := p.Update(r, sooner)
		require.Equal(t, r.Text("certPem"), updated.Text("certPem"))
		require.Empty(t, p.Diff(updated, sooner))
		require.Equal(t, []string{"earlyRenewalHours update", "readyForRenewal update-replace"},
			p.Diff(r, pt.With(inputs, pt.Object{"earlyRenewalHours": 14})))
	}
}

func TestACertificateIsReplacedByAnyOtherChange(t *testing.T) {
	p := start(t)
	c := newChain(p)
	other := ecKey(p)
	for token, base := range map[string]pt.Object{selfSignedCert: caInputs(c.key), locallySignedCert: c.inputs} {
		r := p.Create(token, base)
		for change, want := range map[*pt.Object]string{
			{"validityPeriodHours": 25}: "validityPeriodHours update-replace",
			{"allowedUses": []string{}}: "allowedUses[0] delete-replace",
			{"maxPathLength": 1}:        "maxPathLength add-replace",
			{"setSubjectKeyId": true}:   "setSubjectKeyId update-replace",
		} {
			require.Contains(t, p.Diff(r, pt.With(base, *change)), want)
		}
	}
	r := p.Create(selfSignedCert, caInputs(c.key))
	require.Equal(t, []string{"privateKeyPem update-replace"}, p.Diff(r, caInputs(other)))
	r = p.Create(locallySignedCert, c.inputs)
	request := p.Create(certRequest, pt.Object{"privateKeyPem": other.Text("privateKeyPem")})
	require.Equal(t, []string{"certRequestPem update-replace"},
		p.Diff(r, pt.With(c.inputs, pt.Object{"certRequestPem": request.Text("certRequestPem")})))
}

func TestCertificatesAreNotImported(t *testing.T) {
	p := start(t)
	for _, token := range []string{privateKey, certRequest, selfSignedCert, locallySignedCert} {
		_, err := p.TryImport(token, "1")
		require.ErrorContains(t, err, "cannot be imported")
	}
}
