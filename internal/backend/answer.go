package backend

import (
	"fmt"
	"net/http"
	"time"
)

// AnswerHeader is in each answer of a server of Husk, with the value [Answered]. A balancer or proxy between it and its clients
// answers without: such an answer says nothing about leases and runs.
const (
	AnswerHeader = "Husk-Answer"
	Answered     = "from husk-server"
)

// IsAnswer reports whether an answer with a header comes from a server of Husk.
func IsAnswer(h http.Header) bool { return h.Get(AnswerHeader) == Answered }

// TooLarge says why what stands before a server has refused a request whose body has so many bytes, with
// [http.StatusRequestEntityTooLarge].
func TooLarge(bytes int64) string {
	return fmt.Sprintf("what stands before it, such as a proxy, takes no body as large as this one, of %d bytes: raise its limit, which is client_max_body_size in nginx", bytes)
}

// HTTP2 configures the connections of a server's clients. Each connection carries many calls. One that is silent for a while, and
// answers no ping, leads to a machine that is gone: another one may be found at the same address.
func HTTP2() *http.HTTP2Config {
	return &http.HTTP2Config{SendPingTimeout: 5 * time.Second, PingTimeout: 3 * time.Second}
}
