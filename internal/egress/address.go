// Package egress decides where a connection may go that is made for somebody who is not
// trusted: a guest, or a value that a guest chose. Connections may go to the Internet. They may
// go inside (to this machine, a private network, or where a cloud keeps credentials) only if
// the operator has named the address.
//
// Package host uses it for what guests dial, and package contents for the URLs of assets, so
// that there is one rule for both.
package egress

import (
	"net"
	"net/netip"
)

// inner are the networks that are not the Internet, most of them as IANA's registries of
// special purposes list them (RFC 6890), with what their addresses are. The first match counts.
var inner = []struct {
	prefix netip.Prefix
	what   string
}{
	// Where clouds tell a machine its credentials. The first three are in no private network.
	{netip.MustParsePrefix("168.63.129.16/32"), cloud}, // Azure; globally routable
	{netip.MustParsePrefix("192.0.0.192/32"), cloud},   // Oracle
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local, " + cloud},
	{netip.MustParsePrefix("100.100.100.200/32"), cloud}, // Alibaba
	{netip.MustParsePrefix("fd00:ec2::/32"), cloud},      // Amazon
	{netip.MustParsePrefix("fd20:ce::/32"), cloud},       // Google

	{netip.MustParsePrefix("127.0.0.0/8"), machine},
	{netip.MustParsePrefix("::1/128"), machine},
	{netip.MustParsePrefix("0.0.0.0/8"), machine},
	{netip.MustParsePrefix("::/128"), machine},

	{netip.MustParsePrefix("10.0.0.0/8"), private},
	{netip.MustParsePrefix("172.16.0.0/12"), private},
	{netip.MustParsePrefix("192.168.0.0/16"), private},
	{netip.MustParsePrefix("100.64.0.0/10"), private},
	{netip.MustParsePrefix("fc00::/7"), private},
	{netip.MustParsePrefix("fec0::/10"), private},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},

	{netip.MustParsePrefix("224.0.0.0/4"), many},
	{netip.MustParsePrefix("ff00::/8"), many},
	{netip.MustParsePrefix("192.88.99.0/24"), many}, // relays of 6to4

	{netip.MustParsePrefix("240.0.0.0/4"), reserved},
	{netip.MustParsePrefix("192.0.0.0/24"), reserved},
	{netip.MustParsePrefix("192.0.2.0/24"), reserved},
	{netip.MustParsePrefix("198.51.100.0/24"), reserved},
	{netip.MustParsePrefix("203.0.113.0/24"), reserved},
	{netip.MustParsePrefix("198.18.0.0/15"), reserved},
	{netip.MustParsePrefix("100::/63"), reserved}, // discarded, and dummies
	{netip.MustParsePrefix("2001:db8::/32"), reserved},
	{netip.MustParsePrefix("3fff::/20"), reserved},
	{netip.MustParsePrefix("5f00::/16"), reserved}, // segments of a routing domain

	// Addresses of these hold another one, of IPv4, at a place that differs.
	{netip.MustParsePrefix("64:ff9b:1::/48"), translated},
	{netip.MustParsePrefix("2002::/16"), translated},
	{netip.MustParsePrefix("::/96"), translated},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), translated},
	{netip.MustParsePrefix("2001::/32"), translated},
	{netip.MustParsePrefix("2001::/23"), reserved},
}

const (
	cloud      = "where clouds keep the credentials of machines"
	machine    = "this machine"
	private    = "in a private network"
	many       = "not of one machine"
	reserved   = "reserved"
	translated = "a translated address"
)

// nat64 is how networks without IPv4 write its addresses (RFC 6052): the last 32 bits.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// Inside returns what an address is that is not the Internet's. It is empty for all others.
// An address of this machine that is also one of the Internet is not known by its number:
// see [Dialer].
func Inside(addr netip.Addr) string {
	addr = addr.Unmap()
	if nat64.Contains(addr) {
		b := addr.As16()
		return Inside(netip.AddrFrom4([4]byte(b[12:])))
	}
	for _, network := range inner {
		if network.prefix.Contains(addr.WithZone("")) {
			return network.what
		}
	}
	if isISATAP(addr) {
		return translated
	}
	return ""
}

// IsPrivate reports whether the address is of a private network, and neither this machine's
// nor one at which clouds keep credentials.
func IsPrivate(addr netip.Addr) bool { return Inside(addr) == private }

// isISATAP reports whether the address tells a tunnel to which address of IPv4 it leads
// (RFC 5214, 6.1).
func isISATAP(addr netip.Addr) bool {
	b := addr.As16()
	return addr.Is6() && b[8]&^3 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// ownNetworks are the addresses of the machine's interfaces, each with the network that it is in.
// Where the system does not tell them there are none, and [Dialer] finds out otherwise.
func ownNetworks() []netip.Prefix {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	own := make([]netip.Prefix, 0, len(list))
	for _, a := range list {
		if network, ok := a.(*net.IPNet); ok {
			addr, ok := netip.AddrFromSlice(network.IP)
			bits, _ := network.Mask.Size()
			if addr = addr.Unmap(); ok {
				own = append(own, netip.PrefixFrom(addr, min(bits, addr.BitLen())))
			}
		}
	}
	return own
}

// leastLink is how long, in bits, the prefix of a network is that is one link (RFC 4291, 2.5.1, with
// some room).
const leastLink = 48

// insideOf returns what an address of the Internet is for a machine with these addresses. In
// networks of IPv6, the neighbours behind a common firewall have addresses of the Internet.
func insideOf(own []netip.Prefix, addr netip.Addr) string {
	for _, network := range own {
		switch {
		case network.Addr() == addr:
			return machine
		case addr.Is6() && network.Bits() >= leastLink && network.Contains(addr):
			return private
		}
	}
	return ""
}
