package trust

import (
	"encoding/json"
	"fmt"
)

// The predicates of statements that this package makes.
const (
	// PredicateSign says no more than that the signer stands for the artifact. It is cosign's predicate.
	PredicateSign = "https://sigstore.dev/cosign/sign/v1"
	// PredicateProvenance says how the artifact was built (https://slsa.dev/spec/v1.0/provenance).
	PredicateProvenance = "https://slsa.dev/provenance/v1"
)

// NewStatement returns a statement about artifacts by name, with their digests, such as sha256:….
func NewStatement(predicateType string, predicate any, artifacts map[string]string) (*Statement, error) {
	s := &Statement{Type: statementType, PredicateType: predicateType}
	for _, name := range sortedKeys(artifacts) {
		digest, ok := cutDigest(artifacts[name])
		if !ok {
			return nil, fmt.Errorf("%q is not a digest", artifacts[name])
		}
		s.Subject = append(s.Subject, Subject{Name: name, Digest: map[string]string{"sha256": digest}})
	}
	var err error
	s.Predicate, err = json.Marshal(predicate)
	return s, err
}

// Sign returns a bundle in which a key signs a statement.
func Sign(key PrivateKey, s *Statement) ([]byte, error) {
	payload, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	signature, err := key.sign(preAuthentication(payloadType, payload))
	if err != nil {
		return nil, err
	}
	doc := bundleDoc{MediaType: BundleType, Envelope: &envelope{
		Payload: payload, PayloadType: payloadType, Signatures: []envelopeSignature{{Sig: signature}},
	}}
	doc.Material.PublicKey = &struct {
		Hint string `json:"hint"`
	}{key.public.hint()}
	return json.Marshal(doc)
}
