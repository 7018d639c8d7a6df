package plugins

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/husk-dev/husk/engine"
	"github.com/husk-dev/husk/engine/program"
	"github.com/husk-dev/husk/engine/projectroot"
	"github.com/husk-dev/husk/internal/base/egress"
	"github.com/husk-dev/husk/internal/base/named/namedtest"
	"github.com/husk-dev/husk/internal/base/versionrange"
	"github.com/husk-dev/husk/internal/registry"
	"github.com/husk-dev/husk/internal/registry/registrytest"
)

// internet reaches all that is not inside. It implements [http.RoundTripper].
type internet struct {
	inside string
	base   http.RoundTripper
}

func (i internet) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == i.inside {
		return nil, &egress.AddressError{Host: r.URL.Host, What: "inside"}
	}
	return i.base.RoundTrip(r)
}

// What the operator names opens that namespace of that registry, whoever leads there by whatever, and nothing beside it.
func TestANamedRegistryOpensWhatWasNamed(t *testing.T) {
	redirect := func(to string) registrytest.Fault {
		return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		}
	}
	challenge := func(realm string) registrytest.Fault {
		return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+realm+`",service="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}
	const blobs, tags = "GET /v2/acme/lab/blobs/", "GET /v2/acme/lab/tags/"
	for name, test := range map[string]struct {
		// variable is what the operator has named: INSIDE is the registry.
		variable, value string
		// source is what the project names, where OUTSIDE is a registry in the Internet.
		source string
		// inside and outside are faults of the registries.
		inside, outside func(inside, outside *registrytest.Server)
		// allowed says that it is fetched. Otherwise nothing of forbidden is asked of the registry inside.
		allowed   bool
		forbidden string
	}{
		"the namespace":         {source: "oci://INSIDE/acme/lab", allowed: true},
		"all of the host":       {value: "oci://INSIDE", source: "oci://INSIDE/other/lab", allowed: true},
		"a namespace below":     {value: "oci://INSIDE/acme/sub", source: "oci://INSIDE/acme/lab", forbidden: "/"},
		"another namespace":     {source: "oci://INSIDE/other/lab", forbidden: "/"},
		"one that begins alike": {source: "oci://INSIDE/acme2/lab", forbidden: "/"},
		"a mirror":              {variable: mirrorsVariable, value: "registry.invalid=INSIDE/acme", source: "oci://registry.invalid/lab", allowed: true},
		"beside a mirror":       {variable: mirrorsVariable, value: "registry.invalid=INSIDE/acme", source: "oci://INSIDE/other/lab", forbidden: "/"},
		"a file":                {source: "http://INSIDE/admin/lab.wasm", forbidden: "/"},
		"a file by ..":          {source: "http://INSIDE/v2/acme/../../admin/lab.wasm", forbidden: "/"},
		"a file by an escape":   {source: "http://INSIDE/v2/acme/%2e%2e/%2e%2e/admin/lab.wasm", forbidden: "/"},
		"a file by a slash":     {source: "http://INSIDE/v2/acme/..%2fother/lab.wasm", forbidden: "/"},
		"a file by a backslash": {source: `http://INSIDE/v2/acme/..%5cother/lab.wasm`, forbidden: "/"},
		"redirected by itself":  {source: "oci://INSIDE/acme/lab", inside: func(in, _ *registrytest.Server) { in.Fail(blobs, 0, redirect("http://"+in.Host+"/admin")) }, forbidden: "/admin"},
		"redirected to another": {source: "oci://INSIDE/acme/lab", inside: func(in, _ *registrytest.Server) {
			in.Fail(tags, 0, redirect("http://"+in.Host+"/v2/other/lab/tags/list"))
		}, forbidden: "/v2/other"},
		"redirected to itself": {source: "oci://INSIDE/acme/lab", inside: func(in, _ *registrytest.Server) {
			in.Fail(tags, 1, redirect("http://"+in.Host+"/v2/acme/lab/tags/list"))
		}, allowed: true},
		"redirected from abroad": {source: "oci://OUTSIDE/acme/lab", outside: func(in, out *registrytest.Server) { out.Fail(blobs, 0, redirect("http://"+in.Host+"/admin")) }, forbidden: "/"},
		"a realm from abroad":    {source: "oci://OUTSIDE/acme/lab", outside: func(in, out *registrytest.Server) { out.Fail(tags, 0, challenge("http://"+in.Host+"/token")) }, forbidden: "/"},
		"a next page": {source: "oci://INSIDE/acme/lab", inside: func(in, _ *registrytest.Server) {
			in.Fail(tags, 0, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				w.Header().Set("Link", `</v2/other/lab/tags/list>; rel="next"`)
				fmt.Fprint(w, `{"name":"acme/lab","tags":["1.0.0"]}`)
			})
		}, forbidden: "/v2/other"},
		"tokens":             {source: "oci://INSIDE/acme/lab", inside: func(in, _ *registrytest.Server) { in.RequireLogin("ann", "canary4711") }, allowed: true},
		"tokens for another": {source: "oci://INSIDE/other/lab", inside: func(in, _ *registrytest.Server) { in.RequireLogin("ann", "canary4711") }, forbidden: "/"},
	} {
		t.Run(name, func(t *testing.T) {
			in, out := registrytest.Start(), registrytest.Start()
			defer in.Close()
			defer out.Close()
			named := strings.NewReplacer("INSIDE", in.Host, "OUTSIDE", out.Host)
			publisher := registry.New(registry.Options{Cache: t.TempDir(), MaxSize: 1 << 20})
			wasm := append([]byte("\x00asm\x01\x00\x00\x00"), make([]byte, 1000)...)
			for _, to := range []string{in.Host + "/acme/lab", in.Host + "/other/lab", in.Host + "/acme2/lab", out.Host + "/acme/lab"} {
				ref, err := registry.ParseReference(to + ":1.0.0")
				require.NoError(t, err)
				_, err = publisher.Push(t.Context(), ref, wasm, registry.Labels{Title: "lab", Version: "1.0.0"}, false, nil)
				require.NoError(t, err)
			}
			before := len(in.Requests(""))
			if test.inside != nil {
				test.inside(in, out)
			}
			if test.outside != nil {
				test.outside(in, out)
			}
			if test.variable == "" {
				test.variable = registriesVariable
			}
			if test.value == "" {
				test.value = "oci://INSIDE/acme"
			}
			t.Setenv(registriesVariable, "")
			t.Setenv(mirrorsVariable, "")
			t.Setenv(test.variable, named.Replace(test.value))
			o := registry.Options{Cache: t.TempDir(), MaxSize: 1 << 20, Pause: time.Millisecond}
			var err error
			if test.variable == mirrorsVariable {
				o.Mirrors, err = registry.ParseMirrors(named.Replace(test.value))
				require.NoError(t, err)
			}
			r := newReach(o.Mirrors, nil)
			o.Entrusted = r.covers
			o.Transport = func(base *http.Transport) http.RoundTripper {
				r.over(base)
				r.closed = internet{in.Host, base}
				return r
			}
			o.Credential = func(_ context.Context, host string) (auth.Credential, error) {
				require.Equal(t, in.Host, host)
				return auth.Credential{Username: "ann", Password: "canary4711"}, nil
			}
			client := registry.New(o)
			from, err := registry.ParseSource(named.Replace(test.source))
			require.NoError(t, err)
			release, err := client.Resolve(t.Context(), from, versionrange.Range{})
			if err == nil {
				_, err = client.Fetch(t.Context(), from, release)
			}
			if test.allowed {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			for _, request := range in.Requests("")[before:] {
				require.False(t, strings.HasPrefix(request.URL.Path, test.forbidden), "%s %s", request.Method, request.URL)
			}
			refused, ok := errors.AsType[*egress.AddressError](err)
			require.True(t, ok, err)
			require.Equal(t, in.Host, refused.Host)
			require.ErrorContains(t, err, "with its port and namespace, in HUSK_REGISTRY_MIRRORS or HUSK_REGISTRIES")
		})
	}
}

