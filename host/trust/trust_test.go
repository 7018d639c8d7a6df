package trust_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/host/trust"
)

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func key(t *testing.T) trust.PrivateKey {
	t.Helper()
	k, err := trust.GenerateKey()
	require.NoError(t, err)
	return k
}

// signed returns a bundle about a module.
func signed(t *testing.T, k trust.PrivateKey, predicate, module string) *trust.Bundle {
	t.Helper()
	s, err := trust.NewStatement(predicate, struct{}{}, map[string]string{"module": digest(module)})
	require.NoError(t, err)
	raw, err := trust.Sign(k, s)
	require.NoError(t, err)
	b, err := trust.ParseBundle(raw)
	require.NoError(t, err)
	require.Equal(t, raw, b.Raw())
	return b
}

func TestKeys(t *testing.T) {
	k := key(t)
	for _, passphrase := range []string{"", "correct horse"} {
		text, err := k.PEM([]byte(passphrase))
		require.NoError(t, err)
		again, err := trust.ParsePrivateKey(text, []byte(passphrase))
		require.NoError(t, err)
		require.Equal(t, k.Public().String(), again.Public().String())
		if passphrase != "" {
			require.NotContains(t, string(text), "BEGIN PRIVATE")
			_, err = trust.ParsePrivateKey(text, nil)
			require.ErrorIs(t, err, trust.ErrPassphrase)
			_, err = trust.ParsePrivateKey(text, []byte("wrong"))
			require.ErrorIs(t, err, trust.ErrPassphrase)
		}
	}
	for _, text := range []string{k.Public().String(), string(k.Public().PEM()), " " + k.Public().String() + "\n"} {
		p, err := trust.ParsePublicKey(text)
		require.NoError(t, err)
		require.Equal(t, k.Public().String(), p.String())
		require.False(t, p.IsZero())
	}
	private, err := k.PEM(nil)
	require.NoError(t, err)
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	require.NoError(t, err)
	other, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	require.NoError(t, err)
	for text, want := range map[string]string{
		"":                        "it is not a public key",
		"ed25519:AAAA":            "is followed by 32 bytes in base64",
		"ed25519:not base64":      "is followed by 32 bytes in base64",
		string(private):           "it is a private key",
		pemOf("CERTIFICATE", nil): `it is a PEM file with "CERTIFICATE"`,
		pemOf("PUBLIC KEY", nil):  "the public key cannot be read",
		pkix(t, &small.PublicKey): "a key of RSA with 1024 bits is too short",
		pemOf("PUBLIC KEY", []byte{}) + pemOf("PUBLIC KEY", nil): "it is a PEM file with",
	} {
		_, err := trust.ParsePublicKey(text)
		require.ErrorContains(t, err, want)
	}
	for text, want := range map[string]string{
		"":                                    "it is not a private key",
		pemOf("PUBLIC KEY", nil):              `it is a PEM file with "PUBLIC KEY"`,
		pemOf("PRIVATE KEY", []byte{1}):       "the private key cannot be read",
		pemOf("PRIVATE KEY", pkcs8(t, small)): "too short",
		pemOf("PRIVATE KEY", pkcs8(t, other)): "the curve P-224 is not supported",
	} {
		_, err := trust.ParsePrivateKey([]byte(text), nil)
		require.ErrorContains(t, err, want)
	}
}

func pemOf(kind string, content []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}))
}

func pkix(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	require.NoError(t, err)
	return pemOf("PUBLIC KEY", der)
}

func pkcs8(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return der
}

// Keys of other kinds, as OpenSSL writes them.
func TestKeysOfCurves(t *testing.T) {
	for _, curve := range []elliptic.Curve{elliptic.P256(), elliptic.P384(), elliptic.P521()} {
		ec, err := ecdsa.GenerateKey(curve, rand.Reader)
		require.NoError(t, err)
		sec1, err := x509.MarshalECPrivateKey(ec)
		require.NoError(t, err)
		for _, text := range []string{pemOf("PRIVATE KEY", pkcs8(t, ec)), pemOf("EC PRIVATE KEY", sec1)} {
			k, err := trust.ParsePrivateKey([]byte(text), nil)
			require.NoError(t, err)
			signer, err := (&trust.Verifier{Keys: []trust.PublicKey{k.Public()}}).Verify(signed(t, k, trust.PredicateSign, "module"), trust.Artifact{Digest: digest("module")})
			require.NoError(t, err, curve.Params().Name)
			require.Equal(t, k.Public().String(), signer.Key)
			require.True(t, strings.HasPrefix(signer.Key, "sha256:"))
		}
	}
}

