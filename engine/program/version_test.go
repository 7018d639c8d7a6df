package program

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/engine/projectroot"
)

func TestCompatible(t *testing.T) {
	for _, c := range []struct {
		wanted, have string
		want         bool
	}{
		{"4.16.0", "4.16.0", true},
		{"4.16.0", "4.17.1", true},
		{"v4.16", "4.16.3", true},
		{"4.16.0", "4.15.9", false},
		{"4.16.0", "5.0.0", false},
		{"0.1.0", "0.1.5", true},
		{"0.1.0", "0.2.0", false},
		{"1.0.0", "1.0.0-rc.1", false},
		{"1.0.0", "", false},
		{"newest", "1.0.0", false},
	} {
		require.Equal(t, c.want, Compatible(c.wanted, c.have), "%s wanted, %s there", c.wanted, c.have)
	}
}

// Of several versions of a provider, the newest one that is compatible is used.
func TestProviderVersions(t *testing.T) {
	p := project(t, `
name: shop
plugins:
  providers:
    - {name: aws, path: b.wasm, version: 4.16.2}
    - {name: aws, path: d.wasm, version: 5.0.0}
    - {name: aws, path: c.wasm, version: 4.17.0}
    - {name: dns, path: e.wasm}
`)
	for wanted, path := range map[string]string{"": "d.wasm", "4.16.0": "c.wasm", "4.16.2": "c.wasm", "5.0.0": "d.wasm"} {
		declared, err := p.ProviderVersion("aws", wanted)
		require.NoError(t, err)
		require.Equal(t, path, declared.Path, wanted)
	}
	require.Equal(t, "d.wasm", p.Provider("aws").Path)
	_, err := p.ProviderVersion("aws", "6.0.0")
	require.EqualError(t, err, `version 6.0.0 of the provider "aws" is wanted, and Husk.yaml lists 4.16.2, 4.17.0, 5.0.0, none of which is compatible with it`)
	declared, err := p.ProviderVersion("dns", "9.0.0")
	require.NoError(t, err)
	require.Equal(t, "e.wasm", declared.Path, "its module tells the version")
	declared, err = p.ProviderVersion("gcp", "")
	require.NoError(t, err)
	require.Nil(t, declared)
	for _, second := range []string{"{name: dns, path: f.wasm}", "{name: dns, path: f.wasm, version: 1.0.0}"} {
		_, err := ParseProject(t.Context(), projectroot.New("/work", projectroot.Trusted), "Husk.yaml", []byte("name: a\nplugins: {providers: [{name: dns, path: e.wasm}, "+second+"]}\n"))
		require.ErrorContains(t, err, `the provider "dns" is listed twice`)
	}
}
