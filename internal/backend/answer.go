package backend

import "net/http"

// AnswerHeader is in each answer of a server of Husk, with the value [Answered]. What stands between it and its clients, such as
// a balancer, answers without: that says nothing of leases and runs.
const (
	AnswerHeader = "Husk-Answer"
	Answered     = "from husk-server"
)

// IsAnswer reports whether an answer with a header is that of a server of Husk.
func IsAnswer(h http.Header) bool { return h.Get(AnswerHeader) == Answered }