// A key signs a module itself, without a statement, as "cosign sign-blob" does.
func TestSignatureOfTheModule(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	sum := sha256.Sum256([]byte("module"))
	signature, err := ecdsa.SignASN1(rand.Reader, ec, sum[:])
	require.NoError(t, err)
	raw, err := json.Marshal(map[string]any{
		"mediaType":            trust.BundleType,
		"verificationMaterial": map[string]any{"publicKey": map[string]any{"hint": "x"}},
		"messageSignature": map[string]any{
			"messageDigest": map[string]any{"algorithm": "SHA2_256", "digest": sum[:]}, "signature": signature,
		},
	})
	require.NoError(t, err)
	b, err := trust.ParseBundle(raw)
	require.NoError(t, err)
	require.Nil(t, b.Statement())
	public, err := trust.NewPublicKey(ec.Public())
	require.NoError(t, err)
	v := &trust.Verifier{Keys: []trust.PublicKey{public}}
	content := "module"
	artifact := trust.Artifact{Digest: digest("module"), Content: func() ([]byte, error) { return []byte(content), nil }}
	signer, err := v.Verify(b, artifact)
	require.NoError(t, err)
	require.Equal(t, "the key "+public.String(), signer.String())
	content = "changed"
	_, err = v.Verify(b, artifact)
	require.ErrorIs(t, err, trust.ErrSignature)
	_, err = v.Verify(b, trust.Artifact{Digest: digest("other"), Content: artifact.Content})
	var other *trust.OtherArtifactError
	require.ErrorAs(t, err, &other)
	require.Equal(t, []string{digest("module")}, other.Digests)
	require.Error(t, b.About(trust.Artifact{Digest: digest("module")}), "without its content")
}

func TestPolicy(t *testing.T) {
	acme, other := key(t), key(t)
	p := &trust.Policy{Rules: []trust.Rule{
		{Source: "oci://r.example.com/acme/*", Signers: []trust.Allowed{{Key: acme.Public()}}},
		{Source: "path:**", Unsigned: true},
		{Source: "oci://r.example.com/**"},
	}}
	require.NoError(t, p.Valid())
	const source = "oci://r.example.com/acme/lab"
	module := trust.Artifact{Digest: digest("module")}
	require.True(t, p.Wants(source))
	require.False(t, p.Wants("path:./lab"))

	signer, err := p.Check(source, []*trust.Bundle{signed(t, other, trust.PredicateSign, "module"), signed(t, acme, trust.PredicateSign, "module")}, module)
	require.NoError(t, err)
	require.Equal(t, acme.Public().String(), signer.Key)
	signer, err = p.Check("path:./lab", nil, module)
	require.NoError(t, err)
	require.True(t, signer.IsZero())
	signer, err = p.Check(source, []*trust.Bundle{signed(t, acme, trust.PredicateProvenance, "module")}, module)
	require.NoError(t, err)
	require.False(t, signer.IsZero())

	for name, c := range map[string]struct {
		source  string
		bundles []*trust.Bundle
		want    string
	}{
		"nobody":              {source, nil, "it is not signed"},
		"somebody else":       {source, []*trust.Bundle{signed(t, other, trust.PredicateSign, "module")}, "it is by none of the keys that are trusted"},
		"another module":      {source, []*trust.Bundle{signed(t, acme, trust.PredicateSign, "other")}, "the signature is about another module"},
		"something else":      {source, []*trust.Bundle{signed(t, acme, "https://cyclonedx.org/bom", "module")}, "it says something about the module (https://cyclonedx.org/bom), and does not stand for it"},
		"no rule":             {"https://example.com/lab.wasm", nil, "no rule of the trust policy is about it"},
		"a rule that refuses": {"oci://r.example.com/other/lab", nil, "the trust policy refuses oci://r.example.com/**"},
		"part of a pattern":   {"x" + source, nil, "no rule of the trust policy is about it"},
	} {
		_, err := p.Check(c.source, c.bundles, module)
		require.ErrorContains(t, err, c.want, name)
		require.ErrorIs(t, err, trust.ErrSignature, name)
	}

	root := &trust.Root{}
	for want, wrong := range map[string]*trust.Policy{
		"has no source": {Rules: []trust.Rule{{Unsigned: true}}},
		"has signers, and allows modules that nobody signed": {Rules: []trust.Rule{{Source: "*", Unsigned: true, Signers: []trust.Allowed{{Key: acme.Public()}}}}},
		"has a key or an identity, and one of them only":     {Rules: []trust.Rule{{Source: "*", Signers: []trust.Allowed{{}}}}},
		"has an identity and its issuer":                     {Root: root, Rules: []trust.Rule{{Source: "*", Signers: []trust.Allowed{{Identity: "a"}}}}},
		"cannot be verified without a trusted root":          {Rules: []trust.Rule{{Source: "*", Signers: []trust.Allowed{{Identity: "a", Issuer: "b"}}}}},
	} {
		require.ErrorContains(t, wrong.Valid(), want)
	}
}

// What is changed in a bundle is noticed, wherever it is.
func TestChangedBundles(t *testing.T) {
	k := key(t)
	b := signed(t, k, trust.PredicateSign, "module")
	v := &trust.Verifier{Keys: []trust.PublicKey{k.Public()}}
	_, err := v.Verify(b, trust.Artifact{Digest: digest("module")})
	require.NoError(t, err)
	var doc map[string]any
	require.NoError(t, json.Unmarshal(b.Raw(), &doc))
	require.NotContains(t, doc["dsseEnvelope"].(map[string]any)["signatures"].([]any)[0], "keyid")
	for at := range b.Raw() {
		raw := append([]byte(nil), b.Raw()...)
		raw[at] ^= 4
		changed, err := trust.ParseBundle(raw)
		if err != nil {
			continue
		}
		if _, err := v.Verify(changed, trust.Artifact{Digest: digest("module")}); err == nil {
			// Only what nothing depends on: the hint of the key, names of fields, and what base64 does not use.
			require.Equal(t, b.Statement(), changed.Statement())
		}
	}
}

