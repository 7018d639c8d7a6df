package provider

import (
	"context"
	"crypto/rand"
	"crypto/x509"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// CertRequestInputs are the inputs of tls:CertRequest.
type CertRequestInputs struct {
	PrivateKeyPem string              `husk:"privateKeyPem,secret,replace" doc:"The private key, in PEM form, that the certificate will belong to."`
	Subject       *CertRequestSubject `husk:"subject,replace" doc:"Who wants the certificate."`
	alternativeNames
}

// CertRequestState is the state of tls:CertRequest.
type CertRequestState struct {
	CertRequestInputs
	KeyAlgorithm   string `husk:"keyAlgorithm" doc:"The algorithm of the key: RSA, ECDSA, or ED25519."`
	CertRequestPem string `husk:"certRequestPem" doc:"The request, in PEM form."`
}

// CertRequest implements tls:CertRequest.
type CertRequest struct{}

// Check looks at the key and at the names.
func (CertRequest) Check(_ context.Context, r guest.CheckRequest[CertRequestInputs]) ([]guest.CheckFailure, error) {
	var f failures
	text(&f, "privateKeyPem", r.Inputs.PrivateKeyPem, r.Known("privateKeyPem"), parsePrivateKey)
	r.Inputs.Subject.check(&f)
	r.Inputs.alternativeNames.check(&f, r.Known)
	return f, nil
}

// Create makes the request and signs it with its key. Its ID is its SHA-1.
func (CertRequest) Create(_ context.Context, r guest.CreateRequest[CertRequestInputs]) (guest.CreateResponse[CertRequestState], error) {
	var response guest.CreateResponse[CertRequestState]
	key, err := parsePrivateKey(r.Inputs.PrivateKeyPem)
	if err != nil {
		return response, guest.InvalidArgument("privateKeyPem", err.Error())
	}
	algorithm, err := algorithmOf(key.Public())
	if err != nil {
		return response, err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject:     r.Inputs.Subject.name(),
		DNSNames:    r.Inputs.DNSNames,
		IPAddresses: r.Inputs.ips(),
		URIs:        r.Inputs.urls(),
	}, key)
	if err != nil {
		return response, err
	}
	response.ID = identify(der)
	response.State = CertRequestState{
		CertRequestInputs: r.Inputs, KeyAlgorithm: algorithm, CertRequestPem: encodePEM(blockRequest, der),
	}
	return response, nil
}
