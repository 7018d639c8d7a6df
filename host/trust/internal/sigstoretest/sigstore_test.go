// Package sigstoretest holds Husk's verification of signatures against sigstore's own library, and against what its public
// service has signed.
package sigstoretest

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	"github.com/sigstore/sigstore-go/pkg/testing/data"
	"github.com/sigstore/sigstore-go/pkg/tlog"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/host/trust"
)

var fixtures = flag.String("fixtures", "", "write the signatures of the script identities.txtar to this directory")

// public returns the trusted root of sigstore's public service.
func public(t *testing.T) *trust.Root {
	t.Helper()
	raw, err := data.TrustedRoot(t, "public-good.json").MarshalJSON()
	require.NoError(t, err)
	r, err := trust.ParseRoot(raw)
	require.NoError(t, err)
	return r
}

func parse(t *testing.T, b *bundle.Bundle) (*trust.Bundle, []byte) {
	t.Helper()
	raw, err := b.MarshalJSON()
	require.NoError(t, err)
	parsed, err := trust.ParseBundle(raw)
	require.NoError(t, err)
	return parsed, raw
}

// What the public service has signed and logged.
func TestPublicService(t *testing.T) {
	v := &trust.Verifier{Root: public(t)}
	for name, want := range map[string]struct{ identity, issuer, digest string }{
		"sigstore.js@2.0.0-provenance.sigstore.json": {
			"https://github.com/sigstore/sigstore-js/.github/workflows/release.yml@refs/heads/main",
			"https://token.actions.githubusercontent.com",
			"sha512:46d4e2f74c4877316640000a6fdf8a8b59f1e0847667973e9859f774dd31b8f1e0937813b777fb66a2ac67d50540fe34640966eee9fc2ccca387082b4c85cd3c",
		},
		"dsse.sigstore.json": {"brian@dehamer.com", "https://github.com/login/oauth",
			"sha512:bbfd372fc9beeb777fe35d05bb10c0c70a9733d366a75fed7dd18866c7391de3ee7e88ba74dd47abf3e15c845e547fcf0e5c3da80854c751554224d3a6d4e55f"},
	} {
		b, raw := parse(t, data.Bundle(t, name))
		artifact := trust.Artifact{Digest: want.digest}
		signer, err := v.Verify(b, artifact)
		require.NoError(t, err, name)
		require.Equal(t, want.identity, signer.Identity, name)
		require.Equal(t, want.issuer, signer.Issuer, name)
		require.True(t, signer.Logged, name)
		require.True(t, signer.Time.After(time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC)), name)

		_, err = v.Verify(b, trust.Artifact{Digest: "sha512:00"})
		var other *trust.OtherArtifactError
		require.ErrorAs(t, err, &other)

		// A change of any byte is noticed: of what is signed, and of what vouches for it.
		changed := 0
		for at := 0; at < len(raw); at += 97 {
			mutant := bytes.Clone(raw)
			mutant[at] ^= 1
			parsed, err := trust.ParseBundle(mutant)
			if err != nil {
				continue
			}
			got, err := v.Verify(parsed, artifact)
			theirs := &bundle.Bundle{}
			if err == nil && theirs.UnmarshalJSON(mutant) == nil {
				require.Equal(t, signer, got, "%s at %d: %s", name, at, around(mutant, at))
				require.NoError(t, byTheirs(t, theirs, want.digest), "%s at %d: %s", name, at, around(mutant, at))
			}
			changed++
		}
		require.NotZero(t, changed)
	}
}

func around(raw []byte, at int) string { return string(raw[max(0, at-40):min(len(raw), at+40)]) }

// byTheirs verifies a bundle of the public service with sigstore's library.
func byTheirs(t *testing.T, b *bundle.Bundle, digest string) error {
	t.Helper()
	v, err := verify.NewVerifier(data.TrustedRoot(t, "public-good.json"), verify.WithTransparencyLog(1), verify.WithIntegratedTimestamps(1), verify.WithSignedCertificateTimestamps(1))
	require.NoError(t, err)
	algorithm, digits, _ := strings.Cut(digest, ":")
	raw, err := hex.DecodeString(digits)
	require.NoError(t, err)
	_, err = v.Verify(b, verify.NewPolicy(verify.WithArtifactDigest(algorithm, raw), verify.WithoutIdentitiesUnsafe()))
	return err
}

