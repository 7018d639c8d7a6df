package test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/abi/schema"
	"github.com/husk-dev/husk/abi/schema/schemajson"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/port"
	"github.com/husk-dev/husk/internal/testkit/nightly"
)

// quotedWord is a value in a description, as in "Currently-supported values are: `RSA`, `ECDSA`".
var quotedWord = regexp.MustCompile("[`\"]([A-Za-z0-9_:.-]+)[`\"]")

// Providers as their authors published them answer as modules what Terraform is told by their processes.
func TestPublishedProviders(t *testing.T) {
	nightly.Skip(t)
	for _, of := range []struct {
		module, name, version string
		texts                 map[string][]string
		random                func(token string, inputs property.Map) bool
	}{
		{
			"github.com/terraform-providers/terraform-provider-random@v1.3.2-0.20231204135814-c6e90de46687", "random", "3.6.0",
			map[string][]string{"overrideSpecial": {"_-", "äö"}},
			func(token string, inputs property.Map) bool {
				return !(strings.HasSuffix(token, "Integer") || strings.HasSuffix(token, "Shuffle")) || !given(inputs, "seed")
			},
		},
		{
			"github.com/hashicorp/terraform-provider-tls@v1.2.1-0.20230117062332-afdd54107aba", "tls", "4.0.4",
			map[string][]string{
				"privateKeyPem": {keyPEM}, "caPrivateKeyPem": {keyPEM}, "certRequestPem": {requestPEM}, "caCertPem": {certPEM},
				"url": {"https://localhost:1", "ftp://x"}, "ipAddresses": {"10.0.0.1", "no address"}, "uris": {"spiffe://a/b", ":"},
			},
			func(string, property.Map) bool { return true },
		},
		{
			"github.com/hashicorp/terraform-provider-time@v0.14.2", "time", "0.14.2",
			map[string][]string{
				"baseRfc3339": {"2020-02-29T12:00:00Z", "2021-01-31T00:00:00+02:00"}, "rfc3339": {"2020-02-29T12:00:00Z", "2021-01-31T00:00:00+02:00"},
				"createDuration": {"1ms", "2ms", "0s", "1.5ms"}, "destroyDuration": {"1ms", "2ms", "0s"}, "timestamp": {"2020-02-29T12:00:00Z"}, "duration": {"1h3m"},
				"unixTimestamp": nil,
			},
			func(_ string, inputs property.Map) bool {
				return !given(inputs, "baseRfc3339") && !given(inputs, "rfc3339")
			},
		},
	} {
		t.Run(of.name, func(t *testing.T) {
			built, err := port.Port(t.Context(), of.module, port.Options{Dir: t.TempDir(), Version: of.version})
			require.NoError(t, err)
			h, err := host.New(t.Context(), host.NewConfig())
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, h.Close(context.Background())) })
			module, err := h.LoadBytes(t.Context(), built.Wasm)
			require.NoError(t, err)
			ported, err := module.NewProvider(t.Context(), host.ProviderOptions{Name: of.name, Instances: 1, Lenient: true})
			require.NoError(t, err)
			_, err = ported.Handshake(t.Context(), abi.HandshakeRequest{Features: abi.AllFeatures})
			require.NoError(t, err)
			require.NoError(t, ported.Configure(t.Context(), abi.ConfigureRequest{}))
			response, err := ported.GetSchema(t.Context(), abi.GetSchemaRequest{})
			require.NoError(t, err)
			pkg, err := schemajson.Parse([]byte(response.Schema))
			require.NoError(t, err)
			requireNames(t, pkg)
			d := &differential{ported: ported, pkg: pkg, seed: seed(t), texts: of.texts, random: of.random}
			for _, r := range pkg.Resources {
				d.addTexts(&r.Inputs)
			}
			d.compared(t, of.name, program(t, fetched(t, of.module), of.name), object())
		})
	}
}

// publishedNames are the properties, of states and of inputs alone, that Pulumi's packages have: random 4.16.6,
// tls 5.0.9, and time 0.1.1 by Pulumiverse.
const publishedNames = `
random:index/randomBytes:RandomBytes base64 hex keepers length
random:index/randomId:RandomId b64Std b64Url byteLength dec hex keepers prefix
random:index/randomInteger:RandomInteger keepers max min result seed
random:index/randomPassword:RandomPassword bcryptHash keepers length lower minLower minNumeric minSpecial minUpper number numeric overrideSpecial result special upper
random:index/randomPet:RandomPet keepers length prefix separator
random:index/randomShuffle:RandomShuffle inputs keepers resultCount results seed
random:index/randomString:RandomString keepers length lower minLower minNumeric minSpecial minUpper number numeric overrideSpecial result special upper
random:index/randomUuid:RandomUuid keepers result
time:index/offset:Offset baseRfc3339 day hour minute month offsetDays offsetHours offsetMinutes offsetMonths offsetSeconds offsetYears rfc3339 second triggers unix year
time:index/rotating:Rotating day hour minute month rfc3339 rotationDays rotationHours rotationMinutes rotationMonths rotationRfc3339 rotationYears second triggers unix year
time:index/sleep:Sleep createDuration destroyDuration triggers
time:index/static:Static day hour minute month rfc3339 second triggers unix year
tls:index/CertRequestSubject:CertRequestSubject commonName country locality organization organizationalUnit postalCode province serialNumber streetAddresses
tls:index/SelfSignedCertSubject:SelfSignedCertSubject commonName country locality organization organizationalUnit postalCode province serialNumber streetAddresses
tls:index/certRequest:CertRequest certRequestPem dnsNames ipAddresses keyAlgorithm privateKeyPem subject uris
tls:index/getCertificate:getCertificate certificates content id url verifyChain
tls:index/getCertificateCertificate:getCertificateCertificate certPem isCa issuer notAfter notBefore publicKeyAlgorithm serialNumber sha1Fingerprint signatureAlgorithm subject version
tls:index/getPublicKey:getPublicKey algorithm id privateKeyOpenssh privateKeyPem publicKeyFingerprintMd5 publicKeyFingerprintSha256 publicKeyOpenssh publicKeyPem
tls:index/locallySignedCert:LocallySignedCert allowedUses caCertPem caKeyAlgorithm caPrivateKeyPem certPem certRequestPem earlyRenewalHours isCaCertificate readyForRenewal setSubjectKeyId validityEndTime validityPeriodHours validityStartTime
tls:index/privateKey:PrivateKey algorithm ecdsaCurve privateKeyOpenssh privateKeyPem privateKeyPemPkcs8 publicKeyFingerprintMd5 publicKeyFingerprintSha256 publicKeyOpenssh publicKeyPem rsaBits
tls:index/selfSignedCert:SelfSignedCert allowedUses certPem dnsNames earlyRenewalHours ipAddresses isCaCertificate keyAlgorithm privateKeyPem readyForRenewal setAuthorityKeyId setSubjectKeyId subject uris validityEndTime validityPeriodHours validityStartTime
tls:index/ProviderProxy:ProviderProxy fromEnv password url username
tls:config proxy
`

