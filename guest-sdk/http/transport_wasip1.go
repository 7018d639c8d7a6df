package http

import (
	"net/http"

	"github.com/husk-dev/husk/guest-sdk/internal/bindings"
)

// A module is a process of its own, so that its transport is global. One that husk provider build has built
// needs none: there, package net/http sends through the host by itself.
func init() {
	if _, ok := http.DefaultTransport.(interface{ SendsThroughHost() }); !ok {
		http.DefaultTransport = Transport{}
	}
}

// Transport sends requests through the host. The zero value is ready to use.
type Transport struct{}

// RoundTrip does one exchange, as [http.RoundTripper] has it.
func (Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	return roundTrip(bindings.HTTP(), request)
}
