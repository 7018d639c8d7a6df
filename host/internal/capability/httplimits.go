package capability

import "time"

// Limits on a provider's use of HTTP.
const (
	// MaxHTTPHeaders and MaxHTTPHeaderBytes bound the headers of a request, and the latter also the headers of a response.
	// Servers refuse more than some 8 to 64 KiB.
	MaxHTTPHeaders     = 256
	MaxHTTPHeaderBytes = 256 << 10
	// MaxHTTPBody bounds a body in bytes that is passed as a whole.
	MaxHTTPBody = 32 << 20
	// MaxHTTPStream bounds a body in bytes that is passed in parts: twice the size of
	// the images that are uploaded to clouds.
	MaxHTTPStream = 16 << 30
	// MaxHTTPChunk bounds a part of a response's body in bytes.
	MaxHTTPChunk = 1 << 20
	// MaxHTTPExchanges is how many exchanges one call may have open.
	MaxHTTPExchanges = 64

	// DefaultHTTPTimeout bounds an exchange whose request says nothing, and
	// MaxHTTPTimeout one whose request does.
	DefaultHTTPTimeout = 2 * time.Minute
	MaxHTTPTimeout     = 6 * time.Hour

	// exchangeBytes is the least memory that the host holds for an exchange, in bytes, beside its connection's.
	exchangeBytes = 32 << 10

	httpTLSTimeout = 15 * time.Second
	// http2Window is how much of a response over HTTP/2 arrives before the guest reads it, in
	// bytes: enough for 10 MB/s from a service that is 100 ms away.
	http2Window = 1 << 20
	// httpIdleTimeout and httpIdleConns bound the idle connections of each provider.
	httpIdleTimeout = 30 * time.Second
	httpIdleConns   = 8
)
