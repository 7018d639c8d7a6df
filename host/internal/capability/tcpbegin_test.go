package capability

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/host/internal/wasi"
	"github.com/husk-dev/husk/internal/base/hostname"
)

// awaitReady waits, as a guest's system does.
func awaitReady(t *testing.T, g *TCP, c abi.TCPConnection, write bool) wasi.Socket {
	t.Helper()
	s := g.Socket(uint32(c))
	require.NotNil(t, s)
	for !s.Ready(write) {
		select {
		case <-g.descriptors.Changed():
		case <-t.Context().Done():
			require.NoError(t, t.Context().Err())
		}
	}
	return s
}

func TestTCPBegin(t *testing.T) {
	address, port := serveTCP(t, func(c *net.TCPConn) { io.Copy(c, c) })
	g := newTCPOf(t, address)

	t.Run("there and back", func(t *testing.T) {
		c, err := g.Begin(t.Context(), abi.TCPConnectRequest{Host: "127.0.0.1", Port: port})
		require.NoError(t, err)
		require.GreaterOrEqual(t, uint64(c), uint64(wasi.FirstSocket))
		s := awaitReady(t, g, c, true)
		require.NoError(t, g.Status(t.Context(), c))
		_, err = s.Read(make([]byte, 1))
		require.Equal(t, wasi.ErrWouldWait, err)
		n, err := s.Write([]byte("ping"))
		require.NoError(t, err)
		require.Equal(t, 4, n)
		awaitReady(t, g, c, false)
		part := make([]byte, 10)
		n, err = s.Read(part)
		require.NoError(t, err)
		require.NotEmpty(t, part[:n])
		require.NoError(t, s.CloseWrite())
		for err = nil; err == nil || err == wasi.ErrWouldWait; {
			_, err = awaitReady(t, g, c, false).Read(part)
		}
		require.Equal(t, io.EOF, err)
		g.Close(t.Context(), c)
		require.Nil(t, g.Socket(uint32(c)))
		require.ErrorIs(t, g.Status(t.Context(), c), abi.ErrNotFound)
	})

	t.Run("what the other side does not take", func(t *testing.T) {
		release := make(chan struct{})
		address, port := serveTCP(t, func(c *net.TCPConn) {
			<-release
			io.Copy(io.Discard, c)
		})
		g := newTCPOf(t, address)
		c, err := g.Begin(t.Context(), abi.TCPConnectRequest{Host: "127.0.0.1", Port: port})
		require.NoError(t, err)
		s := awaitReady(t, g, c, true)
		part := make([]byte, 64<<10)
		for err == nil {
			_, err = s.Write(part)
		}
		require.Equal(t, wasi.ErrWouldWait, err)
		require.False(t, s.Ready(true))
		close(release)
		_, err = awaitReady(t, g, c, true).Write(part)
		require.NoError(t, err)
	})

	t.Run("nobody there", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, listener.Close())
		gone := listener.Addr().String()
		g := newTCPOf(t, gone)
		c, err := g.Begin(t.Context(), abi.TCPConnectRequest{Host: "127.0.0.1", Port: netip.MustParseAddrPort(gone).Port()})
		require.NoError(t, err)
		s := awaitReady(t, g, c, true)
		err = g.Status(t.Context(), c)
		require.ErrorIs(t, err, abi.ErrUnavailable)
		require.Equal(t, abi.ErrorOriginRemote, abi.AsError(err).Origin)
		require.ErrorContains(t, err, "connecting to "+gone+": ")
		_, err = s.Write([]byte("x"))
		require.Error(t, err)
		_, err = s.Read(make([]byte, 1))
		require.Error(t, err)
	})
}

