package capability

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
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/internal/egress"
	"github.com/husk-dev/husk/internal/hostname"
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

	// DefaultTCPTimeout bounds the time to connect if a request sets no bound, and
	// MaxTCPTimeout if it does.
	DefaultTCPTimeout = 30 * time.Second
	MaxTCPTimeout     = 5 * time.Minute

	// dialTimeout bounds the time to reach one service, whatever asks for it.
	dialTimeout = 30 * time.Second
)

// TCP is the way out over TCP for one instance. Connections outlive the calls that
// made them, as pools of drivers need it, and end with the instance.
type TCP struct {
	grants []grant.TCP
	dialer egress.Dialer
	advice Advice
	used   Uses
	ledger Ledger
	handles[abi.TCPConnection, *tcpConnection]
}

var (
	_ abi.TCP = (*TCP)(nil)
	_ Held    = (*TCP)(nil)
)

// NewTCP returns the way out of one instance.
func NewTCP(grants []grant.TCP, advice Advice, used Uses, l Ledger) *TCP {
	t := &TCP{grants: grants, advice: advice, used: used, ledger: l}
	t.dialer.Allow = t.allows
	return t
}

// allows reports whether a name may lead to an address inside: if the address is granted
// itself, or if the name is localhost.
func (t *TCP) allows(host string, addr netip.Addr, port uint16) bool {
	return hostname.IsLocalhost(host, addr) || slices.Contains(t.grants, grant.TCP{Host: addr.String(), Port: port})
}

// Connect opens a connection.
func (t *TCP) Connect(ctx context.Context, r abi.TCPConnectRequest) (abi.TCPConnection, error) {
	host, err := hostname.Canonical(r.Host)
	if err == nil && r.Port == 0 {
		err = errors.New("0 is not a port")
	}
	if err != nil {
		return 0, Failure(abi.ErrorKindInvalidArgument, "connecting over TCP: "+err.Error())
	}
	target := hostname.Join(host, r.Port)
	conn, err := t.connect(ctx, host, r)
	t.used.Note(grant.Text{Capability: grant.NameTCP, Scope: target}, target, err)
	if err != nil {
		return 0, err
	}
	return t.add(newTCPConnection(target, conn, t.ledger)), nil
}

func (t *TCP) connect(ctx context.Context, host string, r abi.TCPConnectRequest) (net.Conn, error) {
	target := hostname.Join(host, r.Port)
	if err := t.admit(host, r.Port); err != nil {
		return nil, err
	}
	if len(t.open) >= MaxTCPConnections {
		return nil, Failure(abi.ErrorKindUnavailable, fmt.Sprintf("%d TCP connections of the provider are open already: close one", MaxTCPConnections))
	}
	if err := t.ledger.Acquire("connecting to "+target, 1, connectionBytes); err != nil {
		return nil, err
	}
	conn, err := t.dial(ctx, target, r)
	if err != nil {
		t.ledger.Abandon(1, connectionBytes)
	}
	return conn, err
}

func (t *TCP) dial(ctx context.Context, target string, r abi.TCPConnectRequest) (net.Conn, error) {
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
		return nil, t.advice.denied("connecting to "+target+": "+refused.Error(), grant.Text{Capability: grant.NameTCP, Scope: hostname.Join(refused.Addr.String(), r.Port)})
	case ctx.Err() != nil:
		return nil, Failure(abi.ErrorKindCancelled, "connecting to "+target+": the call was cancelled")
	case limited.Err() != nil:
		return nil, remoteFailure("connecting to " + target + ": it took longer than " + timeout.String())
	}
	return nil, remoteFailure("connecting to " + target + ": " + err.Error())
}

// admit is an error if no grant allows the connection.
func (t *TCP) admit(host string, port uint16) error {
	reason := "nothing under its grants: tcp allows it"
	var granted []string
	for _, g := range t.grants {
		if g.Covers(host, port) {
			return nil
		}
		granted = append(granted, g.String())
	}
	if granted != nil {
		reason = "its grants: tcp are " + strings.Join(granted, ", ")
	}
	target := hostname.Join(host, port)
	return t.advice.denied("the provider may not connect to "+target+": "+reason, grant.Text{Capability: grant.NameTCP, Scope: target})
}

func (t *TCP) connection(handle abi.TCPConnection) (*tcpConnection, error) {
	return t.get(handle, "there is no such TCP connection: it was closed, or is of another instance")
}

// Read returns what has arrived.
func (t *TCP) Read(ctx context.Context, handle abi.TCPConnection, most uint32, wait bool) ([]byte, error) {
	c, err := t.connection(handle)
	if err != nil {
		return nil, err
	}
	return c.read(ctx, most, wait)
}

// Write sends what can be sent soon.
func (t *TCP) Write(ctx context.Context, handle abi.TCPConnection, data []byte) (uint32, error) {
	c, err := t.connection(handle)
	if err != nil {
		return 0, err
	}
	return c.write(ctx, data)
}

// CloseWrite ends the outgoing stream.
func (t *TCP) CloseWrite(_ context.Context, handle abi.TCPConnection) error {
	c, err := t.connection(handle)
	if err != nil {
		return err
	}
	if half, ok := c.conn.(*net.TCPConn); ok {
		err = half.CloseWrite()
	}
	return c.failed("ending the outgoing stream to", err)
}
