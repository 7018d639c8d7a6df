//go:build !wasip1

package http

import "net/http"

// Transport sends requests through [http.DefaultTransport], or in a module through the host. The zero
// value is ready to use.
type Transport struct{}

// RoundTrip does one exchange, as [http.RoundTripper] has it.
func (Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	return http.DefaultTransport.RoundTrip(request)
}
