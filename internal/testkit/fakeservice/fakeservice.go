// Package fakeservice has services for tests of published providers: providers take the same code paths as with the real
// services, including wrong passwords, missing objects, and conflicts.
package fakeservice

import (
	"crypto/subtle"
	"encoding/json"
	"net/http"
)

// User and Password are the credentials that services ask for by HTTP's basic authentication. Password is the token of the others.
const (
	User     = "admin"
	Password = "tr0ub4dor&3"
)

// Services are the services by name.
var Services = map[string]func() http.Handler{
	"objects": Objects, "broker": Broker, "powerdns": PowerDNS, "consul": Consul,
	"hcloud": hcloud.serve, "github": github.serve, "gitea": serveGitea, "nomad": nomad.serve,
	"digitalocean": digitalocean.serve, "keycloak": keycloak.serve, "pagerduty": pagerduty,
}

// withToken refuses requests that do not have the password as their token in a header, with what the service puts before it.
func withToken(header, prefix string, refusal any, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get(header)), []byte(prefix+Password)) != 1 {
			reply(w, http.StatusUnauthorized, refusal)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// authenticated refuses requests of others than User, with the body that the service has for it.
func authenticated(refusal any, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != User || subtle.ConstantTimeCompare([]byte(password), []byte(Password)) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="service"`)
			reply(w, http.StatusUnauthorized, refusal)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// reply writes a JSON body, or none if it is nil.
func reply(w http.ResponseWriter, status int, body any) {
	if body == nil {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client is gone
}

// decoded reads the JSON of a request into a value, or replies that it is none.
func decoded(w http.ResponseWriter, r *http.Request, into any) bool {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		reply(w, http.StatusBadRequest, object{"message": err.Error()})
		return false
	}
	return true
}
