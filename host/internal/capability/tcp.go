package capability

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/host/internal/wasi"
	"github.com/husk-dev/husk/internal/base/egress"
	"github.com/husk-dev/husk/internal/base/hostname"
)

// Limits on a provider's use of TCP.
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

	// maxResolved is of how many names the addresses are known for an instance: four times its connections.
	maxResolved = 4 * MaxTCPConnections
)

// TCP is the way out over TCP for one instance. Connections outlive the calls that
// made them, as pools of drivers need it, and end with the instance.
type TCP struct {
	grants []grant.TCP
	// named reports whether something else is granted for a name, which may be looked up for it.
	named  func(host string) bool
	dialer egress.Dialer
	advice Advice
	used   Uses
	ledger Ledger
	// resolved are the addresses that names led to, and names those names, the one that was looked up last at
	// the end.
	resolved map[string][]netip.Addr
	names    []string
	handles[abi.TCPConnection, *tcpConnection]
}

var (
	_ abi.TCP = (*TCP)(nil)
	_ Held    = (*TCP)(nil)
)

// NewTCP returns the way out of one instance. named reports whether something else is granted for a name.
func NewTCP(grants []grant.TCP, named func(host string) bool, d *Descriptors, advice Advice, used Uses, l Ledger) *TCP {
	t := &TCP{grants: grants, named: named, advice: advice, used: used, ledger: l}
	t.descriptors = d
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
	handle, err := t.Begin(ctx, r)
	if err != nil {
		return 0, err
	}
	c := t.open[handle]
	if !c.await(ctx, c.isOpening) {
		t.Close(ctx, handle)
		return 0, Failure(abi.ErrorKindCancelled, "connecting to "+c.target+": the call was cancelled")
	}
	if err := t.Status(ctx, handle); err != nil {
		t.Close(ctx, handle)
		return 0, err
	}
	return handle, nil
}

// Begin begins to open a connection.
func (t *TCP) Begin(_ context.Context, r abi.TCPConnectRequest) (abi.TCPConnection, error) {
	host, err := hostname.Canonical(r.Host)
	if err == nil && r.Port == 0 {
		err = errors.New("0 is not a port")
	}
	if err != nil {
		return 0, Failure(abi.ErrorKindInvalidArgument, "connecting over TCP: "+err.Error())
	}
	name := t.nameOf(host, r.Port)
	target := hostname.Join(name, r.Port)
	c, err := t.begin("connecting to "+target, target, func() error { return t.admit(name, r.Port) })
	t.used.Note(grant.Text{Capability: grant.NameTCP, Scope: target}, target, err)
	if err != nil {
		return 0, err
	}
	c.port = r.Port
	timeout := DefaultTCPTimeout
	if r.TimeoutMs > 0 {
		timeout = time.Duration(min(r.TimeoutMs, uint64(MaxTCPTimeout/time.Millisecond))) * time.Millisecond
	}
	go c.run(timeout, func(ctx context.Context) (net.Conn, error) {
		return t.dialer.DialFor(ctx, name, "tcp", hostname.Join(host, r.Port))
	})
	return t.add(c), nil
}

// begin returns a connection that is being opened, if it is admitted.
func (t *TCP) begin(doing, target string, admit func() error) (*tcpConnection, error) {
	if err := admit(); err != nil {
		return nil, err
	}
	if len(t.open) >= MaxTCPConnections {
		return nil, Failure(abi.ErrorKindUnavailable, fmt.Sprintf("%d TCP connections of the provider are open already: close one", MaxTCPConnections))
	}
	if err := t.ledger.Acquire(doing, 1, connectionBytes); err != nil {
		return nil, err
	}
	return newTCPConnection(doing, target, t.descriptors, t.ledger), nil
}

// nameOf returns the name that led to an address and that a connection is granted for, or failing that the one
// that was looked up last; the host itself if there is none.
func (t *TCP) nameOf(host string, port uint16) string {
	addr, err := netip.ParseAddr(host)
	if err != nil || t.admit(host, port) == nil {
		return host
	}
	if addr.IsLoopback() && t.admit(hostname.Localhost, port) == nil {
		return hostname.Localhost // which a guest may know by itself
	}
	name := host
	for _, n := range t.names {
		if !slices.Contains(t.resolved[n], addr) {
			continue
		}
		if name = n; t.admit(n, port) == nil {
			break
		}
	}
	return name
}

// Resolve begins to look up addresses.
func (t *TCP) Resolve(_ context.Context, name string, port uint16) (abi.TCPConnection, error) {
	host, err := hostname.Canonical(name)
	if err != nil {
		return 0, Failure(abi.ErrorKindInvalidArgument, "looking up a name: "+err.Error())
	}
	c, err := t.begin("looking up "+host, host, func() error {
		if host == hostname.Localhost {
			return nil // its address is not a secret (RFC 6761)
		}
		return t.admitName(host, port)
	})
	if err != nil {
		t.used.Note(grant.Text{Capability: grant.NameTCP, Scope: hostname.Join(host, port)}, host, err)
		return 0, err
	}
	c.lookup = true
	c.onEnd = func() {
		if len(c.addresses) > 0 {
			t.remember(host, c.addresses)
		}
	}
	resolver := t.dialer.Resolver
	go c.resolve(func(ctx context.Context) ([]netip.Addr, error) {
		if addr, err := netip.ParseAddr(host); err == nil {
			return []netip.Addr{addr}, nil
		}
		if host == hostname.Localhost {
			return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
		}
		return resolver.LookupNetIP(ctx, "ip", host)
	})
	return t.add(c), nil
}

