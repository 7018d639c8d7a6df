package provider

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"math/big"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// serialSize is the size of a serial number in bytes: RFC 5280, section 4.1.2.2, allows 20.
const serialSize = 16

// terms are inputs of both kinds of certificates. The longest validity fits into a time.Duration, 292
// years.
type terms struct {
	AllowedUses         []string `husk:"allowedUses,replace" doc:"What the key may be used for, such as digital_signature, key_encipherment, server_auth, client_auth, cert_signing, crl_signing."`
	ValidityPeriodHours int      `husk:"validityPeriodHours,min=0,max=2562047,replace" doc:"For how many hours the certificate is valid. With 0 it has expired when it is made, and each update makes another."`
	EarlyRenewalHours   int      `husk:"earlyRenewalHours,default=0,min=0,max=2562047" doc:"How many hours before its end the certificate is replaced by a new one, should an update run then."`
	IsCaCertificate     bool     `husk:"isCaCertificate,default=false,replace" doc:"Whether the certificate is that of a certificate authority."`
	MaxPathLength       *int     `husk:"maxPathLength,min=0,replace" doc:"How many authorities may stand between this one and a certificate. Ignored where isCaCertificate is false."`
	SetSubjectKeyID     bool     `husk:"setSubjectKeyId,default=false,replace" doc:"Whether the certificate says the hash of its key. Those of authorities always do."`
}

type issued struct {
	CertPem           string `husk:"certPem,stable" doc:"The certificate, in PEM form."`
	ValidityStartTime string `husk:"validityStartTime,stable" doc:"From when it is valid, in RFC 3339."`
	ValidityEndTime   string `husk:"validityEndTime,stable" doc:"Until when it is valid, in RFC 3339."`
	ReadyForRenewal   bool   `husk:"readyForRenewal" doc:"Whether the time has come to replace it, at the time it was made or refreshed."`
}

// issue completes the template and signs it. A nil parent stands for a self-signed certificate. The ID
// is the serial number.
func issue(ctx context.Context, t *terms, template, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer) (id string, result issued, err error) {
	if template.SerialNumber, err = newSerial(); err != nil {
		return "", issued{}, err
	}
	template.NotBefore = guest.Now(ctx).UTC().Truncate(time.Second)
	template.NotAfter = template.NotBefore.Add(hours(t.ValidityPeriodHours))
	template.BasicConstraintsValid = true
	template.IsCA = t.IsCaCertificate
	if t.IsCaCertificate && t.MaxPathLength != nil {
		template.MaxPathLen = *t.MaxPathLength
		template.MaxPathLenZero = *t.MaxPathLength == 0
	}
	if t.IsCaCertificate || t.SetSubjectKeyID {
		if template.SubjectKeyId, err = subjectKeyID(public); err != nil {
			return "", issued{}, err
		}
	}
	setUses(template, t.AllowedUses)
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		return "", issued{}, err
	}
	result = issued{
		CertPem:           encodePEM(blockCertificate, der),
		ValidityStartTime: template.NotBefore.Format(time.RFC3339),
		ValidityEndTime:   template.NotAfter.Format(time.RFC3339),
	}
	return template.SerialNumber.String(), result, result.update(ctx, t)
}

func newSerial() (*big.Int, error) {
	bytes := make([]byte, serialSize)
	for {
		if _, err := rand.Read(bytes); err != nil {
			return nil, err
		}
		if serial := new(big.Int).SetBytes(bytes); serial.Sign() > 0 {
			return serial, nil
		}
	}
}

// subjectKeyID returns the SHA-1 of the key's bits: RFC 5280, section 4.2.1.2, method 1.
func subjectKeyID(key crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, err
	}
	var info struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}
	if _, err := asn1.Unmarshal(der, &info); err != nil {
		return nil, err
	}
	sum := sha1.Sum(info.Key.Bytes)
	return sum[:], nil
}

func hours(n int) time.Duration { return time.Duration(n) * time.Hour }

// update computes whether the certificate should be replaced.
func (i *issued) update(ctx context.Context, t *terms) error {
	end, err := time.Parse(time.RFC3339, i.ValidityEndTime)
	if err != nil {
		return errors.New("the recorded validityEndTime is not a time: " + err.Error())
	}
	i.ReadyForRenewal = !guest.Now(ctx).Before(end.Add(-hours(t.EarlyRenewalHours)))
	return nil
}

// renew adds to a diff the replacement of a certificate whose time has come by the new terms.
func renew(ctx context.Context, diff guest.DiffResponse, t *terms, i issued) (guest.DiffResponse, error) {
	if err := i.update(ctx, t); err != nil {
		return diff, err
	}
	if i.ReadyForRenewal {
		diff.DetailedDiff = append(diff.DetailedDiff, abi.PropertyDiff{Path: "readyForRenewal", Kind: abi.DiffKindUpdateReplace})
	}
	return diff, nil
}

func notImportable() error {
	return errors.New("a certificate cannot be imported, since its private key is not known; make a new one")
}
