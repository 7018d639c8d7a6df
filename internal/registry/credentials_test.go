package registry_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/husk-dev/husk/internal/registry"
	"github.com/husk-dev/husk/internal/registry/registrytest"
)

// elsewhere is a server on another port, which records what it receives and answers as it is told.
type elsewhere struct {
	*httptest.Server
	mu       sync.Mutex
	received bytes.Buffer
	requests int
}

func startElsewhere(t *testing.T, answer http.HandlerFunc) *elsewhere {
	e := &elsewhere{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		e.requests++
		_ = r.Header.Write(&e.received)
		_, _ = io.WriteString(&e.received, r.URL.String()+"\n")
		_, _ = io.Copy(&e.received, io.LimitReader(r.Body, 1<<10))
		e.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *elsewhere) seen() (string, int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.received.String(), e.requests
}

// Whatever a registry answers, no credentials reach another host, port, or scheme, unless the operator has named that.
func TestCredentialsStayWithTheirRegistry(t *testing.T) {
	wants := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}
	challenge := func(text string) registrytest.Fault {
		return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("WWW-Authenticate", text)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}
	basic := auth.Credential{Username: "alice", Password: "canary4711"}
	refresh := auth.Credential{RefreshToken: "canary4711"}
	for name, c := range map[string]struct {
		credential auth.Credential
		// match and fault are of the registry, where AT is the other server.
		match string
		fault func(at string) registrytest.Fault
		// unasked says that the other server is not even asked.
		unasked bool
		push    bool
	}{
		"realm on another port": {basic, "GET /v2/", func(at string) registrytest.Fault { return challenge(`Bearer realm="` + at + `/token",service="x"`) }, true, false},
		"realm in other letters": {basic, "GET /v2/", func(at string) registrytest.Fault {
			return challenge(`bEaReR service="x", realm="` + at + `/token?a=b"`)
		}, true, false},
		"realm for a refresh token": {refresh, "GET /v2/", func(at string) registrytest.Fault { return challenge(`Bearer realm="` + at + `/token"`) }, true, false},
		"realm on another host": {basic, "GET /v2/", func(at string) registrytest.Fault {
			return challenge(`Bearer realm="` + strings.Replace(at, "127.0.0.1", "localhost", 1) + `/token"`)
		}, true, false},
		"redirected blob": {basic, "GET /v2/acme/greet/blobs/", func(at string) registrytest.Fault { return registrytest.Redirect(at) }, false, false},
		"redirected tags": {basic, "GET /v2/acme/greet/tags/", func(at string) registrytest.Fault { return registrytest.Redirect(at) }, false, false},
		"next page of tags": {basic, "GET /v2/acme/greet/tags/", func(at string) registrytest.Fault {
			return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
				w.Header().Set("Link", `<`+at+`/v2/acme/greet/tags/list?last=x>; rel="next"`)
				_, _ = io.WriteString(w, `{"name":"acme/greet","tags":["1.0.0"]}`)
			}
		}, true, false},
		"redirected referrers": {basic, "GET /v2/acme/greet/referrers/", func(at string) registrytest.Fault { return registrytest.Redirect(at) }, false, false},
		"place of an upload": {basic, "POST /v2/acme/", func(at string) registrytest.Fault {
			return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				w.Header().Set("Location", at+"/v2/acme/other/blobs/uploads/1")
				w.WriteHeader(http.StatusAccepted)
			}
		}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			other := startElsewhere(t, wants)
			s := start(t)
			release := push(t, s, "greet", "1.0.0", wasm(1, 10_000))
			login := strings.Join([]string{c.credential.Username, c.credential.Password}, ":")
			if strings.HasPrefix(c.match, "GET /v2/acme") || c.push {
				s.RequireLogin("alice", "canary4711")
			}
			s.Fail(c.match, 0, c.fault(other.URL))
			for range 2 { // the second time with what is remembered
				cl, _ := client(t, func(o *registry.Options) {
					o.Credential = func(_ context.Context, host string) (auth.Credential, error) {
						require.Equal(t, s.Host, host, "credentials of another host")
						return c.credential, nil
					}
				})
				var err error
				if c.push {
					to, parseErr := registry.ParseReference(s.Host + "/acme/other:1.0.0")
					require.NoError(t, parseErr)
					_, err = cl.Push(t.Context(), to, wasm(2, 10_000), registry.Labels{Version: "1.0.0"}, false, nil)
				} else {
					_, err = get(t.Context(), cl, source(t, s, "greet"), anyVersion(t, ""))
					_, _ = cl.PublishedSignatures(t.Context(), source(t, s, "greet"), release)
				}
				if err != nil {
					require.NotContains(t, err.Error(), "canary4711")
				}
				if realm, ok := errors.AsType[*registry.RealmError](err); ok {
					require.Equal(t, s.Host, realm.Registry)
					require.ErrorContains(t, err, "set HUSK_REGISTRY_REALMS="+s.Host+"=")
				}
			}
			received, requests := other.seen()
			require.Equal(t, c.unasked, requests == 0, received)
			require.NotContains(t, received, "Authorization", login)
			require.NotContains(t, received, "Referer")
			require.NotContains(t, received, "canary4711")
		})
	}
}

// The operator can name the host at which a registry issues tokens.
func TestRealms(t *testing.T) {
	s := start(t)
	push(t, s, "greet", "1.0.0", wasm(1, 10_000))
	other := startElsewhere(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"token":"token"}`) })
	s.Fail("GET /v2/", 0, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Header.Get("Authorization") != "Bearer token" {
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+other.URL+`/token"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
	with := func(realms []registry.Realm, credential auth.Credential) error {
		c, _ := client(t, func(o *registry.Options) {
			o.Realms = realms
			o.Credential = auth.StaticCredential(s.Host, credential)
		})
		_, err := get(t.Context(), c, source(t, s, "greet"), anyVersion(t, ""))
		return err
	}
	alice := auth.Credential{Username: "alice", Password: "secret"}
	require.NoError(t, with(nil, auth.EmptyCredential), "what is public needs no credentials")
	require.Error(t, with(nil, alice))
	realms, err := registry.ParseRealms(" " + s.Host + "=" + strings.TrimPrefix(other.URL, "http://") + ", other.example=auth.example")
	require.NoError(t, err)
	require.NoError(t, with(realms, alice))
	received, _ := other.seen()
	require.Contains(t, received, "Authorization: Basic")
	require.Error(t, with(realms[1:], alice), "of another registry")
	for _, text := range []string{"registry.example", "registry.example=", "=auth.example", "registry.example=https://auth.example", "a.example=b.example/path"} {
		_, err := registry.ParseRealms(text)
		require.ErrorContains(t, err, "does not have the form", text)
	}
}
