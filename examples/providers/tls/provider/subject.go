package provider

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"slices"
)

// CertRequestSubject is a distinguished name (RFC 5280, section 4.1.2.4). All fields are optional.
type CertRequestSubject struct {
	CommonName         *string  `husk:"commonName" doc:"CN: the name itself. Clients look for host names in dnsNames, not here."`
	Country            *string  `husk:"country" doc:"C: the code of a country, two letters."`
	EmailAddress       *string  `husk:"emailAddress" doc:"The email address (PKCS #9)."`
	Locality           *string  `husk:"locality" doc:"L: the town."`
	Organization       *string  `husk:"organization" doc:"O: the organization."`
	OrganizationalUnit *string  `husk:"organizationalUnit" doc:"OU: the part of the organization."`
	PostalCode         *string  `husk:"postalCode" doc:"The postal code."`
	Province           *string  `husk:"province" doc:"ST: the province or state."`
	SerialNumber       *string  `husk:"serialNumber" doc:"The subject's serial number, not the certificate's."`
	StreetAddresses    []string `husk:"streetAddresses,optional" doc:"STREET: the lines of the address."`
}

// SelfSignedCertSubject is the distinguished name of a self-signed certificate.
type SelfSignedCertSubject CertRequestSubject

// oidEmailAddress is the attribute of PKCS #9, RFC 2985, section 5.2.1.
var oidEmailAddress = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 1}

// name returns the subject as certificates have it; a nil subject is an empty name.
func (s *CertRequestSubject) name() pkix.Name {
	if s == nil {
		return pkix.Name{}
	}
	one := func(value *string) []string {
		if value == nil {
			return nil
		}
		return []string{*value}
	}
	name := pkix.Name{
		Country:            one(s.Country),
		Organization:       one(s.Organization),
		OrganizationalUnit: one(s.OrganizationalUnit),
		Locality:           one(s.Locality),
		Province:           one(s.Province),
		PostalCode:         one(s.PostalCode),
		StreetAddress:      s.StreetAddresses,
	}
	if s.CommonName != nil {
		name.CommonName = *s.CommonName
	}
	if s.SerialNumber != nil {
		name.SerialNumber = *s.SerialNumber
	}
	if s.EmailAddress != nil {
		name.ExtraNames = []pkix.AttributeTypeAndValue{{
			Type:  slices.Clone(oidEmailAddress),
			Value: asn1.RawValue{Tag: asn1.TagIA5String, Bytes: []byte(*s.EmailAddress)},
		}}
	}
	return name
}

// check looks at what a subject may not hold.
func (s *CertRequestSubject) check(f *failures) {
	if s != nil && s.EmailAddress != nil && !isASCII(*s.EmailAddress) {
		f.add("subject.emailAddress", "must be ASCII; write the domain as punycode (xn--...)")
	}
}

func (s *CertRequestSubject) isEmpty() bool {
	return len(s.name().ToRDNSequence()) == 0
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
