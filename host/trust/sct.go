package trust

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/crypto/cryptobyte"
	cryptobyteasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// A certificate has timestamps of logs of certificates (RFC 6962): who can make an authority issue one cannot hide it.

var timestampsExtension = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}

// checkLogged returns an error unless a log of the root has signed that it saw a certificate.
func (r *Root) checkLogged(leaf, issuer *x509.Certificate) error {
	if len(r.certificateLogs) == 0 {
		return nil
	}
	var list []byte
	for _, e := range leaf.Extensions {
		if e.Id.Equal(timestampsExtension) {
			if rest, err := asn1.Unmarshal(e.Value, &list); err != nil || len(rest) > 0 {
				return fmt.Errorf("%w: the certificate's timestamps cannot be read", ErrSignature)
			}
		}
	}
	unsigned, err := withoutTimestamps(leaf)
	if err != nil {
		return fmt.Errorf("%w: %v", ErrSignature, err)
	}
	in := cryptobyte.String(list)
	var stamps cryptobyte.String
	if list != nil && (!in.ReadUint16LengthPrefixed(&stamps) || !in.Empty()) {
		return fmt.Errorf("%w: the certificate's timestamps cannot be read", ErrSignature)
	}
	for !stamps.Empty() {
		var stamp cryptobyte.String
		if !stamps.ReadUint16LengthPrefixed(&stamp) {
			return fmt.Errorf("%w: the certificate's timestamps cannot be read", ErrSignature)
		}
		if r.isStamp(stamp, unsigned, issuer) {
			return nil
		}
	}
	return fmt.Errorf("%w: no log of certificates that the trusted root names has the signer's certificate", ErrSignature)
}

// isStamp reports whether a timestamp is a log's, of a certificate.
func (r *Root) isStamp(stamp cryptobyte.String, unsigned []byte, issuer *x509.Certificate) bool {
	const v1, sha256WithECDSA, sha256WithRSA, ed25519Intrinsic = 0, 0x0403, 0x0401, 0x0807
	var version uint8
	var id []byte
	var at uint64
	var extensions, signature cryptobyte.String
	var algorithm uint16
	if !stamp.ReadUint8(&version) || version != v1 || !stamp.ReadBytes(&id, sha256.Size) || !stamp.ReadUint64(&at) ||
		!stamp.ReadUint16LengthPrefixed(&extensions) || !stamp.ReadUint16(&algorithm) || !stamp.ReadUint16LengthPrefixed(&signature) || !stamp.Empty() {
		return false
	}
	log := logOf(r.certificateLogs, id)
	if log == nil || !log.valid.contains(time.UnixMilli(int64(at))) ||
		algorithm != sha256WithECDSA && algorithm != sha256WithRSA && algorithm != ed25519Intrinsic {
		return false
	}
	const certificateTimestamp, precertificate = 0, 1
	key := sha256.Sum256(issuer.RawSubjectPublicKeyInfo)
	var b []byte
	b = append(b, v1, certificateTimestamp)
	b = binary.BigEndian.AppendUint64(b, at)
	b = binary.BigEndian.AppendUint16(b, precertificate)
	b = append(b, key[:]...)
	b = append(b, byte(len(unsigned)>>16), byte(len(unsigned)>>8), byte(len(unsigned)))
	b = append(b, unsigned...)
	b = binary.BigEndian.AppendUint16(b, uint16(len(extensions)))
	b = append(b, extensions...)
	return log.key.verify(b, signature)
}

// withoutTimestamps returns the part of a certificate that its issuer signs, without the timestamps of logs: what the logs
// saw, before there were any.
func withoutTimestamps(cert *x509.Certificate) ([]byte, error) {
	malformed := errors.New("the certificate has an unexpected form")
	in := cryptobyte.String(cert.RawTBSCertificate)
	var fields cryptobyte.String
	if !in.ReadASN1(&fields, cryptobyteasn1.SEQUENCE) || !in.Empty() {
		return nil, malformed
	}
	var b cryptobyte.Builder
	failed := false
	b.AddASN1(cryptobyteasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		extensionsTag := cryptobyteasn1.Tag(3).ContextSpecific().Constructed()
		for !fields.Empty() && !failed {
			var field cryptobyte.String
			var tag cryptobyteasn1.Tag
			if !fields.ReadAnyASN1Element(&field, &tag) {
				failed = true
				return
			}
			if tag != extensionsTag {
				b.AddBytes(field)
				continue
			}
			var explicit, extensions cryptobyte.String
			if !field.ReadASN1(&explicit, extensionsTag) || !explicit.ReadASN1(&extensions, cryptobyteasn1.SEQUENCE) {
				failed = true
				return
			}
			b.AddASN1(extensionsTag, func(b *cryptobyte.Builder) {
				b.AddASN1(cryptobyteasn1.SEQUENCE, func(b *cryptobyte.Builder) {
					for !extensions.Empty() {
						var extension, content cryptobyte.String
						var id asn1.ObjectIdentifier
						if !extensions.ReadASN1Element(&extension, cryptobyteasn1.SEQUENCE) {
							failed = true
							return
						}
						whole := extension
						if !extension.ReadASN1(&content, cryptobyteasn1.SEQUENCE) || !content.ReadASN1ObjectIdentifier(&id) {
							failed = true
							return
						}
						if !id.Equal(timestampsExtension) {
							b.AddBytes(whole)
						}
					}
				})
			})
		}
	})
	out, err := b.Bytes()
	if failed || err != nil {
		return nil, malformed
	}
	return out, nil
}
