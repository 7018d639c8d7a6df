// Package provider makes private keys, certificate requests, and certificates under the names of the
// Pulumi tls package. A resource exists only in its state: it is computed when it is created.
package provider

import "github.com/husk-dev/husk/guest-sdk/guest"

// New returns the provider, which holds nothing and can be used any number of times.
func New() guest.Provider {
	return guest.Provider{
		Name:        "tls",
		Version:     "5.0.0",
		DisplayName: "TLS",
		Description: "Private keys, certificate requests, and X.509 certificates.",
		Keywords:    []string{"tls", "x509", "certificate"},
		License:     "Apache-2.0",
		Repository:  "https://github.com/husk-dev/husk",
		Resources: []guest.Resource{
			guest.ResourceOf("tls:index/privateKey:PrivateKey", PrivateKey{},
				guest.Doc("A private key, and its public key, in the formats that programs want.")),
			guest.ResourceOf("tls:index/certRequest:CertRequest", CertRequest{},
				guest.Doc("A certificate signing request (PKCS #10).")),
			guest.ResourceOf("tls:index/selfSignedCert:SelfSignedCert", SelfSignedCert{},
				guest.Doc("A certificate that is signed with its own key, such as that of a certificate authority.")),
			guest.ResourceOf("tls:index/locallySignedCert:LocallySignedCert", LocallySignedCert{},
				guest.Doc("A certificate that is made of a signing request and signed with the key of a certificate authority.")),
		},
		Functions: []guest.Function{
			guest.FunctionOf("tls:index/getPublicKey:getPublicKey", getPublicKey,
				guest.Doc("The public key of a private key.")),
			guest.FunctionOf("tls:index/getCertificate:getCertificate", getCertificate,
				guest.Doc("What the certificates in a PEM bundle say.")),
		},
	}
}
