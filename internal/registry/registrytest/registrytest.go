// Package registrytest is an OCI registry on this machine for tests, behind a proxy that makes it fail as registries and
// networks do.
package registrytest

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// Server is a registry with nothing in it. Close it after the last use.
type Server struct {
	*httptest.Server
	// Host is the host and port of the registry.
	Host string

	registry http.Handler

	mu       sync.Mutex
	faults   []*fault
	requests []*http.Request
	login    string // user:password, empty for none
}

// Fault answers a request in place of the registry, or changes its answer.
type Fault func(w http.ResponseWriter, r *http.Request, registry http.Handler)

type fault struct {
	match string
	left  int
	do    Fault
}

// Start starts a registry in memory.
func Start() *Server {
	return StartWith(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true)))
}

// StartWith starts another registry behind the proxy.
func StartWith(handler http.Handler) *Server {
	s := &Server{registry: handler}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	s.Host = s.Listener.Addr().String()
	return s
}

// Fail lets a fault answer the requests whose method and path, such as "GET /v2/acme/greet/blobs/", have a text in them.
// It does so for the next times, or for all if times is 0.
func (s *Server) Fail(match string, times int, do Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault{match, times, do})
}

// Heal removes all faults.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// RequireLogin has the registry want tokens, which it gives to a user with a password.
func (s *Server) RequireLogin(user, password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.login = user + ":" + password
}

// Requests returns the requests so far whose method and path have a text in them.
func (s *Server) Requests(match string) (matching []*http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if strings.Contains(r.Method+" "+r.URL.Path, match) {
			matching = append(matching, r)
		}
	}
	return matching
}

const token = "token-of-the-registry"

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Clone(r.Context()))
	login := s.login
	at := slices.IndexFunc(s.faults, func(f *fault) bool { return strings.Contains(r.Method+" "+r.URL.Path, f.match) })
	var do Fault
	if at >= 0 {
		do = s.faults[at].do
		if s.faults[at].left--; s.faults[at].left == 0 {
			s.faults = slices.Delete(s.faults, at, at+1)
		}
	}
	s.mu.Unlock()
	switch {
	case do != nil:
		do(w, r, s.registry)
	case r.URL.Path == "/token":
		user, password, _ := r.BasicAuth()
		if user+":"+password != login {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"token": token})
	case login != "" && r.Header.Get("Authorization") != "Bearer "+token:
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="http://%s/token",service="registry"`, s.Host))
		w.WriteHeader(http.StatusUnauthorized)
	default:
		s.registry.ServeHTTP(w, r)
	}
}

// answer returns the registry's answer.
func answer(r *http.Request, registry http.Handler) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	registry.ServeHTTP(recorder, r)
	return recorder
}

func copyHeader(w http.ResponseWriter, from http.Header) {
	for name, values := range from {
		w.Header()[name] = values
	}
}

// Truncate closes the connection after so many bytes of the answer.
func Truncate(bytes int) Fault {
	return func(w http.ResponseWriter, r *http.Request, registry http.Handler) {
		a := answer(r, registry)
		copyHeader(w, a.Header())
		w.WriteHeader(a.Code)
		_, _ = w.Write(a.Body.Bytes()[:min(bytes, a.Body.Len())])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// Swap changes a byte in the middle of the answer.
func Swap(w http.ResponseWriter, r *http.Request, registry http.Handler) {
	a := answer(r, registry)
	copyHeader(w, a.Header())
	w.WriteHeader(a.Code)
	body := a.Body.Bytes()
	if len(body) > 0 {
		body[len(body)/2] ^= 1
	}
	_, _ = w.Write(body)
}

// Endless sends bytes until nobody reads them.
func Endless(w http.ResponseWriter, r *http.Request, _ http.Handler) {
	block := make([]byte, 32<<10)
	copy(block, "\x00asm")
	for r.Context().Err() == nil {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// Stall sends so many bytes of the answer, and then nothing until nobody waits any more.
func Stall(bytes int) Fault {
	return func(w http.ResponseWriter, r *http.Request, registry http.Handler) {
		a := answer(r, registry)
		copyHeader(w, a.Header())
		w.WriteHeader(a.Code)
		_, _ = w.Write(a.Body.Bytes()[:min(bytes, a.Body.Len())])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// Trickle sends a byte of the answer after each pause.
func Trickle(pause time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, registry http.Handler) {
		a := answer(r, registry)
		copyHeader(w, a.Header())
		w.WriteHeader(a.Code)
		for _, b := range a.Body.Bytes() {
			_, _ = w.Write([]byte{b})
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(pause):
			}
		}
	}
}

// Status answers with a status, and headers as name and value.
func Status(code int, header ...string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

// Redirect redirects to the same path at another server, or to another address if it has a path.
func Redirect(to string) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		location := to
		if strings.Count(to, "/") < 3 {
			location += r.URL.Path
		}
		http.Redirect(w, r, location, http.StatusTemporaryRedirect)
	}
}

// Content answers with a content of a media type.
func Content(mediaType string, content []byte) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		if r.Method != http.MethodHead {
			_, _ = w.Write(content)
		}
	}
}

// NoRange answers with the whole content where a part is asked for.
func NoRange(w http.ResponseWriter, r *http.Request, registry http.Handler) {
	whole := r.Clone(r.Context())
	whole.Header.Del("Range")
	registry.ServeHTTP(w, whole)
}
