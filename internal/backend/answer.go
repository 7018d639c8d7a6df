package backend

import (
	"net/http"
	"time"
)

// AnswerHeader is in each answer of a server of Husk, with the value [Answered]. What stands between it and its clients, such as
// a balancer, answers without: that says nothing of leases and runs.
const (
	AnswerHeader = "Husk-Answer"
	Answered     = "from husk-server"
)

// IsAnswer reports whether an answer with a header is that of a server of Husk.
func IsAnswer(h http.Header) bool { return h.Get(AnswerHeader) == Answered }

// HTTP2 is how clients of a server use connections, each of which has many calls. One that is silent for a while, and answers no
// ping, leads to a machine that is gone: another one may be found at the same address.
func HTTP2() *http.HTTP2Config {
	return &http.HTTP2Config{SendPingTimeout: 5 * time.Second, PingTimeout: 3 * time.Second}
}
