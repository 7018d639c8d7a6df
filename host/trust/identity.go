package trust

import (
	"crypto/x509"
	"encoding/asn1"
	"slices"

	"golang.org/x/crypto/cryptobyte"
	cryptobyteasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// The extensions of certificates that say who somebody is
// (https://github.com/sigstore/fulcio/blob/main/docs/oid-info.md).
var (
	issuerExtension    = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 8}
	oldIssuerExtension = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 1}
	otherName          = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 7}
	alternativeName    = asn1.ObjectIdentifier{2, 5, 29, 17}
)

// identityOf returns the name of the owner of a certificate, and who vouches for it; empty if it has none, or several.
func identityOf(cert *x509.Certificate) (identity, issuer string) {
	switch names := len(cert.URIs) + len(cert.EmailAddresses) + len(cert.DNSNames) + len(cert.IPAddresses); {
	case names > 1: // which one would be meant?
	case len(cert.URIs) == 1:
		identity = cert.URIs[0].String()
	case len(cert.EmailAddresses) == 1:
		identity = cert.EmailAddresses[0]
	case names == 0:
		identity = otherNameOf(cert)
	}
	for _, e := range cert.Extensions {
		switch {
		case e.Id.Equal(issuerExtension):
			var text string
			if rest, err := asn1.UnmarshalWithParams(e.Value, &text, "utf8"); err == nil && len(rest) == 0 {
				return identity, text
			}
			return identity, ""
		case e.Id.Equal(oldIssuerExtension):
			issuer = string(e.Value)
		}
	}
	return identity, issuer
}

// withoutAlternativeName returns the critical extensions that the standard library does not know, without the alternative name,
// because the library does not read its other kinds of names.
func withoutAlternativeName(cert *x509.Certificate) []asn1.ObjectIdentifier {
	all := slices.Clone(cert.UnhandledCriticalExtensions)
	if otherNameOf(cert) == "" {
		return all
	}
	return slices.DeleteFunc(all, func(id asn1.ObjectIdentifier) bool { return id.Equal(alternativeName) })
}

// otherNameOf returns the name of a certificate that is neither a URI nor an address, empty for none.
func otherNameOf(cert *x509.Certificate) string {
	for _, e := range cert.Extensions {
		if !e.Id.Equal(alternativeName) {
			continue
		}
		in := cryptobyte.String(e.Value)
		var names, name, value cryptobyte.String
		var id asn1.ObjectIdentifier
		var text cryptobyte.String
		if in.ReadASN1(&names, cryptobyteasn1.SEQUENCE) &&
			names.ReadASN1(&name, cryptobyteasn1.Tag(0).ContextSpecific().Constructed()) && names.Empty() &&
			name.ReadASN1ObjectIdentifier(&id) && id.Equal(otherName) &&
			name.ReadASN1(&value, cryptobyteasn1.Tag(0).ContextSpecific().Constructed()) &&
			value.ReadASN1(&text, cryptobyteasn1.UTF8String) && value.Empty() {
			return string(text)
		}
	}
	return ""
}
