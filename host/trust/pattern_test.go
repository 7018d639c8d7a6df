package trust_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/host/trust"
)

// A pattern is about what it looks like: no part of a source passes for another.
func TestPatternsOfSources(t *testing.T) {
	for _, c := range []struct {
		pattern   string
		yes, none []string
	}{
		{"oci://*.acme.example/*", []string{"oci://r.acme.example/local"}, []string{
			"oci://EVIL/x.acme.example/local", "oci://evil.example/x.acme.example/local", "oci://a.r.acme.example/local", "oci://r.acme.example/team/local", "oci://acme.example/local",
			"oci://r.acme.example:5000/local", "https://r.acme.example/local",
		}},
		{"oci://**.acme.example/**", []string{"oci://r.acme.example/local", "oci://a.r.acme.example/team/local"}, []string{
			"oci://EVIL/x.acme.example/local", "oci://acme.example/local", "oci://r.acme.example:5000/local", "oci://evil.example/r.acme.example/local",
		}},
		{"oci://ghcr.io/acme/*", []string{"oci://ghcr.io/acme/x"}, []string{"oci://ghcr.io/acme/x/y", "oci://ghcr.io/acme", "oci://ghcr.io.evil/acme/x", "oci://evil/ghcr.io/acme/x"}},
		{"oci://ghcr.io/*/x", []string{"oci://ghcr.io/acme/x"}, []string{"oci://ghcr.io/acme/b/x", "oci://ghcr.io/x"}},
		{"oci://r.example:*/acme/x", []string{"oci://r.example:5000/acme/x"}, []string{"oci://r.example/acme/x"}},
		{"oci://**/acme/x", []string{"oci://r.example/acme/x"}, []string{"oci://r.example:5000/acme/x", "oci://r.example/evil/acme/x"}},
		{"oci://[::1]:5000/acme/**", []string{"oci://[::1]:5000/acme/x"}, []string{"oci://[::2]:5000/acme/x"}},
		{"https://good.example/acme/**", []string{"https://good.example/acme/a/b.wasm"}, []string{
			"https://good.example/acme/../evil.wasm", "https://good.example/acme/%2e%2E/evil.wasm", "https://good.example/acme/x%2f..%2fevil.wasm", "https://good.example/acme/a.wasm?x=y",
			"https://evil.example/?https://good.example/acme/a.wasm",
		}},
		{"https://good.example/*.wasm?v=*", []string{"https://good.example/a.wasm?v=1"}, []string{"https://good.example/a.wasm", "https://good.example/a.wasm?x&v=1"}},
		{"git+https://git.example/acme/**@v*", []string{"git+https://git.example/acme/repo//dir@v1.2.0"}, []string{
			"git+https://git.example/acme/repo//dir", "git+https://git.example/acme/repo@main", "git+https://git.example/acme/repo@v1/evil", "git+https://evil/git.example/acme/x@v1",
		}},
		{"git+https://git.example/acme/**", []string{"git+https://git.example/acme/repo//dir"}, []string{"git+https://git.example/acme/repo@v1"}},
		{"path:./modules/*", []string{"path:./modules/a.wasm"}, []string{"path:./modules/b/a.wasm", "path:./other/a.wasm"}},
		{"path:**", []string{"path:./a.wasm", "path:/home/me/a.wasm"}, []string{"oci://path/x", "state:x"}},
		{"git+*:**", []string{"git+https://git.example/x@v1"}, []string{"https://git.example/x"}},
		{"state:*", []string{"state:random"}, []string{"path:random"}},
		{"oci-layout:../*#acme/*", []string{"oci-layout:../modules#acme/x"}, []string{"oci-layout:../modules", "oci-layout:../modules#acme/x/y"}},
		{"**", []string{"oci://r.example/acme/x", "path:x", "state:x", "git+https://x/y@z"}, nil},
		{"*", nil, []string{"oci://r.example/x", "path:x", "state:x"}},
		{"oci://**", nil, []string{"oci://r.example/x"}},
		{"a.b+c", []string{"a.b+c"}, []string{"aXb+c", "a.bbc"}},
	} {
		p := trust.Policy{Rules: []trust.Rule{{Source: c.pattern, Unsigned: true}}}
		for _, source := range c.yes {
			require.NotNil(t, p.Rule(source), "%s is about %s", c.pattern, source)
		}
		for _, source := range c.none {
			require.Nil(t, p.Rule(source), "%s is not about %s", c.pattern, source)
		}
	}
}

