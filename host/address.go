package host

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// addressError is an address that a name led to, and that is not granted.
type addressError struct {
	host string
	addr netip.Addr
	what string
}

func (e *addressError) Error() string {
	if e.host == e.addr.String() {
		return fmt.Sprintf("%s is %s", e.host, e.what)
	}
	return fmt.Sprintf("%s leads to %s, which is %s", e.host, e.addr, e.what)
}

// inner are the networks that are not the Internet, as the registries of IANA for
// special purposes list them (RFC 6890), with what their addresses are.
var inner = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("127.0.0.0/8"), "this machine"},
	{netip.MustParsePrefix("::1/128"), "this machine"},
	{netip.MustParsePrefix("0.0.0.0/8"), "this machine"},
	{netip.MustParsePrefix("::/128"), "this machine"},
	{netip.MustParsePrefix("10.0.0.0/8"), "in a private network"},
	{netip.MustParsePrefix("172.16.0.0/12"), "in a private network"},
	{netip.MustParsePrefix("192.168.0.0/16"), "in a private network"},
	{netip.MustParsePrefix("100.64.0.0/10"), "in a private network"},
	{netip.MustParsePrefix("fc00::/7"), "in a private network"},
	{netip.MustParsePrefix("fec0::/10"), "in a private network"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local, where clouds keep the credentials of machines"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("224.0.0.0/4"), "not of one machine"},
	{netip.MustParsePrefix("ff00::/8"), "not of one machine"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved"},
	{netip.MustParsePrefix("198.18.0.0/15"), "reserved"},
	// Addresses of these hold another one, of IPv4.
	{netip.MustParsePrefix("64:ff9b::/96"), "a translated address"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "a translated address"},
	{netip.MustParsePrefix("2002::/16"), "a translated address"},
	{netip.MustParsePrefix("2001::/32"), "a translated address"},
}

// innerAddress says what an address is that is not the Internet's; it is empty for all
// others.
func innerAddress(addr netip.Addr) string {
	for _, network := range inner {
		if network.prefix.Contains(addr) {
			return network.what
		}
	}
	return ""
}

// endpoint is a host and port that an operator has granted.
type endpoint struct {
	host string
	port uint16
}

// outward connects a provider to names that were granted. Which names those are is for
// its callers to check before; what the names lead to is checked here.
type outward struct {
	net.Dialer
	granted []endpoint
}

// dial checks each address that a name leads to at the moment it is connected to, so
// that no answer of a name server can come in between.
func (o *outward) dial(ctx context.Context, network, address string) (net.Conn, error) {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := o.Dialer
	d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return o.check(name, at.Addr(), at.Port())
	}
	return d.DialContext(ctx, network, address)
}

// check is an error if a name led to an address that its own grant does not allow: a
// name may lead into the operator's network only where the operator has granted the
// address itself, or has said localhost.
func (o *outward) check(host string, addr netip.Addr, port uint16) error {
	addr = addr.Unmap()
	what := innerAddress(addr)
	if what == "" {
		return nil
	}
	for _, g := range o.granted {
		if g.port != port {
			continue
		}
		if g.host == addr.String() || g.host == "localhost" && host == "localhost" && addr.IsLoopback() {
			return nil
		}
	}
	return &addressError{host: host, addr: addr, what: what}
}