// virtualRoot returns the trusted root of a service that sigstore's library makes up.
func virtualRoot(t *testing.T, s *ca.VirtualSigstore) *trust.Root {
	t.Helper()
	r, err := trust.ParseRoot(rawRoot(t, s))
	require.NoError(t, err)
	return r
}

func rawRoot(t *testing.T, s *ca.VirtualSigstore) []byte {
	t.Helper()
	logs := func(from map[string]*root.TransparencyLog) (all []map[string]any) {
		for id, l := range from {
			key, err := trust.NewPublicKey(l.PublicKey)
			require.NoError(t, err)
			raw, err := hex.DecodeString(id)
			require.NoError(t, err)
			all = append(all, map[string]any{
				"baseUrl": l.BaseURL, "logId": map[string]any{"keyId": raw},
				"publicKey": map[string]any{"rawBytes": der(t, key), "validFor": map[string]any{"start": l.ValidityPeriodStart, "end": l.ValidityPeriodEnd}},
			})
		}
		return all
	}
	var authorities, stampers []map[string]any
	certificates := func(list ...[]byte) (all []map[string]any) {
		for _, c := range list {
			all = append(all, map[string]any{"rawBytes": c})
		}
		return all
	}
	for _, a := range s.FulcioCertificateAuthorities() {
		f := a.(*root.FulcioCertificateAuthority)
		authorities = append(authorities, map[string]any{
			"uri": f.URI, "certChain": map[string]any{"certificates": certificates(f.Intermediates[0].Raw, f.Root.Raw)},
			"validFor": map[string]any{"start": f.ValidityPeriodStart, "end": f.ValidityPeriodEnd},
		})
	}
	for _, a := range s.TimestampingAuthorities() {
		f := a.(*root.SigstoreTimestampingAuthority)
		stampers = append(stampers, map[string]any{
			"uri": f.URI, "certChain": map[string]any{"certificates": certificates(f.Leaf.Raw, f.Intermediates[0].Raw, f.Root.Raw)},
			"validFor": map[string]any{"start": f.ValidityPeriodStart, "end": f.ValidityPeriodEnd},
		})
	}
	raw, err := json.Marshal(map[string]any{
		"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
		"tlogs":     logs(s.RekorLogs()), "certificateAuthorities": authorities, "timestampAuthorities": stampers,
	})
	require.NoError(t, err)
	return raw
}

func der(t *testing.T, key trust.PublicKey) []byte {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(string(key.PEM())), "\n")
	raw, err := base64.StdEncoding.DecodeString(strings.Join(lines[1:len(lines)-1], ""))
	require.NoError(t, err)
	return raw
}

// entityBundle returns the bundle of what the virtual service has signed.
func entityBundle(t *testing.T, s *ca.VirtualSigstore, e *ca.TestEntity, stamped, logged bool) []byte {
	t.Helper()
	content, err := e.VerificationContent()
	require.NoError(t, err)
	material := map[string]any{"certificate": map[string]any{"rawBytes": content.Certificate().Raw}}
	doc := map[string]any{"mediaType": trust.BundleType, "verificationMaterial": material}
	signature, err := e.SignatureContent()
	require.NoError(t, err)
	if m := signature.MessageSignatureContent(); m != nil {
		doc["messageSignature"] = map[string]any{"messageDigest": map[string]any{"algorithm": "SHA2_256", "digest": m.Digest()}, "signature": m.Signature()}
	} else {
		env := signature.EnvelopeContent().RawEnvelope()
		doc["dsseEnvelope"] = map[string]any{
			"payload": env.Payload, "payloadType": env.PayloadType, "signatures": []map[string]any{{"sig": env.Signatures[0].Sig}},
		}
	}
	if stamped {
		stamps, err := e.Timestamps()
		require.NoError(t, err)
		var list []map[string]any
		for _, stamp := range stamps {
			list = append(list, map[string]any{"signedTimestamp": stamp})
		}
		material["timestampVerificationData"] = map[string]any{"rfc3161Timestamps": list}
	}
	if logged {
		entries, err := e.TlogEntries()
		require.NoError(t, err)
		for _, entry := range entries {
			pb := entry.TransparencyLogEntry()
			var body struct{ Kind, APIVersion string }
			require.NoError(t, json.Unmarshal(pb.CanonicalizedBody, &body))
			one := map[string]any{
				"logIndex": fmt.Sprint(pb.LogIndex), "logId": map[string]any{"keyId": pb.LogId.KeyId}, "integratedTime": fmt.Sprint(pb.IntegratedTime),
				"kindVersion": map[string]any{"kind": body.Kind, "version": body.APIVersion}, "canonicalizedBody": pb.CanonicalizedBody,
			}
			if entry.HasInclusionPromise() { // which the entry does not give away
				promise, err := s.RekorSignPayload(tlog.RekorPayload{
					Body: base64.StdEncoding.EncodeToString(pb.CanonicalizedBody), IntegratedTime: pb.IntegratedTime, LogIndex: pb.LogIndex,
					LogID: hex.EncodeToString(pb.LogId.KeyId),
				})
				require.NoError(t, err)
				one["inclusionPromise"] = map[string]any{"signedEntryTimestamp": promise}
			}
			if p := pb.GetInclusionProof(); p != nil {
				one["inclusionProof"] = map[string]any{
					"logIndex": fmt.Sprint(p.LogIndex), "treeSize": fmt.Sprint(p.TreeSize), "rootHash": p.RootHash, "hashes": p.Hashes,
					"checkpoint": map[string]any{"envelope": p.Checkpoint.Envelope},
				}
			}
			material["tlogEntries"] = []map[string]any{one}
		}
	}
	raw, err := json.Marshal(doc)
	require.NoError(t, err)
	return raw
}

