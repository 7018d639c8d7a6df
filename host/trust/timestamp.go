package trust

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/digitorus/pkcs7"
	"github.com/digitorus/timestamp"
)

var usageExtension = asn1.ObjectIdentifier{2, 5, 29, 37}

// stamped returns when an authority of the root signed that a signature was there (RFC 3161).
func (r *Root) stamped(stamp, signature []byte) (time.Time, error) {
	failed := errors.New("the trusted root has no timestamp authority")
	for i := range r.stampers {
		t, err := r.stampers[i].stamped(stamp, signature)
		if err == nil {
			return t, nil
		}
		failed = err
	}
	return time.Time{}, fmt.Errorf("%w: its timestamp is not one of the trusted root's: %v", ErrSignature, failed)
}

// stamped returns the time of a timestamp if it is the authority's, and about a signature.
func (a *authority) stamped(stamp, signature []byte) (time.Time, error) {
	t, err := timestamp.ParseResponse(stamp)
	if err != nil {
		return time.Time{}, err
	}
	if !slices.Contains([]crypto.Hash{crypto.SHA256, crypto.SHA384, crypto.SHA512}, t.HashAlgorithm) || !bytes.Equal(t.HashedMessage, sum(t.HashAlgorithm, signature)) {
		return time.Time{}, errors.New("it is about something else")
	}
	if !a.valid.contains(t.Time) {
		return time.Time{}, fmt.Errorf("the authority %s was not valid then", a.uri)
	}
	token, err := pkcs7.Parse(t.RawToken)
	if err != nil {
		return time.Time{}, err
	}
	options := x509.VerifyOptions{
		Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: t.Time, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageTimeStamping},
	}
	options.Roots.AddCert(a.root)
	for _, c := range a.others {
		if c.IsCA {
			options.Intermediates.AddCert(c)
		} else if len(token.Certificates) == 0 {
			token.Certificates = []*x509.Certificate{c} // the answer may leave it out
		}
	}
	if err := token.Verify(); err != nil {
		return time.Time{}, err
	}
	signer := token.GetOnlySigner()
	if signer == nil {
		return time.Time{}, errors.New("it has not one signer")
	}
	named := slices.IndexFunc(a.others, func(c *x509.Certificate) bool { return !c.IsCA })
	if named >= 0 && !a.others[named].Equal(signer) {
		return time.Time{}, errors.New("it is signed with another certificate")
	}
	if err := isStamper(signer); err != nil {
		return time.Time{}, err
	}
	_, err = signer.Verify(options)
	return t.Time, err
}

// isStamper returns an error unless a certificate is for timestamps, and for nothing else.
func isStamper(c *x509.Certificate) error {
	critical := slices.ContainsFunc(c.Extensions, func(e pkix.Extension) bool { return e.Id.Equal(usageExtension) && e.Critical })
	if c.IsCA || !critical || len(c.UnknownExtKeyUsage) > 0 || !slices.Equal(c.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageTimeStamping}) {
		return errors.New("its signer's certificate is not one for timestamps")
	}
	return nil
}
