package console

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// policy is the Content-Security-Policy of all answers: everything comes from this server, and nothing is inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard lets in who has the token, and only by a name of this machine: a name that a stranger has pointed at it
// (DNS rebinding) is refused. A request of another site that would change something is refused, too.
func (s *Server) guard(next http.Handler) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !slices.Contains(s.options.Hosts, r.Host) {
			http.Error(w, "This console is only served at http://"+s.options.Hosts[0]+".", http.StatusMisdirectedRequest)
			return
		}
		if given := r.URL.Query().Get("token"); given != "" && r.Method == http.MethodGet {
			if !s.isToken(given) {
				refuse(w)
				return
			}
			http.SetCookie(w, &http.Cookie{
				Name: s.cookie(), Value: given, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
			})
			http.Redirect(w, r, withoutToken(r.URL), http.StatusSeeOther) // so that the address bar and the history lack the token
			return
		}
		bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		cookie, err := r.Cookie(s.cookie())
		if !(bearer != "" && s.isToken(bearer)) && !(err == nil && s.isToken(cookie.Value)) {
			refuse(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// withoutToken returns the address of a page of this console without the token.
func withoutToken(page *url.URL) string {
	query := page.Query()
	query.Del("token")
	// What begins with two slashes would be the address of another host.
	return (&url.URL{Path: "/" + strings.TrimLeft(page.Path, "/"), RawQuery: query.Encode()}).String()
}

// cookie returns the name of the cookie, which differs between consoles: cookies know no ports.
func (s *Server) cookie() string {
	_, port, _ := strings.Cut(s.options.Hosts[0], ":")
	return "husk-console-" + port
}

// isToken compares in a time that says nothing about the token.
func (s *Server) isToken(given string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(s.options.Token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

func refuse(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="husk console"`)
	http.Error(w, "This console needs its token: open the whole address that husk console has shown.", http.StatusUnauthorized)
}