func TestWrongBundles(t *testing.T) {
	head := `{"mediaType": "` + trust.BundleType + `", "verificationMaterial": `
	key := head + `{"publicKey": {"hint": "x"}}, `
	for text, want := range map[string]string{
		``:                        "the bundle cannot be read",
		`[]`:                      "the bundle cannot be read",
		key[:len(key)-2] + `} {}`: "something follows the JSON value",
		`{"mediaType": "application/vnd.dev.sigstore.bundle.v9+json"}`: "is not a sigstore bundle of a version that is known",
		head + `{}}`: "must have a certificate or the hint of a public key",
		head + `{"certificate": {"rawBytes": "AAAA"}, "publicKey": {"hint": "x"}}}`: "the bundle's certificate cannot be read",
		head + `{"x509CertificateChain": {}}}`:                                      "list of certificates is empty",
		key + `"x": 1}`:                                                             "must have a signature of a message or an envelope",
		key + `"dsseEnvelope": {}, "messageSignature": {}}`:                         "must have a signature of a message or an envelope",
		key + `"dsseEnvelope": {"signatures": []}}`:                                 "has 0 signatures, not one",
		key + `"dsseEnvelope": {"signatures": [{}], "payloadType": "text/plain"}}`:  `signs "text/plain"`,
		key + `"dsseEnvelope": {"signatures": [{}], "payloadType": "application/vnd.in-toto+json", "payload": "e30="}}`: `the bundle's statement has the type ""`,
		key + `"dsseEnvelope": {"signatures": [{}], "payloadType": "application/vnd.in-toto+json", "payload": "e30"}}`:  "the bundle cannot be read",
	} {
		_, err := trust.ParseBundle([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
	_, err := trust.ParseBundle(make([]byte, trust.BundleLimit+1))
	require.ErrorContains(t, err, "and the limit is")
	many := key + `"messageSignature": {}, "x": 0}`
	many = strings.Replace(many, `"publicKey"`, `"tlogEntries": [`+strings.Repeat("{},", 32)+`{}], "publicKey"`, 1)
	_, err = trust.ParseBundle([]byte(many))
	require.ErrorContains(t, err, "more than 32 entries")
}

func TestWrongRoots(t *testing.T) {
	const head = `{"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1"`
	for text, want := range map[string]string{
		``:            "the trusted root cannot be read",
		`{}`:          "is not a sigstore trusted root",
		head + `} {}`: "is not a sigstore trusted root",
		head + `, "tlogs": [{"baseUrl": "https://log.example.com"}]}`:                                 "the key of the log https://log.example.com cannot be read",
		head + `, "certificateAuthorities": [{"uri": "https://ca.example.com"}]}`:                     "the authority https://ca.example.com has no certificates",
		head + `, "timestampAuthorities": [{"certChain": {"certificates": [{"rawBytes": "AAAA"}]}}]}`: "a certificate of the authority",
	} {
		_, err := trust.ParseRoot([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
	_, err := trust.ParseRoot([]byte(head + "}\n" + head + "}\n"))
	require.NoError(t, err, "several")
}

func TestNewStatement(t *testing.T) {
	_, err := trust.NewStatement(trust.PredicateSign, struct{}{}, map[string]string{"module": "sha256:short"})
	require.ErrorContains(t, err, `"sha256:short" is not a digest`)
}

func FuzzBundle(f *testing.F) {
	k, err := trust.GenerateKey()
	require.NoError(f, err)
	s, err := trust.NewStatement(trust.PredicateSign, struct{}{}, map[string]string{"module": digest("module")})
	require.NoError(f, err)
	raw, err := trust.Sign(k, s)
	require.NoError(f, err)
	f.Add(raw)
	f.Add([]byte(`{"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "verificationMaterial": {"publicKey": {"hint": "x"}, "tlogEntries": [{"inclusionProof": {"checkpoint": {"envelope": "a\n1\nb\n\n"}}}]}, "messageSignature": {}}`))
	other, err := trust.GenerateKey()
	require.NoError(f, err)
	v := &trust.Verifier{Keys: []trust.PublicKey{other.Public()}, Root: &trust.Root{}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := trust.ParseBundle(raw)
		if err != nil {
			return
		}
		_, err = v.Verify(b, trust.Artifact{Digest: digest("module"), Content: func() ([]byte, error) { return []byte("module"), nil }})
		require.Error(t, err)
	})
}

func FuzzRoot(f *testing.F) {
	f.Add([]byte(`{"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1", "tlogs": [{"logId": {"keyId": "AAAA"}}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) { _, _ = trust.ParseRoot(raw) })
}