// Credentials of the operator are not for what a project names beside the namespaces that he has named, also not at the same registry,
// and also not once that has got them.
func TestCredentialsAreForNamedNamespaces(t *testing.T) {
	s := registrytest.Start()
	defer s.Close()
	t.Setenv(registriesVariable, "oci://"+s.Host+"/acme")
	s.RequireLogin("ann", "canary4711")
	r := newReach(nil, nil)
	client := registry.New(registry.Options{
		Cache: t.TempDir(), MaxSize: 1 << 20, Pause: time.Millisecond, Entrusted: r.covers,
		Transport: func(base *http.Transport) http.RoundTripper {
			r.over(base)
			r.closed = base // the registry is in the Internet
			return r
		},
		Credential: auth.StaticCredential(s.Host, auth.Credential{Username: "ann", Password: "canary4711"}),
	})
	for _, one := range []struct {
		repository string
		entrusted  bool
	}{{"acme", true}, {"other", false}, {"acme", true}, {"acme2", false}} {
		before := len(s.Requests(""))
		from, err := registry.ParseSource("oci://" + s.Host + "/" + one.repository + "/lab")
		require.NoError(t, err)
		_, err = client.Resolve(t.Context(), from, versionrange.Range{})
		if one.entrusted {
			require.ErrorIs(t, err, registry.ErrNotFound)
			continue
		}
		require.ErrorContains(t, err, "the project is not trusted, and gets your credentials only for what HUSK_REGISTRIES or HUSK_REGISTRY_MIRRORS names")
		for _, request := range s.Requests("")[before:] {
			require.Empty(t, request.Header.Get("Authorization"), request.URL)
		}
	}
}

