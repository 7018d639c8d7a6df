package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/internal/egress"
)

// Limits on what a provider may do over TCP.
const (
	// MaxTCPConnections is how many connections one instance may have open. Drivers of
	// databases pool four for each processor, and a module has one.
	MaxTCPConnections = 64
	// MaxTCPChunk bounds what one call of the host reads or takes, in bytes.
	MaxTCPChunk = 1 << 20
	// MaxTCPStream bounds what goes through one connection in each direction, in bytes:
	// some copies of a whole database's tables.
	MaxTCPStream = 64 << 30

	// DefaultTCPTimeout bounds the time to connect where a request says nothing, and
	// MaxTCPTimeout where it does.
	DefaultTCPTimeout = 30 * time.Second
	MaxTCPTimeout     = 5 * time.Minute

	// dialTimeout bounds the time to reach one service, whatever asks for it.
	dialTimeout = 30 * time.Second
)

// guestTCP is the way out over TCP for one instance. Connections outlive the calls that
// made them, as pools of drivers need it, and end with the instance.
type guestTCP struct {
	grants []TCPGrant
	dialer egress.Dialer
	how    howToGrant
	used   uses
	ledger *ledger
	last   abi.TCPConnection
	open   map[abi.TCPConnection]*tcpConnection
}

var _ abi.TCP = (*guestTCP)(nil)

func newGuestTCP(grants []TCPGrant, used uses) *guestTCP {
	t := &guestTCP{grants: grants, used: used}
	t.dialer.Allow = t.allows
	return t
}

// allows reports whether a name may lead to an address inside: where the address is granted
// itself, or the name is localhost.
func (t *guestTCP) allows(host string, addr netip.Addr, port uint16) bool {
	return isLocalhost(host, addr) || slices.Contains(t.grants, TCPGrant{addr.String(), port})
}

// Connect opens a connection.
func (t *guestTCP) Connect(ctx context.Context, r abi.TCPConnectRequest) (abi.TCPConnection, error) {
	host, err := canonicalHost(r.Host)
	if err == nil && r.Port == 0 {
		err = errors.New("0 is not a port")
	}
	if err != nil {
		return 0, hostError(abi.ErrorKindInvalidArgument, "connecting over TCP: "+err.Error())
	}
	target := hostPort(host, r.Port)
	conn, err := t.connect(ctx, host, r)
	t.used.note("tcp", target, err)
	if err != nil {
		return 0, err
	}
	if t.open == nil {
		t.open = make(map[abi.TCPConnection]*tcpConnection)
	}
	t.last++
	t.open[t.last] = newTCPConnection(target, conn)
	return t.last, nil
}

func (t *guestTCP) connect(ctx context.Context, host string, r abi.TCPConnectRequest) (net.Conn, error) {
	target := hostPort(host, r.Port)
	if err := t.admit(host, r.Port); err != nil {
		return nil, err
	}
	if len(t.open) >= MaxTCPConnections {
		return nil, hostError(abi.ErrorKindUnavailable, fmt.Sprintf("%d TCP connections of the provider are open already: close one", MaxTCPConnections))
	}
	if err := t.ledger.acquire("connecting to "+target, 1, connectionBytes); err != nil {
		return nil, err
	}
	conn, err := t.dial(ctx, target, r)
	if err != nil {
		t.ledger.abandon(1, connectionBytes)
	}
	return conn, err
}

func (t *guestTCP) dial(ctx context.Context, target string, r abi.TCPConnectRequest) (net.Conn, error) {
	timeout := DefaultTCPTimeout
	if r.TimeoutMs > 0 {
		timeout = time.Duration(min(r.TimeoutMs, uint64(MaxTCPTimeout/time.Millisecond))) * time.Millisecond
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := t.dialer.Dial(limited, "tcp", target)
	refused, inside := errors.AsType[*egress.AddressError](err)
	switch {
	case err == nil:
		return conn, nil
	case inside:
		return nil, t.how.denied("connecting to "+target+": "+refused.Error(), Refusal{Capability: "tcp", Scope: hostPort(refused.Addr.String(), r.Port)})
	case ctx.Err() != nil:
		return nil, hostError(abi.ErrorKindCancelled, "connecting to "+target+": the call was cancelled")
	case limited.Err() != nil:
		return nil, remoteError("connecting to " + target + ": it took longer than " + timeout.String())
	}
	return nil, remoteError("connecting to " + target + ": " + err.Error())
}

// admit is an error if no grant allows the connection.
func (t *guestTCP) admit(host string, port uint16) error {
	reason := "nothing under its grants: tcp allows it"
	var granted []string
	for _, g := range t.grants {
		if g.covers(host, port) {
			return nil
		}
		granted = append(granted, g.String())
	}
	if granted != nil {
		reason = "its grants: tcp are " + strings.Join(granted, ", ")
	}
	target := hostPort(host, port)
	return t.how.denied("the provider may not connect to "+target+": "+reason, Refusal{Capability: "tcp", Scope: target})
}

func (t *guestTCP) connection(handle abi.TCPConnection) (*tcpConnection, error) {
	if c := t.open[handle]; c != nil {
		return c, nil
	}
	return nil, hostError(abi.ErrorKindNotFound, "there is no such TCP connection: it was closed, or is of another instance")
}

// Read answers what has arrived.
func (t *guestTCP) Read(ctx context.Context, handle abi.TCPConnection, most uint32, wait bool) ([]byte, error) {
	c, err := t.connection(handle)
	if err != nil {
		return nil, err
	}
	return c.read(ctx, most, wait)
}

// Write sends what can be sent soon.
func (t *guestTCP) Write(ctx context.Context, handle abi.TCPConnection, data []byte) (uint32, error) {
	c, err := t.connection(handle)
	if err != nil {
		return 0, err
	}
	return c.write(ctx, data)
}

// CloseWrite ends the outgoing stream.
func (t *guestTCP) CloseWrite(_ context.Context, handle abi.TCPConnection) error {
	c, err := t.connection(handle)
	if err != nil {
		return err
	}
	if half, ok := c.conn.(*net.TCPConn); ok {
		err = half.CloseWrite()
	}
	return c.failed("ending the outgoing stream to", err)
}

// Close closes a connection.
func (t *guestTCP) Close(_ context.Context, handle abi.TCPConnection) {
	if c := t.open[handle]; c != nil {
		c.close()
		delete(t.open, handle)
		t.ledger.abandon(1, connectionBytes)
	}
}

// closeAll ends what the instance left open.
func (t *guestTCP) closeAll() {
	for _, c := range t.open {
		c.close()
	}
	clear(t.open)
}