// What a service signs that sigstore's library makes up: statements with timestamps, in logs of both versions, with and
// without proofs.
func TestVirtualService(t *testing.T) {
	s, err := ca.NewVirtualSigstore()
	require.NoError(t, err)
	other, err := ca.NewVirtualSigstore()
	require.NoError(t, err)
	module := []byte("\x00asm")
	sum := sha256.Sum256(module)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	statement, err := trust.NewStatement(trust.PredicateSign, struct{}{}, map[string]string{"lab": digest})
	require.NoError(t, err)
	payload, err := json.Marshal(statement)
	require.NoError(t, err)
	const identity, issuer = "somebody@example.com", "https://issuer.example.com"
	v := &trust.Verifier{Root: virtualRoot(t, s)}
	artifact := trust.Artifact{Digest: digest, Content: func() ([]byte, error) { return module, nil }}

	for name, make := range map[string]func() (*ca.TestEntity, error){
		"statement":                  func() (*ca.TestEntity, error) { return s.Attest(identity, issuer, payload) },
		"statement in the newer log": func() (*ca.TestEntity, error) { return s.AttestHashedRekordV2(identity, issuer, payload) },
		"signature of the module":    func() (*ca.TestEntity, error) { return s.Sign(identity, issuer, module) },
	} {
		t.Run(name, func(t *testing.T) {
			e, err := make()
			require.NoError(t, err)
			for _, form := range []struct{ stamped, logged bool }{{true, false}, {true, true}} {
				raw := entityBundle(t, s, e, form.stamped, form.logged)
				b, err := trust.ParseBundle(raw)
				require.NoError(t, err)
				signer, err := v.Verify(b, artifact)
				require.NoError(t, err, "%+v", form)
				require.Equal(t, identity, signer.Identity)
				require.Equal(t, issuer, signer.Issuer)
				require.Equal(t, form.logged, signer.Logged)
				_, err = (&trust.Verifier{Root: virtualRoot(t, other)}).Verify(b, artifact)
				require.ErrorIs(t, err, trust.ErrSignature)
				_, err = (&trust.Verifier{}).Verify(b, artifact)
				require.ErrorContains(t, err, "there is no trusted root to verify it with")
			}
			// Nobody says when it was signed.
			b, err := trust.ParseBundle(entityBundle(t, s, e, false, false))
			require.NoError(t, err)
			_, err = v.Verify(b, artifact)
			require.ErrorContains(t, err, "says when it was made")
		})
	}

	// The certificate had expired when the log took the signature.
	late, err := s.AttestAtTime(identity, issuer, payload, time.Now().Add(30*time.Minute), false)
	require.NoError(t, err)
	b30, err := trust.ParseBundle(entityBundle(t, s, late, false, true))
	require.NoError(t, err)
	_, err = v.Verify(b30, artifact)
	require.ErrorIs(t, err, trust.ErrSignature)
	require.ErrorContains(t, err, "expired")
	timely, err := s.AttestAtTime(identity, issuer, payload, time.Now().Add(5*time.Minute), false)
	require.NoError(t, err)
	b5, err := trust.ParseBundle(entityBundle(t, s, timely, false, true))
	require.NoError(t, err)
	signer, err := v.Verify(b5, artifact)
	require.NoError(t, err)
	require.True(t, signer.Logged)

	// The signature and entries of one belong to that one.
	first, err := s.Attest(identity, issuer, payload)
	require.NoError(t, err)
	second, err := s.Attest(identity, issuer, payload)
	require.NoError(t, err)
	var a, b map[string]any
	require.NoError(t, json.Unmarshal(entityBundle(t, s, first, true, true), &a))
	require.NoError(t, json.Unmarshal(entityBundle(t, s, second, true, true), &b))
	for _, part := range []string{"tlogEntries", "timestampVerificationData", "certificate"} {
		mixed := map[string]any{}
		for k, v := range a["verificationMaterial"].(map[string]any) {
			mixed[k] = v
		}
		mixed[part] = b["verificationMaterial"].(map[string]any)[part]
		raw, err := json.Marshal(map[string]any{"mediaType": a["mediaType"], "dsseEnvelope": a["dsseEnvelope"], "verificationMaterial": mixed})
		require.NoError(t, err)
		parsed, err := trust.ParseBundle(raw)
		require.NoError(t, err)
		_, err = v.Verify(parsed, artifact)
		require.ErrorIs(t, err, trust.ErrSignature, part)
	}
}

