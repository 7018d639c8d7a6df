package capability

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/husk-dev/husk/abi"
	"github.com/husk-dev/husk/abi/grant"
	"github.com/husk-dev/husk/internal/base/hostname"
)

// newTCPOf is what an instance of a provider with these grants gets.
func newTCPOf(t *testing.T, grants ...string) *TCP {
	t.Helper()
	var parsed []grant.TCP
	for _, text := range grants {
		g, err := grant.ParseTCP(text)
		require.NoError(t, err)
		parsed = append(parsed, g)
	}
	g := NewTCP(parsed, nil, NewDescriptors(), nil, nil, unbounded{})
	t.Cleanup(g.CloseAll)
	return g
}

// serveTCP listens on this machine, and serves each connection with serve.
func serveTCP(t *testing.T, serve func(*net.TCPConn)) (address string, port uint16) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn.(*net.TCPConn))
			}()
		}
	}()
	at := listener.Addr().String()
	return at, netip.MustParseAddrPort(at).Port()
}

func TestTCPIsDeniedUnlessGranted(t *testing.T) {
	const add = "\nto grant it, add to the provider's grants: tcp "
	connect := func(g *TCP, host string, port uint16) error {
		_, err := g.Connect(t.Context(), abi.TCPConnectRequest{Host: host, Port: port})
		return err
	}
	for _, c := range []struct {
		grants []string
		host   string
		port   uint16
		want   string
	}{
		{nil, "db.example.org", 5432,
			"the provider may not connect to db.example.org:5432: nothing under its grants: tcp allows it" + add + "db.example.org:5432"},
		{[]string{"db.example.org:5432"}, "DB.example.org.", 5433,
			"the provider may not connect to db.example.org:5433: its grants: tcp are db.example.org:5432" + add + "db.example.org:5433"},
		{[]string{"*.example.org:5432"}, "example.org", 5432,
			"the provider may not connect to example.org:5432: its grants: tcp are *.example.org:5432" + add + "example.org:5432"},
		{[]string{"*.example.org:5432"}, "a.db.example.org", 5432,
			"the provider may not connect to a.db.example.org:5432: its grants: tcp are *.example.org:5432 (*.example.org is for names of one label more now, and **.example.org for all below)" + add + "a.db.example.org:5432"},
		{nil, "2001:db8::1", 1,
			"the provider may not connect to [2001:db8::1]:1: nothing under its grants: tcp allows it" + add + "[2001:db8::1]:1"},
	} {
		err := connect(newTCPOf(t, c.grants...), c.host, c.port)
		require.ErrorIs(t, err, abi.ErrDenied)
		require.EqualError(t, err, c.want)
		require.Equal(t, abi.ErrorOriginHost, abi.AsError(err).Origin)
	}
	for _, host := range []string{"", "a b", "a\r\nb", "u@db.example.org", "fe80::1%eth0", "unix:/tmp/s"} {
		require.ErrorIs(t, connect(newTCPOf(t), host, 1), abi.ErrInvalidArgument, host)
	}
	require.ErrorIs(t, connect(newTCPOf(t), "db.example.org", 0), abi.ErrInvalidArgument)
}

// A name that is granted must not lead into the operator's own network.
func TestTCPChecksTheAddressThatANameLeadsTo(t *testing.T) {
	accepted := make(chan struct{}, 1)
	address, port := serveTCP(t, func(*net.TCPConn) { accepted <- struct{}{} })
	named := hostname.Join("trap.example.org", port)
	g := newTCPOf(t, named)
	g.dialer.Resolver = resolverTo(net.IPv4(127, 0, 0, 1))
	_, err := g.Connect(t.Context(), abi.TCPConnectRequest{Host: "trap.example.org", Port: port})
	require.ErrorIs(t, err, abi.ErrDenied)
	require.EqualError(t, err, "connecting to "+named+": trap.example.org leads to 127.0.0.1, which is this machine\n"+
		"to grant it, add to the provider's grants: tcp "+address)
	require.Empty(t, accepted)

	g = newTCPOf(t, named, address)
	g.dialer.Resolver = resolverTo(net.IPv4(127, 0, 0, 1))
	_, err = g.Connect(t.Context(), abi.TCPConnectRequest{Host: "trap.example.org", Port: port})
	require.NoError(t, err)
	<-accepted
}

