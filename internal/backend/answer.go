package backend

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/internal/base/hostname"
)

// AnswerHeader is in each answer of a server of Husk, with the value [Answered]. A balancer or proxy between it and its clients
// answers without: such an answer says nothing about leases and runs.
const (
	AnswerHeader = "Husk-Answer"
	Answered     = "from husk-server"
)

// IsAnswer reports whether an answer with a header comes from a server of Husk.
func IsAnswer(h http.Header) bool { return h.Get(AnswerHeader) == Answered }

// LoginHeader is in an answer with [http.StatusUnauthorized] if the token came from a login, with the value [LoginEnded]: the token has
// expired, and another login issues the next one.
const (
	LoginHeader = "Husk-Login"
	LoginEnded  = "ended"
)

// TokenAdvice says how to get a token that a server accepts, by the header of its answer with [http.StatusUnauthorized].
func TokenAdvice(h http.Header) string {
	if h.Get(LoginHeader) == LoginEnded {
		return "log in again, with husk login --sso or --identity-token"
	}
	return "ask for a new token, and set HUSK_ACCESS_TOKEN or log in with husk login https://:TOKEN@host"
}

// TooLarge says why what stands before a server has refused a request whose body has so many bytes, with
// [http.StatusRequestEntityTooLarge].
func TooLarge(bytes int64) string {
	return fmt.Sprintf("what stands before it, such as a proxy, takes no body as large as this one, of %d bytes: raise its limit, which is client_max_body_size in nginx", bytes)
}

// PlainHTTPVariable is the environment variable with the hosts of servers, separated by commas, to which requests go without encryption
// because the network encrypts, as a mesh does.
const PlainHTTPVariable = "HUSK_PLAIN_HTTP"

// CheckPlainHTTP returns an error if requests to the server at a URL would expose secrets on the way. what names these in the error.
func CheckPlainHTTP(u *url.URL, what string) error {
	host := u.Hostname()
	if u.Scheme != "http" || hostname.IsThisMachine(host) || slices.Contains(strings.Split(os.Getenv(PlainHTTPVariable), ","), host) {
		return nil
	}
	return fmt.Errorf("http://%s: anybody on the way could read %s: use https, or, if the network encrypts, as a mesh does, name the host in %s", u.Host, what, PlainHTTPVariable)
}

// HTTP2 configures the connections of a server's clients. Each connection carries many calls. One that is silent for a while, and
// answers no ping, leads to a machine that is gone: another one may be found at the same address.
func HTTP2() *http.HTTP2Config {
	return &http.HTTP2Config{SendPingTimeout: 5 * time.Second, PingTimeout: 3 * time.Second}
}
