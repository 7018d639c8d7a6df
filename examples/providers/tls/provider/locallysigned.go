package provider

import (
	"context"
	"crypto/x509"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// LocallySignedCertInputs are the inputs of tls:LocallySignedCert.
type LocallySignedCertInputs struct {
	CertRequestPem  string `husk:"certRequestPem,replace" doc:"The signing request, in PEM form."`
	CaCertPem       string `husk:"caCertPem,replace" doc:"The authority's certificate, in PEM form."`
	CaPrivateKeyPem string `husk:"caPrivateKeyPem,secret,replace" doc:"The authority's private key, in PEM form."`
	terms
}

// LocallySignedCertState is the state of tls:LocallySignedCert.
type LocallySignedCertState struct {
	LocallySignedCertInputs
	issued
	CaKeyAlgorithm string `husk:"caKeyAlgorithm,stable" doc:"The algorithm of the authority's key: RSA, ECDSA, or ED25519."`
}

// LocallySignedCert implements tls:LocallySignedCert.
type LocallySignedCert struct{}

// Check looks at the request, the authority, and the terms.
func (LocallySignedCert) Check(_ context.Context, r guest.CheckRequest[LocallySignedCertInputs]) ([]guest.CheckFailure, error) {
	var f failures
	in := r.Inputs
	request, hasRequest := text(&f, "certRequestPem", in.CertRequestPem, r.Known("certRequestPem"), parseRequest)
	authority, hasAuthority := text(&f, "caCertPem", in.CaCertPem, r.Known("caCertPem"), parseCertificate)
	key, hasKey := text(&f, "caPrivateKeyPem", in.CaPrivateKeyPem, r.Known("caPrivateKeyPem"), parsePrivateKey)
	if hasKey && hasAuthority && !samePublicKey(key.Public(), authority.PublicKey) {
		f.add("caPrivateKeyPem", notOfAuthority)
	}
	if hasRequest && in.IsCaCertificate && len(request.Subject.ToRDNSequence()) == 0 {
		f.add("certRequestPem", "must have a subject, such as a commonName, since isCaCertificate is true (RFC 5280, section 4.1.2.6)")
	}
	checkUses(&f, in.AllowedUses, r.Known("allowedUses"))
	return f, nil
}

const notOfAuthority = "is not the key of the certificate in caCertPem; clients would not accept what it signs"

// Create makes the certificate. Its ID is its serial number.
func (LocallySignedCert) Create(ctx context.Context, r guest.CreateRequest[LocallySignedCertInputs]) (guest.CreateResponse[LocallySignedCertState], error) {
	var response guest.CreateResponse[LocallySignedCertState]
	request, err := parseRequest(r.Inputs.CertRequestPem)
	if err != nil {
		return response, guest.InvalidArgument("certRequestPem", err.Error())
	}
	authority, err := parseCertificate(r.Inputs.CaCertPem)
	if err != nil {
		return response, guest.InvalidArgument("caCertPem", err.Error())
	}
	key, err := parsePrivateKey(r.Inputs.CaPrivateKeyPem)
	if err != nil {
		return response, guest.InvalidArgument("caPrivateKeyPem", err.Error())
	}
	if !samePublicKey(key.Public(), authority.PublicKey) {
		return response, guest.InvalidArgument("caPrivateKeyPem", notOfAuthority)
	}
	if !authority.IsCA {
		guest.Log(ctx).Warning("the certificate in caCertPem does not belong to an authority (isCaCertificate is false): clients will not accept what it signs")
	}
	state := LocallySignedCertState{LocallySignedCertInputs: r.Inputs}
	if state.CaKeyAlgorithm, err = algorithmOf(key.Public()); err != nil {
		return response, err
	}
	template := &x509.Certificate{
		RawSubject:     request.RawSubject,
		DNSNames:       request.DNSNames,
		EmailAddresses: request.EmailAddresses,
		IPAddresses:    request.IPAddresses,
		URIs:           request.URIs,
	}
	id, result, err := issue(ctx, &state.terms, template, authority, request.PublicKey, key)
	if err != nil {
		return response, err
	}
	state.issued = result
	response.ID, response.State = id, state
	return response, nil
}

// Diff replaces a certificate whose time has come.
func (LocallySignedCert) Diff(ctx context.Context, r guest.DiffRequest[LocallySignedCertInputs, LocallySignedCertState]) (guest.DiffResponse, error) {
	return renew(ctx, r.Default, &r.Inputs.terms, r.State.issued)
}

// Read reports whether the certificate's time has come.
func (LocallySignedCert) Read(ctx context.Context, r guest.ReadRequest[LocallySignedCertInputs, LocallySignedCertState]) (guest.ReadResponse[LocallySignedCertInputs, LocallySignedCertState], error) {
	if r.State == nil || r.Inputs == nil {
		return guest.ReadResponse[LocallySignedCertInputs, LocallySignedCertState]{}, notImportable()
	}
	state := *r.State
	err := state.issued.update(ctx, &state.terms)
	return guest.ReadResponse[LocallySignedCertInputs, LocallySignedCertState]{Inputs: *r.Inputs, State: state}, err
}

// Update records another time of renewal; the certificate stays as it is.
func (LocallySignedCert) Update(ctx context.Context, r guest.UpdateRequest[LocallySignedCertInputs, LocallySignedCertState]) (guest.UpdateResponse[LocallySignedCertState], error) {
	state := r.State
	state.LocallySignedCertInputs = r.Inputs
	err := state.issued.update(ctx, &state.terms)
	return guest.UpdateResponse[LocallySignedCertState]{State: state}, err
}
