package trust

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/husk-dev/husk/internal/base/intake"
	"github.com/husk-dev/husk/internal/base/lazyregexp"
)

// BundleType is the media type of bundles that this package writes.
const BundleType = "application/vnd.dev.sigstore.bundle.v0.3+json"

// bundleTypes are the media types of bundles. The versions differ in their required parts, which are verified anyway.
var bundleTypes = lazyregexp.Regexp{Syntax: `^application/vnd\.dev\.sigstore\.bundle(\+json;version=0\.[123]|\.v0\.[34]\+json)$`}

// IsBundleType reports whether a media type is the type of bundles, in a version that [ParseBundle] reads.
func IsBundleType(mediaType string) bool { return bundleTypes.Get().MatchString(mediaType) }

// The media types of statements.
const (
	statementType   = "https://in-toto.io/Statement/v1"
	statementTypeV0 = "https://in-toto.io/Statement/v0.1"
	payloadType     = "application/vnd.in-toto+json"
)

// Bundle is a signature with the data to verify it. It signs a statement about artifacts, or one artifact itself.
type Bundle struct {
	raw []byte
	doc bundleDoc
	// leaf is the certificate of the signer, nil for a key.
	leaf *x509.Certificate
	// statement is the contents of a DSSE envelope, nil for a signature of the artifact itself.
	statement *Statement
}

// Statement is a bundle's claim about artifacts, an attestation of in-toto.
type Statement struct {
	Type          string          `json:"_type"`
	Subject       []Subject       `json:"subject"`
	PredicateType string          `json:"predicateType"`
	Predicate     json.RawMessage `json:"predicate,omitempty"`
}

// Subject is an artifact of a statement.
type Subject struct {
	Name string `json:"name,omitempty"`
	// Digest has hexadecimal digests by their algorithm, such as sha256.
	Digest map[string]string `json:"digest"`
}

// number is a 64-bit number of JSON, which protocol buffers write as a text.
type number int64

