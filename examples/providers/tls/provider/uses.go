package provider

import (
	"crypto/x509"
	"slices"
	"strconv"

	"github.com/husk-dev/husk/abi/schema"
)

// use is a key usage or an extended one (RFC 5280, sections 4.2.1.3 and 4.2.1.12).
type use struct {
	name     string
	usage    x509.KeyUsage
	extended x509.ExtKeyUsage
}

// uses returns all uses, sorted by name. Those without a usage are extended.
func uses() []use {
	return []use{
		{name: "any_extended", extended: x509.ExtKeyUsageAny},
		{name: "cert_signing", usage: x509.KeyUsageCertSign},
		{name: "client_auth", extended: x509.ExtKeyUsageClientAuth},
		{name: "code_signing", extended: x509.ExtKeyUsageCodeSigning},
		{name: "content_commitment", usage: x509.KeyUsageContentCommitment},
		{name: "crl_signing", usage: x509.KeyUsageCRLSign},
		{name: "data_encipherment", usage: x509.KeyUsageDataEncipherment},
		{name: "decipher_only", usage: x509.KeyUsageDecipherOnly},
		{name: "digital_signature", usage: x509.KeyUsageDigitalSignature},
		{name: "email_protection", extended: x509.ExtKeyUsageEmailProtection},
		{name: "encipher_only", usage: x509.KeyUsageEncipherOnly},
		{name: "ipsec_end_system", extended: x509.ExtKeyUsageIPSECEndSystem},
		{name: "ipsec_tunnel", extended: x509.ExtKeyUsageIPSECTunnel},
		{name: "ipsec_user", extended: x509.ExtKeyUsageIPSECUser},
		{name: "key_agreement", usage: x509.KeyUsageKeyAgreement},
		{name: "key_encipherment", usage: x509.KeyUsageKeyEncipherment},
		{name: "microsoft_commercial_code_signing", extended: x509.ExtKeyUsageMicrosoftCommercialCodeSigning},
		{name: "microsoft_kernel_code_signing", extended: x509.ExtKeyUsageMicrosoftKernelCodeSigning},
		{name: "microsoft_server_gated_crypto", extended: x509.ExtKeyUsageMicrosoftServerGatedCrypto},
		{name: "netscape_server_gated_crypto", extended: x509.ExtKeyUsageNetscapeServerGatedCrypto},
		{name: "ocsp_signing", extended: x509.ExtKeyUsageOCSPSigning},
		{name: "server_auth", extended: x509.ExtKeyUsageServerAuth},
		{name: "timestamping", extended: x509.ExtKeyUsageTimeStamping},
	}
}

// checkUses checks the names of uses. An unknown one is empty.
func checkUses(f *failures, names []string, known bool) {
	all := uses()
	for i, name := range names {
		if name == "" && !known || slices.ContainsFunc(all, func(u use) bool { return u.name == name }) {
			continue
		}
		f.add("allowedUses["+strconv.Itoa(i)+"]", noSuchUse(name, all))
	}
}

func noSuchUse(name string, all []use) string {
	names := make([]string, len(all))
	for i, u := range all {
		names[i] = u.name
	}
	reason := "no such use: " + strconv.Quote(name)
	if near := schema.Nearest(name, names); near != "" {
		return reason + "; did you mean " + strconv.Quote(near) + "?"
	}
	reason += "; the uses are "
	for i, name := range names {
		if i > 0 {
			reason += ", "
		}
		reason += name
	}
	return reason
}

// setUses says in the template what its key may be used for, extended uses in the order of the names, which are checked.
func setUses(template *x509.Certificate, names []string) {
	all := uses()
	for _, name := range names {
		i := slices.IndexFunc(all, func(u use) bool { return u.name == name })
		if i < 0 {
			continue
		}
		u := all[i]
		if u.usage != 0 {
			template.KeyUsage |= u.usage
		} else {
			template.ExtKeyUsage = append(template.ExtKeyUsage, u.extended)
		}
	}
}
