package egress

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInside(t *testing.T) {
	for addr, what := range map[string]string{
		"93.184.216.34": "", "2606:2800:220:1::1": "", "172.32.0.1": "", "100.128.0.1": "", "168.63.129.17": "",
		"192.0.1.1": "", "11.0.0.1": "", "2003::1": "", "64:ff9b::5db8:d822": "", "::ffff:93.184.216.34": "", "2a00::200:5eff:0:1": "",

		"127.0.0.1": machine, "127.9.9.9": machine, "::1": machine, "0.0.0.0": machine, "0.1.2.3": machine, "::": machine,
		"::ffff:127.0.0.1": machine, "64:ff9b::7f00:1": machine,
		"10.1.2.3": private, "172.16.0.0": private, "172.31.255.255": private, "192.168.0.1": private, "100.64.0.1": private,
		"100.127.255.255": private, "fd00::1": private, "fc00::1": private, "fec0::1": private, "::ffff:10.0.0.1": private, "64:ff9b::a00:1": private,
		"169.254.169.254": "link-local, " + cloud, "169.254.170.2": "link-local, " + cloud, "::ffff:169.254.169.254": "link-local, " + cloud,
		"64:ff9b::a9fe:a9fe": "link-local, " + cloud,
		"168.63.129.16":      cloud, "::ffff:a83f:8110": cloud, "64:ff9b::a83f:8110": cloud,
		"192.0.0.192": cloud, "100.100.100.200": cloud, "fd00:ec2::254": cloud, "fd20:ce::254": cloud,
		"fe80::1": "link-local", "fe80::1%eth0": "link-local",
		"224.0.0.1": many, "239.255.255.250": many, "ff02::1": many, "192.88.99.1": many,
		"255.255.255.255": reserved, "240.0.0.1": reserved, "192.0.0.1": reserved, "192.0.2.1": reserved, "198.51.100.7": reserved,
		"203.0.113.9": reserved, "198.18.0.1": reserved, "100::1": reserved, "2001:db8::1": reserved, "3fff::1": reserved, "5f00::1": reserved,
		"2001:2::1": reserved, "2001:20::1": reserved,
		"64:ff9b:1::7f00:1": translated, "2002:7f00:1::": translated, "2002:5db8:d822::1": translated, "::7f00:1": translated,
		"::ffff:0:7f00:1": translated, "2001::1": translated, "2a00::5efe:7f00:1": translated, "2a00::200:5efe:5db8:d822": translated,
	} {
		require.Equal(t, what, Inside(netip.MustParseAddr(addr)), addr)
		require.Equal(t, what == private, IsPrivate(netip.MustParseAddr(addr)), addr)
	}
}

func TestADialerAsksAboutEachAddressInside(t *testing.T) {
	var d Dialer
	require.NoError(t, d.Check("example.org", netip.MustParseAddr("93.184.216.34"), 80))
	err := d.Check("example.org", netip.MustParseAddr("::ffff:10.0.0.1"), 80)
	require.EqualError(t, err, "example.org leads to 10.0.0.1, which is in a private network")
	require.EqualError(t, d.Check("10.0.0.1", netip.MustParseAddr("10.0.0.1"), 80), "10.0.0.1 is in a private network")

	d.Allow = func(host string, addr netip.Addr, port uint16) bool {
		return host == "a" && addr == netip.MustParseAddr("10.0.0.1") && port == 80
	}
	require.NoError(t, d.Check("a", netip.MustParseAddr("::ffff:10.0.0.1"), 80))
	for _, c := range []struct {
		host, addr string
		port       uint16
	}{{"b", "10.0.0.1", 80}, {"a", "10.0.0.2", 80}, {"a", "10.0.0.1", 81}} {
		require.Error(t, d.Check(c.host, netip.MustParseAddr(c.addr), c.port), c)
	}
}

// A machine can have an address of the Internet. What listens on all addresses listens there.
func TestTheMachinesOwnAddressesAreInside(t *testing.T) {
	d := Dialer{Own: func() []netip.Prefix {
		return []netip.Prefix{netip.MustParsePrefix("93.184.216.34/24"), netip.MustParsePrefix("2a00:1:2:3::4/64"), netip.MustParsePrefix("2a01::1/32")}
	}}
	for addr, what := range map[string]string{
		"2a00:1:2:3::4": machine, "2a00:1:2:3::5": private, "2a00:1:2:4::5": "", "2a01::1": machine, "2a01::2": "",
	} {
		require.Equal(t, what, insideOf(d.Own(), netip.MustParseAddr(addr)), addr)
	}
	require.EqualError(t, d.Check("me.example.org", netip.MustParseAddr("93.184.216.34"), 80),
		"me.example.org leads to 93.184.216.34, which is this machine")
	require.NoError(t, d.Check("example.org", netip.MustParseAddr("93.184.216.35"), 80))

	list, err := net.InterfaceAddrs()
	require.NoError(t, err)
	own := (&Dialer{}).own()
	require.Len(t, own, len(list))
	require.Contains(t, own, netip.MustParsePrefix("127.0.0.1/8"))
}

// Where the system does not tell its addresses, a connection with itself shows that it is one.
func TestAConnectionWithItselfIsInside(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	var refused *AddressError
	require.ErrorAs(t, (&Dialer{}).checkConnected("me.example.org", conn), &refused)
	require.Equal(t, "me.example.org leads to 127.0.0.1, which is this machine", refused.Error())
	allowing := Dialer{Allow: func(string, netip.Addr, uint16) bool { return true }}
	require.NoError(t, allowing.checkConnected("me.example.org", conn))
}

func TestDial(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	var refused *AddressError
	_, err = (&Dialer{}).Dial(t.Context(), "tcp", listener.Addr().String())
	require.ErrorAs(t, err, &refused)
	allowing := Dialer{Allow: func(host string, _ netip.Addr, _ uint16) bool { return host == "127.0.0.1" }}
	conn, err := allowing.Dial(t.Context(), "tcp", listener.Addr().String())
	require.NoError(t, err)
	conn.Close()
	_, err = allowing.Dial(t.Context(), "tcp", "127.0.0.1")
	require.Error(t, err)
}
