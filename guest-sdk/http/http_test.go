package http_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/abi/property"
	"github.com/husk-dev/husk/guest-sdk/guest"
	guesthttp "github.com/husk-dev/husk/guest-sdk/http"
	"github.com/husk-dev/husk/guest-sdk/http/internal/fetch"
	"github.com/husk-dev/husk/host"
	"github.com/husk-dev/husk/internal/testkit/testmodule"
)

const source = "./internal/fetch/module"

// built returns the fetching provider as husk provider build makes it.
func built(t *testing.T) *host.Module { return testmodule.Load(t, source, host.NewConfig()) }

// plain returns the fetching provider as go build makes it.
func plain(t *testing.T) *host.Module {
	t.Helper()
	testmodule.Skip(t)
	testmodule.DependOn(t, source)
	path := filepath.Join(t.TempDir(), "fetch.wasm")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-o", path, source)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	m, err := testmodule.Host(t, host.NewConfig()).Load(t.Context(), path)
	require.NoError(t, err)
	return m
}

// provide returns the module as a provider that may send requests to the URL.
func provide(t *testing.T, m *host.Module, url string) abi.Provider {
	t.Helper()
	granted, err := grant.ParseHTTP(url)
	require.NoError(t, err)
	p, err := m.NewProvider(t.Context(), host.ProviderOptions{Name: "fetch", Grants: host.Grants{HTTP: []host.HTTPGrant{granted}}})
	require.NoError(t, err)
	t.Cleanup(func() { p.Close() })
	return p
}

// newServer returns a server to fetch from.
func newServer(t *testing.T) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/echo":
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			w.Header().Set("Trailer", "X-Sum")
			fmt.Fprintf(w, "%s %s %s %d %v ", r.Method, r.RequestURI, r.Header.Get("X-Test"), r.ContentLength, r.TransferEncoding)
			if len(body) < 100 {
				w.Write(body)
			}
			w.Header().Set("X-Sum", fmt.Sprint(len(body)))
		case "/large":
			for range 64 {
				fmt.Fprint(w, strings.Repeat("0123456789abcdef", 4<<10))
			}
		case "/user":
			user, password, _ := r.BasicAuth()
			fmt.Fprint(w, user, password)
		case "/redirect":
			http.Redirect(w, r, "/echo?redirected", http.StatusTemporaryRedirect)
		case "/elsewhere":
			http.Redirect(w, r, "http://example.org/", http.StatusFound)
		case "/hang":
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		case "/trickle":
			fmt.Fprint(w, "begun")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case "/cut":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "cut")
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"message": "no such page"}`)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func invoke(ctx context.Context, p abi.Provider, args map[string]any) (property.Map, error) {
	entries := make([]property.Entry, 0, len(args))
	for name, arg := range args {
		v := property.Null
		switch arg := arg.(type) {
		case string:
			v = property.String(arg)
		case int:
			v = property.Number(float64(arg))
		case bool:
			v = property.Bool(arg)
		}
		entries = append(entries, property.Entry{Key: name, Value: v})
	}
	r, err := p.Invoke(ctx, abi.InvokeRequest{Token: "fetch:index:fetch", Args: property.NewMap(entries...)})
	if len(r.Failures) > 0 {
		return property.Map{}, fmt.Errorf("%v", r.Failures)
	}
	return r.Result, err
}

// What package net/http does in a program, it does in a module.
func TestModule(t *testing.T) {
	t.Run("built by husk", func(t *testing.T) { testModule(t, built(t)) })
	t.Run("built by go", func(t *testing.T) { testModule(t, plain(t)) })
}

func testModule(t *testing.T, m *host.Module) {
	server := newServer(t)
	native, err := guest.New(fetch.Provider())
	require.NoError(t, err)
	wasm := provide(t, m, server.URL)

	for name, args := range map[string]map[string]any{
		"get":                     {"url": "/echo?a=%20b", "header": "x"},
		"get of what is not":      {"url": "/nothing"},
		"head":                    {"url": "/nothing", "method": "HEAD"},
		"no content":              {"url": "/none", "method": "DELETE"},
		"user in the URL":         {"url": "http://ann:secret@" + strings.TrimPrefix(server.URL, "http://") + "/user"},
		"post":                    {"url": "/echo", "method": "POST", "body": "x", "declared": true},
		"post, of unknown length": {"url": "/echo", "method": "POST", "body": "0123456789", "repeat": 100_000},
		"post, large":             {"url": "/echo", "method": "PUT", "body": "0123456789", "repeat": 100_000, "declared": true},
		"large response":          {"url": "/large"},
		"redirect":                {"url": "/redirect", "method": "POST", "body": "again", "declared": true},
		"many":                    {"url": "/echo", "times": 3 * host.MaxHTTPExchanges},
		"deadline":                {"url": "/hang", "timeoutMs": 50},
		"deadline in the body":    {"url": "/trickle", "timeoutMs": 50},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(args["url"].(string), "/") {
				args["url"] = server.URL + args["url"].(string)
			}
			want, err := invoke(t.Context(), native, args)
			require.NoError(t, err)
			got, err := invoke(t.Context(), wasm, args)
			require.NoError(t, err)
			if sent, _ := args["declared"].(bool); !sent && name == "post, of unknown length" {
				require.Contains(t, text(got, "text"), "[chunked]")
			}
			require.Equal(t, want, got)
		})
	}

	t.Run("cancelled with the call", func(t *testing.T) {
		for _, path := range []string{"/hang", "/trickle"} {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(100*time.Millisecond, cancel)
			got, err := invoke(ctx, wasm, map[string]any{"url": server.URL + path})
			require.NoError(t, err)
			require.Equal(t, "cancelled", text(got, "failure"))
		}
	})
	t.Run("cut off", func(t *testing.T) {
		_, err := invoke(t.Context(), wasm, map[string]any{"url": server.URL + "/cut"})
		require.ErrorIs(t, err, abi.ErrUnavailable)
		require.ErrorContains(t, err, "unexpected EOF")
	})
	t.Run("refused", func(t *testing.T) {
		for _, args := range []map[string]any{{"url": "https://example.org/"}, {"url": server.URL + "/elsewhere"}} {
			_, err := invoke(t.Context(), wasm, args)
			require.ErrorIs(t, err, abi.ErrDenied)
			require.ErrorContains(t, err, "its grants: http are "+server.URL+"\n| to grant it,")
			require.ErrorContains(t, err, "add to the provider's grants: http http")
		}
		_, err := invoke(t.Context(), wasm, map[string]any{"url": server.URL + "/echo", "host": "example.org"})
		require.ErrorContains(t, err, `the header Host is "example.org"`)
	})
	t.Run("bodies left open end with their call", func(t *testing.T) {
		open := map[string]any{"url": server.URL + "/large", "open": true, "times": host.MaxHTTPExchanges}
		for range 3 {
			_, err := invoke(t.Context(), wasm, open)
			require.NoError(t, err)
		}
		open["times"] = host.MaxHTTPExchanges + 1
		_, err := invoke(t.Context(), wasm, open)
		require.ErrorContains(t, err, "are open already")
	})
}

func text(m property.Map, name string) string {
	s, _ := m.Get(name).AsString()
	return s
}

func TestTransportInAProgram(t *testing.T) {
	server := newServer(t)
	client := http.Client{Transport: guesthttp.Transport{}}
	response, err := client.Get(server.URL + "/echo")
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, "GET /echo  0 [] ", string(body))
}
