package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// AddressError is the error for an inner address that is not allowed.
type AddressError struct {
	// Host is the name, or the address itself.
	Host string
	Addr netip.Addr
	// What describes the address, for errors.
	What string
}

func (e *AddressError) Error() string {
	if e.Host == e.Addr.String() {
		return fmt.Sprintf("%s is %s", e.Host, e.What)
	}
	return fmt.Sprintf("%s leads to %s, which is %s", e.Host, e.Addr, e.What)
}

// Dialer makes connections to the Internet, and to inner addresses that it allows. Callers decide which names
// may be dialled.
type Dialer struct {
	net.Dialer
	// Allow reports whether an inner address may be reached; nil allows none.
	Allow func(host string, addr netip.Addr, port uint16) bool
	// Own returns the addresses of this machine with their networks; nil stands for its interfaces.
	Own func() []netip.Prefix
}

// Dial connects to a host and port. It checks the address of each connection, after the name server's last
// response.
func (d *Dialer) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return d.DialFor(ctx, host, network, address)
}

// DialFor is Dial for an address that the name of a host led to before.
func (d *Dialer) DialFor(ctx context.Context, host, network, address string) (net.Conn, error) {
	inner := d.Dialer
	inner.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return d.Check(host, at.Addr(), at.Port())
	}
	conn, err := inner.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if err := d.checkConnected(host, conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// Check returns an *[AddressError] for an inner address that is not allowed.
func (d *Dialer) Check(host string, addr netip.Addr, port uint16) error {
	addr = addr.Unmap().WithZone("")
	if host == "localhost" && !addr.IsLoopback() { // RFC 6761, 6.3
		return &AddressError{Host: host, Addr: addr, What: "not " + machine}
	}
	what := Inside(addr)
	if what == "" {
		what = insideOf(d.own(), addr)
	}
	return d.judge(host, addr, port, what)
}

func (d *Dialer) own() []netip.Prefix {
	if d.Own != nil {
		return d.Own()
	}
	return ownNetworks()
}

func (d *Dialer) judge(host string, addr netip.Addr, port uint16, what string) error {
	if what == "" || d.Allow != nil && d.Allow(host, addr, port) {
		return nil
	}
	return &AddressError{Host: host, Addr: addr, What: what}
}

// checkConnected refuses a connection of this machine to itself by an address that Check does not know, before
// anything is sent.
func (d *Dialer) checkConnected(host string, conn net.Conn) error {
	local, ok := conn.LocalAddr().(*net.TCPAddr)
	remote, isTCP := conn.RemoteAddr().(*net.TCPAddr)
	if !ok || !isTCP || !local.IP.Equal(remote.IP) {
		return nil
	}
	at := remote.AddrPort()
	return d.judge(host, at.Addr().Unmap().WithZone(""), at.Port(), machine)
}
