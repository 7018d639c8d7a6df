package trust

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
)

// logEntry is an entry of a transparency log, as a bundle has it.
type logEntry struct {
	Index number `json:"logIndex"`
	LogID struct {
		KeyID []byte `json:"keyId"`
	} `json:"logId"`
	KindVersion struct {
		Kind    string `json:"kind"`
		Version string `json:"version"`
	} `json:"kindVersion"`
	IntegratedTime number `json:"integratedTime"`
	Promise        *struct {
		Signed []byte `json:"signedEntryTimestamp"`
	} `json:"inclusionPromise,omitempty"`
	Proof *struct {
		Index      number   `json:"logIndex"`
		RootHash   []byte   `json:"rootHash"`
		TreeSize   number   `json:"treeSize"`
		Hashes     [][]byte `json:"hashes"`
		Checkpoint struct {
			Envelope string `json:"envelope"`
		} `json:"checkpoint"`
	} `json:"inclusionProof,omitempty"`
	Body []byte `json:"canonicalizedBody"`
}

// verify verifies that a log has the entry, and that the entry is about a bundle. It returns when the log took it, the
// zero time if the log has not signed that.
func (e *logEntry) verify(b *Bundle, signer PublicKey, log *transparencyLog) (at time.Time, err error) {
	if e.Promise == nil && e.Proof == nil {
		return at, fmt.Errorf("%w: the entry of the log has neither a promise nor a proof", ErrSignature)
	}
	if e.Promise != nil {
		if at, err = e.promised(log); err != nil {
			return at, err
		}
	}
	if e.Proof != nil {
		if err := e.proved(log); err != nil {
			return at, err
		}
	}
	if err := e.about(b, signer); err != nil {
		return at, fmt.Errorf("%w: the entry of the log %v", ErrSignature, err)
	}
	return at, nil
}

// promised verifies that the log promised to have the entry, and returns when.
func (e *logEntry) promised(log *transparencyLog) (time.Time, error) {
	at := time.Unix(int64(e.IntegratedTime), 0)
	if !log.valid.contains(at) {
		return at, fmt.Errorf("%w: the key of the log was not valid at %s", ErrSignature, at.UTC().Format(time.RFC3339))
	}
	// The fields are in the order of canonical JSON, and have no characters that it would escape.
	text, err := json.Marshal(struct {
		Body           []byte `json:"body"`
		IntegratedTime int64  `json:"integratedTime"`
		LogID          string `json:"logID"`
		LogIndex       int64  `json:"logIndex"`
	}{e.Body, int64(e.IntegratedTime), hex.EncodeToString(e.LogID.KeyID), int64(e.Index)})
	if err != nil {
		return at, err
	}
	if !log.key.verify(text, e.Promise.Signed) {
		return at, fmt.Errorf("%w: the log has not signed its promise", ErrSignature)
	}
	return at, nil
}

// proved verifies the proof that the log has the entry.
func (e *logEntry) proved(log *transparencyLog) error {
	p := e.Proof
	root, size, err := checkpoint(p.Checkpoint.Envelope, log)
	if err != nil {
		return fmt.Errorf("%w: the log's checkpoint %v", ErrSignature, err)
	}
	if !bytes.Equal(root, p.RootHash) || size != uint64(p.TreeSize) || p.TreeSize < 0 || p.Index < 0 {
		return fmt.Errorf("%w: the log's checkpoint is not the proof's", ErrSignature)
	}
	leaf := rfc6962.DefaultHasher.HashLeaf(e.Body)
	if err := proof.VerifyInclusion(rfc6962.DefaultHasher, uint64(p.Index), size, leaf, p.Hashes, root); err != nil {
		return fmt.Errorf("%w: the log does not have the entry: %v", ErrSignature, err)
	}
	return nil
}

// checkpoint returns the hash and the size of the tree of a log that it has signed: a note as
// https://github.com/C2SP/C2SP/blob/main/tlog-checkpoint.md describes it.
func checkpoint(text string, log *transparencyLog) (root []byte, size uint64, err error) {
	body, signatures, ok := strings.Cut(text, "\n\n")
	if !ok {
		return nil, 0, errors.New("has no signatures")
	}
	body += "\n"
	lines := strings.Split(body, "\n")
	if len(lines) < 4 {
		return nil, 0, errors.New("is too short")
	}
	// The older logs add the number of a tree to their name, and have several.
	if name, _, old := strings.Cut(lines[0], " - "); log.origin != "" && name != log.origin && !old {
		return nil, 0, fmt.Errorf("is of %q, not of %q", lines[0], log.origin)
	}
	if size, err = strconv.ParseUint(lines[1], 10, 63); err != nil {
		return nil, 0, fmt.Errorf("has the size %q", lines[1])
	}
	if root, err = base64.StdEncoding.DecodeString(lines[2]); err != nil || len(root) != sha256.Size {
		return nil, 0, fmt.Errorf("has the hash %q", lines[2])
	}
	for line := range strings.SplitSeq(signatures, "\n") {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[0] != "—" {
			continue
		}
		const hintSize = 4 // the key is known, so its hint is not needed
		if signature, err := base64.StdEncoding.DecodeString(fields[2]); err == nil && len(signature) > hintSize && log.key.verify([]byte(body), signature[hintSize:]) {
			return root, size, nil
		}
	}
	return nil, 0, errors.New("is not signed by the log")
}

