package identity_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/identity"
	"github.com/husk-dev/husk/cmd/husk-server/identity/identitytest"
)

func load(t *testing.T, text string) (*identity.Config, error) {
	file := filepath.Join(t.TempDir(), "identity.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return identity.Load(file)
}

// What a file cannot mean is refused, and the error says where it is.
func TestFilesThatAreRefused(t *testing.T) {
	rule := "    rules: [{claims: {sub: x}, team: acme, role: request}]\n"
	for text, want := range map[string]string{
		"":                                   "it names no issuers",
		"issuers: []\nother: 1\n":            "field other not found",
		"issuers: [null]\n":                  "issuers[0] is empty",
		"issuers:\n  - audience: a\n" + rule: "issuers[0]: issuer \"\": it has the form https://host/path",
		"issuers:\n  - issuer: http://issuer.example\n    audience: a\n" + rule:                                                                   "anybody on the way could change its keys: use https",
		"issuers:\n  - issuer: https://issuer.example\n" + rule:                                                                                   "audience is missing",
		"issuers:\n  - issuer: https://issuer.example\n    audience: a\n":                                                                         "rules are missing",
		"issuers:\n  - issuer: https://issuer.example\n    audience: a\n    lifetime: 9000h\n" + rule:                                             "lifetime 9000h0m0s: it is at most 720h0m0s",
		"issuers:\n  - issuer: https://issuer.example\n    audience: a\n    secretFile: x\n" + rule:                                               "secretFile is for an issuer where people log in",
		"issuers:\n  - issuer: https://issuer.example\n    audience: a\n    people: true\n    secretFile: /nonexistent\n" + rule:                  "secretFile: open /nonexistent",
		"issuers:\n  - issuer: https://issuer.example\n    audience: a\n" + rule + "  - issuer: https://issuer.example\n    audience: b\n" + rule: "it has https://issuer.example twice",
	} {
		_, err := load(t, text)
		require.ErrorContains(t, err, want, text)
	}
	for rule, want := range map[string]string{
		"{team: acme, role: read}":                                                                   "rules[0]: claims are missing",
		"{claims: {sub: x}, team: A-1, role: read}":                                                  "team \"A-1\"",
		"{claims: {sub: x}, team: acme, role: root}":                                                 "role \"root\"",
		"{claims: {sub: x}, team: acme, role: approve}":                                              "role approve: only people have it",
		"{claims: {sub: x}, team: acme, role: admin}":                                                "role admin: only people have it",
		"{claims: {sub: x}, team: acme, role: read, projects: ['[']}":                                "\"[\" is not a valid pattern",
		"{claims: {sub: x}, team: acme, role: read, projects: [" + strings.Repeat("a, ", 101) + "]}": "rules[0]: 101 patterns of projects: a token is for at most 100",
		"{claims: {sub: x}, team: acme, role: read, projects: [" + strings.Repeat("a", 201) + "]}":   "more than 200 bytes",
	} {
		_, err := load(t, "issuers:\n  - issuer: https://issuer.example\n    audience: a\n    rules: ["+rule+"]\n")
		require.ErrorContains(t, err, want, rule)
	}
	_, err := load(t, "issuers:\n  - issuer: https://issuer.example\n    audience: a\n    people: true\n    rules: [{claims: {sub: x}, team: acme, role: work}]\n")
	require.ErrorContains(t, err, "role work: it is for workers")
}

// Nobody is two people who approve each other's runs.
func TestPeopleWhoWouldBeTwo(t *testing.T) {
	issuer := func(host, person, role, team string) string {
		return "  - issuer: https://" + host + ".example\n    audience: a\n    people: true\n    person: " + person + "\n    rules: [{claims: {sub: x}, team: " + team + ", role: " + role + "}]\n"
	}
	for _, row := range []struct{ text, want string }{
		{issuer("a", "preferred_username", "admin", "acme"), "person preferred_username: people can change this claim"},
		{issuer("a", "email", "read", "acme"), "person email: people can change this claim"},
		{issuer("a", "address/formatted", "read", "acme"), "person address/formatted: people can change this claim"},
		{issuer("a", "sub", "approve", "acme") + issuer("b", "sub", "request", "acme"), "issuers[1]: people of the team acme log in at https://a.example, too"},
		{issuer("a", "sub", "request", "acme") + issuer("b", "number", "admin", "acme"), "issuers[1]: people of the team acme"},
		{issuer("a", "number", "approve", "acme") + issuer("b", "number", "approve", "acme"), ""},
		{issuer("a", "sub", "approve", "acme") + issuer("b", "sub", "approve", "other"), ""},
		{issuer("a", "sub", "request", "acme") + issuer("b", "sub", "read", "acme"), ""},
		{strings.ReplaceAll(issuer("a", "email", "read", "acme"), "    people: true\n", ""), ""},
	} {
		_, err := load(t, "issuers:\n"+row.text)
		if row.want == "" {
			require.NoError(t, err, row.text)
			continue
		}
		require.ErrorContains(t, err, row.want, row.text)
	}
}

// The first rule of a team that matches counts, and all of its claims do.
func TestRules(t *testing.T) {
	issuer := identitytest.Start(t)
	c, err := load(t, `issuers:
  - issuer: `+issuer.URL+`
    audience: https://husk.example
    people: true
    name: preferred_username
    lifetime: 2h
    rules:
      - {claims: {repository: acme/shop, ref: 'refs/heads/release/**'}, team: acme, role: request, projects: [shop]}
      - {claims: {repository: 'acme/*'}, team: acme, role: preview}
      - {claims: {workflow: 'repo:acme/*:ref:refs/heads/main'}, team: acme, role: request}
      - {claims: {groups: ops}, team: ops, role: admin}
      - {claims: {groups: ops}, team: acme, role: read}
      - {claims: {email: '*@acme.example'}, team: mail, role: read}
      - {claims: {realm/roles: boss, staff: 'true'}, team: staff, role: approve}
`)
	require.NoError(t, err)
	for _, row := range []struct {
		what   string
		claims map[string]any
		team   string
		want   string
	}{
		{"all claims", map[string]any{"repository": "acme/shop", "ref": "refs/heads/release/1/x"}, "", "acme request [shop]"},
		{"another branch", map[string]any{"repository": "acme/shop", "ref": "refs/heads/main"}, "", "acme preview []"},
		{"part of a name", map[string]any{"repository": "evil-acme/shop"}, "", "no rule of the server gives"},
		{"a line before it", map[string]any{"repository": "evil\nacme/shop"}, "", "no rule of the server gives"},
		{"a part", map[string]any{"workflow": "repo:acme/shop:ref:refs/heads/main"}, "", "acme request []"},
		{"an environment with the name of a branch", map[string]any{"workflow": "repo:acme/shop:environment:x:ref:refs/heads/main"}, "", "no rule"},
		{"a branch with the name of another", map[string]any{"workflow": "repo:acme/shop:ref:refs/heads/x@repo:ref:refs/heads/main"}, "", "no rule"},
		{"one of a list, in two teams", map[string]any{"groups": []string{"dev", "ops"}}, "", "say which with --team, ops or acme"},
		{"one of a list", map[string]any{"groups": []string{"dev", "ops"}}, "ops", "ops admin []"},
		{"another team", map[string]any{"groups": []string{"dev", "ops"}}, "mail", `of the team "mail"`},
		{"no group", map[string]any{"groups": []string{"dev"}}, "", "no rule"},
		{"mail", map[string]any{"email": "ann@acme.example", "email_verified": true}, "", "mail read []"},
		{"mail that nobody has verified", map[string]any{"email": "ann@acme.example"}, "", "no rule"},
		{"mail that is not verified", map[string]any{"email": "ann@acme.example", "email_verified": false}, "", "no rule"},
		{"a path", map[string]any{"realm": map[string]any{"roles": []string{"boss"}}, "staff": true}, "", "staff approve []"},
		{"a number", map[string]any{"repository": 7}, "", "no rule"},
	} {
		claims := maps.Clone(row.claims)
		claims["sub"], claims["aud"], claims["preferred_username"] = "subject", "https://husk.example", "ann"
		who, err := c.Verify(t.Context(), issuer.Token(claims), row.team, time.Now)
		if err != nil {
			require.ErrorContains(t, err, row.want, row.what)
			continue
		}
		require.Equal(t, "subject", who.Person)
		require.Equal(t, "ann", who.Name)
		require.Equal(t, 2*time.Hour, who.Issuer.Lifetime)
		require.Equal(t, row.want, who.Rule.Team+" "+string(who.Rule.Role)+" ["+strings.Join(who.Rule.Projects, " ")+"]", row.what)
	}
}

// Only what the issuer has signed for this server, and lately, shows who somebody is.
func TestTokensThatDoNotCount(t *testing.T) {
	issuer, other := identitytest.Start(t), identitytest.Start(t)
	c, err := load(t, "issuers:\n  - issuer: "+issuer.URL+"\n    audience: husk\n    rules: [{claims: {sub: '*'}, team: acme, role: request}]\n")
	require.NoError(t, err)
	claims := map[string]any{"sub": "ann", "aud": "husk"}
	with := func(name string, value any) map[string]any {
		all := maps.Clone(claims)
		all[name] = value
		return all
	}
	good := issuer.Token(claims)
	_, err = c.Verify(t.Context(), good, "", time.Now)
	require.NoError(t, err)
	parts := strings.Split(good, ".")
	forged := strings.Split(issuer.Token(with("sub", "eve")), ".")
	for what, row := range map[string]struct {
		token  string
		status int
	}{
		"nothing":                {"", http.StatusBadRequest},
		"no token":               {"a.b.c", http.StatusBadRequest},
		"too long":               {good + strings.Repeat("x", 100_000), http.StatusBadRequest},
		"another issuer":         {other.Token(claims), http.StatusForbidden},
		"signed by another":      {other.Token(with("iss", issuer.URL)), http.StatusForbidden},
		"for somebody else":      {issuer.Token(with("aud", "other")), http.StatusForbidden},
		"for nobody":             {issuer.Token(map[string]any{"sub": "ann"}), http.StatusForbidden},
		"ended":                  {issuer.Token(with("exp", time.Now().Add(-time.Minute).Unix())), http.StatusForbidden},
		"not yet":                {issuer.Token(with("nbf", time.Now().Add(time.Hour).Unix())), http.StatusForbidden},
		"another's signature":    {parts[0] + "." + forged[1] + "." + parts[2], http.StatusForbidden},
		"no signature":           {parts[0] + "." + parts[1] + ".", http.StatusForbidden},
		"no algorithm":           {issuer.Sign(map[string]any{"alg": "none"}, with("iss", issuer.URL)), http.StatusForbidden},
		"another algorithm":      {issuer.Sign(map[string]any{"alg": "HS256"}, with("iss", issuer.URL)), http.StatusForbidden},
		"no subject":             {issuer.Token(map[string]any{"aud": "husk"}), http.StatusForbidden},
		"a subject for a screen": {issuer.Token(with("sub", "ann\x1b[2J")), http.StatusForbidden},
	} {
		_, err := c.Verify(t.Context(), row.token, "", time.Now)
		var refused *identity.RefusedError
		require.True(t, errors.As(err, &refused), "%s: %v", what, err)
		require.Equal(t, row.status, refused.Status, "%s: %v", what, err)
	}
}

// A token of anybody takes no more memory than docs/security.md says.
func TestIdentityTokensStayWithinTheirBound(t *testing.T) {
	issuer := identitytest.Start(t)
	c, err := load(t, "issuers:\n  - issuer: "+issuer.URL+"\n    audience: husk\n    rules: [{claims: {sub: '*'}, team: acme, role: request}]\n")
	require.NoError(t, err)
	_, err = c.Verify(t.Context(), issuer.Token(map[string]any{"sub": "ann", "aud": "husk"}), "", time.Now) // asks for the keys
	require.NoError(t, err)
	encode := base64.RawURLEncoding.EncodeToString
	const header, payload = `{"alg":"RS256","kid":"1"`, `{"iss":"`
	for what, parts := range map[string][2]string{
		"claims":    {header + "}", payload + issuer.URL + `"` + strings.Repeat(`,"a":{}`, 4800) + "}"},
		"audiences": {header + "}", payload + issuer.URL + `","aud":[` + strings.Repeat(`"",`, 11_000) + `""]}`},
		"depth":     {header + "}", payload + issuer.URL + `","a":` + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + "}"},
		"members":   {header + strings.Repeat(`,"b":{}`, 4800) + "}", payload + issuer.URL + `"}`},
		"a chain":   {header + `,"x5c":[` + strings.Repeat(`"",`, 11_000) + `""]}`, payload + issuer.URL + `"}`},
		"names":     {header + manyNames() + "}", payload + issuer.URL + `"}`},
	} {
		token := encode([]byte(parts[0])) + "." + encode([]byte(parts[1])) + "." + encode(make([]byte, 256))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := c.Verify(t.Context(), token, "", time.Now)
		runtime.ReadMemStats(&after)
		require.Error(t, err, what)
		require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20), what)
	}
}

func manyNames() string {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, `,"%d":[]`, i)
	}
	return b.String()
}

// Spellings of a name that nobody tells apart are of one person.
func TestSpellingsOfOnePerson(t *testing.T) {
	for one, other := range map[string]string{
		"ann": "ＡＮＮ", "ann lee": " Ann\u00a0 LEE\t", "jos\u00e9": "JOSE\u0301", "straße": "STRASSE", "ann\u200b": "a\u00adn\ufeffn", "K": "\u212a", "ﬁnn": "FINN", "Σίσυφος": "ΣΊΣΥΦΟΣ", "i": "I\ufe0f",
	} {
		require.True(t, identity.SamePerson(one, other), "%q %q", one, other)
	}
	for one, other := range map[string]string{"ann": "anna", "a.b": "ab", "ann lee": "annlee", "jose": "josé", "1": "l", "auth0|1": "auth0|2"} {
		require.False(t, identity.SamePerson(one, other), "%q %q", one, other)
	}
	for _, nobody := range []string{"", " ", "\u200b", "\u00a0\u2060"} {
		require.False(t, identity.IsPerson(nobody), "%q", nobody)
	}
}