// UnmarshalJSON implements [json.Unmarshaler].
func (n *number) UnmarshalJSON(raw []byte) error {
	text, err := strconv.ParseInt(string(bytes.Trim(raw, `"`)), 10, 64)
	if err != nil {
		return fmt.Errorf("%s is not a number", raw)
	}
	*n = number(text)
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (n number) MarshalJSON() ([]byte, error) {
	return strconv.AppendQuote(nil, strconv.FormatInt(int64(n), 10)), nil
}

type rawBytes struct {
	Raw []byte `json:"rawBytes"`
}

type bundleDoc struct {
	MediaType string `json:"mediaType"`
	Material  struct {
		Certificate *rawBytes `json:"certificate,omitempty"`
		Chain       *struct {
			Certificates []rawBytes `json:"certificates"`
		} `json:"x509CertificateChain,omitempty"`
		PublicKey *struct {
			Hint string `json:"hint"`
		} `json:"publicKey,omitempty"`
		Entries    []logEntry `json:"tlogEntries,omitempty"`
		Timestamps *struct {
			RFC3161 []struct {
				Signed []byte `json:"signedTimestamp"`
			} `json:"rfc3161Timestamps,omitempty"`
		} `json:"timestampVerificationData,omitempty"`
	} `json:"verificationMaterial"`
	Message *struct {
		Digest struct {
			Algorithm string `json:"algorithm"`
			Digest    []byte `json:"digest"`
		} `json:"messageDigest"`
		Signature []byte `json:"signature"`
	} `json:"messageSignature,omitempty"`
	Envelope *envelope `json:"dsseEnvelope,omitempty"`
}

type envelope struct {
	Payload     []byte              `json:"payload"`
	PayloadType string              `json:"payloadType"`
	Signatures  []envelopeSignature `json:"signatures"`
}

type envelopeSignature struct {
	Sig   []byte `json:"sig"`
	KeyID string `json:"keyid,omitempty"`
}

// ParseBundle reads a bundle. It does not verify it.
func ParseBundle(raw []byte) (*Bundle, error) {
	if len(raw) > BundleLimit {
		return nil, fmt.Errorf("the bundle has %d bytes, and the limit is %d", len(raw), BundleLimit)
	}
	b := &Bundle{raw: raw}
	if err := unmarshal(raw, &b.doc); err != nil {
		return nil, fmt.Errorf("the bundle cannot be read: %w", err)
	}
	if !IsBundleType(b.doc.MediaType) {
		return nil, fmt.Errorf("the bundle has the type %q, which is not a sigstore bundle of a version that is known", b.doc.MediaType)
	}
	m := b.doc.Material
	certificate, signers := m.Certificate, 0
	if m.Chain != nil {
		if len(m.Chain.Certificates) == 0 {
			return nil, errors.New("the bundle's list of certificates is empty")
		}
		certificate = &m.Chain.Certificates[0] // the authority's certificates are the user's
		signers++
	}
	if m.Certificate != nil {
		signers++
	}
	if certificate != nil {
		var err error
		if b.leaf, err = x509.ParseCertificate(certificate.Raw); err != nil {
			return nil, fmt.Errorf("the bundle's certificate cannot be read: %w", err)
		}
	}
	if m.PublicKey != nil {
		signers++
	}
	switch {
	case signers != 1:
		return nil, errors.New("the bundle must have a certificate or the hint of a public key, and one of them only")
	case len(m.Entries) > listLimit || m.Timestamps != nil && len(m.Timestamps.RFC3161) > listLimit:
		return nil, fmt.Errorf("the bundle has more than %d entries of logs, or timestamps", listLimit)
	case (b.doc.Message == nil) == (b.doc.Envelope == nil):
		return nil, errors.New("the bundle must have a signature of a message or an envelope, and one of them only")
	}
	if b.doc.Envelope == nil {
		return b, nil
	}
	e := b.doc.Envelope
	if len(e.Signatures) != 1 {
		return nil, fmt.Errorf("the bundle's envelope has %d signatures, not one", len(e.Signatures))
	}
	if e.PayloadType != payloadType {
		return nil, fmt.Errorf("the bundle signs %q, not a statement about artifacts (%s)", e.PayloadType, payloadType)
	}
	b.statement = &Statement{}
	if err := unmarshal(e.Payload, b.statement); err != nil {
		return nil, fmt.Errorf("the bundle's statement cannot be read: %w", err)
	}
	if b.statement.Type != statementType && b.statement.Type != statementTypeV0 {
		return nil, fmt.Errorf("the bundle's statement has the type %q, which is not known", b.statement.Type)
	}
	return b, nil
}

// unmarshal reads one JSON value.
func unmarshal(raw []byte, into any) error {
	if err := intake.CheckJSON(raw, into, allowance); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}

// Raw returns the text of the bundle.
func (b *Bundle) Raw() []byte { return b.raw }

// Statement returns the bundle's claim about artifacts, nil if it signs the artifact itself. Without [Verifier.Verify], nobody
// has said it.
func (b *Bundle) Statement() *Statement { return b.statement }

// signature returns the signature.
func (b *Bundle) signature() []byte {
	if b.doc.Message != nil {
		return b.doc.Message.Signature
	}
	return b.doc.Envelope.Signatures[0].Sig
}

// About returns an [*OtherArtifactError] unless the bundle is about one of several artifacts.
func (b *Bundle) About(artifacts ...Artifact) error {
	_, err := b.signed(artifacts)
	return err
}

// signed returns the bytes that are signed, if they are about one of the artifacts.
func (b *Bundle) signed(artifacts []Artifact) ([]byte, error) {
	if m := b.doc.Message; m != nil {
		if m.Digest.Algorithm != "SHA2_256" {
			return nil, fmt.Errorf("%w: it names the artifact by %q, not SHA2_256", ErrSignature, m.Digest.Algorithm)
		}
		for _, a := range artifacts {
			if a.Digest != digestPrefix+hex.EncodeToString(m.Digest.Digest) || a.Content == nil {
				continue
			}
			content, err := a.Content()
			if err != nil {
				return nil, err
			}
			if sum := sha256.Sum256(content); !bytes.Equal(sum[:], m.Digest.Digest) {
				return nil, fmt.Errorf("%w: the artifact is not what its digest %s says", ErrSignature, a.Digest)
			}
			return content, nil
		}
		return nil, &OtherArtifactError{[]string{digestPrefix + hex.EncodeToString(m.Digest.Digest)}}
	}
	var others []string
	for _, s := range b.statement.Subject {
		for _, algorithm := range digestAlgorithms {
			is := algorithm + ":" + s.Digest[algorithm]
			if s.Digest[algorithm] == "" {
				continue
			}
			for _, a := range artifacts {
				if is == a.Digest {
					return preAuthentication(b.doc.Envelope.PayloadType, b.doc.Envelope.Payload), nil
				}
			}
			others = append(others, is)
		}
	}
	return nil, &OtherArtifactError{others}
}

// OtherArtifactError says that a bundle is about other artifacts.
type OtherArtifactError struct {
	// Digests are the digests of the artifacts.
	Digests []string
}

func (e *OtherArtifactError) Error() string {
	const shown = 3
	list := e.Digests
	if len(list) > shown {
		list = list[:shown]
	}
	return "the signature is about another module: " + strings.Join(list, ", ")
}

// preAuthentication returns the bytes that an envelope signs
// (https://github.com/secure-systems-lab/dsse/blob/master/protocol.md).
func preAuthentication(payloadType string, payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload)
}

const digestPrefix = "sha256:"

// digestAlgorithms are those by which a statement may name artifacts.
var digestAlgorithms = []string{"sha256", "sha384", "sha512"}

// Artifact is the subject of a signature.
type Artifact struct {
	// Digest is sha256: and 64 hexadecimal digits. Statements may also name artifacts by sha384: and sha512:.
	Digest string
	// Content returns the bytes, which signatures without a statement need. Nil accepts statements only.
	Content func() ([]byte, error)
}
