package main_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/cmd/husk-server/identity/identitytest"
)

// People log in with a browser, and workloads with the tokens that they have. A person is one with each of their tokens.
func TestLoginWithAnIdentity(t *testing.T) {
	people, builds := identitytest.Start(t), identitytest.Start(t)
	people.Secret = "of the client"
	dir := t.TempDir()
	secret, rules := filepath.Join(dir, "secret"), filepath.Join(dir, "identity.yaml")
	require.NoError(t, os.WriteFile(secret, []byte(people.Secret+"\n"), 0o600))
	require.NoError(t, os.WriteFile(rules, []byte(`issuers:
  - issuer: `+people.URL+`
    audience: husk
    people: true
    secretFile: `+secret+`
    scopes: [groups]
    name: preferred_username
    rules: [{claims: {groups: operators}, team: acme, role: admin}]
  - issuer: `+builds.URL+`
    audience: https://husk.example
    rules: [{claims: {repository: acme/shop}, team: acme, role: request, projects: [demo]}]
`), 0o600))
	s := begin(t, "--identity", rules, "--require-approval")

	// person logs somebody in, on a machine.
	person := func(machine, subject, name, group string) (string, error) {
		cmd := s.command(machine, "login", "--sso", s.url)
		out := &output{}
		cmd.Stdout, cmd.Stderr = out, out
		require.NoError(t, cmd.Start())
		code := out.wait(t, regexp.MustCompile(`check that it shows the code (\S+)\.`))[1]
		people.Confirm(code, map[string]any{"sub": subject, "preferred_username": name, "groups": []string{group}})
		err := cmd.Wait()
		return out.String(), err
	}
	said, err := person("ann", "subject-1", "ann", "operators")
	require.NoError(t, err, said)
	require.Regexp(t, `You are ann/\w{8} in the team acme, with the role admin, until \d`, said)
	said, err = person("ann-laptop", "subject-1", "ann.smith", "operators") // her name can change
	require.NoError(t, err, said)
	said, err = person("bob", "subject-2", "bob", "operators")
	require.NoError(t, err, said)
	said, err = person("eve", "subject-3", "eve", "guests")
	require.Error(t, err)
	require.Contains(t, said, "no rule of the server gives")

	token := filepath.Join(dir, "token")
	exchange := func(issuer *identitytest.Issuer, claims map[string]any) (string, error) {
		require.NoError(t, os.WriteFile(token, []byte(issuer.Token(claims)+"\n"), 0o600))
		return s.husk("build", "login", "--identity-token", token, s.url)
	}
	said, err = exchange(builds, map[string]any{"aud": "https://husk.example", "sub": "repo:evil/shop", "repository": "evil/shop"})
	require.Error(t, err)
	require.Contains(t, said, "no rule of the server gives")
	said, err = exchange(builds, map[string]any{"aud": "https://husk.example", "sub": "repo:acme/shop:ref:refs/heads/main", "repository": "acme/shop"})
	require.NoError(t, err, said)
	require.Contains(t, said, "with the role request")

	// What ann asks for, she approves with none of her tokens.
	project := s.project(map[string]string{"Husk.yaml": "name: demo\nruntime: yaml\nresources: {}\n"})
	s.worker(s.token("acme", "w", "work"), "w")
	s.done("ann", "stack", "init", "dev", "-C", project)
	asked := s.done("ann", "up", "-C", project, "--remote", "--yes")
	require.Contains(t, asked, "husk remote approve ")
	run := regexp.MustCompile(`The run (\w{26}) is queued`).FindStringSubmatch(asked)[1]
	for _, machine := range []string{"ann", "ann-laptop"} {
		said, err := s.husk(machine, "remote", "approve", run)
		require.Error(t, err, machine)
		require.Contains(t, said, "somebody else is to approve", machine)
	}
	said, err = s.husk("build", "remote", "approve", run)
	require.Error(t, err)
	require.Contains(t, said, "it needs the role approve")
	s.done("bob", "remote", "approve", run)
	s.done("ann", "remote", "log", "-f", run)

	tokens := s.done("bob", "remote", "token", "ls")
	require.Regexp(t, `ann/\w{8} +admin +all projects  for subject-1  by `+regexp.QuoteMeta(people.URL)+`  until \S+  used`, tokens)
	require.Regexp(t, `repo:acme/shop:ref:refs/heads/main/\w{8}  request  demo`, tokens)
	audit := s.done("bob", "remote", "audit")
	require.Regexp(t, `bob/\w{8} of subject-2 .*run\.approve`, audit)
	require.Regexp(t, regexp.QuoteMeta(people.URL)+` of subject-1 .*token\.issue`, audit)

	resp, err := http.Post(s.url+"/v1/login", "application/json", strings.NewReader(`{"issuer":"`+builds.URL+`","device":"x"}`))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusForbidden, resp.StatusCode, "no person logs in there")
}