// What Husk signs with a key is what sigstore's library reads.
func TestTheirsVerifiesOurs(t *testing.T) {
	key, err := trust.GenerateKey()
	require.NoError(t, err)
	digest := sha256.Sum256([]byte("module"))
	statement, err := trust.NewStatement(trust.PredicateSign, struct{}{}, map[string]string{"lab": "sha256:" + hex.EncodeToString(digest[:])})
	require.NoError(t, err)
	raw, err := trust.Sign(key, statement)
	require.NoError(t, err)
	b := &bundle.Bundle{}
	require.NoError(t, b.UnmarshalJSON(raw))
	parsed, err := x509.ParsePKIXPublicKey(der(t, key.Public()))
	require.NoError(t, err)
	verifier, err := signature.LoadVerifier(parsed, crypto.Hash(0))
	require.NoError(t, err)
	material := root.NewTrustedPublicKeyMaterial(func(string) (root.TimeConstrainedVerifier, error) {
		return root.NewExpiringKey(verifier, time.Time{}, time.Time{}), nil
	})
	v, err := verify.NewVerifier(material, verify.WithNoObserverTimestamps())
	require.NoError(t, err)
	result, err := v.Verify(b, verify.NewPolicy(verify.WithArtifactDigest("sha256", digest[:]), verify.WithKey()))
	require.NoError(t, err)
	require.Equal(t, trust.PredicateSign, result.Statement.PredicateType)
}

// What the script cmd/husk/testdata/script/identities.txtar has of a made-up service: a trusted root, and signatures of a file
// by a workflow, by one whose certificate had expired, and by another service.
func TestFixtures(t *testing.T) {
	if *fixtures == "" {
		t.Skip("writes files with -fixtures")
	}
	const identity, issuer = "https://github.com/acme/lab/.github/workflows/release.yml@refs/tags/v1.2.3", "https://token.actions.githubusercontent.com"
	module := sha256.Sum256([]byte("a module\n"))
	statement, err := trust.NewStatement(trust.PredicateSign, struct{}{}, map[string]string{"lab": "sha256:" + hex.EncodeToString(module[:])})
	require.NoError(t, err)
	payload, err := json.Marshal(statement)
	require.NoError(t, err)
	write := func(name string, raw []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(*fixtures, name), append(raw, '\n'), 0o644))
	}
	s, err := ca.NewVirtualSigstore()
	require.NoError(t, err)
	write("root.json", rawRoot(t, s))
	signed, err := s.Attest(identity, issuer, payload)
	require.NoError(t, err)
	write("signed.json", entityBundle(t, s, signed, true, true))
	late, err := s.AttestAtTime(identity, issuer, payload, time.Now().Add(30*time.Minute), false)
	require.NoError(t, err)
	write("late.json", entityBundle(t, s, late, false, true))
	other, err := ca.NewVirtualSigstore()
	require.NoError(t, err)
	elsewhere, err := other.Attest(identity, issuer, payload)
	require.NoError(t, err)
	write("elsewhere.json", entityBundle(t, other, elsewhere, true, true))
}
