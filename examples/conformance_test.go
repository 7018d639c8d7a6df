// Package examples_test tests all example providers alike.
package examples_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/conformance"
	"github.com/husk-dev/husk/examples/internal/petstore"
	local "github.com/husk-dev/husk/examples/providers/local/provider"
	random "github.com/husk-dev/husk/examples/providers/random/provider"
	site "github.com/husk-dev/husk/examples/providers/site/provider"
	tls "github.com/husk-dev/husk/examples/providers/tls/provider"
	"github.com/husk-dev/husk/guest-sdk/guest"
	"github.com/husk-dev/husk/internal/testkit/nightly"
)

// example is a provider of this folder, and what it is let off: what its test skips
// begins with one of the reasons.
type example struct {
	name    string
	new     func() guest.Provider
	cases   func(t *testing.T, dir string) *conformance.Cases // dir is the provider's working directory
	skipped []string
}

// examples are all providers but those that need a service: the own tests of openapi and postgresql
// hold them to the contract.
var examples = []example{
	{"random", random.New, nil, []string{
		"the provider cannot tell whether the resource exists",
		"nobody can see",
		"read by the ID alone: the ID to import must be",
	}},
	{"local", local.New, localCases, nil},
	{"tls", tls.New, tlsCases, []string{
		"the provider cannot tell whether the resource exists",
		"nobody can see",
		"read by the ID alone: a certificate cannot be imported",
	}},
	{"site", site.New, nil, nil},
}

// Every example keeps to the contract.
func TestConformance(t *testing.T) {
	for _, example := range examples {
		t.Run(example.name, func(t *testing.T) {
			if example.name == "random" && testing.Short() {
				t.Skip("it has more resources than the others together")
			}
			dir := t.TempDir()
			if example.name == "local" {
				t.Chdir(dir)
			} else {
				t.Parallel()
			}
			var cases *conformance.Cases
			if example.cases != nil {
				cases = example.cases(t, dir)
			}
			seeds := uint64(1)
			if nightly.Enabled() {
				seeds = 10
			}
			for seed := range seeds {
				options := conformance.Options{Seed: seed, Cases: cases}
				report, err := conformance.Run(t.Context(), func(context.Context) (abi.Provider, error) {
					return guest.New(example.new())
				}, options)
				require.NoError(t, err)
				for _, result := range report.Results {
					requireKept(t, example, result.Check, result.Subject, result.Status, result.Message)
				}
			}
		})
	}
}

// requireKept requires that a check succeeded, or was skipped for good reason.
func requireKept(t *testing.T, e example, check, subject string, status conformance.Status, message string) {
	t.Helper()
	require.NotEqual(t, conformance.Failed, status, "%s of %s: %s", check, subject, message)
	if status == conformance.Skipped {
		require.True(t, begins(message, e.skipped), "%s of %s: %s", check, subject, message)
	}
}

// Every example keeps to the contract as a module in the sandbox, too: husk provider
// test says so.
func TestProviderTest(t *testing.T) {
	husk := buildHusk(t)
	providers, err := filepath.Abs("providers")
	require.NoError(t, err)
	for _, example := range examples {
		t.Run(example.name, func(t *testing.T) {
			t.Parallel()
			p := husk.project(t)
			p.Write("cases.json", "{}")
			if example.cases != nil {
				cases := example.cases(t, p.Dir)
				document, err := json.Marshal(cases.Document())
				require.NoError(t, err)
				p.Write("cases.json", string(document))
			}
			requireReport(t, p, example, providers, "--cases", "cases.json", "--grant", "fs=.:rw")
		})
	}
	t.Run("openapi", func(t *testing.T) {
		store, p := petstore.New(t, petstoreDocument), husk.project(t)
		text, err := os.ReadFile(petstoreDocument)
		require.NoError(t, err)
		p.Write("petstore.yaml", string(text))
		requireReport(t, p, example{name: "openapi", skipped: []string{
			// A tag is found on a shelf, which its ID does not tell.
			"read by the ID alone: shelf: GET /tags/{name} needs it",
		}}, providers, "--parameter", "./petstore.yaml", "--parameter", "petstore", "--grant", "fs=.", "--grant", "http="+store.URL,
			"--config", "baseUrl="+store.URL+"/v2", "--config", "token=t0ken", "--config", "username=admin", "--config", "password=pa55")
		// A slow machine may cancel a creation while the store makes a pet, which nobody knows then.
		left := store.Contents()
		require.Regexp(t, `^map\[.*\] map\[\] map\[\] map\[\]$`, left, "nothing else is left behind")
		require.LessOrEqual(t, strings.Count(left, "adopted:"), 1, left)
	})
	t.Run("openapi with the operator's credentials", func(t *testing.T) { credentials(t, husk.project(t), providers) })
}

