package program

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/projectroot"
)

func TestSources(t *testing.T) {
	p, err := ParseProject(projectroot.New("/work", projectroot.Trusted), "Husk.yaml", []byte(`
name: a
plugins:
  vendor: modules
  providers:
    - {name: random, source: "oci://registry.example.com/acme/random", version: ">=1.2 <2"}
    - {version: v1.4.0, name: tls, source: "https://example.com/tls.wasm"}
    - {name: local, path: local.wasm}
    - {name: aws, source: "oci://registry.example.com/acme/aws", version: 1.0.0}
    - {name: aws, source: "oci://registry.example.com/acme/aws", version: 2.0.0}
`))
	require.NoError(t, err)
	require.Equal(t, "/work/modules", p.Vendor)
	var listed [][3]string
	for _, d := range p.Providers {
		listed = append(listed, [3]string{d.Source, d.Version, d.Place()})
	}
	require.Equal(t, [][3]string{
		{"oci://registry.example.com/acme/random", ">=1.2 <2", "oci://registry.example.com/acme/random"},
		{"https://example.com/tls.wasm", "1.4.0", "https://example.com/tls.wasm"},
		{"", "", "local.wasm"},
		{"oci://registry.example.com/acme/aws", "1.0.0", "oci://registry.example.com/acme/aws"},
		{"oci://registry.example.com/acme/aws", "2.0.0", "oci://registry.example.com/acme/aws"},
	}, listed)
	aws, err := p.ProviderVersion("aws", "1.0.0")
	require.NoError(t, err)
	require.Equal(t, "1.0.0", aws.Version)
	require.Empty(t, (&ProviderPlugin{Name: "unlisted"}).Place())
}

func TestWrongSources(t *testing.T) {
	for entry, want := range map[string]string{
		`{name: a, source: "oci://r.example.com/a/a", path: x}`:         `the provider "a" has a path and a source`,
		`{name: a, source: ""}`:                                         "the source is empty",
		`{name: a, source: []}`:                                         "a provider's source must be text",
		`{name: a, source: "oci://r.example.com/a/a", version: newest}`: `"newest" is not a range of versions`,
		`{name: a, path: a.wasm, version: ">=1"}`:                       `">=1" is not a version`,
		`{name: a, source: "oci://r.example.com/a/a", version: ^1}, {name: a, path: x, version: 2.0.0}`:                              "several versions of it need a version each, which is no range",
		`{name: a, source: "oci://r.example.com/a/a", version: 1.0.0}, {name: a, source: "oci://r.example.com/a/a", version: 1.0.0}`: "is listed twice",
	} {
		_, err := ParseProject(projectroot.New("/work", projectroot.Trusted), "Husk.yaml", []byte("name: a\nplugins: {providers: ["+entry+"]}\n"))
		require.ErrorContains(t, err, want, entry)
	}
}