// entryBody is the content of an entry, of the kinds that are known.
type entryBody struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		// hashedrekord 0.0.1
		Data struct {
			Hash bodyHash `json:"hash"`
		} `json:"data"`
		Signature struct {
			Content   []byte `json:"content"`
			PublicKey struct {
				Content []byte `json:"content"`
			} `json:"publicKey"`
		} `json:"signature"`
		// dsse 0.0.1
		PayloadHash bodyHash `json:"payloadHash"`
		Signatures  []struct {
			Signature []byte `json:"signature"`
			Verifier  []byte `json:"verifier"`
		} `json:"signatures"`
		// intoto 0.0.2
		Content struct {
			PayloadHash bodyHash `json:"payloadHash"`
			Envelope    struct {
				Signatures []struct {
					Sig       []byte `json:"sig"` // base64 of base64
					PublicKey []byte `json:"publicKey"`
				} `json:"signatures"`
			} `json:"envelope"`
		} `json:"content"`
		// hashedrekord 0.0.2
		V2 *struct {
			Data struct {
				Algorithm string `json:"algorithm"`
				Digest    []byte `json:"digest"`
			} `json:"data"`
			Signature struct {
				Content  []byte `json:"content"`
				Verifier struct {
					Certificate *rawBytes `json:"x509Certificate"`
					PublicKey   *rawBytes `json:"publicKey"`
				} `json:"verifier"`
			} `json:"signature"`
		} `json:"hashedRekordV002"`
	} `json:"spec"`
}

type bodyHash struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"value"`
}

// is reports whether content has the hash.
func (h bodyHash) is(content []byte) bool {
	sum := sha256.Sum256(content)
	return h.Algorithm == "sha256" && h.Value == hex.EncodeToString(sum[:])
}

// about returns an error unless the entry has the signature of a bundle, its signer, and the signed content.
func (e *logEntry) about(b *Bundle, signer PublicKey) error {
	var body entryBody
	if err := unmarshal(e.Body, &body); err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	if body.Kind != e.KindVersion.Kind || body.APIVersion != e.KindVersion.Version {
		return fmt.Errorf("is %s %s, and the bundle says %s %s", body.Kind, body.APIVersion, e.KindVersion.Kind, e.KindVersion.Version)
	}
	var signature, by []byte
	hashed := false
	spec := &body.Spec
	switch kind := body.Kind + " " + body.APIVersion; {
	case kind == "hashedrekord 0.0.1" && b.doc.Message != nil:
		signature, by = spec.Signature.Content, fromPEM(spec.Signature.PublicKey.Content)
		hashed = spec.Data.Hash.Algorithm == "sha256" && spec.Data.Hash.Value == hex.EncodeToString(b.doc.Message.Digest.Digest)
	case kind == "dsse 0.0.1" && b.doc.Envelope != nil && len(spec.Signatures) == 1:
		signature, by = spec.Signatures[0].Signature, fromPEM(spec.Signatures[0].Verifier)
		hashed = spec.PayloadHash.is(b.doc.Envelope.Payload)
	case kind == "intoto 0.0.2" && b.doc.Envelope != nil && len(spec.Content.Envelope.Signatures) == 1:
		one := spec.Content.Envelope.Signatures[0]
		decoded, err := base64.StdEncoding.DecodeString(string(one.Sig))
		if err != nil {
			return errors.New("has a signature that cannot be read")
		}
		signature, by = decoded, fromPEM(one.PublicKey)
		hashed = spec.Content.PayloadHash.is(b.doc.Envelope.Payload)
	case kind == "hashedrekord 0.0.2" && spec.V2 != nil:
		v := spec.V2
		signature = v.Signature.Content
		switch {
		case v.Signature.Verifier.Certificate != nil:
			by = v.Signature.Verifier.Certificate.Raw
		case v.Signature.Verifier.PublicKey != nil:
			by = v.Signature.Verifier.PublicKey.Raw
		}
		if b.doc.Message != nil {
			hashed = v.Data.Algorithm == "SHA2_256" && bytes.Equal(v.Data.Digest, b.doc.Message.Digest.Digest)
		} else {
			hashed = signsDigest(preAuthentication(b.doc.Envelope.PayloadType, b.doc.Envelope.Payload), v.Data.Algorithm, v.Data.Digest)
		}
	default:
		return fmt.Errorf("is of the kind %s, which is not about such a signature", kind)
	}
	switch {
	case !hashed:
		return errors.New("is about something else")
	case !bytes.Equal(signature, b.signature()):
		return errors.New("has another signature")
	case b.leaf != nil && !bytes.Equal(by, b.leaf.Raw), b.leaf == nil && !signer.equal(by):
		return errors.New("has another signer")
	}
	return nil
}

// fromPEM returns the contents of a PEM block, nil for none.
func fromPEM(text []byte) []byte {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil
	}
	if block.Type == "CERTIFICATE" {
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return nil
		}
	}
	return block.Bytes
}
