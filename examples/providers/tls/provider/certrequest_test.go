package provider_test

import (
	"crypto/x509"
	"encoding/pem"
	"testing"

	"github.com/stretchr/testify/require"

	pt "github.com/husk-dev/husk/examples/internal/providertest"
)

func parseRequest(t *testing.T, r pt.Resource) *x509.CertificateRequest {
	t.Helper()
	block, _ := pem.Decode([]byte(r.Text("certRequestPem")))
	require.Equal(t, "CERTIFICATE REQUEST", block.Type)
	request, err := x509.ParseCertificateRequest(block.Bytes)
	require.NoError(t, err)
	require.NoError(t, request.CheckSignature())
	return request
}

func TestARequestSaysWhatItIsTold(t *testing.T) {
	p := start(t)
	r := p.Create(certRequest, pt.Object{
		"privateKeyPem": ecKey(p).Text("privateKeyPem"),
		"dnsNames":      []string{"localhost", "*.example.org", "_service.example.org."},
		"ipAddresses":   []string{"127.0.0.1", "::1"},
		"uris":          []string{"spiffe://example.org/service"},
		"subject": pt.Object{
			"commonName": "example.org", "country": "CH", "emailAddress": "web@example.org", "locality": "Zürich",
			"organization": "Example, Inc.", "organizationalUnit": "Web", "postalCode": "8000", "province": "ZH",
			"serialNumber": "7", "streetAddresses": []string{"Line 1", "Line 2"},
		},
	})
	require.Equal(t, "ECDSA", r.Text("keyAlgorithm"))
	request := parseRequest(t, r)
	require.Equal(t, []string{"localhost", "*.example.org", "_service.example.org."}, request.DNSNames)
	require.Len(t, request.IPAddresses, 2)
	require.Equal(t, "127.0.0.1", request.IPAddresses[0].String())
	require.Equal(t, "::1", request.IPAddresses[1].String())
	require.Len(t, request.URIs, 1)
	require.Equal(t, "spiffe://example.org/service", request.URIs[0].String())

	subject := request.Subject
	require.Equal(t, "example.org", subject.CommonName)
	require.Equal(t, "7", subject.SerialNumber)
	for value, list := range map[string][]string{
		"CH": subject.Country, "Zürich": subject.Locality, "Example, Inc.": subject.Organization,
		"Web": subject.OrganizationalUnit, "8000": subject.PostalCode, "ZH": subject.Province,
	} {
		require.Equal(t, []string{value}, list)
	}
	require.Equal(t, []string{"Line 1", "Line 2"}, subject.StreetAddress)
	const ia5String = "\x16"
	require.Contains(t, string(request.RawSubject), ia5String+"\x0fweb@example.org")
}

func TestARequestMayBeEmpty(t *testing.T) {
	p := start(t)
	request := parseRequest(t, p.Create(certRequest, pt.Object{"privateKeyPem": ecKey(p).Text("privateKeyPem")}))
	require.Empty(t, request.Subject.ToRDNSequence())
	require.Empty(t, request.Extensions)
}

func TestWhatARequestMustBe(t *testing.T) {
	p := start(t)
	key := ecKey(p).Text("privateKeyPem")
	for _, test := range []struct {
		inputs  pt.Object
		failure string
	}{
		{pt.Object{"dnsNames": []string{"a", ""}}, "dnsNames[1]: is empty; expected a host name, such as www.example.org"},
		{pt.Object{"dnsNames": []string{"bücher.example"}}, `dnsNames[0]: must be ASCII; write "bücher.example" as punycode (xn--...)`},
		{pt.Object{"dnsNames": []string{"https://a.example"}}, `dnsNames[0]: expected a host name, such as www.example.org, not the URL "https://a.example"`},
		{pt.Object{"dnsNames": []string{"a..b"}}, `dnsNames[0]: expected a host name, such as www.example.org, not "a..b"`},
		{pt.Object{"dnsNames": []string{"a.example:443"}}, `dnsNames[0]: expected a host name, such as www.example.org, not "a.example:443"`},
		{pt.Object{"dnsNames": []string{"::1"}}, `dnsNames[0]: "::1" is an IP address; list it in ipAddresses`},
		{pt.Object{"ipAddresses": []string{"localhost"}}, `ipAddresses[0]: expected an IP address, such as 127.0.0.1 or ::1, not "localhost"`},
		{pt.Object{"ipAddresses": []string{"256.0.0.1"}}, `ipAddresses[0]: expected an IP address, such as 127.0.0.1 or ::1, not "256.0.0.1"`},
		{pt.Object{"ipAddresses": []string{"10.0.0.0/8"}}, `ipAddresses[0]: expected an IP address, such as 127.0.0.1 or ::1, not the network "10.0.0.0/8"`},
		{pt.Object{"uris": []string{"/path"}}, `uris[0]: expected a URI with its scheme, such as spiffe://example.org/service, not "/path"`},
		{pt.Object{"uris": []string{"http://bücher.example"}}, "uris[0]: must be ASCII"},
		{pt.Object{"subject": pt.Object{"emailAddress": "a@bücher.example"}}, "subject.emailAddress: must be ASCII"},
		{pt.Object{"subject": pt.Object{"comonName": "x"}}, `subject.comonName: no such property in tls:index/certRequestSubject:CertRequestSubject; did you mean "commonName"?`},
	} {
		failures := p.Failures(certRequest, pt.With(test.inputs, pt.Object{"privateKeyPem": key}))
		require.Len(t, failures, 1)
		require.Contains(t, failures[0], test.failure)
	}
}

func TestARequestIsReplacedByAnyChange(t *testing.T) {
	p := start(t)
	key, other := ecKey(p).Text("privateKeyPem"), ecKey(p).Text("privateKeyPem")
	inputs := pt.Object{"privateKeyPem": key, "dnsNames": []string{"a"}, "subject": pt.Object{"commonName": "a"}}
	r := p.Create(certRequest, inputs)
	for change, want := range map[*pt.Object][]string{
		{}:                                      nil,
		{"privateKeyPem": other}:                {"privateKeyPem update-replace"},
		{"dnsNames": []string{"a", "b"}}:        {"dnsNames[1] add-replace"},
		{"dnsNames": nil}:                       {"dnsNames delete-replace"},
		{"ipAddresses": []string{"::1"}}:        {"ipAddresses add-replace"},
		{"subject": pt.Object{}}:                {"subject.commonName delete-replace"},
		{"uris": []string{"https://a/"}}:        {"uris add-replace"},
		{"subject": nil}:                        {"subject delete-replace"},
		{"subject": pt.Object{"country": "CH"}}: {"subject.commonName delete-replace", "subject.country add-replace"},
	} {
		require.Equal(t, want, p.Diff(r, pt.With(inputs, *change)))
	}
}
