package provider

import (
	"context"

	"github.com/husk-dev/husk/guest-sdk/deploy"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// CertificateInputs are the inputs of a certificate.
type CertificateInputs struct {
	Host  deploy.Out[string]  `husk:"host" doc:"The host name that the certificate is for."`
	Hours deploy.Out[float64] `husk:"hours,optional" doc:"How long it is valid; a year by default."`
}

// CertificateOutputs are the outputs of a certificate.
type CertificateOutputs struct {
	Certificate deploy.Out[string] `husk:"certificate" doc:"The certificate, in PEM form."`
	Key         deploy.Out[string] `husk:"key,secret" doc:"The private key, in PEM form."`
}

// Certificate is a key and a certificate that is signed with it.
type Certificate struct{}

const hoursOfYear = 365 * 24

// Construct declares the key and the certificate.
func (Certificate) Construct(_ context.Context, r guest.ConstructRequest[CertificateInputs], d *deploy.Deployment) (CertificateOutputs, error) {
	hours := deploy.Apply(r.Inputs.Hours, func(hours float64) (float64, error) {
		if hours == 0 {
			hours = hoursOfYear
		}
		return hours, nil
	})
	key := d.Resource(deploy.Declaration{
		Type: "tls:index/privateKey:PrivateKey", Name: r.Name + "-key",
		Inputs: deploy.Props{"algorithm": "ECDSA", "ecdsaCurve": "P256"},
	})
	certificate := d.Resource(deploy.Declaration{
		Type: "tls:index/selfSignedCert:SelfSignedCert", Name: r.Name + "-cert",
		Inputs: deploy.Props{
			"privateKeyPem":       deploy.Field[string](key, "privateKeyPem"),
			"subject":             deploy.Props{"commonName": r.Inputs.Host},
			"dnsNames":            []any{r.Inputs.Host},
			"allowedUses":         []string{"digital_signature", "server_auth"},
			"validityPeriodHours": hours,
		},
	})
	return CertificateOutputs{
		Certificate: deploy.Field[string](certificate, "certPem"),
		Key:         deploy.Field[string](key, "privateKeyPem"),
	}, nil
}