// A source is what it leads to, however it is written: no spelling leads past a rule that refuses, to one that does not.
func TestSpellingsOfSources(t *testing.T) {
	for pattern, spellings := range map[string][]string{
		"oci://registry.acme.example/**": {
			"oci://registry.acme.example/x", "oci://registry.acme.example:443/x", "oci://registry.acme.example:0443/x", "oci://registry.acme.example:/x",
			"oci://REGISTRY.acme.example/x", "oci://registry.acme.example./x", "oci://Registry.Acme.Example.:443/x",
		},
		"oci://Registry.ACME.example:443/**":   {"oci://registry.acme.example/x"},
		"oci://docker.io/acme/*":               {"oci://index.docker.io/acme/x", "oci://registry-1.docker.io/acme/x", "oci://Docker.io:443/acme/x"},
		"oci://127.0.0.1/**":                   {"oci://127.0.0.1:80/x", "oci://[::ffff:127.0.0.1]/x"},
		"oci://[2001:db8::1]/**":               {"oci://[2001:DB8:0:0::1]:443/x"},
		"https://files.acme.example/acme/**":   {"https://files.acme.example/%61cme/x.wasm", "https://FILES.acme.example:443/ac%6De/x.wasm", "https://files.acme.example./acme/a%2eb.wasm"},
		"https://files.acme.example/%61cme/**": {"https://files.acme.example/acme/x.wasm"},
		"https://files.acme.example/*%2fx":     {"https://files.acme.example/acme%2Fx"},
		"http://localhost/**":                  {"http://localhost:80/x.wasm", "http://LOCALHOST/x.wasm"},
		"git+https://git.acme.example/**@*":    {"git+https://git.acme.example:443/x//dir@v1", "git+https://GIT.acme.example/x@v1"},
	} {
		p := trust.Policy{Rules: []trust.Rule{{Source: pattern}, {Source: "**", Unsigned: true}}}
		for _, source := range spellings {
			require.Equal(t, &p.Rules[0], p.Rule(source), "%s is about %s", pattern, source)
		}
	}
	p := trust.Policy{Rules: []trust.Rule{{Source: "oci://registry.acme.example/**"}, {Source: "**", Unsigned: true}, {Source: "*:**", Unsigned: true}}}
	for _, other := range []string{"oci://registry.acme.example:5000/x", "oci://127.0.0.1:443/x", "https://registry.acme.example/x", "path:../x", "oci-layout:../x"} {
		require.Equal(t, &p.Rules[1], p.Rule(other), other)
	}
	// What a client or a server may take for another one is about nothing, and refused.
	for _, none := range []string{
		"oci://ｒegistry.acme.example/x", "https://%EF%BD%92egistry.acme.example/x", "https://a@registry.acme.example/x", "https://2130706433/x", "https://0x7f.1/x",
		"https://files.acme.example/x/../acme/x", "https://files.acme.example/./x", "https://files.acme.example//acme/x", "https://a..example/x", "https://[fe80::1%25eth0]/x",
	} {
		require.Nil(t, p.Rule(none), none)
		_, err := p.Check(none, nil)
		require.ErrorContains(t, err, "no rule of the trust policy is about it, because its host or path has a form", none)
	}
}

// The subject of an identity ends at its first @, whatever a branch, a file, or a user is called.
func TestPatternsOfIdentities(t *testing.T) {
	const issuer = "https://token.actions.githubusercontent.com"
	const workflow = "https://github.com/acme/repo/.github/workflows/release.yml"
	for _, c := range []struct {
		pattern   string
		yes, none []string
	}{
		{"https://github.com/acme/**@refs/heads/main", []string{workflow + "@refs/heads/main"}, []string{
			workflow + "@refs/heads/x@refs/heads/main", workflow + "@refs/heads/main@refs/heads/evil", workflow + "@refs/heads/mainline", workflow, "https://github.com/acme-evil/repo/x.yml@refs/heads/main",
			"https://github.com/evil/acme/x.yml@refs/heads/main", "https://evil/https://github.com/acme/x.yml@refs/heads/main", "https://github.com/acme/x@y.yml@refs/heads/main",
		}},
		{workflow + "@refs/tags/*", []string{workflow + "@refs/tags/v1.2.0"}, []string{workflow + "@refs/tags/a/b", workflow + "@refs/tags/x@refs/tags/v1", workflow + "@refs/heads/v1"}},
		{"https://github.com/acme/*/.github/workflows/release.yml@**", []string{workflow + "@refs/heads/a/b"}, []string{"https://github.com/acme/a/b/.github/workflows/release.yml@refs/heads/main"}},
		{"https://github.com/acme/**", nil, []string{workflow + "@refs/heads/main"}},
		{"https://*.acme.example/x@main", []string{"https://ci.acme.example/x@main"}, []string{"https://evil/y.acme.example/x@main", "https://a.ci.acme.example/x@main"}},
		{"*@acme.example", []string{"ann@acme.example", "ann.b@acme.example"}, []string{"evil@x@acme.example", "ann@evil.acme.example", "ann@acme.example.evil", "https://evil/ann@acme.example"}},
		{"ann@*.acme.example", []string{"ann@mail.acme.example"}, []string{"ann@a.b.acme.example", "bob@mail.acme.example"}},
		{"spiffe://acme.example/ns/*", []string{"spiffe://acme.example/ns/a"}, []string{"spiffe://acme.example/ns/a/b", "spiffe://evil/acme.example/ns/a"}},
		{"**", []string{"ann@acme.example", workflow + "@refs/heads/main"}, nil},
	} {
		a := trust.Allowed{Identity: c.pattern, Issuer: issuer}
		for _, identity := range c.yes {
			require.True(t, trust.Matches(a, trust.Signer{Identity: identity, Issuer: issuer}), "%s is %s", identity, c.pattern)
			require.False(t, trust.Matches(a, trust.Signer{Identity: identity, Issuer: "https://evil"}), "%s of another issuer", identity)
		}
		for _, identity := range c.none {
			require.False(t, trust.Matches(a, trust.Signer{Identity: identity, Issuer: issuer}), "%s is not %s", identity, c.pattern)
		}
	}
}

// A rule that means less than it did says so, where it matters.
func TestChangedPatternsAreTold(t *testing.T) {
	p := trust.Policy{Rules: []trust.Rule{{Source: "oci://r.example/*", Unsigned: true}}}
	_, err := p.Check("oci://r.example/acme/x", nil)
	require.ErrorContains(t, err, "no rule of the trust policy is about it\nthe rule for oci://r.example/* was about oci://r.example/acme/x before: a * ends at / now")
	_, err = p.Check("oci://other.example/x", nil)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "before")
	require.Nil(t, p.Formerly("oci://r.example/x"))
	p.Rules = append(p.Rules, trust.Rule{Source: "**", Unsigned: true})
	require.Equal(t, &p.Rules[0], p.Formerly("oci://r.example/acme/x"), "another rule decides now")
	require.Nil(t, p.Formerly("oci://other.example/x"))
}