// requireNames compares the names of a package with those of the published one.
func requireNames(t *testing.T, pkg *schema.Package) {
	t.Helper()
	var want, got []string
	for line := range strings.Lines(publishedNames) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, pkg.Name+":") {
			want = append(want, line)
		}
	}
	add := func(token string, o *schema.Object) {
		got = append(got, token+" "+strings.Join(slices.Sorted(slices.Values(o.Names())), " "))
	}
	for _, r := range pkg.Resources {
		add(r.Token, &r.Outputs)
	}
	for _, f := range pkg.Functions {
		if strings.Contains(f.Token, ":get") { // Pulumi has neither ephemeral resources nor functions of the provider
			add(f.Token, &f.Result)
		}
	}
	for _, o := range pkg.Types {
		add(o.Token, o)
	}
	if len(pkg.Config.Properties) > 0 {
		add(pkg.Name+":config", &pkg.Config)
	}
	require.ElementsMatch(t, want, got)
}

func given(inputs property.Map, name string) bool { return !inputs.Get(name).Plain().IsNull() }

// addTexts adds the values that the descriptions of properties name.
func (d *differential) addTexts(o *schema.Object) {
	for i := range o.Properties {
		p := &o.Properties[i]
		if _, given := d.texts[p.Name]; given {
			continue
		}
		for _, found := range quotedWord.FindAllStringSubmatch(p.Description, -1) {
			d.texts[p.Name] = append(d.texts[p.Name], found[1])
		}
	}
}

// fetched returns a copy of a module's source.
func fetched(t *testing.T, module string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	cmd.Dir = t.TempDir()
	out, err := cmd.Output()
	require.NoError(t, err, "%s", out)
	var downloaded struct{ Dir string }
	require.NoError(t, json.Unmarshal(out, &downloaded))
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(downloaded.Dir)))
	return dir
}

// A key, a request, and a certificate with it, of which nobody has use.
const (
	keyPEM = `-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIMdSwNnf5IEa7T7+Ppzj5qdM91lWVauDw4+Y/9cZtFfLoAoGCCqGSM49
AwEHoUQDQgAEHk300seXVD0/WLwXsBZe2LWfUSM1U83hPy6m3eXkAYr8PKaHrGg/
5P4PsdnolwPZbI3djxxwwe8Dz8PG81quxg==
-----END EC PRIVATE KEY-----
`
	requestPEM = `-----BEGIN CERTIFICATE REQUEST-----
MIHPMHgCAQAwFjEUMBIGA1UEAwwLZXhhbXBsZS5vcmcwWTATBgcqhkjOPQIBBggq
hkjOPQMBBwNCAAQeTfTSx5dUPT9YvBewFl7YtZ9RIzVTzeE/Lqbd5eQBivw8poes
aD/k/g+x2eiXA9lsjd2PHHDB7wPPw8bzWq7GoAAwCgYIKoZIzj0EAwIDRwAwRAIg
JmMIebAU+j0p0/ilzSk77vI+cKmBhPQrfuwMZpdK9woCIC9uX1mugrTDk9y6XHeX
O9rPS0tKow6vmjXWIaHUK5uo
-----END CERTIFICATE REQUEST-----
`
	certPEM = `-----BEGIN CERTIFICATE-----
MIIBgjCCASmgAwIBAgIUWur0owpJd/HzLOwXZTmiLukBChcwCgYIKoZIzj0EAwIw
FjEUMBIGA1UEAwwLZXhhbXBsZS5vcmcwIBcNMjYxMTIzMDczNzEzWhgPMjEyNjEw
MzAwNzM3MTNaMBYxFDASBgNVBAMMC2V4YW1wbGUub3JnMFkwEwYHKoZIzj0CAQYI
KoZIzj0DAQcDQgAEHk300seXVD0/WLwXsBZe2LWfUSM1U83hPy6m3eXkAYr8PKaH
rGg/5P4PsdnolwPZbI3djxxwwe8Dz8PG81quxqNTMFEwHQYDVR0OBBYEFOdKVVQc
08hY8A5KxG4WL7pCGNVyMB8GA1UdIwQYMBaAFOdKVVQc08hY8A5KxG4WL7pCGNVy
MA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgZnofw6EI3s+s9sY5
gNqY/cpygjYTWhdGj3WUwjETluQCIAJmmr+mSa4NpWWFSHWBFbbcwR5QllySu8Co
NeeT8AHf
-----END CERTIFICATE-----
`
)