// admitName is an error if no grant names the host.
func (t *TCP) admitName(host string, port uint16) error {
	if t.named != nil && t.named(host) || slices.ContainsFunc(t.grants, func(g grant.TCP) bool { return hostname.Matches(g.Host, host) }) {
		return nil
	}
	if port > 0 {
		return t.admit(host, port)
	}
	return t.advice.Denied("the provider may not look up "+host+": "+t.reason(host),
		grant.Text{Capability: grant.NameTCP, Scope: host + ":<port>"})
}

// remember keeps the addresses that a name led to.
func (t *TCP) remember(host string, addresses []netip.Addr) {
	if t.resolved == nil {
		t.resolved = make(map[string][]netip.Addr)
	}
	t.names = slices.DeleteFunc(t.names, func(n string) bool { return n == host })
	if len(t.names) >= maxResolved {
		delete(t.resolved, t.names[0])
		t.names = slices.Delete(t.names, 0, 1)
	}
	t.names = append(t.names, host)
	t.resolved[host] = addresses
}

// Status returns the error of a connection.
func (t *TCP) Status(_ context.Context, handle abi.TCPConnection) error {
	c, err := t.connection(handle)
	if err != nil {
		return err
	}
	if c.isOpening() {
		return Failure(abi.ErrorKindUnavailable, c.doing+": it is going on")
	}
	failure := c.failure()
	refused, inside := errors.AsType[*egress.AddressError](failure)
	switch {
	case failure == nil:
		return nil
	case inside:
		err := t.advice.Denied(c.doing+": "+refused.Error(), grant.Text{Capability: grant.NameTCP, Scope: hostname.Join(refused.Addr.String(), c.port)})
		t.used.Note(grant.Text{Capability: grant.NameTCP, Scope: c.target}, c.target, err)
		return err
	}
	return remoteFailure(failure.Error())
}

// admit is an error if no grant allows the connection.
func (t *TCP) admit(host string, port uint16) error {
	for _, g := range t.grants {
		if g.Covers(host, port) {
			return nil
		}
	}
	target := hostname.Join(host, port)
	return t.advice.Denied("the provider may not connect to "+target+": "+t.reason(host), grant.Text{Capability: grant.NameTCP, Scope: target})
}

// reason lists the grants, for the refusal of a host that is not granted.
func (t *TCP) reason(host string) string {
	if len(t.grants) == 0 {
		return "nothing under its grants: tcp allows it"
	}
	granted := make([]string, len(t.grants))
	for i, g := range t.grants {
		granted[i] = g.String()
	}
	reason := "its grants: tcp are " + strings.Join(granted, ", ")
	for _, g := range t.grants {
		reason += grantedFormerly(g.Host, host)
	}
	return reason
}

// Socket returns the connection as a guest's system has it, nil for none.
func (t *TCP) Socket(fd uint32) wasi.Socket {
	if c, ok := t.open[abi.TCPConnection(fd)]; ok {
		return c
	}
	return nil
}

func (t *TCP) connection(handle abi.TCPConnection) (*tcpConnection, error) {
	return t.get(handle, "there is no such TCP connection: it was closed, or is of another instance")
}

// Read returns the bytes that have arrived.
func (t *TCP) Read(ctx context.Context, handle abi.TCPConnection, most uint32, wait bool) ([]byte, error) {
	c, err := t.connection(handle)
	if err != nil {
		return nil, err
	}
	if wait && !c.await(ctx, func() bool { return !c.Ready(false) }) {
		return nil, Failure(abi.ErrorKindCancelled, "reading from "+c.target+": the call was cancelled")
	}
	part := make([]byte, max(1, min(most, bufferSize)))
	n, err := c.Read(part)
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err == wasi.ErrWouldWait:
		return nil, Failure(abi.ErrorKindUnavailable, "nothing has arrived from "+c.target+" yet")
	}
	return part[:n], c.failed("reading from", err)
}

// Write sends what can be sent soon.
func (t *TCP) Write(ctx context.Context, handle abi.TCPConnection, data []byte) (uint32, error) {
	c, err := t.connection(handle)
	if err != nil {
		return 0, err
	}
	if ctx.Err() != nil {
		return 0, Failure(abi.ErrorKindCancelled, "writing to "+c.target+": the call was cancelled")
	}
	n, err := c.Write(data[:min(len(data), MaxTCPChunk)])
	if err == wasi.ErrWouldWait {
		soon, cancel := context.WithTimeout(ctx, tcpWriteWait)
		defer cancel()
		if c.await(soon, func() bool { return !c.Ready(true) }) {
			n, err = c.Write(data[:min(len(data), MaxTCPChunk)])
		}
		if err == wasi.ErrWouldWait {
			err = nil // the guest tries again
		}
	}
	return uint32(n), c.failed("writing to", err)
}

// CloseWrite ends the outgoing stream.
func (t *TCP) CloseWrite(_ context.Context, handle abi.TCPConnection) error {
	c, err := t.connection(handle)
	if err != nil {
		return err
	}
	return c.failed("ending the outgoing stream to", c.CloseWrite())
}