// credentials deploys something at a service that wants a token, which the host puts
// in place of what the provider sends: neither the provider nor its configuration has it.
func credentials(t *testing.T, p *project, providers string) {
	store := petstore.New(t, petstoreDocument)
	text, err := os.ReadFile(petstoreDocument)
	require.NoError(t, err)
	p.Write("petstore.yaml", string(text))
	p.Write("Husk.yaml", fmt.Sprintf(`name: shop
runtime: yaml
plugins:
  providers:
    - name: openapi
      path: %[1]q
      grants:
        fs: [.]
        http: [{url: %[2]q, headers: {Authorization: {prefix: "Bearer ", config: storeToken}}}]
packages:
  petstore: {source: openapi, parameters: [./petstore.yaml, petstore]}
config:
  petstore:baseUrl: %[2]s/v2
  petstore:token: placeholder
resources:
  ann: {type: "petstore:Owner", properties: {name: Ann, email: ann@example.org}}
`, filepath.Join(providers, "openapi"), store.URL))
	p.Run("stack", "init", "dev")
	p.Run("config", "set", "storeToken", "t0ken", "--secret")
	p.Deploy("up", "--yes", "--audit-log", "audit.log")
	require.Contains(t, store.Contents(), "Ann")
	require.Contains(t, p.Read("audit.log"), `"target":"POST `+store.URL+`/v2/owners","allowed":true`)
	require.NotContains(t, p.Read("audit.log")+p.Printed.String()+p.Run("stack", "export", "--show-secrets"), "t0ken")
	p.Deploy("destroy", "--yes")
	require.NotContains(t, store.Contents(), "Ann")
}

// requireReport tests an example in the project.
func requireReport(t *testing.T, p *project, e example, providers string, args ...string) {
	t.Helper()
	var report struct {
		Results []struct {
			Check, Subject, Message string
			Status                  conformance.Status
		}
	}
	stdout := p.Run(append([]string{"provider", "test", filepath.Join(providers, e.name), "--json", "--seed", "1"}, args...)...)
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.NotEmpty(t, report.Results)
	for _, r := range report.Results {
		requireKept(t, e, r.Check, r.Subject, r.Status, r.Message)
	}
}

func begins(text string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

func object(pairs ...any) property.Map {
	var entries []property.Entry
	for i := 0; i < len(pairs); i += 2 {
		entries = append(entries, property.Entry{Key: pairs[i].(string), Value: value(pairs[i+1])})
	}
	return property.NewMap(entries...)
}

func value(v any) property.Value {
	switch v := v.(type) {
	case string:
		return property.String(v)
	case int:
		return property.Number(float64(v))
	case bool:
		return property.Bool(v)
	case []string:
		elements := make([]property.Value, len(v))
		for i, s := range v {
			elements[i] = property.String(s)
		}
		return property.Array(elements...)
	}
	return v.(property.Value)
}

// localCases has a file to be found, which generated names are not.
func localCases(t *testing.T, dir string) *conformance.Cases {
	require.NoError(t, os.WriteFile(filepath.Join(dir, "greeting"), []byte("good morning"), 0o600))
	return &conformance.Cases{Functions: map[string][]conformance.Case{
		"local:getFile": {{Inputs: object("path", "greeting")}},
	}}
}

// tlsCases have keys and certificates, which generated texts are not.
func tlsCases(t *testing.T, _ string) *conformance.Cases {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	key := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	encoded, err = x509.CreateCertificate(rand.Reader, authority, authority, public, private)
	require.NoError(t, err)
	certificate := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: encoded}))
	encoded, err = x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: []string{"example.org"}}, private)
	require.NoError(t, err)
	request := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: encoded}))

	uses := []string{"digital_signature", "server_auth"}
	return &conformance.Cases{
		Resources: map[string][]conformance.Case{
			"tls:CertRequest": {
				{Inputs: object("privateKeyPem", key)},
				{Inputs: object("privateKeyPem", key, "dnsNames", []string{"example.org"}, "ipAddresses", []string{"192.0.2.1"})},
			},
			"tls:SelfSignedCert": {
				{Inputs: object("privateKeyPem", key, "allowedUses", uses, "validityPeriodHours", 24, "earlyRenewalHours", 1)},
				{Inputs: object("privateKeyPem", key, "allowedUses", uses, "validityPeriodHours", 24, "isCaCertificate", true, "setSubjectKeyId", true,
					"subject", property.Object(object("commonName", "authority")))},
			},
			"tls:LocallySignedCert": {
				{Inputs: object("certRequestPem", request, "caPrivateKeyPem", key, "caCertPem", certificate, "allowedUses", uses, "validityPeriodHours", 1)},
			},
		},
		Functions: map[string][]conformance.Case{
			"tls:getPublicKey":   {{Inputs: object("privateKeyPem", key)}},
			"tls:getCertificate": {{Inputs: object("content", certificate)}},
		},
	}
}