// Whatever of the environment and of the user's files holds credentials, a source that a project names gets none of it that
// is not for its host.
func TestSourcesGetNoCredentials(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the user's files are elsewhere")
	}
	namedtest.Set(t)
	r := namedtest.Start(t)
	at := r.Addr().String()
	for name, source := range map[string]string{
		"registry": "oci://" + at + "/acme/greet", "file": "http://" + at + "/greet.wasm", "repository": "git+http://" + at + "/greet//provider@v1.0.0", "name": "greet",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath("git"); err != nil && name == "repository" {
				t.Skip("git is not installed")
			}
			dir := t.TempDir()
			file := "name: demo\nruntime: yaml\nplugins:\n  registries: ['oci://" + at + "/acme']\n  providers: [{name: greet, source: '" + source + "'}]\n"
			require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(file), 0o644))
			project, err := program.LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
			require.NoError(t, err)
			p, err := Open(t.Context(), project, Options{Places: Places{Cache: t.TempDir()}})
			require.NoError(t, err)
			defer p.Close(t.Context())
			client, err := p.Registry(nil)
			require.NoError(t, err)
			declared := project.Provider("greet")
			from, err := p.Source(declared, nil)
			require.NoError(t, err)
			if name == "repository" {
				_, _, err = p.BuildCommit(t.Context(), client, from, "")
			} else {
				_, _, err = p.Resolve(t.Context(), client, from, versionrange.Range{})
			}
			require.Error(t, err)
			require.NotContains(t, err.Error(), namedtest.Canary)
			received, requests := r.Seen()
			require.NotZero(t, requests, err)
			require.NotContains(t, received, namedtest.Canary)
			require.NotContains(t, received, "Authorization")
		})
	}
}

// A stranger's grants lead to the Internet, however an address is written.
func TestUntrustedGrantsLeadToTheInternet(t *testing.T) {
	for _, host := range []string{
		"127.0.0.1", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "0.0.0.0", "::", "169.254.169.254", "fe80::1%eth0", "10.1.2.3", "fd00::1", "localhost", "2002:7f00:1::",
	} {
		require.ErrorContains(t, inTheInternet(host), "the project is not trusted: it may not reach", host)
	}
	for _, host := range []string{"93.184.216.34", "2606:2800:220:1::1", "example.com", "*.example.com"} {
		require.NoError(t, inTheInternet(host), host)
	}
}

// A rule of a trust policy that means less than it did, and decides nothing for that, is told once.
func TestAChangedRuleIsToldOnce(t *testing.T) {
	dir := t.TempDir()
	file := "name: demo\nruntime: yaml\nplugins: {trust: {rules: [{source: '*', unsigned: false}, {source: 'path:**', unsigned: true}]}}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Husk.yaml"), []byte(file), 0o644))
	project, err := program.LoadProject(t.Context(), projectroot.New(dir, projectroot.Trusted))
	require.NoError(t, err)
	var told []string
	p, err := Open(t.Context(), project, Options{Places: Places{Cache: t.TempDir()}, Events: func(e engine.Event) {
		if d, ok := e.(engine.Diagnostic); ok {
			told = append(told, d.Message)
		}
	}})
	require.NoError(t, err)
	defer p.Close(t.Context())
	for _, name := range []string{"a.wasm", "b.wasm"} {
		_, err := p.admit(t.Context(), p.pathOrigin(filepath.Join(dir, name)), "sha256:00")
		require.NoError(t, err)
	}
	require.Len(t, told, 1)
	require.Contains(t, told[0], "the rule for * was about path:./a.wasm before")
	require.Contains(t, told[0], "the trust policy is in Husk.yaml")
}
