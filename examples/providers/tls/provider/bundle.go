package provider

import (
	"context"
	"crypto/sha1"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"time"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

type getCertificateArgs struct {
	Content string `husk:"content" doc:"One or more certificates in PEM form, in any order. Blocks of other types are passed over."`
}

type getCertificateResult struct {
	getCertificateArgs
	ID           string                      `husk:"id" doc:"The SHA-1 of the certificates."`
	Certificates []getCertificateCertificate `husk:"certificates" doc:"The certificates, in the order of the content."`
}

type getCertificateCertificate struct {
	CertPem            string `husk:"certPem" doc:"The certificate, in PEM form."`
	IsCa               bool   `husk:"isCa" doc:"Whether it is that of a certificate authority."`
	Issuer             string `husk:"issuer" doc:"Who signed it, in the form of RFC 2253."`
	MaxPathLength      int    `husk:"maxPathLength" doc:"How many authorities may stand between this one and a certificate; -1 where it does not say, or is not that of an authority."`
	NotAfter           string `husk:"notAfter" doc:"Until when it is valid, in RFC 3339."`
	NotBefore          string `husk:"notBefore" doc:"From when it is valid, in RFC 3339."`
	PublicKeyAlgorithm string `husk:"publicKeyAlgorithm" doc:"The algorithm of its key."`
	SerialNumber       string `husk:"serialNumber" doc:"Its serial number, as a decimal number."`
	Sha1Fingerprint    string `husk:"sha1Fingerprint" doc:"The SHA-1 of the certificate, in hexadecimal."`
	SignatureAlgorithm string `husk:"signatureAlgorithm" doc:"The algorithm of its signature."`
	Subject            string `husk:"subject" doc:"Who it is of, in the form of RFC 2253."`
	Version            int    `husk:"version" doc:"The version of X.509: 3, rarely 1."`
}

func getCertificate(_ context.Context, args getCertificateArgs) (getCertificateResult, error) {
	result := getCertificateResult{getCertificateArgs: args}
	if _, err := findBlock(args.Content, "expected certificates in PEM form", blockCertificate); err != nil {
		return result, guest.InvalidArgument("content", err.Error())
	}
	hash := sha1.New()
	for block, rest := pem.Decode([]byte(args.Content)); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != blockCertificate {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return result, guest.InvalidArgument("content", fmt.Sprintf("certificate %d is damaged: %v", len(result.Certificates)+1, err))
		}
		hash.Write(certificate.Raw)
		result.Certificates = append(result.Certificates, describeCertificate(certificate))
	}
	result.ID = hex.EncodeToString(hash.Sum(nil))
	return result, nil
}

func describeCertificate(c *x509.Certificate) getCertificateCertificate {
	described := getCertificateCertificate{
		CertPem:            encodePEM(blockCertificate, c.Raw),
		IsCa:               c.IsCA,
		Issuer:             c.Issuer.String(),
		MaxPathLength:      -1,
		NotAfter:           c.NotAfter.UTC().Format(time.RFC3339),
		NotBefore:          c.NotBefore.UTC().Format(time.RFC3339),
		PublicKeyAlgorithm: c.PublicKeyAlgorithm.String(),
		SerialNumber:       c.SerialNumber.String(),
		Sha1Fingerprint:    identify(c.Raw),
		SignatureAlgorithm: c.SignatureAlgorithm.String(),
		Subject:            c.Subject.String(),
		Version:            c.Version,
	}
	if c.IsCA {
		described.MaxPathLength = c.MaxPathLen
	}
	return described
}
