package provider

import (
	"context"
	"crypto/x509"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// SelfSignedCertInputs are the inputs of tls:SelfSignedCert.
type SelfSignedCertInputs struct {
	PrivateKeyPem string                 `husk:"privateKeyPem,secret,replace" doc:"The private key, in PEM form, that the certificate belongs to and is signed with."`
	Subject       *SelfSignedCertSubject `husk:"subject,replace" doc:"Who the certificate is of."`
	alternativeNames
	terms
	SetAuthorityKeyID bool `husk:"setAuthorityKeyId,default=false,replace" doc:"Whether the certificate says the hash of its signer's key, which is its own."`
}

// SelfSignedCertState is the state of tls:SelfSignedCert.
type SelfSignedCertState struct {
	SelfSignedCertInputs
	issued
	KeyAlgorithm string `husk:"keyAlgorithm,stable" doc:"The algorithm of the key: RSA, ECDSA, or ED25519."`
}

// SelfSignedCert implements tls:SelfSignedCert.
type SelfSignedCert struct{}

// Check looks at the key, the names, and the terms.
func (SelfSignedCert) Check(_ context.Context, r guest.CheckRequest[SelfSignedCertInputs]) ([]guest.CheckFailure, error) {
	var f failures
	in := r.Inputs
	subject := (*CertRequestSubject)(in.Subject)
	text(&f, "privateKeyPem", in.PrivateKeyPem, r.Known("privateKeyPem"), parsePrivateKey)
	subject.check(&f)
	in.alternativeNames.check(&f, r.Known)
	checkUses(&f, in.AllowedUses, r.Known("allowedUses"))
	if in.IsCaCertificate && r.Known("subject") && subject.isEmpty() {
		f.add("subject", "must name something, such as a commonName, since isCaCertificate is true (RFC 5280, section 4.1.2.6)")
	}
	if in.SetAuthorityKeyID && r.Known("isCaCertificate") && r.Known("setSubjectKeyId") && !in.IsCaCertificate && !in.SetSubjectKeyID {
		f.add("setAuthorityKeyId", "needs the hash of the certificate's own key in it; set setSubjectKeyId, too")
	}
	return f, nil
}

// Create makes the certificate. Its ID is its serial number.
func (SelfSignedCert) Create(ctx context.Context, r guest.CreateRequest[SelfSignedCertInputs]) (guest.CreateResponse[SelfSignedCertState], error) {
	var response guest.CreateResponse[SelfSignedCertState]
	key, err := parsePrivateKey(r.Inputs.PrivateKeyPem)
	if err != nil {
		return response, guest.InvalidArgument("privateKeyPem", err.Error())
	}
	state := SelfSignedCertState{SelfSignedCertInputs: r.Inputs}
	if state.KeyAlgorithm, err = algorithmOf(key.Public()); err != nil {
		return response, err
	}
	template := &x509.Certificate{
		Subject:     (*CertRequestSubject)(r.Inputs.Subject).name(),
		DNSNames:    r.Inputs.DNSNames,
		IPAddresses: r.Inputs.ips(),
		URIs:        r.Inputs.urls(),
	}
	if r.Inputs.SetAuthorityKeyID {
		if template.AuthorityKeyId, err = subjectKeyID(key.Public()); err != nil {
			return response, err
		}
	}
	id, result, err := issue(ctx, &state.terms, template, nil, key.Public(), key)
	if err != nil {
		return response, err
	}
	state.issued = result
	response.ID, response.State = id, state
	return response, nil
}

// Diff replaces a certificate whose time has come.
func (SelfSignedCert) Diff(ctx context.Context, r guest.DiffRequest[SelfSignedCertInputs, SelfSignedCertState]) (guest.DiffResponse, error) {
	return renew(ctx, r.Default, &r.Inputs.terms, r.State.issued)
}

// Read reports whether the certificate's time has come.
func (SelfSignedCert) Read(ctx context.Context, r guest.ReadRequest[SelfSignedCertInputs, SelfSignedCertState]) (guest.ReadResponse[SelfSignedCertInputs, SelfSignedCertState], error) {
	if r.State == nil || r.Inputs == nil {
		return guest.ReadResponse[SelfSignedCertInputs, SelfSignedCertState]{}, notImportable()
	}
	state := *r.State
	err := state.issued.update(ctx, &state.terms)
	return guest.ReadResponse[SelfSignedCertInputs, SelfSignedCertState]{Inputs: *r.Inputs, State: state}, err
}

// Update records another time of renewal; the certificate stays as it is.
func (SelfSignedCert) Update(ctx context.Context, r guest.UpdateRequest[SelfSignedCertInputs, SelfSignedCertState]) (guest.UpdateResponse[SelfSignedCertState], error) {
	state := r.State
	state.SelfSignedCertInputs = r.Inputs
	err := state.issued.update(ctx, &state.terms)
	return guest.UpdateResponse[SelfSignedCertState]{State: state}, err
}