func TestTCPResolve(t *testing.T) {
	address, port := serveTCP(t, func(c *net.TCPConn) { io.WriteString(c, "hello") })
	other := hostname.Join("other.example.org", port+1)
	g := newTCPOf(t, hostname.Join("db.example.org", port), other, address)
	g.named = func(host string) bool { return host == "api.example.org" }
	g.dialer.Resolver = resolverTo(net.IPv4(127, 0, 0, 1))
	lookup := func(g *TCP, name string) (string, error) {
		c, err := g.Resolve(t.Context(), name, 0)
		if err != nil {
			return "", err
		}
		defer g.Close(t.Context(), c)
		awaitReady(t, g, c, true)
		if err := g.Status(t.Context(), c); err != nil {
			return "", err
		}
		awaitReady(t, g, c, false)
		lines := make([]byte, 100)
		n, err := g.Socket(uint32(c)).Read(lines)
		return string(lines[:n]), err
	}

	for _, name := range []string{"db.example.org", "DB.example.org.", "api.example.org"} {
		lines, err := lookup(g, name)
		require.NoError(t, err)
		require.Equal(t, "127.0.0.1\n", lines)
	}
	_, err := lookup(g, "elsewhere.example.org")
	require.ErrorIs(t, err, abi.ErrDenied)
	require.ErrorContains(t, err, "the provider may not look up elsewhere.example.org: its grants: tcp are ")
	require.ErrorContains(t, err, "add to the provider's grants: tcp elsewhere.example.org:<port>")
	_, err = g.Resolve(t.Context(), "elsewhere.example.org", 5432)
	require.ErrorContains(t, err, "the provider may not connect to elsewhere.example.org:5432: ")
	_, err = g.Resolve(t.Context(), "a b", 0)
	require.ErrorIs(t, err, abi.ErrInvalidArgument)
	require.Zero(t, g.Count())

	t.Run("an address is as good as the name that led to it", func(t *testing.T) {
		_, err := g.Connect(t.Context(), abi.TCPConnectRequest{Host: "127.0.0.1", Port: port})
		require.NoError(t, err)

		// The name's port is granted, but not the address, which is inside.
		g := newTCPOf(t, hostname.Join("db.example.org", port))
		g.dialer.Resolver = resolverTo(net.IPv4(127, 0, 0, 1))
		_, err = lookup(g, "db.example.org")
		require.NoError(t, err)
		_, err = g.Connect(t.Context(), abi.TCPConnectRequest{Host: "127.0.0.1", Port: port})
		require.ErrorIs(t, err, abi.ErrDenied)
		require.ErrorContains(t, err, "db.example.org leads to 127.0.0.1, which is this machine\nto grant it, add to the provider's grants: tcp "+address)
	})

	t.Run("but not with the port of another name", func(t *testing.T) {
		g := newTCPOf(t, hostname.Join("db.example.org", port), "other.example.org:1")
		g.dialer.Resolver = resolverTo(net.IPv4(192, 0, 2, 7))
		_, err := lookup(g, "db.example.org")
		require.NoError(t, err)
		_, err = g.Begin(t.Context(), abi.TCPConnectRequest{Host: "192.0.2.7", Port: 1})
		require.ErrorIs(t, err, abi.ErrDenied)
		require.ErrorContains(t, err, "the provider may not connect to db.example.org:1: ")
		_, err = g.Begin(t.Context(), abi.TCPConnectRequest{Host: "192.0.2.8", Port: port})
		require.ErrorContains(t, err, fmt.Sprintf("the provider may not connect to 192.0.2.8:%d: ", port))
	})

	t.Run("of as many names as are remembered", func(t *testing.T) {
		g := newTCPOf(t, "*.example.org:5432")
		g.dialer.Resolver = resolverTo(net.IPv4(192, 0, 2, 7))
		for n := range 2 * maxResolved {
			_, err := lookup(g, fmt.Sprintf("h%d.example.org", n))
			require.NoError(t, err)
		}
		require.Len(t, g.names, maxResolved)
		require.Len(t, g.resolved, maxResolved)
		require.Zero(t, g.Count())
	})
}

// The host that serves localhost is this machine, whatever a name server says.
func TestTCPToLocalhostByAddress(t *testing.T) {
	_, port := serveTCP(t, func(c *net.TCPConn) {})
	g := newTCPOf(t, hostname.Join("localhost", port))
	_, err := g.Connect(t.Context(), abi.TCPConnectRequest{Host: "127.0.0.1", Port: port})
	require.NoError(t, err)
	require.Equal(t, []grant.TCP{{Host: "localhost", Port: port}}, g.grants)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = g.Connect(ctx, abi.TCPConnectRequest{Host: "::1", Port: port + 1})
	require.ErrorIs(t, err, abi.ErrDenied)
}
