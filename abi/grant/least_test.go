package grant_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/internal/base/httprequest"
)

func TestLeast(t *testing.T) {
	get := func(url string) grant.Text {
		return grant.Text{Capability: "http", Scope: url, Methods: []string{"GET"}}
	}
	post := func(url string) grant.Text {
		return grant.Text{Capability: "http", Scope: url, Methods: []string{"POST"}}
	}
	text := func(capability, scope string) grant.Text { return grant.Text{Capability: capability, Scope: scope} }
	for name, c := range map[string]struct {
		used []grant.Text
		want []string
	}{
		"nothing": {nil, nil},
		"each scope once": {
			[]grant.Text{text("tcp", "b:1"), text("tcp", "a:1"), text("tcp", "b:1"), text("kv", ""), text("kv", ""), text("env", "A")},
			[]string{"env A", "tcp a:1", "tcp b:1", "kv"},
		},
		"a collection has its items": {
			[]grant.Text{post("https://a/v1/pets"), get("https://a/v1/pets/cat"), get("https://a/v1/pets/dog/toys")},
			[]string{"http https://a/v1/pets with the methods GET, POST"},
		},
		"other collections are not granted": {
			[]grant.Text{get("https://a/v1/pets"), post("https://a/v1/users")},
			[]string{"http https://a/v1/pets with the methods GET", "http https://a/v1/users with the methods POST"},
		},
		"IDs are left out": {
			[]grant.Text{get("https://a/v2beta1/zones/4f1c2/records"), post("https://a/users/me@example.org")},
			[]string{"http https://a/users with the methods POST", "http https://a/v2beta1/zones with the methods GET"},
		},
		"many names are IDs": {
			[]grant.Text{
				get("https://a/p/a/x"), get("https://a/p/b/x"), get("https://a/p/c/x"), get("https://a/p/d/x"), get("https://a/p/e/x"),
				get("https://a/p/f/x"), get("https://a/p/g/x"), get("https://a/p/h/x"), get("https://a/p/i/x"),
			},
			[]string{"http https://a/p with the methods GET"},
		},
		"services are told apart": {
			[]grant.Text{get("https://a/"), get("http://a:8080/x"), get("https://b")},
			[]string{"http http://a:8080/x with the methods GET", "http https://a with the methods GET", "http https://b with the methods GET"},
		},
		"all methods": {
			[]grant.Text{get("https://a/x"), text("http", "https://a/x")},
			[]string{"http https://a/x"},
		},
		"a path that no grant can name": {
			[]grant.Text{get("https://a/x/%2e%2e/y")}, []string{"http https://a with the methods GET"},
		},
		"escaped segments": {
			[]grant.Text{get("https://a/x%20y/z")}, []string{"http https://a/x%20y/z with the methods GET"},
		},
		"directories in others": {
			[]grant.Text{text("fs", "a/b:ro"), text("fs", "a:ro"), text("fs", "ab:ro"), text("fs", "a/c:rw"), text("fs", "a/c/d:ro"), text("fs", "a/c:ro")},
			[]string{"fs a/c:rw", "fs a:ro", "fs ab:ro"},
		},
		"the project's own directory": {
			[]grant.Text{text("fs", ".:ro"), text("fs", "a:ro"), text("fs", "/etc:ro"), text("fs", "../x:ro")},
			[]string{"fs ../x:ro", "fs .:ro", "fs /etc:ro"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, g := range grant.Least(c.used) {
				got = append(got, g.String())
			}
			require.Equal(t, c.want, got)
		})
	}
}

// What was learned covers what was used.
func FuzzLeast(f *testing.F) {
	f.Add("https://a.example.org/v1/pets/1", "https://a.example.org/v1/pets", "GET")
	f.Add("https://a.example.org//x/%41", "https://a.example.org/x;y", "POST")
	f.Fuzz(func(t *testing.T, a, b, method string) {
		var used []grant.Text
		var asked []*httprequest.Request
		for _, url := range []string{a, b} {
			target, err := httprequest.ParseTarget(url)
			if err != nil || !httprequest.IsToken(method) || method != strings.ToUpper(method) {
				continue
			}
			if g, err := grant.ParseHTTP(target.Origin()); err != nil || !g.Covers(httprequest.New(method, target), target.Host) {
				continue
			}
			used = append(used, grant.Text{Capability: "http", Scope: target.String(), Methods: []string{method}})
			asked = append(asked, httprequest.New(method, target))
		}
		var set grant.Set
		for _, g := range grant.Least(used) {
			require.NoError(t, set.Add(g, grant.Place{}))
		}
		for _, req := range asked {
			require.True(t, slices.ContainsFunc(set.HTTP, func(g grant.HTTP) bool {
				return g.Covers(req, req.Host) && g.Allows([]string{method})
			}), "%s is not covered by %v", req.Target, set.HTTP)
		}
	})
}
