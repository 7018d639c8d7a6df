//go:build !wasip1

package tcp

import (
	"context"
	"net"
)

// DialContext connects to a host and port. The network is tcp.
func DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}

// LookupHost returns the addresses that DialContext tries for a host.
func LookupHost(ctx context.Context, host string) ([]string, error) {
	return net.DefaultResolver.LookupHost(ctx, host)
}