func TestTCPConnections(t *testing.T) {
	address, port := serveTCP(t, func(c *net.TCPConn) { io.Copy(c, c) })
	g := newTCPOf(t, address)
	connect := func() abi.TCPConnection {
		c, err := g.Connect(t.Context(), abi.TCPConnectRequest{Host: "127.0.0.1", Port: port})
		require.NoError(t, err)
		return c
	}

	t.Run("there and back", func(t *testing.T) {
		c := connect()
		_, err := g.Read(t.Context(), c, 10, false)
		require.ErrorIs(t, err, abi.ErrUnavailable)
		require.Equal(t, abi.ErrorOriginHost, abi.AsError(err).Origin, "nothing has arrived, which is no failure of the other side")
		n, err := g.Write(t.Context(), c, []byte("hello"))
		require.NoError(t, err)
		require.EqualValues(t, 5, n)
		var got []byte
		for len(got) < 5 {
			part, err := g.Read(t.Context(), c, 2, true)
			require.NoError(t, err)
			require.LessOrEqual(t, len(part), 2)
			got = append(got, part...)
		}
		require.Equal(t, "hello", string(got))
		require.NoError(t, g.CloseWrite(t.Context(), c))
		for range 2 {
			part, err := g.Read(t.Context(), c, 10, true)
			require.NoError(t, err)
			require.Empty(t, part, "the end")
		}
		g.Close(t.Context(), c)
		g.Close(t.Context(), c)
		_, err = g.Read(t.Context(), c, 1, true)
		require.ErrorIs(t, err, abi.ErrNotFound)
		_, err = g.Write(t.Context(), c, nil)
		require.ErrorIs(t, err, abi.ErrNotFound)
		require.ErrorIs(t, g.CloseWrite(t.Context(), c), abi.ErrNotFound)
	})

	t.Run("waiting ends with the call", func(t *testing.T) {
		c := connect()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		_, err := g.Read(ctx, c, 1, true)
		require.ErrorIs(t, err, abi.ErrCancelled)
		_, err = g.Write(ctx, c, []byte("x"))
		require.ErrorIs(t, err, abi.ErrCancelled)
		_, err = g.Write(t.Context(), c, []byte("x"))
		require.NoError(t, err, "the connection is for the next call")
		g.Close(t.Context(), c)
	})

	t.Run("as many as are allowed", func(t *testing.T) {
		g := newTCPOf(t, address)
		var last abi.TCPConnection
		for range MaxTCPConnections {
			var err error
			last, err = g.Connect(t.Context(), abi.TCPConnectRequest{Host: "127.0.0.1", Port: port})
			require.NoError(t, err)
		}
		_, err := g.Connect(t.Context(), abi.TCPConnectRequest{Host: "127.0.0.1", Port: port})
		require.ErrorIs(t, err, abi.ErrUnavailable)
		require.ErrorContains(t, err, "64 TCP connections of the provider are open already")
		g.Close(t.Context(), last)
		_, err = g.Connect(t.Context(), abi.TCPConnectRequest{Host: "127.0.0.1", Port: port})
		require.NoError(t, err)
	})
}

// What the other side does not take, the guest has to send again; what the guest does not
// read is not piled up on the host.
func TestTCPHoldsBack(t *testing.T) {
	release := make(chan struct{})
	received := make(chan []byte, 1)
	address, port := serveTCP(t, func(c *net.TCPConn) {
		<-release
		all, _ := io.ReadAll(c)
		received <- all
	})
	g := newTCPOf(t, address)
	c, err := g.Connect(t.Context(), abi.TCPConnectRequest{Host: "127.0.0.1", Port: port})
	require.NoError(t, err)
	part := bytes.Repeat([]byte("0123456789abcdef"), 16<<10)
	var sent []byte
	released := false
	for len(sent) < 64<<20 {
		n, err := g.Write(t.Context(), c, part)
		require.NoError(t, err)
		sent = append(sent, part[:n]...)
		if int(n) < len(part) {
			if !released {
				close(release)
				released = true
			}
			if len(sent) > 16<<20 {
				break
			}
		}
	}
	require.True(t, released, "the other side took 64 MiB without reading")
	require.NoError(t, g.CloseWrite(t.Context(), c))
	require.True(t, bytes.Equal(sent, <-received))
}

func TestTCPFailures(t *testing.T) {
	address, port := serveTCP(t, func(c *net.TCPConn) {
		c.Read(make([]byte, 1))
		c.SetLinger(0) // closes with a reset
	})
	g := newTCPOf(t, address)
	c, err := g.Connect(t.Context(), abi.TCPConnectRequest{Host: "127.0.0.1", Port: port})
	require.NoError(t, err)
	_, err = g.Write(t.Context(), c, []byte("x"))
	require.NoError(t, err)
	_, err = g.Read(t.Context(), c, 1, true)
	require.ErrorIs(t, err, abi.ErrUnavailable)
	require.Equal(t, abi.ErrorOriginRemote, abi.AsError(err).Origin)
	require.ErrorContains(t, err, "reading from "+address+": ")

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	gone := listener.Addr().String()
	_, err = newTCPOf(t, gone).Connect(t.Context(), abi.TCPConnectRequest{Host: "127.0.0.1", Port: netip.MustParseAddrPort(gone).Port()})
	require.ErrorIs(t, err, abi.ErrUnavailable)
	require.ErrorContains(t, err, "connecting to "+gone+": ")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = g.Connect(ctx, abi.TCPConnectRequest{Host: "127.0.0.1", Port: port})
	require.ErrorIs(t, err, abi.ErrCancelled)
}
