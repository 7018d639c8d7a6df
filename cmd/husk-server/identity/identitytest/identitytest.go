// Package identitytest is an issuer of OpenID Connect for tests.
package identitytest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Issuer signs identity tokens.
type Issuer struct {
	URL string

	t   *testing.T
	key *rsa.PrivateKey

	mu sync.Mutex
	// logins are the claims that somebody has confirmed, by what a device asks with; nil before that.
	logins map[string]map[string]any
	// refreshes are the claims of logins, by what the next token of each is asked for with; each counts once.
	refreshes map[string]map[string]any
	// change changes the claims of a login whose next token is asked for, and returns the status of the answer.
	change func(claims map[string]any) int
	// Secret is what the client of a login has to know, empty for nothing.
	Secret string
}

// Start starts an issuer, which ends with the test.
func Start(t *testing.T) *Issuer {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	i := &Issuer{t: t, key: key, logins: make(map[string]map[string]any), refreshes: make(map[string]map[string]any)}
	answer := func(w http.ResponseWriter, status int, value any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(value)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{
			"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
			"device_authorization_endpoint": i.URL + "/device", "id_token_signing_alg_values_supported": []string{"RS256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"keys": []any{map[string]any{
			"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1", "n": encode(key.N.Bytes()), "e": encode(big.NewInt(int64(key.E)).Bytes()),
		}}})
	})
	mux.HandleFunc("POST /device", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("client_secret") != i.Secret {
			answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
			return
		}
		device := rand.Text()
		i.mu.Lock()
		defer i.mu.Unlock()
		i.logins[device] = nil
		answer(w, http.StatusOK, map[string]any{
			"device_code": device, "user_code": device[:8], "verification_uri": i.URL + "/activate", "verification_uri_complete": i.URL + "/activate?code=" + device[:8],
			"expires_in": 600, "interval": 1,
		})
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		refuse := func(why string) { answer(w, http.StatusBadRequest, map[string]any{"error": why}) }
		device := r.FormValue("device_code")
		i.mu.Lock()
		defer i.mu.Unlock()
		claims, is := i.logins[device]
		send := func() {
			claims["aud"] = r.FormValue("client_id")
			refresh := rand.Text()
			i.refreshes[refresh] = claims
			answer(w, http.StatusOK, map[string]any{"access_token": "unused", "token_type": "bearer", "id_token": i.Token(claims), "refresh_token": refresh})
		}
		switch {
		case r.FormValue("grant_type") == "refresh_token":
			token := r.FormValue("refresh_token")
			claims, is = i.refreshes[token]
			delete(i.refreshes, token)
			if !is || r.FormValue("client_secret") != i.Secret {
				refuse("invalid_grant")
				return
			}
			status := http.StatusOK
			if i.change != nil {
				status = i.change(claims)
			}
			switch status {
			case http.StatusOK:
				send()
			case http.StatusBadRequest:
				refuse("invalid_grant")
			default:
				i.refreshes[token] = claims
				w.WriteHeader(status)
			}
		case r.FormValue("grant_type") != "urn:ietf:params:oauth:grant-type:device_code":
			refuse("unsupported_grant_type")
		case r.FormValue("client_secret") != i.Secret:
			refuse("invalid_client")
		case !is:
			refuse("expired_token")
		case claims == nil:
			refuse("authorization_pending")
		default:
			delete(i.logins, device)
			send()
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	i.URL = server.URL
	return i
}

// OnRefresh has do change the claims of a login whose next token is asked for. It returns the status of the answer: 400 ends the login.
func (i *Issuer) OnRefresh(do func(claims map[string]any) int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.change = do
}

// Confirm confirms the login with a code as somebody with some claims.
func (i *Issuer) Confirm(code string, claims map[string]any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for device := range i.logins {
		if strings.HasPrefix(device, code) {
			i.logins[device] = claims
			return
		}
	}
	i.t.Errorf("no login has the code %s", code)
}

// Token returns a token with some claims, and others that it needs unless these have them.
func (i *Issuer) Token(claims map[string]any) string {
	all := map[string]any{"iss": i.URL, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	for name, value := range claims {
		all[name] = value
	}
	return i.Sign(map[string]any{"alg": "RS256", "kid": "1"}, all)
}

// Sign returns a token with a header.
func (i *Issuer) Sign(header, claims map[string]any) string {
	text := part(i.t, header) + "." + part(i.t, claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])
	if err != nil {
		i.t.Error(err)
	}
	return text + "." + encode(signature)
}

func part(t *testing.T, value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		t.Error(err)
	}
	return encode(text)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
